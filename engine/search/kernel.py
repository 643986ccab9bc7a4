"""The search: iterative deepening calls `root`, which calls `nega`, an alpha-beta search with null windows.

These functions are written once; `engine.native` compiles a copy of them for each game with the game's rules in place
of the stubs below, and MAX_MOVES of the game. They use 64-bit memory only:

- W, work memory of one worker (`work_words`): counters, limits, principal variation, killer moves, history, the
  positions on the path, move buffers
- T, the transposition table: two words an entry
- C, the control block that is shared with the process that asked: it writes CANCEL and nothing else; the search
  writes the rest
- D, the game's data

Techniques are switched on and off by the bits of W[TECHNIQUES] (see TECHNIQUE). BASIC ones change how soon a value is
found; the others change what is looked at.

The contract of `nega`: with the game's rules and `depth` more plies, it returns v for the side to move in s such that
    v <= alpha          means the true value is at most v,
    v >= beta           means the true value is at least v,
    alpha < v < beta    means v is the true value,
where the true value is the negamax value of the tree to that depth: at a finished state the exact distance to the end
(MATE - ply won, ply - MATE lost, 0 drawn), at the horizon `evaluate`. That holds with BASIC techniques; with the others
the tree is deeper where much happens (extensions, quiescence) and shallower where little is expected (null move, late
move reductions, futility, a node without a table move), and v is a value or bound of that tree. A table entry from a
deeper search counts as well, and a position that comes again on the path or after the match's own is a draw, unless
W[EXACT_DEPTH] is set. When W[STOP] is set the returned value means nothing, and nothing was stored because of it.
"""

import math
from typing import Any

import numpy as np

from engine.game import DRAWN, GOES_ON, WON, State
from engine.jit import at, prefetch, put

U = np.uint64

MATE = 30_000
INF = 32_000
MAX_PLY = 128
DECIDED = MATE - 1_000
"""A score beyond this, either way, is a forced end: one that the search sees, or that `probe` knows further away."""
POLL_NODES = 2048
EXACT, LOWER, UPPER = 0, 1, 2
COMPLETE = 255
"""The depth of a table entry whose tree has no horizon in it: it is right at every depth."""
COMPLETE_WORTH = 4

# W: counters and limits, then areas of fixed size, then the move buffers
(
    NODES,
    STOP,
    POLL,
    NODE_LIMIT,
    MAY_STOP,
    EXPIRED,
    HORIZONS,
    EXACT_DEPTH,
    TABLE_SHIFT,
    ROOT_COUNT,
    PAST,
    TECHNIQUES,
    GUESS,
    ROOT_DEPTH,
    NULL_FROM,
    DRAW_VALUE,
    SALT,
    AGE,
    LINES,
    QUIET_END,
    ROOT_DONE,
) = range(21)
"""DRAW_VALUE: what a draw is worth to the side to move at the root. SALT: goes into each key, 0 but for searches whose
values belong into no other one. AGE: the number of the search, for the table. LINES: so many best moves get exact
scores. QUIET_END: at so many nodes quiescence is to end. ROOT_DONE: so many moves of the root have been
searched to the depth that runs."""
TOP = 32
"""The best scores at the root so far, W[LINES] of them, the best first."""
MAX_LINES = 31
PV_LENGTH = TOP + MAX_LINES + 1
PV = PV_LENGTH + MAX_PLY + 1
KILLERS = PV + (MAX_PLY + 1) * MAX_PLY
HISTORY = KILLERS + 2 * MAX_PLY
HISTORY_MOVES = 4096
MAX_PAST = 512
"""So many repetition keys of the match's last positions are known, W[PAST] of them; then come those of the path."""
PATH = HISTORY + 2 * HISTORY_MOVES + MAX_PAST
"""The repetition key of the root; those of its children follow by ply."""
GUESSES = PATH + MAX_PLY + 1
"""What the evaluation said at each ply of the path; -INF where it was not asked."""
MADE = GUESSES + MAX_PLY + 1
"""The move that was made at each ply of the path; NO_MOVE for a null move."""
REPLIES = MADE + MAX_PLY + 1
"""The move that refuted each move before."""
BUFFERS = REPLIES + HISTORY_MOVES
MAX_MOVES = 1
REPEATS = NOISE = TENSION = KNOWLEDGE = MARGIN = 0
"""These stand for the game's own: 1 where positions can come again and that matters, where the game gives `noisy`,
`tense`, and `probe`; and its MARGIN. What a game does not have is not compiled."""
NO_MOVE = -1
LINE_WORDS = 32
"""The length of the line after a root move, and its moves as far as there is room."""

