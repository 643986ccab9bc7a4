"""Othello's endgame solver compared with plain minimax, and its stable discs."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from engine import solve
from engine.game import Position
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher
from engine.search.job import MATE, Job, Limit
from engine.solvers import othello_last as last
from engine.solvers.base import ProblemError
from engine.solvers.othello import EndgameSolver
from engine.solvers.othello_tables import odd_quadrants

#: The set of all cells.
FULL = (1 << 64) - 1
#: The first position of the FFO test set, by the French Othello federation.
FFO_40 = (
    "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X-------- X; A2:+38; C7:+36; D8:+34;"
)
#: The eight directions.
STEPS = [(right, down) for right in (-1, 0, 1) for down in (-1, 0, 1) if right or down]


@cache
def solver() -> EndgameSolver:
    return EndgameSolver(load_game("othello"))


def flips(p: int, o: int, cell: int) -> int:
    """Returns the discs that p turns over with a disc on an empty cell, ray by ray."""
    discs = 0
    for right, down in STEPS:
        column, row, ray = cell % 8 + right, cell // 8 + down, 0
        while 0 <= column < 8 and 0 <= row < 8 and o >> (column + 8 * row) & 1:
            ray |= 1 << (column + 8 * row)
            column, row = column + right, row + down
        if 0 <= column < 8 and 0 <= row < 8 and p >> (column + 8 * row) & 1:
            discs |= ray
    return discs


def best_lead(p: int, o: int, passed: bool = False) -> int:
    """Returns the score by plain minimax to the end."""
    empty = rest = FULL & ~(p | o)
    leads = []
    while rest:
        disc = rest & -rest
        rest ^= disc
        if flipped := flips(p, o, disc.bit_length() - 1):
            leads.append(-best_lead(o ^ flipped, p ^ flipped ^ disc))
    if leads:
        return max(leads)
    if not passed:
        return -best_lead(o, p, passed=True)
    lead = p.bit_count() - o.bit_count()
    return 0 if lead == 0 else lead + empty.bit_count() if lead > 0 else lead - empty.bit_count()


def random_positions(seed: int, draw_empty: Callable[[random.Random], int]) -> Iterator[Position]:
    """Yields unfinished positions of random matches, each with `draw_empty(rng)` empty cells."""
    rng = random.Random(seed)
    while True:
        position, count = load_game("othello").start(), draw_empty(rng)
        while position.moves() and position.text().count("-") > count:
            position = position.play(rng.choice(position.moves()))
        if position.moves():
            yield position


def bitboards(position: Position) -> tuple[int, int]:
    """Returns the discs of the side to move and those of the opponent."""
    return int(position.state[0]), int(position.state[1])


def check_scores(seed: int, count: int, max_empty: int) -> None:
    """Asserts that the solver's score is the minimax score and that its bounds are valid."""
    for position, _ in zip(
        random_positions(seed, lambda rng: rng.randint(1, max_empty)),
        range(count),
        strict=False,
    ):
        solution = solver().solve(position, Limit(), Control())
        assert solution is not None
        leads = {move: -best_lead(*bitboards(position.play(move))) for move in position.moves()}
        assert solution.score == max(leads.values()), position.text()
        assert {solved.move for solved in solution.moves} == set(leads)
        for solved in solution.moves:
            lead = leads[solved.move]
            assert lead == solved.score if solved.bound == "exact" else lead <= solved.score, (
                position.text()
            )


def test_scores_match_minimax() -> None:
    """The solver agrees with minimax on random positions of up to six empty cells."""
    check_scores(seed=1, count=200, max_empty=6)


@pytest.mark.long
def test_scores_match_minimax_in_more_positions() -> None:
    """The solver agrees with minimax on random positions of up to eight empty cells."""
    check_scores(seed=2, count=300, max_empty=8)


