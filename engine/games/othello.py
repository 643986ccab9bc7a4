"""Othello: a disc turns over the rows that it encloses; the most discs at the end win."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Option, State
from engine.jit import U, lsb, msb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "othello"
TITLE = "Othello"
#: The discs of the side to move, those of the other side, and the side to move: 0 Black, 1 White;
#: bit = column + 8 * row.
WORDS = 3
MAX_MOVES = 60  # the four cells in the middle are never empty
LEVELS = 8
LEVEL_TABLE = (
    (1, 34, 10),
    (80, 12, 500),
    (700, 8, 370),
    (3_000, 4, 240),
    (10_000, 2, 130),
    (32_000, 1, 68),
    (80_000, 0, 22),
)
NUMBERING = "ply"
OPTIONS: Mapping[str, Option] = {}
DATA = ("othello.bin",)
SOLVER = "engine.solvers.othello"
SOLVER_NODES = 150_000
POINTS_UNIT = "discs"
ALIASES = ("reversi",)
GOAL = "Have more discs than the other side when nobody can move."
RULES = """Black and White take turns to put a disc of their colour on an empty cell; Black
begins. At the start there are two discs of each colour in the middle.

A disc may only go where it encloses discs of the other colour: next to it, across, up or down or
on a diagonal, lies an unbroken row of the other colour, and behind that row a disc of your own.
Every row that the new disc encloses, in all eight directions, is turned over to your colour.
Discs that were turned over enclose no others in the same move.

A player who cannot enclose anything must pass, and the other side moves again. You may not pass
when you have a move. When neither side has a move, usually because the board is full, the match
is over, and the player with more discs of their colour wins. Equal numbers are a draw. In the
points of the result the empty cells count for the winner, and for both sides alike in a draw.

