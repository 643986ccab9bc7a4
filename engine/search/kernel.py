"""The search: iterative deepening calls `root`, which calls `alpha_beta`, an alpha-beta search with
null windows (principal variation search).

The functions of this file and of PARTS are written once. `engine.compiler.native` compiles a copy
of them for each game, with the game's functions and constants in place of the stubs in `hooks`.
They use 64-bit memory only (see `layout`), through inlined accessors (see `stack` and `tt`):

- W, the work memory of one thread (`work_words`): counters, limits, principal variation, killer
  moves, history, the positions on the path, move buffers
- T, the transposition table: two words an entry
- C, the control block shared with the process that requested the search: that process writes
  CANCEL and nothing else; the search publishes its progress in the other words
- D, the game's data

The bits of W[FEATURES] (see `features`) switch the features of the search on and off. BASIC
features change how soon a value is found; the others change which tree is searched.

The contract of `alpha_beta`: with the game's rules and `depth` more plies, it returns v for the
side to move in s such that
    v <= alpha          means the true value is at most v,
    v >= beta           means the true value is at least v,
    alpha < v < beta    means v is the true value,
where the true value is the negamax value of the tree to that depth: at a finished state the exact
distance to the end (MATE - ply won, ply - MATE lost, 0 drawn), at the horizon `evaluate`. The
contract holds with BASIC features. With the others the tree is deeper in tactical lines
(extensions, quiescence) and shallower where little is expected (null move, late move reductions,
futility, internal iterative reductions), and v is a value or bound of that tree. A table entry
from a deeper search counts as well, and a position that repeats one on the path or one of the match
is a draw, unless W[EXACT_DEPTH] is set. When W[STOP] is set the returned value means nothing, and
nothing was stored because of it.

In a game with EXTRA_TURNS a move may keep the turn. Then the child's value is not negated
(`child_value`), and W records the side to move at each ply (`side_at`). In all other games the
sides alternate, and this code is not compiled.
"""

from typing import Any

import numpy as np

