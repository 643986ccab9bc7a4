"""Accessors of the search stack: what W keeps for each ply, for each move, and for the root.

Each is inlined (`engine.compiler.inlining`). An accessor of several words returns a view that
begins at the first one. Only `path_key` takes a negative ply, for a position of the match.
"""

from typing import Any

from engine.compiler.inlining import inline
from engine.game import State
from engine.jit import at
from engine.search.hooks import EXTRA_TURNS, MAX_MOVES, turn
from engine.search.layout import (
    BUFFERS,
    COUNTER_MOVES,
    CURRENT_MOVE,
    HISTORY,
    HISTORY_MOVES,
    KILLERS,
    LINE_WORDS,
    MAX_PLY,
    PATH,
    PV,
    PV_LENGTH,
    ROOT_BEST,
    ROOT_COLUMNS,
    ROOT_TURN,
    SIDES,
    STATIC_EVAL,
)

#: Counter moves of a game with extra turns have the two sides in the two highest bits of the index.
SIDE_SHIFT = HISTORY_MOVES.bit_length() - 3

# --- by ply


@inline
def side_at(W: Any, ply: int) -> int:
    """The side to move at a ply of the path: 0 for that of the root, 1 for its opponent."""
    return ply & 1 if EXTRA_TURNS == 0 else W[SIDES + ply]


@inline
def record_side(s: State, ply: int, W: Any) -> None:
    """Records the side to move in a state of the path, in a game with extra turns."""
    W[SIDES + ply] = turn(s) ^ W[ROOT_TURN]


@inline
def static_eval(W: Any, ply: int) -> int:
    """The static evaluation at a ply; -INF where it was not computed."""
    return W[STATIC_EVAL + ply]  # type: ignore[no-any-return]


@inline
def set_static_eval(W: Any, ply: int, value: int) -> None:
    W[STATIC_EVAL + ply] = value


@inline
def current_move(W: Any, ply: int) -> int:
    """The move that is being searched at a ply; NO_MOVE for a null move."""
    return W[CURRENT_MOVE + ply]  # type: ignore[no-any-return]


@inline
def set_current_move(W: Any, ply: int, move: int) -> None:
    W[CURRENT_MOVE + ply] = move


@inline
def path_key(W: Any, ply: int) -> int:
    """The repetition key at a ply of the path, or, at a negative ply, of the match."""
    return W[PATH + ply]  # type: ignore[no-any-return]


@inline
def set_path_key(W: Any, ply: int, key: int) -> None:
    W[PATH + ply] = key


@inline
def killer_moves(W: Any, ply: int) -> Any:
    """The two killer moves of the side to move at a ply, the latest first."""
    return at(W, KILLERS + 2 * (ply if EXTRA_TURNS == 0 else ply + MAX_PLY * W[SIDES + ply]))


@inline
def pv_length(W: Any, ply: int) -> int:
    """The length of the principal variation at a ply, in moves."""
    return W[PV_LENGTH + ply]  # type: ignore[no-any-return]


@inline
def set_pv_length(W: Any, ply: int, length: int) -> None:
    W[PV_LENGTH + ply] = length


@inline
def pv_moves(W: Any, ply: int) -> Any:
    """The principal variation at a ply."""
    return at(W, PV + ply * MAX_PLY)


@inline
def move_buffer(W: Any, ply: int) -> Any:
    """The moves of a ply, MAX_MOVES at most."""
    return at(W, BUFFERS + 2 * ply * MAX_MOVES)


@inline
def move_order(W: Any, ply: int) -> Any:
    """The sort keys of a ply's moves (`engine.search.movepick`)."""
    return at(W, BUFFERS + (2 * ply + 1) * MAX_MOVES)


# --- by move


@inline
def history_index(move: int) -> int:
    """The index of a move in the history and among the counter moves."""
    return move & (HISTORY_MOVES - 1)


@inline
def side_history(W: Any, ply: int) -> Any:
    """The history scores of the side to move at a ply."""
    return at(W, HISTORY + side_at(W, ply) * HISTORY_MOVES)


@inline
def side_bits(W: Any, ply: int) -> int:
    """Bits that differ with the side to move at a ply and with the side that moved before it."""
    return 0 if EXTRA_TURNS == 0 else (2 * W[SIDES + ply] + W[SIDES + ply - 1]) << SIDE_SHIFT


@inline
def counter_move(W: Any, ply: int) -> int:
    """The move that refuted the move before a ply, which is the opponent's without extra turns."""
    return W[COUNTER_MOVES + (history_index(current_move(W, ply - 1)) ^ side_bits(W, ply))]  # type: ignore[no-any-return]


@inline
def set_counter_move(W: Any, ply: int, move: int) -> None:
    W[COUNTER_MOVES + (history_index(current_move(W, ply - 1)) ^ side_bits(W, ply))] = move


# --- at the root


@inline
def root_moves(W: Any) -> Any:
    """The root's moves, in the order in which they are searched."""
    return at(W, BUFFERS + 2 * MAX_PLY * MAX_MOVES)


@inline
def root_scores(W: Any) -> Any:
    """The scores of the root's moves."""
    return at(W, BUFFERS + (2 * MAX_PLY + 1) * MAX_MOVES)


@inline
def root_bounds(W: Any) -> Any:
    """The bounds of the scores of the root's moves."""
    return at(W, BUFFERS + (2 * MAX_PLY + 2) * MAX_MOVES)


@inline
def root_nodes(W: Any) -> Any:
    """The nodes that each of the root's moves took at this depth."""
    return at(W, BUFFERS + (2 * MAX_PLY + 3) * MAX_MOVES)


@inline
def root_line(W: Any, i: int) -> Any:
    """The line of the i-th root move: its length, then its moves."""
    return at(W, BUFFERS + (2 * MAX_PLY + ROOT_COLUMNS) * MAX_MOVES + i * LINE_WORDS)


@inline
def root_best(W: Any) -> Any:
    """The best scores at the root, the best first."""
    return at(W, ROOT_BEST)
