# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# (in compiled code int and np.int64 are the same type)
"""The compiled part of `engine.tune.othello`: one training pass over positions.

It uses integers only, so that the same positions give the same weights to the bit on every machine.
W holds the weights: for each phase those of the patterns, then those of the extra terms, in the
order of the game's data. A weight of UNIT is one disc.
"""

from typing import Any

import numpy as np

from engine.games.othello import (
    CORNER,
    DIAGONAL_4,
    DIAGONAL_5,
    DIAGONAL_6,
    DIAGONAL_7,
    DIAGONAL_8,
    EDGE,
    LINE_4,
    LINE_5,
    LINE_6,
    LINE_7,
    LINE_8,
    PATTERN_WEIGHTS,
    ROW,
    ROW_2,
    ROW_3,
    ROW_4,
    TERNARY,
)
from engine.jit import at, popcount

U = np.uint64
#: The weight that is worth one disc.
UNIT = 1 << 20
#: Pattern weights of a phase.
WEIGHTS = sum(PATTERN_WEIGHTS)
#: Extra terms of a phase: see `extras`.
EXTRA_COUNT = 4
#: Words of a phase in W.
PHASE_WORDS = WEIGHTS + EXTRA_COUNT
#: Places on the board at which a pattern is read.
PLACES = 38
#: Words of the scratch memory: start and index of each place, then the extra terms.
SCRATCH_WORDS = 2 * PLACES + EXTRA_COUNT
#: A learning rate of 1, in fixed point.
RATE_UNIT = 1024
#: Divisor of the learning rate of the extra terms; that of the pattern weights is PLACES. Every
#: position sums all extra terms, but most pattern weights occur rarely.
EXTRA_RATE_DIVISOR = 5000
#: Distance from a phase's boundary, in empty cells, within which a position also corrects the
#: weights of the neighbouring phase, so that they fit at the boundary.
OVERLAP = 2
#: Words of a record: the match, the discs of the side to move, the opponent's discs, and the final
#: lead of the side to move.
RECORD_WORDS = 4

MORE_HOOKS = (
    "mobility",
    "neighbours",
    "edge_cells",
    "corner_cells",
    "diagonal_cells",
    "rotated_90",
    "phase_of",
)
SIGNATURES = {
    "index": "i8(u8, u8)",
    "places": "void(u8, u8, i8*)",
    "extras": "void(u8, u8, i8*)",
    "predicted": "i8(i8*, i8*, i8*)",
    "correct": "void(i8, i8, i8*, i8*, i8*)",
    "learn": "void(u8*, i8, i8, i8*, i8*, i8*, i8*)",
}
CALLS = {"places": ("index",), "learn": ("places", "extras", "predicted", "correct")}


def mobility(p: np.uint64, o: np.uint64) -> np.uint64:
    raise NotImplementedError


def neighbours(p: np.uint64) -> np.uint64:
    raise NotImplementedError


def edge_cells(p: np.uint64) -> np.uint64:
    raise NotImplementedError


def corner_cells(p: np.uint64) -> np.uint64:
    raise NotImplementedError


def diagonal_cells(p: np.uint64, mask: np.uint64, length: int) -> np.uint64:
    raise NotImplementedError


def rotated_90(p: np.uint64) -> np.uint64:
    raise NotImplementedError


def phase_of(empty: int) -> int:
    raise NotImplementedError


def index(p: np.uint64, o: np.uint64) -> int:
    """The index of a pattern's state; a negative index is that state with the colours exchanged."""
    return TERNARY[np.int64(p)] - TERNARY[np.int64(o)]


