"""The endgame tables of draughts: every entry is consistent, and play by the tables wins."""

import random
from collections.abc import Callable
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.compiler.intrinsics import Memory
from engine.compiler.native import NativeGame, compile_game
from engine.game import Game, Outcome, Position
from engine.games.draughts_parts.tables import MAX_QUIET_PLIES
from engine.match.description import parse_description
from engine.match.making import make_player
from engine.match.play import Situation
from engine.rules.registry import load_game
from engine.search import layout
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.features import ALL, FEATURE, PROBE
from engine.search.job import MATE, Job, Limit
from engine.solvers.draughts import DraughtsSolver
from engine.solvers.draughts_files import (
    load_or_make_tables,
    load_tables,
    make_tables,
    slice_pairs,
    store_tables,
)
from tests.engine.games import draughts_tables_check as checker

#: Size of the buffer for moves.
MOVE_BUFFER = 256
#: The numbers of the squares.
SQUARES = range(1, 33)


@cache
def game() -> Game:
    return load_game("draughts")


def rules() -> Any:
    return game().module


@cache
def tables() -> Any:
    """Returns the tables of all positions with up to four pieces."""
    return load_or_make_tables(game())


@cache
def solver() -> DraughtsSolver:
    return DraughtsSolver(game(), tables())


@cache
def compiled_check() -> NativeGame:
    """Returns the check, compiled with the rules."""
    return compile_game(game(), checker)


def run_check(function: str, words: Any, pieces: int, *numbers: int) -> Any:
    """Returns the counters of a check, followed by the word of each entry."""
    counts = np.zeros(checker.ENTRIES_AT + rules().TABLE_BYTES, np.int64)
    data = np.concatenate([np.zeros(rules().TABLES_OFFSET, np.int64), words])
    moves = np.zeros(MOVE_BUFFER, np.int64)
    compiled_check().function(function)(
        pieces, *numbers, Memory(data), Memory(counts), Memory(moves)
    )
    return counts


def score_of(position: Position) -> int:
    """Returns the plies to the end, positive for a win and negative for a loss."""
    score = solver().solve_batch([position], Limit(), None).scores[0]
    assert score is not None, position.text()
    return score


def random_positions(number: int, pieces: int, seed: int) -> list[Position]:
    """Returns random positions with `pieces` pieces and a legal move."""
    rng = random.Random(seed)
    positions: list[Position] = []
    while len(positions) < number:
        squares = rng.sample(SQUARES, pieces)
        first = rng.randrange(1, pieces)
        white, black = squares[:first], squares[first:]
        texts = [
            ",".join(
                f"K{square}" if square in crowned or rng.random() < 0.5 else f"{square}"
                for square in side
            )
            for side, crowned in ((white, range(1, 5)), (black, range(29, 33)))
        ]
        position = game().position(f"{rng.choice('BW')}:W{texts[0]}:B{texts[1]}:H0")
        if position.moves():
            positions.append(position)
    return positions


def won_positions(number: int, pieces: int, seed: int) -> list[Position]:
    """Returns random positions with `pieces` pieces that the side to move wins."""
    won = [
        position
        for position in random_positions(6 * number, pieces, seed)
        if score_of(position) > 0
    ]
    assert len(won) >= number
    return won[:number]


# --- the tables


