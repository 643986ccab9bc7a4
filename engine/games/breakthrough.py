"""Breakthrough: each side has two rows of men; the first man to reach the far side wins."""

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
CAN_BE_DRAWN = False  # every move goes forward, and the foremost man can always move
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
GOAL = "Bring one of your men to the far side of the board."
RULES = """White and Black have sixteen men each on the two rows nearest to them. White begins.

A man moves one square straight or diagonally forward, to an empty square. Diagonally forward it
may also capture a man of the other side by taking its place. Straight ahead it cannot capture:
any man in front blocks it. Capturing is never compulsory.

The first player to bring a man to the row at the far side of the board wins. A player who
captures all men of the other side wins as well. There are no draws: the man that is farthest
ahead can always move."""

ONE, NONE = U(1), U(0)
#: All squares but those of column a.
NOT_A = U(0xFEFEFEFEFEFEFEFE)
#: All squares but those of column h.
NOT_H = U(0x7F7F7F7F7F7F7F7F)
ROW_1, ROW_2, ROW_7, ROW_8 = U(0xFF), U(0xFF << 8), U(0xFF << 48), U(0xFF << 56)
# Offsets of the weights in data/breakthrough.txt. Each weight multiplies the difference between a
# count of White's men and the same count of Black's.
#: A man, by its row from its own side and its columns to the nearer edge: 7 rows of 4 weights.
MAN = 0
#: A guarded man, by its row from its own side: 7 weights.
GUARDED = 28
#: Two men side by side; two men one behind the other; a man with any man straight ahead.
PAIR, FILE, BLOCKED = 35, 36, 37
#: A likely win of the race between men that can no longer be stopped.
RUNNER = 38
#: Having the move.
TEMPO = 39
#: LOOSE: men that are attacked and not guarded; WEAK: men that are attacked twice and guarded once.
#: The first weight of each is for the side that has just moved, the next for the side to move.
LOOSE, WEAK = 40, 42
#: The value of a certainly won race, before `race_value` subtracts the moves to the goal.
WON_RACE = 15_000
#: The distance of a side without a runner: more rows than any runner has to go.
NO_RUNNER = 99

#: The name of each square, by bit.
SQUARES = tuple(f"{column}{row}" for row in "12345678" for column in "abcdefgh")
#: The name and the mask of each square.
BITS = tuple((square, 1 << bit) for bit, square in enumerate(SQUARES))
#: For White, the squares that each weight from MAN on applies to.
WHITE_SQUARES = np.array(
    [(1 << c | 128 >> c) << 8 * row for row in range(7) for c in range(4)], np.uint64
)
#: The same for Black.
BLACK_SQUARES = np.array(
    [(1 << c | 128 >> c) << 8 * (7 - row) for row in range(7) for c in range(4)], np.uint64
)
#: The bits of each row of a position text, row 8 first.
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
def add_moves(targets: np.uint64, step: int, side: int, buf: Any, n: int) -> int:
    """Writes the moves to `targets`, the farthest ahead first, and returns the new number of moves.

    Each move starts `step` bits before its target.
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
    n = add_moves(left & other, steps[1], side, buf, 0)
    n = add_moves(right & other, steps[2], side, buf, n)
    n = add_moves(ahead & empty, steps[0], side, buf, n)
    n = add_moves(left & empty, steps[1], side, buf, n)
    return add_moves(right & empty, steps[2], side, buf, n)


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
def reachable_down(p: np.uint64) -> np.uint64:
    """The squares of `p` and all that men on them can ever reach, moving down the board."""
    for _ in range(7):
        p |= (p >> U(8)) | ((p & NOT_A) >> U(9)) | ((p & NOT_H) >> U(7))
    return p


@rule
def reachable_up(p: np.uint64) -> np.uint64:
    """The squares of `p` and all that men on them can ever reach, moving up the board."""
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
def attacks_up(p: np.uint64) -> np.uint64:
    """The squares that White's men on `p` guard or attack."""
    return above_left(p) | above_right(p)


@rule
def attacks_down(p: np.uint64) -> np.uint64:
    return below_left(p) | below_right(p)


@rule
def race_value(s: State) -> int:
    """The value of the race between men that can no longer be stopped, positive if White wins it.

    Its absolute value is WON_RACE minus the moves to the goal if the result is certain, and 1 if it
    is only likely. It is 0 if neither side has such a man.
    """
    white, black = s[0] & ~reachable_down(s[1]), s[1] & ~reachable_up(s[0])
    if white == NONE and black == NONE:
        return 0
    white_runner = 7 - (msb(white) >> 3) if white else NO_RUNNER
    black_runner = lsb(black) >> 3 if black else NO_RUNNER
    # The distance of the most advanced man of each side, if nothing stops it.
    white_distance, black_distance = 7 - (msb(s[0]) >> 3), lsb(s[1]) >> 3
    white_moves = 1 if s[2] == NONE else 0
    if white_runner < black_distance + white_moves:
        return WON_RACE - white_runner
    if black_runner < white_distance + 1 - white_moves:
        return black_runner - WON_RACE
    return 1 if white_runner < black_runner + white_moves else -1


@rule
def structure_value(white: np.uint64, black: np.uint64, data: Any) -> int:
    """The value of White's men minus that of Black's, by square and by neighbours."""
    total = 0
    for i in range(28):
        total += data[MAN + i] * (
            popcount(white & WHITE_SQUARES[i]) - popcount(black & BLACK_SQUARES[i])
        )
    white_guarded = white & attacks_up(white)
    black_guarded = black & attacks_down(black)
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
def count_loose(
    men: np.uint64,
    attacks_1: np.uint64,
    attacks_2: np.uint64,
    guards_1: np.uint64,
    guards_2: np.uint64,
) -> int:
    """The number of men that are attacked and not guarded."""
    return popcount(men & (attacks_1 | attacks_2) & ~(guards_1 | guards_2))


