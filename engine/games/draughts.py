"""Draughts on 64 squares, English rules (American checkers): short kings, any capture is compulsory."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, product
from math import comb
from typing import Any

import numpy as np

from engine.game import DRAWN, GOES_ON, LOST, WON, Option, State
from engine.jit import U, at, lsb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "draughts"
TITLE = "Draughts"
WORDS = 4  # pieces of the side to move, of the other side, the kings among them, the side to move with the quiet plies
MAX_MOVES = 68  # twelve kings have 48 quiet moves; between 18 squares there are 68 ways of capturing at most
LEVELS = 8
LEVEL_TABLE = (
    (1, 28, 281),
    (2, 142, 500),
    (3, 24, 460),
    (150, 7, 245),
    (480, 4, 188),
    (1_500, 2, 130),
    (5_000, 1, 70),
)
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/draughts.txt",)
SOLVER = "engine.solvers.draughts"
REPETITION = 3
WITHOUT = ("extensions", "quiet-table")
"""Captures are played out at the horizon: a ply for each made the trees 15 times as large. A look into the table at
each state there costs more time than it saves."""
RULES = """Twelve men a side stand on the dark squares of the three rows nearest to their player. The dark squares have
numbers: 1 to 12 are Black's at the start, 21 to 32 are White's. Black begins, and the sides take turns.

A man moves one square forward along a diagonal. A man that comes to the last row becomes a king, and its move ends
there. A king moves one square along a diagonal, forward or backward.

A piece captures an adjacent piece of the other side by jumping over it to the free square behind it: men only forward,
kings in all four directions. If it can then jump again it must, in the same move, until it can jump no more; all pieces
that it jumped over are taken off. Whoever can capture must capture. With several captures to choose from you may
take any of them, also one that takes fewer pieces, but you must finish the one that you began.

Whoever has no move, because no piece is left or all are blocked, has lost.

The match is drawn when the same position with the same side to move is there for the third time, and when both sides
have made 40 moves in a row in which nothing was captured and no man moved. By the rules of the World Checkers/Draughts
Federation a player has to claim these draws; here they come by themselves.

A move is written with the numbers of its squares: 11-15, and 22x15 for a capture, 1x10x17 when it jumps on."""

# Squares 1 to 32 are bits 0 to 34, without a bit after every eight: so each direction is one shift from every square,
# and a step over the edge comes to a bit that is no square.
ZERO, ONE, SIX_BITS = U(0), U(1), U(63)
TWO_ROWS = 0xFF
BOARD = U(TWO_ROWS | TWO_ROWS << 9 | TWO_ROWS << 18 | TWO_ROWS << 27)
ROW_BITS = tuple(0xF << (9 * (row // 2) + 4 * (row % 2)) for row in range(8))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[7])
NEAR, FAR = U(4), U(5)
NEAR_JUMP, FAR_JUMP = U(8), U(10)
STEPS = (4, 5, -4, -5)
"""From bit to bit by direction: Black's men go in the first two, White's in the others."""

# A move: bits 0 to 5 from, 6 to 11 to; a capture has from bit 12 on a leading 1 and two bits for the direction of each
# jump, the last one lowest. Nine jumps are the most that there is room for.
JUMP = 1 << 12

DRAW_PLIES = 80
COUNTED_PLIES = 48
"""So many quiet plies make the count part of a state's key: before that a search hardly comes as far as the draw."""
BYTE = U(0xFF)
SWAP_1, SWAP_2, SWAP_4 = U(0x5555555555555555), U(0x3333333333333333), U(0x0F0F0F0F0F0F0F0F)
SWAP_8, SWAP_16 = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)
MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)

SQUARE_BITS = tuple(square + square // 8 for square in range(32))
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}
CENTRE = U(sum(1 << SQUARE_BITS[number - 1] for number in (10, 11, 14, 15, 18, 19, 22, 23)))
ODD_ROWS = U(sum(ROW_BITS[::2]))

