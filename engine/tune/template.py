"""What `engine.compiler.native` compiles for the tuner, with a game's `evaluate` in place of the
stub.
"""

from typing import Any

from engine.game import State
from engine.tune.traced import COUNT, FOUND, MARK, traced

#: How far a number is moved to see what that does: far, as an evaluation rounds.
STEP = 4096
#: A change of the evaluation by more than this may have met a limit: then a smaller step is tried.
LARGE = 2048
SMALLEST = 8
#: What a coefficient is told in.
UNIT = 1 << 20
#: Words for each number: its index in DATA, its coefficient, the coefficient when it is moved the
#: other way.
NOTED = 3

SIGNATURES = {
    "coefficients": "i8(state, i8*, i8*, i8*)",
    "value": "i8(state, i8*)",
}
CALLS: dict[str, tuple[str, ...]] = {}


def evaluate(s: State, data: Any) -> int:
    raise NotImplementedError


def coefficients(s: State, D: Any, LOG: Any, OUT: Any) -> int:
    """Writes, for each number that the evaluation reads here, its index and by how much the
    evaluation goes up and down for each unit that the number does; returns how many there are.
    """
    LOG[COUNT] = 0
    LOG[MARK] += 1
    base = evaluate(s, traced(D, LOG, 0))
    n = LOG[COUNT]
    for i in range(n):
        place = LOG[FOUND + i]
        kept = D[place]
        step = STEP
        D[place] = kept + step
        up = evaluate(s, D) - base
        while abs(up) > LARGE and step > SMALLEST:
            step >>= 1
            D[place] = kept + step
            up = evaluate(s, D) - base
        D[place] = kept - step
        down = base - evaluate(s, D)
        D[place] = kept
        OUT[NOTED * i] = place
        OUT[NOTED * i + 1] = up * UNIT // step
        OUT[NOTED * i + 2] = down * UNIT // step
    return int(n)


def value(s: State, D: Any) -> int:
    return evaluate(s, D)
