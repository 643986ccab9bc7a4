"""Start positions by placing pieces: the server writes the text, and the rules check it."""

from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.game import Position, PositionError
from engine.rules.registry import game_ids, load_game
from server.protocol.codes import Code
from server.rooms.placing import is_placeable, place
from tests.support.node import Node, serve

#: The games in whose texts the pieces on the board are all that counts.
PLACEABLE = (
    "breakthrough", "chess", "connect-four", "draughts", "gomoku", "hex", "international-draughts",
    "othello", "tic-tac-toe",
)  # fmt: skip


def play_random(game_id: str, choices: list[int]) -> Position:
    """Returns the position after random moves."""
    game = load_game(game_id)
    position = game.start(game.check_options({}))
    for choice in choices:
        moves = list(position.moves())
        if position.outcome() is not None or not moves:
            break
        position = position.play(moves[choice % len(moves)])
    return position


def test_the_games_that_accept_pieces() -> None:
    """Games with pieces in hand or with counts in their texts take positions as text only."""
    games = {game_id: load_game(game_id) for game_id in game_ids()}
    placeable = [i for i, game in games.items() if is_placeable(game, game.check_options({}))]
    assert tuple(placeable) == PLACEABLE


@pytest.mark.parametrize("game_id", PLACEABLE)
@settings(max_examples=12)
@given(choices=st.lists(st.integers(0, 999), min_size=1, max_size=20))
def test_the_pieces_of_a_position_make_that_position(game_id: str, choices: list[int]) -> None:
    """The position that is written from the pieces of a match has the same board and turn."""
    position = play_random(game_id, choices)
    view = position.view()
    placed = place(position.game, position.options, view.pieces, position.turn)
    assert placed is not None
    assert placed.view().pieces == view.pieces
    assert placed.turn == position.turn
    again = position.game.position(placed.text(), position.options)
    assert again.view().pieces == view.pieces


def test_other_pieces_are_no_position() -> None:
    """The rules refuse a board without kings; a turn that cannot be is no position."""
    chess, noughts = load_game("chess"), load_game("tic-tac-toe")
    with pytest.raises(PositionError, match="king"):
        place(chess, {}, {"e1": "K"}, 0)
    assert place(noughts, {}, {}, 1) is None
    assert place(load_game("draughts"), {}, {"1": "b", "x": "w"}, 0) is None


async def ask(node: Node, **query: str) -> tuple[int, dict[str, Any]]:
    answer = await node.get(f"/api/position?{urlencode(query)}")
    return answer.status, answer.json


async def test_pieces_are_accepted_in_place_of_a_text() -> None:
    """The answer has the text of the position; without castling rights where they cannot be, and
    with the only possible side to move. Refusals say what was expected.
    """
    async with serve() as node:
        _, start = await ask(node, game="chess")
        assert start["placeable"] is True
        assert (await ask(node, game="kalah"))[1]["placeable"] is False
        status, placed = await ask(node, game="chess", pieces="e1:K,e8:k,e2:P", turn="1")
        assert (status, placed["start"]) == (200, "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1")
        assert placed["view"]["turn"] == 1
        _, forced = await ask(node, game="tic-tac-toe", pieces="b2:X", turn="0")
        assert (forced["start"], forced["view"]["turn"]) == ("....X....", 1)
        for pieces in ("", "e1:K", "e1:K,e8:k,z9:P", "e1:K,e8:x", "e1"):
            status, refusal = await ask(node, game="chess", pieces=pieces)
            assert (status, refusal["code"]) == (400, Code.POSITION_REFUSED)
            assert "/" not in refusal["message"]
        assert (await ask(node, game="kalah", pieces="a1:4"))[0] == 400
