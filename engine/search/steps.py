"""Small steps of the search: values of ended games, late move reductions, history, polling for a
stop, repetition, and the publication of the principal variation.
"""

from typing import Any

import numpy as np

from engine.game import DRAWN, WON, State
from engine.jit import put
from engine.search.features import MALUS
from engine.search.hooks import EXTRA_TURNS, repetition, reversible
from engine.search.layout import (
    CANCEL,
    DRAW_VALUE,
    EXPIRED,
    FEATURES,
    LINE_WORDS,
    LINES,
    MATE,
    MAY_STOP,
    NO_MOVE,
    NODE_LIMIT,
    NODES,
    PAST,
    POLL,
    PUBLISHED_DEPTH,
    PUBLISHED_NODES,
    PUBLISHED_PV,
    PUBLISHED_PV_LENGTH,
    PUBLISHED_SCORE,
    SEQUENCE,
    STOP,
)
from engine.search.movepick import is_quiet
from engine.search.parameters import MAX_HISTORY, MAX_HISTORY_BONUS, PLY, POLL_NODES, REDUCTIONS
from engine.search.stack import (
    current_move,
    history_index,
    killer_moves,
    path_key,
    pv_length,
    pv_moves,
    root_best,
    root_line,
    set_counter_move,
    set_path_key,
    set_pv_length,
    side_at,
    side_history,
)

#: The part of `engine.search.kernel.SIGNATURES` for this module.
SIGNATURES = {
    "end_value": "i8(i8, i8, i8*)",
    "reduction": "i8(i8, i8, i8, i8, i8)",
    "add_history_bonus": "void(i8*, i8, i8)",
    "update_history": "void(i8*, i8*, i8, i8, i8, i8*)",
    "update_pv": "void(i8, i8, i8*)",
    "poll": "i8(i8*, i8*)",
    "is_repeated": "i8(state, i8, i8*)",
    "last_own_ply": "i8(i8, i8*)",
    "record_root_line": "void(i8, i8, i8, i8*)",
    "publish_pv": "void(i8, i8, i8*, i8*)",
}
#: The part of `engine.search.kernel.CALLS` for this module.
CALLS = {"update_history": ("add_history_bonus",)}


def end_value(result: int, ply: int, W: Any) -> int:
    """The score of a finished state for the side to move."""
    if result == DRAWN:
        return int(-W[DRAW_VALUE] if side_at(W, ply) != 0 else W[DRAW_VALUE])
    if result == WON:
        return MATE - ply
    return ply - MATE


