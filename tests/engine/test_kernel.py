"""The search: exact distances, solved games, limits, and a valid table after an aborted search."""

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Thread
from types import FunctionType

import numpy as np
import pytest

from engine.conformance.checks import playouts
from engine.game import Position
from engine.rules.registry import load_game
from engine.search import kernel, layout
from engine.search.driver import Cancelled, Control, Searcher, Table
from engine.search.features import BASIC
from engine.search.job import MATE, Limit, SearchFailed
from engine.search.report import Report, line_tokens

Searchers = Callable[[str], Searcher]
#: Red makes an open three with one move and wins two plies later.
OPEN_TWO = "......./......./......./......./......Y/..RR..Y"


def searched(
    searcher: Searcher,
    position: Position,
    limit: Limit,
    table: Table | None = None,
    **more: bool | int,
) -> Report:
    exact_depth, margin = bool(more.get("exact_depth")), int(more.get("margin", 0))
    return searcher.search(
        position, limit, table or Table(14), Control(), exact_depth=exact_depth, margin=margin
    )


def test_tic_tac_toe_is_a_draw(searcher_of: Searchers) -> None:
    """A search from the empty board finds a draw and stops when it has reached the end."""
    searcher = searcher_of("tic-tac-toe")
    basic = searcher.search(searcher.game.start(), Limit(), Table(14), Control(), features=BASIC)
    assert (basic.score, basic.depth, basic.solved) == (0, 9, True)
    report = searched(searcher, searcher.game.start(), Limit())
    assert (report.score, report.solved) == (0, True)


def test_every_tic_tac_toe_position(searcher_of: Searchers) -> None:
    """With one table for all searches, reachable positions have the value and distance of a full
    minimax.
    """
    searcher = searcher_of("tic-tac-toe")
    table = Table(14)
    values: dict[str, int] = {}

    def value(position: Position) -> int:
        text = position.text()
        if text not in values:
            outcome = position.outcome()
            if outcome is not None:
                values[text] = 0 if outcome.winner is None else -MATE
            else:
                best = max(-value(position.play(move)) for move in position.moves())
                values[text] = best - (best > 0) + (best < 0)
        return values[text]

    start = searcher.game.start()
    value(start)
    chance = random.Random(4)
    for text in chance.sample(sorted(values), 1000):
        position = searcher.game.position(text)
        if position.moves():
            report = searched(searcher, position, Limit(), table)
            assert report.score == values[text], text
    assert len(values) < 3**9


@pytest.mark.parametrize(
    "rows", ["1-2-3", "1-3-5-7", "2-2", "5", "9-9", "1-1-1", "3-4-5", "1-2-2-2"]
)
def test_sticks_by_theory(rows: str, searcher_of: Searchers) -> None:
    """Reachable positions are won exactly where the theory of misere nim says so."""
    searcher = searcher_of("sticks")
    table = Table(14)
    seen: dict[str, bool] = {}
    stack = [searcher.game.start({"rows": rows})]
    while stack and len(seen) < 150:
        position = stack.pop(0)
        moves = position.moves()
        if not moves or position.text() in seen:
            continue
        report = searched(searcher, position, Limit(), table)
        counts = [int(count) for count in position.text().split()[0].split("-")]
        nim_sum = 0
        for count in counts:
            nim_sum ^= count
        is_won = nim_sum != 0 if max(counts) > 1 else sum(counts) % 2 == 0
        seen[position.text()] = is_won
        assert (report.score > 0) == is_won, position.text()
        assert report.solved or MATE - abs(report.score) <= report.depth
        stack += [position.play(move) for move in moves]


def solve(discs: int, mine: int) -> int:
    """Solves connect four by brute force: plies to the win, negative for a loss, 0 for a draw."""
    return _solve(discs, mine)


def has_four(stones: int) -> bool:
    return any((pairs := stones & stones >> step) & pairs >> 2 * step for step in (1, 6, 7, 8))


@cache
def _solve(discs: int, mine: int) -> int:
    outcomes = []
    for column in range(7):
        cell = (discs + (1 << 7 * column)) & (0x3F << 7 * column) & ~discs
        if not cell:
            continue
        if has_four(mine | cell):
            return 1
        outcomes.append(_solve(discs | cell, discs ^ mine))
    if not outcomes:
        return 0
    lost = [reply for reply in outcomes if reply < 0]
    if lost:
        return 1 - max(lost)
    return 0 if 0 in outcomes else -1 - max(outcomes)


def endgames(seed: int, count: int) -> Iterator[tuple[Position, int]]:
    """Late positions of connect four with their exact scores: three successive positions of each
    match, the last one first.
    """
    for line in playouts(load_game("connect-four"), count, seed):
        if len(line) >= 34:
            for ply in (31, 30, 29):
                position = line[ply]
                plies = solve(int(position.state[1]), int(position.state[0]))
                yield position, 0 if plies == 0 else (MATE if plies > 0 else -MATE) - plies