# The numbers of the evaluation in the game's data, see data/draughts.txt: first for each of four pairs of rows, as
# their owner sees them, and each set of men there what it is worth, then the rest. Of numbers by phase the first holds
# with 24 pieces on the board and the last with none.
MEN_FIRST, MEN_LAST, REST = 0, 1024, 2048
KING_FIRST, KING_LAST, CENTRE_FIRST, CENTRE_LAST, TRAPPED, ONLY_KINGS = range(REST, REST + 6)
MOBILITY_FIRST, MOBILITY_LAST, THREAT_FIRST, THREAT_LAST = range(REST + 6, REST + 10)
TURN_FIRST, TURN_LAST, THE_MOVE, TO_CAPTURE = range(REST + 10, REST + 14)

# The endgame tables: a byte for each way that two to TABLE_PIECES pieces stand on the board with Black to move (a
# position with White to move is the same seen from the other side). They stand in slices by the men and kings of both
# sides and by how many of Black's men are on the first row, where no man of White's can be.
TABLE_PIECES = 4
TABLES_AT = REST + 14
"""In the game's data: how many pieces the tables that follow go up to, 0 without any."""
LONGEST_QUIET = 54
"""No win by the tables needs so many plies in a row without a capture or a man's move."""
MIDDLE_ROWS = BOARD & ~(FIRST_ROW | LAST_ROW)
CHOOSE = np.array([[comb(n, k) for k in range(5)] for n in range(33)])


def _slices() -> tuple[Any, int]:
    """Where each slice begins, in bytes, by 256 men + 64 kings + 16 men + 4 kings and men on the first row; fewer
    pieces first, and among as many fewer men. The last number is the size of all.
    """
    begins, total = np.zeros(1024, np.int64), 0
    counts = [c for c in product(range(4), repeat=4) if c[0] + c[1] and c[2] + c[3] and sum(c) <= TABLE_PIECES]
    for men, kings, their_men, their_kings in sorted(counts, key=lambda c: (sum(c), c[0] + c[2], c)):
        for at_home in range(men + 1):
            begins[256 * men + 64 * kings + 16 * their_men + 4 * their_kings + at_home] = total
            free = 32 - men - their_men
            of_men = comb(4, at_home) * comb(24, men - at_home) * comb(28 - men + at_home, their_men)
            total += of_men * comb(free, kings) * comb(free - kings, their_kings)
    return begins, total


SLICES, TABLE_BYTES = _slices()

NAMES = ("Black", "White")
MOVE_TEXT = re.compile(r"[1-9][0-9]?(?:-[1-9][0-9]?|(?:x[1-9][0-9]?){1,9})")
POSITION_TEXT = re.compile(r"([BW]):W([K0-9,]*):B([K0-9,]*):H([0-9]{1,2})")
PIECE_TEXT = re.compile(r"(K?)([1-9][0-9]?)")


def init(options: Mapping[str, str]) -> State:
    black, white = (U(sum(ROW_BITS[row] for row in rows)) for rows in (range(3), range(5, 8)))
    return (black, white, ZERO, ZERO)


@rule
def downward(s: State) -> np.uint64:
    """The pieces of the side to move that may go towards row 8."""
    return s[0] & s[2] if s[3] & ONE else s[0]


@rule
def upward(s: State) -> np.uint64:
    """The pieces of the side to move that may go towards row 1."""
    return s[0] if s[3] & ONE else s[0] & s[2]


@rule
def jumpers(s: State) -> np.uint64:
    """The pieces that can capture."""
    other = s[1]
    free = BOARD & ~(s[0] | other)
    down = ((other >> NEAR) & (free >> NEAR_JUMP)) | ((other >> FAR) & (free >> FAR_JUMP))
    up = ((other << NEAR) & (free << NEAR_JUMP)) | ((other << FAR) & (free << FAR_JUMP))
    return (downward(s) & down) | (upward(s) & up)


