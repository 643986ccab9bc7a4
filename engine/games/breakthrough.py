"""Breakthrough: two rows of men each; the first man to reach the far side wins."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, lsb, msb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "breakthrough"
TITLE = "Breakthrough"
#: White's men, Black's men, the side to move (0 White, 1 Black); bit = column + 8 * row.
WORDS = 3
MAX_MOVES = 48  # 16 men, 3 ways each
LEVELS = 8
LEVEL_TABLE = (
    (1, 17, 270),
    (2, 92, 800),
    (180, 15, 520),
    (1_000, 8, 300),
    (3_000, 4, 195),
    (8_500, 1, 108),
    (18_500, 0, 63),
)
OPTIONS: Mapping[str, Option] = {}
MARGIN = 120
DISABLED = ("null-move", "replies")  # see docs/reference/ablations.md
DATA = ("data/breakthrough.txt",)
RULES = """White and Black have sixteen men each on the two rows nearest to them. White begins.

A man moves one square straight or diagonally forward, to an empty square. Diagonally forward it
may also capture a man of the other side by taking its place. Straight ahead it cannot capture:
any man in front blocks it. Capturing is never compulsory.

The first player to bring a man to the row at the far side of the board wins. A player who
captures all men of the other side wins as well. There are no draws: the man that is farthest
ahead can always move."""

ONE, NONE = U(1), U(0)
NOT_A = U(0xFEFEFEFEFEFEFEFE)
NOT_H = U(0x7F7F7F7F7F7F7F7F)
ROW_1, ROW_2, ROW_7, ROW_8 = U(0xFF), U(0xFF << 8), U(0xFF << 48), U(0xFF << 56)
# Offsets of the weights in data/breakthrough.txt. Each multiplies a count of White's men less the
# same count of Black's.
#: A man, by the rows behind it and the columns to the nearer side: 7 rows of 4 weights.
PLACE = 0
#: A man that another man guards, by the rows behind it: 7 weights.
GUARDED = 28
#: Two men side by side, two men one behind the other, and a man with any man straight ahead.
PAIR, FILE, BLOCKED = 35, 36, 37
#: Likely winning the race of the men that can no longer be stopped.
RUNNER = 38
#: Having the move.
TEMPO = 39
#: Men that are attacked and not guarded, and men that are attacked twice and guarded once: each for
#: the side that has just moved, then for the side to move.
LOOSE, WEAK = 40, 42
#: The value of a race that is certainly won, before its plies are subtracted.
SURE = 15_000
#: Rows to go for a side without a runner: more than any runner has.
NEVER = 99

SQUARES = tuple(f"{column}{row}" for row in "12345678" for column in "abcdefgh")
BITS = tuple((square, 1 << bit) for bit, square in enumerate(SQUARES))
#: The squares of each place for White.
PLACES = np.array([(1 << c | 128 >> c) << 8 * row for row in range(7) for c in range(4)], np.uint64)
#: The squares of each place for Black.
FAR_PLACES = np.array(
    [(1 << c | 128 >> c) << 8 * (7 - row) for row in range(7) for c in range(4)], np.uint64
)
TEXT_ROWS = tuple(tuple(range(8 * row, 8 * row + 8)) for row in reversed(range(8)))
POSITION_TEXT = re.compile(r"([WB.]{8}(?:/[WB.]{8}){7}) (white|black)")
MOVE_TEXT = re.compile(r"([a-h][1-8])([a-h][1-8])")
NAMES = ("White", "Black")


def init(options: Mapping[str, str]) -> State:
    return (U(0xFFFF), U(0xFFFF << 48), NONE)


@rule
def status(s: State) -> int:
    if s[2] == NONE:
        return LOST if s[1] & ROW_1 or s[0] == NONE else ONGOING
    return LOST if s[0] & ROW_8 or s[1] == NONE else ONGOING


@rule
def write(targets: np.uint64, step: int, side: int, buf: Any, n: int) -> int:
    """Writes the moves to `targets`, the farthest ahead first, each from `step` bits before.

    Returns the new number of moves in the buffer.
    """
    while targets:
        to = msb(targets) if side == 0 else lsb(targets)
        targets ^= ONE << U(to)
        buf[n] = (to - step) | (to << 6)
        n += 1
    return n


@rule
def moves(s: State, buf: Any) -> int:
    if s[2] == NONE:
        side, ahead, left, right = 0, s[0] << U(8), (s[0] & NOT_A) << U(7), (s[0] & NOT_H) << U(9)
        mine, other = s[0], s[1]
        steps = (8, 7, 9)
    else:
        side, ahead, left, right = 1, s[1] >> U(8), (s[1] & NOT_A) >> U(9), (s[1] & NOT_H) >> U(7)
        mine, other = s[1], s[0]
        steps = (-8, -9, -7)
    empty = ~(mine | other)
    n = write(left & other, steps[1], side, buf, 0)
    n = write(right & other, steps[2], side, buf, n)
    n = write(ahead & empty, steps[0], side, buf, n)
    n = write(left & empty, steps[1], side, buf, n)
    return write(right & empty, steps[2], side, buf, n)


@rule
def play(s: State, m: int) -> State:
    start, to = ONE << U(m & 63), ONE << U(m >> 6)
    if s[2] == NONE:
        return (s[0] ^ (start | to), s[1] & ~to, ONE)
    return (s[0] & ~to, s[1] ^ (start | to), NONE)


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    k = (s[0] ^ (s[0] >> U(29))) * U(0xBF58476D1CE4E5B9)
    k = (k ^ (k >> U(32)) ^ s[1]) * U(0x94D049BB133111EB)
    k = (k ^ (k >> U(31)) ^ s[2]) * U(0x9E3779B97F4A7C15)
    return k ^ (k >> U(32)) | ONE


@rule
def below(p: np.uint64) -> np.uint64:
    """The squares that men on `p` can ever reach by moving down the board, with their own."""
    for _ in range(7):
        p |= (p >> U(8)) | ((p & NOT_A) >> U(9)) | ((p & NOT_H) >> U(7))
    return p


@rule
def above(p: np.uint64) -> np.uint64:
    """The squares that men on `p` can ever reach by moving up the board, with their own."""
    for _ in range(7):
        p |= (p << U(8)) | ((p & NOT_A) << U(7)) | ((p & NOT_H) << U(9))
    return p


@rule
def above_left(p: np.uint64) -> np.uint64:
    """The squares diagonally ahead of `p`, up the board and towards column a."""
    return (p & NOT_A) << U(7)


@rule
def above_right(p: np.uint64) -> np.uint64:
    return (p & NOT_H) << U(9)


@rule
def below_left(p: np.uint64) -> np.uint64:
    return (p & NOT_A) >> U(9)


@rule
def below_right(p: np.uint64) -> np.uint64:
    return (p & NOT_H) >> U(7)


@rule
def hits_up(p: np.uint64) -> np.uint64:
    """The squares that White's men on `p` guard or attack."""
    return above_left(p) | above_right(p)


