"""Small steps of the search: values of ended games, late move reductions, history, move sorting,
polling for a stop, repetition, and the publication of the principal variation.
"""

from typing import Any

import numpy as np

from engine.game import DRAWN, WON, State
from engine.jit import at, put
from engine.search.hooks import repetition, reversible
from engine.search.layout import (
    BUFFERS,
    CANCEL,
    COUNTER_MOVES,
    CURRENT_MOVE,
    DRAW_VALUE,
    EXPIRED,
    FEATURES,
    HISTORY,
    HISTORY_MOVES,
    KILLERS,
    LINE_WORDS,
    LINES,
    MALUS,
    MATE,
    MAX_HISTORY,
    MAX_MOVES,
    MAX_PLY,
    MAY_STOP,
    NO_MOVE,
    NODE_LIMIT,
    NODES,
    PAST,
    PATH,
    PLY,
    POLL,
    POLL_NODES,
    PV,
    PV_LENGTH,
    REDUCTIONS,
    SEEN_DEPTH,
    SEEN_NODES,
    SEEN_PV,
    SEEN_PV_LENGTH,
    SEEN_SCORE,
    SEQUENCE,
    STOP,
    TOP,
)


def end_value(result: int, ply: int, W: Any) -> int:
    """The score of a finished state for the side to move."""
    if result == DRAWN:
        return int(-W[DRAW_VALUE] if ply & 1 else W[DRAW_VALUE])
    if result == WON:
        return MATE - ply
    return ply - MATE


def reduction(depth: int, number: int, move_score: int, is_open: int, is_improving: int) -> int:
    """The plies by which a late move is reduced.

    An open window and a good history reduce less; a side to move that is not improving on its
    evaluation two plies before reduces more.
    """
    parts: Any = np.int64(REDUCTIONS[min(depth, 63), min(number, 63)])
    if is_open != 0:
        parts -= PLY
    if is_improving == 0:
        parts += PLY // 2
    parts -= 2 * PLY * max(min(move_score, MAX_HISTORY), -MAX_HISTORY) // MAX_HISTORY
    return int(max(min(parts // PLY, depth - 2), 0))


def add_history_bonus(history: Any, move: int, depth: int) -> None:
    """Moves the history score of a move towards MAX_HISTORY, or, with a negative depth, towards
    -MAX_HISTORY.
    """
    at_move = move & (HISTORY_MOVES - 1)
    bonus = min(16 * depth * depth + 64 * abs(depth), 1600)
    if depth < 0:
        bonus = -bonus
    history[at_move] += bonus - history[at_move] * abs(bonus) // MAX_HISTORY


def update_history(buffer: Any, order: Any, i: int, depth: int, ply: int, W: Any) -> None:
    """Records the i-th move at this ply, a quiet move that cut off.

    It becomes a killer move and the counter move to the move before, and gets a history bonus. The
    quiet moves that were searched before it get a malus.
    """
    move = buffer[i]
    history = at(W, HISTORY + (ply & 1) * HISTORY_MOVES)
    if (W[FEATURES] & MALUS) != 0:
        for t in range(i + 1):
            if (order[t] & 65536) != 0:
                add_history_bonus(history, buffer[t], depth if t == i else -depth)
    elif history[move & (HISTORY_MOVES - 1)] < 1 << 40:
        history[move & (HISTORY_MOVES - 1)] += depth * depth
    W[COUNTER_MOVES + (W[CURRENT_MOVE + ply - 1] & (HISTORY_MOVES - 1))] = move
    killers = at(W, KILLERS + 2 * ply)
    if killers[0] != move:
        killers[1] = killers[0]
        killers[0] = move


def update_pv(move: int, ply: int, W: Any) -> None:
    """Makes a move, followed by the best line of the next ply, the best line at this ply."""
    line = PV + ply * MAX_PLY
    W[line] = move
    length = W[PV_LENGTH + ply + 1]
    for t in range(length):
        W[line + 1 + t] = W[line + MAX_PLY + t]
    W[PV_LENGTH + ply] = length + 1


def sort_moves(buffer: Any, order: Any, first: int, n: int) -> None:
    """Sorts the moves from index `first` on by their order, best first.

    It is an insertion sort, because quiet moves are nearly in order already.
    """
    for t in range(first + 1, n):
        sort_key = order[t]
        move = buffer[t]
        u: Any = np.int64(t)
        while u > first and order[u - 1] < sort_key:
            order[u] = order[u - 1]
            buffer[u] = buffer[u - 1]
            u -= 1
        order[u] = sort_key
        buffer[u] = move


def poll(W: Any, C: Any) -> int:
    """Publishes the node count, checks every reason to stop, sets the node of the next poll and
    returns W[STOP].
    """
    put(C, SEEN_NODES, W[NODES])
    out_of_budget = W[EXPIRED] != 0 or W[NODES] >= W[NODE_LIMIT]
    if C[CANCEL] != 0 or (W[MAY_STOP] != 0 and out_of_budget):
        W[STOP] = 1
    W[POLL] = W[NODES] + POLL_NODES
    if W[MAY_STOP] != 0 and W[NODE_LIMIT] < W[POLL]:
        W[POLL] = W[NODE_LIMIT]
    return int(W[STOP])


def is_repeated(s: State, ply: int, W: Any) -> int:
    """1 if the position occurred before on the path or in the match; records it on the path."""
    here = np.int64(repetition(s))
    W[PATH + ply] = here
    back = reversible(s)
    if back > ply + W[PAST]:
        back = ply + W[PAST]
    for i in range(2, back + 1, 2):
        if i <= ply and (
            W[CURRENT_MOVE + ply - i] == NO_MOVE or W[CURRENT_MOVE + ply - i + 1] == NO_MOVE
        ):
            return 0  # a repetition across a null move does not count
        if i >= 4 and W[PATH + ply - i] == here:
            return 1
    return 0


def record_root_line(i: int, move: int, v: int, W: Any) -> None:
    """Records the line of the i-th root move and inserts its score into the best scores."""
    line: Any = np.int64(BUFFERS + 2 * MAX_PLY * MAX_MOVES + 3 * MAX_MOVES + i * LINE_WORDS)
    length = min(W[PV_LENGTH + 1], LINE_WORDS - 2)
    W[line] = length + 1
    W[line + 1] = move
    for t in range(length):
        W[line + 2 + t] = W[PV + MAX_PLY + t]
    place: Any = np.int64(W[LINES])
    while place > 0 and W[TOP + place - 1] < v:
        W[TOP + place] = W[TOP + place - 1]
        place -= 1
    W[TOP + place] = v


def publish_pv(depth: int, score: int, W: Any, C: Any) -> None:
    """Publishes the best line. SEQUENCE is odd while the line changes, as a mark for readers."""
    put(C, SEQUENCE, C[SEQUENCE] + 1)
    put(C, SEEN_NODES, W[NODES])
    put(C, SEEN_DEPTH, depth)
    put(C, SEEN_SCORE, score)
    put(C, SEEN_PV_LENGTH, W[PV_LENGTH])
    for t in range(W[PV_LENGTH]):
        put(C, SEEN_PV + t, W[PV + t])
    put(C, SEQUENCE, C[SEQUENCE] + 1)
