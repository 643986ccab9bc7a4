"""The code that `engine.compiler.native` compiles for the tuner; a game replaces `evaluate`."""

from typing import Any

from engine.game import State
from engine.tune.traced import COUNT, FOUND, MARK, traced

#: The first step by which a number is varied; it is large because an evaluation rounds.
STEP = 4096
#: A larger change of the evaluation may have met a limit, so a smaller step is tried.
LARGE = 2048
#: The smallest step by which a number is varied.
SMALLEST = 8
#: A coefficient of 1.
UNIT = 1 << 20
#: Words of output for each number: its index in DATA, and its coefficients for a step up and down.
NOTED = 3

SIGNATURES = {
    "coefficients": "i8(state, i8*, i8*, i8*)",
    "value": "i8(state, i8*)",
}
CALLS: dict[str, tuple[str, ...]] = {}


def evaluate(s: State, data: Any) -> int:
    raise NotImplementedError


def coefficients(s: State, D: Any, LOG: Any, OUT: Any) -> int:
    """Writes the index and both coefficients of each number that the evaluation reads.

    A coefficient is the change of the evaluation per unit of the number. Returns the count of
    numbers.
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