@contextmanager
def changed_table(first: int, words: object) -> Iterator[None]:
    """Changes words of the solver's fixed tables within the block."""
    solver().prepare()
    memory = solver()._words
    count = len(words)  # type: ignore[arg-type]
    original = memory[first : first + count].copy()
    memory[first : first + count] = words
    try:
        yield
    finally:
        memory[first : first + count] = original
        solver()._table_words().fill(0)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (last.NEIGHBOURS + 9, [0]),
        (last.RAYS + 8 * 10, np.zeros(8, np.uint64)),
        (last.QUADRANT, np.full(64, 1 << 20, np.uint64)),
        (last.EDGES, np.full(8192, FULL, np.uint64)),
    ],
    ids=["a cell without neighbours", "a cell without rays", "wrong parity", "all edges stable"],
)
def test_a_wrong_table_is_found(at: int, words: object, request: pytest.FixtureRequest) -> None:
    """The comparison fails with a wrong table, except that of parity, which only orders moves."""
    with changed_table(at, words):
        if "parity" in request.node.callspec.id:
            check_scores(seed=1, count=20, max_empty=6)
            return
        with pytest.raises(AssertionError):
            check_scores(seed=1, count=200, max_empty=6)


def count_stable_discs(matches: int) -> int:
    """Asserts that stable discs keep their colour in random matches; returns their number."""
    solver().prepare()
    stable = solver()._native.function("stable_entry")
    count = 0
    for seed in range(matches):
        rng, position, known_stable = random.Random(seed), load_game("othello").start(), [0, 0]
        while position.moves():
            position = position.play(rng.choice(position.moves()))
            p, o = bitboards(position)
            mine, others = position.turn, 1 - position.turn
            assert known_stable[mine] & ~p == 0, position.text()
            assert known_stable[others] & ~o == 0, position.text()
            known_stable[mine] |= int(stable(p, o, solver()._memory))
            known_stable[others] |= int(stable(o, p, solver()._memory))
        count += (known_stable[0] | known_stable[1]).bit_count()
    return count


def test_stable_discs_are_never_turned_over() -> None:
    """Stable discs keep their colour in random matches, and most discs become stable."""
    assert count_stable_discs(60) > 60 * 40


def test_a_wrong_edge_table_is_found() -> None:
    """The check of stable discs fails with a table in which all edge discs are stable."""
    with changed_table(last.EDGES, np.full(8192, FULL, np.uint64)), pytest.raises(AssertionError):
        count_stable_discs(60)


def test_flips_match_the_rules() -> None:
    """The solver's flips equal those computed ray by ray, compiled and uncompiled."""
    solver().prepare()
    compiled = solver()._native.function("flips_entry")
    for position, _ in zip(
        random_positions(3, lambda rng: rng.randint(1, 59)), range(40), strict=False
    ):
        p, o = bitboards(position)
        for cell in range(64):
            if not (p | o) >> cell & 1:
                expected = flips(p, o, cell)
                assert int(compiled(cell, p, o, solver()._memory)) == expected
        with np.errstate(over="ignore"):
            words = np.uint64(p), np.uint64(o)
            free = [cell for cell in range(64) if not (p | o) >> cell & 1]
            assert last.mobility(*words) == sum(1 << cell for cell in free if flips(p, o, cell))
            assert last.flips(free[0], *words, solver()._words) == flips(p, o, free[0])


def test_the_uncompiled_solver_matches_minimax() -> None:
    """The uncompiled functions for the last few cells agree with minimax."""
    solver().prepare()
    solved_count = 0
    for position in random_positions(4, lambda rng: 4):
        p, o = bitboards(position)
        if (FULL & ~(p | o)).bit_count() != 4:
            continue
        with np.errstate(over="ignore"):
            odd = np.uint64(odd_quadrants(FULL & ~(p | o)))
            lead, alpha = best_lead(p, o), random.Random(p).randint(-64, 63)
            score = last.shallow(np.uint64(p), np.uint64(o), alpha, 4, odd, solver()._words)
        assert (score > alpha) == (lead > alpha)
        solved_count += 1
        if solved_count == 12:
            return


