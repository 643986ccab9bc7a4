"""Othello's endgame solver compared with a plain minimax, and the soundness of its cutoffs."""

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

FULL = (1 << 64) - 1
#: The first position of the FFO test set, by the French Othello federation.
FFO_40 = (
    "O--OOOOX-OOOOOOXOOXXOOOXOOXOOOXXOOOOOOXX---OOOOX----O--X-------- X; A2:+38; C7:+36; D8:+34;"
)
STEPS = [(right, down) for right in (-1, 0, 1) for down in (-1, 0, 1) if right or down]


@cache
def solver() -> EndgameSolver:
    return EndgameSolver(load_game("othello"))


def turned(p: int, o: int, cell: int) -> int:
    """The discs that p turns over with a disc on an empty cell, found ray by ray."""
    found = 0
    for right, down in STEPS:
        column, row, ray = cell % 8 + right, cell // 8 + down, 0
        while 0 <= column < 8 and 0 <= row < 8 and o >> (column + 8 * row) & 1:
            ray |= 1 << (column + 8 * row)
            column, row = column + right, row + down
        if 0 <= column < 8 and 0 <= row < 8 and p >> (column + 8 * row) & 1:
            found |= ray
    return found


def best_lead(p: int, o: int, passed: bool = False) -> int:
    """The score by plain minimax to the end."""
    empty = rest = FULL & ~(p | o)
    leads = []
    while rest:
        disc = rest & -rest
        rest ^= disc
        if flipped := turned(p, o, disc.bit_length() - 1):
            leads.append(-best_lead(o ^ flipped, p ^ flipped ^ disc))
    if leads:
        return max(leads)
    if not passed:
        return -best_lead(o, p, passed=True)
    lead = p.bit_count() - o.bit_count()
    return 0 if lead == 0 else lead + empty.bit_count() if lead > 0 else lead - empty.bit_count()


def random_positions(seed: int, empty: Callable[[random.Random], int]) -> Iterator[Position]:
    """Unfinished positions of random matches, with `empty` empty cells."""
    chance = random.Random(seed)
    while True:
        here, wanted = load_game("othello").start(), empty(chance)
        while here.moves() and here.text().count("-") > wanted:
            here = here.play(chance.choice(here.moves()))
        if here.moves():
            yield here


def boards(position: Position) -> tuple[int, int]:
    return int(position.state[0]), int(position.state[1])


def check_scores(seed: int, count: int, most: int) -> None:
    """Asserts that the solver agrees with the minimax.

    The score and the best move's score are exact, and no other move scores better than its bound.
    """
    for position, _ in zip(
        random_positions(seed, lambda chance: chance.randint(1, most)), range(count), strict=False
    ):
        solution = solver().solve(position, Limit(), Control())
        assert solution is not None
        leads = {move: -best_lead(*boards(position.play(move))) for move in position.moves()}
        assert solution.score == max(leads.values()), position.text()
        assert {solved.move for solved in solution.moves} == set(leads)
        for solved in solution.moves:
            lead = leads[solved.move]
            assert lead == solved.score if solved.bound == "exact" else lead <= solved.score, (
                position.text()
            )


def test_scores_are_those_of_a_plain_minimax() -> None:
    """The solver agrees with minimax on random positions of up to six empty cells."""
    check_scores(seed=1, count=200, most=6)


@pytest.mark.long
def test_scores_are_those_of_a_plain_minimax_in_more_positions() -> None:
    """The same with up to eight empty cells."""
    check_scores(seed=2, count=300, most=8)


@contextmanager
def changed_table(at: int, words: object) -> Iterator[None]:
    """Changes some of the fixed tables of the solver in a block."""
    solver().prepare()
    memory = solver()._words
    count = len(words)  # type: ignore[arg-type]
    right = memory[at : at + count].copy()
    memory[at : at + count] = words
    try:
        yield
    finally:
        memory[at : at + count] = right
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
    """The comparison fails with a planted fault, except in parity, which only orders moves."""
    with changed_table(at, words):
        if "parity" in request.node.callspec.id:
            check_scores(seed=1, count=20, most=6)
            return
        with pytest.raises(AssertionError):
            check_scores(seed=1, count=200, most=6)


def stable_claims(matches: int) -> int:
    """Plays random matches and asserts that stable discs keep their colour; counts the claims."""
    solver().prepare()
    stable = solver()._native.function("stable_entry")
    claims = 0
    for seed in range(matches):
        chance, here, sure = random.Random(seed), load_game("othello").start(), [0, 0]
        while here.moves():
            here = here.play(chance.choice(here.moves()))
            p, o = boards(here)
            mine, others = here.turn, 1 - here.turn
            assert sure[mine] & ~p == 0, here.text()
            assert sure[others] & ~o == 0, here.text()
            sure[mine] |= int(stable(p, o, solver()._memory))
            sure[others] |= int(stable(o, p, solver()._memory))
        claims += (sure[0] | sure[1]).bit_count()
    return claims


def test_stable_discs_are_never_turned_over() -> None:
    """In random matches stable discs keep their colour; most of a full board is found stable."""
    assert stable_claims(60) > 60 * 40


