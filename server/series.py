"""The scores of a room's players against each other, over all its matches.

The fold of the log makes them, without an event of their own. The rooms and the clients use this
module, so all have the same scores.
"""

from collections.abc import Sequence

from msgspec import Struct

from engine.ends import has_result
from server.events import Occupant

#: Maximum number of pairs of players that have a score; the pair whose last match is the oldest
#: loses its score.
MAX_SCORES = 20


class Score(Struct, frozen=True):
    """The points of two players of a room against each other, a win being two half points.

    `players` has their keys: the identity of a person, and `ai` for every AI. Two sides of one
    person, on one screen, have their names as keys.
    """

    players: tuple[str, str]
    half_points: tuple[int, int]


def player_keys(seats: Sequence[Occupant]) -> tuple[str, str] | None:
    """Returns the keys of the players on both seats; None if they have no score.

    An AI that keeps a seat for a person scores for the person. AIs have no score against each
    other, and one name has none against itself.
    """
    if len(seats) != 2:
        return None
    first, second = (each.kept_for or each for each in seats)
    if first.identity != second.identity:
        return first.identity, second.identity
    if seats[0].kind == "ai" or first.name == second.name:
        return None
    return first.name, second.name


def add_result(
    scores: tuple[Score, ...], seats: Sequence[Occupant], winner: int | None, how: str
) -> tuple[Score, ...]:
    """Returns the scores after another match, the latest pair last.

    A match without a result, such as an aborted one, changes nothing.
    """
    keys = player_keys(seats)
    if keys is None or not has_result(winner, how):
        return scores
    gained = (1, 1) if winner is None else (2 * (winner == 0), 2 * (winner == 1))
    before = next(
        (score for score in scores if set(score.players) == set(keys)), Score(keys, (0, 0))
    )
    if before.players != keys:
        gained = gained[::-1]
    total = before.half_points[0] + gained[0], before.half_points[1] + gained[1]
    others = [score for score in scores if score is not before]
    return (*others, Score(before.players, total))[-MAX_SCORES:]


def score_between(
    scores: Sequence[Score], seats: Sequence[Occupant | None]
) -> tuple[int, int] | None:
    """Returns the half points of the players on both seats, in the order of the seats, if they have
    a score.
    """
    keys = player_keys([seat for seat in seats if seat is not None])
    for score in scores:
        if keys is not None and set(score.players) == set(keys):
            return score.half_points if score.players == keys else score.half_points[::-1]
    return None


def is_swapped(scores: Sequence[Score], seats: Sequence[Occupant | None]) -> bool:
    """Returns whether the player who sat first in the first match of the two now sits second."""
    keys = player_keys([seat for seat in seats if seat is not None])
    return keys is not None and any(score.players == keys[::-1] for score in scores)
