"""The search: iterative deepening calls `root`, which calls `nega`, an alpha-beta search with null windows.

These functions are written once; `engine.native` compiles a copy of them for each game with the game's rules in place
of the stubs below, and MAX_MOVES of the game. They use 64-bit memory only:

- W, work memory of one worker (`work_words`): counters, limits, principal variation, killer moves, history, the
  positions on the path, move buffers
- T, the transposition table: two words an entry
- C, the control block that is shared with the process that asked: it writes CANCEL and nothing else; the search
  writes the rest
- D, the game's data

The contract of `nega`: with the game's rules and `depth` more plies, it returns v for the side to move in s such that
    v <= alpha          means the true value is at most v,
    v >= beta           means the true value is at least v,
    alpha < v < beta    means v is the true value,
where the true value is the negamax value of the tree to that depth: at a finished state the exact distance to the end
(MATE - ply won, ply - MATE lost, 0 drawn), at the horizon `evaluate`. A table entry from a deeper search counts as
well, and a position that comes again on the path or after the match's own is a draw, unless W[EXACT_DEPTH] is set.
When W[STOP] is set the returned value means nothing, and nothing was stored
because of it.
"""

from typing import Any

import numpy as np

from engine.game import DRAWN, GOES_ON, WON, State
from engine.jit import at, put

U = np.uint64

MATE = 30_000
INF = 32_000
MAX_PLY = 128
DECIDED = MATE - MAX_PLY
"""A score beyond this, either way, is a forced end."""
POLL_NODES = 2048
EXACT, LOWER, UPPER = 0, 1, 2
COMPLETE = 255
"""The depth of a table entry whose tree has no horizon in it: it is right at every depth."""

# W: counters and limits, then areas of fixed size, then the move buffers
NODES, STOP, POLL, NODE_LIMIT, MAY_STOP, EXPIRED, HORIZONS, EXACT_DEPTH, TABLE_SHIFT, ROOT_COUNT, PAST = range(11)
PV_LENGTH = 16
PV = PV_LENGTH + MAX_PLY + 1
KILLERS = PV + (MAX_PLY + 1) * MAX_PLY
HISTORY = KILLERS + 2 * MAX_PLY
HISTORY_MOVES = 4096
MAX_PAST = 512
"""So many repetition keys of the match's last positions are known, W[PAST] of them; then come those of the path."""
PATH = HISTORY + 2 * HISTORY_MOVES + MAX_PAST
"""The repetition key of the root; those of its children follow by ply."""
BUFFERS = PATH + MAX_PLY + 1
MAX_MOVES = 1
REPEATS = 0
"""These two stand for the game's own: 1 where positions can come again and that matters."""

# C: one writer for CANCEL, one for all else
CANCEL, SEQUENCE, SEEN_NODES, SEEN_DEPTH, SEEN_SCORE, SEEN_PV_LENGTH, SEEN_PV = range(7)
CONTROL_WORDS = SEEN_PV + MAX_PLY

GOLDEN = U(0x9E3779B97F4A7C15)
LOW_16 = U(0xFFFF)
LOW_8 = U(0xFF)
SCORE_SHIFT = 32_768

SIGNATURES = {
    "end_value": "i8(i8, i8)",
    "poll": "i8(i8*, i8*)",
    "is_repeated": "i8(state, i8, i8*)",
    "show": "void(i8, i8, i8*, i8*)",
    "nega": "i8(state, i8, i8, i8, i8, i8*, u8*, i8*, i8*)",
    "root": "i8(state, i8, i8, i8*, u8*, i8*, i8*)",
    "perft": "i8(state, i8, i8, i8*)",
    "plain": "i8(state, i8, i8, i8*, i8*)",
    "rule_status": "i8(state)",
    "rule_moves": "i8(state, i8*)",
    "rule_play": "state(state, i8)",
    "rule_stuck": "i8(state)",
    "rule_key": "u8(state)",
    "rule_evaluate": "i8(state, i8*)",
    "rule_drawn": "i8(state)",
    "rule_repetition": "u8(state)",
    "rule_reversible": "i8(state)",
    "rule_count": "i8(state, i8*)",
}
CALLS = {"nega": ("end_value", "poll", "is_repeated"), "root": ("nega", "show"), "plain": ("end_value",)}
"""What each function calls of these; callees are compiled first, with the one signature that they have."""


