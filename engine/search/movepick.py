"""Move picking: the order in which `alpha_beta` and `quiesce` search the moves of a state.

`order` holds a sort key for each move of `buffer`: the move's score, a bit that is set for a quiet
move, and 65,535 minus the move's index, so that of equal moves the one generated first comes first.
"""

from typing import Any

import numpy as np

from engine.compiler.inlining import inline
from engine.game import State
from engine.search.features import COUNTER_MOVE_ORDER, HISTORY_ORDER, KILLERS_FIRST, RANKS
from engine.search.hooks import rank
from engine.search.layout import FEATURES, NO_MOVE
from engine.search.stack import (
    counter_move,
    history_index,
    killer_moves,
    side_history,
)

#: The score of the table's move.
TABLE_MOVE_SCORE = 1 << 44
#: The score of a move that the game ranks above quiet moves, before its rank is added.
RANKED_SCORE = 3 << 42
#: The scores of the two killer moves of a ply.
KILLER_SCORE, SECOND_KILLER_SCORE = 1 << 43, 1 << 42
#: The score of the counter move. A lower score is a history score or a rank below quiet moves.
COUNTER_MOVE_SCORE = 1 << 41
#: The score of a move that the game ranks below quiet moves, before its rank, which is negative, is
#: added.
BAD_SCORE = -(1 << 40)
#: The bit of a sort key that is set for a quiet move, which the game ranks neither above nor below.
QUIET_BIT = 65_536
#: The sort key of a quiet move that was pruned: it was not searched, so it gets no malus.
PRUNED = 0

#: The part of `engine.search.kernel.SIGNATURES` for this module.
SIGNATURES = {
    "score_moves": "void(state, i8*, i8*, i8, i8, i8, i8*)",
    "sort_moves": "void(i8*, i8*, i8, i8)",
    "score_tactical": "void(state, i8*, i8*, i8, i8)",
    "pick_move": "void(i8*, i8*, i8, i8)",
}


@inline
def sort_key_of(score: int, quiet_bit: int, index: int) -> int:
    """The sort key of a move."""
    return score * (1 << 17) + quiet_bit + (65535 - index)


@inline
def score_in(sort_key: int) -> int:
    """The score in a sort key."""
    return sort_key >> 17


@inline
def index_in(sort_key: int) -> int:
    """The index of the move among the generated moves."""
    return 65535 - (sort_key & 65535)


@inline
def is_quiet(sort_key: int) -> bool:
    """True for a quiet move that was not pruned."""
    return (sort_key & QUIET_BIT) != 0


def score_moves(
    s: State, buffer: Any, order: Any, n: int, table_move: int, ply: int, W: Any
) -> None:
    """Scores the moves of a state and brings the best one to the front.

    The table move is first; then come moves that the game ranks above 0, killer moves, the counter
    move, quiet moves by history, and moves ranked below 0.
    """
    features = W[FEATURES]
    history = side_history(W, ply)
    killers = killer_moves(W, ply)
    first_killer = killers[0]
    second_killer = killers[1]
    counter = NO_MOVE
    if (features & COUNTER_MOVE_ORDER) != 0:
        counter = counter_move(W, ply)
    best: Any = np.int64(0)
    for i in range(n):
        move = buffer[i]
        score: Any = np.int64(0)
        if (features & HISTORY_ORDER) != 0:
            score = history[history_index(move)]
        ranked: Any = np.int64(0)
        if (features & RANKS) != 0:
            ranked = rank(s, move)
        if i == table_move:
            score = TABLE_MOVE_SCORE
        elif ranked > 0:
            score = RANKED_SCORE + ranked
        elif (features & KILLERS_FIRST) != 0 and move == first_killer:
            score = KILLER_SCORE
        elif (features & KILLERS_FIRST) != 0 and move == second_killer:
            score = SECOND_KILLER_SCORE
        elif move == counter:
            score = COUNTER_MOVE_SCORE
        elif ranked < 0:
            score = BAD_SCORE + ranked
        order[i] = sort_key_of(score, QUIET_BIT if ranked == 0 else 0, i)
        if order[i] > order[best]:
            best = i
    move = buffer[best]
    sort_key = order[best]
    buffer[best] = buffer[0]
    order[best] = order[0]
    buffer[0] = move
    order[0] = sort_key


def sort_moves(buffer: Any, order: Any, first: int, n: int) -> None:
    """Sorts the moves from index `first` on by their order, best first.

    It is an insertion sort, because quiet moves are nearly in order already.
    """
    for t in range(first + 1, n):
        sort_key = order[t]
        move = buffer[t]
        u: Any = np.int64(t)
        while u > first and order[u - 1] < sort_key:
            order[u] = order[u - 1]
            buffer[u] = buffer[u - 1]
            u -= 1
        order[u] = sort_key
        buffer[u] = move


def score_tactical(s: State, buffer: Any, order: Any, n: int, table_move: int) -> None:
    """Scores the moves of quiescence: the table move first, then by the game's rank."""
    for i in range(n):
        score: Any = np.int64(rank(s, buffer[i]))
        if i == table_move:
            score = TABLE_MOVE_SCORE
        order[i] = sort_key_of(score, 0, i)


def pick_move(buffer: Any, order: Any, i: int, n: int) -> None:
    """Brings the best move from index i on to index i."""
    best = i
    for t in range(i + 1, n):
        if order[t] > order[best]:
            best = t
    move = buffer[best]
    sort_key = order[best]
    buffer[best] = buffer[i]
    order[best] = order[i]
    buffer[i] = move
    order[i] = sort_key
