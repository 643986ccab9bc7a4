"""The uncompiled search equals the compiled one in nodes, score, line and move, in every game."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest

from engine.compiler.interpreted import POLL_NODES, interpret_game
from engine.compiler.native import compile_game
from engine.game import Position, State
from engine.rules.registry import game_ids, load_game
from engine.search import expectimax as expectimax
from engine.search import kernel, layout
from engine.search import uncompiled as cold
from engine.search.driver import (
    SMALL_TABLE_BITS,
    Cancelled,
    Control,
    Running,
    Searcher,
    Table,
    answer,
)
from engine.search.job import Info, Job, Limit, Result
from engine.search.levels import level_of
from engine.search.persona import Personas

#: Positions in which levels 1 and 2 are compared.
POSITIONS = 50
#: Positions by level. Level 3 searches over a thousand nodes in each, so a few are enough.
OF_LEVEL = {1: POSITIONS, 2: POSITIONS, 3: 12}
#: The games and levels that the uncompiled search plays at full strength.
FULL = [
    (game_id, level)
    for game_id in game_ids()
    for level in OF_LEVEL
    if level < load_game(game_id).levels
    and cold.plays_in_full(load_game(game_id), Job(game_id, "", {}, "", (), "", level=level))
]


@cache
def uncompiled(game_id: str) -> Searcher:
    return Searcher(load_game(game_id), compiled=False)


def job_of(
    position: Position,
    tokens: tuple[str, ...],
    level: int | None,
    seed: int = 0,
    persona: str | None = None,
) -> Job:
    start = position.game.start()
    return Job(
        position.game.id, position.game.digest, dict(start.options), start.text(), tokens, "room",
        level=level, seed=seed, digest=position.digest(), persona=persona,
    )  # fmt: skip


def wandered(game_id: str, count: int) -> list[tuple[Position, tuple[str, ...]]]:
    """Returns positions of random matches, each with the moves that lead to it."""
    chance = random.Random(f"interpreted {game_id}")
    found: list[tuple[Position, tuple[str, ...]]] = []
    while len(found) < count:
        position, tokens = load_game(game_id).start(), list[str]()
        for _ in range(chance.choice((0, 1, 2, 4, 8, 12, 20, 30, 50))):
            token = chance.choice(position.tokens())
            after = position.play(position.parse_move(token))
            if after.outcome() is not None:
                break
            position = after
            tokens.append(token)
        found.append((position, tuple(tokens)))
    return found


def asked(searcher: Searcher, job: Job) -> Result:
    return answer(job, searcher, lambda: Table(SMALL_TABLE_BITS), Control())


def seen(result: Result) -> tuple[object, ...]:
    """Returns the fields of a result that do not depend on time."""
    info = result.info
    return result.move, info.depth, info.score, info.nodes, info.pv, info.moves, info.warming


@pytest.mark.parametrize(("game_id", "level"), FULL)
def test_the_same_search_uncompiled(
    game_id: str, level: int, searcher_of: Callable[[str], Searcher]
) -> None:
    """Each level in FULL has the same answer and node count as the compiled search."""
    for seed, (position, tokens) in enumerate(wandered(game_id, OF_LEVEL[level])):
        job = job_of(position, tokens, level, seed)
        assert seen(asked(uncompiled(game_id), job)) == seen(asked(searcher_of(game_id), job)), (
            tokens
        )


def test_levels_one_and_two_of_every_game() -> None:
    """The uncompiled search plays levels 1 and 2 at full strength in every game.

    It does not play the top level, jobs with their own limits or searching personas in full.
    """
    assert {game_id for game_id, level in FULL if level == 1} == {*game_ids()}
    assert {game_id for game_id, level in FULL if level == 2} == {*game_ids()}
    for game in map(load_game, game_ids()):
        job = Job(game.id, "", {}, "", (), "")
        assert not cold.plays_in_full(game, job)
        for wanted, expected in (("average", False), ("swindler", False), ("random", True)):
            assert (
                cold.plays_in_full(game, Job(game.id, "", {}, "", (), "", persona=wanted))
                == expected
            )
        assert not cold.plays_in_full(game, Job(game.id, "", {}, "", (), "", level=game.levels))


@pytest.mark.parametrize("game_id", game_ids())
def test_both_bindings_see_the_same_game(game_id: str) -> None:
    """The compiled and the uncompiled kernel of a game have the same global constants."""
    game = load_game(game_id)
    for template in (kernel, expectimax):
        compiled = compile_game(game, template)._kernel
        names = interpret_game(game, template)._functions["end_value"].__globals__
        for name in ("MAX_MOVES", "REPEATS", "HAS_TACTICAL", "HAS_UNSTABLE", "HAS_PROBE", "MARGIN"):
            assert names.get(name, 0) == compiled.get(name, 0) or name not in vars(template), name
        assert names["POLL_NODES"] == POLL_NODES != layout.POLL_NODES


def test_a_longer_look_is_the_deepest_that_was_completed() -> None:
    """A level too strong for the uncompiled search ends with its time and is marked as warming."""
    position, tokens = wandered("chess", 1)[0]
    told: list[Info] = []

    searcher = uncompiled("chess")

    def heard(info: Info) -> None:
        told.append(info)
        if info.depth == 2:
            searcher.expire()

    job = job_of(position, tokens, 7)
    result = answer(
        job, searcher, lambda: Table(SMALL_TABLE_BITS), Control(), on_info=heard, clock=lambda: 0.0
    )
    assert result.info.warming
    assert all(info.warming for info in told)
    assert result.info.depth == 2
    assert result.move == told[-1].pv[0]
    nodes = level_of(position.game, 7).limit.nodes
    assert nodes is not None
    assert result.info.nodes < nodes


def test_low_levels_have_all_the_time_that_they_take() -> None:
    """A level that plays at full strength completes its search even after the job's time."""
    position, tokens = wandered("draughts", 5)[4]
    job = job_of(position, tokens, 3)
    moments = iter(range(1_000_000))
    slow = answer(
        job, uncompiled("draughts"), lambda: Table(SMALL_TABLE_BITS), Control(), time_ms=1,
        clock=lambda: float(next(moments)),
    )  # fmt: skip
    assert seen(slow) == seen(asked(uncompiled("draughts"), job))


