"""An independent check of the endgame tables of draughts, compiled with the rules.

The check sets up every position and compares its table entry with the entries of its successors. If
every position agrees with its successors, the tables are right: of the positions with a wrong
entry, the one nearest to the end of the game would disagree with a successor.

`G` is the game's data with the tables, `V` holds the counters and a word for each entry, and `A` is
a buffer for moves.
"""

from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, WON, State
from engine.games.draughts_parts.board import BOARD, FIRST_ROW, LAST_ROW
from engine.jit import lsb

U = np.uint64
ZERO, ONE = U(0), U(1)
#: Constants of every template; the compiler replaces them with the game's.
MAX_MOVES, REPEATS = 1, 0
#: Rules of the game that the check calls.
MORE_HOOKS = ("table_index", "probe")
#: Moves from this number on are captures.
JUMP = 1 << 12
#: The first words of `V`: counters, and from EXAMPLE the four words of a wrong position.
WRONG, SEEN, WINS, LOSSES, DRAWS, LONGEST, EXAMPLE = range(7)
#: The index in `V` of the word of the first entry.
ENTRIES_AT = 16

#: The numba signature of each function.
SIGNATURES = {
    "value": "i8(state, i8*)",
    "expected": "i8(state, i8*, i8*)",
    "check_position": "void(state, i8*, i8*, i8*)",
    "check_placements": "void(state, u8, i8, i8*, i8*, i8*)",
    "check": "i8(i8, i8*, i8*, i8*)",
    "longest_run": "i8(state, i8, i8*, i8*, i8*)",
    "store_run": "void(state, i8, i8*, i8*, i8*)",
    "store_runs": "void(state, u8, i8, i8, i8*, i8*, i8*)",
    "quiet_runs": "i8(i8, i8, i8*, i8*, i8*)",
}
#: The functions of this module that each function calls.
CALLS = {
    "expected": ("value",),
    "check_position": ("value", "expected"),
    "check_placements": ("check_position",),
    "check": ("check_placements",),
    "longest_run": ("value",),
    "store_run": ("value", "longest_run"),
    "store_runs": ("store_run",),
    "quiet_runs": ("store_runs",),
}


def probe(s: State, data: Any) -> int:
    raise NotImplementedError


def table_index(s: State) -> int:
    raise NotImplementedError


def moves(s: State, buf: Any) -> int:
    raise NotImplementedError


def play(s: State, m: int) -> State:
    raise NotImplementedError


def value(s: State, G: Any) -> int:
    """Returns a position's entry with the draw counter at 0; a side without pieces has lost."""
    return LOST if s[0] == ZERO else probe((s[0], s[1], s[2], s[3] & ONE), G)


def expected(s: State, G: Any, A: Any) -> int:
    """Returns the value of a position, computed from the entries of its successors."""
    n = moves(s, A)
    fastest = -1
    slowest = -1
    drawn = 0
    for t in range(n):
        entry = value(play(s, A[t]), G)
        plies = entry >> 2
        if entry & 3 == LOST and (fastest < 0 or plies < fastest):
            fastest = plies
        elif entry & 3 == DRAWN:
            drawn = 1
        elif entry & 3 == WON:
            slowest = max(slowest, plies)
    if fastest >= 0:
        return WON + 4 * (fastest + 1)
    if drawn != 0:
        return DRAWN
    return LOST + 4 * (slowest + 1)


def check_position(s: State, G: Any, V: Any, A: Any) -> None:
    """Compares the entry of one position with those of its successors and updates the counters."""
    entry = value(s, G)
    if entry != expected(s, G, A):
        V[WRONG] += 1
        V[EXAMPLE], V[EXAMPLE + 1], V[EXAMPLE + 2] = np.int64(s[0]), np.int64(s[1]), np.int64(s[2])
        V[EXAMPLE + 3] = np.int64(s[3])
    V[SEEN] += 1
    V[WINS] += int(entry & 3 == WON)
    V[LOSSES] += int(entry & 3 == LOST)
    V[DRAWS] += int(entry & 3 == DRAWN)
    V[LONGEST] = max(V[LONGEST], entry >> 2)
    V[ENTRIES_AT + table_index(s)] += 1