@rule
def count_weak(
    men: np.uint64,
    attacks_1: np.uint64,
    attacks_2: np.uint64,
    guards_1: np.uint64,
    guards_2: np.uint64,
) -> int:
    """The number of men that are attacked twice and guarded once."""
    return popcount(men & attacks_1 & attacks_2 & (guards_1 ^ guards_2))


@rule
def evaluate(s: State, data: Any) -> int:
    if s[0] == NONE or s[1] == NONE:
        return 0
    race = race_value(s)
    if race > 1 or race < -1:
        return race if s[2] == NONE else -race
    white, black = s[0], s[1]
    total = structure_value(white, black, data) + data[RUNNER] * race
    up_1, up_2 = above_left(white), above_right(white)
    down_1, down_2 = below_left(black), below_right(black)
    white_loose = count_loose(white, down_1, down_2, up_1, up_2)
    white_weak = count_weak(white, down_1, down_2, up_1, up_2)
    black_loose = count_loose(black, up_1, up_2, down_1, down_2)
    black_weak = count_weak(black, up_1, up_2, down_1, down_2)
    if s[2] == NONE:
        total += data[LOOSE] * black_loose + data[WEAK] * black_weak + data[TEMPO]
        return int(total + data[LOOSE + 1] * white_loose + data[WEAK + 1] * white_weak)
    total -= data[LOOSE] * white_loose + data[WEAK] * white_weak + data[TEMPO]
    return int(-(total - data[LOOSE + 1] * black_loose - data[WEAK + 1] * black_weak))


# --- hooks for the search


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the captures and the steps to the goal row."""
    if s[2] == NONE:
        goals = ROW_8 & ~s[0]
        n = add_moves(above_left(s[0]) & (s[1] | goals), 7, 0, buf, 0)
        n = add_moves(above_right(s[0]) & (s[1] | goals), 9, 0, buf, n)
        return add_moves((s[0] << U(8)) & goals & ~s[1], 8, 0, buf, n)
    goals = ROW_1 & ~s[1]
    n = add_moves(below_left(s[1]) & (s[0] | goals), -9, 1, buf, 0)
    n = add_moves(below_right(s[1]) & (s[0] | goals), -7, 1, buf, n)
    return add_moves((s[1] >> U(8)) & goals & ~s[0], -8, 1, buf, n)


@rule
def unstable(s: State) -> int:
    """1 if a man of the other side is one step from its goal and must be captured, else 0."""
    return int((s[1] & ROW_2 if s[2] == NONE else s[0] & ROW_7) != NONE)


@rule
def evasions(s: State, buf: Any) -> int:
    """Writes the captures of a man that is one step from its goal; none if a step wins at once."""
    if s[2] == NONE:
        winning_men, threats = s[0] & ROW_7, s[1] & ROW_2
        if winning_men:
            return 0
        n = add_moves(above_left(s[0]) & threats, 7, 0, buf, 0)
        return add_moves(above_right(s[0]) & threats, 9, 0, buf, n)
    winning_men, threats = s[1] & ROW_2, s[0] & ROW_7
    if winning_men:
        return 0
    n = add_moves(below_left(s[1]) & threats, -9, 1, buf, 0)
    return add_moves(below_right(s[1]) & threats, -7, 1, buf, n)


@rule
def rank(s: State, m: int) -> int:
    """Ranks wins first, then captures of advanced men; moves that lose a man come last."""
    start, to = m & 63, m >> 6
    target = ONE << U(to)
    is_white = s[2] == NONE
    if target & (ROW_1 | ROW_8):
        return 1000
    mine, other = (s[0], s[1]) if is_white else (s[1], s[0])
    rows_behind = to >> 3 if is_white else 7 - (to >> 3)
    if other & target:
        return 20 + 10 * (7 - rows_behind) - rows_behind
    remaining = mine & ~(ONE << U(start))
    is_guarded = (attacks_up(remaining) if is_white else attacks_down(remaining)) & target
    is_attacked = (attacks_down(other) if is_white else attacks_up(other)) & target
    return -1 if is_attacked and not is_guarded else 0


@rule
def may_pass(s: State) -> int:
    """1 if each side has more than five men, else 0: with fewer men zugzwang is possible."""
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
        counted="piece",
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    white, black = int(s[0]), int(s[1])
    pieces = {square: "W" if white & bit else "B" for square, bit in BITS if (white | black) & bit}
    path: tuple[str, ...] = (SQUARES[last[1] & 63], SQUARES[last[1] >> 6]) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": path}
    side = turn(s)
    if status(s) == LOST:
        goal_row = (int(ROW_1), int(ROW_8))[side]
        marks["win"] = tuple(
            square for square, bit in BITS if (white, black)[1 - side] & goal_row & bit
        )
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, path)


def move_view(s: State, m: int) -> MoveView:
    start, to = SQUARES[m & 63], SQUARES[m >> 6]
    taken = (to,) if int(s[1 - turn(s)]) >> (m >> 6) & 1 else ()
    text = f"{start}x{to}" if taken else f"{start}-{to}"
    return MoveView(
        id=start + to, path=(start, to), text=text, affects=taken, ghost=(to, "WB"[turn(s)])
    )
