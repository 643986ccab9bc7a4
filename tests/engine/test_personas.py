"""Personas: which moves they choose, and their expectimax beside the one of `engine.teach`."""

from functools import cache

import pytest
from msgspec import structs

from engine.conformance.playouts import playouts
from engine.game import Position
from engine.rules.registry import game_ids, load_game
from engine.search import persona as personas_module
from engine.search.driver import Cancelled, Control, Running, Searcher
from engine.search.job import PERSONAS, Info, Job, Persona, Result, SearchFailed
from engine.search.levels import level_of
from engine.search.persona import Expectimax, Personas
from engine.teach.explain import Plan, explain
from engine.teach.state import GameState

SMALL = ("connect-four", "sticks", "tic-tac-toe")
OTHERS = [
    pytest.param(game_id, marks=pytest.mark.long) for game_id in game_ids() if game_id not in SMALL
]
#: The other games take seconds each to compile, so only long runs include them.
EVERY_GAME = [*SMALL, *OTHERS]


def job_at(position: Position, persona: Persona, seed: int = 0) -> Job:
    game = position.game
    return Job(
        game.id,
        game.digest,
        dict(position.options),
        position.text(),
        (),
        "room",
        persona=persona,
        seed=seed,
    )


@cache
def personas_of(game_id: str) -> Personas:
    return Personas(Searcher(load_game(game_id)))


def chosen(position: Position, persona: Persona, seed: int = 0) -> Result:
    return personas_of(position.game.id).answer(job_at(position, persona, seed), Control())


def middles(game_id: str) -> list[Position]:
    lines = list(playouts(load_game(game_id), 1, seed=5))[:2]
    return [line[len(line) // 2] for line in lines]


@pytest.mark.parametrize("game_id", EVERY_GAME)
@pytest.mark.parametrize("persona", PERSONAS)
def test_a_choice_is_legal_and_repeatable(persona: Persona, game_id: str) -> None:
    """A persona answers the same job with the same legal move; its last info is the result's."""
    for position in middles(game_id):
        infos: list[Info] = []
        first = personas_of(game_id).answer(
            job_at(position, persona), Control(), on_info=infos.append
        )
        assert first.move in position.tokens()
        assert infos[-1] == first.info
        assert chosen(position, persona).move == first.move


@pytest.mark.parametrize("game_id", EVERY_GAME)
def test_the_mean_is_that_of_the_teaching_search(game_id: str) -> None:
    """The compiled expectimax has the value of the one in `engine.teach`, within a millionth for
    each ply.
    """
    control = Control()
    for position in middles(game_id):
        averager = Expectimax(position.game)
        for depth in (0, 1, 2):
            averager.begin()
            ours = averager.value(position, depth, 0, 1 << 40, control)
            plan = Plan("average", depth, max_nodes=1 << 30, plain_limit=0)
            theirs = explain(GameState.at_root(position, plan.ends), plan).value
            assert ours is not None
            assert isinstance(theirs, int | float)
            assert float(ours) == pytest.approx(float(theirs), abs=1e-5)


def test_the_seed_decides_between_equals() -> None:
    """With some seed `random` plays each first move of tic-tac-toe. `average` varies among moves
    with equal means.
    """
    start = load_game("tic-tac-toe").start()
    assert {chosen(start, "random", seed).move for seed in range(120)} == set(start.tokens())
    assert len({chosen(start, "average", seed).move for seed in range(40)}) > 1


def test_average_expects_errors() -> None:
    """`average` takes the cell from which most lines win although one answer refutes it; the
    swindler sees that answer.
    """
    position = load_game("tic-tac-toe").position(".X.....OX")
    assert chosen(position, "average").move == "b2"
    assert chosen(position, "swindler").move != "b2"
    assert chosen(position, "swindler").info.score == 0


def test_the_swindler_sets_traps_in_a_lost_position() -> None:
    """In a lost position the swindler plays the move with the best mean over the answers."""
    game = load_game("sticks")
    lost = next(
        position
        for line in playouts(game, 40, seed=2)
        for position in line
        if len(position.moves()) > 3 and chosen(position, "swindler").info.score < -29_000
    )
    choice = chosen(lost, "swindler")
    averager = Expectimax(game)
    values = {
        token: averager.value(lost.replay(token), personas_module.TRAP_DEPTH, 1, 1 << 40, Control())
        for token in lost.tokens()
    }
    assert values[choice.move] == min(value for value in values.values() if value is not None)


@pytest.mark.parametrize("game_id", SMALL)
def test_a_swindler_gives_little_away_and_wins_where_it_can(game_id: str) -> None:
    """The swindler's move scores less than the margin of level 1 below the best, and it plays a win
    that it sees.
    """
    game = load_game(game_id)
    for line in playouts(game, 6, seed=9):
        for position in line[:-1]:
            choice = chosen(position, "swindler")
            scores = {move.move: move for move in choice.info.moves}
            best = choice.info.score
            if best > 29_000:
                assert choice.move == choice.info.pv[0]
            elif best > -29_000:
                assert scores[choice.move].score > best - level_of(game, 1).margin
                assert scores[choice.move].bound == "exact"


def test_the_time_or_a_cancellation_ends_it() -> None:
    """When time is over the last completed depth counts. A cancelled search has no answer, and the
    next job is answered.
    """
    position = load_game("connect-four").start()
    personas = personas_of("connect-four")
    control = Control()

    class Expired:
        """A `watch` that ends the search at once."""

        def __init__(self, running: Running) -> None:
            running.expire()

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    hurried = personas.answer(job_at(position, "average"), control, watch=Expired)
    assert hurried.info.depth == 1
    control.memory.array[0] = 1
    with pytest.raises(Cancelled):
        personas.answer(job_at(position, "average"), control)
    control.memory.array[0] = 0
    assert personas.answer(job_at(position, "average"), control).info.depth > 3


def test_what_cannot_be_answered_is_an_error() -> None:
    """A finished match is refused. So is an unknown persona, and the error lists the known ones."""
    game = load_game("tic-tac-toe")
    with pytest.raises(SearchFailed, match="the match is over"):
        chosen(game.position("XXXOO...."), "average")
    job = structs.replace(job_at(game.start(), "random"), persona="bold")
    with pytest.raises(SearchFailed, match="there are average, swindler, random"):
        personas_of(game.id).answer(job, Control())