@rule
def hits_down(p: np.uint64) -> np.uint64:
    return below_left(p) | below_right(p)


@rule
def race(s: State) -> int:
    """Who wins the race of the men that can no longer be stopped, positive for White.

    SURE less the moves to the goal when the result is certain, 1 when it is only likely, 0 when
    neither side has such a man.
    """
    white, black = s[0] & ~below(s[1]), s[1] & ~above(s[0])
    if white == NONE and black == NONE:
        return 0
    white_run = 7 - (msb(white) >> 3) if white else NEVER
    black_run = lsb(black) >> 3 if black else NEVER
    # The rows that the foremost man of each side has to go, if nothing stops it.
    white_first, black_first = 7 - (msb(s[0]) >> 3), lsb(s[1]) >> 3
    white_moves = 1 if s[2] == NONE else 0
    if white_run < black_first + white_moves:
        return SURE - white_run
    if black_run < white_first + 1 - white_moves:
        return black_run - SURE
    return 1 if white_run < black_run + white_moves else -1


@rule
def shape(white: np.uint64, black: np.uint64, data: Any) -> int:
    """The value of White's men less that of Black's, by place and by their neighbours."""
    total = 0
    for i in range(28):
        total += data[PLACE + i] * (popcount(white & PLACES[i]) - popcount(black & FAR_PLACES[i]))
    white_guarded = white & hits_up(white)
    black_guarded = black & hits_down(black)
    for row in range(1, 7):
        guarded = popcount(white_guarded & (ROW_1 << U(8 * row))) - popcount(
            black_guarded & (ROW_8 >> U(8 * row))
        )
        total += data[GUARDED + row] * guarded
    total += data[PAIR] * (
        popcount(white & NOT_H & (white >> ONE)) - popcount(black & NOT_H & (black >> ONE))
    )
    total += data[FILE] * (popcount(white & (white << U(8))) - popcount(black & (black << U(8))))
    men = white | black
    return int(
        total + data[BLOCKED] * (popcount(white & (men >> U(8))) - popcount(black & (men << U(8))))
    )


