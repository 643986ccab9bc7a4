"""Levels: ascending in strength, repeatable, and varied from match to match."""

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from engine.game import Game, GameFault, Position, Rules
from engine.games import tic_tac_toe
from engine.rules.registry import game_ids, load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Job, Limit, Result, RootMove, RulesChanged, SearchFailed
from engine.search.levels import LADDER, SLIPS_OF, TIME_MS, TOP, Level, choose, level_from, level_of

Searchers = Callable[[str], Searcher]


def job_of(position: Position, level: int | None = None, seed: int = 0) -> Job:
    game = position.game
    return Job(
        game.id,
        game.digest,
        dict(position.options),
        position.text(),
        (),
        "room",
        level=level,
        seed=seed,
    )


def answer(searcher: Searcher, job: Job) -> Result:
    return driver.answer(job, searcher, lambda: Table(14), Control(), time_ms=100)


def answered_without_clock(searcher: Searcher, job: Job) -> Result:
    """The answer with a clock that stands still, so that only depth and nodes end the search."""
    return driver.answer(job, searcher, lambda: Table(14), Control(), clock=lambda: 0.0)


def game_with(**names: object) -> Game:
    """Tic-tac-toe with some names of its file replaced, and without its level table."""
    rules = SimpleNamespace(**{**vars(tic_tac_toe), "LEVEL_TABLE": (), **names})
    return Game(cast(Rules, rules), "0" * 16)


@pytest.mark.parametrize("levels", range(1, 9))
def test_ladder(levels: int) -> None:
    """For any number of levels, each searches more nodes and errs no more than the one below, and
    the top level has a time limit only.
    """
    game = game_with(LEVELS=levels)
    ladder = [level_of(game, level) for level in range(1, levels + 1)]
    assert ladder[-1] is TOP
    assert levels == 1 or ladder[0] == level_from(*LADDER[0])
    for lower, higher in pairwise(ladder[:-1]):
        assert (lower.limit.nodes or 0) < (higher.limit.nodes or 0)
        assert (lower.margin, lower.slip) != (higher.margin, higher.slip) or not higher.margin
        assert lower.margin >= higher.margin
    for wrong in (0, levels + 1, -1):
        with pytest.raises(ValueError, match=f"1 to {levels}"):
            level_of(game, wrong)


def test_a_game_has_its_own_table() -> None:
    """A game's levels below the top are the rows of its table; a table of another length is a
    GameFault.
    """
    game = game_with(LEVELS=3, LEVEL_TABLE=((1, 7, 300), (99, 2, 10)))
    assert level_of(game, 1) == Level(
        Limit(nodes=1, time_ms=TIME_MS), 7, 300, repeatable=True, plain=True
    )
    assert level_of(game, 2) == Level(Limit(nodes=99, time_ms=TIME_MS), 2, 10, repeatable=True)
    assert level_of(game, 3) is TOP
    with pytest.raises(GameFault, match="LEVEL_TABLE"):
        game_with(LEVELS=4, LEVEL_TABLE=((1, 7, 300), (99, 2, 10)))


@pytest.mark.parametrize("game_id", game_ids())
def test_level_tables_ascend(game_id: str) -> None:
    """In every game the levels with 1 node come first, each less careless than the one below. Each
    other level searches more nodes than the one below, with no wider margin.
    """
    game = load_game(game_id)
    ladder = [level_of(game, level) for level in range(1, game.levels)]
    random_levels = [level for level in ladder if level.limit.nodes == 1]
    assert ladder[: len(random_levels)] == random_levels
    for lower, higher in pairwise(random_levels):
        assert (higher.slip, higher.margin) < (lower.slip, lower.margin)
    for lower, higher in pairwise(ladder[len(random_levels) :]):
        assert (higher.limit.nodes or 0) > (lower.limit.nodes or 0)
        assert higher.margin <= lower.margin
    assert all(0 <= level.slip < SLIPS_OF and level.repeatable for level in ladder)


@pytest.mark.parametrize("game_id", game_ids())
def test_lower_levels_are_repeatable(game_id: str, searcher_of: Searchers) -> None:
    """Below the top a job gives the same move again, on a fresh searcher too. Another seed may give
    another move.
    """
    game = load_game(game_id)
    other = Searcher(game)
    for level in range(1, game.levels):
        first = {}
        for seed in range(8 if level == 1 else 2):
            job = job_of(game.start(), level, seed)
            first[seed] = answered_without_clock(searcher_of(game_id), job)
            again = answered_without_clock(other, job)
            assert (again.move, again.info.nodes, again.info.moves) == (
                first[seed].move,
                first[seed].info.nodes,
                first[seed].info.moves,
            )
        if level == 1:
            assert len({result.move for result in first.values()}) > 1