def test_connect_four_endgames(searcher_of: Searchers) -> None:
    """With one table for all searches, late positions have the score of brute force."""
    searcher = searcher_of("connect-four")
    table = Table(16)
    results = set()
    for position, score in endgames(6, 150):
        assert searched(searcher, position, Limit(), table).score == score, position.text()
        results.add((score > 0) - (score < 0))
    assert results == {-1, 0, 1}, "wins, losses and draws are among them"


def test_mate_distances(searcher_of: Searchers) -> None:
    """A win in n plies scores MATE - n and a loss n - MATE, from the first depth that sees it."""
    searcher = searcher_of("connect-four")
    mate_in_3 = searcher.game.position(OPEN_TWO)
    for depth, score in ((1, None), (2, None), (3, MATE - 3), (4, MATE - 3), (9, MATE - 3)):
        report = searched(searcher, mate_in_3, Limit(depth=depth))
        if score is None:
            assert abs(report.score) < layout.MATE_BOUND
        else:
            assert report.score == score
            assert report.depth == 3, "a forced end needs no deeper search"
    lost = mate_in_3.play(mate_in_3.parse_move("b"))
    assert searched(searcher, lost, Limit()).score == 2 - MATE


def test_line_of_play(searcher_of: Searchers) -> None:
    """The line begins with the best move, is legal, and reaches a forced end."""
    searcher = searcher_of("connect-four")
    position = searcher.game.position(OPEN_TWO)
    report = searched(searcher, position, Limit())
    tokens = line_tokens(position, report.line)
    assert report.line[0] == report.moves[0][0]
    assert len(tokens) == len(report.line) == MATE - report.score
    assert len(line_tokens(position, (*report.line[:1], 77, 1))) == 1, (
        "an illegal move ends the line"
    )


def test_nodes_are_limited_exactly(searcher_of: Searchers) -> None:
    """A search stops exactly at its node limit with the last completed depth, at least 1."""
    searcher = searcher_of("connect-four")
    start = searcher.game.start()
    full = [1]
    searcher.search(
        start,
        Limit(depth=9),
        Table(16),
        Control(),
        on_depth=lambda report: full.append(report.nodes),
    )
    for nodes in (1, 500, 10_000, full[-1] - 1):
        report = searched(searcher, start, Limit(nodes=nodes), Table(16))
        at_stop = searcher._works[0].nodes
        assert at_stop == max(nodes, full[1]), nodes
        assert report.depth == max(1, sum(count < nodes for count in full[1:]))
    assert searched(searcher, start, Limit(depth=9, nodes=full[-1] + 1), Table(16)).depth == 9


def test_a_better_move_of_an_unfinished_depth_counts(searcher_of: Searchers) -> None:
    """A stopped search answers with its last published best move, even from an unfinished depth.

    Each move is listed once, the best one first. A search of several lines answers from the last
    completed depth.
    """
    searcher = searcher_of("connect-four")
    changed = 0
    for line in playouts(searcher.game, 12, seed=3):
        position = line[4]
        for nodes in range(1000, 9000, 400):
            depths: list[Report] = []
            control = Control()
            report = searcher.search(
                position, Limit(nodes=nodes), Table(14), control, on_depth=depths.append
            )
            assert depths[-1] == report
            published_line = control.published()[3]
            assert report.line == published_line or report.line[0] == published_line[0]
            assert report.moves[0][:2] == (report.line[0], report.score)
            assert sorted(move for move, _, _ in report.moves) == sorted(position.moves())
            assert all(score <= report.score for _, score, _ in report.moves)
            if len(depths) > report.depth:
                changed += 1
                assert depths[-2].line[0] != report.line[0]
                again = searcher.search(position, Limit(nodes=nodes), Table(14), Control())
                assert again.moves == report.moves
            several: list[Report] = []
            searcher.search(
                position, Limit(nodes=nodes), Table(14), Control(), lines=2, on_depth=several.append
            )
            assert len(several) == several[-1].depth
    assert changed >= 3


def test_an_aborted_search_leaves_the_table_sound(searcher_of: Searchers) -> None:
    """After searches that were stopped anywhere, a search with their table has the right value."""
    searcher = searcher_of("connect-four")
    chance = random.Random(8)
    for position, score in endgames(8, 100):
        table = Table(12)
        for _ in range(20):
            searched(searcher, position, Limit(nodes=chance.randrange(10, 3000)), table)
        assert searched(searcher, position, Limit(), table).score == score, position.text()


