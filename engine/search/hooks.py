"""The hooks that the search calls and the constants that it reads: stubs, which
`engine.compiler` replaces with a game's own.
"""

from typing import Any

import numpy as np

from engine.compiler.inlining import inline
from engine.game import ONGOING, State
from engine.jit import U

#: The greatest number of moves in a state.
MAX_MOVES = 1
#: 1 where the game has a rule about repeated positions.
REPEATS = 0
#: 1 where the game has the hook of that name. Code that a game does not need is not compiled.
HAS_TACTICAL = HAS_UNSTABLE = HAS_PROBE = 0
#: The futility margin of a ply, in the units of the game's evaluation; 0 for none.
MARGIN = 0
#: 1 where a side may move again after its own move. In all other games each move passes the turn.
EXTRA_TURNS = 0


def status(s: State) -> int:
    raise NotImplementedError


def moves(s: State, buf: Any) -> int:
    raise NotImplementedError


def play(s: State, m: int) -> State:
    raise NotImplementedError


def no_moves_result(s: State) -> int:
    raise NotImplementedError


def key(s: State) -> np.uint64:
    raise NotImplementedError


def evaluate(s: State, data: Any) -> int:
    raise NotImplementedError


# --- optional hooks with their defaults: see engine.game.OptionalRules


def drawn(s: State) -> int:
    return 0


def repetition(s: State) -> np.uint64:
    return U(0)


def reversible(s: State) -> int:
    return 0


def count(s: State, buf: Any) -> int:
    return moves(s, buf)


def tactical(s: State, buf: Any) -> int:
    return 0


def unstable(s: State) -> int:
    return 0


def evasions(s: State, buf: Any) -> int:
    return 0


def rank(s: State, m: int) -> int:
    return 0


def may_pass(s: State) -> int:
    return 0


def pass_turn(s: State) -> State:
    return s


def probe(s: State, data: Any) -> int:
    return ONGOING


# --- extra turns: only a game with EXTRA_TURNS has `turn` as a rule


def turn(s: State) -> int:
    raise NotImplementedError


@inline
def keeps_turn(s: State, child: State) -> bool:
    """True if the side to move in s is to move again in its child."""
    return EXTRA_TURNS != 0 and turn(child) == turn(s)
