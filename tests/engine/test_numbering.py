"""Move numbers: each game counts moves as its players do."""

import pytest

from engine.game import Game, GameFault
from engine.rules.numbering import length_text, move_number
from engine.rules.registry import game_ids, load_game
from tests.support.room_log import altered_game

#: Games that number each ply.
BY_PLY = {
    "coin-friends", "connect-four", "dots-and-boxes", "gomoku", "hex", "kalah", "othello",
    "rock-paper-scissors", "sticks", "tic-tac-toe",
}  # fmt: skip


def numbers(game: Game, plies: int, first: int = 0) -> list[str]:
    """Returns the move numbers of the first plies; side `first` begins."""
    return [move_number(game, ply, (ply + first) % 2) for ply in range(plies)]


def test_chess_numbers_pairs_of_moves() -> None:
    """In chess the moves of both sides share a number, whichever side begins."""
    chess = load_game("chess")
    assert numbers(chess, 5) == ["1.", "1...", "2.", "2...", "3."]
    assert numbers(chess, 4, first=1) == ["1...", "2.", "2...", "3."]
    assert [length_text(chess, plies) for plies in (0, 1, 2, 3, 45)] == [
        "0 moves", "1 move", "1 move", "2 moves", "23 moves",
    ]  # fmt: skip
    assert [length_text(chess, plies, first=1) for plies in (0, 1, 2, 3)] == [
        "0 moves",
        "1 move",
        "2 moves",
        "2 moves",
    ]


def test_othello_numbers_each_ply() -> None:
    """In othello each ply has its own number, whichever side begins."""
    othello = load_game("othello")
    assert numbers(othello, 3) == numbers(othello, 3, first=1) == ["1.", "2.", "3."]
    assert [length_text(othello, plies) for plies in (0, 1, 2, 60)] == [
        "0 moves",
        "1 move",
        "2 moves",
        "60 moves",
    ]


def test_the_length_is_the_number_of_the_last_move() -> None:
    """In every game the length equals the number of the last move, whichever side begins."""
    for name in game_ids():
        game = load_game(name)
        for first in (0, 1):
            for plies in range(1, 12):
                last = numbers(game, plies, first)[-1].rstrip(".")
                assert length_text(game, plies, first) == f"{last} move{'' if last == '1' else 's'}"


def test_an_unknown_game_is_counted_in_plies() -> None:
    """The length of a match of an unknown game is given in plies."""
    assert [length_text(None, plies) for plies in (1, 45)] == ["1 ply", "45 plies"]


def test_games_declare_their_numbering() -> None:
    """NUMBERING is "move" by default; an unknown value is refused with the valid ones."""
    assert {name for name in game_ids() if load_game(name).rules.NUMBERING == "ply"} == BY_PLY
    with pytest.raises(GameFault, match="NUMBERING 'plies', not 'move' or 'ply'"):
        altered_game("chess", {"NUMBERING": "plies"})
