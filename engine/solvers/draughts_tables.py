"""The endgame tables of draughts by retrograde analysis, compiled with the rules of the game.

The entry of a position is a byte: 0 for a draw, else 1 plus the plies to the end with best play,
that is, the fastest win or the slowest loss. An even number of plies is a loss for the side to
move, which has no move left at the end; an odd number is a win.

The method is that of Thompson (ICCA Journal 9/3, 1986), by distance. First each position of a slice
gets an initial value from its moves that leave the slice, by a capture or a promotion, and the
number of its other moves; the slices to which captures and promotions lead are complete. Then, for
each distance in turn, the positions at that distance update their predecessors, which are found by
undoing quiet moves.

All memory is 64-bit words. B is the tables, eight entries to a word. L and X have the same layout:
L counts the moves of each position whose results are open, and X is its entry if all of them lose.
A is a buffer for a list of moves. See `engine.compiler.native` for the compilation.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.jit import popcount

U = np.uint64
ZERO, ONE = U(0), U(1)
#: A placeholder; compilation replaces it by the value of the game.
MAX_MOVES = 1
#: A placeholder, like MAX_MOVES.
REPEATS = 0
#: A move of this value or more is a capture.
CAPTURE = 1 << 12
#: In L, the mark of a position that is not lost.
NOT_LOST = 255
#: Maximum value of an entry.
MAX_ENTRY = 254
#: The shift of each direction, as in the rules.
STEPS = (4, 5, -4, -5)

# The numbering of the tables.
from engine.games.draughts_parts.board import BOARD, FIRST_ROW  # noqa: E402
from engine.games.draughts_parts.tables import BINOMIALS, MIDDLE_ROWS, SLICES  # noqa: E402

MORE_HOOKS = ("table_index", "jumpers")

SIGNATURES = {
    "read_byte": "i8(i8*, i8)",
    "write_byte": "void(i8*, i8, i8)",
    "square_set": "u8(i8, i8, u8)",
    "slice_size": "i8(i8)",
    "position_of": "state(i8, i8)",
    "initialize_slice": "i8(i8, i8*, i8*, i8*, i8*)",
    "update_predecessors": "i8(state, i8, i8*, i8*, i8*)",
    "propagate_entry": "i8(i8, i8, i8*, i8*, i8*)",
    "build": "i8(i8, i8, i8*, i8*, i8*, i8*)",
}
CALLS = {
    "position_of": ("square_set",),
    "initialize_slice": ("read_byte", "write_byte", "slice_size", "position_of"),
    "update_predecessors": ("read_byte", "write_byte"),
    "propagate_entry": ("read_byte", "slice_size", "position_of", "update_predecessors"),
    "build": ("initialize_slice", "propagate_entry"),
}


def table_index(s: State) -> int:
    raise NotImplementedError


def jumpers(s: State) -> np.uint64:
    raise NotImplementedError


def moves(s: State, buf: Any) -> int:
    raise NotImplementedError


def play(s: State, m: int) -> State:
    raise NotImplementedError


def read_byte(memory: Any, i: int) -> int:
    return int((memory[i >> 3] >> (8 * (i & 7))) & 255)


def write_byte(memory: Any, i: int, value: int) -> None:
    shift = 8 * (i & 7)
    memory[i >> 3] = (memory[i >> 3] & ~(255 << shift)) | (value << shift)


def square_set(number: int, count: int, free: np.uint64) -> np.uint64:
    """The set of `count` free squares with that number, the inverse of the rule `combination`."""
    chosen_squares = ZERO
    for chosen in range(count, 0, -1):
        below = chosen - 1
        while BINOMIALS[below + 1, chosen] <= number:
            below += 1
        number -= BINOMIALS[below, chosen]
        remaining = free
        for _ in range(below):
            remaining &= remaining - ONE
        chosen_squares |= remaining & (~remaining + ONE)
    return chosen_squares


def slice_size(code: int) -> int:
    """The number of positions of a slice."""
    men, kings, first_row_men = code >> 8, code >> 6 & 3, code & 3
    their_men, their_kings = code >> 4 & 3, code >> 2 & 3
    free = 32 - men - their_men
    men_placements = (
        BINOMIALS[4, first_row_men]
        * BINOMIALS[24, men - first_row_men]
        * BINOMIALS[28 - men + first_row_men, their_men]
    )
    return int(men_placements * BINOMIALS[free, kings] * BINOMIALS[free - kings, their_kings])


def position_of(code: int, number: int) -> State:
    """The position with that number in a slice, with Black to move."""
    men, kings, first_row_men = code >> 8, code >> 6 & 3, code & 3
    their_men, their_kings = code >> 4 & 3, code >> 2 & 3
    free = 32 - men - their_men
    placements = BINOMIALS[free - kings, their_kings]
    their_kings_number = number % placements
    number //= placements
    placements = BINOMIALS[free, kings]
    kings_number = number % placements
    number //= placements
    placements = BINOMIALS[28 - men + first_row_men, their_men]
    their_men_number = number % placements
    number //= placements
    placements = BINOMIALS[24, men - first_row_men]
    my_men = square_set(number // placements, first_row_men, FIRST_ROW) | square_set(
        number % placements, men - first_row_men, MIDDLE_ROWS
    )
    men_of_other = square_set(their_men_number, their_men, BOARD & ~(FIRST_ROW | my_men))
    my_kings = square_set(kings_number, kings, BOARD & ~(my_men | men_of_other))
    kings_of_other = square_set(
        their_kings_number, their_kings, BOARD & ~(my_men | men_of_other | my_kings)
    )
    return (my_men | my_kings, men_of_other | kings_of_other, my_kings | kings_of_other, ZERO)


def initialize_slice(code: int, B: Any, L: Any, X: Any, A: Any) -> int:
    """Sets the initial values of a slice from moves that leave it; returns the highest entry."""
    highest = 0
    for number in range(slice_size(code)):
        s = position_of(code, number)
        i = SLICES[code] + number
        n = moves(s, A)
        won = 0  # the lowest entry of a win
        lost = 1  # the highest entry of a loss, if every move loses
        drawn = 0
        open_moves = 0
        for t in range(n):
            m = A[t]
            child = play(s, m)
            if m < CAPTURE and popcount(child[2]) == popcount(s[2]):
                open_moves += 1
                continue
            entry = 1 if child[0] == ZERO else read_byte(B, table_index(child))
            if entry == 0:
                drawn = 1
            elif entry & 1 == 0:
                lost = max(lost, entry + 1)
            elif won == 0 or entry + 1 < won:
                won = entry + 1
        if won != 0:
            write_byte(B, i, won)
            highest = max(highest, won)
        elif drawn == 0 and open_moves == 0:
            write_byte(B, i, lost)
            highest = max(highest, lost)
        write_byte(L, i, NOT_LOST if won != 0 or drawn != 0 else open_moves)
        write_byte(X, i, lost)
    return highest


def update_predecessors(s: State, entry: int, B: Any, L: Any, X: Any) -> int:
    """Updates the predecessors of s by quiet moves with its entry; returns the highest new one."""
    highest = 0
    free = BOARD & ~(s[0] | s[1])
    pieces = s[1]
    while pieces:
        end = pieces & (~pieces + ONE)
        pieces ^= end
        for direction in range(4):
            if direction >= 2 and s[2] & end == ZERO:
                break  # White's men can only come from below
            start = (
                end >> U(-STEPS[direction]) if STEPS[direction] < 0 else end << U(STEPS[direction])
            )
            if start & free == ZERO:
                continue
            kings = s[2]
            if kings & end:
                kings ^= start | end
            predecessor = ((s[1] ^ end) | start, s[0], kings, ONE)
            if jumpers(predecessor) != ZERO:
                continue  # a capture was compulsory there
            i = table_index(predecessor)
            known_entry = read_byte(B, i)
            if entry & 1 != 0:
                if known_entry == 0 or known_entry > entry + 1:
                    write_byte(B, i, entry + 1)
                    highest = max(highest, entry + 1)
            else:
                open_moves = read_byte(L, i)
                if open_moves != NOT_LOST and known_entry == 0:
                    write_byte(L, i, open_moves - 1)
                    if open_moves == 1:
                        value = max(read_byte(X, i), entry + 1)
                        write_byte(B, i, value)
                        highest = max(highest, value)
    return highest


def propagate_entry(code: int, entry: int, B: Any, L: Any, X: Any) -> int:
    """Updates the predecessors of all positions of a slice that have this entry."""
    highest = 0
    start = SLICES[code]
    for number in range(slice_size(code)):
        if read_byte(B, start + number) == entry:
            highest = max(highest, update_predecessors(position_of(code, number), entry, B, L, X))
    return highest


def build(code: int, mirrored: int, B: Any, L: Any, X: Any, A: Any) -> int:
    """Fills the slices of two codes that mirror each other; returns the highest entry.

    It includes the slices of all numbers of men on the first row. Returns -1 if an entry does not
    fit into a byte.
    """
    men, their_men = code >> 8, mirrored >> 8
    highest = 0
    for first_row_men in range(men + 1):
        highest = max(highest, initialize_slice(code + first_row_men, B, L, X, A))
    if mirrored != code:
        for first_row_men in range(their_men + 1):
            highest = max(highest, initialize_slice(mirrored + first_row_men, B, L, X, A))
    entry = 1
    while entry <= highest:
        for first_row_men in range(men + 1):
            highest = max(highest, propagate_entry(code + first_row_men, entry, B, L, X))
        if mirrored != code:
            for first_row_men in range(their_men + 1):
                highest = max(highest, propagate_entry(mirrored + first_row_men, entry, B, L, X))
        if highest > MAX_ENTRY:
            return -1
        entry += 1
    return highest
