"""International draughts on 100 squares: flying kings, and the capture that takes most pieces is compulsory."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from engine.game import GOES_ON, LOST, Option, State
from engine.jit import U, at, lsb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "international-draughts"
TITLE = "International draughts"
WORDS = 4  # pieces of the side to move, of the other side, the kings among them, the side to move with three counts
MAX_MOVES = 512  # twenty kings have at most 17 moves each; captures: see `captures`
LEVELS = 8
LEVEL_TABLE = (
    (1, 32, 343),
    (2, 120, 500),
    (40, 12, 312),
    (280, 7, 215),
    (800, 4, 165),
    (2_000, 2, 118),
    (5_500, 1, 30),
)
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/international_draughts.txt",)
REPETITION = 3
RULES = """Twenty men a side stand on the dark squares of the four rows nearest to their player. The dark squares have
numbers: 1 to 20 are Black's at the start, 31 to 50 are White's. White begins, and the sides take turns.

A man moves one square forward along a diagonal. A man whose move ends on the last row becomes a king. A king moves any
number of free squares along a diagonal, forward or backward.

A man captures an adjacent piece of the other side, forward or backward, by jumping over it to the free square behind.
A king captures a piece at any distance along a diagonal, if all squares in between are free, and may come down on any
free square behind it as far as the next piece. Whoever can jump on with the same piece must, in the same move. Pieces
that were jumped over are taken off when the move is over: until then they stand in the way, and none may be jumped
over twice. A man that comes by the last row and captures on from there stays a man.

Whoever can capture must, and must take as many pieces as possible; men and kings count the same. Between captures of
equally many you may choose. Ways that begin and end on the same squares and take the same pieces are one move.

Whoever has no move, because no piece is left or all are blocked, has lost.

The match is drawn when the same position with the same side to move is there for the third time; when both sides have
made 25 moves in a row with kings and without a capture; when both have made 16 moves since one side has only a king
left against three pieces with a king among them; and when both have made 5 since it is against two such pieces or one.

A move is written with the numbers of its squares: 32-28, and 28x19 for a capture, 28x19x10 when it jumps on."""

# Squares 1 to 50 are bits 0 to 53, without a bit after every ten: so each direction is one shift from every square, and
# a step over the edge comes to a bit that is no square.
ZERO, ONE = U(0), U(1)
TWO_ROWS = 0x3FF
BOARD = U(sum(TWO_ROWS << 11 * i for i in range(5)))
ROW_BITS = tuple(0x1F << (11 * (row // 2) + 5 * (row % 2)) for row in range(10))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[9])
NEAR, FAR = U(5), U(6)
NEAR_JUMP, FAR_JUMP = U(10), U(12)
DOUBLES = tuple(U(TWO_ROWS << 11 * i) for i in range(5))
PACKED_DOUBLES = tuple(U(TWO_ROWS << 10 * i) for i in range(5))

# A move: bits 0 to 5 from, 6 to 11 to, from 12 on the squares of the pieces that it takes, one bit each.
CAPTURE = 1 << 12
FOUND = 1024
"""A list of captures in one number: the pieces that each takes times this, and how many there are."""

# The last word of a state: bit 0 the side, White 0; from bit 1 the plies of kings without a capture, from bit 9 those
# since a king stood alone against three, from bit 17 those since it stood alone against fewer.
PLIES = U(255)
KING_PLIES, THREE_PLIES, TWO_PLIES = 50, 32, 10
COUNTED_PLIES = 24
"""So many plies of kings make the count part of a state's key: before that a search hardly comes as far as the draw."""
MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)

SQUARE_BITS = tuple(square + square // 10 for square in range(50))
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}
DIAGONAL = U(sum(1 << SQUARE_BITS[number - 1] for number in (5, 10, 14, 19, 23, 28, 32, 37, 41, 46)))
LEFT = U(sum(1 << SQUARE_BITS[5 * row + x] for row in range(10) for x in (0, 1)))
RIGHT = U(sum(1 << SQUARE_BITS[5 * row + x] for row in range(10) for x in (3, 4)))