from engine.compiler.inlining import inline
from engine.game import DRAWN, ONGOING, State
from engine.search import hooks, movepick, quiescence, reference, stack, steps, tt
from engine.search.features import (
    EXTENSIONS,
    FUTILITY,
    IIR,
    IMPROVING,
    LMR,
    MATE_DISTANCE,
    NULL_MOVE,
    PROBE,
    QUIESCENCE,
    REPETITION,
    TABLE,
    TABLE_GUESS,
)
from engine.search.hooks import (
    EXTRA_TURNS,
    HAS_PROBE,
    HAS_TACTICAL,
    HAS_UNSTABLE,
    MARGIN,
    REPEATS,
    drawn,
    evaluate,
    evasions,
    keeps_turn,
    may_pass,
    moves,
    no_moves_result,
    pass_turn,
    play,
    probe,
    rank,
    status,
    unstable,
)
from engine.search.layout import (
    EXACT,
    EXACT_DEPTH,
    FEATURES,
    FIRST_CUTS,
    HORIZONS,
    INF,
    LATER_CUTS,
    LINES,
    LOWER,
    MATE,
    MATE_BOUND,
    MAX_LINES,
    MAX_PLY,
    MAY_STOP,
    NO_LIMIT,
    NO_MOVE,
    NODES,
    NULL_FROM,
    POLL,
    QUIET_END,
    ROOT_COUNT,
    ROOT_DEPTH,
    ROOT_DONE,
    STOP,
    TABLE_CUTS,
    TABLE_HITS,
    UPPER,
)
from engine.search.movepick import (
    COUNTER_MOVE_SCORE,
    PRUNED,
    index_in,
    is_quiet,
    score_in,
    score_moves,
    sort_moves,
)
from engine.search.parameters import (
    FUTILITY_DEPTH,
    IIR_DEPTH,
    LATE_MOVES,
    LMR_DEPTH,
    LMR_MOVES,
    MAX_NULL_EXTRA,
    NULL_DEPTH,
    NULL_DIVISOR,
    NULL_REDUCTION,
    QUIET_NODES,
    VERIFY_DEPTH,
)
from engine.search.quiescence import quiesce
from engine.search.stack import (
    current_move,
    history_index,
    move_buffer,
    move_order,
    record_side,
    root_best,
    root_bounds,
    root_moves,
    root_nodes,
    root_scores,
    set_current_move,
    set_pv_length,
    set_static_eval,
    side_history,
    static_eval,
)
from engine.search.steps import (
    end_value,
    is_repeated,
    last_own_ply,
    poll,
    publish_pv,
    record_root_line,
    reduction,
    update_history,
    update_pv,
)
from engine.search.tt import (
    COMPLETE,
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

#: The other modules that are compiled with this one.
PARTS = (hooks, stack, tt, movepick, steps, quiescence, reference)

#: The signature of each compiled function; `engine.compiler.native` defines their words.
SIGNATURES = {
    **tt.SIGNATURES,
    **movepick.SIGNATURES,
    **steps.SIGNATURES,
    **quiescence.SIGNATURES,
    **reference.SIGNATURES,
    "alpha_beta": "i8(state, i8, i8, i8, i8, i8*, u8*, i8*, i8*)",
    "root": "i8(state, i8, i8, i8*, u8*, i8*, i8*)",
}
#: The functions of SIGNATURES that each function calls. Callees are compiled first, each with its
#: one signature.
CALLS = {
    **tt.CALLS,
    **steps.CALLS,
    **quiescence.CALLS,
    "alpha_beta": (
        "end_value", "poll", "is_repeated", "tt_probe", "value_from_tt", "cuts_off", "tt_store",
        "reduction", "update_pv", "update_history", "score_moves", "sort_moves", "quiesce",
        "last_own_ply",
    ),
    "root": (
        "alpha_beta", "publish_pv", "record_root_line", "update_pv", "is_repeated", "reduction",
    ),
    **reference.CALLS,
}  # fmt: skip


@inline
def child_value(
    s: State,
    child: State,
    depth: int,
    low: int,
    high: int,
    ply: int,
    W: Any,
    T: Any,
    C: Any,
    D: Any,
) -> int:
    """The value of a child for the side to move in s, within the window of s.

    `alpha_beta` returns it for the side to move in the child, which is the opponent of that in s
    unless the move keeps the turn.
    """
    return (
        alpha_beta(child, depth, low, high, ply, W, T, C, D)
        if keeps_turn(s, child)
        else -alpha_beta(child, depth, -high, -low, ply, W, T, C, D)
    )


def root(s: State, depth: int, margin: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """Searches the root moves in their order to a depth; returns the best score.

    The W[LINES] best moves, and all moves that score more than the best one minus `margin`, get an
    exact score and a line; the others get an upper bound. Margin 0 and one line is the ordinary
    search for one best move. The search publishes each new best line in C at once.
    """
    buffer = root_moves(W)
    scores = root_scores(W)
    bounds = root_bounds(W)
    nodes = root_nodes(W)
    best_scores = root_best(W)
    history = side_history(W, 0)
    best = -INF
    if EXTRA_TURNS != 0:
        record_side(s, 0, W)
    if REPEATS != 0:
        is_repeated(s, 0, W)
    full_depth = depth - 1
    may_reduce = 0
    if (
        (W[FEATURES] & LMR) != 0
        and margin == 0
        and W[LINES] == 1
        and depth >= LMR_DEPTH
        and unstable(s) == 0
    ):
        may_reduce = 1
    W[ROOT_DONE] = 0
    W[QUIET_END] = NO_LIMIT if W[MAY_STOP] != 0 else W[NODES] + QUIET_NODES
    W[ROOT_DEPTH] = depth
    W[NULL_FROM] = 0
    for t in range(MAX_LINES):
        best_scores[t] = -INF
    for i in range(W[ROOT_COUNT]):
        move = buffer[i]
        set_current_move(W, 0, move)
        child = play(s, move)
        nodes_before = W[NODES]
        floor = best - margin
        if W[LINES] > 1:
            floor = min(floor, best_scores[W[LINES] - 1])
        # 1. A score above the floor must be exact. While there is no floor, a move is searched with
        # the open window. Later moves must first beat the floor in a null window; late quiet ones
        # do so at a reduced depth.
        v = above = floor + 1
        if floor > -INF:
            reduced: Any = np.int64(0)
            if may_reduce != 0 and i >= LMR_MOVES and rank(s, move) <= 0 and unstable(child) == 0:
                reduced = reduction(depth, i, history[history_index(move)], 1, 1)
            reduced_depth = full_depth - reduced
            v = child_value(s, child, reduced_depth, floor, above, 1, W, T, C, D)
            if reduced > 0 and v > floor and W[STOP] == 0:
                v = child_value(s, child, full_depth, floor, above, 1, W, T, C, D)
        if v > floor and W[STOP] == 0:
            low = max(floor, -INF)
            v = child_value(s, child, full_depth, low, INF, 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        scores[i] = v
        bounds[i] = EXACT if v > floor else UPPER
        nodes[i] = W[NODES] - nodes_before
        W[ROOT_DONE] = i + 1
        # 2. A move with an exact score records its line and enters the list of the best scores. A
        # new best line is published.
        if v > floor:
            record_root_line(i, move, v, W)
        if v > best:
            best = v
            update_pv(move, 0, W)
            publish_pv(depth, best, W, C)
    return best


def alpha_beta(
    s: State, depth: int, alpha: int, beta: int, ply: int, W: Any, T: Any, C: Any, D: Any
) -> int:
    """The value of s to a depth within a window, alpha < beta; the contract is stated above."""
    # 1. Count the node, and poll for a stop every POLL_NODES nodes.
    W[NODES] += 1
    if W[NODES] >= W[POLL] and poll(W, C) != 0:
        return 0
    set_pv_length(W, ply, 0)
    if EXTRA_TURNS != 0:
        record_side(s, ply, W)
    features = W[FEATURES]

    # 2. A finished state has its exact value, and so has a draw by rule. A repetition counts as a
    # draw, because the side that can repeat a position can draw.
    result = status(s)
    if result != ONGOING:
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if REPEATS != 0 and (features & REPETITION) != 0 and is_repeated(s, ply, W) != 0:
        # The value depends on the path: no node above may store a COMPLETE entry.
        W[HORIZONS] += 1
        return end_value(DRAWN, ply, W)
    if HAS_PROBE != 0 and (features & PROBE) != 0:
        probed = probe(s, D)
        if probed != ONGOING:
            return end_value(probed & 3, ply + (probed >> 2), W)
    # Mate distance: the score is at least that of a loss here, and at most that of a win with the
    # next move.
    if (features & MATE_DISTANCE) != 0:
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return alpha

    # 3. An unstable state is extended by a ply, up to twice the depth of the root. At the horizon
    # the static evaluation is the value, after quiescence where the game has tactical moves.
    is_unstable = 0
    if (
        HAS_UNSTABLE != 0
        and (features & (EXTENSIONS | NULL_MOVE | LMR | FUTILITY | QUIESCENCE)) != 0
    ):
        is_unstable = unstable(s)
        if is_unstable != 0 and (features & EXTENSIONS) != 0 and ply < 2 * W[ROOT_DEPTH]:
            depth += 1
    if depth <= 0 or ply >= MAX_PLY - 1:
        if HAS_TACTICAL != 0 and (features & QUIESCENCE) != 0 and ply < MAX_PLY - 1:
            return quiesce(s, is_unstable, alpha, beta, ply, W, T, C, D)
        W[HORIZONS] += 1
        return evaluate(s, D)

    # 4. Table probe: a value, a bound that cuts off, or at least the move to try first. Where
    # `is_improving` needs the static evaluation in any case, it is computed before the probe so
    # that the prefetch has time to arrive.
    estimate: Any = np.int64(-INF)
    uses_improving = MARGIN != 0 and (features & IMPROVING) != 0 and is_unstable == 0
    if uses_improving:
        estimate = evaluate(s, D)
    k = table_key(s, W)
    slot = tt_probe(k, W, T)
    entry = entry_at(T, slot)
    table_move: Any = np.int64(-1)
    tt_value: Any = np.int64(-INF)
    is_hit = (features & TABLE) != 0 and has_key(T, slot, entry, k)
    if is_hit:
        W[TABLE_HITS] += 1
        tt_value = value_from_tt(entry, ply)
        entry_plies: Any = entry_depth(entry)
        if entry_plies != 0 and entry_move(entry) != NO_INDEX:
            table_move = entry_move(entry)
        is_deep_enough = entry_plies == depth or (entry_plies > depth and W[EXACT_DEPTH] == 0)
        if is_deep_enough and cuts_off(tt_value, entry, alpha, beta) != 0:
            W[TABLE_CUTS] += 1
            if entry_plies != COMPLETE:
                W[HORIZONS] += 1
            return int(tt_value)

    # 5. The static evaluation, or the table's value where its bound is tighter. Reverse futility:
    # near the horizon, when that estimate exceeds beta by a margin per ply, return it.
    may_prune = 0
    is_improving = 1
    can_pass: Any = np.int64(0)
    set_static_eval(W, ply, -INF)
    if is_unstable == 0:
        if beta - alpha == 1 and -MATE_BOUND < beta < MATE_BOUND:
            can_pass = may_pass(s)
            if MARGIN != 0 and (features & FUTILITY) != 0 and depth <= FUTILITY_DEPTH:
                may_prune = 1
        if uses_improving or may_prune != 0 or (depth >= NULL_DEPTH and can_pass != 0):
            if not uses_improving:
                estimate = evaluate(s, D)
            set_static_eval(W, ply, estimate)
            own_ply: Any = np.int64(ply - 2)
            if EXTRA_TURNS != 0:
                own_ply = last_own_ply(ply, W)
            if uses_improving and own_ply >= 1 and estimate <= static_eval(W, own_ply):
                is_improving = 0
            may_refine = (
                is_hit and (features & TABLE_GUESS) != 0 and -MATE_BOUND < tt_value < MATE_BOUND
            )
            if may_refine and cuts_off(tt_value, entry, estimate, estimate) != 0:
                estimate = tt_value
    if (
        may_prune != 0
        and can_pass != 0
        and ply >= W[NULL_FROM]
        and estimate - MARGIN * depth >= beta
    ):
        W[HORIZONS] += 1
        return int(estimate)

    # 6. Null move: if the score stays at or above beta even when the side to move passes, prune.
    # From VERIFY_DEPTH on, a reduced search without null moves near its root must confirm it,
    # because passing may be better than any move (zugzwang).
    previous_move = current_move(W, ply - 1)
    if (
        (features & NULL_MOVE) != 0
        and depth >= NULL_DEPTH
        and previous_move != NO_MOVE
        and can_pass != 0
        and ply >= W[NULL_FROM]
        and estimate >= beta
    ):
        set_current_move(W, ply, NO_MOVE)
        null_depth = depth - NULL_REDUCTION - depth // NULL_DIVISOR
        if MARGIN != 0:
            null_depth -= min((estimate - beta) // (2 * MARGIN), MAX_NULL_EXTRA)
        v = -alpha_beta(pass_turn(s), null_depth, -beta, 1 - beta, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        if v >= beta:
            W[HORIZONS] += 1
            if depth < VERIFY_DEPTH:
                return beta if v > MATE_BOUND else v
            outer_null_from = W[NULL_FROM]
            W[NULL_FROM] = ply + (3 * (null_depth + 1)) // 4
            verified = alpha_beta(s, null_depth, alpha, beta, ply, W, T, C, D)
            W[NULL_FROM] = outer_null_from
            if W[STOP] != 0:
                return 0
            if verified >= beta:
                return beta if v > MATE_BOUND else v

    # 7. Generate and score the moves (`movepick`). Internal iterative reduction: without a table
    # move a deep node is searched one ply shallower.
    if (features & IIR) != 0 and table_move < 0 and depth >= IIR_DEPTH:
        depth -= 1  # this search stores a move for the next iteration
    buffer = move_buffer(W, ply)
    n: Any = np.int64(0)
    if is_unstable != 0:
        n = evasions(s, buffer)
    if n == 0:
        n = moves(s, buffer)
    if n == 0:
        return end_value(no_moves_result(s), ply, W)
    order = move_order(W, ply)
    score_moves(s, buffer, order, n, table_move, ply, W)

    # 8. Search the moves in order: the first with the full window, the others with a null window,
    # late quiet ones at a reduced depth. A move that beats alpha is searched again at full depth,
    # then with the full window. The first move often causes a cut-off, so the other moves are
    # sorted only after it did not.
    horizons = W[HORIZONS]
    best = -INF
    best_index: Any = np.int64(0)
    low = alpha
    full_depth = depth - 1
    child_ply = ply + 1
    for i in range(n):
        if i == 1:
            sort_moves(buffer, order, 1, n)
        move = buffer[i]
        sort_key = order[i]
        set_current_move(W, ply, move)
        child = play(s, move)
        may_skip = may_prune != 0 and i > 0 and best > -MATE_BOUND
        if may_skip and score_in(sort_key) < COUNTER_MOVE_SCORE:
            # 9. Futility and late move pruning: skip a quiet move that would have to gain too much,
            # or comes late, unless it leaves the opponent unstable (gives check).
            is_futile = estimate + MARGIN * (depth + 1) <= low
            is_late = i >= (LATE_MOVES + depth * depth) >> (1 - is_improving)
            if (is_futile or is_late) and unstable(child) == 0:
                W[HORIZONS] += 1
                order[i] = PRUNED
                continue
        if (features & TABLE) != 0:
            prefetch_entry(child, W, T)
        if i == 0:
            v = child_value(s, child, full_depth, low, beta, child_ply, W, T, C, D)
        else:
            reduced: Any = np.int64(0)
            may_reduce = (
                (features & LMR) != 0 and depth >= LMR_DEPTH and i >= LMR_MOVES and is_unstable == 0
            )
            if may_reduce and score_in(sort_key) < COUNTER_MOVE_SCORE and unstable(child) == 0:
                move_score = score_in(sort_key) if is_quiet(sort_key) else 0
                reduced = reduction(
                    depth, i, move_score, 1 if beta - alpha > 1 else 0, is_improving
                )
            above = low + 1
            reduced_depth = full_depth - reduced
            v = child_value(s, child, reduced_depth, low, above, child_ply, W, T, C, D)
            if reduced > 0 and v > low and W[STOP] == 0:
                v = child_value(s, child, full_depth, low, above, child_ply, W, T, C, D)
            if v > low and v < beta and W[STOP] == 0:
                v = child_value(s, child, full_depth, low, beta, child_ply, W, T, C, D)
        if W[STOP] != 0:
            return 0

        # 10. A better move raises alpha. A quiet move that reaches beta becomes a killer move and
        # the counter move, and gets a history bonus.
        if v > best:
            best = v
            best_index = index_in(sort_key)
            if v > low:
                low = v
                update_pv(move, ply, W)
            if v >= beta:
                W[FIRST_CUTS if i == 0 else LATER_CUTS] += 1
                # Moves that the game ranks are ordered by their rank and need no history.
                if is_quiet(sort_key):
                    update_history(buffer, order, i, depth, ply, W)
                break

    # 11. Store the value with its bound. When every move failed low there is no best move, so the
    # entry keeps the table's move.
    if (features & TABLE) == 0:
        return best
    bound = EXACT
    if best >= beta:
        bound = LOWER
    elif best <= alpha:
        bound = UPPER
        if (features & IIR) != 0:
            best_index = table_move if table_move >= 0 else NO_INDEX
    stored_depth = depth
    if W[HORIZONS] == horizons and W[EXACT_DEPTH] == 0:
        stored_depth = COMPLETE
    tt_store(slot, k, best, bound, stored_depth, best_index, ply, W, T)
    return best
