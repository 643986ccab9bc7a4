"""The tuned constants of the search. A changed one changes the tree, and so the node signature."""

import math

import numpy as np

#: Nodes from one poll to the next.
POLL_NODES = 2048

#: The smallest depth of a null move, in plies.
NULL_DEPTH = 3
#: The plies by which every null move is reduced.
NULL_REDUCTION = 4
#: A null move is reduced by another ply for this many plies of depth.
NULL_DIVISOR = 4
#: The most plies by which a null move is reduced because the estimate exceeds beta: one for every
#: two margins.
MAX_NULL_EXTRA = 3
#: The smallest depth at which a null move that fails high is verified, in plies.
VERIFY_DEPTH = 10
#: The smallest depth of a late move reduction, in plies.
LMR_DEPTH = 3
#: The number of first moves that are never reduced.
LMR_MOVES = 3
#: The smallest depth of an internal iterative reduction, in plies.
IIR_DEPTH = 4
#: The greatest depth of futility and late move pruning, in plies.
FUTILITY_DEPTH = 6
#: Late move pruning searches this number of moves plus the square of the depth.
LATE_MOVES = 3

#: The unit of reductions: one ply is 1024.
PLY = 1024
#: The reduction of a late move in 1/1024 of a ply, by depth and number of the move.
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

#: The maximum absolute history score. It changes the reduction of a late move by two plies.
MAX_HISTORY = 1 << 14
#: The greatest history bonus of one cut-off.
MAX_HISTORY_BONUS = 1600
#: The plies that a COMPLETE entry of the table counts when an entry is to be replaced.
COMPLETE_PLIES = 4
#: In the first depth, which no limit stops, quiescence returns the static evaluation after this
#: many nodes. No built-in game comes near this number; a game whose `tactical` never ends would
#: otherwise never answer.
QUIET_NODES = 20_000
