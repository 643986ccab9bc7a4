"""Players of a match by strategies, as they play on a server, but without limits of their own."""

from engine.game import Game
from engine.match.description import Clock, Description, DescriptionError
from engine.match.play import Choice, PlayerFailed, Situation
from engine.search.job import MAX_STRATEGY_DEPTH
from engine.strategies.contract import DEFAULT_DEPTH, Turn, UnknownStrategy, choices_of
from engine.strategies.evaluation import check_evaluator, default_evaluator
from engine.strategies.names import BUILT_IN
from engine.strategies.registry import load_strategy
from engine.teach.errors import TeachError

#: The strategies whose choices do not depend on the seed, unless their evaluator does.
REPEATABLE = frozenset(BUILT_IN) - {"random"}


def evaluator_name(description: Description, game: Game) -> str:
    """Returns the evaluator of a player: its own, or the default of the game."""
    return description.settings.get("evaluator", default_evaluator(game))


class StrategyPlayer:
    """A strategy. Raises DescriptionError if it cannot play the game."""

    clock: Clock | None = None

    def __init__(self, description: Description, game: Game, options: dict[str, str]) -> None:
        self._depth = description.limit.depth or DEFAULT_DEPTH
        self._evaluator = evaluator_name(description, game)
        if self._depth > MAX_STRATEGY_DEPTH:
            raise DescriptionError(f"a strategy has a depth of at most {MAX_STRATEGY_DEPTH} plies")
        try:
            self._strategy = load_strategy(description.value)
            check_evaluator(description.value, game.start(options), self._evaluator)
        except (UnknownStrategy, TeachError) as error:
            raise DescriptionError(str(error)) from error

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        turn = Turn(
            position=situation.position, seed=situation.seed, depth=self._depth,
            evaluator=self._evaluator,
        )  # fmt: skip
        try:
            *_, choice = choices_of(self._strategy, turn)
        except Exception as error:  # a strategy may raise anything
            message = f"the strategy failed: {type(error).__name__}: {error}"
            raise PlayerFailed(message) from error
        return Choice(choice.move, choice.score, choice.nodes)

    def close(self) -> None:
        pass