def check_placements(s: State, squares: np.uint64, left: int, G: Any, V: Any, A: Any) -> None:
    """Places `left` more pieces in every possible way and checks each position."""
    if left == 0:
        if s[0] != ZERO and s[1] != ZERO:
            check_position(s, G, V, A)
        return
    while squares:
        square = ONE << U(lsb(squares))
        squares ^= square
        black = s[1] if s[3] & ONE else s[0]
        white = s[0] if s[3] & ONE else s[1]
        for kind in range(4):
            if (kind == 0 and square & LAST_ROW) or (kind == 2 and square & FIRST_ROW):
                continue
            b = black | square if kind < 2 else black
            w = white if kind < 2 else white | square
            kings = s[2] | square if kind & 1 else s[2]
            child = (w, b, kings, s[3]) if s[3] & ONE else (b, w, kings, s[3])
            check_placements(child, squares, left - 1, G, V, A)


def check(pieces: int, G: Any, V: Any, A: Any) -> int:
    """Checks all positions with `pieces` pieces and either side to move.

    Returns the number of wrong entries.
    """
    check_placements((ZERO, ZERO, ZERO, ZERO), BOARD, pieces, G, V, A)
    check_placements((ZERO, ZERO, ZERO, ONE), BOARD, pieces, G, V, A)
    return int(V[WRONG])


def longest_run(s: State, plies: int, G: Any, V: Any, A: Any) -> int:
    """Returns the longest run of plies without progress from s, with the winner's fastest moves.

    `V` holds the runs of all positions that are nearer to the end.
    """
    longest = 0
    wins = plies & 1
    for t in range(moves(s, A)):
        m = A[t]
        child = play(s, m)
        if (
            m >= JUMP
            or child[3] <= ONE
            or (wins != 0 and value(child, G) != LOST + 4 * (plies - 1))
        ):
            continue
        longest = max(longest, 1 + V[ENTRIES_AT + table_index(child)])
    return longest


def store_run(s: State, plies: int, G: Any, V: Any, A: Any) -> None:
    """Stores the run of a position that is decided in `plies` plies; ignores other positions."""
    entry = value(s, G)
    if entry & 3 != DRAWN and entry >> 2 == plies:
        run = longest_run(s, plies, G, V, A)
        V[ENTRIES_AT + table_index(s)] = run
        V[LONGEST] = max(V[LONGEST], run)


def store_runs(s: State, squares: np.uint64, left: int, plies: int, G: Any, V: Any, A: Any) -> None:
    """Places `left` more pieces in every possible way, with Black to move, and stores the runs.

    Only positions that are decided in `plies` plies have a run.
    """
    if left == 0:
        if s[0] != ZERO and s[1] != ZERO:
            store_run(s, plies, G, V, A)
        return
    while squares:
        square = ONE << U(lsb(squares))
        squares ^= square
        for kind in range(4):
            if (kind == 0 and square & LAST_ROW) or (kind == 2 and square & FIRST_ROW):
                continue
            kings = s[2] | square if kind & 1 else s[2]
            child = (
                (s[0] | square, s[1], kings, ZERO)
                if kind < 2
                else (s[0], s[1] | square, kings, ZERO)
            )
            store_runs(child, squares, left - 1, plies, G, V, A)


def quiet_runs(pieces: int, longest_win: int, G: Any, V: Any, A: Any) -> int:
    """Returns the longest run of plies without a capture or a man's move in any decided position.

    No position with `pieces` pieces is decided in more than `longest_win` plies.
    """
    V[LONGEST] = 0
    for plies in range(longest_win + 1):
        store_runs((ZERO, ZERO, ZERO, ZERO), BOARD, pieces, plies, G, V, A)
    return int(V[LONGEST])
