"""The state of a chess game: bitboards, pieces on squares, and attacks.

Squares are bits: a1 = 0, b1 = 1, … h8 = 63.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.game import State
from engine.jit import U, lsb, msb, rule

# --- the state

#: The words of a state. OWN and THEIRS are the pieces of the side to move and of the other side.
#: The next five are bitboards of both sides by kind; a queen is in both DIAGONALS and STRAIGHTS.
#: MISC holds the castling rights, the en passant square (only while such a capture is legal), the
#: side to move, the halfmove clock and the move number. HASH covers the whole state except the
#: halfmove clock and the move number.
OWN, THEIRS, PAWNS, KNIGHTS, DIAGONALS, STRAIGHTS, KINGS, MISC, HASH = range(9)

#: The kinds of pieces.
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
ZERO, ONE, TWO, EIGHT = U(0), U(1), U(2), U(8)
#: The set of all squares, and the highest bit.
ALL_SQUARES, TOP_BIT = U(2**64 - 1), U(1 << 63)
FILE_A, FILE_H = U(0x0101010101010101), U(0x8080808080808080)
RANK_3, RANK_6 = U(0xFF << 16), U(0xFF << 40)
#: Ranks 1 and 8, where pawns are promoted.
LAST_RANKS = U(0xFF | 0xFF << 56)
#: The dark squares.
DARK = U(0xAA55AA55AA55AA55)

#: The castling rights in MISC: 1 White's king side, 2 White's queen side, 4 and 8 Black's.
RIGHTS = U(15)
#: The en passant square in MISC; 0 for none.
EN_PASSANT = U(63 << 4)
EN_PASSANT_SHIFT = U(4)
#: The bit of MISC that is set when Black is to move.
BLACK = U(1 << 10)
SIDE_SHIFT = U(10)
#: The mask of the halfmove clock in MISC, and one ply of it.
CLOCK, CLOCK_ONE = U(0xFFFF << 16), U(1 << 16)
#: The mask of the move number in MISC, one move of it, and its shift.
MOVE_NUMBER, MOVE_NUMBER_ONE, MOVE_NUMBER_SHIFT = U(0xFFFFFFFF << 32), U(1 << 32), U(32)
#: The halfmove clocks at which a draw can be claimed, and at which the match is drawn, in plies.
CLAIM_PLIES, DRAW_PLIES = 100, 150
#: DRAW_PLIES as a halfmove clock in MISC.
DRAW_CLOCK = U(DRAW_PLIES << 16)
#: The halfmove clock from which the key includes it, because a search may reach the draw.
NEAR_DRAW_CLOCK = U(DRAW_PLIES - 40 << 16)
#: A multiplier for hashing: 2**64 divided by the golden ratio.
GOLDEN = U(0x9E3779B97F4A7C15)


def _on_board(file: int, rank: int) -> bool:
    return 0 <= file < 8 and 0 <= rank < 8


def _steps(*directions: tuple[int, int]) -> list[int]:
    """For each square, the squares one step away in any of these directions."""
    return [
        sum(1 << (y + dy) * 8 + x + dx for dx, dy in directions if _on_board(x + dx, y + dy))
        for y in range(8)
        for x in range(8)
    ]


def _line(dx: int, dy: int) -> list[int]:
    """For each square, the other squares on the line through it in a direction."""
    return _steps(*((dx * i, dy * i) for i in range(-7, 8) if i))


def _random_words(count: int) -> Iterator[int]:
    """Fixed pseudo-random numbers (splitmix64)."""
    for i in range(1, count + 1):
        word = i * 0x9E3779B97F4A7C15 % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        yield word ^ word >> 31


def _words(values: Any) -> Any:
    return np.array([value % 2**64 for value in values], np.uint64)


#: The squares that a knight attacks from each square.
KNIGHT_ATTACKS = _words(
    _steps((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
)
#: The squares that a king attacks from each square.
KING_ATTACKS = _words(_steps((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)))
#: The squares that a white pawn attacks from each square, then those that a black pawn attacks.
PAWN_ATTACKS = _words(_steps((-1, 1), (1, 1)) + _steps((-1, -1), (1, -1)))
#: Rank, file, diagonal and antidiagonal through each square, without the square itself.
LINES = _words(_line(1, 0) + _line(0, 1) + _line(1, 1) + _line(1, -1))
#: The indexes in LINES at which the files, diagonals and antidiagonals begin.
FILE_LINES, DIAGONAL_LINES, ANTIDIAGONAL_LINES = 64, 128, 192

#: The indexes in ZOBRIST_KEYS at which the keys of castling rights, en passant squares and Black to
#: move begin.
RIGHTS_KEYS, EN_PASSANT_KEYS, BLACK_KEY_INDEX = 768, 784, 848
#: Zobrist keys by side * 384 + kind * 64 + square; then by castling rights, by en passant square,
#: and one for Black to move.
ZOBRIST_KEYS = _words(
    0 if i == EN_PASSANT_KEYS else word for i, word in enumerate(_random_words(BLACK_KEY_INDEX + 1))
)
#: The key of Black to move.
BLACK_KEY = ZOBRIST_KEYS[BLACK_KEY_INDEX]
#: The castling rights that remain after a move from or to a square, as a mask.
KEPT_RIGHTS = _words(
    15 & ~{0: 2, 4: 3, 7: 1, 56: 8, 60: 12, 63: 4}.get(square, 0) for square in range(64)
)

# --- attacks


@rule
def side_of(s: State) -> int:
    return int(np.int64((s[MISC] >> SIDE_SHIFT) & ONE))


@rule
def lowest(bits: np.uint64) -> np.uint64:
    """The lowest set bit."""
    return bits & ~(bits - ONE)


@rule
def line_attacks(line: np.uint64, bit: np.uint64, occupied: np.uint64) -> np.uint64:
    """The squares of a line that a slider on `bit` attacks, up to the first piece each way."""
    below = line & occupied & (bit - ONE)
    above = (line & occupied ^ below) | TOP_BIT
    return line & (above ^ (above - ONE)) & (ALL_SQUARES << U(msb(below | ONE)))


@rule
def diagonal_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[DIAGONAL_LINES + square], bit, occupied) | line_attacks(
        LINES[ANTIDIAGONAL_LINES + square], bit, occupied
    )


@rule
def straight_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[square], bit, occupied) | line_attacks(
        LINES[FILE_LINES + square], bit, occupied
    )


@rule
def is_attacked(s: State, square: int, occupied: np.uint64, attackers: np.uint64) -> bool:
    """True if a piece of `attackers`, of the other side, attacks a square given `occupied`."""
    leapers = KNIGHT_ATTACKS[square] & s[KNIGHTS]
    leapers |= KING_ATTACKS[square] & s[KINGS]
    leapers |= PAWN_ATTACKS[side_of(s) * 64 + square] & s[PAWNS]
    if leapers & attackers:
        return True
    sliders = s[STRAIGHTS] & attackers
    if (LINES[square] | LINES[FILE_LINES + square]) & sliders and straight_attacks(
        square, occupied
    ) & sliders:
        return True
    sliders = s[DIAGONALS] & attackers
    return bool(
        (LINES[DIAGONAL_LINES + square] | LINES[ANTIDIAGONAL_LINES + square]) & sliders
        and diagonal_attacks(square, occupied) & sliders
    )


@rule
def in_check(s: State) -> bool:
    return unstable(s) != 0


@rule
def unstable(s: State) -> int:
    """1 in check, else 0. It inlines `is_attacked`, since the search calls it at each node."""
    king = s[KINGS] & s[OWN]
    square = lsb(king)
    theirs = s[THEIRS]
    straights, diagonals = s[STRAIGHTS] & theirs, s[DIAGONALS] & theirs
    leapers = (
        KNIGHT_ATTACKS[square] & s[KNIGHTS] | PAWN_ATTACKS[side_of(s) * 64 + square] & s[PAWNS]
    )
    attackers = (leapers | KING_ATTACKS[square] & s[KINGS]) & theirs
    if (LINES[square] | LINES[FILE_LINES + square]) & straights:
        attackers |= straight_attacks(square, s[OWN] | theirs) & straights
    if (LINES[DIAGONAL_LINES + square] | LINES[ANTIDIAGONAL_LINES + square]) & diagonals:
        attackers |= diagonal_attacks(square, s[OWN] | theirs) & diagonals
    return 1 if attackers else 0


@rule
def kind_at(s: State, bit: np.uint64) -> int:
    """The kind of the piece on `bit`, which must be occupied.

    The code is branchless, because branches on the kind of piece are mispredicted.
    """
    knight, king = np.int64(s[KNIGHTS] & bit != ZERO), np.int64(s[KINGS] & bit != ZERO)
    diagonal, straight = np.int64(s[DIAGONALS] & bit != ZERO), np.int64(s[STRAIGHTS] & bit != ZERO)
    return int(knight + 2 * diagonal + 3 * straight - (diagonal & straight) + 5 * king)


@rule
def en_passant_square(s: State) -> int:
    """The en passant square, the target of such a capture; 0 for none."""
    return int(np.int64((s[MISC] & EN_PASSANT) >> EN_PASSANT_SHIFT))


def turn(s: State) -> int:
    return int(s[MISC]) >> 10 & 1