@rule("i8(i8, i8, i8, u8, u8, i8, i8*, i8)")
def captures(bit: int, start: int, path: int, other: np.uint64, free: np.uint64, ways: int, buf: Any, n: int) -> int:
    """Writes every capture that goes on from a square and returns their number.

    `path` holds the directions so far, behind a leading 1; `ways` are those of the piece, 1 down and 2 up: a man that
    comes to the last row has none left there, so that it stops.
    """
    here = ONE << U(bit)
    before = n
    if ways & 1:
        over = here << NEAR
        if over & other and (here << NEAR_JUMP) & free:
            n = captures(bit + 8, start, path * 4, other ^ over, free, ways, buf, n)
        over = here << FAR
        if over & other and (here << FAR_JUMP) & free:
            n = captures(bit + 10, start, path * 4 + 1, other ^ over, free, ways, buf, n)
    if ways & 2:
        over = here >> NEAR
        if over & other and (here >> NEAR_JUMP) & free:
            n = captures(bit - 8, start, path * 4 + 2, other ^ over, free, ways, buf, n)
        over = here >> FAR
        if over & other and (here >> FAR_JUMP) & free:
            n = captures(bit - 10, start, path * 4 + 3, other ^ over, free, ways, buf, n)
    if n == before and path > 1:
        buf[n] = start | (bit << 6) | (path << 12)
        n += 1
    return n


@rule
def all_captures(s: State, pieces: np.uint64, buf: Any) -> int:
    """Writes the captures of these pieces."""
    free = BOARD & ~(s[0] | s[1])
    ways = 2 if s[3] & ONE else 1
    n = 0
    while pieces:
        bit = lsb(pieces)
        here = ONE << U(bit)
        pieces ^= here
        if s[2] & here:
            n = captures(bit, bit, 1, s[1], free | here, 3, buf, n)
        else:
            n = captures(bit, bit, 1, s[1], free, ways, buf, n)
    return n


@rule
def quiet(targets: np.uint64, step: int, buf: Any, n: int) -> int:
    """Writes the moves that come to these squares by one step."""
    while targets:
        bit = lsb(targets)
        targets &= targets - ONE
        buf[n] = (bit - step) | (bit << 6)
        n += 1
    return n


@rule
def status(s: State) -> int:
    return GOES_ON if s[0] else LOST


@rule
def moves(s: State, buf: Any) -> int:
    able = jumpers(s)
    if able:
        return all_captures(s, able, buf)
    free = BOARD & ~(s[0] | s[1])
    down, up = downward(s), upward(s)
    n = quiet((down << NEAR) & free, 4, buf, 0)
    n = quiet((down << FAR) & free, 5, buf, n)
    n = quiet((up >> NEAR) & free, -4, buf, n)
    return quiet((up >> FAR) & free, -5, buf, n)


@rule
def count(s: State, buf: Any) -> int:
    able = jumpers(s)
    if able:
        return all_captures(s, able, buf)
    free = BOARD & ~(s[0] | s[1])
    down, up = downward(s), upward(s)
    ahead = popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    return ahead + popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)


@rule
def tense(s: State) -> int:
    """Whoever must capture has no free choice."""
    return 1 if jumpers(s) else 0


@rule
def noisy(s: State, buf: Any) -> int:
    """The moves that crown a man, where no capture is to be made."""
    if jumpers(s):
        return 0
    free = BOARD & ~(s[0] | s[1])
    men = s[0] & ~s[2]
    if s[3] & ONE:
        n = quiet((men >> NEAR) & free & FIRST_ROW, -4, buf, 0)
        return quiet((men >> FAR) & free & FIRST_ROW, -5, buf, n)
    n = quiet((men << NEAR) & free & LAST_ROW, 4, buf, 0)
    return quiet((men << FAR) & free & LAST_ROW, 5, buf, n)