def places(p: np.uint64, o: np.uint64, out: Any) -> None:
    """Writes for each place of a pattern the start of its weights and its index there."""
    n = 0
    for quarter in range(4):
        out[n] = EDGE
        out[n + 1] = index(edge_cells(p), edge_cells(o))
        out[n + 2] = CORNER
        out[n + 3] = index(corner_cells(p), corner_cells(o))
        out[n + 4] = ROW_2
        out[n + 5] = index((p >> U(8)) & ROW, (o >> U(8)) & ROW)
        out[n + 6] = ROW_3
        out[n + 7] = index((p >> U(16)) & ROW, (o >> U(16)) & ROW)
        out[n + 8] = ROW_4
        out[n + 9] = index((p >> U(24)) & ROW, (o >> U(24)) & ROW)
        out[n + 10] = LINE_7
        out[n + 11] = index(diagonal_cells(p, DIAGONAL_7, 7), diagonal_cells(o, DIAGONAL_7, 7))
        out[n + 12] = LINE_6
        out[n + 13] = index(diagonal_cells(p, DIAGONAL_6, 6), diagonal_cells(o, DIAGONAL_6, 6))
        out[n + 14] = LINE_5
        out[n + 15] = index(diagonal_cells(p, DIAGONAL_5, 5), diagonal_cells(o, DIAGONAL_5, 5))
        out[n + 16] = LINE_4
        out[n + 17] = index(diagonal_cells(p, DIAGONAL_4, 4), diagonal_cells(o, DIAGONAL_4, 4))
        n += 18
        if quarter < 2:
            out[n] = LINE_8
            out[n + 1] = index(diagonal_cells(p, DIAGONAL_8, 8), diagonal_cells(o, DIAGONAL_8, 8))
            n += 2
        p, o = rotated_90(p), rotated_90(o)


def extras(p: np.uint64, o: np.uint64, out: Any) -> None:
    """Writes the extra terms, those that are not patterns, as the game's evaluation has them.

    They are a constant, the differences in mobility and in empty neighbour cells, and the parity of
    the empty cells.
    """
    empty = ~(p | o)
    out[0] = 1
    out[1] = popcount(mobility(p, o)) - popcount(mobility(o, p))
    out[2] = popcount(neighbours(o) & empty) - popcount(neighbours(p) & empty)
    out[3] = 1 if popcount(empty) & 1 else -1


def predicted(scratch: Any, W: Any, shared: Any) -> int:
    """The lead that the weights of one phase predict for the places and extra terms in scratch."""
    total = 0
    for i in range(PLACES):
        pattern_index = scratch[2 * i + 1]
        entry = shared[scratch[2 * i] + abs(pattern_index)]
        sign = (entry & 3) - 1
        total += W[entry >> 2] * (sign if pattern_index >= 0 else -sign)
    for i in range(EXTRA_COUNT):
        total += W[WEIGHTS + i] * scratch[2 * PLACES + i]
    return total


def correct(error: int, rate: int, scratch: Any, W: Any, shared: Any) -> None:
    """Moves the weights that scratch names by a step that reduces the error."""
    step = error * rate // (RATE_UNIT * PLACES)
    for i in range(PLACES):
        pattern_index = scratch[2 * i + 1]
        entry = shared[scratch[2 * i] + abs(pattern_index)]
        sign = (entry & 3) - 1
        W[entry >> 2] += step * (sign if pattern_index >= 0 else -sign)
    for i in range(EXTRA_COUNT):
        W[WEIGHTS + i] += error * scratch[2 * PLACES + i] * rate // (RATE_UNIT * EXTRA_RATE_DIVISOR)


def learn(R: Any, count: int, rate: int, W: Any, shared: Any, scratch: Any, errors: Any) -> None:
    """Moves the weights towards the lead of each record in turn (least mean squares).

    A pattern and its mirror image share one stored weight. For each weight, `shared` holds the
    index of the stored one times 4, plus 1 + the sign (-1, 0 or 1) between the two.

    With rate 0 the weights do not change. `errors` receives for each phase the sum of the squared
    errors, in 64ths of a squared disc, and the number of positions.
    """
    for t in range(count):
        record = at(R, RECORD_WORDS * t)
        p = record[1]
        o = record[2]
        lead = np.int64(record[3]) * UNIT
        places(p, o, scratch)
        extras(p, o, at(scratch, 2 * PLACES))
        empty = 64 - popcount(p | o)
        phase = phase_of(empty)
        error = lead - predicted(scratch, at(W, phase * PHASE_WORDS), shared)
        eighths = error // (UNIT // 8)
        errors[2 * phase] += eighths * eighths
        errors[2 * phase + 1] += 1
        if rate == 0:
            continue
        correct(error, rate, scratch, at(W, phase * PHASE_WORDS), shared)
        neighbour = phase_of(empty - OVERLAP)
        if neighbour == phase:
            neighbour = phase_of(empty + OVERLAP)
        if neighbour != phase:
            error = lead - predicted(scratch, at(W, neighbour * PHASE_WORDS), shared)
            correct(error, rate, scratch, at(W, neighbour * PHASE_WORDS), shared)
