"""The evaluators of strategies, and the root of their search."""

from engine.game import Game, Position
from engine.teach.errors import NotPossible
from engine.teach.states.evaluators import check_weights, evaluator_of, scale_of
from engine.teach.states.players import GameForBoth
from engine.teach.states.state import GameState, State

#: The default evaluators of games without an evaluation of their own, by id. That of sticks is the
#: one of the first founding text.
DEFAULT_EVALUATORS = {"sticks": "random"}
#: The evaluator that may look at all states below one.
ALL_PATHS = "all-paths"
#: The games with few enough states for ALL_PATHS.
SMALL_GAMES = ("sticks", "tic-tac-toe")
#: Maximum number of moves at the start of such a game.
MAX_PATH_MOVES = 9
#: The strategies that compute a value for each player.
FOR_BOTH = ("max-n",)


def default_evaluator(game: Game) -> str:
    """Returns the evaluator of a seat that names none."""
    if game.rules.SEARCH == "teach":
        return "zero"
    return DEFAULT_EVALUATORS.get(game.id, "estimate")


def check_evaluator(name: str, position: Position, evaluator: str) -> None:
    """Raises UnknownName or NotPossible if a strategy cannot evaluate positions of the game.

    It takes no longer than one evaluation, so a server may call it. It does not run `all-paths`,
    which may look at thousands of states.
    """
    root = root_of(name, position, evaluator)
    check_weights(root, evaluator)
    if evaluator == ALL_PATHS and root.players == 1:
        is_small = position.game.id in SMALL_GAMES and len(position.moves()) <= MAX_PATH_MOVES
        if not is_small:
            raise NotPossible(f"{ALL_PATHS} is for small games only: {', '.join(SMALL_GAMES)}")
        return
    evaluator_of(evaluator, scale_of(evaluator), 0)(root)


def root_of(name: str, position: Position, evaluator: str) -> State:
    """Returns the root of a strategy's search. MAX is the side to move, or that of the rules."""
    scale = scale_of(evaluator)
    if name in FOR_BOTH:
        return GameForBoth.at_root(position, (scale, scale))
    return GameState.at_root(position, scale)
