"""The uncompiled search has the nodes, score, line and move of the compiled one, in every game."""

import random
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache

import msgspec
import numpy as np
import pytest

from engine.compiler.interpreted import POLL_NODES, interpret_game
from engine.compiler.native import compile_game
from engine.game import Position, State
from engine.rules.measured import Measured, measured_of
from engine.rules.registry import load_game, production_ids
from engine.search import expectimax, kernel, layout, parameters
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
from engine.search.uncompiled import percent, plays_in_full

#: Test positions for each level. Level 3 searches up to about a thousand nodes in each, so there
#: are fewer.
POSITIONS_OF_LEVEL = {1: 8, 2: 8, 3: 2}
#: How many times as many positions `make test-long` compares.
MORE = 8
#: The games and levels that the uncompiled search plays in full.
FULL_LEVELS = [
    (game_id, level)
    for game_id in production_ids()
    for level in POSITIONS_OF_LEVEL
    if level < load_game(game_id).levels
    and plays_in_full(load_game(game_id), Job(game_id, "", {}, "", (), "", level=level))
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


def random_positions(game_id: str, count: int) -> list[tuple[Position, tuple[str, ...]]]:
    """Positions of random matches, from the start to near the end, each with the moves to it."""
    rng = random.Random(f"interpreted {game_id}")
    positions: list[tuple[Position, tuple[str, ...]]] = []
    while len(positions) < count:
        position, tokens = load_game(game_id).start(), list[str]()
        for _ in range(rng.choice((0, 1, 2, 4, 8, 12, 20, 30, 50))):
            token = rng.choice(position.tokens())
            after = position.play(position.parse_move(token))
            if after.outcome() is not None:
                break
            position = after
            tokens.append(token)
        positions.append((position, tuple(tokens)))
    return positions


def run_job(searcher: Searcher, job: Job) -> Result:
    return answer(job, searcher, lambda: Table(SMALL_TABLE_BITS), Control())


def without_time(result: Result) -> tuple[object, ...]:
    """Returns the fields of a result that do not depend on time."""
    info = result.info
    shown = msgspec.structs.replace(info, nps=0, time_ms=0)
    return result.move, shown


@pytest.mark.parametrize("times", [1, pytest.param(MORE, marks=pytest.mark.long)])
@pytest.mark.parametrize(("game_id", "level"), FULL_LEVELS)
def test_the_same_search_uncompiled(
    game_id: str, level: int, times: int, searcher_of: Callable[[str], Searcher]
) -> None:
    """At every level in FULL_LEVELS the uncompiled search has the same answer and node count."""
    positions = random_positions(game_id, times * POSITIONS_OF_LEVEL[level])
    for seed, (position, tokens) in enumerate(positions):
        job = job_of(position, tokens, level, seed)
        assert without_time(run_job(uncompiled(game_id), job)) == without_time(
            run_job(searcher_of(game_id), job)
        ), tokens


def test_levels_one_and_two_of_every_game() -> None:
    """The uncompiled search plays levels 1 and 2 in full in every game.

    The top level, jobs with their own limits, and personas that search are not played in full.
    """
    assert {game_id for game_id, level in FULL_LEVELS if level == 1} == {*production_ids()}
    assert {game_id for game_id, level in FULL_LEVELS if level == 2} == {*production_ids()}
    for game in map(load_game, production_ids()):
        job = Job(game.id, "", {}, "", (), "")
        assert not plays_in_full(game, job)
        for persona, expected in (("average", False), ("swindler", False), ("random", True)):
            assert (
                plays_in_full(game, Job(game.id, "", {}, "", (), "", persona=persona)) == expected
            )
        assert not plays_in_full(game, Job(game.id, "", {}, "", (), "", level=game.levels))


@pytest.mark.parametrize("game_id", production_ids())
def test_both_kernels_have_the_same_constants(game_id: str) -> None:
    """The game's constants have the same values in the compiled and in the uncompiled kernel."""
    game = load_game(game_id)
    for template in (kernel, expectimax):
        compiled = compile_game(game, template)._kernel
        values = interpret_game(game, template)._functions["end_value"].__globals__
        for name in ("MAX_MOVES", "REPEATS", "HAS_TACTICAL", "HAS_UNSTABLE", "HAS_PROBE", "MARGIN"):
            assert values.get(name, 0) == compiled.get(name, 0) or name not in vars(template), name
        assert values["POLL_NODES"] == POLL_NODES != parameters.POLL_NODES


def test_a_warming_answer_has_the_deepest_completed_depth() -> None:
    """The answer of a level that is not played in full is marked as warming.

    Its search ends when its time is over, even below the node limit.
    """
    position, tokens = random_positions("chess", 1)[0]
    infos: list[Info] = []

    searcher = uncompiled("chess")

    def on_info(info: Info) -> None:
        infos.append(info)
        if info.depth == 2:
            searcher.expire()

    job = job_of(position, tokens, 7)
    result = answer(
        job,
        searcher,
        lambda: Table(SMALL_TABLE_BITS),
        Control(),
        on_info=on_info,
        clock=lambda: 0.0,
    )
    assert result.info.warming
    assert all(info.warming for info in infos)
    assert result.info.depth == 2
    assert result.move == infos[-1].pv[0]
    nodes = level_of(position.game, 7).limit.nodes
    assert nodes is not None
    assert result.info.nodes < nodes


def test_levels_played_in_full_have_no_time_limit() -> None:
    """A level that is played in full completes its search even when the job's time is over."""
    position, tokens = random_positions("draughts", 5)[4]
    job = job_of(position, tokens, 3)
    seconds = iter(range(1_000_000))
    late = answer(
        job, uncompiled("draughts"), lambda: Table(SMALL_TABLE_BITS), Control(), time_ms=1,
        clock=lambda: float(next(seconds)),
    )  # fmt: skip
    assert without_time(late) == without_time(run_job(uncompiled("draughts"), job))


def test_cancelling_ends_a_search_within_16_nodes() -> None:
    """Cancelling ends a search within 16 nodes, even at depth 1, which no limit stops."""
    position, _ = random_positions("hex", 1)[0]
    control, searcher = Control(), Searcher(load_game("hex"), compiled=False)
    namespace = searcher.native._functions["root"].__globals__
    play: Callable[[State, int], State] = namespace["play"]
    cancelled_at: list[int] = []

    def play_and_cancel(s: State, move: int) -> State:
        if searcher._works[0].nodes == 35 and not cancelled_at:
            cancelled_at.append(searcher._works[0].nodes)
            control.memory.array[layout.CANCEL] = 1
        return play(s, move)

    namespace["play"] = play_and_cancel
    with pytest.raises(Cancelled):
        searcher.search(position, Limit(), Table(SMALL_TABLE_BITS), control)
    assert searcher._works[0].nodes - cancelled_at[0] <= 16


@pytest.mark.parametrize("persona", ["average", "swindler", "random"])
@pytest.mark.parametrize("game_id", ["connect-four", "hex"])
def test_personas_move_uncompiled(game_id: str, persona: str) -> None:
    """Personas answer with a legal move even when their time is over from the start.

    Personas that search ahead mark their answer as warming.
    """
    position, tokens = random_positions(game_id, 3)[2]
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


def test_integers_wrap_without_a_warning() -> None:
    """An uncompiled search wraps 64-bit integers without changing numpy's error settings."""
    before = np.geterr()
    run_job(uncompiled("othello"), job_of(load_game("othello").start(), (), 2))
    assert np.geterr() == before


def test_progress_stays_below_100_percent() -> None:
    """Progress is the share of the measured processor time that is used, and stays below 100 %."""
    usual_s = measured_of(load_game("chess")).compile_cpu_s
    assert [percent("chess", used) for used in (0.0, usual_s / 2, 1e6)] == [0, 50, 99]
    assert percent("another game", Measured().compile_cpu_s / 4) == 25