def test_cancel_and_expire(searcher_of: Searchers) -> None:
    """CANCEL ends a search without an answer; `expire` ends it with the last completed depth."""
    searcher = searcher_of("connect-four")
    start = searcher.game.start()
    control = Control()
    control.memory.array[layout.CANCEL] = 1
    with pytest.raises(Cancelled):
        searcher.search(start, Limit(), Table(10), control)

    def expire() -> AbstractContextManager[None]:
        searcher.expire()
        return nullcontext()

    assert searcher.search(start, Limit(), Table(10), Control(), timer=expire).depth == 1
    seen: list[int] = []

    def expire_at_five(report: Report) -> None:
        seen.append(report.depth)
        if report.depth == 5:
            searcher.expire()

    assert searcher.search(start, Limit(), Table(10), Control(), on_depth=expire_at_five).depth == 5
    assert seen == [1, 2, 3, 4, 5]


def test_published_progress(searcher_of: Searchers) -> None:
    """The control block publishes nodes, depth, score and best line of the search."""
    searcher = searcher_of("connect-four")
    control = Control()
    report = searcher.search(searcher.game.start(), Limit(depth=8), Table(14), control)
    nodes, depth, score, line = control.published()
    assert (depth, score) == (8, report.score)
    assert 0 < nodes <= report.nodes
    assert line == report.line


def test_published_progress_is_never_torn(searcher_of: Searchers) -> None:
    """At any moment of a running search the published line is legal and belongs to the depth and
    score.
    """
    searcher = searcher_of("connect-four")
    position = searcher.game.start()
    control = Control()
    search = Thread(target=lambda: searcher.search(position, Limit(depth=15), Table(16), control))
    search.start()
    published = set()
    while search.is_alive():
        _, depth, score, line = control.published()
        published.add((depth, line, score))
    search.join()
    published.discard((0, (), 0))
    assert len({depth for depth, _, _ in published}) > 3
    assert len({(depth, line) for depth, line, _ in published}) == len(published)
    for depth, line, score in published:
        assert 1 <= len(line_tokens(position, line)) == len(line) <= depth
        assert abs(score) < layout.MATE_BOUND


def test_margin_gives_exact_scores_to_near_best_moves(searcher_of: Searchers) -> None:
    """Moves within the margin have the exact scores that they have with an open window."""
    searcher = searcher_of("connect-four")
    for line in playouts(searcher.game, 5, seed=9):
        position = line[5]
        everything = searched(
            searcher, position, Limit(depth=5), Table(12), exact_depth=True, margin=4 * MATE
        )
        values = {move: score for move, score, bound in everything.moves}
        assert all(bound == layout.EXACT for _, _, bound in everything.moves)
        near = searched(searcher, position, Limit(depth=5), Table(12), exact_depth=True, margin=12)
        for move, score, bound in near.moves:
            is_near = values[move] > near.score - 12
            assert (bound == layout.EXACT) >= is_near
            assert score == values[move] if bound == layout.EXACT else score >= values[move]


def test_a_finished_match_cannot_be_searched(searcher_of: Searchers) -> None:
    """A search of a finished match is refused."""
    searcher = searcher_of("tic-tac-toe")
    with pytest.raises(SearchFailed, match="over"):
        searched(searcher, searcher.game.position("XXXOO...."), Limit())


def test_uncompiled_kernel_agrees(searcher_of: Searchers) -> None:
    """The kernel as plain Python visits the same nodes and finds the same value, with its accessors
    called as functions.
    """
    searcher = searcher_of("tic-tac-toe")
    rules = searcher.game.rules
    position = searcher.game.position("X...O....")
    moves = position.moves()
    parts = (*kernel.PARTS, kernel)
    names = {name: value for part in parts for name, value in vars(part).items()}
    namespace = {**names, "MAX_MOVES": rules.MAX_MOVES}
    for name, function in names.items():
        if getattr(function, "__module__", "") in {part.__name__ for part in parts}:
            namespace[name] = FunctionType(function.__code__, namespace)
    for name in ("status", "moves", "play", "no_moves_result", "key", "evaluate"):
        namespace[name] = getattr(rules, name)
    work = np.zeros(layout.work_words(rules.MAX_MOVES), np.int64)
    work[layout.root_offset(rules.MAX_MOVES) :][: len(moves)] = moves
    work[layout.ROOT_COUNT], work[layout.TABLE_SHIFT], work[layout.NODE_LIMIT] = (
        len(moves),
        64 - 12,
        1 << 60,
    )
    work[layout.KILLERS : layout.HISTORY] = -1
    memories = (
        work,
        np.zeros(2 << 12, np.uint64),
        np.zeros(layout.CONTROL_WORDS, np.int64),
        np.zeros(1, np.int64),
    )
    with np.errstate(over="ignore"):
        score = namespace["root"](position.state, 1, 0, *memories)
    report = searched(searcher, position, Limit(depth=1), Table(12))
    assert (score, work[layout.NODES]) == (report.score, report.nodes)
