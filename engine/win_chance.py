"""The chance to win that a score of the search means.

A score of the search is in the units of its game's evaluation. The chance of the side to move is
1 / (1 + exp(-score / scale)), where a draw counts as half a win. Each game has a scale of its own,
fitted to its own matches by `python -m engine.tune --win-scale GAME`
(docs/reference/win-chance.md), in its measured file (`engine.rules.measured`). A game without one
has FALLBACK_SCALE.
"""

import math

from engine.game import Game
from engine.rules.measured import measured_of
from engine.search.layout import MATE, MATE_BOUND

#: The scale of a game without a fitted one, about that of most games of this distribution.
FALLBACK_SCALE = 200.0


def is_forced(score: int) -> bool:
    """Whether a score is a forced win or a forced loss."""
    return abs(score) > MATE_BOUND


def mean_text(score: int) -> str:
    """Returns the value of a move against an opponent that errs as text: "+312 on average".

    Such a value is the mean of scores over all replies, in the units of the game's evaluation. It
    has no chance to win: a single reply of thirty that loses at once adds 1000 points to the mean,
    whether or not the opponent would ever play it. A move that ends the match has no replies: its
    text is "a win at once" or "a loss at once".
    """
    if abs(score) == MATE - 1:
        return f"a {'win' if score > 0 else 'loss'} at once"
    return f"{score:+d} on average" if score else "0 on average"


def win_chance(game: Game, score: int) -> float:
    """Returns the chance to win of the side whose score it is, from 0 to 1.

    A forced win is 1, a forced loss 0, and a score of 0 one half.
    """
    if is_forced(score):
        return 1.0 if score > 0 else 0.0
    return logistic(score / scale_of(game))


def logistic(x: float) -> float:
    """Returns 1 / (1 + exp(-x))."""
    return 0.5 * (1.0 + math.tanh(0.5 * x))


def scale_of(game: Game) -> float:
    """Returns the scale of a game, or FALLBACK_SCALE if none was fitted."""
    fitted = measured_of(game).win_scale
    return FALLBACK_SCALE if fitted is None else fitted.scale