@rule
def rank(s: State, m: int) -> int:
    """Captures by the number of pieces, then moves that crown."""
    if m >= JUMP:
        return m >> 12
    end = ONE << U((m >> 6) & 63)
    return 1 if end & (FIRST_ROW | LAST_ROW) and (ONE << U(m & 63)) & ~s[2] else 0


@rule
def can_move(s: State) -> bool:
    free = BOARD & ~(s[0] | s[1])
    steps = (downward(s) & ((free >> NEAR) | (free >> FAR))) | (upward(s) & ((free << NEAR) | (free << FAR)))
    return bool((steps | jumpers(s)) != ZERO)


@rule
def taken(m: int) -> np.uint64:
    """The squares that a move jumps over."""
    found = ZERO
    bit = (m >> 6) & 63
    path = m >> 12
    while path > 1:
        step = STEPS[path & 3]
        found |= ONE << U(bit - step)
        bit -= 2 * step
        path >>= 2
    return found


@rule
def play(s: State, m: int) -> State:
    start, end = ONE << U(m & 63), ONE << U((m >> 6) & 63)
    side = s[3] & ONE
    gone = ZERO
    if m >= JUMP:
        gone = taken(m)
    kings = s[2] & ~(start | gone)
    was_king = s[2] & start
    if was_king or end & (FIRST_ROW if side else LAST_ROW):
        kings |= end
    plies = ZERO
    if was_king and not gone:
        plies = (s[3] >> ONE) + ONE
    return (s[1] & ~gone, (s[0] & ~start) | end, kings, (side ^ ONE) | (plies << ONE))


@rule
def stuck(s: State) -> int:
    return LOST


@rule
def drawn(s: State) -> int:
    return 1 if (s[3] >> ONE) >= U(DRAW_PLIES) and can_move(s) else 0


@rule
def mixed(s: State, last: np.uint64) -> np.uint64:
    h = s[0] * MIX_1
    h = ((h ^ (h >> U(32))) + s[1]) * MIX_2
    h = ((h ^ (h >> U(29))) + s[2] + (last << U(40))) * MIX_1
    h ^= h >> U(32)
    return h if h != ZERO else ONE


@rule
def key(s: State) -> np.uint64:
    return mixed(s, s[3] if (s[3] >> ONE) >= U(COUNTED_PLIES) else s[3] & ONE)


@rule
def repetition(s: State) -> np.uint64:
    return mixed(s, s[3] & ONE)


@rule
def reversible(s: State) -> int:
    return int(np.int64(s[3] >> ONE))


@rule
def turned(pieces: np.uint64) -> np.uint64:
    """A few pieces as the other side sees them."""
    found = ZERO
    while pieces:
        found |= ONE << U(34 - lsb(pieces))
        pieces &= pieces - ONE
    return found


@rule
def combination(pieces: np.uint64, free: np.uint64) -> int:
    """The number of a set among all sets of as many of the free squares."""
    number = 0
    chosen = 0
    while pieces:
        below = (pieces & (~pieces + ONE)) - ONE
        pieces &= pieces - ONE
        chosen += 1
        number += CHOOSE[popcount(free & below), chosen]
    return number


@rule
def table_index(s: State) -> int:
    """The byte of a position in the endgame tables; both sides have pieces, together TABLE_PIECES at most."""
    mine, other, kings = s[0], s[1], s[2]
    if s[3] & ONE:
        mine = turned(mine)
        other = turned(other)
        kings = turned(kings)
    men = mine & ~kings
    their_men = other & ~kings
    home = men & FIRST_ROW
    at_home, away, theirs = popcount(home), popcount(men ^ home), popcount(their_men)
    my_kings, their_kings = popcount(mine & kings), popcount(other & kings)
    code = 256 * (at_home + away) + 64 * my_kings + 16 * theirs + 4 * their_kings + at_home
    free = 32 - at_home - away - theirs
    number = combination(home, FIRST_ROW) * CHOOSE[24, away] + combination(men ^ home, MIDDLE_ROWS)
    number = number * CHOOSE[28 - away, theirs] + combination(their_men, BOARD & ~(FIRST_ROW | men))
    number = number * CHOOSE[free, my_kings] + combination(mine & kings, BOARD & ~(men | their_men))
    number = number * CHOOSE[free - my_kings, their_kings]
    return int(SLICES[code] + number + combination(other & kings, BOARD & ~(mine | their_men)))