# The numbers of the evaluation in the game's data: what each set of men in a pair of rows is worth, then for each of
# eight regions of eight squares what each way is worth in which both sides' men stand there; rows and regions as the
# owner of the men sees them, the regions from home to the sixth row. Then by how many men more stand on one wing than
# on the other, and the rest. Of numbers by phase the first holds with 40 pieces on the board and the last with none.
SETS, WAYS, REGIONS = 1024, 3**8, 8
MEN_FIRST, MEN_LAST, REGION, BALANCE = 0, 5 * SETS, 10 * SETS, 10 * SETS + REGIONS * WAYS
REST = BALANCE + 16
KING_FIRST, KING_LAST, DIAGONAL_KING, ONLY_KINGS, THREAT_FIRST, THREAT_LAST = range(REST, REST + 6)
MOBILITY_FIRST, MOBILITY_LAST, TURN_FIRST, TURN_LAST, TO_CAPTURE = range(REST + 6, REST + 11)
FOUR_COLUMNS = U(0b1100011 | 0b1100011 << 11)
"""Those of four neighbouring columns in two pairs of rows: eight squares."""
TERNARY = np.array([sum(3**i for i in range(8) if squares >> i & 1) for squares in range(256)])
SWAP_1, SWAP_2, SWAP_4 = U(0x5555555555555555), U(0x3333333333333333), U(0x0F0F0F0F0F0F0F0F)
SWAP_8, SWAP_16 = U(0x00FF00FF00FF00FF), U(0x0000FFFF0000FFFF)

NAMES = ("White", "Black")
MOVE_TEXT = re.compile(r"[1-9][0-9]?(?:-[1-9][0-9]?|(?:x[1-9][0-9]?){1,20})")
POSITION_TEXT = re.compile(
    r"([BW]):W([K0-9,]*):B([K0-9,]*):H([0-9]|[1-4][0-9]|50)(?:,([0-9]|[12][0-9]|3[0-2]),([0-9]|10))?"
)
PIECE_TEXT = re.compile(r"(K?)([1-9][0-9]?)")


def init(options: Mapping[str, str]) -> State:
    black, white = (U(sum(ROW_BITS[row] for row in rows)) for rows in (range(4), range(6, 10)))
    return (white, black, ZERO, ZERO)


@rule
def step(here: np.uint64, way: int) -> np.uint64:
    """The next square one way: down to the left, down to the right, up to the right, up to the left."""
    if way == 0:
        return here << NEAR
    if way == 1:
        return here << FAR
    if way == 2:
        return here >> NEAR
    return here >> FAR


@rule
def packed(squares: np.uint64) -> np.uint64:
    """One bit a square, without those in between."""
    found = ZERO
    for i in range(5):
        found |= (squares & DOUBLES[i]) >> U(i)
    return found


@rule
def taken(m: int) -> np.uint64:
    """The squares of the pieces that a move takes."""
    squares = U(m >> 12)
    found = ZERO
    for i in range(5):
        found |= (squares & PACKED_DOUBLES[i]) << U(i)
    return found