Discs in the corners can never be turned over again. Having many moves when the other side has
few is worth more than having many discs, until the end is near."""

ZERO = U(0)
ONE = U(1)
#: Columns b to g: a row that continues from one of these does not leave the board sideways.
INNER = U(0x7E7E7E7E7E7E7E7E)
#: The corner cells.
CORNERS = U(0x8100000000000081)
#: The cells diagonally next to a corner.
X_CELLS = U(0x0042000000004200)
#: The edge cells next to a corner.
C_CELLS = U(0x4281000000008142)
#: The four cells that are filled at the start.
CENTRE = U(0x0000001818000000)
COLUMN_A, COLUMN_H = U(0x0101010101010101), U(0x8080808080808080)
ROWS_1_8 = U(0xFF000000000000FF)
#: Groups of cells in the order in which `moves` lists them, usually good moves first.
MOVE_ORDER = (CORNERS, ~(CORNERS | X_CELLS | C_CELLS), C_CELLS, X_CELLS)
#: The move that passes.
PASS = 64
#: The cells of row 1.
ROW = U(0xFF)
#: The diagonals of eight to four cells, from the upper edge down to column h.
DIAGONAL_8, DIAGONAL_7, DIAGONAL_6, DIAGONAL_5, DIAGONAL_4 = (
    U(sum(1 << (8 - length + 9 * i) for i in range(length))) for length in (8, 7, 6, 5, 4)
)
#: For each set of up to ten cells, given as bits: the base-3 number with the same digits. The index
#: of a pattern is the difference of two such numbers.
TERNARY = np.array(
    [sum(3**i for i in range(10) if bits >> i & 1) for bits in range(1024)], np.int64
)
#: The number of cells of each pattern.
PATTERN_CELLS = (10, 9, 8, 8, 8, 8, 7, 6, 5, 4)
#: The number of weights of each pattern: half of its configurations, see `pattern_weight`.
PATTERN_WEIGHTS = tuple((3**cells + 1) // 2 for cells in PATTERN_CELLS)
#: The offset of each pattern's weights within those of a phase.
EDGE, CORNER, ROW_2, ROW_3, ROW_4, LINE_8, LINE_7, LINE_6, LINE_5, LINE_4 = (
    sum(PATTERN_WEIGHTS[:i]) for i in range(len(PATTERN_WEIGHTS))
)
#: The number of phases, each with weights of its own.
PHASES = 5
#: The size of the pattern weights of one phase, a byte each, padded to whole words.
PHASE_BYTES = (sum(PATTERN_WEIGHTS) + 7) // 8 * 8
#: The word where the four other weights of each phase begin, in 64ths of a disc: having the move,
#: an extra legal move (mobility), an extra empty cell next to the other side's discs (potential
#: mobility), and an odd number of empty cells (parity).
EXTRAS = PHASES * PHASE_BYTES // 8
#: Multipliers of the hash.
MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)

#: The name of each cell, by bit.
CELLS = tuple(f"{column}{row}" for row in "12345678" for column in "abcdefgh")
#: The name and the mask of each cell.
BITS = tuple((cell, 1 << i) for i, cell in enumerate(CELLS))
NAMES = ("Black", "White")
MARKS = "XO"


def _rays(steps: tuple[tuple[int, int], ...]) -> Any:
    """The rays by cell and direction: the cells from the next one to the edge."""
    rays = np.zeros((64, len(steps)), np.uint64)
    for cell in range(64):
        for i, (right, down) in enumerate(steps):
            column, row = cell % 8 + right, cell // 8 + down
            while 0 <= column < 8 and 0 <= row < 8:
                rays[cell, i] |= ONE << U(column + 8 * row)
                column, row = column + right, row + down
    return rays


#: The rays towards higher bits, by cell and direction.
UPWARD = _rays(((1, 0), (-1, 1), (0, 1), (1, 1)))
#: The rays towards lower bits.
DOWNWARD = _rays(((-1, 0), (1, -1), (0, -1), (-1, -1)))


def init(options: Mapping[str, str]) -> State:
    return (U(0x0000000810000000), U(0x0000001008000000), ZERO)


@rule
def beyond_rows(p: np.uint64, inner: np.uint64, step: np.uint64) -> np.uint64:
    """The cells at the far ends of unbroken rows of `inner` that begin next to a disc of `p`.

    It covers both directions along the lines with this step.
    """
    up = inner & (p << step)
    down = inner & (p >> step)
    up |= inner & (up << step)
    down |= inner & (down >> step)
    pairs = inner & (inner << step)
    pairs_down = pairs >> step
    twice = step + step
    up |= pairs & (up << twice)
    down |= pairs_down & (down >> twice)
    up |= pairs & (up << twice)
    down |= pairs_down & (down >> twice)
    return (up << step) | (down >> step)


@rule
def mobility(p: np.uint64, o: np.uint64) -> np.uint64:
    """The cells where the side with discs `p` may put a disc against `o`."""
    inner = o & INNER
    cells = beyond_rows(p, inner, U(1)) | beyond_rows(p, inner, U(7))
    cells |= beyond_rows(p, o, U(8)) | beyond_rows(p, inner, U(9))
    return cells & ~(p | o)


@rule
def flips(cell: int, p: np.uint64, o: np.uint64) -> np.uint64:
    """The discs of `o` that a new disc of `p` turns over."""
    flipped = ZERO
    for i in range(4):
        # Upwards, the carry of an addition runs through the row of o to the first other cell of the
        # ray.
        ray = UPWARD[cell, i]
        end = ((o | ~ray) + ONE) & ray & p
        flipped |= (end - U(end != ZERO)) & ray
        # Downwards, that cell is the highest one of the ray that is not in o.
        ray = DOWNWARD[cell, i]
        end = (ONE << U(msb((ray & ~o) | ONE))) & ray & p
        flipped |= ray & ~((end << ONE) - ONE)
    return flipped


@rule
def status(s: State) -> int:
    return ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    n = 0
    free = mobility(s[0], s[1])
    for group in MOVE_ORDER:
        cells = free & group
        while cells:
            buf[n] = lsb(cells)
            n += 1
            cells &= cells - ONE
    if n == 0 and mobility(s[1], s[0]) != ZERO:
        buf[0] = PASS
        n = 1
    return n


@rule
def count(s: State, buf: Any) -> int:
    free = mobility(s[0], s[1])
    if free != ZERO:
        return popcount(free)
    return 1 if mobility(s[1], s[0]) != ZERO else 0


@rule
def play(s: State, m: int) -> State:
    if m == PASS:
        return (s[1], s[0], s[2] ^ ONE)
    flipped = flips(m, s[0], s[1])
    return (s[1] ^ flipped, s[0] ^ flipped ^ (ONE << U(m)), s[2] ^ ONE)


@rule
def no_moves_result(s: State) -> int:
    lead = popcount(s[0]) - popcount(s[1])
    if lead == 0:
        return DRAWN
    return WON if lead > 0 else LOST


@rule
def key(s: State) -> np.uint64:
    h = s[0] * MIX_1
    h = ((h ^ (h >> U(32))) + s[1]) * MIX_2
    h = (h ^ (h >> U(29))) * MIX_1 + s[2]
    return h if h != ZERO else ONE


@rule
def rotated_90(p: np.uint64) -> np.uint64:
    """The board rotated by 90 degrees: flipped vertically, then mirrored at the diagonal.

    Three swaps of blocks mirror it.
    """
    p = ((p >> U(8)) & U(0x00FF00FF00FF00FF)) | ((p & U(0x00FF00FF00FF00FF)) << U(8))
    p = ((p >> U(16)) & U(0x0000FFFF0000FFFF)) | ((p & U(0x0000FFFF0000FFFF)) << U(16))
    p = (p >> U(32)) | (p << U(32))
    swap = (p ^ (p >> U(7))) & U(0x00AA00AA00AA00AA)
    p ^= swap ^ (swap << U(7))
    swap = (p ^ (p >> U(14))) & U(0x0000CCCC0000CCCC)
    p ^= swap ^ (swap << U(14))
    swap = (p ^ (p >> U(28))) & U(0x00000000F0F0F0F0)
    return p ^ swap ^ (swap << U(28))


@rule
def pattern_weight(mine: np.uint64, other: np.uint64, first: int, data: Any) -> int:
    """The weight of a pattern whose cells hold `mine` and `other`.

    Exchanging the colours changes only the sign, so only half of the weights are stored.
    """
    index: int = TERNARY[np.int64(mine)] - TERNARY[np.int64(other)]
    place = first + abs(index)
    weight: int = (data[place >> 3] << (56 - ((place & 7) << 3))) >> 56
    return weight if index >= 0 else -weight


@rule
def edge_cells(p: np.uint64) -> np.uint64:
    """The upper edge and the X cells below it."""
    return (p & U(0xFF)) | ((p >> U(1)) & U(0x100)) | ((p >> U(5)) & U(0x200))


@rule
def corner_cells(p: np.uint64) -> np.uint64:
    """The nine cells of the corner at a1."""
    return (p & U(7)) | ((p >> U(5)) & U(0x38)) | ((p >> U(10)) & U(0x1C0))


@rule
def diagonal_cells(p: np.uint64, mask: np.uint64, length: int) -> np.uint64:
    """The cells of a diagonal as adjacent bits, by column.

    A multiplication gathers them in the highest byte.
    """
    return ((p & mask) * COLUMN_A) >> U(64 - length)


@rule
def pattern_sum(mine: np.uint64, other: np.uint64, first: int, data: Any) -> int:
    """The sum of the pattern weights over the whole board; the weights begin at byte `first`."""
    total = 0
    for quarter in range(4):
        total += pattern_weight(edge_cells(mine), edge_cells(other), first + EDGE, data)
        total += pattern_weight(corner_cells(mine), corner_cells(other), first + CORNER, data)
        total += pattern_weight((mine >> U(8)) & ROW, (other >> U(8)) & ROW, first + ROW_2, data)
        total += pattern_weight((mine >> U(16)) & ROW, (other >> U(16)) & ROW, first + ROW_3, data)
        total += pattern_weight((mine >> U(24)) & ROW, (other >> U(24)) & ROW, first + ROW_4, data)
        if quarter < 2:
            total += pattern_weight(
                diagonal_cells(mine, DIAGONAL_8, 8),
                diagonal_cells(other, DIAGONAL_8, 8),
                first + LINE_8,
                data,
            )
        total += pattern_weight(
            diagonal_cells(mine, DIAGONAL_7, 7),
            diagonal_cells(other, DIAGONAL_7, 7),
            first + LINE_7,
            data,
        )
        total += pattern_weight(
            diagonal_cells(mine, DIAGONAL_6, 6),
            diagonal_cells(other, DIAGONAL_6, 6),
            first + LINE_6,
            data,
        )
        total += pattern_weight(
            diagonal_cells(mine, DIAGONAL_5, 5),
            diagonal_cells(other, DIAGONAL_5, 5),
            first + LINE_5,
            data,
        )
        total += pattern_weight(
            diagonal_cells(mine, DIAGONAL_4, 4),
            diagonal_cells(other, DIAGONAL_4, 4),
            first + LINE_4,
            data,
        )
        mine, other = rotated_90(mine), rotated_90(other)
    return total


@rule
def neighbours(p: np.uint64) -> np.uint64:
    """The cells next to those of `p`, together with those of `p`."""
    wide = p | ((p & ~COLUMN_H) << ONE) | ((p & ~COLUMN_A) >> ONE)
    return wide | (wide << U(8)) | (wide >> U(8))


@rule
def phase_of(empty: int) -> int:
    """The phase by the number of empty cells: 0 from 45, 1 from 35, 2 from 25, 3 from 15, or 4."""
    if empty >= 45:
        return 0
    return 4 if empty < 15 else (54 - empty) // 10


@rule
def evaluate(s: State, data: Any) -> int:
    """The expected final lead, in eighths of a disc."""
    mine, other = s[0], s[1]
    empty = ~(mine | other)
    empty_count = popcount(empty)
    phase = phase_of(empty_count)
    value: int = 8 * pattern_sum(mine, other, phase * PHASE_BYTES, data)
    extra = EXTRAS + 4 * phase
    value += data[extra]
    value += data[extra + 1] * (popcount(mobility(mine, other)) - popcount(mobility(other, mine)))
    value += data[extra + 2] * (
        popcount(neighbours(other) & empty) - popcount(neighbours(mine) & empty)
    )
    value += data[extra + 3] if empty_count & 1 else -data[extra + 3]
    return value >> 3


def turn(s: State) -> int:
    return int(s[2])


def parse_move(s: State, text: str) -> int:
    return PASS if text == "pass" else CELLS.index(text)


def format_move(s: State, m: int) -> str:
    return "pass" if m == PASS else CELLS[m]


def _sides(s: State) -> tuple[int, int]:
    """The black and the white discs."""
    mine, other = int(s[0]), int(s[1])
    return (other, mine) if s[2] else (mine, other)


def parse_position(text: str, options: Mapping[str, str]) -> State:
    if len(text) != 66 or set(text[:64]) - set("XO-") or text[64:] not in (" X", " O"):
        raise ValueError(
            "64 characters X (black), O (white) or -, row 1 first, a space and the side to move:"
            " X or O"
        )
    black, white = (
        sum(bit for cell, (_, bit) in zip(text, BITS, strict=False) if cell == symbol)
        for symbol in MARKS
    )
    if ~(black | white) & int(CENTRE):
        raise ValueError("the four cells in the middle are never empty")
    return (U(black), U(white), ZERO) if text[65] == "X" else (U(white), U(black), ONE)


def format_position(s: State) -> str:
    black, white = _sides(s)
    return (
        "".join(["X" if black & bit else "O" if white & bit else "-" for _, bit in BITS])
        + " "
        + MARKS[turn(s)]
    )


def ending(s: State) -> str:
    discs = int(s[0]) | int(s[1])
    return "the board is full" if discs.bit_count() == 64 else "neither side can move"


def points(s: State) -> tuple[int, int]:
    """The discs of both sides; the empty cells count for the winner, half for each in a draw
    (World Othello Federation, tournament rules).
    """
    black, white = (side.bit_count() for side in _sides(s))
    if black == white:
        return (32, 32)
    return (64 - white, white) if black > white else (black, 64 - black)


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=8, rows=8, origin="top-left", style="felt"),
        kinds={
            "X": Kind(name="black", side=0, text="X"),
            "O": Kind(name="white", side=1, text="O"),
        },
        seats=(SeatView(NAMES[0], "#23262b"), SeatView(NAMES[1], "#f2efe6")),
        targets={"pass": ()},
        counted="disc",
    )


def _cells(discs: int) -> tuple[str, ...]:
    return tuple([cell for cell, bit in BITS if discs & bit])


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    black, white = _sides(s)
    pieces = {cell: "X" if black & bit else "O" for cell, bit in BITS if (black | white) & bit}
    last_path = (format_move(*last),) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": last_path}
    side = turn(s)
    if count(s, ()) == 0:
        ours, theirs = points(s)
        result = f"{NAMES[ours < theirs]} wins" if ours != theirs else "Draw"
        empty = 64 - len(pieces)
        note = f", {empty} empty cell{'s' * (empty > 1)} included" if empty else ""
        text = f"{result}, {ours} to {theirs}{note}"
        return PositionView(pieces, None, text, marks, last_path)
    score = f"{black.bit_count()} to {white.bit_count()}"
    must_pass = mobility(s[0], s[1]) == ZERO
    text = f"{NAMES[side]} to {'pass' if must_pass else 'move'}, {score}"
    return PositionView(pieces, side, text, marks, last_path)


def move_view(s: State, m: int) -> MoveView:
    if m == PASS:
        return MoveView(id="pass", path=("pass",), text="pass")
    cell = CELLS[m]
    flipped = int(flips(m, s[0], s[1]))
    return MoveView(
        id=cell, path=(cell,), text=cell, affects=_cells(flipped), ghost=(cell, MARKS[turn(s)])
    )
