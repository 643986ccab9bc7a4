"""Nine men's morris: place nine men each, then slide them; three in a line capture a man."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "nine-mens-morris"
TITLE = "Nine men's morris"
#: The men of the side to move, then those of the other side. The last word holds from bit 0 the
#: men in hand of the side to move, from bit 4 those of the other side, in bit 8 the side to move,
#: in bit 9 whether flying is forbidden, from bit 16 the plies since the last placing or capture.
WORDS = 3
MAX_MOVES = 288  # an upper bound: 32 steps along the lines, each with up to 9 victims
LEVELS = 8
LEVEL_TABLE = (
    (1, 40, 360),
    (30, 40, 680),
    (200, 20, 420),
    (1_000, 10, 260),
    (4_500, 5, 140),
    (15_000, 2, 75),
    (45_000, 1, 30),
)
OPTIONS: Mapping[str, Option] = {
    "flying": Option(
        "With three men left, fly to any point",
        "yes",
        ("yes", "no"),
        phrases={"yes": "With flying", "no": "Without flying"},
    )
}
DATA = ("data/nine_mens_morris.txt",)
DISABLED = ("killers", "quiet-table")  # see docs/reference/ablations.md
MARGIN = 40
REPETITION = 3
GOAL = "Make rows of three to take men, until the other side has two left."
RULES = """The board has 24 points on three squares that lie inside each other, joined by four
lines. White and Black have nine men each. White begins.

First the men are placed, one a turn, on any empty point. When all are on the board, a turn is to
slide one of your men along a line to the next point, if that is empty. A side that has only
three men left may fly instead: its men go to any empty point (unless the match is played without
flying).

Three of your men in a row along a line are a mill. Whenever you close one, by placing or by
moving, you take a man of the other side off the board for good. You may not take a man out of a
mill, unless all men of that side are in mills. A man that leaves a mill can come back and close
it again. Two mills closed at once still take one man.

