"""The evaluators of strategies, and the root of their search."""

from engine.game import Position
from engine.teach.evaluators import evaluator_of, scale_of
from engine.teach.players import GameWithPoints
from engine.teach.state import GameState, State

#: The default evaluators of games without an evaluation of their own, by id. That of sticks is the
#: one of the first founding text.
DEFAULT_EVALUATORS = {"sticks": "random"}


def default_evaluator(game_id: str) -> str:
    """Returns the evaluator of a seat that names none."""
    return DEFAULT_EVALUATORS.get(game_id, "estimate")


def check_evaluator(position: Position, evaluator: str) -> None:
    """Raises UnknownName or NotPossible if the evaluator cannot evaluate positions of the game."""
    evaluator_of(evaluator, scale_of(evaluator), 0)(root_of(position, evaluator))


def root_of(position: Position, evaluator: str) -> State:
    """Returns the root of a strategy's search.

    The utilities of a game with the teaching search are the points of both seats, if it has points.
    """
    rules = position.game.rules
    if getattr(rules, "SEARCH", "") == "teach" and getattr(rules, "points", None):
        return GameWithPoints.at_root(position)
    return GameState.at_root(position, scale_of(evaluator))