@rule("i8(u8, i8, i8, b1, u8, u8, u8, i8, i8*)")
def captures(
    here: np.uint64,
    start: int,
    ahead: int,
    flies: bool,
    other: np.uint64,
    free: np.uint64,
    gone: np.uint64,
    found: int,
    buf: Any,
) -> int:
    """Writes the captures that go on from a square in place of those that take fewer pieces; see FOUND.

    `ahead` is a way not to look, because the next square on it will: -1 for none. The list has room for twice as many
    captures as a search for the worst position found (225); a position that fills it is none to `parse_position`.
    """
    for way in range(4):
        if way == ahead:
            continue
        over = step(here, way)
        while flies and over & free:
            over = step(over, way)
        if over & other & ~gone:
            land = step(over, way)
            while land & free:
                beyond = step(land, way) if flies else ZERO
                next_looks = way if beyond & free else -1
                found = captures(land, start, next_looks, flies, other, free, gone | over, found, buf)
                land = beyond
    pieces = popcount(gone)
    if pieces == 0 or pieces < found // FOUND:
        return found
    if pieces > found // FOUND:
        found = pieces * FOUND
    n = found % FOUND
    move = start | (lsb(here) << 6) | int(np.int64(packed(gone) << U(12)))
    for i in range(n):
        if buf[i] == move:
            return found
    if n < MAX_MOVES:
        buf[n] = move
        found += 1
    return found


@rule
def capture_nearby(s: State) -> np.uint64:
    """The pieces that can capture one next to them; kings may reach others as well."""
    other = s[1]
    free = BOARD & ~(s[0] | other)
    down = ((other >> NEAR) & (free >> NEAR_JUMP)) | ((other >> FAR) & (free >> FAR_JUMP))
    up = ((other << NEAR) & (free << NEAR_JUMP)) | ((other << FAR) & (free << FAR_JUMP))
    return s[0] & (down | up)


@rule
def all_captures(s: State, buf: Any) -> int:
    """Writes the captures that take most pieces and returns their number."""
    free = BOARD & ~(s[0] | s[1])
    pieces = capture_nearby(s) | (s[0] & s[2])
    found = 0
    while pieces:
        bit = lsb(pieces)
        here = ONE << U(bit)
        pieces ^= here
        found = captures(here, bit, -1, (s[2] & here) != ZERO, s[1], free | here, ZERO, found, buf)
    return found % FOUND


@rule
def steps_of_men(s: State, far: bool) -> np.uint64:
    """The free squares that men come to by a step forward, the nearer or the farther way."""
    men = s[0] & ~s[2]
    free = BOARD & ~(s[0] | s[1])
    if s[3] & ONE:
        return free & (men << FAR if far else men << NEAR)
    return free & (men >> FAR if far else men >> NEAR)


@rule
def moves(s: State, buf: Any) -> int:
    n = all_captures(s, buf)
    if n > 0:
        return n
    free = BOARD & ~(s[0] | s[1])
    for far in range(2):
        targets = steps_of_men(s, far == 1)
        back = -5 - far if s[3] & ONE else 5 + far
        while targets:
            bit = lsb(targets)
            targets &= targets - ONE
            buf[n] = (bit + back) | (bit << 6)
            n += 1
    kings = s[0] & s[2]
    while kings:
        bit = lsb(kings)
        kings &= kings - ONE
        for way in range(4):
            target = step(ONE << U(bit), way)
            while target & free:
                buf[n] = bit | (lsb(target) << 6)
                n += 1
                target = step(target, way)
    return n


@rule
def count(s: State, buf: Any) -> int:
    if s[0] & s[2]:
        return moves(s, buf)
    n = all_captures(s, buf) if capture_nearby(s) else 0
    return n if n > 0 else popcount(steps_of_men(s, False)) + popcount(steps_of_men(s, True))


@rule
def can_move(s: State) -> bool:
    free = BOARD & ~(s[0] | s[1])
    kings = s[0] & s[2]
    around = (free << NEAR) | (free << FAR) | (free >> NEAR) | (free >> FAR)
    quiet = (kings & around) | steps_of_men(s, False) | steps_of_men(s, True)
    return bool((quiet | capture_nearby(s)) != ZERO)


@rule
def lonely(mine: np.uint64, other: np.uint64, kings: np.uint64) -> int:
    """The pieces, a king and others, that a side has against a single king; 0 where it is not so."""
    pieces = popcount(mine)
    return pieces if pieces <= 3 and mine & kings and popcount(other) == 1 and other & kings else 0