TECHNIQUE = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            "table", "killers", "history", "repetition", "replies", "rank", "quiescence", "extensions", "null-move",
            "lmr", "iir", "aspiration", "buckets", "malus", "mate-distance", "bad-captures",
            "probe", "futility", "quiet-table", "improving", "table-guess",
        )
    )
}  # fmt: skip
"""The techniques that can be left out, by the names that an ablation match knows them by."""
(
    TABLE, KILLERS_FIRST, HISTORY_ORDER, REPETITION, REPLIES_FIRST, RANKS, QUIESCENCE, EXTENSIONS, NULL_MOVE, LMR, IIR,
    ASPIRATION, BUCKETS, MALUS, MATE_DISTANCE, BAD_CAPTURES, PROBE, FUTILITY, QUIET_TABLE, IMPROVING, TABLE_GUESS,
) = TECHNIQUE.values()  # fmt: skip
BASIC = TABLE | KILLERS_FIRST | HISTORY_ORDER
SOUND = BASIC | REPETITION | REPLIES_FIRST | RANKS | ASPIRATION | BUCKETS | MALUS | MATE_DISTANCE | PROBE
"""What changes the order of moves and the windows, but not the tree: a seen end is as near as it gets."""
ALL = (1 << len(TECHNIQUE)) - 1

NULL_DEPTH, VERIFY_DEPTH, LMR_DEPTH, LMR_MOVES, IIR_DEPTH, ASPIRATION_DEPTH = 3, 10, 3, 3, 4, 5
FUTILITY_DEPTH, LATE_MOVES = 6, 3
"""Up to this depth moves are left out; of quiet ones so many plus the square of the depth are looked at."""
ASPIRATION_WINDOW = 24
PLY = 1024
"""Reductions are counted in parts of a ply."""
REDUCTIONS = np.array(
    [
        [round((0.3 + math.log(depth) * math.log(move) / 2.1) * PLY) if depth and move else 0 for move in range(64)]
        for depth in range(64)
    ],
    np.int64,
)
"""How much less deep a late move is looked at, by depth and number of the move."""
MOST_HISTORY = 1 << 14
"""What is remembered of a move is at most so much, either way: then it counts for two plies of reduction."""
NO_INDEX = 65_535
"""In a table entry: no move is known to be best."""
QUIET_NODES = 20_000
"""At so many nodes the quiescence of the first depth, which nothing stops, is to end: then the evaluation stands for
the rest. No game of ours comes near it; one whose `noisy` never calms down would not answer at all."""
UNBOUNDED = 1 << 62

# C: one writer for CANCEL, one for all else
CANCEL, SEQUENCE, SEEN_NODES, SEEN_DEPTH, SEEN_SCORE, SEEN_PV_LENGTH, SEEN_PV = range(7)
CONTROL_WORDS = SEEN_PV + MAX_PLY

GOLDEN = U(0x9E3779B97F4A7C15)
LOW_16 = U(0xFFFF)
LOW_8 = U(0xFF)
LOW_6 = U(0x3F)
LOW_2 = U(3)
SCORE_SHIFT = 32_768

SIGNATURES = {
    "end_value": "i8(i8, i8, i8*)",
    "age_and_depth": "i8(u8, i8*)",
    "credit": "void(i8*, i8, i8)",
    "poll": "i8(i8*, i8*)",
    "is_repeated": "i8(state, i8, i8*)",
    "show": "void(i8, i8, i8*, i8*)",
    "keep_line": "void(i8, i8, i8, i8*)",
    "lookup": "i8(u8, i8*, u8*)",
    "score_here": "i8(u8, i8)",
    "closes": "i8(i8, u8, i8, i8)",
    "remember": "void(i8, u8, i8, i8, i8, i8, i8, i8*, u8*)",
    "reduction": "i8(i8, i8, i8, i8, i8)",
    "quiesce": "i8(state, i8, i8, i8, i8, i8*, u8*, i8*, i8*)",
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
    "rule_noisy": "i8(state, i8*)",
    "rule_probe": "i8(state, i8*)",
    "rule_tense": "i8(state)",
    "rule_forced": "i8(state, i8*)",
    "rule_rank": "i8(state, i8)",
    "rule_may_pass": "i8(state)",
    "rule_pass_turn": "state(state)",
}
CALLS = {
    "remember": ("age_and_depth",),
    "quiesce": ("end_value", "poll", "lookup", "score_here", "closes", "remember"),
    "nega": (
        "end_value",
        "credit",
        "poll",
        "is_repeated",
        "lookup",
        "score_here",
        "closes",
        "remember",
        "reduction",
        "quiesce",
    ),
    "root": ("nega", "show", "keep_line", "is_repeated", "reduction"),
    "plain": ("end_value",),
}
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