@rule
def probe(s: State, data: Any) -> int:
    """The result for the side to move with best play, and four times the plies to the end; GOES_ON where no table
    tells it.
    """
    if popcount(s[0] | s[1]) > data[TABLES_AT] or s[1] == ZERO:
        return GOES_ON
    i = table_index(s)
    entry = (data[TABLES_AT + 1 + (i >> 3)] >> (8 * (i & 7))) & 255
    if entry == 0:
        return DRAWN
    plies = entry - 1
    if np.int64(s[3] >> ONE) + min(plies, LONGEST_QUIET) >= DRAW_PLIES:
        return GOES_ON  # the draw by the count of plies may come first
    return int(4 * plies + (WON if plies & 1 else LOST))


@rule
def reversed_board(pieces: np.uint64) -> np.uint64:
    """Any number of pieces as the other side sees them."""
    x = ((pieces >> U(1)) & SWAP_1) | ((pieces & SWAP_1) << U(1))
    x = ((x >> U(2)) & SWAP_2) | ((x & SWAP_2) << U(2))
    x = ((x >> U(4)) & SWAP_4) | ((x & SWAP_4) << U(4))
    x = ((x >> U(8)) & SWAP_8) | ((x & SWAP_8) << U(8))
    x = ((x >> U(16)) & SWAP_16) | ((x & SWAP_16) << U(16))
    return ((x >> U(32)) | (x << U(32))) >> U(29)


@rule
def men_worth(men: np.uint64, data: Any) -> int:
    """What the sets of men in the pairs of rows are worth, as their owner sees them."""
    a = np.int64(men & BYTE)
    b = 256 + np.int64((men >> U(9)) & BYTE)
    c = 512 + np.int64((men >> U(18)) & BYTE)
    d = 768 + np.int64((men >> U(27)) & BYTE)
    return int(data[a] + data[b] + data[c] + data[d])


@rule
def free_neighbours(pieces: np.uint64, free: np.uint64) -> np.uint64:
    """Those of the pieces beside which a square is free."""
    return pieces & ((free >> NEAR) | (free >> FAR) | (free << NEAR) | (free << FAR))