def test_a_stopped_search_returns_a_valid_bound() -> None:
    """A stopped search returns nothing, a bound on the winner's score, or the exact score."""
    bounds = []
    for position, _ in zip(random_positions(5, lambda rng: 13), range(6), strict=False):
        complete = solver().solve(position, Limit(), Control())
        assert complete is not None
        for nodes in (1, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 1 << 40):
            solver()._table_words().fill(0)
            solution = solver().solve(position, Limit(nodes=nodes, time_ms=10_000), Control())
            if solution is None:
                continue
            bounds.append(solution.bound)
            if solution.bound == "exact":
                assert solution.score == complete.score
            elif solution.bound == "lower":
                assert 0 < solution.score <= complete.score
                assert -score_of(position.play(solution.moves[0].move)) > 0
            else:
                assert 0 > solution.score >= complete.score
        assert solution is not None
        assert solution.bound == "exact"
    assert {"lower", "upper"} & set(bounds)


def score_of(position: Position) -> int:
    """Returns the solver's score of a position."""
    solution = solver().solve(position, Limit(), Control())
    assert solution is not None
    return solution.score


def test_ffo_40(capsys: pytest.CaptureFixture[str]) -> None:
    """The solver finds the published score and move of FFO 40, and a line with that score."""
    assert solve.main(["othello", "--position", FFO_40, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["score"], printed["result"], printed["best_moves"]) == (
        38,
        "a win by 38 discs",
        ["a2"],
    )
    position = load_game("othello").position(printed["position"])
    for token in printed["line"]:
        position = position.play(position.parse_move(token))
    assert position.outcome() is not None
    assert position.text()[:64].count("X") - position.text()[:64].count("O") == 38


def test_a_file_of_positions_is_checked(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong score beside a position is reported with its line number."""
    from pathlib import Path

    position = next(random_positions(6, lambda rng: 9))
    lead = score_of(position)
    file = Path(str(tmp_path)) / "suite.obf"
    file.write_text(
        f"{position.text()}; A1:{lead:+d}; H8:{lead - 2:+d};\n"
        f"{position.text()}; A1:{lead + 2:+d};\n"
    )
    assert solve.main(["othello", "--file", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["wrong"] == [2]
    with pytest.raises(ProblemError, match="not a move and its score"):
        solver().problem(f"{position.text()}; A1 good", {})


def test_the_top_level_plays_the_end_perfectly() -> None:
    """With 12 empty cells the top level plays a perfect move and reports the right result."""
    game = load_game("othello")
    searcher = Searcher(game)
    for position, _ in zip(random_positions(7, lambda rng: 12), range(4), strict=False):
        if len(position.moves()) < 2:
            continue
        job = Job("othello", game.digest, {}, position.text(), (), "room", level=8)
        result = driver.answer(job, searcher, lambda: driver.Table(12), Control())
        lead = score_of(position)
        assert -score_after_move(position, result.move) == lead
        assert abs(result.info.score) in (0, MATE - position.text()[:64].count("-"))
        assert (result.info.score > 0) == (lead > 0)


def score_after_move(position: Position, token: str) -> int:
    """Returns the score of the position after a move, for the side to move there."""
    after = position.play(position.parse_move(token))
    outcome = after.outcome()
    if outcome is None:
        return score_of(after)
    p, o = bitboards(after)
    return best_lead(p, o)


def test_more_time_solves_more_empty_cells() -> None:
    """The solver accepts 20 empty cells in 0.8 s, fewer in less time, and never the whole game."""
    positions = {n: next(random_positions(8, lambda rng, n=n: n)) for n in (12, 18, 20, 22, 59)}  # type: ignore[misc]
    solvable = {
        ms: [n for n, position in positions.items() if solver().can_solve(position, ms)]
        for ms in (10, 800, 8000)
    }
    assert solvable == {10: [12], 800: [12, 18, 20], 8000: [12, 18, 20]} or solvable[8000] == [
        12,
        18,
        20,
        22,
    ]
    assert solver().can_solve(positions[22], None)
    assert not solver().can_solve(positions[59], None)
