"""Balanced openings: a few random moves each, all different, picked by a shallow search and made by a seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from engine.game import Game, Position
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit

CANDIDATES = 8
"""An opening is the most balanced of so many random ones."""
TRIES = 64
"""After so many candidates in a row that were there before, openings become a ply longer."""
SHALLOW = Limit(nodes=2_000, depth=6)
TABLE_BITS = 14
DEFAULT_PLIES = {"chess": 8, "connect-four": 3, "sticks": 1, "tic-tac-toe": 1}
USUAL_PLIES = 4


@dataclass(frozen=True, slots=True)
class Opening:
    """Moves from the start in tokens, and what a shallow search thinks of them (for the side to move)."""

    moves: tuple[str, ...]
    score: int


class Openings:
    """The openings of a match, in order; the same for the same game, options, seed and number of plies.

    No two are alike until the game has no more of them; then they come again.
    """

    def __init__(self, searcher: Searcher, options: Mapping[str, str], seed: int, plies: int) -> None:
        self._searcher = searcher
        self._options = options
        self._chance = Random(f"openings {searcher.game.id} {seed}")
        self._first_plies = self._plies = plies
        self._seen: set[str] = set()
        self._made: list[Opening] = []

    def __getitem__(self, number: int) -> Opening:
        while number >= len(self._made):
            self._made.append(self._next())
        return self._made[number]

    def _next(self) -> Opening:
        candidates: list[tuple[Opening, str]] = []
        while not candidates:
            candidates = self._candidates()
        opening, digest = min(candidates, key=lambda candidate: abs(candidate[0].score))
        self._seen.add(digest)
        return opening

    def _candidates(self) -> list[tuple[Opening, str]]:
        """New openings; where there are no more of this length, longer ones, and in the end all of them once more."""
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

        One that is decided, as far as the search sees, is the least balanced there is: it comes where there is no
        other.
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
