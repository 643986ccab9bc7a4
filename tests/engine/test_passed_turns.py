"""engine/null_move.py: a position with the other side to move is legal, or the reason is given."""

import pytest

from engine.conformance.playouts import playouts
from engine.game import Game, Position
from engine.null_move import NoNullMove, has_null_moves, null_move
from engine.rules.registry import game_ids, load_game
from engine.search.job import NULL_MOVE, Job, SearchFailed
from engine.search.report import resolve
from server.seats.answers import position_of

#: The games without null moves: nothing in their position texts names the side to move alone.
WITHOUT = {"coin-friends", "connect-four", "rock-paper-scissors", "tic-tac-toe"}


def positions(game: Game) -> list[Position]:
    """Positions of three matches in which the match goes on."""
    found = [position for line in playouts(game, 3, seed=4) for position in line[::3]]
    return [position for position in found if position.moves()]


@pytest.mark.parametrize("game_id", game_ids())
def test_a_null_move_changes_the_side_to_move_alone(game_id: str) -> None:
    """The pieces stay where they are, the other side has moves, and a second null move leads back
    to the same board. A game has null moves in most of its positions or in none.
    """
    game = load_game(game_id)
    assert has_null_moves(game, game.start().options) == (game_id not in WITHOUT)
    count = 0
    for position in positions(game):
        try:
            passed = null_move(position)
        except NoNullMove:
            continue
        count += 1
        assert passed.turn == 1 - position.turn
        assert passed.moves()
        assert passed.view().pieces == position.view().pieces
        try:
            back = null_move(passed)
        except NoNullMove:
            continue
        assert back.turn == position.turn
        assert sorted(back.tokens()) == sorted(position.tokens()) or game_id == "chess"
    assert (count > 0) == (game_id not in WITHOUT)


@pytest.mark.parametrize(
    ("game_id", "text", "reason"),
    [
        ("chess", "4k3/8/8/8/8/8/4q3/4K3 w - - 0 1", "is not to move is in check"),
        ("hex", f"{'/'.join(['.' * 11] * 10)}/R.......... blue swap", "put stones in turn"),
        ("othello", f"XO{'-' * 25}XX{'-' * 6}XX{'-' * 27} X", "no move but a pass"),
        ("tic-tac-toe", ".........", "the same text"),
    ],
)
def test_the_reason_against_a_null_move(game_id: str, text: str, reason: str) -> None:
    """A position that would be illegal or over with the other side to move has no null move."""
    with pytest.raises(NoNullMove, match=reason):
        null_move(load_game(game_id).position(text))


def test_a_null_move_needs_no_leave_of_the_search() -> None:
    """Where the search tries no null move, as in pawn endings, a legal one is known all the same;
    it ends the right to capture en passant.
    """
    game = load_game("chess")
    passed = null_move(game.position("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"))
    assert passed.text().split()[1:4] == ["b", "-", "-"]


def test_a_job_can_ask_for_a_null_move() -> None:
    """Workers search the position after a null move, and nodes check their answers against it."""
    game = load_game("gomoku")
    start = game.start()
    job = Job(
        game.id, game.digest, dict(start.options), start.text(), ("h8",), "", needs=(NULL_MOVE,),
        null_move=True,
    )  # fmt: skip
    searched = resolve(job, game)
    assert searched.turn == 0
    assert searched == position_of(job, game)
    assert "h8" not in searched.tokens()
    chess = load_game("chess")
    check = chess.position("4k3/8/8/8/8/8/4q3/4K3 w - - 0 1")
    refused = Job("chess", chess.digest, {}, check.text(), (), "", null_move=True)
    for find in (resolve, position_of):
        with pytest.raises(SearchFailed, match="no null move"):
            find(refused, chess)
