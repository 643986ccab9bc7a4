"""The uncompiled search has the nodes, score, line and move of the compiled one, in every game."""

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
from engine.search import kernel, layout, parameters
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
from engine.search.uncompiled import CPU_S, OTHER_CPU_S, percent, plays_in_full

#: Positions for each of the two lowest levels.
POSITIONS = 50
#: Positions for each level. Level 3 searches over a thousand nodes in each, so a few are enough.
POSITIONS_OF_LEVEL = {1: POSITIONS, 2: POSITIONS, 3: 12}
FULL = [
    (game_id, level)
    for game_id in game_ids()
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


def answered(searcher: Searcher, job: Job) -> Result:
    return answer(job, searcher, lambda: Table(SMALL_TABLE_BITS), Control())


def without_time(result: Result) -> tuple[object, ...]:
    """The result of a search except for its time."""
    info = result.info
    return result.move, info.depth, info.score, info.nodes, info.pv, info.moves, info.warming


@pytest.mark.parametrize(("game_id", "level"), FULL)
def test_the_same_search_uncompiled(
    game_id: str, level: int, searcher_of: Callable[[str], Searcher]
) -> None:
    """Every level in FULL has the same answer and node count uncompiled, with all features."""
    for seed, (position, tokens) in enumerate(random_positions(game_id, POSITIONS_OF_LEVEL[level])):
        job = job_of(position, tokens, level, seed)
        assert without_time(answered(uncompiled(game_id), job)) == without_time(
            answered(searcher_of(game_id), job)
        ), tokens


def test_levels_one_and_two_of_every_game() -> None:
    """The uncompiled search plays levels 1 and 2 in full in every game, but not the top level, a
    job with its own limit, or a persona that searches ahead.
    """
    assert {game_id for game_id, level in FULL if level == 1} == {*game_ids()}
    assert {game_id for game_id, level in FULL if level == 2} == {*game_ids()}
    for game in map(load_game, game_ids()):
        job = Job(game.id, "", {}, "", (), "")
        assert not plays_in_full(game, job)
        for wanted, expected in (("average", False), ("swindler", False), ("random", True)):
            assert plays_in_full(game, Job(game.id, "", {}, "", (), "", persona=wanted)) == expected
        assert not plays_in_full(game, Job(game.id, "", {}, "", (), "", level=game.levels))


@pytest.mark.parametrize("game_id", game_ids())
def test_both_bindings_see_the_same_game(game_id: str) -> None:
    """The game's constants have the same values in the compiled and in the uncompiled kernel."""
    game = load_game(game_id)
    for template in (kernel, expectimax):
        compiled = compile_game(game, template)._kernel
        names = interpret_game(game, template)._functions["end_value"].__globals__
        for name in ("MAX_MOVES", "REPEATS", "HAS_TACTICAL", "HAS_UNSTABLE", "HAS_PROBE", "MARGIN"):
            assert names.get(name, 0) == compiled.get(name, 0) or name not in vars(template), name
        assert names["POLL_NODES"] == POLL_NODES != parameters.POLL_NODES


def test_a_warming_answer_is_the_deepest_completed_depth() -> None:
    """The answer of a level that is not played in full is marked as warming, and its search ends
    when its time is over, even below its node limit.
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
    moments = iter(range(1_000_000))
    slow = answer(
        job, uncompiled("draughts"), lambda: Table(SMALL_TABLE_BITS), Control(), time_ms=1,
        clock=lambda: float(next(moments)),
    )  # fmt: skip
    assert without_time(slow) == without_time(answered(uncompiled("draughts"), job))


def test_cancelling_ends_it_within_sixteen_nodes() -> None:
    """Cancelling ends a search within 16 nodes, even at depth 1, which nothing else ends."""
    position, _ = random_positions("hex", 1)[0]
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
    """Personas answer with a legal move even when their time is over from the start. Those that
    search ahead mark their answer as warming.
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


def test_words_wrap_without_a_warning() -> None:
    """An uncompiled search wraps 64-bit integers without changing numpy's error settings."""
    before = np.geterr()
    answered(uncompiled("othello"), job_of(load_game("othello").start(), (), 2))
    assert np.geterr() == before


def test_progress_is_never_complete() -> None:
    """Progress is a share of the estimated processor time and stays below 100 %. Every built-in
    game has an estimate of its own.
    """
    assert set(CPU_S) == {*game_ids()}
    assert [percent("chess", used) for used in (0.0, CPU_S["chess"] / 2, 1e6)] == [
        0,
        50,
        99,
    ]
    assert percent("another game", OTHER_CPU_S / 4) == 25