def test_a_wrong_edge_is_not_stable() -> None:
    """The property fails with a table that calls all edge discs stable."""
    with changed_table(last.EDGES, np.full(8192, FULL, np.uint64)), pytest.raises(AssertionError):
        stable_claims(60)


def test_discs_turned_over_are_those_of_the_rules() -> None:
    """The flips of four lines at once equal those found ray by ray, compiled and uncompiled."""
    solver().prepare()
    compiled = solver()._native.function("flips_entry")
    for position, _ in zip(
        random_positions(3, lambda chance: chance.randint(1, 59)), range(40), strict=False
    ):
        p, o = boards(position)
        for cell in range(64):
            if not (p | o) >> cell & 1:
                expected = turned(p, o, cell)
                assert int(compiled(cell, p, o, solver()._memory)) == expected
        with np.errstate(over="ignore"):
            words = np.uint64(p), np.uint64(o)
            free = [cell for cell in range(64) if not (p | o) >> cell & 1]
            assert last.mobility(*words) == sum(1 << cell for cell in free if turned(p, o, cell))
            assert last.flips(free[0], *words, solver()._words) == turned(p, o, free[0])


def test_plain_python_solves_like_compiled_code() -> None:
    """The uncompiled functions for the last few cells agree with minimax."""
    solver().prepare()
    solved = 0
    for position in random_positions(4, lambda chance: 4):
        p, o = boards(position)
        if (FULL & ~(p | o)).bit_count() != 4:
            continue
        with np.errstate(over="ignore"):
            odd = np.uint64(odd_quadrants(FULL & ~(p | o)))
            lead, alpha = best_lead(p, o), random.Random(p).randint(-64, 63)
            found = last.shallow(np.uint64(p), np.uint64(o), alpha, 4, odd, solver()._words)
        assert (found > alpha) == (lead > alpha)
        solved += 1
        if solved == 12:
            return


def test_who_wins_agrees_with_the_score() -> None:
    """A search that is stopped returns nothing or a valid bound, and knows the winner first."""
    bounds = []
    for position, _ in zip(random_positions(5, lambda chance: 13), range(6), strict=False):
        whole = solver().solve(position, Limit(), Control())
        assert whole is not None
        for nodes in (1, 4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 1 << 40):
            solver()._table_words().fill(0)
            found = solver().solve(position, Limit(nodes=nodes, time_ms=10_000), Control())
            if found is None:
                continue
            bounds.append(found.bound)
            if found.bound == "exact":
                assert found.score == whole.score
            elif found.bound == "lower":
                assert 0 < found.score <= whole.score
                assert -best_of(position.play(found.moves[0].move)) > 0
            else:
                assert 0 > found.score >= whole.score
        assert found is not None
        assert found.bound == "exact"
    assert {"lower", "upper"} & set(bounds)


def best_of(position: Position) -> int:
    solution = solver().solve(position, Limit(), Control())
    assert solution is not None
    return solution.score


def test_ffo_40(capsys: pytest.CaptureFixture[str]) -> None:
    """With 20 empty cells it finds the published score and move, and a line with that result."""
    assert solve.main(["othello", "--position", FFO_40, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["result"], found["best_moves"]) == (
        38,
        "a win by 38 discs",
        ["a2"],
    )
    here = load_game("othello").position(found["position"])
    for token in found["line"]:
        here = here.play(here.parse_move(token))
    assert here.outcome() is not None
    assert here.text()[:64].count("X") - here.text()[:64].count("O") == 38


def test_a_file_of_positions_is_checked(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong score beside a position is reported with its line number."""
    from pathlib import Path

    position = next(random_positions(6, lambda chance: 9))
    lead = best_of(position)
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
    """With 14 empty cells the top level answers from the solver; a lower level searches."""
    game = load_game("othello")
    searcher = Searcher(game)
    for position, _ in zip(random_positions(7, lambda chance: 12), range(4), strict=False):
        if len(position.moves()) < 2:
            continue
        job = Job("othello", game.digest, {}, position.text(), (), "room", level=8)
        result = driver.answer(job, searcher, lambda: driver.Table(12), Control())
        lead = best_of(position)
        assert -best_of_after(position, result.move) == lead
        assert abs(result.info.score) in (0, MATE - position.text()[:64].count("-"))
        assert (result.info.score > 0) == (lead > 0)


def best_of_after(position: Position, token: str) -> int:
    after = position.play(position.parse_move(token))
    outcome = after.outcome()
    if outcome is None:
        return best_of(after)
    p, o = boards(after)
    return best_lead(p, o)


def test_reach_grows_with_time() -> None:
    """The solver accepts 20 empty cells in 0.8 s, fewer in less time, and never the whole game."""
    positions = {n: next(random_positions(8, lambda chance, n=n: n)) for n in (12, 18, 20, 22, 59)}  # type: ignore[misc]
    reached = {
        ms: [n for n, position in positions.items() if solver().can_solve(position, ms)]
        for ms in (10, 800, 8000)
    }
    assert reached == {10: [12], 800: [12, 18, 20], 8000: [12, 18, 20]} or reached[8000] == [
        12,
        18,
        20,
        22,
    ]
    assert solver().can_solve(positions[22], None)
    assert not solver().can_solve(positions[59], None)
