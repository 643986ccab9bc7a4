"""The chance to win that a score of the search means.

A score of the search is in the units of its game's evaluation. The chance of the side to move is
1 / (1 + exp(-score / scale)), where a draw counts as half a win. Each game has a scale of its own,
fitted to its own matches by `python -m engine.tune --win-scale GAME`
(docs/reference/win-chance.md).

The scales are in `data/win_scale.json` beside the rules files. They change no move, so no digest
covers them: a game's DATA does not name that file. A game of another distribution may have such a
file beside its own rules file; without one it has FALLBACK_SCALE.
"""

import math
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from engine.game import Game
from engine.search.layout import MATE, MATE_BOUND

#: The name of the file of scales, in the folder of a rules file.
FILE_NAME = "data/win_scale.json"
#: The scale of a game without a fitted one, about that of most games of this distribution.
FALLBACK_SCALE = 200.0


class Bin(Struct, frozen=True):
    """The positions whose predicted chance is in one range: their number, the mean prediction, and
    the mean result.
    """

    positions: int
    predicted: float
    scored: float


class WinScale(Struct, frozen=True):
    """A fitted scale, the matches that it was fitted to, and how well it predicts their results.

    Losses are mean cross entropies in nats. `even_loss` is that of a prediction of one half
    everywhere. `forced` counts positions with a forced win or loss, which the fit leaves out, and
    `forced_right` is the share of them that ended so.
    """

    scale: float
    levels: str
    seed: int
    matches: int
    draws: int
    positions: int
    loss: float
    even_loss: float
    forced: int
    forced_right: float
    bins: tuple[Bin, ...]


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


@lru_cache(maxsize=256)
def scale_of(game: Game) -> float:
    """Returns the scale of a game, or FALLBACK_SCALE if it has none."""
    fitted = read_scales(scale_file(game)).get(game.id)
    return FALLBACK_SCALE if fitted is None else fitted.scale


def scale_file(game: Game) -> Path:
    """Returns the path of the file of scales beside the game's rules file."""
    return Path(str(getattr(game.module, "__file__", "."))).parent / FILE_NAME


def read_scales(path: Path) -> dict[str, WinScale]:
    """Returns the scales of a file by game; none if the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, WinScale])
    except (OSError, msgspec.DecodeError):
        return {}