@rule
def loose(
    men: np.uint64, hit_1: np.uint64, hit_2: np.uint64, guard_1: np.uint64, guard_2: np.uint64
) -> int:
    """The number of men that are attacked and not guarded."""
    return popcount(men & (hit_1 | hit_2) & ~(guard_1 | guard_2))


@rule
def weak(
    men: np.uint64, hit_1: np.uint64, hit_2: np.uint64, guard_1: np.uint64, guard_2: np.uint64
) -> int:
    """The number of men that are attacked twice and guarded once."""
    return popcount(men & hit_1 & hit_2 & (guard_1 ^ guard_2))


@rule
def evaluate(s: State, data: Any) -> int:
    if s[0] == NONE or s[1] == NONE:
        return 0
    run = race(s)
    if run > 1 or run < -1:
        return run if s[2] == NONE else -run
    white, black = s[0], s[1]
    total = shape(white, black, data) + data[RUNNER] * run
    up_1, up_2 = above_left(white), above_right(white)
    down_1, down_2 = below_left(black), below_right(black)
    white_loose = loose(white, down_1, down_2, up_1, up_2)
    white_weak = weak(white, down_1, down_2, up_1, up_2)
    black_loose = loose(black, up_1, up_2, down_1, down_2)
    black_weak = weak(black, up_1, up_2, down_1, down_2)
    if s[2] == NONE:
        total += data[LOOSE] * black_loose + data[WEAK] * black_weak + data[TEMPO]
        return int(total + data[LOOSE + 1] * white_loose + data[WEAK + 1] * white_weak)
    total -= data[LOOSE] * white_loose + data[WEAK] * white_weak + data[TEMPO]
    return int(-(total - data[LOOSE + 1] * black_loose - data[WEAK + 1] * black_weak))


# --- hooks for the search


@rule
def tactical(s: State, buf: Any) -> int:
    """Captures and steps to the goal row."""
    if s[2] == NONE:
        goals = ROW_8 & ~s[0]
        n = write(above_left(s[0]) & (s[1] | goals), 7, 0, buf, 0)
        n = write(above_right(s[0]) & (s[1] | goals), 9, 0, buf, n)
        return write((s[0] << U(8)) & goals & ~s[1], 8, 0, buf, n)
    goals = ROW_1 & ~s[1]
    n = write(below_left(s[1]) & (s[0] | goals), -9, 1, buf, 0)
    n = write(below_right(s[1]) & (s[0] | goals), -7, 1, buf, n)
    return write((s[1] >> U(8)) & goals & ~s[0], -8, 1, buf, n)


@rule
def unstable(s: State) -> int:
    """1 when a man of the other side is one step from its goal and has to be captured."""
    return int((s[1] & ROW_2 if s[2] == NONE else s[0] & ROW_7) != NONE)


@rule
def evasions(s: State, buf: Any) -> int:
    """The captures of the man that is one step from its goal; 0 moves where a step wins at once."""
    if s[2] == NONE:
        last, near = s[0] & ROW_7, s[1] & ROW_2
        if last:
            return 0
        n = write(above_left(s[0]) & near, 7, 0, buf, 0)
        return write(above_right(s[0]) & near, 9, 0, buf, n)
    last, near = s[1] & ROW_2, s[0] & ROW_7
    if last:
        return 0
    n = write(below_left(s[1]) & near, -9, 1, buf, 0)
    return write(below_right(s[1]) & near, -7, 1, buf, n)


