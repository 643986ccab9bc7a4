"""Levels: each is stronger than the one below, repeatable, and varied from match to match."""

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from engine.game import Game, GameFault, Position, Rules
from engine.games import tic_tac_toe
from engine.rules.registry import load_game, production_ids
from engine.search import driver, layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import ALL, PROBE
from engine.search.job import MATE, USES, Job, Limit, Result, RootMove, RulesChanged, SearchFailed
from engine.search.levels import (
    DEFAULT_LEVEL_TABLE,
    SLIPS_OF,
    TIME_MS,
    TOP,
    Level,
    choose,
    level_from_row,
    level_of,
)
from engine.search.report import Report

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]


def job_of(position: Position, level: int | None = None, seed: int = 0) -> Job:
    """Returns a job for a search of a position."""
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
    """Returns the answer to a job within 100 ms."""
    return driver.answer(job, searcher, lambda: Table(14), Control(), time_ms=100)


def answer_without_time(searcher: Searcher, job: Job) -> Result:
    """Returns the answer with a stopped clock; only depth and nodes end the search."""
    return driver.answer(job, searcher, lambda: Table(14), Control(), clock=lambda: 0.0)


def game_with(**names: object) -> Game:
    """Returns tic-tac-toe without its level table and with some names of its file replaced."""
    rules = SimpleNamespace(**{**vars(tic_tac_toe), "LEVEL_TABLE": (), **names})
    return Game(cast(Rules, rules), "0" * 16)


@pytest.mark.parametrize("levels", range(1, 9))
def test_ladder(levels: int) -> None:
    """Each default level searches more nodes than the one below; only time limits the top level."""
    game = game_with(LEVELS=levels)
    ladder = [level_of(game, level) for level in range(1, levels + 1)]
    assert ladder[-1] is TOP
    assert levels == 1 or ladder[0] == level_from_row(*DEFAULT_LEVEL_TABLE[0])
    for lower, higher in pairwise(ladder[:-1]):
        assert (lower.limit.nodes or 0) < (higher.limit.nodes or 0)
        assert (lower.margin, lower.slip) != (higher.margin, higher.slip) or not higher.margin
        assert lower.margin >= higher.margin
    for wrong in (0, levels + 1, -1):
        with pytest.raises(ValueError, match=f"1 to {levels}"):
            level_of(game, wrong)


def test_a_game_has_its_own_table() -> None:
    """The rows of a game's level table are its levels below the top; a wrong length is refused."""
    game = game_with(LEVELS=3, LEVEL_TABLE=((1, 7, 300), (99, 2, 10)))
    assert level_of(game, 1) == Level(
        Limit(nodes=1, time_ms=TIME_MS), 7, 300, repeatable=True, plain=True
    )
    assert level_of(game, 2) == Level(Limit(nodes=99, time_ms=TIME_MS), 2, 10, repeatable=True)
    assert level_of(game, 3) is TOP
    with pytest.raises(GameFault, match="LEVEL_TABLE"):
        game_with(LEVELS=4, LEVEL_TABLE=((1, 7, 300), (99, 2, 10)))


@pytest.mark.parametrize("game_id", production_ids())
def test_tables_increase_in_strength(game_id: str) -> None:
    """In every level table, one-node levels come first and become less careless.

    Each other level searches more nodes than the one below, with at most its margin.
    """
    game = load_game(game_id)
    ladder = [level_of(game, level) for level in range(1, game.levels)]
    one_node = [level for level in ladder if level.limit.nodes == 1]
    assert ladder[: len(one_node)] == one_node
    for lower, higher in pairwise(one_node):
        assert (higher.slip, higher.margin) < (lower.slip, lower.margin)
    for lower, higher in pairwise(ladder[len(one_node) :]):
        assert (higher.limit.nodes or 0) > (lower.limit.nodes or 0)
        assert higher.margin <= lower.margin
    assert all(0 <= level.slip < SLIPS_OF and level.repeatable for level in ladder)


@pytest.mark.parametrize("game_id", production_ids())
def test_lower_levels_are_repeatable(game_id: str, searcher_of: Searchers) -> None:
    """Below the top a job always has the same answer, and another seed may change the move."""
    game = load_game(game_id)
    second_searcher = Searcher(game)
    for level in range(1, game.levels):
        results = {}
        for seed in range(8 if level == 1 else 2):
            job = job_of(game.start(), level, seed)
            results[seed] = answer_without_time(searcher_of(game_id), job)
            again = answer_without_time(second_searcher, job)
            assert (again.move, again.info.nodes, again.info.moves) == (
                results[seed].move,
                results[seed].info.nodes,
                results[seed].info.moves,
            )
        if level == 1:
            assert len({result.move for result in results.values()}) > 1


