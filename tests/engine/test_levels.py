"""Levels: never absurd, repeatable, different from match to match."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from engine.game import Position
from engine.games.registry import game_ids, load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Job, Result, RootMove, RulesChanged, SearchFailed
from engine.search.levels import LADDER, choose, level_of

Searchers = Callable[[str], Searcher]


def job_of(position: Position, level: int | None = None, seed: int = 0) -> Job:
    game = position.game
    return Job(game.id, game.digest, dict(position.options), position.text(), (), "room", level=level, seed=seed)


def answer(searcher: Searcher, job: Job) -> Result:
    return driver.answer(job, searcher, lambda: Table(14), Control(), time_ms=100)


def timeless(searcher: Searcher, job: Job) -> Result:
    """The answer of a machine without load: only depth and nodes end the search."""
    return driver.answer(job, searcher, lambda: Table(14), Control(), clock=lambda: 0.0)


@pytest.mark.parametrize("levels", range(1, 9))
def test_ladder(levels: int) -> None:
    """However many levels a game has, they get stronger, and the top one is the best there is."""
    ladder = [level_of(levels, level) for level in range(1, levels + 1)]
    assert ladder[-1] is LADDER[-1]
    assert [LADDER.index(level) for level in ladder] == sorted({LADDER.index(level) for level in ladder})
    assert levels == 1 or ladder[0] is LADDER[0]
    for wrong in (0, levels + 1, -1):
        with pytest.raises(ValueError, match=f"1 to {levels}"):
            level_of(levels, wrong)


@pytest.mark.parametrize("game_id", game_ids())
def test_lower_levels_are_repeatable(game_id: str, searcher_of: Searchers) -> None:
    """Below the top a job gives the same move again, on a fresh searcher too; another seed may give another one."""
    game = load_game(game_id)
    other = Searcher(game)
    for level in range(1, game.levels):
        first = {}
        chooses = LADDER.index(level_of(game.levels, level)) < 5
        for seed in range(8 if chooses else 2):
            job = job_of(game.start(), level, seed)
            first[seed] = timeless(searcher_of(game_id), job)
            again = timeless(other, job)
            assert (again.move, again.info.nodes, again.info.moves) == (
                first[seed].move,
                first[seed].info.nodes,
                first[seed].info.moves,
            )
        if chooses:
            assert len({result.move for result in first.values()}) > 1


WIN_IN_ONE = "......./......./......./R....../R....../RYYY..."
MUST_BLOCK = "......./......./......./......./.....R./R.YYYR."


@pytest.mark.parametrize("level", range(1, 9))
@pytest.mark.parametrize("seed", range(4))
def test_every_level_takes_a_win(level: int, seed: int, searcher_of: Searchers) -> None:
    """A win on the spot is played by all levels."""
    position = load_game("connect-four").position(WIN_IN_ONE)
    assert answer(searcher_of("connect-four"), job_of(position, level, seed)).move == "a"


@pytest.mark.parametrize("level", range(2, 9))
@pytest.mark.parametrize("seed", range(4))
def test_levels_from_two_on_see_the_reply(level: int, seed: int, searcher_of: Searchers) -> None:
    """From level 2 on no move is chosen that loses at once, while there is another."""
    position = load_game("connect-four").position(MUST_BLOCK)
    assert answer(searcher_of("connect-four"), job_of(position, level, seed)).move == "b"


def test_choice_is_bounded() -> None:
    """Only moves with exact scores within the margin are candidates, and each of them is chosen by some seed."""
    moves = [RootMove("a", 50), RootMove("b", 45), RootMove("c", 40), RootMove("d", 45, "upper"), RootMove("e", -MATE)]
    chosen = {choose(moves, 10, seed, "digest").move for seed in range(100)}
    assert chosen == {"a", "b"}
    assert choose(moves, 0, 1, "digest").move == "a"
    assert {choose(moves, 10, 1, f"{ply}").move for ply in range(30)} == {"a", "b"}, "not the same choice all along"


def test_jobs_that_name_nothing() -> None:
    """Other rules, a bad position, an illegal move, an unknown level and a finished match are typed errors."""
    searcher = Searcher(load_game("tic-tac-toe"))
    right = job_of(searcher.game.start())
    with pytest.raises(RulesChanged):
        answer(searcher, replace(right, rules="0" * 16))
    wrongs: list[dict[str, Any]] = [
        {"start": "nonsense"},
        {"moves": ("a1", "a1")},
        {"level": 9},
        {"options": {"size": "4"}},
    ]
    for wrong in wrongs:
        with pytest.raises(SearchFailed):
            answer(searcher, replace(right, **wrong))
    with pytest.raises(SearchFailed, match="over"):
        answer(searcher, replace(right, start="XXXOO...."))