@rule
def rank(s: State, m: int) -> int:
    """Wins first, then captures, of the farthest man first; a step that loses a man comes last."""
    start, to = m & 63, m >> 6
    target = ONE << U(to)
    is_white = s[2] == NONE
    if target & (ROW_1 | ROW_8):
        return 1000
    mine, other = (s[0], s[1]) if is_white else (s[1], s[0])
    behind = to >> 3 if is_white else 7 - (to >> 3)
    if other & target:
        return 20 + 10 * (7 - behind) - behind
    left = mine & ~(ONE << U(start))
    guarded = (hits_up(left) if is_white else hits_down(left)) & target
    hit = (hits_down(other) if is_white else hits_up(other)) & target
    return -1 if hit and not guarded else 0


@rule
def may_pass(s: State) -> int:
    """1 while each side has more than five men: with fewer, zugzwang becomes possible."""
    return int(popcount(s[0]) > 5 and popcount(s[1]) > 5)


@rule
def pass_turn(s: State) -> State:
    return (s[0], s[1], s[2] ^ ONE)


def turn(s: State) -> int:
    return int(s[2])


def parse_move(s: State, text: str) -> int:
    match = MOVE_TEXT.fullmatch(text)
    if not match:
        raise ValueError("two squares are expected: a2a3")
    return SQUARES.index(match[1]) | SQUARES.index(match[2]) << 6


def format_move(s: State, m: int) -> str:
    return SQUARES[m & 63] + SQUARES[m >> 6]


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "eight rows of W, B or ., row 8 first, / between them,"
            " and the side to move are expected"
        )
    cells = match[1].replace("/", "")
    bits = [1 << bit for row in TEXT_ROWS for bit in row]
    white, black = (
        sum(bit for c, bit in zip(cells, bits, strict=True) if c == man) for man in "WB"
    )
    side = NAMES.index(match[2].capitalize())
    if max(white.bit_count(), black.bit_count()) > 16:
        raise ValueError("a side has at most sixteen men")
    if (black == 0 or white & int(ROW_8)) if side == 0 else (white == 0 or black & int(ROW_1)):
        raise ValueError("the side to move has won already")
    if white | black == 0 or (white & int(ROW_8) and black & int(ROW_1)):
        raise ValueError("only one side can have won")
    return (U(white), U(black), U(side))


def format_position(s: State) -> str:
    white, black = int(s[0]), int(s[1])
    rows = [
        "".join("W" if white >> bit & 1 else "B" if black >> bit & 1 else "." for bit in row)
        for row in TEXT_ROWS
    ]
    return f"{'/'.join(rows)} {NAMES[turn(s)].lower()}"


def ending(s: State) -> str:
    return "all men are captured" if s[turn(s)] == NONE else "a man has broken through"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=8, rows=8, style="checker", flips=True),
        kinds={
            "W": Kind(name="white man", side=0, text="W"),
            "B": Kind(name="black man", side=1, text="B"),
        },
        seats=(SeatView("White", "#f3efe4"), SeatView("Black", "#33302d")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    white, black = int(s[0]), int(s[1])
    pieces = {square: "W" if white & bit else "B" for square, bit in BITS if (white | black) & bit}
    path: tuple[str, ...] = (SQUARES[last[1] & 63], SQUARES[last[1] >> 6]) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": path}
    side = turn(s)
    if status(s) == LOST:
        far = (int(ROW_1), int(ROW_8))[side]
        marks["win"] = tuple(square for square, bit in BITS if (white, black)[1 - side] & far & bit)
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, path)


def move_view(s: State, m: int) -> MoveView:
    start, to = SQUARES[m & 63], SQUARES[m >> 6]
    taken = (to,) if int(s[1 - turn(s)]) >> (m >> 6) & 1 else ()
    text = f"{start}x{to}" if taken else f"{start}-{to}"
    return MoveView(
        id=start + to, path=(start, to), text=text, affects=taken, ghost=(to, "WB"[turn(s)])
    )
