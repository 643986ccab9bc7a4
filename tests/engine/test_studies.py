"""Hints and analyses ask the game's solver: its answer is proven, and depends on the job only."""

import random
from collections.abc import Iterator
from dataclasses import replace as replaced
from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from engine.game import Game, GameFault, Position
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table, answer
from engine.search.job import MATE, Info, Job, Limit
from engine.search.layout import MATE_BOUND
from engine.solvers import base
from engine.solvers.base import StudySolver, load_solver

#: The games with a solver, and the numbers of plies of the positions in these tests.
PLIES = {"connect-four": range(14, 40), "othello": range(44, 60)}
#: A position of connect four that fifth column f wins and b loses.
SIXTH_WINS = ("f", "c", "d", "g")


@cache
def searcher_of(game_id: str) -> Searcher:
    searcher = Searcher(load_game(game_id))
    searcher.prepare()
    return searcher


def solver_of(game_id: str) -> StudySolver:
    solver = searcher_of(game_id).solver
    assert isinstance(solver, StudySolver)
    return solver


def positions(game_id: str, count: int, seed: int) -> Iterator[Position]:
    """Yields unfinished positions after random moves."""
    rng, game = random.Random(seed), load_game(game_id)
    while count:
        position = game.start()
        for _ in range(rng.choice(PLIES[game_id])):
            if position.outcome() is None and position.moves():
                position = position.play(rng.choice(position.moves()))
        if position.outcome() is None and position.moves():
            count -= 1
            yield position


def job_at(position: Position, nodes: int = 1_000, **fields: Any) -> Job:
    """Returns the job for a hint in a position."""
    game = position.game
    job = Job(
        game.id, game.digest, dict(position.options), position.text(), (), "",
        limit=Limit(nodes=nodes), use="ask", lines=3, solver_nodes=game.rules.SOLVER_NODES,
    )  # fmt: skip
    return replace(job, **fields)


def answer_to(job: Job) -> Info:
    return answer(job, searcher_of(job.game), lambda: Table(10), Control()).info


def without_time(info: Info) -> Info:
    return replace(info, time_ms=0, nps=0)


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


@pytest.mark.parametrize("game_id", PLIES)
def test_a_study_proves_each_move_that_it_names(game_id: str) -> None:
    """The result of a move is that of the position after it, which is solved without limits.

    An exact score is the exact score of that position, and no move is better than the first.
    """
    solver, nodes = solver_of(game_id), load_game(game_id).rules.SOLVER_NODES
    named = 0
    for position in positions(game_id, 15, seed=1):
        study = solver.study(position, nodes, Control())
        if study is None:
            continue
        assert (study.value, study.score) == (study.moves[0].value, study.moves[0].score)
        for solved in study.moves:
            after = position.play(solved.move)
            outcome = after.outcome()
            if outcome is None:
                solution = solver.solve(after, Limit(), Control())
                assert solution is not None
                assert sign(solved.value) == -sign(solution.value), (position.text(), solved)
                if solved.bound == "exact":
                    assert solved.score == -solution.score, (position.text(), solved)
            else:
                winner = 0 if outcome.winner is None else 1
                assert sign(solved.value) == winner * (1 if outcome.winner == position.turn else -1)
            assert sign(solved.value) <= sign(study.value)
            named += 1
    assert named > 30


@pytest.mark.parametrize("game_id", PLIES)
def test_a_study_depends_on_its_position_only(game_id: str) -> None:
    """After any other work, live or not, a study has the same answer, down to its node count."""
    solver, nodes = solver_of(game_id), load_game(game_id).rules.SOLVER_NODES
    chosen = list(positions(game_id, 12, seed=2))
    first = [solver.study(position, nodes, Control()) for position in chosen]
    for position in positions(game_id, 3, seed=3):
        solver.solve(position, Limit(nodes=50_000), Control())
    again = [solver.study(position, nodes, Control()) for position in reversed(chosen)][::-1]
    assert [each and replaced(each, seconds=0) for each in first] == [
        each and replaced(each, seconds=0) for each in again
    ]


def test_a_hint_names_the_only_win() -> None:
    """Connect four, 6347: only f wins, and the hint proves what every other column is worth."""
    position = load_game("connect-four").start()
    for token in SIXTH_WINS:
        position = position.replay(token)
    info = answer_to(job_at(position))
    assert (info.pv[0], info.score > MATE_BOUND) == ("f", True)
    assert all(move.proven for move in info.moves)
    results = {move.move: sign(move.score) for move in info.moves}
    assert results["b"] == -1
    assert [move for move, result in results.items() if result > 0] == ["f"]


def test_a_level_is_not_a_study() -> None:
    """The moves of levels stay as they are: only jobs for people give the solver nodes."""
    position = next(positions("othello", 1, seed=5))
    job = job_at(position, use="live", level=4, limit=Limit(), lines=1, solver_nodes=0)
    assert not any(move.proven for move in answer_to(job).moves)


def test_a_position_out_of_reach_is_searched() -> None:
    """Where the solver proves nothing, the answer is that of the search alone."""
    position = load_game("othello").start()
    with_solver, without = job_at(position), job_at(position, solver_nodes=0)
    assert without_time(answer_to(with_solver)) == without_time(answer_to(without))


def test_the_lead_is_in_discs() -> None:
    """An exact result of Othello has the final lead in discs, and a bound has none."""
    leads = []
    for position in positions("othello", 10, seed=7):
        info = answer_to(job_at(position))
        for move in info.moves:
            leads.append(move.lead)
            if move.lead is not None:
                assert (move.bound, sign(move.lead)) == ("exact", sign(move.score))
            else:
                assert move.bound != "exact"
    assert any(leads)


def test_the_tables_of_draughts_answer() -> None:
    """A position of draughts with few pieces has the exact distance of every move."""
    game: Game = load_game("draughts")
    job = job_at(game.position("B:WK32:BK1,K6:H0"))
    info = answer_to(job)
    assert {move.move for move in info.moves} == set(game.position(job.start).tokens())
    assert all(move.proven and move.bound == "exact" for move in info.moves)
    assert MATE - info.score == len(info.pv)


def test_a_solver_without_studies_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that gives its solver nodes, but whose solver knows no studies, says so at once."""
    game = load_game("connect-four")
    monkeypatch.setattr(base, "StudySolver", int)
    with pytest.raises(GameFault, match="needs `study`"):
        load_solver(game)