@rule
def evaluate(s: State, data: Any) -> int:
    is_white = (s[3] & ONE) != ZERO
    mine, other, kings = s[0], s[1], s[2]
    free = BOARD & ~(mine | other)
    count = popcount(mine | other)

    # 1. Men where they stand, as their owner sees them.
    if is_white:
        my_men, their_men = reversed_board(mine & ~kings), other & ~kings
    else:
        my_men, their_men = mine & ~kings, reversed_board(other & ~kings)
    first = men_worth(my_men, data) - men_worth(their_men, data)
    last = men_worth(my_men, at(data, MEN_LAST)) - men_worth(their_men, at(data, MEN_LAST))

    # 2. Kings.
    if kings:
        my_kings, their_kings = mine & kings, other & kings
        lead = popcount(my_kings) - popcount(their_kings)
        central = popcount(my_kings & CENTRE) - popcount(their_kings & CENTRE)
        first += lead * data[KING_FIRST] + central * data[CENTRE_FIRST]
        last += lead * data[KING_LAST] + central * data[CENTRE_LAST]
        stuck_kings = popcount(their_kings & ~free_neighbours(their_kings, free))
        stuck_kings -= popcount(my_kings & ~free_neighbours(my_kings, free))
        value = stuck_kings * data[TRAPPED]
        if their_kings == ZERO:
            value += data[ONLY_KINGS]
        elif my_kings == ZERO:
            value -= data[ONLY_KINGS]
        first += value
        last += value

    # 3. Moves, with the turn: what the other side threatens where the side to move has no capture. Where it has one it
    #    is about to win a man; the search plays that out, who looks one move ahead only has to know it.
    theirs = (other, mine, kings, s[3] ^ ONE)
    down, up = downward(s), upward(s)
    ahead = popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    ahead += popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)
    down, up = downward(theirs), upward(theirs)
    ahead -= popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    ahead -= popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)
    threats = popcount(jumpers(theirs))
    first += ahead * data[MOBILITY_FIRST] + threats * data[THREAT_FIRST] + data[TURN_FIRST]
    last += ahead * data[MOBILITY_LAST] + threats * data[THREAT_LAST] + data[TURN_LAST]
    if jumpers(s):
        first += data[TO_CAPTURE]
        last += data[TO_CAPTURE]

    # 4. The move: with as many pieces each, who has it will have the opposition in the end.
    if popcount(mine) == popcount(other):
        system = BOARD & ~ODD_ROWS if is_white else ODD_ROWS
        last += data[THE_MOVE] if popcount((mine | other) & system) & 1 else -data[THE_MOVE]
    return int((first * count + last * (24 - count)) // 24)


def turn(s: State) -> int:
    return int(s[3]) & 1


def _path(m: int) -> list[int]:
    """The bits that a move comes by, first to last."""
    path, ways = [m >> 6 & 63], m >> 12
    while ways > 1:
        path.append(path[-1] - 2 * STEPS[ways & 3])
        ways >>= 2
    return path[::-1] if m >= JUMP else [m & 63, *path]


def parse_move(s: State, text: str) -> int:
    if not MOVE_TEXT.fullmatch(text):
        raise ValueError("11-15 is a move, 22x15 a capture, 1x10x17 one with two jumps")
    squares = [_bit(number) for number in re.split("[-x]", text)]
    ends = squares[0] | squares[-1] << 6
    if "-" in text:
        return ends
    ways = [(b - a) // 2 if (b - a) % 2 == 0 else 0 for a, b in pairwise(squares)]
    if not set(ways) <= set(STEPS):
        return _shortened(s, ends)
    path = 1
    for way in ways:
        path = path * 4 + STEPS.index(way)
    return ends | path << 12


def _same_ends(s: State, m: int) -> list[int]:
    """The captures from the same square to the same square."""
    buffer = [0] * MAX_MOVES
    return [other for other in buffer[: moves(s, buffer)] if other >= JUMP and (other ^ m) & (JUMP - 1) == 0]


def _shortened(s: State, ends: int) -> int:
    """The one capture from the first to the last square, for those who write 1x17 when no other goes there."""
    found = _same_ends(s, ends)
    if len(found) > 1:
        raise ValueError("several captures go there: name every square on the way, 1x10x17")
    return found[0] if found else ends | JUMP  # a jump of no length is never legal


def notation(s: State, m: int) -> str:
    """Captures without the squares on the way, where that is clear."""
    token = format_move(s, m)
    squares = token.split("x")
    return f"{squares[0]}x{squares[-1]}" if len(squares) > 2 and len(_same_ends(s, m)) == 1 else token


def _bit(number: str) -> int:
    if not 1 <= int(number) <= 32:
        raise ValueError(f"the squares are 1 to 32, not {number}")
    return SQUARE_BITS[int(number) - 1]


def format_move(s: State, m: int) -> str:
    return ("x" if m >= JUMP else "-").join([str(NUMBER[bit]) for bit in _path(m)])


def _pieces(text: str, promoted: int) -> tuple[int, int]:
    """The pieces and the kings of a side, from a list like 18,24,K10."""
    pieces = kings = 0
    for part in text.split(",") if text else ():
        match = PIECE_TEXT.fullmatch(part)
        if not match:
            raise ValueError(f"{part} is not a piece: 18 is a man, K18 a king")
        bit = 1 << _bit(match[2])
        if pieces & bit:
            raise ValueError(f"there are two pieces on {match[2]}")
        if not match[1] and promoted & bit:
            raise ValueError(f"a man on {match[2]} would be a king")
        pieces |= bit
        kings |= bit if match[1] else 0
    if pieces.bit_count() > 12:
        raise ValueError("a side has twelve pieces at most")
    return pieces, kings


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match or int(match[4]) > DRAW_PLIES:
        raise ValueError(
            "the side to move, each side's squares (K before kings) and the plies since a capture or a man's"
            " move are expected: B:W18,24,K10:B12,16:H0"
        )
    white, white_kings = _pieces(match[2], int(FIRST_ROW))
    black, black_kings = _pieces(match[3], int(LAST_ROW))
    if white & black:
        raise ValueError("two pieces stand on one square")
    kings = U(white_kings | black_kings)
    if match[1] == "B":
        return (U(black), U(white), kings, U(int(match[4]) << 1))
    return (U(white), U(black), kings, U(int(match[4]) << 1 | 1))


def _sides(s: State) -> tuple[int, int]:
    """The black and the white pieces."""
    mine, other = int(s[0]), int(s[1])
    return (other, mine) if turn(s) else (mine, other)


def _numbers(pieces: int) -> Iterator[tuple[int, int]]:
    """Number and bit of the squares that are set."""
    while pieces:
        bit = pieces & -pieces
        pieces ^= bit
        yield NUMBER[bit.bit_length() - 1], bit


def format_position(s: State) -> str:
    black, white = _sides(s)
    kings = int(s[2])
    lists = [",".join([f"K{i}" if kings & bit else f"{i}" for i, bit in _numbers(side)]) for side in (white, black)]
    return f"{'BW'[turn(s)]}:W{lists[0]}:B{lists[1]}:H{int(s[3]) >> 1}"


def ending(s: State) -> str:
    if drawn(s):
        return "40 moves each without a capture or a man's move"
    return "no move is left" if s[0] else "no piece is left"


def _row_names(row: int) -> tuple[str | None, ...]:
    """A row as Black sees it, who begins and sits below: squares 4 to 1 on the row nearest to them."""
    numbers = [str(4 * row + 4 - i) for i in range(4)]
    cells = [cell for number in numbers for cell in ((number, None) if row % 2 == 0 else (None, number))]
    return tuple(cells)


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=8, rows=8, names=tuple(_row_names(row) for row in range(8)), style="checker", flips=True),
        kinds={
            "b": Kind(name="black man", side=0, text="b"),
            "B": Kind(name="black king", side=0, shape="stack", text="B"),
            "w": Kind(name="white man", side=1, text="w"),
            "W": Kind(name="white king", side=1, shape="stack", text="W"),
        },
        seats=(SeatView(NAMES[0], "#2f2b28"), SeatView(NAMES[1], "#f3ead6")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    black, white = _sides(s)
    kings = int(s[2])
    pieces = {str(number): "B" if kings & bit else "b" for number, bit in _numbers(black)}
    pieces.update({str(number): "W" if kings & bit else "w" for number, bit in _numbers(white)})
    last_path = tuple([str(NUMBER[bit]) for bit in _path(last[1])]) if last else ()
    marks = {"last": last_path}
    side = turn(s)
    if not can_move(s):
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, last_path)
    if drawn(s):
        return PositionView(pieces, None, "Draw", marks, last_path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, last_path)


def move_view(s: State, m: int) -> MoveView:
    token = format_move(s, m)
    affects = tuple([str(number) for number, _ in _numbers(int(taken(m)))])
    return MoveView(id=token, path=tuple(re.split("[-x]", token)), text=token, affects=affects)
