"""What `engine.compiler.native` compiles for the personas: average min-max, with a game's rules in
place of the stubs.

One side picks its best move; the other one is taken for somebody who may play anything, so that its
moves count by their arithmetic mean. Nothing can be cut off in such a tree: each move counts.

The functions use W, words of their own (counters and limits, then a move buffer for each ply), the
control block C and the game's data D, as the kernel does.
"""

from typing import Any

from engine.game import DRAWN, ONGOING, WON, State
from engine.jit import at, put
from engine.search import hooks
from engine.search.hooks import drawn, evaluate, moves, no_moves_result, play, status
from engine.search.layout import CANCEL, MATE, MAX_MOVES, POLL_NODES, SEEN_NODES

#: The stubs of a game's rules, which this shares with the kernel.
PARTS = (hooks,)

#: What a score is counted in, for means lie between the scores. Each ply rounds down by less than
#: one of these.
UNIT = 1 << 20
LEAST = -MATE * UNIT
MAX_DEPTH = 32
NODES, POLL, NODE_LIMIT, EXPIRED, STOP = range(5)
BUFFERS = 8

SIGNATURES = {"expectimax": "i8(state, i8, i8, i8*, i8*, i8*)"}
CALLS: dict[str, tuple[str, ...]] = {}


def work_words(max_moves: int) -> int:
    """The size of W."""
    return BUFFERS + (MAX_DEPTH + 1) * max_moves


def end_value(result: int, ply: int) -> int:
    """The score of a finished state for the side to move, in UNITs."""
    if result == DRAWN:
        return 0
    if result == WON:
        return (MATE - ply) * UNIT
    return (ply - MATE) * UNIT


def look(W: Any, C: Any) -> int:
    """Shows the node count and looks at every reason to stop."""
    put(C, SEEN_NODES, W[NODES])
    W[POLL] = W[NODES] + POLL_NODES
    if C[CANCEL] != 0 or W[EXPIRED] != 0 or W[NODES] >= W[NODE_LIMIT]:
        W[STOP] = 1
    return int(W[STOP])


def expectimax(s: State, depth: int, ply: int, W: Any, C: Any, D: Any) -> int:
    """The value of s in UNITs for the side to move, `depth` plies deep: at an even ply its best
    move's, at an odd one the mean of all. It means nothing once W[STOP] is set.
    """
    W[NODES] += 1
    if W[NODES] >= W[POLL] and look(W, C) != 0:
        return 0
    result = status(s)
    if result != ONGOING:
        return end_value(result, ply)
    if drawn(s) != 0:
        return 0
    if depth <= 0:
        return evaluate(s, D) * UNIT
    buffer = at(W, BUFFERS + ply * MAX_MOVES)
    n = moves(s, buffer)
    if n == 0:
        return end_value(no_moves_result(s), ply)
    best = LEAST
    total = 0
    for i in range(n):
        v = -expectimax(play(s, buffer[i]), depth - 1, ply + 1, W, C, D)
        if W[STOP] != 0:
            return 0
        total += v
        if v > best:
            best = v
    return total // n if ply & 1 else best