@rule
def play(s: State, m: int) -> State:
    start, end = ONE << U(m & 63), ONE << U((m >> 6) & 63)
    side = s[3] & ONE
    gone = ZERO
    if m >= CAPTURE:
        gone = taken(m)
    mine, other = (s[0] & ~start) | end, s[1] & ~gone
    kings = s[2] & ~(start | gone)
    was_king = s[2] & start
    if was_king or end & (LAST_ROW if side else FIRST_ROW):
        kings |= end
    counts = (((s[3] >> ONE) & PLIES) + ONE) << ONE if was_king and not gone else ZERO
    if popcount(mine | other) <= 4:
        pieces = max(lonely(mine, other, kings), lonely(other, mine, kings))
        before = max(lonely(s[0], s[1], s[2]), lonely(s[1], s[0], s[2]))
        if pieces > 0 and before > 0:
            counts |= (((s[3] >> U(9)) & PLIES) + ONE) << U(9)
        if 0 < pieces < 3 and 0 < before < 3:
            counts |= (((s[3] >> U(17)) & PLIES) + ONE) << U(17)
    return (other, mine, kings, (side ^ ONE) | counts)


@rule
def status(s: State) -> int:
    return GOES_ON if s[0] else LOST


@rule
def stuck(s: State) -> int:
    return LOST


@rule
def counted_out(s: State) -> bool:
    """Is one of the three counts of moves without an end at its end?"""
    quiet, three, two = (s[3] >> ONE) & PLIES, (s[3] >> U(9)) & PLIES, (s[3] >> U(17)) & PLIES
    return bool(quiet >= U(KING_PLIES) or three >= U(THREE_PLIES) or two >= U(TWO_PLIES))


@rule
def drawn(s: State) -> int:
    return 1 if counted_out(s) and can_move(s) else 0


@rule
def mixed(s: State, last: np.uint64) -> np.uint64:
    h = s[0] * MIX_1
    h = ((h ^ (h >> U(32))) + s[1]) * MIX_2
    h = ((h ^ (h >> U(29))) + s[2]) * MIX_1
    h = ((h ^ (h >> U(32))) + last) * MIX_2
    h ^= h >> U(29)
    return h if h != ZERO else ONE


@rule
def key(s: State) -> np.uint64:
    counts_matter = (s[3] >> U(9)) != ZERO or ((s[3] >> ONE) & PLIES) >= U(COUNTED_PLIES)
    return mixed(s, s[3] if counts_matter else s[3] & ONE)


@rule
def repetition(s: State) -> np.uint64:
    return mixed(s, s[3] & ONE)


@rule
def reversible(s: State) -> int:
    return int(np.int64((s[3] >> ONE) & PLIES))


@rule
def king_captures(s: State) -> bool:
    """Can a king capture, at any distance?"""
    free = BOARD & ~(s[0] | s[1])
    kings = s[0] & s[2]
    while kings:
        here = kings & (~kings + ONE)
        kings ^= here
        for way in range(4):
            over = step(here, way)
            while over & free:
                over = step(over, way)
            if over & s[1] and step(over, way) & free:
                return True
    return False


@rule
def tense(s: State) -> int:
    """Whoever must capture has no free choice."""
    return 1 if capture_nearby(s) or king_captures(s) else 0


@rule
def noisy(s: State, buf: Any) -> int:
    """The moves that crown a man, where no capture is to be made."""
    if tense(s):
        return 0
    n = 0
    for far in range(2):
        targets = steps_of_men(s, far == 1) & (LAST_ROW if s[3] & ONE else FIRST_ROW)
        back = -5 - far if s[3] & ONE else 5 + far
        while targets:
            bit = lsb(targets)
            targets &= targets - ONE
            buf[n] = (bit + back) | (bit << 6)
            n += 1
    return n


