"""Draughts moves and positions as text."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from engine.game import State
from engine.games.draughts_parts.board import (
    DRAW_PLIES,
    FIRST_ROW,
    LAST_ROW,
    NUMBER,
    SQUARE_BITS,
    STEPS,
    turn,
)
from engine.games.draughts_parts.movement import CAPTURE, MAX_MOVES, moves
from engine.jit import U

MOVE_TEXT = re.compile(r"[1-9][0-9]?(?:-[1-9][0-9]?|(?:x[1-9][0-9]?){1,9})")
POSITION_TEXT = re.compile(r"([BW]):W([K0-9,]*):B([K0-9,]*):H([0-9]{1,2})")
PIECE_TEXT = re.compile(r"(K?)([1-9][0-9]?)")


def path_of(m: int) -> list[int]:
    """The bits of the squares on the path of a move, first to last."""
    path, path_code = [m >> 6 & 63], m >> 12
    while path_code > 1:
        path.append(path[-1] - 2 * STEPS[path_code & 3])
        path_code >>= 2
    return path[::-1] if m >= CAPTURE else [m & 63, *path]


def parse_move(s: State, text: str) -> int:
    if not MOVE_TEXT.fullmatch(text):
        raise ValueError("11-15 is a move, 22x15 a capture, 1x10x17 one with two jumps")
    squares = [_bit_of_square(number) for number in re.split("[-x]", text)]
    ends = squares[0] | squares[-1] << 6
    if "-" in text:
        return ends
    directions = [(b - a) // 2 if (b - a) % 2 == 0 else 0 for a, b in pairwise(squares)]
    if not set(directions) <= set(STEPS):
        return _only_capture(s, ends)
    path = 1
    for direction in directions:
        path = path * 4 + STEPS.index(direction)
    return ends | path << 12


def _captures_between(s: State, m: int) -> list[int]:
    """The legal captures with the same origin and target."""
    buffer = [0] * MAX_MOVES
    return [
        other
        for other in buffer[: moves(s, buffer)]
        if other >= CAPTURE and (other ^ m) & (CAPTURE - 1) == 0
    ]


def _only_capture(s: State, ends: int) -> int:
    """The only capture between two squares, as in 1x17; ValueError if there are several.

    If there is none, the result is a move that is never legal.
    """
    captures = _captures_between(s, ends)
    if len(captures) > 1:
        raise ValueError("several captures end there: name every square on the path, 1x10x17")
    return captures[0] if captures else ends | CAPTURE  # a capture without a jump is never legal


def notation(s: State, m: int) -> str:
    """The move as players write it: without the intermediate squares if that is unambiguous."""
    token = format_move(s, m)
    squares = token.split("x")
    return (
        f"{squares[0]}x{squares[-1]}"
        if len(squares) > 2 and len(_captures_between(s, m)) == 1
        else token
    )


def _bit_of_square(number: str) -> int:
    if not 1 <= int(number) <= 32:
        raise ValueError(f"the squares are 1 to 32, not {number}")
    return SQUARE_BITS[int(number) - 1]


def format_move(s: State, m: int) -> str:
    return ("x" if m >= CAPTURE else "-").join([str(NUMBER[bit]) for bit in path_of(m)])


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
    if pieces.bit_count() > 12:
        raise ValueError("a side has twelve pieces at most")
    return pieces, kings


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match or int(match[4]) > DRAW_PLIES:
        raise ValueError(
            "the side to move, each side's squares (K before kings) and the plies since a capture"
            " or a man's move are expected: B:W18,24,K10:B12,16:H0"
        )
    white, white_kings = _parse_pieces(match[2], int(FIRST_ROW))
    black, black_kings = _parse_pieces(match[3], int(LAST_ROW))
    if white & black:
        raise ValueError("two pieces stand on one square")
    kings = U(white_kings | black_kings)
    if match[1] == "B":
        return (U(black), U(white), kings, U(int(match[4]) << 1))
    return (U(white), U(black), kings, U(int(match[4]) << 1 | 1))


def sides_of(s: State) -> tuple[int, int]:
    """The black and the white pieces."""
    mine, other = int(s[0]), int(s[1])
    return (other, mine) if turn(s) else (mine, other)


def numbers_of(pieces: int) -> Iterator[tuple[int, int]]:
    """The number and the bit of each square that is set."""
    while pieces:
        bit = pieces & -pieces
        pieces ^= bit
        yield NUMBER[bit.bit_length() - 1], bit


def format_position(s: State) -> str:
    black, white = sides_of(s)
    kings = int(s[2])
    lists = [
        ",".join([f"K{i}" if kings & bit else f"{i}" for i, bit in numbers_of(side)])
        for side in (white, black)
    ]
    return f"{'BW'[turn(s)]}:W{lists[0]}:B{lists[1]}:H{int(s[3]) >> 1}"