@pytest.mark.parametrize("pieces", [2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_every_entry_agrees_with_its_successors(pieces: int) -> None:
    """Every entry is consistent with the entries of its successors by the rules."""
    counts = run_check("check", tables(), pieces)
    assert counts[checker.WRONG] == 0, counts[checker.EXAMPLE :][:4]
    # Schaeffer, One Jump Ahead: the positions by the number of pieces.
    sizes = {2: 6_972, 3: 261_224, 4: 7_092_774}
    one_sided = 2 * sum(comb(28, men) * comb(32 - men, pieces - men) for men in range(pieces + 1))
    assert counts[checker.SEEN] == 2 * (sizes[pieces] - one_sided)  # with either side to move
    assert (
        counts[checker.WINS] + counts[checker.LOSSES] + counts[checker.DRAWS]
        == counts[checker.SEEN]
    )


def test_a_wrong_entry_is_found() -> None:
    """The check finds an entry with a wrong result or with a distance two plies too long."""
    rng = random.Random(5)
    entries = int(rules().SLICES[2 * 64 + 2 * 4])  # the first entry with four pieces
    for _ in range(10):
        wrong = tables().copy()
        values = wrong[1:].view(np.uint8)
        index = rng.randrange(150_000)
        values[index] = (
            rng.choice([0, values[index] + 2]) if values[index] else rng.choice([1, 2, 9])
        )
        assert (
            run_check("check", wrong, 2)[checker.WRONG]
            + run_check("check", wrong, 3)[checker.WRONG]
        ), index
    assert entries > 150_000


def test_every_position_has_its_own_entry() -> None:
    """Each entry of up to three pieces belongs to exactly one position per side to move."""
    counts = run_check("check", tables(), 2) + run_check("check", tables(), 3)
    entries = int(counts[checker.SEEN]) // 2
    assert (counts[checker.ENTRIES_AT :][:entries] == 2).all()
    assert not counts[checker.ENTRIES_AT :][entries:].any()


def test_king_against_king_is_as_published() -> None:
    """Of 992 positions 230 are won, 654 drawn and 108 lost; the longest win takes 11 plies.

    Source: E. Trice, World Draughts Forum, 2010.
    """
    first = int(rules().SLICES[64 + 4])
    values = tables()[1:].view(np.uint8)[first : first + 992]
    assert [
        (values % 2 == 0).sum() - (values == 0).sum(),
        (values == 0).sum(),
        (values % 2).sum(),
    ] == [230, 654, 108]
    assert values[values % 2 == 0].max() - 1 == 11


@pytest.mark.long
@pytest.mark.timeout(900)
def test_no_win_exceeds_the_draw_count() -> None:
    """In a win at most MAX_QUIET_PLIES plies pass without a capture or a man's move.

    This is less than the draw count, so every position that the tables call won is won.
    """
    longest = max(
        int(run_check("quiet_runs", tables(), n, 109)[checker.LONGEST]) for n in (2, 3, 4)
    )
    assert longest == MAX_QUIET_PLIES < rules().DRAW_PLIES


def test_a_damaged_file_is_not_read(tmp_path: Path) -> None:
    """A stored file is read back; a damaged, truncated or missing file gives no tables."""
    path = tmp_path / "draughts.tables"
    store_tables(path, tables())
    content = path.read_bytes()
    assert (load_tables(path) == tables()).all()
    path.write_bytes(content[:4096] + bytes([content[4096] ^ 1]) + content[4097:])
    assert load_tables(path) is None
    path.write_bytes(content[:4000])
    assert load_tables(path) is None
    path.unlink()
    assert load_tables(path) is None


def test_smaller_tables_are_a_prefix() -> None:
    """Tables of three pieces are a prefix of those of four and do not cover four pieces."""
    words = make_tables(game(), 3)
    values, all_values = words[1:].view(np.uint8), tables()[1:].view(np.uint8)
    first = min(int(rules().SLICES[code]) for code, _ in slice_pairs(4) if piece_count(code) == 4)
    assert (values[:first] == all_values[:first]).all()
    small = DraughtsSolver(game(), words)
    four = game().position("B:WK31,K32:BK1,K2:H0")
    assert solver().can_solve(four, None)
    assert not small.can_solve(four, None)


def piece_count(code: int) -> int:
    """Returns the number of pieces of a slice."""
    return (code >> 8) + (code >> 6 & 3) + (code >> 4 & 3) + (code >> 2 & 3)


# --- play by the tables


def play_out(position: Position, reply: Callable[[Position], int]) -> tuple[int, Outcome]:
    """Plays the solver against `reply`; returns the number of plies and the outcome."""
    plies = 0
    side = position.turn
    while (outcome := position.outcome()) is None:
        if position.turn == side:
            solution = solver().solve(position, Limit(), None)
            assert solution is not None, position.text()
            position = position.play(solution.moves[0].move)
        else:
            position = position.play(reply(position))
        plies += 1
    return plies, outcome


def slowest_loss(position: Position) -> int:
    """Returns the move that delays the loss longest."""
    solution = solver().solve(position, Limit(), None)
    assert solution is not None
    return solution.moves[0].move


@pytest.mark.parametrize("pieces", [2, 3, 4])
def test_won_positions_are_won(pieces: int) -> None:
    """The solver wins random won positions, before any draw by repetition or by the draw count.

    Against the best defence it takes exactly the stated plies, against other moves no more.
    """
    rng = random.Random(pieces)
    for position in won_positions(15, pieces, seed=pieces):
        expected = score_of(position)
        assert play_out(position, slowest_loss) == (
            expected,
            Outcome(position.turn, "no piece is left"),
        ) or (
            play_out(position, slowest_loss)
            == (expected, Outcome(position.turn, "no move is left"))
        ), position.text()
        plies, outcome = play_out(position, lambda reached: rng.choice(reached.moves()))
        assert outcome.winner == position.turn, position.text()
        assert plies <= expected, position.text()


def test_a_win_beyond_the_draw_count_is_not_covered() -> None:
    """The solver does not cover a position whose draw count may end the match before the win."""
    won = "W:WK20,K17,K31:BK13:H{}"
    assert [
        solver().can_solve(game().position(won.format(quiet)), None) for quiet in (0, 25, 79)
    ] == [True, True, False]


def test_a_line_ends_before_an_unsolvable_position() -> None:
    """The solver's line ends before a position in which the draw count may prevent the win."""
    position = game().position("W:WK23,K32:B6,K30:H25")
    solution = solver().solve(position, Limit(), None)
    assert solution is not None
    assert 0 < len(solution.line) < abs(solution.score)
    for move in solution.line:
        assert solver().can_solve(position, None)
        assert move in position.moves()
        position = position.play(move)
    assert position.moves()
    assert not solver().can_solve(position, None)


def test_the_top_level_plays_by_the_tables() -> None:
    """Level 8 answers with the distance to the end; the other levels do not use the tables."""
    searcher = Searcher(game())
    searcher.prepare()
    slow = next(p for p in won_positions(500, 4, seed=6) if score_of(p) > 50)
    plies = score_of(slow)
    for level in (7, 8):
        job = Job("draughts", game().digest, {}, slow.text(), (), "room", level=level)
        result = answer(job, searcher, lambda: Table(12), Control())
        assert (result.info.score == MATE - plies) == (level == 8)


def test_the_top_level_avoids_repetition_in_a_won_position() -> None:
    """The top level avoids a threefold repetition, which the tables ignore, and still wins."""
    searcher = Searcher(game())
    searcher.prepare()
    position = start = game().position("W:WK8:B23,K24:H1")
    cycle = ("8-11", "24-28", "11-8", "28-24")
    moves = (*cycle, *cycle[:3])
    for token in moves:
        position = position.play(position.parse_move(token))
    assert (position.outcome(), score_of(position)) == (None, 9)
    best = solver().solve(position, Limit(), Control())
    assert best is not None
    assert [position.format_move(move) for move in best.best_moves] == ["28-24"]
    drawn = position.play(best.best_moves[0]).outcome()
    assert drawn is not None
    assert drawn.winner is None
    job = Job("draughts", game().digest, {}, start.text(), moves, "room", level=8)
    result = answer(job, searcher, lambda: Table(12), Control())
    assert result.move != "28-24"
    assert result.info.score > layout.MATE_BOUND
    after = position.play(position.parse_move(result.move))
    assert score_of(after) == result.info.score - MATE + 1 < 0


# --- the search probes the tables


def test_probe_is_the_same_when_compiled() -> None:
    """The compiled and the uncompiled `probe` return the same for random positions."""
    compiled = compile_game(game()).function("rule_probe")
    data = Memory(solver().data)
    known_count = 0
    for pieces in (2, 3, 4):
        for position in random_positions(150, pieces, seed=pieces):
            with np.errstate(over="ignore"):
                expected = int(rules().probe(position.state, solver().data))
            assert compiled(tuple(int(word) for word in position.state), data) == expected, (
                position.text()
            )
            known_count += expected != 0
    assert known_count > 300


def test_the_search_probes_the_tables() -> None:
    """A two-ply search finds that one capture draws and the other wins in 27 plies.

    Without the feature or the tables it does not find this, and the exact profile never probes.
    """
    position = game().position("W:WK7,K8,K15:BK11,K18:H0")
    plain = Searcher(game())
    searcher = Searcher(game())
    searcher.prepare()
    limit = Limit(depth=2)
    with_tables = searcher.search(position, limit, Table(12), Control())
    assert (with_tables.score, with_tables.solved) == (MATE - 27, True)
    assert position.format_move(with_tables.line[0]) == "15x22"
    without_probing = searcher.search(
        position, limit, Table(12), Control(), features=searcher.features & ~PROBE
    )
    assert (
        without_probing.score
        == plain.search(position, limit, Table(12), Control()).score
        != with_tables.score
    )
    exact = searcher.search(position, limit, Table(12), Control(), exact_depth=True)
    assert (
        exact.score == plain.search(position, limit, Table(12), Control(), exact_depth=True).score
    )


def test_a_one_ply_search_has_the_table_value() -> None:
    """A search of depth 1 finds a win and its distance; without `probe` it does not."""
    searcher = Searcher(game())
    searcher.prepare()
    for position in won_positions(10, 4, seed=7):
        report = searcher.search(position, Limit(depth=1), Table(12), Control())
        assert report.score == MATE - score_of(position), position.text()
    without_probe = searcher.search(
        position,
        Limit(depth=1),
        Table(12),
        Control(),
        features=ALL & ~FEATURE["probe"],
    )
    assert without_probe.score < layout.MATE_BOUND


def test_a_match_player_probes_only_on_request() -> None:
    """A one-ply player with `with=probe` finds a distant win.

    A player without it, in the same process and on the same position, does not.
    """
    position = won_positions(1, 4, seed=8)[0]
    situation = Situation(position, (), position, seed=1)
    with_tables, plain = (
        make_player(parse_description(text), game(), {})
        for text in ("depth=1,with=probe", "depth=1")
    )
    assert with_tables.choose(situation).score == MATE - score_of(position)
    score = plain.choose(situation).score
    assert score is not None
    assert score < layout.MATE_BOUND