def status(s: State) -> int:
    raise NotImplementedError


def moves(s: State, buf: Any) -> int:
    raise NotImplementedError


def play(s: State, m: int) -> State:
    raise NotImplementedError


def stuck(s: State) -> int:
    raise NotImplementedError


def key(s: State) -> np.uint64:
    raise NotImplementedError


def evaluate(s: State, data: Any) -> int:
    raise NotImplementedError


# --- what a game may leave out: see engine.game.MoreRules


def drawn(s: State) -> int:
    return 0


def repetition(s: State) -> np.uint64:
    return U(0)


def reversible(s: State) -> int:
    return 0


def count(s: State, buf: Any) -> int:
    return moves(s, buf)


def work_words(max_moves: int) -> int:
    """The size of W: the buffers hold moves and their order for each ply, and the root's moves, scores and bounds."""
    return BUFFERS + 2 * MAX_PLY * max_moves + 3 * max_moves


def root_offset(max_moves: int) -> int:
    """Where the root's moves begin in W; their scores and then their bounds follow."""
    return BUFFERS + 2 * MAX_PLY * max_moves


def end_value(result: int, ply: int) -> int:
    """The score of a finished state for the side to move."""
    if result == DRAWN:
        return 0
    if result == WON:
        return MATE - ply
    return ply - MATE


def poll(W: Any, C: Any) -> int:
    """Shows the node count, looks at every reason to stop and says when to look again; the answer is W[STOP]."""
    put(C, SEEN_NODES, W[NODES])
    out_of_budget = W[EXPIRED] != 0 or W[NODES] >= W[NODE_LIMIT]
    if C[CANCEL] != 0 or (W[MAY_STOP] != 0 and out_of_budget):
        W[STOP] = 1
    W[POLL] = W[NODES] + POLL_NODES
    if W[MAY_STOP] != 0 and W[NODE_LIMIT] < W[POLL]:
        W[POLL] = W[NODE_LIMIT]
    return int(W[STOP])


def is_repeated(s: State, ply: int, W: Any) -> int:
    """1 if the position was there before, on the path or in the match; notes that it is on the path now."""
    here = np.int64(repetition(s))
    W[PATH + ply] = here
    back = reversible(s)
    if back > ply + W[PAST]:
        back = ply + W[PAST]
    for i in range(4, back + 1, 2):
        if W[PATH + ply - i] == here:
            return 1
    return 0


