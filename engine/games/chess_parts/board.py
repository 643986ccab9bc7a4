"""The state of a chess game: bitboards, pieces on squares, and attacks.

Squares are bits: a1 = 0, b1 = 1, … h8 = 63.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.game import State
from engine.jit import U, lsb, msb, rule

# --- the state

#: The words of a state. OWN and THEIRS are the pieces of the side to move and of the other side;
#: the next five are bitboards of both sides by kind, where a queen is in DIAGONALS and STRAIGHTS.
#: MISC holds the castling rights, the en passant square (only while such a capture is legal), the
#: side to move, the halfmove clock and the move number. HASH covers all but the last two.
OWN, THEIRS, PAWNS, KNIGHTS, DIAGONALS, STRAIGHTS, KINGS, MISC, HASH = range(9)

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
ZERO, ONE, TWO, EIGHT = U(0), U(1), U(2), U(8)
FULL, LAST = U(2**64 - 1), U(1 << 63)
FILE_A, FILE_H = U(0x0101010101010101), U(0x8080808080808080)
RANK_3, RANK_6 = U(0xFF << 16), U(0xFF << 40)
LAST_RANKS = U(0xFF | 0xFF << 56)
DARK = U(0xAA55AA55AA55AA55)

#: The castling rights in MISC: 1 White's king side, 2 White's queen side, 4 and 8 Black's.
RIGHTS = U(15)
#: The square in MISC that a pawn has just passed; 0 for none.
PASSED = U(63 << 4)
PASSED_SHIFT = U(4)
BLACK = U(1 << 10)
SIDE_SHIFT = U(10)
CLOCK, CLOCK_ONE = U(0xFFFF << 16), U(1 << 16)
NUMBER, NUMBER_ONE, NUMBER_SHIFT = U(0xFFFFFFFF << 32), U(1 << 32), U(32)
#: The halfmove clocks at which a draw can be claimed and at which the match is drawn.
CLAIM_PLIES, LIMIT_PLIES = 100, 150
LIMIT = U(LIMIT_PLIES << 16)
#: The key includes the halfmove clock from this value on, since a search may then reach the draw.
NEAR_LIMIT = U(LIMIT_PLIES - 40 << 16)
GOLDEN = U(0x9E3779B97F4A7C15)


def _on_board(file: int, rank: int) -> bool:
    return 0 <= file < 8 and 0 <= rank < 8


def _steps(*ways: tuple[int, int]) -> list[int]:
    """For each square, the squares one step away in any of these directions."""
    return [
        sum(1 << (y + dy) * 8 + x + dx for dx, dy in ways if _on_board(x + dx, y + dy))
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


KNIGHT_STEPS = _words(
    _steps((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
)
KING_STEPS = _words(_steps((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)))
#: The squares that a white pawn attacks from each square, then those that a black pawn attacks.
PAWN_STEPS = _words(_steps((-1, 1), (1, 1)) + _steps((-1, -1), (1, -1)))
#: Rank, file, diagonal and antidiagonal through each square, without the square itself.
LINES = _words(_line(1, 0) + _line(0, 1) + _line(1, 1) + _line(1, -1))
#: Where the files, diagonals and antidiagonals begin in LINES. NINES and SEVENS are named after the
#: number that a step along the line adds to a square.
FILES_OF, NINES_OF, SEVENS_OF = 64, 128, 192

#: Where the words for castling rights, en passant squares and Black to move begin in HASHES.
RIGHTS_OF, PASSED_OF, BLACK_OF = 768, 784, 848
#: Zobrist keys by side * 384 + kind * 64 + square; then by castling rights, by en passant square,
#: and one for Black to move.
HASHES = _words(0 if i == PASSED_OF else word for i, word in enumerate(_random_words(BLACK_OF + 1)))
BLACK_HASH = HASHES[BLACK_OF]
#: The castling rights that remain after a move from or to a square, as a mask.
KEPT = _words(15 & ~{0: 2, 4: 3, 7: 1, 56: 8, 60: 12, 63: 4}.get(square, 0) for square in range(64))

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
    above = (line & occupied ^ below) | LAST
    return line & (above ^ (above - ONE)) & (FULL << U(msb(below | ONE)))


@rule
def diagonal_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[NINES_OF + square], bit, occupied) | line_attacks(
        LINES[SEVENS_OF + square], bit, occupied
    )


@rule
def straight_attacks(square: int, occupied: np.uint64) -> np.uint64:
    bit = ONE << U(square)
    return line_attacks(LINES[square], bit, occupied) | line_attacks(
        LINES[FILES_OF + square], bit, occupied
    )


@rule
def is_attacked(s: State, square: int, occupied: np.uint64, attackers: np.uint64) -> bool:
    """True if some of `attackers`, pieces of the other side, attack a square under `occupied`."""
    leapers = KNIGHT_STEPS[square] & s[KNIGHTS]
    leapers |= KING_STEPS[square] & s[KINGS]
    leapers |= PAWN_STEPS[side_of(s) * 64 + square] & s[PAWNS]
    if leapers & attackers:
        return True
    sliders = s[STRAIGHTS] & attackers
    if (LINES[square] | LINES[FILES_OF + square]) & sliders and straight_attacks(
        square, occupied
    ) & sliders:
        return True
    sliders = s[DIAGONALS] & attackers
    return bool(
        (LINES[NINES_OF + square] | LINES[SEVENS_OF + square]) & sliders
        and diagonal_attacks(square, occupied) & sliders
    )


@rule
def in_check(s: State) -> bool:
    return unstable(s) != 0


@rule
def unstable(s: State) -> int:
    """1 in check. It is `is_attacked` inlined, since the search calls it at each node."""
    king = s[KINGS] & s[OWN]
    square = lsb(king)
    theirs = s[THEIRS]
    straights, diagonals = s[STRAIGHTS] & theirs, s[DIAGONALS] & theirs
    leapers = KNIGHT_STEPS[square] & s[KNIGHTS] | PAWN_STEPS[side_of(s) * 64 + square] & s[PAWNS]
    found = (leapers | KING_STEPS[square] & s[KINGS]) & theirs
    if (LINES[square] | LINES[FILES_OF + square]) & straights:
        found |= straight_attacks(square, s[OWN] | theirs) & straights
    if (LINES[NINES_OF + square] | LINES[SEVENS_OF + square]) & diagonals:
        found |= diagonal_attacks(square, s[OWN] | theirs) & diagonals
    return 1 if found else 0


@rule
def kind_at(s: State, bit: np.uint64) -> int:
    """The kind of the piece on `bit`, which must be occupied.

    The code is branchless, because which piece moves is unpredictable.
    """
    knight, king = np.int64(s[KNIGHTS] & bit != ZERO), np.int64(s[KINGS] & bit != ZERO)
    diagonal, straight = np.int64(s[DIAGONALS] & bit != ZERO), np.int64(s[STRAIGHTS] & bit != ZERO)
    return int(knight + 2 * diagonal + 3 * straight - (diagonal & straight) + 5 * king)


@rule
def passed_square(s: State) -> int:
    """The target of an en passant capture; 0 for none."""
    return int(np.int64((s[MISC] & PASSED) >> PASSED_SHIFT))


def turn(s: State) -> int:
    return int(s[MISC]) >> 10 & 1
