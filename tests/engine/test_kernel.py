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

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]
#: Red makes an open three with one move and wins two plies later.
OPEN_TWO = "......./......./......./......./......Y/..RR..Y"


def run_search(
    searcher: Searcher,
    position: Position,
    limit: Limit,
    table: Table | None = None,
    *,
    exact_depth: bool = False,
    margin: int = 0,
) -> Report:
    """Searches a position, by default with a small empty table."""
    return searcher.search(
        position, limit, table or Table(14), Control(), exact_depth=exact_depth, margin=margin
    )


def test_tic_tac_toe_is_a_draw(searcher_of: Searchers) -> None:
    """An unlimited search from the empty board ends with a draw, and the position is solved."""
    searcher = searcher_of("tic-tac-toe")
    basic = searcher.search(searcher.game.start(), Limit(), Table(14), Control(), features=BASIC)
    assert (basic.score, basic.depth, basic.solved) == (0, 9, True)
    report = run_search(searcher, searcher.game.start(), Limit())
    assert (report.score, report.solved) == (0, True)


def test_tic_tac_toe_agrees_with_minimax(searcher_of: Searchers) -> None:
    """With one table for all searches, 1000 positions have the score of a full minimax."""
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
    rng = random.Random(4)
    for text in rng.sample(sorted(values), 1000):
        position = searcher.game.position(text)
        if position.moves():
            report = run_search(searcher, position, Limit(), table)
            assert report.score == values[text], text
    assert len(values) < 3**9


@pytest.mark.parametrize(
    "rows", ["1-2-3", "1-3-5-7", "2-2", "5", "9-9", "1-1-1", "3-4-5", "1-2-2-2"]
)
def test_sticks_by_theory(rows: str, searcher_of: Searchers) -> None:
    """Reachable positions are won exactly if they are won by the theory of misère nim."""
    searcher = searcher_of("sticks")
    table = Table(14)
    visited: set[str] = set()
    stack = [searcher.game.start({"rows": rows})]
    while stack and len(visited) < 150:
        position = stack.pop(0)
        moves = position.moves()
        if not moves or position.text() in visited:
            continue
        report = run_search(searcher, position, Limit(), table)
        counts = [int(count) for count in position.text().split()[0].split("-")]
        nim_sum = 0
        for count in counts:
            nim_sum ^= count
        is_won = nim_sum != 0 if max(counts) > 1 else sum(counts) % 2 == 0
        visited.add(position.text())
        assert (report.score > 0) == is_won, position.text()
        assert report.solved or MATE - abs(report.score) <= report.depth
        stack += [position.play(move) for move in moves]


def has_four(stones: int) -> bool:
    return any((pairs := stones & stones >> step) & pairs >> 2 * step for step in (1, 6, 7, 8))


@cache
def plies_to_end(discs: int, mine: int) -> int:
    """Returns the plies to the end with best play: negative for a loss, 0 for a draw.

    It searches by brute force. `mine` has the discs of the side to move.
    """
    replies = []
    for column in range(7):
        cell = (discs + (1 << 7 * column)) & (0x3F << 7 * column) & ~discs
        if not cell:
            continue
        if has_four(mine | cell):
            return 1
        replies.append(plies_to_end(discs | cell, discs ^ mine))
    if not replies:
        return 0
    losses = [plies for plies in replies if plies < 0]
    if losses:
        return 1 - max(losses)
    return 0 if 0 in replies else -1 - max(replies)


def endgames(seed: int, count: int) -> Iterator[tuple[Position, int]]:
    """Yields late positions of connect four with their exact scores.

    Each match gives three successive positions, the last one first.
    """
    for line in playouts(load_game("connect-four"), count, seed):
        if len(line) >= 34:
            for ply in (31, 30, 29):
                position = line[ply]
                plies = plies_to_end(int(position.state[1]), int(position.state[0]))
                yield position, 0 if plies == 0 else (MATE if plies > 0 else -MATE) - plies


def test_connect_four_endgames(searcher_of: Searchers) -> None:
    """With one table for all searches, late positions have the score of brute force."""
    searcher = searcher_of("connect-four")
    table = Table(16)
    results = set()
    for position, score in endgames(6, 150):
        assert run_search(searcher, position, Limit(), table).score == score, position.text()
        results.add((score > 0) - (score < 0))
    assert results == {-1, 0, 1}, "the positions include wins, losses and draws"


