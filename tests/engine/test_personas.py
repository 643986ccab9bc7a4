"""Personas: the moves they choose, and expectimax compared with the one of `engine.teach`."""

from functools import cache

import pytest
from msgspec import structs

from engine.conformance.playouts import playouts
from engine.game import Position
from engine.rules.registry import load_game, production_ids
from engine.search import persona as personas_module
from engine.search.driver import Cancelled, Control, Running, Searcher
from engine.search.job import MATE, PERSONAS, Info, Job, Persona, Result, SearchFailed
from engine.search.levels import level_of
from engine.search.persona import Expectimax, Personas
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.states.state import GameState
from engine.win_chance import is_forced, mean_text

#: Games whose search compiles in a few seconds.
QUICK_GAMES = ("connect-four", "sticks", "tic-tac-toe")
#: Games that only long runs include.
SLOW_GAMES = [
    pytest.param(game_id, marks=pytest.mark.long)
    for game_id in production_ids()
    if game_id not in QUICK_GAMES
]
#: All games.
EVERY_GAME = [*QUICK_GAMES, *SLOW_GAMES]


def job_at(position: Position, persona: Persona, seed: int = 0) -> Job:
    """Returns a job for a persona's move."""
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


def answer_to(position: Position, persona: Persona, seed: int = 0) -> Result:
    """Returns the answer of a persona in a position."""
    return personas_of(position.game.id).answer(job_at(position, persona, seed), Control())


def middle_positions(game_id: str) -> list[Position]:
    """Returns the middle positions of two random matches."""
    lines = list(playouts(load_game(game_id), 1, seed=5))[:2]
    return [line[len(line) // 2] for line in lines]


@pytest.mark.parametrize("game_id", EVERY_GAME)
@pytest.mark.parametrize("persona", PERSONAS)
def test_a_choice_is_legal_and_repeatable(persona: Persona, game_id: str) -> None:
    """A persona answers a job with the same legal move each time and reports the result's info."""
    for position in middle_positions(game_id):
        reports: list[Info] = []
        first = personas_of(game_id).answer(
            job_at(position, persona), Control(), on_info=reports.append
        )
        assert first.move in position.tokens()
        assert reports[-1] == first.info
        assert answer_to(position, persona).move == first.move


@pytest.mark.parametrize("game_id", EVERY_GAME)
def test_expectimax_matches_the_teaching_search(game_id: str) -> None:
    """The engine's expectimax has the value of the one in `engine.teach`, within 0.00001."""
    control = Control()
    for position in middle_positions(game_id):
        expectimax = Expectimax(position.game)
        for depth in (0, 1, 2):
            expectimax.begin(position.turn)
            ours = expectimax.value(position, depth, 0, 1 << 40, control)
            plan = Plan("average", depth, max_nodes=1 << 30, plain_limit=0)
            theirs = explain(GameState.at_root(position, plan.utilities), plan).value
            assert ours is not None
            assert isinstance(theirs, int | float)
            assert float(ours) == pytest.approx(float(theirs), abs=1e-5)


def test_the_seed_decides_between_equal_moves() -> None:
    """Each first move of tic-tac-toe is the random persona's choice for some seed."""
    start = load_game("tic-tac-toe").start()
    assert {answer_to(start, "random", seed).move for seed in range(120)} == set(start.tokens())
    assert len({answer_to(start, "average", seed).move for seed in range(40)}) > 1


def test_average_expects_mistakes() -> None:
    """`average` chooses a move that one reply refutes, and the swindler does not."""
    position = load_game("tic-tac-toe").position(".X.....OX")
    assert answer_to(position, "average").move == "b2"
    assert answer_to(position, "swindler").move != "b2"
    assert answer_to(position, "swindler").info.score == 0


def test_the_swindler_in_a_lost_position() -> None:
    """In a lost position the swindler plays the move with the best expectimax value."""
    game = load_game("sticks")
    lost = next(
        position
        for line in playouts(game, 40, seed=2)
        for position in line
        if len(position.moves()) > 3 and answer_to(position, "swindler").info.score < -29_000
    )
    choice = answer_to(lost, "swindler")
    expectimax = Expectimax(game)
    values = {
        token: expectimax.value(
            lost.replay(token), personas_module.TRAP_DEPTH, 1, 1 << 40, Control()
        )
        for token in lost.tokens()
    }
    assert values[choice.move] == min(value for value in values.values() if value is not None)


@pytest.mark.parametrize("game_id", QUICK_GAMES)
def test_a_swindler_stays_within_its_margin(game_id: str) -> None:
    """The swindler plays a win that it sees; other moves score within level 1's margin."""
    game = load_game(game_id)
    for line in playouts(game, 6, seed=9):
        for position in line[:-1]:
            choice = answer_to(position, "swindler")
            root_moves = {move.move: move for move in choice.info.moves}
            best = choice.info.score
            if best > 29_000:
                assert choice.move == choice.info.pv[0]
            elif best > -29_000:
                assert root_moves[choice.move].score > best - level_of(game, 1).margin
                assert root_moves[choice.move].bound == "exact"


def test_time_limit_and_cancellation() -> None:
    """An expired search answers from its last completed depth; a cancelled one does not answer."""
    position = load_game("connect-four").start()
    personas = personas_of("connect-four")
    control = Control()

    class Expired:
        """A `watch` that expires its search at once."""

        def __init__(self, running: Running) -> None:
            running.expire()

        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    result = personas.answer(job_at(position, "average"), control, watch=Expired)
    assert result.info.depth == 1
    control.memory.array[0] = 1
    with pytest.raises(Cancelled):
        personas.answer(job_at(position, "average"), control)
    control.memory.array[0] = 0
    assert personas.answer(job_at(position, "average"), control).info.depth > 3


def test_jobs_without_an_answer() -> None:
    """A finished match and an unknown persona raise SearchFailed."""
    game = load_game("tic-tac-toe")
    with pytest.raises(SearchFailed, match="the match is over"):
        answer_to(game.position("XXXOO...."), "average")
    job = structs.replace(job_at(game.start(), "random"), persona="bold")
    with pytest.raises(SearchFailed, match="there are average, swindler, random"):
        personas_of(game.id).answer(job, Control())


def test_means_are_no_scores() -> None:
    """`average` reports its means as text; only a move that ends the match has a forced score."""
    game = load_game("tic-tac-toe")
    for text in (".X.....OX", "X.O.X.O..", "XXO.O...."):
        position = game.position(text)
        info = answer_to(position, "average").info
        assert info.value == mean_text(info.score)
        for move in info.moves:
            is_end = position.replay(move.move).outcome() is not None
            assert is_forced(move.score) == (is_end and move.score != 0)
    assert [mean_text(score) for score in (MATE - 1, 1 - MATE, 312, -7, 0)] == [
        "a win at once", "a loss at once", "+312 on average", "-7 on average", "0 on average",
    ]  # fmt: skip
