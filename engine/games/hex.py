"""Hex: each side owns two opposite edges of a board of hexagons and wins by joining them."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Border, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "hex"
TITLE = "Hex"
#: Sets of two words each, bit = column + 11 * row: the stones of the side to move, those joined to
#: its first edge and those joined to its second edge; then the same for the other side. In the last
#: word bit 0 is the side to move and bit 1 the swap rule. `play` updates the joined stones, so
#: `status` is fast.
WORDS = 13
MAX_MOVES = 121  # the swap is legal only when one cell is filled
LEVELS = 7
LEVEL_TABLE = (
    (1, 20, 80),
    (20, 13, 500),
    (200, 6, 250),
    (800, 3, 90),
    (2_300, 1, 55),
    (7_000, 0, 22),
)
NUMBERING = "ply"
CAN_BE_DRAWN = False  # Gale, "The game of Hex and the Brouwer fixed-point theorem", 1979
OPTIONS: Mapping[str, Option] = {
    "swap": Option(
        "The second player may swap",
        "yes",
        ("yes", "no"),
        phrases={"yes": "With the swap rule", "no": "Without the swap rule"},
    )
}
DATA = ()
DISABLED = ("killers",)  # see docs/reference/ablations.md
GOAL = "Join your two edges of the board by a chain of stones."
RULES = """Red and Blue take turns to put a stone on any empty cell of the board. Red begins.
Stones never move.

The top and bottom edges belong to Red, the left and right edges to Blue; a corner cell belongs
to both edges that meet there. The first player to join their two edges by an unbroken chain of
their own stones wins. There are no draws: a full board always holds exactly one such chain.