@rule
def rank(s: State, m: int) -> int:
    """Captures, those of kings before others, then moves that crown."""
    if m >= CAPTURE:
        return 2 + popcount(taken(m) & s[2])
    end = ONE << U((m >> 6) & 63)
    return 1 if end & (FIRST_ROW | LAST_ROW) and (ONE << U(m & 63)) & ~s[2] else 0


@rule
def reversed_board(pieces: np.uint64) -> np.uint64:
    """Any number of pieces as the other side sees them."""
    x = ((pieces >> U(1)) & SWAP_1) | ((pieces & SWAP_1) << U(1))
    x = ((x >> U(2)) & SWAP_2) | ((x & SWAP_2) << U(2))
    x = ((x >> U(4)) & SWAP_4) | ((x & SWAP_4) << U(4))
    x = ((x >> U(8)) & SWAP_8) | ((x & SWAP_8) << U(8))
    x = ((x >> U(16)) & SWAP_16) | ((x & SWAP_16) << U(16))
    return ((x >> U(32)) | (x << U(32))) >> U(10)


@rule
def sets_worth(men: np.uint64, data: Any) -> int:
    """What the sets of men in the pairs of rows are worth, as their owner sees them."""
    total = 0
    for i in range(5):
        total += data[SETS * i + np.int64((men >> U(11 * i)) & U(SETS - 1))]
    return int(total)


@rule
def eight(men: np.uint64, corner: int) -> np.int64:
    """The men on four columns of two pairs of rows from a square on, as eight bits."""
    x = (men >> U(corner)) & FOUR_COLUMNS
    x |= x >> U(3)
    return np.int64((x & U(15)) | ((x >> U(7)) & U(240)))


@rule
def regions_worth(men: np.uint64, other: np.uint64, data: Any) -> int:
    """What the men of both sides in each region are worth to the owner of `men`, who sees them from home."""
    total = 0
    for row in range(2):
        for column in range(4):
            corner = 11 * row + column
            way = TERNARY[eight(men, corner)] + 2 * TERNARY[eight(other, corner)]
            total += data[REGION + WAYS * (4 * row + column) + way]
    return int(total)


@rule
def skew(men: np.uint64) -> int:
    """How many men more stand on one wing than on the other."""
    return abs(popcount(men & LEFT) - popcount(men & RIGHT))


