"""Personas for AI seats: pure functions of position, depth and seed."""

import pytest

from engine.games.registry import game_ids, load_game
from engine.playouts import playouts
from engine.teach.errors import NotPossible, UnknownName
from engine.teach.explain import Plan, explain
from engine.teach.persona import PERSONAS, choose
from engine.teach.state import GameState


@pytest.mark.parametrize("game_id", game_ids())
@pytest.mark.parametrize("persona", PERSONAS)
def test_personas_play_every_game(persona: str, game_id: str) -> None:
    """The choice is a legal move, the same for the same arguments, and the best of its scores."""
    for line in list(playouts(load_game(game_id), 1, seed=5))[:2]:
        position = line[len(line) // 2]
        first, again = (choose(persona, position, 2, seed=1, max_nodes=300) for _ in range(2))
        assert first == again
        assert first.move in position.tokens()
        if persona == "average":
            assert sorted(move for move, _ in first.scores) == sorted(position.tokens())
            assert dict(first.scores)[first.move] == max(score for _, score in first.scores)
            assert first.trace.value == max(score for _, score in first.scores)
        else:
            assert first.scores == ()


def test_the_seed_decides_between_equals() -> None:
    """On an empty board of tic-tac-toe all first moves look alike one ply ahead, and each comes up."""
    start = load_game("tic-tac-toe").start()
    for persona in PERSONAS:
        assert {choose(persona, start, 1, seed).move for seed in range(120)} == set(start.tokens())


def test_average_trusts_in_mistakes() -> None:
    """It takes the cell from which most lines win, although the one right answer refutes it, as minimax knows."""
    position = load_game("tic-tac-toe").position(".X.....OX")
    assert choose("average", position, 6, seed=0).move == "b2"
    plan = Plan("minimax", evaluator="zero")
    trace = explain(GameState.at_root(position, plan.ends), plan)
    rows = zip(trace.nodes.move, trace.nodes.value, trace.nodes.depth, strict=True)
    values = {move: value for move, value, ply in rows if ply == 1}
    assert (trace.value, values["b2"], values["a1"]) == (0, -1, 0)


def test_a_seat_looks_less_deep_where_it_must() -> None:
    """More nodes than a seat may look at make it look a ply less deep, down to one."""
    start = load_game("connect-four").start()
    deep, shallow = choose("average", start, 4, 0), choose("average", start, 4, 0, max_nodes=100)
    least = choose("average", start, 4, 0, max_nodes=1)
    assert (deep.trace.depth, shallow.trace.depth, least.trace.depth) == (4, 2, 1)


def test_what_a_persona_cannot_do() -> None:
    """A finished match has no move, a depth is at least 1, and unknown personas are told."""
    game = load_game("tic-tac-toe")
    with pytest.raises(NotPossible, match="the match is over"):
        choose("average", game.position("XXXOO...."), 2, 0)
    with pytest.raises(NotPossible, match="at least one ply"):
        choose("average", game.start(), 0, 0)
    with pytest.raises(UnknownName, match="there are average, random"):
        choose("bold", game.start(), 1, 0)
