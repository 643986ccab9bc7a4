"""The hooks that the search calls by name: stubs, which the compiler replaces by a game's own."""

from typing import Any

import numpy as np

from engine.game import ONGOING, State
from engine.search.layout import U


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
