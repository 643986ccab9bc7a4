"""The evaluators of strategies, and the root of their search."""

from engine.game import Position
from engine.teach.errors import NotPossible
from engine.teach.evaluators import check_weights, evaluator_of, scale_of
from engine.teach.players import GameWithPoints
from engine.teach.state import GameState, State

#: The default evaluators of games without an evaluation of their own, by id. That of sticks is the
#: one of the first founding text.
DEFAULT_EVALUATORS = {"sticks": "random"}
#: Maximum number of moves at the start of a game that `all-paths` may evaluate: tic-tac-toe's.
MAX_PATH_MOVES = 9


def default_evaluator(game_id: str) -> str:
    """Returns the evaluator of a seat that names none."""
    return DEFAULT_EVALUATORS.get(game_id, "estimate")


def check_evaluator(position: Position, evaluator: str) -> None:
    """Raises UnknownName or NotPossible if the evaluator cannot evaluate positions of the game.

    It takes no time, so a server may call it: of `all-paths`, which may search thousands of states,
    it checks only whether the position has few moves.
    """
    root = root_of(position, evaluator)
    check_weights(root, evaluator)
    if evaluator == "all-paths" and root.players == 1:
        if len(position.moves()) > MAX_PATH_MOVES:
            raise NotPossible(f"all-paths is for games with at most {MAX_PATH_MOVES} moves")
        return
    evaluator_of(evaluator, scale_of(evaluator), 0)(root)


def root_of(position: Position, evaluator: str) -> State:
    """Returns the root of a strategy's search.

    The utilities of a game with the teaching search are the points of both seats, if it has points.
    """
    rules = position.game.rules
    if getattr(rules, "SEARCH", "") == "teach" and getattr(rules, "points", None):
        return GameWithPoints.at_root(position)
    return GameState.at_root(position, scale_of(evaluator))
