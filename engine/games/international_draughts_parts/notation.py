"""International draughts moves and positions as text."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from engine.game import State
from engine.games.international_draughts_parts.board import (
    BOARD,
    FIRST_ROW,
    LAST_ROW,
    NUMBER,
    SQUARE_BITS,
    pack,
    step,
    turn,
)
from engine.games.international_draughts_parts.movement import (
    CAPTURE,
    MAX_MOVES,
    captured_squares,
    moves,
)
from engine.jit import U

MOVE_TEXT = re.compile(r"[1-9][0-9]?(?:-[1-9][0-9]?|(?:x[1-9][0-9]?){1,20})")
POSITION_TEXT = re.compile(
    r"([BW]):W([K0-9,]*):B([K0-9,]*):H([0-9]|[1-4][0-9]|50)(?:,([0-9]|[12][0-9]|3[0-2]),([0-9]|10))?"
)
PIECE_TEXT = re.compile(r"(K?)([1-9][0-9]?)")


def _paths(square: int, end: int, free: int, victims: int, is_king: bool) -> Iterator[list[int]]:
    """Yields the paths that capture all pieces of `victims` and end on a square."""
    if not victims:
        if square == end:
            yield [square]
        return
    for direction in range(4):
        over = int(step(U(square), direction))
        while is_king and over & free:
            over = int(step(U(over), direction))
        if over & victims:
            land = int(step(U(over), direction))
            while land & free:
                for rest in _paths(land, end, free, victims ^ over, is_king):
                    yield [square, *rest]
                land = int(step(U(land), direction)) if is_king else 0


def path_of(s: State, m: int) -> list[int]:
    """The bits of the squares on the path of a move, first to last.

    A king may have several paths with the same captures; this is one of them.
    """
    start, end = 1 << (m & 63), 1 << (m >> 6 & 63)
    if m < CAPTURE:
        return [m & 63, m >> 6 & 63]
    free = int(BOARD) & ~int(s[0] | s[1]) | start
    path = next(_paths(start, end, free, int(captured_squares(m)), bool(int(s[2]) & start)))
    return [square.bit_length() - 1 for square in path]


def parse_move(s: State, text: str) -> int:
    if not MOVE_TEXT.fullmatch(text):
        raise ValueError("32-28 is a move, 28x19 a capture, 28x19x10 one with two jumps")
    squares = [_bit_of_square(number) for number in re.split("[-x]", text)]
    ends = squares[0] | squares[-1] << 6
    if "-" in text:
        return ends
    captured = 0
    for a, b in pairwise(squares):
        captured |= _captured_between(1 << a, 1 << b, int(s[1]) & ~captured)
    move = ends | int(pack(U(captured))) << 12
    buffer = [0] * MAX_MOVES
    legal = buffer[: moves(s, buffer)]
    if move in legal or len(squares) > 2:
        return move if captured else ends | CAPTURE
    captures = [
        other for other in legal if other >= CAPTURE and (other ^ ends) & (CAPTURE - 1) == 0
    ]
    if len(captures) > 1:
        raise ValueError("several captures end there: name every square on the path, 28x19x10")
    return captures[0] if captures else ends | CAPTURE


def _captured_between(start: int, end: int, other: int) -> int:
    """The only piece of the other side between two squares of a diagonal, or 0."""
    for direction in range(4):
        between = 0
        square = int(step(U(start), direction))
        while square & int(BOARD):
            if square == end:
                return between & other if (between & other).bit_count() == 1 else 0
            between |= square
            square = int(step(U(square), direction))
    return 0


def _bit_of_square(number: str) -> int:
    if not 1 <= int(number) <= 50:
        raise ValueError(f"the squares are 1 to 50, not {number}")
    return SQUARE_BITS[int(number) - 1]


def format_move(s: State, m: int) -> str:
    return ("x" if m >= CAPTURE else "-").join([str(NUMBER[bit]) for bit in path_of(s, m)])


def notation(s: State, m: int) -> str:
    """The move as players write it: without the intermediate squares if that is unambiguous."""
    token = format_move(s, m)
    squares = token.split("x")
    if len(squares) < 3:
        return token
    buffer = [0] * MAX_MOVES
    alternatives = [
        other for other in buffer[: moves(s, buffer)] if (other ^ m) & (CAPTURE - 1) == 0
    ]
    return f"{squares[0]}x{squares[-1]}" if len(alternatives) == 1 else token


def _parse_pieces(text: str, promoted: int) -> tuple[int, int]:
    """The pieces and the kings of a side, read from a list such as 18,24,K10."""
    pieces = kings = 0
    for part in text.split(",") if text else ():
        match = PIECE_TEXT.fullmatch(part)
        if not match:
            raise ValueError(f"{part} is not a piece: 18 is a man, K18 a king")
        bit = 1 << _bit_of_square(match[2])
        if pieces & bit:
            raise ValueError(f"there are two pieces on {match[2]}")
        if not match[1] and promoted & bit:
            raise ValueError(f"a man on {match[2]} would have been promoted")
        pieces |= bit
        kings |= bit if match[1] else 0
    if pieces.bit_count() > 20:
        raise ValueError("a side has twenty pieces at most")
    return pieces, kings


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "the side to move, each side's squares (K before kings) and the plies of kings without"
            " a capture are expected, then, if any, the plies of a lone king against three pieces"
            " and against two: W:W32,K38:B12,16:H0, W:WK38:BK12,K16:H7,7,7"
        )
    white, white_kings = _parse_pieces(match[2], int(FIRST_ROW))
    black, black_kings = _parse_pieces(match[3], int(LAST_ROW))
    if white & black:
        raise ValueError("two pieces stand on one square")
    kings = U(white_kings | black_kings)
    counts = int(match[4]) << 1 | int(match[5] or 0) << 9 | int(match[6] or 0) << 17
    first, second, side = (white, black, 0) if match[1] == "W" else (black, white, 1)
    state = (U(first), U(second), kings, U(counts | side))
    if moves(state, [0] * MAX_MOVES) == MAX_MOVES:
        raise ValueError("the position has more captures than MAX_MOVES")
    return state


def sides_of(s: State) -> tuple[int, int]:
    """The white and the black pieces."""
    mine, other = int(s[0]), int(s[1])
    return (other, mine) if turn(s) else (mine, other)


def numbers_of(pieces: int) -> Iterator[tuple[int, int]]:
    """The number and the bit of each square that is set."""
    while pieces:
        bit = pieces & -pieces
        pieces ^= bit
        yield NUMBER[bit.bit_length() - 1], bit


def format_position(s: State) -> str:
    kings, counts = int(s[2]), int(s[3])
    lists = [
        ",".join([f"K{i}" if kings & bit else f"{i}" for i, bit in numbers_of(side)])
        for side in sides_of(s)
    ]
    endgame = f",{counts >> 9 & 255},{counts >> 17 & 255}" if counts >> 9 else ""
    return f"{'WB'[turn(s)]}:W{lists[0]}:B{lists[1]}:H{counts >> 1 & 255}{endgame}"
