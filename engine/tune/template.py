"""The code that `engine.compiler.native` compiles for the tuner; a game replaces `evaluate`."""

from typing import Any

from engine.game import State
from engine.tune.traced import COUNT, FIRST_INDEX, MARK, traced

#: The first step by which a number is varied; it is large because an evaluation rounds.
STEP = 4096
#: The largest change of the evaluation; beyond it a limit may apply, so a smaller step is tried.
MAX_CHANGE = 2048
#: The smallest step by which a number is varied.
MIN_STEP = 8
#: A coefficient of 1, in fixed point.
UNIT = 1 << 20
#: Words of output for each number: its index in DATA, and its coefficients for a step up and down.
OUTPUT_WORDS = 3

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
        index = LOG[FIRST_INDEX + i]
        original = D[index]
        step = STEP
        D[index] = original + step
        up = evaluate(s, D) - base
        while abs(up) > MAX_CHANGE and step > MIN_STEP:
            step >>= 1
            D[index] = original + step
            up = evaluate(s, D) - base
        D[index] = original - step
        down = base - evaluate(s, D)
        D[index] = original
        OUT[OUTPUT_WORDS * i] = index
        OUT[OUTPUT_WORDS * i + 1] = up * UNIT // step
        OUT[OUTPUT_WORDS * i + 2] = down * UNIT // step
    return int(n)


def value(s: State, D: Any) -> int:
    return evaluate(s, D)
