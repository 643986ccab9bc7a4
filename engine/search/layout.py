"""What the search's memory holds, and where: the words of W, T and C (see `engine.search.kernel`),
the techniques, and the numbers that the search is made with.
"""

import math

import numpy as np

U = np.uint64

MATE = 30_000
INF = 32_000
MAX_PLY = 128
#: A score beyond this, either way, is a forced end: one that the search sees, or that `probe` knows
#: further away.
MATE_BOUND = MATE - 1_000
POLL_NODES = 2048
EXACT, LOWER, UPPER = 0, 1, 2
#: The depth of a table entry whose tree has no horizon in it: it is right at every depth.
COMPLETE = 255
COMPLETE_WORTH = 4

# W: counters and limits, then areas of fixed size, then the move buffers
#: DRAW_VALUE: what a draw is worth to the side to move at the root. SALT: goes into each key, 0 but
#: for searches whose values belong into no other one. AGE: the number of the search, for the table.
#: LINES: so many best moves get exact scores. QUIET_END: at so many nodes quiescence is to end.
#: ROOT_DONE: so many moves of the root have been searched to the depth that runs.
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
    FEATURES,
    ROOT_DEPTH,
    NULL_FROM,
    DRAW_VALUE,
    SALT,
    AGE,
    LINES,
    QUIET_END,
    ROOT_DONE,
) = range(20)
#: The best scores at the root so far, W[LINES] of them, the best first.
TOP = 32
MAX_LINES = 31
PV_LENGTH = TOP + MAX_LINES + 1
PV = PV_LENGTH + MAX_PLY + 1
KILLERS = PV + (MAX_PLY + 1) * MAX_PLY
HISTORY = KILLERS + 2 * MAX_PLY
HISTORY_MOVES = 4096
#: So many repetition keys of the match's last positions are known, W[PAST] of them; then come those
#: of the path.
MAX_PAST = 512
#: The repetition key of the root; those of its children follow by ply.
PATH = HISTORY + 2 * HISTORY_MOVES + MAX_PAST
#: What the evaluation said at each ply of the path; -INF where it was not asked.
STATIC_EVAL = PATH + MAX_PLY + 1
#: The move that was made at each ply of the path; NO_MOVE for a null move.
CURRENT_MOVE = STATIC_EVAL + MAX_PLY + 1
#: The move that refuted each move before.
COUNTER_MOVES = CURRENT_MOVE + MAX_PLY + 1
BUFFERS = COUNTER_MOVES + HISTORY_MOVES
MAX_MOVES = 1
#: These stand for the game's own: 1 where positions can come again and that matters, where the game
#: gives `tactical`, `unstable`, and `probe`; and its MARGIN. What a game does not have is not
#: compiled.
REPEATS = HAS_TACTICAL = HAS_UNSTABLE = HAS_PROBE = MARGIN = 0
NO_MOVE = -1
#: The length of the line after a root move, and its moves as far as there is room.
LINE_WORDS = 32

#: The techniques that can be left out, by the names that an ablation match knows them by.
FEATURE = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            "table", "killers", "history", "repetition", "replies", "rank", "quiescence", "extensions", "null-move",
            "lmr", "iir", "buckets", "malus", "mate-distance", "bad-captures",
            "probe", "futility", "quiet-table", "improving", "table-guess",
        )
    )
}  # fmt: skip
(
    TABLE, KILLERS_FIRST, HISTORY_ORDER, REPETITION, COUNTER_MOVE_ORDER, RANKS, QUIESCENCE, EXTENSIONS, NULL_MOVE, LMR,
    IIR,
    BUCKETS, MALUS, MATE_DISTANCE, BAD_CAPTURES, PROBE, FUTILITY, QUIET_TABLE, IMPROVING, TABLE_GUESS,
) = FEATURE.values()  # fmt: skip
BASIC = TABLE | KILLERS_FIRST | HISTORY_ORDER
#: What changes the order of moves and the windows, but not the tree: a seen end is as near as it
#: gets.
SOUND = BASIC | REPETITION | COUNTER_MOVE_ORDER | RANKS | BUCKETS | MALUS | MATE_DISTANCE | PROBE
ALL = (1 << len(FEATURE)) - 1

NULL_DEPTH, VERIFY_DEPTH, LMR_DEPTH, LMR_MOVES, IIR_DEPTH = 3, 10, 3, 3, 4
#: Up to this depth moves are left out; of quiet ones so many plus the square of the depth are
#: looked at.
FUTILITY_DEPTH, LATE_MOVES = 6, 3
#: Reductions are counted in parts of a ply.
PLY = 1024
#: How much less deep a late move is looked at, by depth and number of the move.
REDUCTIONS = np.array(
    [
        [
            round((0.3 + math.log(depth) * math.log(move) / 2.1) * PLY) if depth and move else 0
            for move in range(64)
        ]
        for depth in range(64)
    ],
    np.int64,
)
#: What is remembered of a move is at most so much, either way: then it counts for two plies of
#: reduction.
MAX_HISTORY = 1 << 14
#: In a table entry: no move is known to be best.
NO_INDEX = 65_535
#: At so many nodes the quiescence of the first depth, which nothing stops, is to end: then the
#: evaluation stands for the rest. No game of ours comes near it; one whose `tactical` never calms
#: down would not answer at all.
QUIET_NODES = 20_000
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


def work_words(max_moves: int) -> int:
    """The size of W: the buffers hold moves and their order for each ply, and the root's moves with
    what is found.
    """
    return BUFFERS + 2 * MAX_PLY * max_moves + (3 + LINE_WORDS) * max_moves


def root_offset(max_moves: int) -> int:
    """Where the root's moves begin in W; their scores, bounds and lines follow."""
    return BUFFERS + 2 * MAX_PLY * max_moves
