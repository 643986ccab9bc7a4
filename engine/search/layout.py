"""The layout of the search's memory, that is the words of W, T and C (see `engine.search.kernel`);
its features, and its tuned constants.
"""

import math

import numpy as np

U = np.uint64

#: The score of a win at the root; a win in n plies scores MATE - n.
MATE = 30_000
#: Above every score.
INF = 32_000
#: The longest path, in plies.
MAX_PLY = 128
#: A score beyond this, either way, is a forced end: one that the search sees, or a farther one that
#: `probe` knows.
MATE_BOUND = MATE - 1_000
#: Nodes from one poll to the next.
POLL_NODES = 2048
#: The bounds of a score.
EXACT, LOWER, UPPER = 0, 1, 2
#: The depth of a table entry whose tree was searched to its end: its value holds at every depth.
COMPLETE = 255
#: The plies that a COMPLETE entry counts when an entry is to be replaced.
COMPLETE_WORTH = 4

# W: counters and limits, then areas of fixed size, then the move buffers
#: DRAW_VALUE: the score of a draw for the side to move at the root. SALT: XORed into each key; not
#: 0 in searches whose values must not mix with those of others. AGE: the number of the search.
#: LINES: the number of best moves that get exact scores. QUIET_END: the node count at which
#: quiescence ends. ROOT_DONE: the number of root moves that have been searched to this depth.
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
#: Where the best scores at the root are, W[LINES] of them, the best first.
TOP = 32
#: Maximum number of lines that a search can report.
MAX_LINES = 31
PV_LENGTH = TOP + MAX_LINES + 1
PV = PV_LENGTH + MAX_PLY + 1
KILLERS = PV + (MAX_PLY + 1) * MAX_PLY
HISTORY = KILLERS + 2 * MAX_PLY
#: History entries for each side; moves are taken modulo this number.
HISTORY_MOVES = 4096
#: The most repetition keys of the match's last positions, W[PAST] of them; those of the path
#: follow.
MAX_PAST = 512
#: The repetition key of the root; those of its children follow by ply.
PATH = HISTORY + 2 * HISTORY_MOVES + MAX_PAST
#: The static evaluation at each ply of the path; -INF where it was not computed.
STATIC_EVAL = PATH + MAX_PLY + 1
#: The move that is being searched at each ply of the path; NO_MOVE for a null move.
CURRENT_MOVE = STATIC_EVAL + MAX_PLY + 1
#: The move that refuted each move of the opponent.
COUNTER_MOVES = CURRENT_MOVE + MAX_PLY + 1
BUFFERS = COUNTER_MOVES + HISTORY_MOVES
MAX_MOVES = 1
#: Stand-ins for the game's own constants: REPEATS is 1 where positions can repeat and that matters;
#: HAS_TACTICAL, HAS_UNSTABLE and HAS_PROBE are 1 where the game has that hook; MARGIN is the
#: game's. Code that a game does not need is not compiled.
REPEATS = HAS_TACTICAL = HAS_UNSTABLE = HAS_PROBE = MARGIN = 0
NO_MOVE = -1
#: Words of a root line: its length, then its moves as far as they fit.
LINE_WORDS = 32

#: The features that can be switched off, by their names in ablation matches.
FEATURE = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            "table", "killers", "history", "repetition", "replies", "rank", "quiescence",
            "extensions", "null-move", "lmr", "iir", "buckets", "malus", "mate-distance",
            "bad-captures", "probe", "futility", "quiet-table", "improving", "table-guess",
        )
    )
}  # fmt: skip
(
    TABLE, KILLERS_FIRST, HISTORY_ORDER, REPETITION, COUNTER_MOVE_ORDER, RANKS, QUIESCENCE,
    EXTENSIONS, NULL_MOVE, LMR, IIR, BUCKETS, MALUS, MATE_DISTANCE, BAD_CAPTURES, PROBE, FUTILITY,
    QUIET_TABLE, IMPROVING, TABLE_GUESS,
) = FEATURE.values()  # fmt: skip
#: Features that only change how soon a value is found; the exact profile keeps these.
BASIC = TABLE | KILLERS_FIRST | HISTORY_ORDER
#: Features that change windows and the order of moves, but neither extend nor prune: a forced end
#: that is found is the nearest one.
SOUND = BASIC | REPETITION | COUNTER_MOVE_ORDER | RANKS | BUCKETS | MALUS | MATE_DISTANCE | PROBE
ALL = (1 << len(FEATURE)) - 1

#: The smallest depths, in plies, of null move, its verification, late move reductions and internal
#: iterative reductions. LMR_MOVES: the number of first moves that are never
#: reduced.
NULL_DEPTH, VERIFY_DEPTH, LMR_DEPTH, LMR_MOVES, IIR_DEPTH = 3, 10, 3, 3, 4
#: Futility and late move pruning apply up to this depth, in plies; LATE_MOVES plus the square of
#: the depth quiet moves are searched.
FUTILITY_DEPTH, LATE_MOVES = 6, 3
#: Reductions are counted in 1/1024 of a ply.
PLY = 1024
#: The reduction of a late move, by depth and number of the move.
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
#: The bound of a history score, either way; at the bound it counts for two plies of reduction.
MAX_HISTORY = 1 << 14
#: The move index of a table entry without a best move.
NO_INDEX = 65_535
#: The quiescence nodes of the first depth, which nothing can stop; after them the static evaluation
#: is returned. No built-in game comes near this number; a game whose `tactical` never ends would
#: otherwise never answer.
QUIET_NODES = 20_000
#: No limit of nodes.
UNBOUNDED = 1 << 62

# C: the requesting process writes CANCEL, the search all other words
CANCEL, SEQUENCE, SEEN_NODES, SEEN_DEPTH, SEEN_SCORE, SEEN_PV_LENGTH, SEEN_PV = range(7)
CONTROL_WORDS = SEEN_PV + MAX_PLY

#: The multiplier of Fibonacci hashing, 2**64 divided by the golden ratio.
GOLDEN = U(0x9E3779B97F4A7C15)
LOW_16 = U(0xFFFF)
LOW_8 = U(0xFF)
LOW_6 = U(0x3F)
LOW_2 = U(3)
#: Table entries store scores as unsigned 16-bit numbers, shifted by this much.
SCORE_SHIFT = 32_768


def work_words(max_moves: int) -> int:
    """The size of W, in words.

    The buffers hold the moves and their order for each ply, and the root's moves with their scores,
    bounds and lines.
    """
    return BUFFERS + 2 * MAX_PLY * max_moves + (3 + LINE_WORDS) * max_moves


def root_offset(max_moves: int) -> int:
    """The word of W at which the root's moves begin; their scores, bounds and lines follow."""
    return BUFFERS + 2 * MAX_PLY * max_moves
