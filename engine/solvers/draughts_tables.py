"""The endgame tables of draughts by retrograde analysis, compiled with the rules of the game.

The entry of a position is a byte: 0 for a draw, else one more than the plies to the end with best
play, where the winner hurries and the loser delays. An even number of plies is a loss for the side
to move, which has no move left in the end; an odd number is a win.

The method is that of Thompson (ICCA Journal 9/3, 1986), by distance. First each position of a slice
gets an initial value from its moves that leave the slice, by a capture or a promotion, and the
number of its other moves; the slices that these moves lead to are complete. Then, for each distance
in turn, the positions at that distance update their predecessors, which are found by taking back
quiet moves.

All memory is 64-bit words: B is the tables, eight entries a word. L and X have the same layout: L
counts the moves of each entry whose results are open, and X is its entry if all of those lose. A is
room for a list of moves. See `engine.compiler.native` for the compilation.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.jit import popcount

U = np.uint64
ZERO, ONE = U(0), U(1)
MAX_MOVES = 1
REPEATS = 0
CAPTURE = 1 << 12
NEVER_LOST = 255
HIGHEST_ENTRY = 254
STEPS = (4, 5, -4, -5)

# The numbering of the tables.
from engine.games.draughts_parts.board import BOARD, FIRST_ROW  # noqa: E402
from engine.games.draughts_parts.tables import BINOMIALS, MIDDLE_ROWS, SLICES  # noqa: E402

MORE_HOOKS = ("table_index", "jumpers")

SIGNATURES = {
    "byte": "i8(i8*, i8)",
    "put_byte": "void(i8*, i8, i8)",
    "squares": "u8(i8, i8, u8)",
    "slice_size": "i8(i8)",
    "position_of": "state(i8, i8)",
    "first_look": "i8(i8, i8*, i8*, i8*, i8*)",
    "tell": "i8(state, i8, i8*, i8*, i8*)",
    "pass_over": "i8(i8, i8, i8*, i8*, i8*)",
    "build": "i8(i8, i8, i8*, i8*, i8*, i8*)",
}
CALLS = {
    "position_of": ("squares",),
    "first_look": ("byte", "put_byte", "slice_size", "position_of"),
    "tell": ("byte", "put_byte"),
    "pass_over": ("byte", "slice_size", "position_of", "tell"),
    "build": ("first_look", "pass_over"),
}


def table_index(s: State) -> int:
    raise NotImplementedError


def jumpers(s: State) -> np.uint64:
    raise NotImplementedError


def moves(s: State, buf: Any) -> int:
    raise NotImplementedError


def play(s: State, m: int) -> State:
    raise NotImplementedError


def byte(memory: Any, i: int) -> int:
    return int((memory[i >> 3] >> (8 * (i & 7))) & 255)


def put_byte(memory: Any, i: int, value: int) -> None:
    shift = 8 * (i & 7)
    memory[i >> 3] = (memory[i >> 3] & ~(255 << shift)) | (value << shift)


def squares(number: int, count: int, free: np.uint64) -> np.uint64:
    """The set of `count` free squares with that number, the inverse of the rule `combination`."""
    found = ZERO
    for chosen in range(count, 0, -1):
        below = chosen - 1
        while BINOMIALS[below + 1, chosen] <= number:
            below += 1
        number -= BINOMIALS[below, chosen]
        rest = free
        for _ in range(below):
            rest &= rest - ONE
        found |= rest & (~rest + ONE)
    return found


def slice_size(code: int) -> int:
    """The number of positions of a slice."""
    men, kings, at_home = code >> 8, code >> 6 & 3, code & 3
    their_men, their_kings = code >> 4 & 3, code >> 2 & 3
    free = 32 - men - their_men
    of_men = (
        BINOMIALS[4, at_home]
        * BINOMIALS[24, men - at_home]
        * BINOMIALS[28 - men + at_home, their_men]
    )
    return int(of_men * BINOMIALS[free, kings] * BINOMIALS[free - kings, their_kings])


def position_of(code: int, number: int) -> State:
    """The position with that number in a slice, with Black to move."""
    men, kings, at_home = code >> 8, code >> 6 & 3, code & 3
    their_men, their_kings = code >> 4 & 3, code >> 2 & 3
    free = 32 - men - their_men
    ways = BINOMIALS[free - kings, their_kings]
    of_their_kings = number % ways
    number //= ways
    ways = BINOMIALS[free, kings]
    of_kings = number % ways
    number //= ways
    ways = BINOMIALS[28 - men + at_home, their_men]
    of_their_men = number % ways
    number //= ways
    ways = BINOMIALS[24, men - at_home]
    my_men = squares(number // ways, at_home, FIRST_ROW) | squares(
        number % ways, men - at_home, MIDDLE_ROWS
    )
    men_of_other = squares(of_their_men, their_men, BOARD & ~(FIRST_ROW | my_men))
    my_kings = squares(of_kings, kings, BOARD & ~(my_men | men_of_other))
    kings_of_other = squares(
        of_their_kings, their_kings, BOARD & ~(my_men | men_of_other | my_kings)
    )
    return (my_men | my_kings, men_of_other | kings_of_other, my_kings | kings_of_other, ZERO)


def first_look(code: int, B: Any, L: Any, X: Any, A: Any) -> int:
    """Sets the initial values of a slice from moves that leave it; returns the highest entry."""
    highest = 0
    for number in range(slice_size(code)):
        s = position_of(code, number)
        i = SLICES[code] + number
        n = moves(s, A)
        won = 0  # the lowest entry of a win
        lost = 1  # the highest entry of a loss, if every move loses
        drawn = 0
        left = 0
        for t in range(n):
            m = A[t]
            child = play(s, m)
            if m < CAPTURE and popcount(child[2]) == popcount(s[2]):
                left += 1
                continue
            entry = 1 if child[0] == ZERO else byte(B, table_index(child))
            if entry == 0:
                drawn = 1
            elif entry & 1 == 0:
                lost = max(lost, entry + 1)
            elif won == 0 or entry + 1 < won:
                won = entry + 1
        if won != 0:
            put_byte(B, i, won)
            highest = max(highest, won)
        elif drawn == 0 and left == 0:
            put_byte(B, i, lost)
            highest = max(highest, lost)
        put_byte(L, i, NEVER_LOST if won != 0 or drawn != 0 else left)
        put_byte(X, i, lost)
    return highest


def tell(s: State, entry: int, B: Any, L: Any, X: Any) -> int:
    """Updates the predecessors of s, by quiet moves, with its entry; the highest new entry."""
    highest = 0
    free = BOARD & ~(s[0] | s[1])
    pieces = s[1]
    while pieces:
        end = pieces & (~pieces + ONE)
        pieces ^= end
        for way in range(4):
            if way >= 2 and s[2] & end == ZERO:
                break  # White's men can only come from below
            start = end >> U(-STEPS[way]) if STEPS[way] < 0 else end << U(STEPS[way])
            if start & free == ZERO:
                continue
            kings = s[2]
            if kings & end:
                kings ^= start | end
            before = ((s[1] ^ end) | start, s[0], kings, ONE)
            if jumpers(before) != ZERO:
                continue  # a capture was compulsory there
            i = table_index(before)
            known = byte(B, i)
            if entry & 1 != 0:
                if known == 0 or known > entry + 1:
                    put_byte(B, i, entry + 1)
                    highest = max(highest, entry + 1)
            else:
                left = byte(L, i)
                if left != NEVER_LOST and known == 0:
                    put_byte(L, i, left - 1)
                    if left == 1:
                        value = max(byte(X, i), entry + 1)
                        put_byte(B, i, value)
                        highest = max(highest, value)
    return highest


def pass_over(code: int, entry: int, B: Any, L: Any, X: Any) -> int:
    """Updates the predecessors of all positions of a slice with this entry, see `tell`."""
    highest = 0
    begin = SLICES[code]
    for number in range(slice_size(code)):
        if byte(B, begin + number) == entry:
            highest = max(highest, tell(position_of(code, number), entry, B, L, X))
    return highest


def build(code: int, mirrored: int, B: Any, L: Any, X: Any, A: Any) -> int:
    """Fills the slices of two codes that mirror each other; returns the highest entry.

    The slices of all numbers of men on the first row are included. -1 when an entry does not fit
    into a byte.
    """
    men, their_men = code >> 8, mirrored >> 8
    highest = 0
    for at_home in range(men + 1):
        highest = max(highest, first_look(code + at_home, B, L, X, A))
    if mirrored != code:
        for at_home in range(their_men + 1):
            highest = max(highest, first_look(mirrored + at_home, B, L, X, A))
    entry = 1
    while entry <= highest:
        for at_home in range(men + 1):
            highest = max(highest, pass_over(code + at_home, entry, B, L, X))
        if mirrored != code:
            for at_home in range(their_men + 1):
                highest = max(highest, pass_over(mirrored + at_home, entry, B, L, X))
        if highest > HIGHEST_ENTRY:
            return -1
        entry += 1
    return highest