A side that has fewer than three men left, on the board and in hand, loses; so does a side that
cannot move. The match is a draw when the same position occurs for the third time, or when both
sides have made fifty moves each after the placing without a mill."""

ONE, NONE = U(1), U(0)
#: All points.
FULL = U(0xFFFFFF)
#: The mask of a side's men in hand.
HAND = U(15)
#: The bits of the last word for Black to move and for a match without flying.
SECOND, NO_FLYING = U(1 << 8), U(1 << 9)
#: Plies without a mill after which the match is drawn.
DRAW_PLIES = 100
#: The key includes the count of plies without a mill above this number. With fewer plies, a search
#: seldom reaches the draw.
COUNTED_PLIES = 60
#: In a move, the start of a man that is placed, or the victim if no mill is closed.
NO_POINT = 24

#: The name of each point, by bit.
POINTS = (
    *("a7", "d7", "g7", "b6", "d6", "f6", "c5", "d5", "e5", "a4", "b4", "c4"),
    *("e4", "f4", "g4", "c3", "d3", "e3", "b2", "d2", "f2", "a1", "d1", "g1"),
)
#: The horizontal lines of three points.
ROWS = tuple(tuple(range(first, first + 3)) for first in range(0, 24, 3))
#: The vertical lines of three points.
COLUMNS = (
    (0, 9, 21), (3, 10, 18), (6, 11, 15), (1, 4, 7),
    (16, 19, 22), (8, 12, 17), (5, 13, 20), (2, 14, 23),
)  # fmt: skip
#: All lines, as sets of points.
LINES = tuple(U(sum(1 << point for point in line)) for line in ROWS + COLUMNS)


def _neighbours(point: int) -> int:
    """The bitboard of the points one step away."""
    places = [(line, line.index(point)) for line in ROWS + COLUMNS if point in line]
    return sum(
        1 << line[i] for line, middle in places for i in (middle - 1, middle + 1) if 0 <= i < 3
    )


#: The points one step away from each point.
NEIGHBOURS = np.array([_neighbours(point) for point in range(24)], np.uint64)

#: Offsets of the weights in DATA, which has PHASE weights for the placing and PHASE for the time
#: after it. MEN: having 0 to 9 men. OPEN_MINE, OPEN_THEIRS: an empty point that would close a mill
#: of the side to move, or of the other side. MILL: a mill. STEP: a free step. BLOCKED: a man that
#: cannot step. CROSS: a man where four lines meet. TEMPO: having the move.
MEN, OPEN_MINE, OPEN_THEIRS, MILL, STEP = 0, 10, 11, 12, 13
BLOCKED, CROSS, TEMPO, PHASE = 14, 15, 16, 17
#: The points where four lines meet.
CROSSES = U(sum(1 << point for point in (4, 10, 13, 19)))

POSITION_TEXT = re.compile(
    r"([WB.]{3}(?:/[WB.]{3}){7}) (white|black) ([0-9])-([0-9]) ([0-9]{1,3}) (flying|no-flying)"
)
MOVE_TEXT = re.compile(r"(?:([a-g][1-7])-)?([a-g][1-7])(?:x([a-g][1-7]))?")
NAMES = ("White", "Black")


def init(options: Mapping[str, str]) -> State:
    return (NONE, NONE, U(9 | 9 << 4) | (NONE if options["flying"] == "yes" else NO_FLYING))


@rule
def status(s: State) -> int:
    return LOST if popcount(s[0]) + np.int64(s[2] & HAND) < 3 else ONGOING


@rule
def mill_points(men: np.uint64) -> np.uint64:
    """The points where one more man would make a mill, empty or not."""
    points: np.uint64 = NONE
    for line in LINES:
        missing = line & ~men
        if popcount(missing) == 1:
            points |= missing
    return points


@rule
def capturable(men: np.uint64) -> np.uint64:
    """The men that may be captured: those outside mills, or all when every man is in a mill."""
    free = men
    for line in LINES:
        if men & line == line:
            free &= ~line
    return free if free else men


@rule
def targets_of(s: State, point: int) -> np.uint64:
    """The points that a man of the side to move may go to."""
    empty: np.uint64 = FULL & ~(s[0] | s[1])
    if popcount(s[0]) == 3 and s[2] & NO_FLYING == NONE:
        return empty
    return empty & U(NEIGHBOURS[point])


@rule
def add_moves(start: int, targets: np.uint64, victims: np.uint64, buf: Any, n: int) -> int:
    """Writes the moves from a point to `targets`, one for each man of `victims`.

    An empty `victims` means that the moves close no mill.
    """
    while targets:
        move = lsb(targets) | (start << 5)
        targets &= targets - ONE
        if victims == NONE:
            buf[n] = move | (NO_POINT << 10)
            n += 1
        remaining = victims
        while remaining:
            buf[n] = move | (lsb(remaining) << 10)
            remaining &= remaining - ONE
            n += 1
    return n


@rule
def moves(s: State, buf: Any) -> int:
    if s[2] & HAND:
        empty = FULL & ~(s[0] | s[1])
        mills = mill_points(s[0]) & empty
        n = add_moves(NO_POINT, mills, capturable(s[1]), buf, 0)
        return add_moves(NO_POINT, empty & ~mills, NONE, buf, n)
    n = 0
    for is_capture in (1, 0):  # captures first
        men = s[0]
        while men:
            start = lsb(men)
            men &= men - ONE
            targets = targets_of(s, start)
            mills = mill_points(s[0] ^ (ONE << U(start))) & targets
            if is_capture:
                n = add_moves(start, mills, capturable(s[1]), buf, n)
            else:
                n = add_moves(start, targets & ~mills, NONE, buf, n)
    return n


@rule
def play(s: State, m: int) -> State:
    start, victim = (m >> 5) & 31, m >> 10
    mine, other = s[0] | (ONE << U(m & 31)), s[1]
    hand, other_hand, count = s[2] & HAND, (s[2] >> U(4)) & HAND, (s[2] >> U(16)) + ONE
    if start == NO_POINT:
        hand -= ONE
        count = NONE
    else:
        mine ^= ONE << U(start)
    if victim != NO_POINT:
        other ^= ONE << U(victim)
        count = NONE
    flags = (s[2] & (SECOND | NO_FLYING)) ^ SECOND
    return (other, mine, other_hand | (hand << U(4)) | flags | (count << U(16)))


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def drawn(s: State) -> int:
    if s[2] >> U(16) < U(DRAW_PLIES):
        return 0
    men = s[0]
    while men:  # a side that cannot move has lost, even if DRAW_PLIES is reached
        if targets_of(s, lsb(men)):
            return 1
        men &= men - ONE
    return 0


@rule
def repetition(s: State) -> np.uint64:
    """The state without the count of plies.

    One hand suffices: White places first, so the other hand follows from it.
    """
    return (
        (ONE << U(63))
        | s[0]
        | (s[1] << U(24))
        | ((s[2] & HAND) << U(48))
        | ((s[2] & (SECOND | NO_FLYING)) << U(44))
    )


@rule
def reversible(s: State) -> int:
    return int(np.int64(s[2] >> U(16)))


@rule
def key(s: State) -> np.uint64:
    count = s[2] >> U(16)
    counted = count - U(COUNTED_PLIES) if count > U(COUNTED_PLIES) else NONE
    return repetition(s) | (counted << U(54))


@rule
def men_value(men: np.uint64, other: np.uint64, hand: int, first: int, data: Any) -> int:
    """The value of a side's men, without the mills that it could close."""
    empty = FULL & ~(men | other)
    total: int = data[first + MEN + popcount(men) + hand] + data[first + CROSS] * popcount(
        men & CROSSES
    )
    for line in LINES:
        if men & line == line:
            total += data[first + MILL]
    remaining = men
    while remaining:
        free_steps = popcount(NEIGHBOURS[lsb(remaining)] & empty)
        total += data[first + STEP] * free_steps if free_steps else data[first + BLOCKED]
        remaining &= remaining - ONE
    return total