def noisy(s: State, buf: Any) -> int:
    return 0


def tense(s: State) -> int:
    return 0


def forced(s: State, buf: Any) -> int:
    return 0


def rank(s: State, m: int) -> int:
    return 0


def may_pass(s: State) -> int:
    return 0


def pass_turn(s: State) -> State:
    return s


def probe(s: State, data: Any) -> int:
    return GOES_ON


def work_words(max_moves: int) -> int:
    """The size of W: the buffers hold moves and their order for each ply, and the root's moves with what is found."""
    return BUFFERS + 2 * MAX_PLY * max_moves + (3 + LINE_WORDS) * max_moves


def root_offset(max_moves: int) -> int:
    """Where the root's moves begin in W; their scores, bounds and lines follow."""
    return BUFFERS + 2 * MAX_PLY * max_moves


def end_value(result: int, ply: int, W: Any) -> int:
    """The score of a finished state for the side to move."""
    if result == DRAWN:
        return int(-W[DRAW_VALUE] if ply & 1 else W[DRAW_VALUE])
    if result == WON:
        return MATE - ply
    return ply - MATE


def age_and_depth(entry: np.uint64, W: Any) -> int:
    """What a table entry is worth: plies, eight less for each search since. A complete tree may have been any size."""
    age: Any = np.int64((U(W[AGE]) - (entry >> U(26))) & LOW_6)
    plies: Any = np.int64((entry >> U(16)) & LOW_8)
    if plies == COMPLETE:
        plies = COMPLETE_WORTH
    return int(plies - 8 * age)


