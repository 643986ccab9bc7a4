"""Compiled functions that checks and measurements call from Python: perft, plain minimax, and each
of the game's rules.
"""

from typing import Any

import numpy as np

from engine.game import DRAWN, ONGOING, State
from engine.search.hooks import (
    EXTRA_TURNS,
    count,
    drawn,
    evaluate,
    evasions,
    keeps_turn,
    key,
    may_pass,
    moves,
    no_moves_result,
    pass_turn,
    play,
    probe,
    rank,
    repetition,
    reversible,
    status,
    tactical,
    turn,
    unstable,
)  # fmt: skip
from engine.search.layout import INF
from engine.search.stack import move_buffer, record_side
from engine.search.steps import end_value

#: The part of `engine.search.kernel.SIGNATURES` for this module.
SIGNATURES = {
    "perft": "i8(state, i8, i8, i8*)",
    "plain": "i8(state, i8, i8, i8*, i8*)",
    "rule_status": "i8(state)",
    "rule_moves": "i8(state, i8*)",
    "rule_play": "state(state, i8)",
    "rule_no_moves_result": "i8(state)",
    "rule_key": "u8(state)",
    "rule_evaluate": "i8(state, i8*)",
    "rule_drawn": "i8(state)",
    "rule_repetition": "u8(state)",
    "rule_reversible": "i8(state)",
    "rule_count": "i8(state, i8*)",
    "rule_tactical": "i8(state, i8*)",
    "rule_probe": "i8(state, i8*)",
    "rule_unstable": "i8(state)",
    "rule_evasions": "i8(state, i8*)",
    "rule_rank": "i8(state, i8)",
    "rule_may_pass": "i8(state)",
    "rule_pass_turn": "state(state)",
    "rule_turn": "i8(state)",
}
#: The part of `engine.search.kernel.CALLS` for this module.
CALLS = {"plain": ("end_value",)}


def perft(s: State, depth: int, ply: int, W: Any) -> int:
    """The number of move sequences of `depth` plies.

    A finished match has no moves; a position drawn by rule still has them.
    """
    if depth == 0:
        return 1
    if status(s) != ONGOING:
        return 0
    buffer = move_buffer(W, ply)
    if depth == 1:
        return count(s, buffer)
    n = moves(s, buffer)
    total = 0
    for i in range(n):
        total += perft(play(s, buffer[i]), depth - 1, ply + 1, W)
    return total


def plain(s: State, depth: int, ply: int, W: Any, D: Any) -> int:
    """The value that `alpha_beta` promises, computed by minimax without pruning."""
    if EXTRA_TURNS != 0:
        record_side(s, ply, W)
    result = status(s)
    if result != ONGOING:
        return end_value(result, ply, W)
    if drawn(s) != 0:
        return end_value(DRAWN, ply, W)
    if depth <= 0:
        return evaluate(s, D)
    buffer = move_buffer(W, ply)
    n = moves(s, buffer)
    if n == 0:
        return end_value(no_moves_result(s), ply, W)
    best = -INF
    for i in range(n):
        child = play(s, buffer[i])
        v = plain(child, depth - 1, ply + 1, W, D)
        if not keeps_turn(s, child):
            v = -v
        if v > best:
            best = v
    return best


def rule_status(s: State) -> int:
    return status(s)


def rule_moves(s: State, buf: Any) -> int:
    return moves(s, buf)


def rule_play(s: State, m: int) -> State:
    return play(s, m)


def rule_no_moves_result(s: State) -> int:
    return no_moves_result(s)


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


def rule_tactical(s: State, buf: Any) -> int:
    return tactical(s, buf)


def rule_unstable(s: State) -> int:
    return unstable(s)


def rule_evasions(s: State, buf: Any) -> int:
    return evasions(s, buf)


def rule_rank(s: State, m: int) -> int:
    return rank(s, m)


def rule_may_pass(s: State) -> int:
    return may_pass(s)


def rule_pass_turn(s: State) -> State:
    return pass_turn(s)


def rule_turn(s: State) -> int:
    return turn(s)


def rule_probe(s: State, data: Any) -> int:
    return probe(s, data)
