"""The expectimax search of the personas: average min-max over a game's rules.

The side at the root plays its best move. Its opponent plays every move with the same probability,
so an opponent's node has the mean of its moves' values. No move can be pruned, because every move
counts.

`engine.compiler.native` compiles these functions for each game, with the game's rules in place of
the stubs. They use a work memory W of their own (counters and limits, then a move buffer for
each ply), and the control block C and the game's data D as the kernel does.
"""

from typing import Any

from engine.game import DRAWN, ONGOING, WON, State
from engine.jit import at, put
from engine.search import hooks
from engine.search.hooks import (
    EXTRA_TURNS,
    MAX_MOVES,
    drawn,
    evaluate,
    keeps_turn,
    moves,
    no_moves_result,
    play,
    status,
    turn,
)
from engine.search.layout import CANCEL, MATE, PUBLISHED_NODES
from engine.search.parameters import POLL_NODES

#: The other module that is compiled with this one: the stubs for a game's rules.
PARTS = (hooks,)

#: The units in one point of score: means are fixed-point numbers. Each ply rounds down by less than
#: one unit.
UNIT = 1 << 20
#: The lowest score, in units.
LOWEST = -MATE * UNIT
#: The deepest search, in plies.
MAX_DEPTH = 32
# W: counters and limits, then the move buffers. ROOT_TURN: the seat to move at the root.
NODES, POLL, NODE_LIMIT, EXPIRED, STOP, ROOT_TURN = range(6)
#: The word of W at which the move buffers begin.
BUFFERS = 8

SIGNATURES = {"expectimax": "i8(state, i8, i8, i8*, i8*, i8*)"}
CALLS: dict[str, tuple[str, ...]] = {}


def work_words(max_moves: int) -> int:
    """The size of W, in words."""
    return BUFFERS + (MAX_DEPTH + 1) * max_moves


def end_value(result: int, ply: int) -> int:
    """The score of a finished state for the side to move, in units of 1 / UNIT point."""
    if result == DRAWN:
        return 0
    if result == WON:
        return (MATE - ply) * UNIT
    return (ply - MATE) * UNIT


def poll(W: Any, C: Any) -> int:
    """Publishes the node count, checks every reason to stop and returns W[STOP]."""
    put(C, PUBLISHED_NODES, W[NODES])
    W[POLL] = W[NODES] + POLL_NODES
    if C[CANCEL] != 0 or W[EXPIRED] != 0 or W[NODES] >= W[NODE_LIMIT]:
        W[STOP] = 1
    return int(W[STOP])


def expectimax(s: State, depth: int, ply: int, W: Any, C: Any, D: Any) -> int:
    """The value of s for the side to move, searched `depth` plies deep, in units of 1 / UNIT point.

    Where the side of the root is to move (at even plies, except in games with extra turns) it is
    the value of the best move, elsewhere the mean of all moves. Once W[STOP] is set, the returned
    value means nothing.
    """
    W[NODES] += 1
    if W[NODES] >= W[POLL] and poll(W, C) != 0:
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
    best = LOWEST
    total = 0
    for i in range(n):
        child = play(s, buffer[i])
        v = expectimax(child, depth - 1, ply + 1, W, C, D)
        if W[STOP] != 0:
            return 0
        if not keeps_turn(s, child):
            v = -v
        total += v
        if v > best:
            best = v
    is_opponent = ply & 1
    if EXTRA_TURNS != 0:
        is_opponent = turn(s) ^ W[ROOT_TURN]
    return total // n if is_opponent != 0 else best