def test_careless_moves() -> None:
    """A level's share of careless moves is its slip; seed and position pick these moves."""
    level = level_from(500, 20, 120)
    careless = {
        (seed, ply) for seed in range(100) for ply in range(50) if level.at(seed, f"{ply}") != level
    }
    assert 0.1 < len(careless) / 5000 < 0.14
    assert len({seed for seed, _ in careless}) > 90
    assert len({ply for _, ply in careless}) == 50
    seed, ply = min(careless)
    assert level.at(seed, f"{ply}") == Level(
        Limit(1, 500, TIME_MS), 20, 120, repeatable=True, plain=True
    )
    assert level_from(500, 20, 0).at(seed, f"{ply}") == level_from(500, 20, 0)


GUARDED_PAWN = "4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1"


@pytest.mark.parametrize(("slip", "takes"), [(0, False), (999, True)])
def test_a_careless_move_forgets_the_answer(slip: int, takes: bool, searcher_of: Searchers) -> None:
    """A careless move takes a guarded pawn with the queen; a careful one does not, although the
    level searches no further than the exchange.
    """
    position = load_game("chess").position(GUARDED_PAWN)
    level = level_from(2, 0, slip).at(1, position.digest())
    searcher = searcher_of("chess")
    report = searcher.search(
        position, level.limit, Table(8), Control(), margin=level.margin, exact_depth=level.plain
    )  # fmt: skip
    assert (position.format_move(report.moves[0][0]) == "d1d5") is takes


def test_the_first_level_may_play_any_move() -> None:
    """A careless move of the level of one node may be any move, even the worst."""
    level = level_from(1, 20, 999).at(1, "digest")
    moves = [RootMove("a", MATE - 1), RootMove("b", 0), RootMove("c", 2 - MATE)]
    assert {choose(moves, level.margin, seed, "digest").move for seed in range(40)} == {
        "a",
        "b",
        "c",
    }


WIN_IN_ONE = "......./......./......./R....../R....../RYYY..."
MUST_BLOCK = "......./......./......./......./.....R./R.YYYR."


def is_careful(position: Position, level: int, seed: int) -> bool:
    chosen = level_of(position.game, level)
    return chosen.at(seed, position.digest()) == chosen


@pytest.mark.parametrize("level", range(1, 9))
@pytest.mark.parametrize("seed", range(6))
def test_every_level_takes_a_win(level: int, seed: int, searcher_of: Searchers) -> None:
    """All levels play a win in one, except for a careless move of the first level."""
    position = load_game("connect-four").position(WIN_IN_ONE)
    if level > 1 or is_careful(position, level, seed):
        assert answer(searcher_of("connect-four"), job_of(position, level, seed)).move == "a"


@pytest.mark.parametrize("level", range(2, 8))
@pytest.mark.parametrize("seed", range(6))
def test_levels_that_search_two_plies_see_the_reply(
    level: int, seed: int, searcher_of: Searchers
) -> None:
    """A level that searches two plies plays no move that loses at once, except carelessly."""
    position = load_game("connect-four").position(MUST_BLOCK)
    result = answered_without_clock(searcher_of("connect-four"), job_of(position, level, seed))
    if is_careful(position, level, seed) and result.info.depth >= 2:
        assert result.move == "b"
    else:
        assert level < 5


def test_choice_is_bounded() -> None:
    """The candidates are the moves with exact scores within the margin, and each is chosen by some
    seed.
    """
    moves = [
        RootMove("a", 50),
        RootMove("b", 45),
        RootMove("c", 40),
        RootMove("d", 45, "upper"),
        RootMove("e", -MATE),
    ]
    chosen = {choose(moves, 10, seed, "digest").move for seed in range(100)}
    assert chosen == {"a", "b"}
    assert choose(moves, 0, 1, "digest").move == "a"
    assert {choose(moves, 10, 1, f"{ply}").move for ply in range(30)} == {"a", "b"}, (
        "the choice varies within a match"
    )


def test_jobs_that_cannot_be_resolved() -> None:
    """Other rules raise RulesChanged. A bad position, an illegal move, an unknown level or option
    and a finished match raise SearchFailed.
    """
    searcher = Searcher(load_game("tic-tac-toe"))
    right = job_of(searcher.game.start())
    with pytest.raises(RulesChanged):
        answer(searcher, replace(right, rules="0" * 16))
    changes: list[dict[str, Any]] = [
        {"start": "not a board"},
        {"moves": ("a1", "a1")},
        {"level": 9},
        {"options": {"size": "4"}},
    ]
    for wrong in changes:
        with pytest.raises(SearchFailed):
            answer(searcher, replace(right, **wrong))
    with pytest.raises(SearchFailed, match="over"):
        answer(searcher, replace(right, start="XXXOO...."))