def test_carelessness() -> None:
    """A level plays its share of careless moves; the seed and the position decide where."""
    level = level_from_row(500, 20, 120)
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
    assert level_from_row(500, 20, 0).at(seed, f"{ply}") == level_from_row(500, 20, 0)


#: White's queen can take a guarded pawn.
GUARDED_PAWN = "4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1"


@pytest.mark.parametrize(("slip", "takes"), [(0, False), (999, True)])
def test_a_careless_move_ignores_the_reply(slip: int, takes: bool, searcher_of: Searchers) -> None:
    """A careless level takes a guarded pawn with its queen, and a careful one does not."""
    position = load_game("chess").position(GUARDED_PAWN)
    level = level_from_row(2, 0, slip).at(1, position.digest())
    searcher = searcher_of("chess")
    report = searcher.search(
        position, level.limit, Table(8), Control(), margin=level.margin, exact_depth=level.plain
    )  # fmt: skip
    assert (position.format_move(report.moves[0][0]) == "d1d5") is takes


def test_a_careless_first_level_plays_at_random() -> None:
    """A careless move of a one-node level may be any move, even the worst."""
    level = level_from_row(1, 20, 999).at(1, "digest")
    moves = [RootMove("a", MATE - 1), RootMove("b", 0), RootMove("c", 2 - MATE)]
    assert {choose(moves, level.margin, seed, "digest").move for seed in range(40)} == {
        "a",
        "b",
        "c",
    }


#: Red wins with a disc in column a.
WIN_IN_ONE = "......./......./......./R....../R....../RYYY..."
#: Red must block column b.
MUST_BLOCK = "......./......./......./......./.....R./R.YYYR."


def is_careful(position: Position, level: int, seed: int) -> bool:
    """Returns whether a level plays a careful move in a position."""
    careful = level_of(position.game, level)
    return careful.at(seed, position.digest()) == careful


@pytest.mark.parametrize("level", range(1, 9))
@pytest.mark.parametrize("seed", range(6))
def test_every_level_takes_a_win(level: int, seed: int, searcher_of: Searchers) -> None:
    """All levels play a win in one, except for a careless move of the first level."""
    position = load_game("connect-four").position(WIN_IN_ONE)
    if level > 1 or is_careful(position, level, seed):
        assert answer(searcher_of("connect-four"), job_of(position, level, seed)).move == "a"


@pytest.mark.parametrize("level", range(2, 8))
@pytest.mark.parametrize("seed", range(6))
def test_deeper_levels_see_the_reply(level: int, seed: int, searcher_of: Searchers) -> None:
    """A level that searches two plies does not allow a win in one, except by a careless move."""
    position = load_game("connect-four").position(MUST_BLOCK)
    result = answer_without_time(searcher_of("connect-four"), job_of(position, level, seed))
    if is_careful(position, level, seed) and result.info.depth >= 2:
        assert result.move == "b"
    else:
        assert level < 5


def test_choice_is_bounded() -> None:
    """Only moves with exact scores within the margin are chosen, and each of them by some seed."""
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
        "the choice varies with the position"
    )


def test_invalid_jobs() -> None:
    """A job with other rules, a bad position, move or level, or a finished match is refused."""
    searcher = Searcher(load_game("tic-tac-toe"))
    valid = job_of(searcher.game.start())
    with pytest.raises(RulesChanged):
        answer(searcher, replace(valid, rules="0" * 16))
    cases: list[dict[str, Any]] = [
        {"start": "nonsense"},
        {"moves": ("a1", "a1")},
        {"level": 9},
        {"options": {"size": "4"}},
    ]
    for changes in cases:
        with pytest.raises(SearchFailed):
            answer(searcher, replace(valid, **changes))
    with pytest.raises(SearchFailed, match="over"):
        answer(searcher, replace(valid, start="XXXOO...."))


def test_a_study_uses_no_table_of_a_room() -> None:
    """Searches for people get an empty table and no endgame tables; a live one gets the room's."""
    game = load_game("tic-tac-toe")
    seen: list[tuple[bool, bool]] = []

    class RecordingSearcher:
        """A searcher that records whether it got the room's table, and may use endgame tables."""

        is_compiled, solver, features = True, None, ALL

        def __init__(self) -> None:
            self.game = game

        def expire(self) -> None:
            """Nothing runs."""

        def search(self, *arguments: Any, on_depth: Any, features: int, **others: Any) -> None:
            seen.append((arguments[2] is room_table, bool(features & PROBE)))
            move = game.start().moves()[0]
            on_depth(Report(1, 0, 1, 0.1, (move,), ((move, 0, layout.EXACT),), False))

    room_table = Table(10)
    start = game.start()
    job = Job(game.id, game.digest, {}, start.text(), (), "room", limit=Limit(nodes=100))
    for use in USES:
        searcher: Any = RecordingSearcher()
        driver.answer(replace(job, use=use), searcher, lambda: room_table, Control())
    assert seen == [(True, True), (False, False), (False, False)]