@rule
def evaluate(s: State, data: Any) -> int:
    hand, other_hand = int(np.int64(s[2] & HAND)), int(np.int64((s[2] >> U(4)) & HAND))
    first = 0 if hand | other_hand else PHASE
    empty = FULL & ~(s[0] | s[1])
    total: int = men_value(s[0], s[1], hand, first, data) - men_value(
        s[1], s[0], other_hand, first, data
    )
    total += data[first + OPEN_MINE] * popcount(mill_points(s[0]) & empty) + data[first + TEMPO]
    total -= data[first + OPEN_THEIRS] * popcount(mill_points(s[1]) & empty)
    return total


# --- hooks for the search


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the moves that close a mill and so capture."""
    if s[2] & HAND:
        return add_moves(
            NO_POINT, mill_points(s[0]) & FULL & ~(s[0] | s[1]), capturable(s[1]), buf, 0
        )
    n = 0
    men = s[0]
    while men:
        start = lsb(men)
        men &= men - ONE
        mills = mill_points(s[0] ^ (ONE << U(start))) & targets_of(s, start)
        n = add_moves(start, mills, capturable(s[1]), buf, n)
    return n


@rule
def rank(s: State, m: int) -> int:
    """Ranks captures first, above all of men about to close a mill; then moves that block one."""
    victim, to = m >> 10, m & 31
    if victim != NO_POINT:
        remaining = s[1] ^ (ONE << U(victim))
        return 100 - popcount(mill_points(remaining) & ~s[0])
    return 10 if mill_points(s[1]) & (ONE << U(to)) else 0


def turn(s: State) -> int:
    return int(s[2]) >> 8 & 1


def _parts(m: int) -> tuple[str | None, str, str | None]:
    """The start, the target and the victim of a move; None for a placing or without a capture."""
    start, to, victim = m >> 5 & 31, m & 31, m >> 10
    return (
        (None if start == NO_POINT else POINTS[start]),
        POINTS[to],
        (None if victim == NO_POINT else POINTS[victim]),
    )


def parse_move(s: State, text: str) -> int:
    match = MOVE_TEXT.fullmatch(text)
    if not match:
        raise ValueError("a move is written d2 to place, d2-d3 to slide, with xa1 added to capture")
    start, to, victim = (
        NO_POINT if name is None else POINTS.index(name) for name in match.groups()
    )
    return to | start << 5 | victim << 10


def format_move(s: State, m: int) -> str:
    start, to, victim = _parts(m)
    return (f"{start}-" if start else "") + to + (f"x{victim}" if victim else "")


def _sides(s: State) -> tuple[tuple[int, int], tuple[int, int]]:
    """The men and the hand of White, then those of Black."""
    misc = int(s[2])
    mine, other = (int(s[0]), misc & 15), (int(s[1]), misc >> 4 & 15)
    return (mine, other) if turn(s) == 0 else (other, mine)


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "points in rows from a7 to g1, side to move, hands, plies without a mill, flying"
            " are expected"
        )
    if (match[6] == "flying") != (options["flying"] == "yes"):
        raise ValueError(f"this match is played with flying: {options['flying']}")
    cells = match[1].replace("/", "")
    men = [sum(1 << point for point, c in enumerate(cells) if c == man) for man in "WB"]
    hands, count = [int(match[3]), int(match[4])], int(match[5])
    side = NAMES.index(match[2].capitalize())
    if hands[1] != hands[0] + (side if any(hands) else 0):
        raise ValueError("White places a man first, then Black")
    if any(placed.bit_count() + hand > 9 for placed, hand in zip(men, hands, strict=True)):
        raise ValueError("a side has nine men at most")
    if men[1 - side].bit_count() + hands[1 - side] < 3:
        raise ValueError("only the side to move can have lost its men")
    if count > (0 if any(hands) else DRAW_PLIES):
        raise ValueError(f"moves without a mill are counted after the placing, to {DRAW_PLIES}")
    flags = (int(SECOND) if side else 0) | (int(NO_FLYING) if match[6] == "no-flying" else 0)
    misc = hands[side] | hands[1 - side] << 4 | flags | count << 16
    return (U(men[side]), U(men[1 - side]), U(misc))


def format_position(s: State) -> str:
    (white, white_hand), (black, black_hand) = _sides(s)
    rows = [
        "".join("W" if white >> p & 1 else "B" if black >> p & 1 else "." for p in row)
        for row in ROWS
    ]
    side, plies = NAMES[turn(s)].lower(), int(s[2]) >> 16
    flying = "no-flying" if int(s[2]) & int(NO_FLYING) else "flying"
    return f"{'/'.join(rows)} {side} {white_hand}-{black_hand} {plies} {flying}"


def ending(s: State) -> str:
    if status(s) == LOST:
        return "fewer than three men are left"
    return "fifty moves each without a mill" if drawn(s) else "no man can move"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Sites(
            sites=tuple(
                Site(name, ord(name[0]) - 97, 7 - int(name[1]), "point") for name in POINTS
            ),
            lines=tuple(tuple(POINTS[point] for point in line) for line in ROWS + COLUMNS),
            style="points",
        ),
        kinds={
            "W": Kind(name="white man", side=0, text="W"),
            "B": Kind(name="black man", side=1, text="B"),
        },
        seats=(SeatView("White", "#f3efe4"), SeatView("Black", "#33302d")),
        counted="man",
    )


def _clicks(m: int) -> Iterator[str]:
    return (name for name in _parts(m) if name)


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    (white, white_hand), (black, black_hand) = _sides(s)
    pieces = {
        name: "W" if white >> p & 1 else "B"
        for p, name in enumerate(POINTS)
        if (white | black) >> p & 1
    }
    hands = {kind: hand for kind, hand in (("W", white_hand), ("B", black_hand)) if hand}
    marks: dict[str, tuple[str, ...]] = {}
    if last:
        start, to, victim = _parts(last[1])
        marks = {
            "last": tuple(name for name in (start, to) if name),
            "captured": (victim,) if victim else (),
        }
    side, text, is_over = turn(s), f"{NAMES[turn(s)]} to move", False
    if drawn(s):
        text, is_over = "Draw", True
    elif status(s) == LOST or moves(s, [0] * MAX_MOVES) == 0:
        text, is_over = f"{NAMES[1 - side]} wins", True
    elif int(s[2]) & 15:
        text = f"{NAMES[side]} to place a man"
    return PositionView(
        pieces,
        None if is_over else side,
        text,
        marks,
        tuple(_clicks(last[1])) if last else (),
        hands,
    )


def move_view(s: State, m: int) -> MoveView:
    _, to, victim = _parts(m)
    text = format_move(s, m)
    return MoveView(
        id=text,
        path=tuple(_clicks(m)),
        text=text,
        affects=(victim,) if victim else (),
        ghost=(to, "WB"[turn(s)]),
    )