def reduction(
    depth: int, move_number: int, history_score: int, is_open: int, is_improving: int
) -> int:
    """The plies by which a late move is reduced.

    The reduction is smaller in an open window and for a move with a good history, and greater when
    the side to move has not improved its static evaluation since its last move.
    """
    amount: Any = np.int64(REDUCTIONS[min(depth, 63), min(move_number, 63)])
    if is_open != 0:
        amount -= PLY
    if is_improving == 0:
        amount += PLY // 2
    amount -= 2 * PLY * max(min(history_score, MAX_HISTORY), -MAX_HISTORY) // MAX_HISTORY
    return int(max(min(amount // PLY, depth - 2), 0))


def add_history_bonus(history: Any, move: int, depth: int) -> None:
    """Moves the history score of a move towards MAX_HISTORY, or, with a negative depth, towards
    -MAX_HISTORY.
    """
    index = history_index(move)
    bonus = min(16 * depth * depth + 64 * abs(depth), MAX_HISTORY_BONUS)
    if depth < 0:
        bonus = -bonus
    history[index] += bonus - history[index] * abs(bonus) // MAX_HISTORY


def update_history(buffer: Any, order: Any, i: int, depth: int, ply: int, W: Any) -> None:
    """Records the i-th move at this ply, a quiet move that caused a cut-off.

    It becomes a killer move and the counter move to the opponent's last move, and gets a history
    bonus. The quiet moves that were searched before it get a malus.
    """
    move = buffer[i]
    history = side_history(W, ply)
    if (W[FEATURES] & MALUS) != 0:
        for t in range(i + 1):
            if is_quiet(order[t]):
                add_history_bonus(history, buffer[t], depth if t == i else -depth)
    elif history[history_index(move)] < 1 << 40:
        history[history_index(move)] += depth * depth
    set_counter_move(W, ply, move)
    killers = killer_moves(W, ply)
    if killers[0] != move:
        killers[1] = killers[0]
        killers[0] = move


def update_pv(move: int, ply: int, W: Any) -> None:
    """Sets the principal variation at this ply: a move, then that of the next ply."""
    line = pv_moves(W, ply)
    child_line = pv_moves(W, ply + 1)
    child_length = pv_length(W, ply + 1)
    line[0] = move
    for t in range(child_length):
        line[t + 1] = child_line[t]
    set_pv_length(W, ply, child_length + 1)


def poll(W: Any, C: Any) -> int:
    """Publishes the node count, checks every reason to stop and returns W[STOP]; the next poll is
    POLL_NODES nodes later, or at the node limit.
    """
    put(C, PUBLISHED_NODES, W[NODES])
    out_of_budget = W[EXPIRED] != 0 or W[NODES] >= W[NODE_LIMIT]
    if C[CANCEL] != 0 or (W[MAY_STOP] != 0 and out_of_budget):
        W[STOP] = 1
    W[POLL] = W[NODES] + POLL_NODES
    if W[MAY_STOP] != 0 and W[NODE_LIMIT] < W[POLL]:
        W[POLL] = W[NODE_LIMIT]
    return int(W[STOP])


def is_repeated(s: State, ply: int, W: Any) -> int:
    """Records the position on the path; 1 if it occurred before, on the path or in the match."""
    repetition_key: Any = np.int64(repetition(s))
    set_path_key(W, ply, repetition_key)
    plies_back = min(reversible(s), ply + W[PAST])
    step = 2 - EXTRA_TURNS  # without extra turns the same side is to move every other ply
    for i in range(step, plies_back + 1, step):
        if i <= ply and (
            current_move(W, ply - i) == NO_MOVE or current_move(W, ply - i + step - 1) == NO_MOVE
        ):
            return 0  # a repetition across a null move does not count
        if i >= 2 * step and path_key(W, ply - i) == repetition_key:
            return 1
    return 0


def last_own_ply(ply: int, W: Any) -> int:
    """In a game with extra turns, the last ply before this one at which the same side was to move;
    0 if there is none after the root.
    """
    own: Any = np.int64(ply - 1)
    while own > 0 and side_at(W, own) != side_at(W, ply):
        own -= 1
    return int(own)


def record_root_line(i: int, move: int, v: int, W: Any) -> None:
    """Records the line of the i-th root move and inserts its score v into the best scores."""
    line = root_line(W, i)
    child_line = pv_moves(W, 1)
    child_length = min(pv_length(W, 1), LINE_WORDS - 2)
    line[0] = child_length + 1
    line[1] = move
    for t in range(child_length):
        line[t + 2] = child_line[t]
    best_scores = root_best(W)
    place: Any = np.int64(W[LINES])
    while place > 0 and best_scores[place - 1] < v:
        best_scores[place] = best_scores[place - 1]
        place -= 1
    best_scores[place] = v


def publish_pv(depth: int, score: int, W: Any, C: Any) -> None:
    """Publishes the best line. SEQUENCE is odd meanwhile: a reader then tries again (seqlock)."""
    put(C, SEQUENCE, C[SEQUENCE] + 1)
    put(C, PUBLISHED_NODES, W[NODES])
    put(C, PUBLISHED_DEPTH, depth)
    put(C, PUBLISHED_SCORE, score)
    put(C, PUBLISHED_PV_LENGTH, pv_length(W, 0))
    line = pv_moves(W, 0)
    for t in range(pv_length(W, 0)):
        put(C, PUBLISHED_PV + t, line[t])
    put(C, SEQUENCE, C[SEQUENCE] + 1)
