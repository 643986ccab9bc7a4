"""Kalah(6,4): sow seeds around the board into the own store; a last seed there moves again."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Option, State
from engine.jit import U, rule
from engine.view import BoardView, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "kalah"
TITLE = "Kalah"
#: A word for South and a word for North, each with eight bits for each of its six houses in the
#: order of sowing and then for its store. Bit 56 of the first word is set when North is to move.
WORDS = 2
MAX_MOVES = 6
LEVELS = 6
LEVEL_TABLE = (
    (1, 60, 343),
    (159, 17, 638),
    (803, 9, 458),
    (5_569, 2, 243),
    (15_581, 1, 129),
)
NUMBERING = "ply"
EXTRA_TURNS = True
OPTIONS: Mapping[str, Option] = {}
DATA = ()
GOAL = "Gather more seeds in your store than the other side."
RULES = """Each side has six houses on its side of the board and a store to its right. A match
begins with four seeds in each house; South moves first.
A move takes all seeds of one of your houses and sows them one by one into the next pits,
counterclockwise: your further houses, your store, the houses of your opponent, and again your own.
The opponent's store is left out.
If the last seed falls into your store, you move again.
If it falls into an empty house of yours, you capture: this seed and all seeds of the opposite house
go into your store, also when the opposite house is empty.
As soon as all houses of one side are empty, the match is over, and the seeds that are left in the
houses of the other side go into its store. The side with more seeds in its store wins."""

#: Houses of each side; the store comes after them in the order of sowing.
HOUSES = 6
#: Pits into which a side sows: all but the opponent's store.
RING = 2 * HOUSES + 1
#: Seeds in a house at the start, and seeds in all.
FIRST_SEEDS, SEEDS = 4, 48
#: Bits of a pit.
PIT_BITS = 8
ONE = U(1)
NONE = U(0)
#: The mask of a pit.
PIT = U(255)
#: The masks of the houses of a side, and of its houses and store.
ALL_HOUSES = U((1 << HOUSES * PIT_BITS) - 1)
ALL_PITS = U((1 << (HOUSES + 1) * PIT_BITS) - 1)
#: The store as a shift.
STORE = U(HOUSES * PIT_BITS)
#: The bit that is set when North is to move.
NORTH = U(1 << 56)
#: The sum of the eight-bit fields of a word, in its highest field, after a multiplication.
SUM = U(0x0101010101010101)

#: The value of a seed in the store, of one in a house, and of the right to move.
STORE_VALUE, HOUSE_VALUE, TURN_VALUE = 100, 20, 40
#: The value of a store that has more than half of the seeds.
DECIDED_VALUE = 10_000

#: The factors of the hash.
FACTOR, SECOND_FACTOR = U(0x9E3779B97F4A7C15), U(0xC2B2AE3D27D4EB4F)

NAMES = ("South", "North")
#: The cells of the houses in the order of sowing, then the store, by side.
CELLS = (
    (*tuple(f"{letter}1" for letter in "abcdef"), "south"),
    (*tuple(f"{letter}2" for letter in "fedcba"), "north"),
)
PITS_TEXT = r"((?:\d{1,2}-){5}\d{1,2})/(\d{1,2})"
POSITION_TEXT = re.compile(rf"{PITS_TEXT} {PITS_TEXT} (south|north)")


# --- the rules


def init(options: Mapping[str, str]) -> State:
    houses = _pack([FIRST_SEEDS] * HOUSES + [0])
    return (U(houses), U(houses))


@rule
def turn(s: State) -> int:
    return np.int64(s[0] >> U(56))  # type: ignore[return-value]


@rule
def own_pits(s: State) -> np.uint64:
    """The pits of the side to move."""
    if s[0] & NORTH:
        return s[1]
    return s[0]


@rule
def opposing_pits(s: State) -> np.uint64:
    if s[0] & NORTH:
        return s[0] & ALL_PITS
    return s[1]


@rule
def seeds_in(pits: np.uint64, pit: int) -> int:
    return np.int64((pits >> U(PIT_BITS * pit)) & PIT)  # type: ignore[return-value]


@rule
def houses_sum(pits: np.uint64) -> int:
    """The seeds in all houses of a side."""
    return np.int64(((pits & ALL_HOUSES) * SUM) >> U(56))  # type: ignore[return-value]


@rule
def status(s: State) -> int:
    if (s[0] | s[1]) & ALL_HOUSES:
        return ONGOING
    own, opposing = own_pits(s) >> STORE, opposing_pits(s) >> STORE
    if own > opposing:
        return WON
    if own < opposing:
        return LOST
    return DRAWN


@rule
def moves(s: State, buf: Any) -> int:
    pits = own_pits(s)
    n = 0
    for house in range(HOUSES - 1, -1, -1):
        if seeds_in(pits, house) > 0:
            buf[n] = house
            n += 1
    return n


@rule
def last_pit(s: State, m: int) -> int:
    """The pit of the last seed: a house or the store of the side to move, or after these a house of
    the opponent.
    """
    return (m + seeds_in(own_pits(s), m)) % RING


@rule
def play(s: State, m: int) -> State:
    own, opposing = own_pits(s), opposing_pits(s)
    seeds = seeds_in(own, m)
    last = (m + seeds) % RING
    own &= ~(PIT << U(PIT_BITS * m))
    pit = m
    for _ in range(seeds):
        pit += 1
        if pit == RING:
            pit = 0
        if pit <= HOUSES:
            own += ONE << U(PIT_BITS * pit)
        else:
            opposing += ONE << U(PIT_BITS * (pit - HOUSES - 1))
    if last < HOUSES and seeds_in(own, last) == 1:
        opposite = HOUSES - 1 - last
        captured = 1 + seeds_in(opposing, opposite)
        own &= ~(PIT << U(PIT_BITS * last))
        opposing &= ~(PIT << U(PIT_BITS * opposite))
        own += U(captured) << STORE
    if own & ALL_HOUSES == NONE or opposing & ALL_HOUSES == NONE:
        own = (own & ~ALL_HOUSES) + (U(houses_sum(own)) << STORE)
        opposing = (opposing & ~ALL_HOUSES) + (U(houses_sum(opposing)) << STORE)
    mover = s[0] & NORTH
    next_turn = mover if last == HOUSES else mover ^ NORTH
    if mover:
        return (opposing | next_turn, own)
    return (own | next_turn, opposing)


@rule
def no_moves_result(s: State) -> int:
    return DRAWN  # a side to move has a seed in a house while the match is not over


@rule
def key(s: State) -> np.uint64:
    k = s[0] * FACTOR
    k = ((k ^ (k >> U(29))) + s[1]) * SECOND_FACTOR
    return (k ^ (k >> U(32))) | ONE


@rule
def rank(s: State, m: int) -> int:
    """First the moves that keep the turn, the nearest house first; then captures, the largest
    first.
    """
    last = last_pit(s, m)
    if last == HOUSES:
        return 100 + m
    own = own_pits(s)
    seeds = seeds_in(own, m)
    if last < HOUSES and seeds <= RING and (seeds_in(own, last) == 0 or seeds == RING):
        return seeds_in(opposing_pits(s), HOUSES - 1 - last)
    return 0


@rule
def evaluate(s: State, data: Any) -> int:
    own, opposing = own_pits(s), opposing_pits(s)
    own_store, opposing_store = seeds_in(own, HOUSES), seeds_in(opposing, HOUSES)
    value = STORE_VALUE * (own_store - opposing_store)
    if 2 * own_store > SEEDS:
        return value + DECIDED_VALUE
    if 2 * opposing_store > SEEDS:
        return value - DECIDED_VALUE
    return value + HOUSE_VALUE * (houses_sum(own) - houses_sum(opposing)) + TURN_VALUE


# --- texts


def _pack(pits: list[int]) -> int:
    return sum(count << PIT_BITS * pit for pit, count in enumerate(pits))


def _pits(s: State, side: int) -> list[int]:
    """The seeds in the houses of a side in the order of sowing, then those in its store."""
    word = int(s[side])
    return [word >> PIT_BITS * pit & 255 for pit in range(HOUSES + 1)]


def parse_move(s: State, text: str) -> int:
    houses = CELLS[turn(s)][:HOUSES]
    if text not in houses:
        raise ValueError(f"a move of {NAMES[turn(s)]} is a house: {', '.join(sorted(houses))}")
    return houses.index(text)


def format_move(s: State, m: int) -> str:
    return CELLS[turn(s)][m]


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "the houses and the store of South, those of North, and the side to move are"
            " expected: 4-4-4-4-4-4/0 4-4-4-4-4-4/0 south"
        )
    sides = [[*map(int, match[i].split("-")), int(match[i + 1])] for i in (1, 3)]
    if sum(map(sum, sides)) != SEEDS:
        raise ValueError(f"there are {SEEDS} seeds on the board")
    if any(sides[0][:HOUSES]) != any(sides[1][:HOUSES]):
        raise ValueError("when one side's houses are empty, all seeds are in the stores")
    return (U(_pack(sides[0]) | (int(NORTH) if match[5] == "north" else 0)), U(_pack(sides[1])))


def format_position(s: State) -> str:
    sides = [_pits(s, side) for side in (0, 1)]
    texts = [f"{'-'.join(map(str, pits[:HOUSES]))}/{pits[HOUSES]}" for pits in sides]
    return f"{' '.join(texts)} {NAMES[turn(s)].lower()}"


def ending(s: State) -> str:
    return "the houses of one side are empty"


def points(s: State) -> tuple[int, int]:
    return (_pits(s, 0)[HOUSES], _pits(s, 1)[HOUSES])


# --- the board


def board(options: Mapping[str, str]) -> BoardView:
    # The stores lie between the houses, each at the right hand of its side: a board of three rows
    # has larger cells than one of eight columns.
    houses = [
        Site(cell, "abcdef".index(cell[0]), 2 - 2 * side, "round", side)
        for side in (0, 1)
        for cell in CELLS[side][:HOUSES]
    ]
    stores = [
        Site(CELLS[0][HOUSES], HOUSES - 1, 1, "round", 0),
        Site(CELLS[1][HOUSES], 0, 1, "round", 1),
    ]
    kinds = {
        str(count): Kind(
            name=f"{count} seed{'s' if count > 1 else ''}",
            text=str(count),
            mark=str(count),
            count=count,
        )
        for count in range(1, SEEDS + 1)
    }
    return BoardView(
        board=Sites(sites=(*houses, *stores), style="points", flips=True),
        kinds=kinds,
        seats=(SeatView(NAMES[0], "#c0392b"), SeatView(NAMES[1], "#2471a3")),
        counted="seed",
        stores=tuple((CELLS[side][HOUSES],) for side in (0, 1)),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    pieces = {
        cell: str(count)
        for side in (0, 1)
        for cell, count in zip(CELLS[side], _pits(s, side), strict=True)
        if count
    }
    path: tuple[str, ...] = ()
    marks: dict[str, tuple[str, ...]] = {}
    side, again = int(turn(s)), ""
    if last is not None:
        mover = turn(last[0])
        ring = CELLS[mover] + CELLS[1 - mover][:HOUSES]
        path = (ring[last[1]],)
        marks["last"] = (ring[last[1]], ring[int(last_pit(*last))])
        again = " again" if mover == side else ""
    if not (int(s[0]) | int(s[1])) & int(ALL_HOUSES):
        return PositionView(pieces, None, _result(s), marks, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move{again}", marks, path)


def _result(s: State) -> str:
    south, north = (_pits(s, side)[HOUSES] for side in (0, 1))
    if south == north:
        return "Draw"
    return f"{NAMES[north > south]} wins"


def move_view(s: State, m: int) -> MoveView:
    cell = format_move(s, m)
    count = _pits(s, turn(s))[m]
    return MoveView(cell, (cell,), f"sow {count} from {cell}")