@rule
def evaluate(s: State, data: Any) -> int:
    mine, other, kings = s[0], s[1], s[2]
    count = popcount(mine | other)

    # 1. Men where they stand, as either side sees them from its home.
    my_men, their_men = mine & ~kings, other & ~kings
    if (s[3] & ONE) == ZERO:
        me_mine, me_theirs = reversed_board(my_men), reversed_board(their_men)
        they_mine, they_theirs = my_men, their_men
    else:
        me_mine, me_theirs = my_men, their_men
        they_mine, they_theirs = reversed_board(my_men), reversed_board(their_men)
    first = sets_worth(me_mine, data) - sets_worth(they_theirs, data)
    last = sets_worth(me_mine, at(data, MEN_LAST)) - sets_worth(they_theirs, at(data, MEN_LAST))
    value = regions_worth(me_mine, me_theirs, data) - regions_worth(they_theirs, they_mine, data)
    value += data[BALANCE + skew(my_men)] - data[BALANCE + skew(their_men)]

    # 2. Kings.
    if kings:
        my_kings, their_kings = mine & kings, other & kings
        lead = popcount(my_kings) - popcount(their_kings)
        first += lead * data[KING_FIRST]
        last += lead * data[KING_LAST]
        value += (popcount(my_kings & DIAGONAL) - popcount(their_kings & DIAGONAL)) * data[DIAGONAL_KING]
        if their_kings == ZERO:
            value += data[ONLY_KINGS]
        elif my_kings == ZERO:
            value -= data[ONLY_KINGS]

    # 3. Moves of men, with the turn: what the other side threatens where the side to move has no capture. Where it has
    #    one it is about to win a man; the search plays that out, who looks one move ahead only has to know it.
    theirs = (other, mine, kings, s[3] ^ ONE)
    ahead = popcount(steps_of_men(s, False)) + popcount(steps_of_men(s, True))
    ahead -= popcount(steps_of_men(theirs, False)) + popcount(steps_of_men(theirs, True))
    threats = popcount(capture_nearby(theirs))
    first += ahead * data[MOBILITY_FIRST] + threats * data[THREAT_FIRST] + data[TURN_FIRST]
    last += ahead * data[MOBILITY_LAST] + threats * data[THREAT_LAST] + data[TURN_LAST]
    if tense(s):
        value += data[TO_CAPTURE]

    # 4. A king that stands alone is hardly ever caught by three pieces or fewer.
    value += (first * count + last * (40 - count)) // 40
    if count <= 4 and (lonely(mine, other, kings) or lonely(other, mine, kings)):
        return int(value // 10)
    return int(value)


def turn(s: State) -> int:
    return int(s[3]) & 1


def _ways(here: int, end: int, free: int, left: int, flies: bool) -> Iterator[list[int]]:
    """The ways to take all that is left and to end on a square."""
    if not left:
        if here == end:
            yield [here]
        return
    for way in range(4):
        over = int(step(U(here), way))
        while flies and over & free:
            over = int(step(U(over), way))
        if over & left:
            land = int(step(U(over), way))
            while land & free:
                for rest in _ways(land, end, free, left ^ over, flies):
                    yield [here, *rest]
                land = int(step(U(land), way)) if flies else 0


def _path(s: State, m: int) -> list[int]:
    """The bits that a move comes by, first to last: one way of several, where a king may choose how to come round."""
    start, end = 1 << (m & 63), 1 << (m >> 6 & 63)
    if m < CAPTURE:
        return [m & 63, m >> 6 & 63]
    free = int(BOARD) & ~int(s[0] | s[1]) | start
    way = next(_ways(start, end, free, int(taken(m)), bool(int(s[2]) & start)))
    return [square.bit_length() - 1 for square in way]


def parse_move(s: State, text: str) -> int:
    if not MOVE_TEXT.fullmatch(text):
        raise ValueError("32-28 is a move, 28x19 a capture, 28x19x10 one with two jumps")
    squares = [_bit(number) for number in re.split("[-x]", text)]
    ends = squares[0] | squares[-1] << 6
    if "-" in text:
        return ends
    gone = 0
    for a, b in pairwise(squares):
        gone |= _jumped(1 << a, 1 << b, int(s[1]) & ~gone)
    move = ends | int(packed(U(gone))) << 12
    buffer = [0] * MAX_MOVES
    legal = buffer[: moves(s, buffer)]
    if move in legal or len(squares) > 2:
        return move if gone else ends | CAPTURE
    found = [other for other in legal if other >= CAPTURE and (other ^ ends) & (CAPTURE - 1) == 0]
    if len(found) > 1:
        raise ValueError("several captures go there: name every square on the way, 28x19x10")
    return found[0] if found else ends | CAPTURE


def _jumped(start: int, end: int, other: int) -> int:
    """The one piece of the other side between two squares of a diagonal; 0 when there is none or another number."""
    for way in range(4):
        between = 0
        square = int(step(U(start), way))
        while square & int(BOARD):
            if square == end:
                return between & other if (between & other).bit_count() == 1 else 0
            between |= square
            square = int(step(U(square), way))
    return 0


def _bit(number: str) -> int:
    if not 1 <= int(number) <= 50:
        raise ValueError(f"the squares are 1 to 50, not {number}")
    return SQUARE_BITS[int(number) - 1]


def format_move(s: State, m: int) -> str:
    return ("x" if m >= CAPTURE else "-").join([str(NUMBER[bit]) for bit in _path(s, m)])


def notation(s: State, m: int) -> str:
    """Captures without the squares on the way, where that is clear."""
    token = format_move(s, m)
    squares = token.split("x")
    if len(squares) < 3:
        return token
    buffer = [0] * MAX_MOVES
    same = [other for other in buffer[: moves(s, buffer)] if (other ^ m) & (CAPTURE - 1) == 0]
    return f"{squares[0]}x{squares[-1]}" if len(same) == 1 else token


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
    if pieces.bit_count() > 20:
        raise ValueError("a side has twenty pieces at most")
    return pieces, kings


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "the side to move, each side's squares (K before kings) and the plies of kings only are expected, then"
            " those of a king alone against three and against two, if any: W:W32,K38:B12,16:H0, W:WK38:BK12,K16:H7,7,7"
        )
    white, white_kings = _pieces(match[2], int(FIRST_ROW))
    black, black_kings = _pieces(match[3], int(LAST_ROW))
    if white & black:
        raise ValueError("two pieces stand on one square")
    kings = U(white_kings | black_kings)
    last = int(match[4]) << 1 | int(match[5] or 0) << 9 | int(match[6] or 0) << 17
    first, second, side = (white, black, 0) if match[1] == "W" else (black, white, 1)
    state = (U(first), U(second), kings, U(last | side))
    if moves(state, [0] * MAX_MOVES) == MAX_MOVES:
        raise ValueError("there are more captures than have room")
    return state


