"""The layout of the search's memory: the words of W and C (see `engine.search.kernel`), and the
values in it. `engine.search.stack` has the accessors of what W keeps for each ply.
"""

#: The score of a win at the root; a win in n plies scores MATE - n.
MATE = 30_000
#: Above every score.
INF = 32_000
#: A score above this, or below its negative, is a forced win or loss: one that the search sees, or
#: a farther one that `probe` knows.
MATE_BOUND = MATE - 1_000
#: The bounds of a score.
EXACT, LOWER, UPPER = 0, 1, 2
#: The longest path, in plies.
MAX_PLY = 128
#: The word for a null move, and for an empty slot for a move.
NO_MOVE = -1
#: The node limit of a search without one.
NO_LIMIT = 1 << 62

# W: counters and limits, then areas of fixed size, then the move buffers
#: DRAW_VALUE: the score of a draw for the side to move at the root. SALT: XORed into each key; not
#: 0 in searches whose values must not mix with those of others. AGE: the number of the search.
#: LINES: the number of best moves that get exact scores. QUIET_END: the node count at which
#: quiescence ends. ROOT_DONE: the number of root moves that have been searched to this depth.
#: ROOT_TURN: the seat to move at the root. MAY_STOP: 0 until the first iteration is complete.
#: EXACT_DEPTH: whether only table entries of the same depth count. HORIZONS: how often the search
#: stopped at its horizon; a subtree in which it did not has a final value. NULL_FROM: the ply from
#: which null moves are allowed, while a null move is verified. The last four count the work of
#: `alpha_beta`. FIRST_CUTS and LATER_CUTS: its beta cut-offs by the first move that it searched and
#: by a later one. TABLE_HITS: its probes that found an entry. TABLE_CUTS: those of them whose value
#: it returned.
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
    ROOT_TURN,
    FIRST_CUTS,
    LATER_CUTS,
    TABLE_HITS,
    TABLE_CUTS,
) = range(25)
#: The W[LINES] best scores at the root, the best first.
ROOT_BEST = 32
#: The greatest number of lines that a search can report.
MAX_LINES = 31
#: The length of the principal variation at each ply.
PV_LENGTH = ROOT_BEST + MAX_LINES + 1
#: The principal variation at each ply, MAX_PLY words each.
PV = PV_LENGTH + MAX_PLY + 1
#: Two killer moves for each ply; in a game with extra turns, for each ply and side.
KILLERS = PV + (MAX_PLY + 1) * MAX_PLY
#: The history scores of the side to move at the root, then those of the other side.
HISTORY = KILLERS + 4 * MAX_PLY
#: History scores of each side; moves are taken modulo this number, a power of two.
HISTORY_MOVES = 4096
#: The maximum number of repetition keys of the match's last positions. The W[PAST] words before
#: PATH hold them.
MAX_PAST = 512
#: The repetition key of the root; those of its children follow by ply.
PATH = HISTORY + 2 * HISTORY_MOVES + MAX_PAST
#: The static evaluation at each ply of the path; -INF where it was not computed.
STATIC_EVAL = PATH + MAX_PLY + 1
#: The move that is being searched at each ply of the path; NO_MOVE for a null move.
CURRENT_MOVE = STATIC_EVAL + MAX_PLY + 1
#: In a game with extra turns, the side to move at each ply of the path: 0 for the side of the root.
SIDES = CURRENT_MOVE + MAX_PLY + 1
#: The move that refuted each move of the opponent.
COUNTER_MOVES = SIDES + MAX_PLY + 1
#: Two buffers of MAX_MOVES words for each ply, then the root's moves with their scores, bounds,
#: nodes and lines.
BUFFERS = COUNTER_MOVES + HISTORY_MOVES
#: The columns of the root's moves before their lines: the moves, their scores, bounds and nodes.
ROOT_COLUMNS = 4
#: Words of a root line: its length, then its moves as far as they fit.
LINE_WORDS = 32

# C: the requesting process writes CANCEL, the search all other words. SEQUENCE is odd while the
# search writes the published words: its value makes them a seqlock.
(
    CANCEL,
    SEQUENCE,
    PUBLISHED_NODES,
    PUBLISHED_DEPTH,
    PUBLISHED_SCORE,
    PUBLISHED_PV_LENGTH,
    PUBLISHED_PV,
) = range(7)
#: The size of C, in words.
CONTROL_WORDS = PUBLISHED_PV + MAX_PLY


def work_words(max_moves: int) -> int:
    """The size of W, in words.

    The buffers hold the moves and their order for each ply, and the root's moves with their scores,
    bounds, nodes and lines.
    """
    return BUFFERS + 2 * MAX_PLY * max_moves + (ROOT_COLUMNS + LINE_WORDS) * max_moves


def root_offset(max_moves: int) -> int:
    """The word of W at which the root's moves begin; their other columns and lines follow."""
    return BUFFERS + 2 * MAX_PLY * max_moves
