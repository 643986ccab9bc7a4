"""What the author of a strategy imports: the turn that it receives, and its choice.

A strategy is a function `choose(turn)`, or a class whose objects have this method. Its package
registers it with the entry point group `plyroom.strategies` (docs/how-to/strategies.md). It is
pure: with equal turns it makes equal choices. Its process may be killed at any time.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from engine.game import Position
from engine.search.job import SearchFailed

#: The depth of a strategy's search if its seat has none, in plies.
DEFAULT_DEPTH = 3
#: Maximum length of a log, in bytes.
MAX_LOG_BYTES = 16_384
#: Maximum length of a value as text, in characters.
MAX_VALUE = 80


class Turn(Struct, frozen=True, kw_only=True):
    """What a strategy receives when it is to move.

    `depth` is in plies and `evaluator` a name of `engine.teach.states.evaluators`; a strategy may
    ignore both. `seed` is for random choices: a repeated turn has the same seed.
    """

    position: Position
    seed: int = 0
    depth: int = DEFAULT_DEPTH
    evaluator: str = "estimate"


class Choice(Struct, frozen=True):
    """A strategy's move as a token, and what it reports about its search.

    `score` is for the side to move: in the units of the game's evaluation with the evaluator
    `estimate`, and otherwise only its sign counts. `value` is the score in the strategy's own units
    as text, at most MAX_VALUE characters; without one the score is shown. `log` is for people to
    read, at most MAX_LOG_BYTES long. `line` is the principal variation in tokens.
    """

    move: str
    score: int = 0
    value: str = ""
    log: str = ""
    nodes: int = 0
    depth: int = 0
    line: tuple[str, ...] = ()


#: A strategy: returns its choice, or yields better and better ones. The last one is played; if the
#: time is over before, the last one so far.
Strategy = Callable[[Turn], Choice | Iterable[Choice]]


class StrategyFailed(SearchFailed):
    """A strategy gave no usable move. The message is the reason, in words for players."""


class UnknownStrategy(SearchFailed):
    """There is no strategy with that name; the message lists the names."""


def choices_of(strategy: Strategy, turn: Turn) -> Iterator[Choice]:
    """Yields the choices of a strategy.

    Raises TypeError if it returns something else, and what the strategy raises.
    """
    answer = strategy(turn)
    for choice in (answer,) if isinstance(answer, Choice) else answer:
        if not isinstance(choice, Choice):
            raise TypeError(f"a strategy returns a Choice, not {type(choice).__name__}")
        yield choice