The first move is a great advantage. So Blue may swap instead of putting a first stone: Red's
stone is taken away, and a blue stone is put on its mirror image in the long diagonal (c2 becomes
b3), which is as good for Blue as the first stone was for Red. Then it is Red's turn. A match can be
played without this rule."""

#: A set of cells: bits 0 to 63 and 64 to 120.
Pair: TypeAlias = tuple[np.uint64, np.uint64]

#: The number of rows and of columns.
SIZE = 11
#: The name of each cell, by bit.
CELLS = tuple(f"{column}{row + 1}" for row in range(SIZE) for column in "abcdefghijk")
#: The move that swaps sides.
SWAP = SIZE * SIZE
ONE, NONE = U(1), U(0)
#: The bit of the last word that is set if the swap rule applies.
SWAP_RULE = U(2)
NO_CELLS: Pair = (NONE, NONE)


def _pair(cells: int) -> Pair:
    return U(cells & 0xFFFFFFFFFFFFFFFF), U(cells >> 64)


#: All cells.
BOARD = _pair((1 << SWAP) - 1)
#: The edges of Red.
TOP, BOTTOM = _pair((1 << SIZE) - 1), _pair(((1 << SIZE) - 1) << SIZE * (SIZE - 1))
#: The edges of Blue.
LEFT, RIGHT = (
    _pair(sum(1 << column + SIZE * row for row in range(SIZE))) for column in (0, SIZE - 1)
)
#: All cells but those of an edge of Blue.
NOT_LEFT, NOT_RIGHT = (
    _pair(~(int(edge[0]) | int(edge[1]) << 64) & (1 << SWAP) - 1) for edge in (LEFT, RIGHT)
)
#: The cells from the middle outwards, the order of the moves.
CELLS_BY_CENTRALITY = sorted(
    range(SWAP), key=lambda cell: (cell % SIZE - 5) ** 2 + (cell // SIZE - 5) ** 2
)
ORDER = np.array(CELLS_BY_CENTRALITY, np.int64)

#: Evaluation units for one stone of distance.
STEP = 12
#: Maximum number of meeting cells that `distance` counts.
MAX_MEETING_CELLS = 5

POSITION_TEXT = re.compile(r"([RB.]{11}(?:/[RB.]{11}){10}) (red|blue) (swap|no-swap)")
NAMES = ("Red", "Blue")


def init(options: Mapping[str, str]) -> State:
    return (NONE,) * 12 + (SWAP_RULE if options["swap"] == "yes" else NONE,)


@rule
def status(s: State) -> int:
    return LOST if (s[8] & s[10]) | (s[9] & s[11]) else ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    n = 0
    occupied = (s[0] | s[6], s[1] | s[7])
    for i in range(SWAP):
        cell = int(ORDER[i])
        if not occupied[cell >> 6] & (ONE << U(cell & 63)):
            buf[n] = cell
            n += 1
    if n == SWAP - 1 and s[12] == (ONE | SWAP_RULE):
        buf[n] = SWAP
        n += 1
    return n


@rule
def shift_up(p: Pair, by: int) -> Pair:
    return (p[0] << U(by), (p[1] << U(by)) | (p[0] >> U(64 - by)))


@rule
def shift_down(p: Pair, by: int) -> Pair:
    return ((p[0] >> U(by)) | (p[1] << U(64 - by)), p[1] >> U(by))


@rule
def neighbours(p: Pair) -> Pair:
    """The cells next to those of `p`."""
    inner = (p[0] & NOT_RIGHT[0], p[1] & NOT_RIGHT[1])
    outer = (p[0] & NOT_LEFT[0], p[1] & NOT_LEFT[1])
    a, b, c = shift_up(inner, 1), shift_up(outer, 10), shift_up(p, 11)
    d, e, f = shift_down(outer, 1), shift_down(inner, 10), shift_down(p, 11)
    return (
        a[0] | b[0] | c[0] | d[0] | e[0] | f[0],
        (a[1] | b[1] | c[1] | d[1] | e[1] | f[1]) & BOARD[1],
    )


@rule
def neighbours_and_shared(p: Pair) -> tuple[Pair, Pair]:
    """The cells next to those of `p`, and the cells next to at least two of them."""
    inner = (p[0] & NOT_RIGHT[0], p[1] & NOT_RIGHT[1])
    outer = (p[0] & NOT_LEFT[0], p[1] & NOT_LEFT[1])
    once, twice = shift_up(p, 11), NO_CELLS
    for q in (
        shift_up(inner, 1),
        shift_up(outer, 10),
        shift_down(outer, 1),
        shift_down(inner, 10),
        shift_down(p, 11),
    ):
        twice = (twice[0] | (once[0] & q[0]), twice[1] | (once[1] & q[1]))
        once = (once[0] | q[0], once[1] | q[1])
    return (once[0], once[1] & BOARD[1]), (twice[0], twice[1] & BOARD[1])


@rule
def connected_stones(connected: Pair, stones: Pair) -> Pair:
    """The cells of `connected` and all stones connected to them."""
    while True:
        larger = neighbours(connected)
        larger = (connected[0] | (larger[0] & stones[0]), connected[1] | (larger[1] & stones[1]))
        if larger == connected:
            return connected
        connected = larger


@rule
def join_to_edge(joined: Pair, stone: Pair, adjacent: Pair, edge: Pair, stones: Pair) -> Pair:
    """The stones joined to an edge after `stone` is placed; `joined` are those before."""
    if (
        (stone[0] & edge[0])
        | (stone[1] & edge[1])
        | (adjacent[0] & joined[0])
        | (adjacent[1] & joined[1])
    ):
        return connected_stones((joined[0] | stone[0], joined[1] | stone[1]), stones)
    return joined


@rule
def play(s: State, m: int) -> State:
    cell = m
    theirs = (s[6], s[7], s[8], s[9], s[10], s[11])
    if m == SWAP:
        bit = lsb(s[6]) if s[6] else 64 + lsb(s[7])
        cell = bit % SIZE * SIZE + bit // SIZE
        theirs = (NONE, NONE, NONE, NONE, NONE, NONE)
    stone = (ONE << U(cell), NONE) if cell < 64 else (NONE, ONE << U(cell - 64))
    adjacent, stones = neighbours(stone), (s[0] | stone[0], s[1] | stone[1])
    first, second = (TOP, BOTTOM) if s[12] & ONE == NONE else (LEFT, RIGHT)
    a = join_to_edge((s[2], s[3]), stone, adjacent, first, stones)
    b = join_to_edge((s[4], s[5]), stone, adjacent, second, stones)
    return (*theirs, stones[0], stones[1], a[0], a[1], b[0], b[1], s[12] ^ ONE)


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    k = (s[0] ^ (s[0] >> U(29))) * U(0xBF58476D1CE4E5B9)
    k = (k ^ (k >> U(32)) ^ s[1]) * U(0x94D049BB133111EB)
    k = (k ^ (k >> U(31)) ^ s[6]) * U(0xD6E8FEB86659FD93)
    k = (k ^ (k >> U(32)) ^ s[7] ^ (s[12] << U(60))) * U(0xA0761D6478BD642F)
    return (k ^ (k >> U(32))) | ONE


@rule
def reach_further(reached: Pair, safe: Pair, joined: Pair, edge: Pair, empty: Pair) -> Pair:
    """The cells in `reached`, and those that one more stone reaches.

    It reaches empty cells on the edge, next to joined stones, or in `safe` (safely connected).
    """
    if joined[0] | joined[1]:
        adjacent = neighbours(joined)
        safe = (safe[0] | adjacent[0], safe[1] | adjacent[1])
    return (
        reached[0] | (empty[0] & (edge[0] | safe[0])),
        reached[1] | (empty[1] & (edge[1] | safe[1])),
    )


@rule
def extend(joined: Pair, safe: Pair, stones: Pair) -> Pair:
    """The joined stones with those in `safe`, and all stones connected to these."""
    connected = (joined[0] | (stones[0] & safe[0]), joined[1] | (stones[1] & safe[1]))
    if connected == joined:
        return joined
    return connected_stones(connected, stones)


@rule
def distance(
    stones: Pair, empty: Pair, joined_a: Pair, joined_b: Pair, edge_a: Pair, edge_b: Pair
) -> int:
    """The distance of a side from joining its edges: STEP for each stone that it needs.

    Two regions grow alternately from the two edges; each cell where they can meet subtracts 1,
    up to MAX_MEETING_CELLS. The other side can block only one of two connections. So a cell next to
    two reached cells is safely connected (as in a bridge); a single connection costs one stone
    more.
    """
    reached_a, reached_b = NO_CELLS, NO_CELLS
    once_a, once_b, safe_a, safe_b = NO_CELLS, NO_CELLS, NO_CELLS, NO_CELLS
    for steps in range(2 * SIZE):
        reached_a = reach_further(reached_a, safe_a, joined_a, edge_a, empty)
        meeting_cells = popcount(reached_a[0] & reached_b[0]) + popcount(
            reached_a[1] & reached_b[1]
        )
        if meeting_cells:
            return STEP * steps - min(meeting_cells, MAX_MEETING_CELLS)
        once, twice = neighbours_and_shared(reached_a)
        safe_a, once_a = (twice[0] | once_a[0], twice[1] | once_a[1]), once
        joined_a = extend(joined_a, safe_a, stones)
        if (joined_a[0] & joined_b[0]) | (joined_a[1] & joined_b[1]):
            return STEP * (steps + 1)
        # Now the other region grows.
        reached_a, reached_b, once_a, once_b = reached_b, reached_a, once_b, once_a
        safe_a, safe_b, joined_a, joined_b = safe_b, safe_a, joined_b, joined_a
        edge_a, edge_b = edge_b, edge_a
    return STEP * 2 * SIZE


@rule
def evaluate(s: State, data: Any) -> int:
    empty = (BOARD[0] & ~(s[0] | s[6]), BOARD[1] & ~(s[1] | s[7]))
    a, b, c, d = TOP, BOTTOM, LEFT, RIGHT
    if s[12] & ONE:
        a, b, c, d = LEFT, RIGHT, TOP, BOTTOM
    mine = distance((s[0], s[1]), empty, (s[2], s[3]), (s[4], s[5]), a, b)
    return distance((s[6], s[7]), empty, (s[8], s[9]), (s[10], s[11]), c, d) - mine


def turn(s: State) -> int:
    return int(s[12]) & 1


def _sides(s: State) -> tuple[int, int]:
    """The red and the blue stones, as plain ints."""
    mine, other = int(s[0]) | int(s[1]) << 64, int(s[6]) | int(s[7]) << 64
    return (mine, other) if turn(s) == 0 else (other, mine)


def parse_move(s: State, text: str) -> int:
    return SWAP if text == "swap" else CELLS.index(text)


def format_move(s: State, m: int) -> str:
    return "swap" if m == SWAP else CELLS[m]


def _side_words(stones: int, side: int) -> tuple[np.uint64, ...]:
    """The six words of a side: its stones, and the stones joined to each of its two edges."""
    words = _pair(stones)
    edges = ((TOP, BOTTOM), (LEFT, RIGHT))[side]
    first, second = (
        connected_stones((words[0] & edge[0], words[1] & edge[1]), words) for edge in edges
    )
    return (*words, *first, *second)


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "eleven rows of R, B or ., row 1 first, / between them, side to move, swap rule"
            " are expected"
        )
    if (match[3] == "swap") != (options["swap"] == "yes"):
        raise ValueError(f"this match is played with swap: {options['swap']}")
    cells = match[1].replace("/", "")
    red, blue = (sum(1 << cell for cell, c in enumerate(cells) if c == stone) for stone in "RB")
    side = NAMES.index(match[2].capitalize())
    extra_red = red.bit_count() - blue.bit_count()
    was_swapped = match[3] == "swap" and blue and extra_red == side - 1
    if extra_red != side and not was_swapped:
        raise ValueError("Red and Blue put stones in turn")
    sides = _side_words(red, 0), _side_words(blue, 1)
    mine, other = sides[side], sides[1 - side]
    if mine[2] & mine[4] or mine[3] & mine[5]:
        raise ValueError("the side to move has joined its edges already")
    return (*mine, *other, U(side) | (SWAP_RULE if match[3] == "swap" else NONE))


def format_position(s: State) -> str:
    red, blue = _sides(s)
    cells = "".join(
        "R" if red >> cell & 1 else "B" if blue >> cell & 1 else "." for cell in range(SWAP)
    )
    rows = "/".join(cells[start : start + SIZE] for start in range(0, SWAP, SIZE))
    return f"{rows} {NAMES[turn(s)].lower()} {'swap' if s[12] & SWAP_RULE else 'no-swap'}"


def ending(s: State) -> str:
    return f"{NAMES[1 - turn(s)]} has joined both edges"


def board(options: Mapping[str, str]) -> BoardView:
    sites = tuple(
        Site(CELLS[c], c % SIZE + c // SIZE * 0.5, round(c // SIZE * 0.866, 3), "hex")
        for c in range(SWAP)
    )
    top, bottom = CELLS[:SIZE], CELLS[-SIZE:]
    left, right = CELLS[::SIZE], CELLS[SIZE - 1 :: SIZE]
    return BoardView(
        board=Sites(
            sites, borders=(Border(0, top), Border(0, bottom), Border(1, left), Border(1, right))
        ),
        kinds={
            "R": Kind(name="red stone", side=0, text="R"),
            "B": Kind(name="blue stone", side=1, text="B"),
        },
        seats=(SeatView("Red", "#c0392b"), SeatView("Blue", "#2471a3")),
        targets={"swap": ()} if options["swap"] == "yes" else {},
    )


def _target_cell(s: State, m: int) -> str:
    """The cell on which a move puts a stone."""
    if m < SWAP:
        return CELLS[m]
    stone = _sides(s)[0].bit_length() - 1
    return CELLS[stone % SIZE * SIZE + stone // SIZE]


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    red, blue = _sides(s)
    pieces = {
        name: "R" if red >> cell & 1 else "B"
        for cell, name in enumerate(CELLS)
        if (red | blue) >> cell & 1
    }
    marks: dict[str, tuple[str, ...]] = {"last": (_target_cell(*last),)} if last else {}
    path = (format_move(*last),) if last else ()
    side = turn(s)
    if status(s) == LOST:
        chain = int(s[8] & s[10]) | int(s[9] & s[11]) << 64
        marks["win"] = tuple(name for cell, name in enumerate(CELLS) if chain >> cell & 1)
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, path)


def move_view(s: State, m: int) -> MoveView:
    name, target = format_move(s, m), _target_cell(s, m)
    text = f"Swap: the red stone becomes blue on {target}" if m == SWAP else name
    return MoveView(id=name, path=(name,), text=text, ghost=(target, "RB"[turn(s)]))
