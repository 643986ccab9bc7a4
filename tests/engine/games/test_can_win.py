"""`can_win` of chess and of both draughts: which seats can still win, by any series of moves."""

import random
from collections.abc import Iterator

import chess
import pytest

from engine.game import GameFault
from engine.rules.registry import load_game
from tests.support.room_log import altered_game, failing_rule

#: Positions compared with python-chess.
POSITIONS = 10_000
#: The pieces besides the kings in these positions.
PIECES = [chess.PAWN, chess.ROOK, chess.QUEEN] + 2 * [chess.KNIGHT, chess.BISHOP]

#: Mates with as little as a seat can win with: the pieces, and a position that has them.
MATES = [
    ("knight against pawn", "8/8/8/8/8/1N6/p7/k1K5 b - - 0 1"),
    ("knight against knight", "8/8/8/8/8/1K6/2N5/kn6 b - - 0 1"),
    ("knight against bishop", "8/8/8/8/8/8/b1N5/k1K5 b - - 0 1"),
    ("knight against rook", "8/8/8/8/8/1N6/r7/k1K5 b - - 0 1"),
    ("bishop against pawn", "8/8/8/8/4B3/8/7p/5K1k b - - 0 1"),
    ("bishop against knight", "8/8/8/8/8/8/5KBn/7k b - - 0 1"),
    ("bishop against bishop", "8/8/8/8/8/8/5KBb/7k b - - 0 1"),
    ("two knights", "8/8/8/8/8/1KN5/2N5/k7 b - - 0 1"),
]
#: What a seat has that cannot win, whatever the other one does.
CANNOT_WIN = [
    ("a bare king against a queen", "4k3/8/8/8/8/8/8/QK6 w - - 0 1"),
    ("a bare king against a pawn", "4k3/8/8/8/8/8/P7/1K6 b - - 0 1"),
    ("a knight against queens", "1n2k3/8/8/8/8/8/8/QK5Q w - - 0 1"),
    ("a bishop against rooks and a queen", "1b2k3/8/8/8/8/8/8/QK1R3R w - - 0 1"),
    ("bishops of one colour", "b1b1k3/8/8/8/8/8/8/RK6 w - - 0 1"),
    ("a bishop against one of its colour", "2b1k3/8/8/8/8/8/8/1K1R1B2 w - - 0 1"),
]

#: Positions of draughts of both kinds in which a seat cannot win.
NO_WAY = [
    ("draughts", "W:WK27:BK15:H0", 0),  # the other king has the opposition for good
    ("draughts", "B:W14:BK1:H0", 1),  # a man is crowned, and the kings stand the same way
    ("draughts", "B:WK17:BK22,26:H0", 1),  # a capture is compulsory, then the kings as above
    ("draughts", "W:W13:BK10:H0", 0),  # the man must step where it is taken or lets the king be
    ("international-draughts", "W:W9:BK13:H0", 1),  # the last piece is taken
    ("international-draughts", "W:W40:BK30:H0", 0),  # both steps of the man lose it
]


def placements(rng: random.Random) -> Iterator[chess.Board]:
    """Yields legal positions with few pieces besides the kings."""
    while True:
        board = chess.Board(None)
        squares = rng.sample(chess.SQUARES, 2 + rng.randrange(5))
        for number, square in enumerate(squares):
            kind = chess.KING if number < 2 else rng.choice(PIECES)
            colour = number % 2 == 0 if number < 2 else rng.random() < 0.5
            board.set_piece_at(square, chess.Piece(kind, colour))
        board.turn = rng.random() < 0.5
        if board.is_valid():
            yield board


def test_chess_agrees_with_python_chess() -> None:
    """In random positions with few pieces, either seat can win where python-chess says so."""
    game, refused = load_game("chess"), 0
    for _, board in zip(range(POSITIONS), placements(random.Random(7)), strict=False):
        position = game.position(board.fen())
        for seat, colour in enumerate((chess.WHITE, chess.BLACK)):
            can_win = not board.has_insufficient_material(colour)
            assert position.can_win(seat) is can_win, board.fen()
            refused += not can_win
    assert refused > POSITIONS / 4


@pytest.mark.parametrize(("pieces", "text"), MATES)
def test_pieces_that_have_mated_can_win(pieces: str, text: str) -> None:
    """A seat that has given mate with these pieces could win, and can before its last move."""
    position = load_game("chess").position(text)
    outcome = position.outcome()
    assert outcome is not None
    assert outcome.winner == 0
    assert position.can_win(0)


@pytest.mark.parametrize(("pieces", "text"), CANNOT_WIN)
def test_pieces_that_cannot_mate(pieces: str, text: str) -> None:
    """One seat cannot win with these pieces; the other one can, and so it is for both colours."""
    game = load_game("chess")
    board = chess.Board(text)
    for side in (board, board.mirror()):
        can_win = [game.position(side.fen()).can_win(seat) for seat in (0, 1)]
        poor = 0 if side.has_insufficient_material(chess.WHITE) else 1
        assert can_win == [seat != poor for seat in (0, 1)]


def test_two_kings_of_draughts_have_the_opposition_or_not() -> None:
    """A king moves one row at a time, so against one king only the side can win for which, when it
    is to move, the kings stand an odd number of rows apart.
    """
    game, rng = load_game("draughts"), random.Random(5)
    for _ in range(30):
        white, black = rng.sample(range(1, 33), 2)
        position = game.position(f"{rng.choice('BW')}:WK{white}:BK{black}:H0")
        is_odd = ((white - 1) // 4 + (black - 1) // 4) % 2 == 1
        assert position.can_win(position.turn) is is_odd
        assert position.can_win(1 - position.turn) is not is_odd


@pytest.mark.parametrize(("game", "text", "seat"), NO_WAY)
def test_a_seat_that_no_series_of_moves_helps(game: str, text: str, seat: int) -> None:
    """The seat has no way to win, and none after any series of moves."""
    position = load_game(game).position(text)
    rng = random.Random(3)
    for _ in range(4):
        line = position
        for _ in range(10):
            assert not line.can_win(seat), line.text()
            if not line.moves():
                outcome = line.outcome()
                assert outcome is None or outcome.winner != seat
                break
            line = line.play(rng.choice(line.moves()))


@pytest.mark.parametrize("game", ["chess", "draughts", "international-draughts", "othello"])
def test_at_the_start_both_seats_can_win(game: str) -> None:
    """Both can, also in a game that does not say."""
    assert [load_game(game).start().can_win(seat) for seat in (0, 1)] == [True, True]


def test_a_rule_that_fails_is_the_games_fault() -> None:
    """A failing rule raises GameFault, as any rule."""
    position = altered_game("chess", {"can_win": failing_rule}).start()
    with pytest.raises(GameFault, match="can_win"):
        position.can_win(0)