def root(s: State, depth: int, margin: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """Searches the moves at W[root_offset], in their order, to a depth and returns the best score.

    Moves that score more than the best one minus the margin get exact scores, the others upper bounds; margin 0 is the
    ordinary search for one best move. A new best line is shown in C at once.
    """
    moves_at = BUFFERS + 2 * MAX_PLY * MAX_MOVES
    scores_at = moves_at + MAX_MOVES
    bounds_at = scores_at + MAX_MOVES
    best = -INF
    if REPEATS != 0:
        is_repeated(s, 0, W)
    for i in range(W[ROOT_COUNT]):
        move = W[moves_at + i]
        child = play(s, move)
        floor = best - margin
        # 1. The first move gets the open window; another one must first show that it comes above the floor.
        v = floor + 1
        if i > 0:
            v = -nega(child, depth - 1, -floor - 1, -floor, 1, W, T, C, D)
        if v > floor and W[STOP] == 0:
            low = -INF if i == 0 else floor
            v = -nega(child, depth - 1, -INF, -low, 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        W[scores_at + i] = v
        W[bounds_at + i] = EXACT if v > floor or i == 0 else UPPER
        # 2. A new best move is shown with its line.
        if v > best:
            best = v
            W[PV] = move
            length = W[PV_LENGTH + 1]
            for t in range(length):
                W[PV + 1 + t] = W[PV + MAX_PLY + t]
            W[PV_LENGTH] = length + 1
            show(depth, best, W, C)
    return best


def show(depth: int, score: int, W: Any, C: Any) -> None:
    """Publishes the best line; SEQUENCE is odd while it changes, so that a reader can tell."""
    put(C, SEQUENCE, C[SEQUENCE] + 1)
    put(C, SEEN_NODES, W[NODES])
    put(C, SEEN_DEPTH, depth)
    put(C, SEEN_SCORE, score)
    put(C, SEEN_PV_LENGTH, W[PV_LENGTH])
    for t in range(W[PV_LENGTH]):
        put(C, SEEN_PV + t, W[PV + t])
    put(C, SEQUENCE, C[SEQUENCE] + 1)


def nega(s: State, depth: int, alpha: int, beta: int, ply: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """The value of s to a depth within a window, alpha < beta: see the contract above."""
    # 1. Count, and now and then look whether to stop.
    W[NODES] += 1
    if W[NODES] >= W[POLL] and poll(W, C) != 0:
        return 0
    W[PV_LENGTH + ply] = 0

    # 2. A finished state has its exact value; so has a draw by rule, and whoever can repeat a position can draw.
    result = status(s)
    if result != GOES_ON:
        return end_value(result, ply)
    if drawn(s) != 0:
        return 0
    if REPEATS != 0 and W[EXACT_DEPTH] == 0 and is_repeated(s, ply, W) != 0:
        W[HORIZONS] += 1  # the value belongs to this path: no table entry above may take it for complete
        return 0

    # 3. At the horizon the game's evaluation stands for the rest.
    if depth <= 0 or ply >= MAX_PLY - 1:
        W[HORIZONS] += 1
        return evaluate(s, D)

    # 4. The table may know the value, or a bound that closes the window, or at least the move to try first.
    k = key(s)
    slot: Any = np.int64((k * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
    table_move: Any = -1
    if T[slot] == k:
        entry = T[slot + 1]
        table_move = np.int64((entry >> U(32)) & LOW_16)
        known_depth: Any = np.int64((entry >> U(16)) & LOW_8)
        if known_depth == depth or (known_depth > depth and W[EXACT_DEPTH] == 0):
            known: Any = np.int64(entry & LOW_16) - SCORE_SHIFT
            if known > DECIDED:
                known -= ply  # the table counts the distance to the end from its own state
            elif known < -DECIDED:
                known += ply
            known_bound = np.int64((entry >> U(24)) & LOW_8)
            if (
                known_bound == EXACT
                or (known_bound == LOWER and known >= beta)
                or (known_bound == UPPER and known <= alpha)
            ):
                if known_depth != COMPLETE:
                    W[HORIZONS] += 1
                return int(known)

    # 5. The moves, and an order: table move, killer moves, then by how often a move closed the window before.
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    n = moves(s, buffer)
    if n == 0:
        return end_value(stuck(s), ply)
    order = at(W, BUFFERS + (2 * ply + 1) * MAX_MOVES)
    history = at(W, HISTORY + (ply & 1) * HISTORY_MOVES)
    killers = at(W, KILLERS + 2 * ply)
    killer_1 = killers[0]
    killer_2 = killers[1]
    for i in range(n):
        move = buffer[i]
        rank = history[move & (HISTORY_MOVES - 1)]
        if i == table_move:
            rank = 1 << 44
        elif move == killer_1:
            rank = 1 << 43
        elif move == killer_2:
            rank = 1 << 42
        order[i] = rank * 65536 + (65535 - i)

    # 6. Search the moves from the best rank on: the first with the whole window, the others only to show that they
    #    are no better, and once more when one is.
    horizons = W[HORIZONS]
    best = -INF
    best_index = 0
    low = alpha
    for i in range(n):
        j = i
        for t in range(i + 1, n):
            if order[t] > order[j]:
                j = t
        move = buffer[j]
        rank = order[j]
        buffer[j] = buffer[i]
        order[j] = order[i]
        buffer[i] = move
        order[i] = rank
        child = play(s, move)
        if i == 0:
            v = -nega(child, depth - 1, -beta, -low, ply + 1, W, T, C, D)
        else:
            v = -nega(child, depth - 1, -low - 1, -low, ply + 1, W, T, C, D)
            if v > low and v < beta and W[STOP] == 0:
                v = -nega(child, depth - 1, -beta, -low, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0

        # 7. A better move raises the lower end of the window; when the window closes, remember the move that closed it.
        if v > best:
            best = v
            best_index = 65535 - (rank & 65535)
            if v > low:
                low = v
                line = PV + ply * MAX_PLY
                W[line] = move
                length = W[PV_LENGTH + ply + 1]
                for t in range(length):
                    W[line + 1 + t] = W[line + MAX_PLY + t]
                W[PV_LENGTH + ply] = length + 1
            if v >= beta:
                if history[move & (HISTORY_MOVES - 1)] < 1 << 40:
                    history[move & (HISTORY_MOVES - 1)] += depth * depth
                if killer_1 != move:
                    killers[1] = killers[0]
                    killers[0] = move
                break

    # 8. Store the value with what it means, the distance to an end counted from here.
    stored = best
    if best > DECIDED:
        stored += ply
    elif best < -DECIDED:
        stored -= ply
    bound = EXACT
    if best >= beta:
        bound = LOWER
    elif best <= alpha:
        bound = UPPER
    stored_depth = depth
    if W[HORIZONS] == horizons and W[EXACT_DEPTH] == 0:
        stored_depth = COMPLETE
    T[slot] = k
    T[slot + 1] = U(stored + SCORE_SHIFT) | (U(stored_depth) << U(16)) | (U(bound) << U(24)) | (U(best_index) << U(32))
    return best


def perft(s: State, depth: int, ply: int, W: Any) -> int:
    """The number of move sequences of a length; a finished game has no moves, a draw by rule still has."""
    if depth == 0:
        return 1
    if status(s) != GOES_ON:
        return 0
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    if depth == 1:
        return count(s, buffer)
    n = moves(s, buffer)
    total = 0
    for i in range(n):
        total += perft(play(s, buffer[i]), depth - 1, ply + 1, W)
    return total


def plain(s: State, depth: int, ply: int, W: Any, D: Any) -> int:
    """The value that `nega` promises, found by trying everything: for checks."""
    result = status(s)
    if result != GOES_ON:
        return end_value(result, ply)
    if drawn(s) != 0:
        return 0
    if depth <= 0:
        return evaluate(s, D)
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    n = moves(s, buffer)
    if n == 0:
        return end_value(stuck(s), ply)
    best = -INF
    for i in range(n):
        v = -plain(play(s, buffer[i]), depth - 1, ply + 1, W, D)
        if v > best:
            best = v
    return best


def rule_status(s: State) -> int:
    return status(s)


def rule_moves(s: State, buf: Any) -> int:
    return moves(s, buf)


def rule_play(s: State, m: int) -> State:
    return play(s, m)


def rule_stuck(s: State) -> int:
    return stuck(s)


def rule_key(s: State) -> np.uint64:
    return key(s)


def rule_evaluate(s: State, data: Any) -> int:
    return evaluate(s, data)


def rule_drawn(s: State) -> int:
    return drawn(s)


def rule_repetition(s: State) -> np.uint64:
    return repetition(s)


def rule_reversible(s: State) -> int:
    return reversible(s)


def rule_count(s: State, buf: Any) -> int:
    return count(s, buf)
