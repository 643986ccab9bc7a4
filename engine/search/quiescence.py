"""Quiescence: the search of tactical moves at the horizon."""

from typing import Any

import numpy as np

from engine.game import DRAWN, ONGOING, State
from engine.search.features import (
    BAD_CAPTURES,
    PROBE,
    QUIET_TABLE,
    TABLE,
)
from engine.search.hooks import (
    EXTRA_TURNS,
    HAS_PROBE,
    drawn,
    evaluate,
    evasions,
    keeps_turn,
    moves,
    no_moves_result,
    play,
    probe,
    status,
    tactical,
    unstable,
)
from engine.search.layout import (
    EXACT,
    FEATURES,
    HORIZONS,
    INF,
    LOWER,
    MAX_PLY,
    NODES,
    POLL,
    QUIET_END,
    STOP,
    UPPER,
)
from engine.search.movepick import (
    index_in,
    pick_move,
    score_tactical,
)
from engine.search.stack import (
    move_buffer,
    move_order,
    record_side,
    set_pv_length,
)
from engine.search.steps import (
    end_value,
    poll,
    update_pv,
)
from engine.search.tt import (
    NO_INDEX,
    cuts_off,
    entry_at,
    entry_depth,
    entry_move,
    has_key,
    prefetch_entry,
    table_key,
    tt_probe,
    tt_store,
    value_from_tt,
)

#: The part of `engine.search.kernel.SIGNATURES` for this module.
SIGNATURES = {"quiesce": "i8(state, i8, i8, i8, i8, i8*, u8*, i8*, i8*)"}
#: The part of `engine.search.kernel.CALLS` for this module.
CALLS = {
    "quiesce": (
        "end_value", "poll", "tt_probe", "value_from_tt", "cuts_off", "tt_store", "update_pv",
        "score_tactical", "pick_move",
    )
}  # fmt: skip


def quiesce(
    s: State, known_unstable: int, alpha: int, beta: int, ply: int, W: Any, T: Any, C: Any, D: Any
) -> int:
    """The value of s within a window when only tactical moves are searched.

    It keeps `alpha_beta`'s contract for that tree. The side to move may stand pat, that is take the
    static evaluation instead of a move. In an unstable state it may not, and all moves are
    searched, or only the game's `evasions`. Tactical moves that the game ranks below 0 are pruned.
    """
    # 1. A finished state has its exact value.
    set_pv_length(W, ply, 0)
    if EXTRA_TURNS != 0:
        record_side(s, ply, W)
    result = status(s)
    if result != ONGOING:
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if HAS_PROBE != 0 and (W[FEATURES] & PROBE) != 0:
        probed = probe(s, D)
        if probed != ONGOING:
            return end_value(probed & 3, ply + (probed >> 2), W)

    # 2. A side that may stand pat starts from the static evaluation. It is computed before the
    # table probe so that the prefetch has time to arrive.
    W[HORIZONS] += 1
    is_unstable = unstable(s) if known_unstable < 0 else known_unstable
    is_last = ply >= MAX_PLY - 1 or W[NODES] >= W[QUIET_END]
    may_stand = is_unstable == 0 or is_last
    best = -INF
    if may_stand:
        best = evaluate(s, D)

    # 3. Table probe. Quiescence stores depth 0; only the move of such an entry is an index into the
    # moves generated here.
    low = alpha
    table_move: Any = np.int64(-1)
    k = np.uint64(0)
    slot: Any = np.int64(0)
    uses_table = (W[FEATURES] & (TABLE | QUIET_TABLE)) == TABLE | QUIET_TABLE
    if uses_table:
        k = table_key(s, W)
        slot = tt_probe(k, W, T)
        entry = entry_at(T, slot)
        if has_key(T, slot, entry, k):
            tt_value = value_from_tt(entry, ply)
            if cuts_off(tt_value, entry, alpha, beta) != 0:
                return tt_value
            if entry_depth(entry) == 0:
                table_move = entry_move(entry)

    # 4. Stand pat. Once the quiescence nodes are used up, nothing else is tried.
    buffer = move_buffer(W, ply)
    n: Any = np.int64(0)
    if may_stand:
        if best >= beta or is_last:
            return best
        if best > low:
            low = best
        n = tactical(s, buffer)
    else:
        n = evasions(s, buffer)
        if n == 0:
            n = moves(s, buffer)
        if n == 0:
            return end_value(no_moves_result(s), ply, W)

    # 5. Search the moves, the best ordered first.
    order = move_order(W, ply)
    best_index: Any = np.int64(NO_INDEX)
    score_tactical(s, buffer, order, n, table_move)
    for i in range(n):
        pick_move(buffer, order, i, n)
        move = buffer[i]
        sort_key = order[i]
        if is_unstable == 0 and sort_key < 0 and (W[FEATURES] & BAD_CAPTURES) != 0:
            break  # bad captures: the game ranks the remaining moves below quiet ones
        W[NODES] += 1
        if W[NODES] >= W[POLL] and poll(W, C) != 0:
            return 0
        child = play(s, move)
        if uses_table:
            prefetch_entry(child, W, T)
        if keeps_turn(s, child):
            v = quiesce(child, -1, low, beta, ply + 1, W, T, C, D)
        else:
            v = -quiesce(child, -1, -beta, -low, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        if v > best:
            best = v
            if v > low:
                low = v
                best_index = index_in(sort_key)
                update_pv(move, ply, W)
            if v >= beta:
                break
    if uses_table and W[NODES] < W[QUIET_END]:
        bound = EXACT
        if best >= beta:
            bound = LOWER
        elif best <= alpha:
            bound = UPPER
        tt_store(slot, k, best, bound, 0, best_index, ply, W, T)
    return best