def test_mate_distances(searcher_of: Searchers) -> None:
    """A win in n plies scores MATE - n and a loss n - MATE, from the first depth that sees it."""
    searcher = searcher_of("connect-four")
    mate_in_3 = searcher.game.position(OPEN_TWO)
    for depth, score in ((1, None), (2, None), (3, MATE - 3), (4, MATE - 3), (9, MATE - 3)):
        report = run_search(searcher, mate_in_3, Limit(depth=depth))
        if score is None:
            assert abs(report.score) < layout.MATE_BOUND
        else:
            assert report.score == score
            assert report.depth == 3, "a forced end needs no deeper search"
    lost = mate_in_3.play(mate_in_3.parse_move("b"))
    assert run_search(searcher, lost, Limit()).score == 2 - MATE


def test_line_of_play(searcher_of: Searchers) -> None:
    """The line begins with the best move, is legal, and reaches a forced end."""
    searcher = searcher_of("connect-four")
    position = searcher.game.position(OPEN_TWO)
    report = run_search(searcher, position, Limit())
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
    nodes_after_depth = [1]
    searcher.search(
        start,
        Limit(depth=9),
        Table(16),
        Control(),
        on_depth=lambda report: nodes_after_depth.append(report.nodes),
    )
    for nodes in (1, 500, 10_000, nodes_after_depth[-1] - 1):
        report = run_search(searcher, start, Limit(nodes=nodes), Table(16))
        visited = searcher._works[0].nodes
        assert visited == max(nodes, nodes_after_depth[1]), nodes
        assert report.depth == max(1, sum(count < nodes for count in nodes_after_depth[1:]))
    above_depth_9 = Limit(depth=9, nodes=nodes_after_depth[-1] + 1)
    assert run_search(searcher, start, above_depth_9, Table(16)).depth == 9


def test_a_stopped_search_may_move_from_an_unfinished_depth(searcher_of: Searchers) -> None:
    """A stopped search answers with its last published best move, even from an unfinished depth.

    Each move is listed once, the best one first. A search of several lines answers from the last
    completed depth.
    """
    searcher = searcher_of("connect-four")
    change_count = 0
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
                change_count += 1
                assert depths[-2].line[0] != report.line[0]
                again = searcher.search(position, Limit(nodes=nodes), Table(14), Control())
                assert again.moves == report.moves
            several: list[Report] = []
            searcher.search(
                position, Limit(nodes=nodes), Table(14), Control(), lines=2, on_depth=several.append
            )
            assert len(several) == several[-1].depth
    assert change_count >= 3


def test_an_aborted_search_leaves_a_valid_table(searcher_of: Searchers) -> None:
    """A search with the table of stopped searches finds the right score."""
    searcher = searcher_of("connect-four")
    rng = random.Random(8)
    for position, score in endgames(8, 100):
        table = Table(12)
        for _ in range(20):
            run_search(searcher, position, Limit(nodes=rng.randrange(10, 3000)), table)
        assert run_search(searcher, position, Limit(), table).score == score, position.text()


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
    depths: list[int] = []

    def expire_at_five(report: Report) -> None:
        depths.append(report.depth)
        if report.depth == 5:
            searcher.expire()

    assert searcher.search(start, Limit(), Table(10), Control(), on_depth=expire_at_five).depth == 5
    assert depths == [1, 2, 3, 4, 5]


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
    """Moves within the margin have the same exact scores as in a search with an open window."""
    searcher = searcher_of("connect-four")
    for line in playouts(searcher.game, 5, seed=9):
        position = line[5]
        full = run_search(
            searcher, position, Limit(depth=5), Table(12), exact_depth=True, margin=4 * MATE
        )
        values = {move: score for move, score, bound in full.moves}
        assert all(bound == layout.EXACT for _, _, bound in full.moves)
        narrow = run_search(
            searcher, position, Limit(depth=5), Table(12), exact_depth=True, margin=12
        )
        for move, score, bound in narrow.moves:
            is_near = values[move] > narrow.score - 12
            assert (bound == layout.EXACT) >= is_near
            assert score == values[move] if bound == layout.EXACT else score >= values[move]


def test_a_finished_match_cannot_be_searched(searcher_of: Searchers) -> None:
    """A search of a finished match is refused."""
    searcher = searcher_of("tic-tac-toe")
    with pytest.raises(SearchFailed, match="over"):
        run_search(searcher, searcher.game.position("XXXOO...."), Limit())


def test_uncompiled_kernel_agrees(searcher_of: Searchers) -> None:
    """The kernel as plain Python visits the same nodes and finds the same score."""
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
    report = run_search(searcher, position, Limit(depth=1), Table(12))
    assert (score, work[layout.NODES]) == (report.score, report.nodes)