def test_cancelling_ends_it_within_sixteen_nodes() -> None:
    """Cancelling ends a search within 16 nodes, even at depth 1."""
    position, _ = wandered("hex", 1)[0]
    control, searcher = Control(), Searcher(load_game("hex"), compiled=False)
    names = searcher.native._functions["root"].__globals__
    play: Callable[[State, int], State] = names["play"]
    at: list[int] = []

    def cancelling(s: State, move: int) -> State:
        if searcher._works[0].nodes == 35 and not at:
            at.append(searcher._works[0].nodes)
            control.memory.array[layout.CANCEL] = 1
        return play(s, move)

    names["play"] = cancelling
    with pytest.raises(Cancelled):
        searcher.search(position, Limit(), Table(SMALL_TABLE_BITS), control)
    assert searcher._works[0].nodes - at[0] <= 16


@pytest.mark.parametrize("persona", ["average", "swindler", "random"])
@pytest.mark.parametrize("game_id", ["connect-four", "hex"])
def test_personas_move_uncompiled(game_id: str, persona: str) -> None:
    """An expired persona answers with a legal move, marked as warming if it searches."""
    position, tokens = wandered(game_id, 3)[2]
    personas = Personas(uncompiled(game_id))
    watched: list[Running] = []

    def watch(running: Running) -> nullcontext[None]:
        watched.append(running)
        return nullcontext()

    def clock() -> float:
        for running in watched:
            running.expire()  # before depth 2; no deadline stops depth 1
        return 0.0

    job = job_of(position, tokens, None, persona=persona)
    result = personas.answer(job, Control(), watch=watch, clock=clock)
    assert result.move in position.tokens()
    assert result.info.warming == (persona != "random")


def test_words_wrap_without_a_warning() -> None:
    """An uncompiled search wraps 64-bit integers without changing numpy's error settings."""
    before = np.geterr()
    asked(uncompiled("othello"), job_of(load_game("othello").start(), (), 2))
    assert np.geterr() == before


def test_progress_is_never_complete() -> None:
    """Progress is the share of the game's estimated processor time and stays below 100 %."""
    assert set(cold.CPU_S) == {*game_ids()}
    assert [cold.percent("chess", used) for used in (0.0, cold.CPU_S["chess"] / 2, 1e6)] == [
        0,
        50,
        99,
    ]
    assert cold.percent("somebody's", cold.OTHER_CPU_S / 4) == 25