def _sides(s: State) -> tuple[int, int]:
    """The white and the black pieces."""
    mine, other = int(s[0]), int(s[1])
    return (other, mine) if turn(s) else (mine, other)


def _numbers(pieces: int) -> Iterator[tuple[int, int]]:
    """Number and bit of the squares that are set."""
    while pieces:
        bit = pieces & -pieces
        pieces ^= bit
        yield NUMBER[bit.bit_length() - 1], bit


def format_position(s: State) -> str:
    kings, last = int(s[2]), int(s[3])
    lists = [",".join([f"K{i}" if kings & bit else f"{i}" for i, bit in _numbers(side)]) for side in _sides(s)]
    endgame = f",{last >> 9 & 255},{last >> 17 & 255}" if last >> 9 else ""
    return f"{'WB'[turn(s)]}:W{lists[0]}:B{lists[1]}:H{last >> 1 & 255}{endgame}"


def ending(s: State) -> str:
    if not drawn(s):
        return "no move is left" if s[0] else "no piece is left"
    last = int(s[3])
    if last >> 1 & 255 >= KING_PLIES:
        return "25 moves each of kings without a capture"
    return f"{5 if last >> 17 & 255 >= TWO_PLIES else 16} moves each against a single king"


def _row_names(row: int) -> tuple[str | None, ...]:
    """A row as White sees it, counted from below: squares 46 to 50 on the row nearest to them."""
    numbers = [str(46 - 5 * row + i) for i in range(5)]
    return tuple([cell for number in numbers for cell in ((number, None) if row % 2 == 0 else (None, number))])


def board(options: Mapping[str, str]) -> BoardView:
    names = tuple(_row_names(row) for row in range(10))
    return BoardView(
        board=Grid(cols=10, rows=10, names=names, style="checker", flips=True),
        kinds={
            "w": Kind(name="white man", side=0, text="w"),
            "W": Kind(name="white king", side=0, shape="stack", text="W"),
            "b": Kind(name="black man", side=1, text="b"),
            "B": Kind(name="black king", side=1, shape="stack", text="B"),
        },
        seats=(SeatView(NAMES[0], "#f3ead6"), SeatView(NAMES[1], "#2f2b28")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    white, black = _sides(s)
    kings = int(s[2])
    pieces = {str(number): "W" if kings & bit else "w" for number, bit in _numbers(white)}
    pieces.update({str(number): "B" if kings & bit else "b" for number, bit in _numbers(black)})
    last_path = tuple([str(NUMBER[bit]) for bit in _path(*last)]) if last else ()
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
