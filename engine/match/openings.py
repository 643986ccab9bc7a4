"""Balanced openings: a few random moves each, all different, picked by a shallow search and made by
a seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from engine.game import Game, Position
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit

#: An opening is the most balanced of so many random ones.
CANDIDATES = 8
#: After so many candidates in a row that were there before, openings become a ply longer.
TRIES = 64
#: So often TRIES are in vain, though nothing was there before, until there is no opening of that
#: length.
FRUITLESS = 8
SHALLOW = Limit(nodes=2_000, depth=6)
TABLE_BITS = 14
DEFAULT_PLIES = {"chess": 8, "connect-four": 3, "sticks": 1, "tic-tac-toe": 1}
USUAL_PLIES = 4


class NoOpening(ValueError):
    """Random games of so many plies are always over: there is nothing to play from."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Moves from the start in tokens, and what a shallow search thinks of them (for the side to
    move).
    """

    moves: tuple[str, ...]
    score: int


class Openings:
    """The openings of a match, in order; the same for the same game, options, seed and number of
    plies.

    No two lead to the same position until the game has no more of them; then they come again
    (`distinct`, `repeats`). NoOpening when it has none at all.
    """

    def __init__(
        self, searcher: Searcher, options: Mapping[str, str], seed: int, plies: int
    ) -> None:
        self._searcher = searcher
        self._options = options
        self._chance = Random(f"openings {searcher.game.id} {seed}")
        self._first_plies = self._plies = plies
        self._seen: set[str] = set()
        self._given: set[str] = set()
        self._made: list[Opening] = []
        self._distinct: int | None = None

    def __getitem__(self, number: int) -> Opening:
        while number >= len(self._made):
            self._made.append(self._next())
        return self._made[number]

    def distinct(self, most: int) -> int:
        """How many openings there are before the first one that comes again; `most` where there are
        as many.
        """
        return next((number for number in range(most) if self.repeats(number)), most)

    def repeats(self, number: int) -> bool:
        """Are the openings used up by this one: does it, or one before it, lead to a position that
        was there before?

        From there on, players that always play alike play games again that they have played.
        """
        self[number]
        return self._distinct is not None and number >= self._distinct

    def _next(self) -> Opening:
        fruitless = 0
        while not (candidates := self._candidates()):
            fruitless += not self._seen
            if fruitless == FRUITLESS:
                raise NoOpening(
                    f"{self._searcher.game.id} is always over after {self._first_plies} random plies"
                )
        opening, digest = min(candidates, key=lambda candidate: abs(candidate[0].score))
        if digest in self._given and self._distinct is None:
            self._distinct = len(self._made)
        self._seen.add(digest)
        self._given.add(digest)
        return opening

    def _candidates(self) -> list[tuple[Opening, str]]:
        """New openings; where there are no more of this length, longer ones, and in the end all of
        them once more.
        """
        found: list[tuple[Opening, str]] = []
        misses = 0
        while len(found) < CANDIDATES and misses < TRIES:
            opening, digest = self._random()
            if opening is None or digest in self._seen:
                misses += 1
            else:
                found.append((opening, digest))
        if not found and self._plies < longest(self._searcher.game):
            self._plies += 1
        elif not found:
            self._seen.clear()
            self._plies = self._first_plies
        return found

    def _random(self) -> tuple[Opening | None, str]:
        """A random opening with its digest; None where the game ended on the way.

        One that is decided, as far as the search sees, is the least balanced there is: it comes
        where there is no other.
        """
        position = self._searcher.game.start(self._options)
        tokens = []
        for _ in range(self._plies):
            moves = position.moves()
            if not moves:
                return None, ""
            move = moves[self._chance.randrange(len(moves))]
            tokens.append(position.format_move(move))
            position = position.play(move)
        if not position.moves():
            return None, ""
        return Opening(tuple(tokens), self._score(position)), position.digest()

    def _score(self, position: Position) -> int:
        return self._searcher.search(position, SHALLOW, Table(TABLE_BITS), Control()).score


def longest(game: Game) -> int:
    """Openings grow to this length where there are not enough short ones."""
    return 2 * default_plies(game)


def default_plies(game: Game) -> int:
    return DEFAULT_PLIES.get(game.id, USUAL_PLIES)