def lookup(k: np.uint64, W: Any, T: Any) -> int:
    """The slot of the table that holds this key, or else the first that might."""
    slot: Any = np.int64((k * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
    if (W[TECHNIQUES] & BUCKETS) != 0 and T[slot] ^ T[slot + 1] != k:
        other = slot ^ 2
        if T[other] ^ T[other + 1] == k:
            return int(other)
    return int(slot)


def score_here(entry: np.uint64, ply: int) -> int:
    """The score of an entry. The table counts the distance to the end from its own state."""
    known: Any = np.int64(entry & LOW_16) - SCORE_SHIFT
    if known > DECIDED:
        known -= ply
    elif known < -DECIDED:
        known += ply
    return int(known)


def closes(known: int, entry: np.uint64, alpha: int, beta: int) -> int:
    """1 if the score of an entry, with the bound that it is, says all about this window."""
    known_bound = np.int64((entry >> U(24)) & LOW_2)
    if known_bound == EXACT or (known_bound == LOWER and known >= beta) or (known_bound == UPPER and known <= alpha):
        return 1
    return 0


def remember(slot: int, k: np.uint64, best: int, bound: int, depth: int, index: int, ply: int, W: Any, T: Any) -> None:
    """Stores a value with what it means, the distance to an end counted from here; of the two slots that a key may
    have, in the one that is worth less.
    """
    stored = best
    if best > DECIDED:
        stored += ply
    elif best < -DECIDED:
        stored -= ply
    if (W[TECHNIQUES] & BUCKETS) != 0 and T[slot] ^ T[slot + 1] != k:
        other = slot ^ 2
        if T[other] ^ T[other + 1] == k or age_and_depth(T[other + 1], W) < age_and_depth(T[slot + 1], W):
            slot = other
    word = U(stored + SCORE_SHIFT) | (U(depth) << U(16)) | (U(index) << U(32))
    word |= (U(bound) << U(24)) | ((U(W[AGE]) & LOW_6) << U(26))
    T[slot] = k ^ word
    T[slot + 1] = word


def reduction(depth: int, number: int, worth: int, is_open: int, is_improving: int) -> int:
    """How many plies a late move is looked at less: fewer where the window is open or history speaks for the move, more
    where the side to move is not doing better than at its move before.
    """
    parts: Any = np.int64(REDUCTIONS[min(depth, 63), min(number, 63)])
    if is_open != 0:
        parts -= PLY
    if is_improving == 0:
        parts += PLY // 2
    parts -= 2 * PLY * max(min(worth, MOST_HISTORY), -MOST_HISTORY) // MOST_HISTORY
    return int(max(min(parts // PLY, depth - 2), 0))


def credit(history: Any, move: int, depth: int) -> None:
    """Moves what is remembered of a move towards MOST_HISTORY, or away from it where depth is negative."""
    at_move = move & (HISTORY_MOVES - 1)
    bonus = min(16 * depth * depth + 64 * abs(depth), 1600)
    if depth < 0:
        bonus = -bonus
    history[at_move] += bonus - history[at_move] * abs(bonus) // MOST_HISTORY


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
    for i in range(2, back + 1, 2):
        if i <= ply and (W[MADE + ply - i] == NO_MOVE or W[MADE + ply - i + 1] == NO_MOVE):
            return 0  # whoever passed cannot come back to what was before
        if i >= 4 and W[PATH + ply - i] == here:
            return 1
    return 0


def root(s: State, depth: int, margin: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """Searches the moves at W[root_offset], in their order, to a depth and returns the best score.

    The W[LINES] best moves, and all that score more than the best one minus the margin, get exact scores and a line,
    the others upper bounds; margin 0 and one line is the ordinary search for one best move. A new best line is shown
    in C at once.
    """
    moves_at = BUFFERS + 2 * MAX_PLY * MAX_MOVES
    scores_at = moves_at + MAX_MOVES
    bounds_at = scores_at + MAX_MOVES
    best = -INF
    if REPEATS != 0:
        is_repeated(s, 0, W)
    may_reduce = 0
    if (W[TECHNIQUES] & LMR) != 0 and margin == 0 and W[LINES] == 1 and depth >= LMR_DEPTH and tense(s) == 0:
        may_reduce = 1
    history = at(W, HISTORY)
    W[ROOT_DONE] = 0
    W[QUIET_END] = UNBOUNDED if W[MAY_STOP] != 0 else W[NODES] + QUIET_NODES
    W[ROOT_DEPTH] = depth
    W[NULL_FROM] = 0
    for t in range(MAX_LINES):
        W[TOP + t] = -INF
    for i in range(W[ROOT_COUNT]):
        move = W[moves_at + i]
        W[MADE] = move
        child = play(s, move)
        floor = best - margin
        if W[LINES] > 1:
            floor = min(floor, W[TOP + W[LINES] - 1])
        # 1. As long as there is no floor a move gets the open window, or the first one a window around the score of the
        #    depth before, widened until it holds; later ones must first show that they come above the floor, late quiet
        #    ones less deep at first.
        v = floor + 1
        is_settled = 0
        if floor > -INF:
            less: Any = np.int64(0)
            if may_reduce != 0 and i >= LMR_MOVES and rank(s, move) <= 0 and tense(child) == 0:
                less = reduction(depth, i, history[move & (HISTORY_MOVES - 1)], 1, 1)
            v = -nega(child, depth - 1 - less, -floor - 1, -floor, 1, W, T, C, D)
            if less > 0 and v > floor and W[STOP] == 0:
                v = -nega(child, depth - 1, -floor - 1, -floor, 1, W, T, C, D)
        elif i == 0 and margin == 0 and depth >= ASPIRATION_DEPTH and (W[TECHNIQUES] & ASPIRATION) != 0:
            half = ASPIRATION_WINDOW
            while is_settled == 0 and half < DECIDED and W[STOP] == 0:
                v = -nega(child, depth - 1, -W[GUESS] - half, -W[GUESS] + half, 1, W, T, C, D)
                if v > W[GUESS] - half and v < W[GUESS] + half:
                    is_settled = 1
                half *= 4
            v = max(v, floor + 1)
        if is_settled == 0 and v > floor and W[STOP] == 0:
            v = -nega(child, depth - 1, -INF, -max(floor, -INF), 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        W[scores_at + i] = v
        W[bounds_at + i] = EXACT if v > floor else UPPER
        W[ROOT_DONE] = i + 1
        # 2. An exact score comes with its line, and to its place among the best; a new best one is shown.
        if v > floor:
            keep_line(i, move, v, W)
        if v > best:
            best = v
            W[PV] = move
            length = W[PV_LENGTH + 1]
            for t in range(length):
                W[PV + 1 + t] = W[PV + MAX_PLY + t]
            W[PV_LENGTH] = length + 1
            show(depth, best, W, C)
    W[GUESS] = best
    return best


def keep_line(i: int, move: int, v: int, W: Any) -> None:
    """Notes the line after the i-th root move, and sorts its score in among the best."""
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


def quiesce(s: State, known_tense: int, alpha: int, beta: int, ply: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """The value of s, within a window, when only noisy moves are made from here: `nega`'s contract for that tree.

    The side to move may stand pat, that is take the evaluation instead; where the state is tense it may not, and all
    moves are looked at, or those that the game says it leaves. Noisy moves that the game ranks below 0 are left out.
    """
    # 1. A finished state has its exact value.
    W[PV_LENGTH + ply] = 0
    result = status(s)
    if result != GOES_ON:
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if KNOWLEDGE != 0 and (W[TECHNIQUES] & PROBE) != 0:
        known_end = probe(s, D)
        if known_end != GOES_ON:
            return end_value(known_end & 3, ply + (known_end >> 2), W)

    # 2. The table may know the value. What is found here has depth 0, and its move is one of those looked at here.
    W[HORIZONS] += 1
    best = -INF
    low = alpha
    table_move: Any = np.int64(-1)
    k = U(0)
    slot: Any = np.int64(0)
    uses_table = (W[TECHNIQUES] & (TABLE | QUIET_TABLE)) == TABLE | QUIET_TABLE
    if uses_table:
        k = key(s) ^ U(W[SALT])
        slot = lookup(k, W, T)
        entry = T[slot + 1]
        if T[slot] ^ entry == k:
            known = score_here(entry, ply)
            if closes(known, entry, alpha, beta) != 0:
                return known
            if (entry >> U(16)) & LOW_8 == U(0):
                table_move = np.int64((entry >> U(32)) & LOW_16)

    # 3. Standing pat; and that is all after too many nodes.
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    is_tense = tense(s) if known_tense < 0 else known_tense
    is_last = ply >= MAX_PLY - 1 or W[NODES] >= W[QUIET_END]
    n: Any = np.int64(0)
    if is_tense == 0 or is_last:
        best = evaluate(s, D)
        if best >= beta or is_last:
            return best
        if best > low:
            low = best
        n = noisy(s, buffer)
    else:
        n = forced(s, buffer)
        if n == 0:
            n = moves(s, buffer)
        if n == 0:
            return end_value(stuck(s), ply, W)

    # 4. The moves, the most promising first.
    order = at(W, BUFFERS + (2 * ply + 1) * MAX_MOVES)
    best_index: Any = np.int64(NO_INDEX)
    for i in range(n):
        worth: Any = np.int64(rank(s, buffer[i]))
        if i == table_move:
            worth = 1 << 44
        order[i] = worth * 65536 + (65535 - i)
    for i in range(n):
        j = i
        for t in range(i + 1, n):
            if order[t] > order[j]:
                j = t
        if is_tense == 0 and order[j] < 0 and (W[TECHNIQUES] & BAD_CAPTURES) != 0:
            break  # what the game ranks below the quiet moves is no reason to go on
        move = buffer[j]
        place = order[j]
        order[j] = order[i]
        buffer[j] = buffer[i]
        W[NODES] += 1
        if W[NODES] >= W[POLL] and poll(W, C) != 0:
            return 0
        child = play(s, move)
        if uses_table:
            next_slot: Any = np.int64(((key(child) ^ U(W[SALT])) * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
            prefetch(T, next_slot)
        v = -quiesce(child, -1, -beta, -low, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        if v > best:
            best = v
            if v > low:
                low = v
                best_index = 65535 - (place & 65535)
                line = PV + ply * MAX_PLY
                W[line] = move
                length = W[PV_LENGTH + ply + 1]
                for t in range(length):
                    W[line + 1 + t] = W[line + MAX_PLY + t]
                W[PV_LENGTH + ply] = length + 1
            if v >= beta:
                break
    if uses_table and W[NODES] < W[QUIET_END]:
        bound = EXACT
        if best >= beta:
            bound = LOWER
        elif best <= alpha:
            bound = UPPER
        remember(slot, k, best, bound, 0, best_index, ply, W, T)
    return best


def nega(s: State, depth: int, alpha: int, beta: int, ply: int, W: Any, T: Any, C: Any, D: Any) -> int:
    """The value of s to a depth within a window, alpha < beta: see the contract above."""
    # 1. Count, and now and then look whether to stop.
    W[NODES] += 1
    if W[NODES] >= W[POLL] and poll(W, C) != 0:
        return 0
    W[PV_LENGTH + ply] = 0
    techniques = W[TECHNIQUES]

    # 2. A finished state has its exact value; so has a draw by rule, and whoever can repeat a position can draw.
    result = status(s)
    if result != GOES_ON:
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if REPEATS != 0 and (techniques & REPETITION) != 0 and is_repeated(s, ply, W) != 0:
        W[HORIZONS] += 1  # the value belongs to this path: no table entry above may take it for complete
        return end_value(DRAWN, ply, W)
    if KNOWLEDGE != 0 and (techniques & PROBE) != 0:
        known_end = probe(s, D)
        if known_end != GOES_ON:
            return end_value(known_end & 3, ply + (known_end >> 2), W)
    if (techniques & MATE_DISTANCE) != 0:  # nothing is sooner than a loss here or a win with the next move
        alpha = max(alpha, ply - MATE)
        beta = min(beta, MATE - ply - 1)
        if alpha >= beta:
            return alpha

    # 3. A tense state is looked at a ply deeper, up to twice the depth of the root. At the horizon the game's
    #    evaluation stands for the rest, once the noise is over.
    is_tense = 0
    if TENSION != 0 and (techniques & (EXTENSIONS | NULL_MOVE | LMR | FUTILITY | QUIESCENCE)) != 0:
        is_tense = tense(s)
        if is_tense != 0 and (techniques & EXTENSIONS) != 0 and ply < 2 * W[ROOT_DEPTH]:
            depth += 1
    if depth <= 0 or ply >= MAX_PLY - 1:
        if NOISE != 0 and (techniques & QUIESCENCE) != 0 and ply < MAX_PLY - 1:
            return quiesce(s, is_tense, alpha, beta, ply, W, T, C, D)
        W[HORIZONS] += 1
        return evaluate(s, D)

    # 4. The table may know the value, or a bound that closes the window, or at least the move to try first.
    k = key(s) ^ U(W[SALT])
    slot = lookup(k, W, T)
    entry = T[slot + 1]
    table_move: Any = np.int64(-1)
    known: Any = np.int64(-INF)
    is_known = (techniques & TABLE) != 0 and T[slot] ^ entry == k
    if is_known:
        known = score_here(entry, ply)
        known_depth: Any = np.int64((entry >> U(16)) & LOW_8)
        if known_depth != 0 and (entry >> U(32)) & LOW_16 != U(NO_INDEX):
            table_move = np.int64((entry >> U(32)) & LOW_16)
        is_deep = known_depth == depth or (known_depth > depth and W[EXACT_DEPTH] == 0)
        if is_deep and closes(known, entry, alpha, beta) != 0:
            if known_depth != COMPLETE:
                W[HORIZONS] += 1
            return int(known)

    # 5. A guess at the value: the evaluation, or what the table knows if that says more. Futility: near the horizon,
    #    where the guess is so far above the window that the few plies left will hardly lose it, it stands for them.
    guess: Any = np.int64(-INF)
    may_prune = 0
    is_improving = 1
    is_free: Any = np.int64(0)
    W[GUESSES + ply] = -INF
    if is_tense == 0:
        if beta - alpha == 1 and -DECIDED < beta < DECIDED:
            is_free = may_pass(s)
            if MARGIN != 0 and (techniques & FUTILITY) != 0 and depth <= FUTILITY_DEPTH:
                may_prune = 1
        wants_trend = MARGIN != 0 and (techniques & IMPROVING) != 0
        if may_prune != 0 or wants_trend or (depth >= NULL_DEPTH and is_free != 0):
            guess = evaluate(s, D)
            W[GUESSES + ply] = guess
            if wants_trend and ply >= 3 and guess <= W[GUESSES + ply - 2]:
                is_improving = 0
            may_tell = is_known and (techniques & TABLE_GUESS) != 0 and -DECIDED < known < DECIDED
            if may_tell and closes(known, entry, guess, guess) != 0:
                guess = known
    if may_prune != 0 and is_free != 0 and ply >= W[NULL_FROM] and guess - MARGIN * depth >= beta:
        W[HORIZONS] += 1
        return int(guess)

    # 6. Null move: if not even passing lets the other side back into the window, no move needs to be tried. Deep in the
    #    tree a shallower search has to agree that takes no guess for it, for passing may be better than any move.
    made_before = W[MADE + ply - 1]
    if (
        (techniques & NULL_MOVE) != 0
        and depth >= NULL_DEPTH
        and made_before != NO_MOVE
        and is_free != 0
        and ply >= W[NULL_FROM]
        and guess >= beta
    ):
        W[MADE + ply] = NO_MOVE
        null_depth = depth - 4 - depth // 4
        if MARGIN != 0:
            null_depth -= min((guess - beta) // (2 * MARGIN), 3)
        v = -nega(pass_turn(s), null_depth, -beta, 1 - beta, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0
        if v >= beta:
            W[HORIZONS] += 1
            if depth < VERIFY_DEPTH:
                return beta if v > DECIDED else v
            kept = W[NULL_FROM]
            W[NULL_FROM] = ply + (3 * (null_depth + 1)) // 4
            checked = nega(s, null_depth, alpha, beta, ply, W, T, C, D)
            W[NULL_FROM] = kept
            if W[STOP] != 0:
                return 0
            if checked >= beta:
                return beta if v > DECIDED else v

    # 7. The moves, and an order: table move, moves that the game ranks, killer moves, the reply that refuted the move
    #    before, then by how often a move closed the window before.
    if (techniques & IIR) != 0 and table_move < 0 and depth >= IIR_DEPTH:
        depth -= 1  # without a move to begin with the node is worth less; it is there the next time
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    n: Any = np.int64(0)
    if is_tense != 0:
        n = forced(s, buffer)
    if n == 0:
        n = moves(s, buffer)
    if n == 0:
        return end_value(stuck(s), ply, W)
    order = at(W, BUFFERS + (2 * ply + 1) * MAX_MOVES)
    history = at(W, HISTORY + (ply & 1) * HISTORY_MOVES)
    killers = at(W, KILLERS + 2 * ply)
    killer_1 = killers[0]
    killer_2 = killers[1]
    reply = W[REPLIES + (made_before & (HISTORY_MOVES - 1))] if (techniques & REPLIES_FIRST) != 0 else NO_MOVE
    for i in range(n):
        move = buffer[i]
        worth: Any = np.int64(0)
        if (techniques & HISTORY_ORDER) != 0:
            worth = history[move & (HISTORY_MOVES - 1)]
        ranked: Any = np.int64(0)
        if (techniques & RANKS) != 0:
            ranked = rank(s, move)
        if i == table_move:
            worth = 1 << 44
        elif ranked > 0:
            worth = (3 << 42) + ranked
        elif (techniques & KILLERS_FIRST) != 0 and move == killer_1:
            worth = 1 << 43
        elif (techniques & KILLERS_FIRST) != 0 and move == killer_2:
            worth = 1 << 42
        elif move == reply:
            worth = 1 << 41
        elif ranked < 0:
            worth = ranked - (1 << 40)
        order[i] = worth * (1 << 17) + (65536 if ranked == 0 else 0) + (65535 - i)

    # 8. Search the moves from the best place on: the first with the whole window, the others only to show that they
    #    are no better, late quiet ones less deep at first, and once more when one is better.
    horizons = W[HORIZONS]
    best = -INF
    best_index: Any = np.int64(0)
    low = alpha
    for i in range(n):
        j = i
        for t in range(i + 1, n):
            if order[t] > order[j]:
                j = t
        move = buffer[j]
        place = order[j]
        buffer[j] = buffer[i]
        order[j] = order[i]
        buffer[i] = move
        order[i] = place
        W[MADE + ply] = move
        child = play(s, move)
        if (techniques & TABLE) != 0:
            next_slot: Any = np.int64(((key(child) ^ U(W[SALT])) * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
            prefetch(T, next_slot)
        if may_prune != 0 and i > 0 and best > -DECIDED and (place >> 17) < 1 << 41:
            # 9. Futility: a quiet move that would have to gain too much, or comes late, is left out; not a check.
            is_hopeless = guess + MARGIN * (depth + 1) <= low
            is_late = i >= (LATE_MOVES + depth * depth) >> (1 - is_improving)
            if (is_hopeless or is_late) and tense(child) == 0:
                W[HORIZONS] += 1
                continue
        if i == 0:
            v = -nega(child, depth - 1, -beta, -low, ply + 1, W, T, C, D)
        else:
            less: Any = np.int64(0)
            may_reduce = (techniques & LMR) != 0 and depth >= LMR_DEPTH and i >= LMR_MOVES and is_tense == 0
            if may_reduce and (place >> 17) < 1 << 41 and tense(child) == 0:
                worth = (place >> 17) if (place & 65536) != 0 else 0
                less = reduction(depth, i, worth, 1 if beta - alpha > 1 else 0, is_improving)
            v = -nega(child, depth - 1 - less, -low - 1, -low, ply + 1, W, T, C, D)
            if less > 0 and v > low and W[STOP] == 0:
                v = -nega(child, depth - 1, -low - 1, -low, ply + 1, W, T, C, D)
            if v > low and v < beta and W[STOP] == 0:
                v = -nega(child, depth - 1, -beta, -low, ply + 1, W, T, C, D)
        if W[STOP] != 0:
            return 0

        # 10. A better move raises the lower end of the window; when that closes, remember the move that closed it.
        if v > best:
            best = v
            best_index = 65535 - (place & 65535)
            if v > low:
                low = v
                line = PV + ply * MAX_PLY
                W[line] = move
                length = W[PV_LENGTH + ply + 1]
                for t in range(length):
                    W[line + 1 + t] = W[line + MAX_PLY + t]
                W[PV_LENGTH + ply] = length + 1
            if v >= beta:
                if (place & 65536) != 0:  # a quiet one: what the game ranks is in its place without being remembered
                    if (techniques & MALUS) != 0:
                        for t in range(i + 1):
                            if (order[t] & 65536) != 0:
                                credit(history, buffer[t], depth if t == i else -depth)
                    elif history[move & (HISTORY_MOVES - 1)] < 1 << 40:
                        history[move & (HISTORY_MOVES - 1)] += depth * depth
                    W[REPLIES + (made_before & (HISTORY_MOVES - 1))] = move
                    if killer_1 != move:
                        killers[1] = killers[0]
                        killers[0] = move
                break

    # 11. Store the value with what it means. Where no move came above the window none is the best one.
    if (techniques & TABLE) == 0:
        return best
    bound = EXACT
    if best >= beta:
        bound = LOWER
    elif best <= alpha:
        bound = UPPER
        if (techniques & IIR) != 0:
            best_index = table_move if table_move >= 0 else NO_INDEX
    stored_depth = depth
    if W[HORIZONS] == horizons and W[EXACT_DEPTH] == 0:
        stored_depth = COMPLETE
    remember(slot, k, best, bound, stored_depth, best_index, ply, W, T)
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
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if depth <= 0:
        return evaluate(s, D)
    buffer = at(W, BUFFERS + 2 * ply * MAX_MOVES)
    n = moves(s, buffer)
    if n == 0:
        return end_value(stuck(s), ply, W)
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


def rule_noisy(s: State, buf: Any) -> int:
    return noisy(s, buf)


def rule_tense(s: State) -> int:
    return tense(s)


def rule_forced(s: State, buf: Any) -> int:
    return forced(s, buf)


def rule_rank(s: State, m: int) -> int:
    return rank(s, m)


def rule_may_pass(s: State) -> int:
    return may_pass(s)


def rule_pass_turn(s: State) -> State:
    return pass_turn(s)


def rule_probe(s: State, data: Any) -> int:
    return probe(s, data)
