"""Balanced openings: distinct lines of a few random moves, drawn by a seed.

A shallow search picks the most balanced ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from engine.game import Game, Position
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit

#: Number of random lines drawn for an opening; the most balanced one is used.
CANDIDATES = 8
#: Failed draws after which a round of candidates ends; if it has none, openings grow by a ply.
TRIES = 64
#: Rounds without any candidate after which the game counts as having no opening.
MAX_EMPTY_ROUNDS = 8
#: The limit of the search that scores an opening.
SCORING_LIMIT = Limit(nodes=2_000, depth=6)
#: Size of that search's table, as a power of two of entries.
TABLE_BITS = 14
#: Plies of an opening by game.
DEFAULT_PLIES = {"chess": 8, "connect-four": 3, "sticks": 1, "tic-tac-toe": 1}
#: Plies of an opening in all other games.
OTHER_PLIES = 4


class NoOpening(ValueError):
    """Random games are always over within the plies of an opening."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The moves from the start in tokens, and a shallow search's score for the side to move."""

    moves: tuple[str, ...]
    score: int


class Openings:
    """The openings of a match, in order, determined by game, options, seed and number of plies.

    They lead to different positions until the game has no more; then they repeat (`distinct`,
    `repeats`). A game without the production search is given in place of a searcher; its openings
    all score 0. Raises NoOpening if the game has none at all.
    """

    def __init__(
        self, source: Searcher | Game, options: Mapping[str, str], seed: int, plies: int
    ) -> None:
        self._searcher = None if isinstance(source, Game) else source
        self._game = source if isinstance(source, Game) else source.game
        self._options = options
        self._random = Random(f"openings {self._game.id} {seed}")
        self._first_plies = self._plies = plies
        self._seen: set[str] = set()
        self._used: set[str] = set()
        #: The scores by moves: a small game draws the same moves again and again.
        self._scores: dict[tuple[str, ...], int] = {}
        self._openings: list[Opening] = []
        self._distinct: int | None = None

    def __getitem__(self, number: int) -> Opening:
        while number >= len(self._openings):
            self._openings.append(self._next_opening())
        return self._openings[number]

    def distinct(self, limit: int) -> int:
        """The number of openings before the first that repeats a position, at most `limit`."""
        return next((number for number in range(limit) if self.repeats(number)), limit)

    def repeats(self, number: int) -> bool:
        """Whether this opening, or one before it, leads to a position that occurred before.

        From there on, two deterministic players repeat their games.
        """
        self[number]
        return self._distinct is not None and number >= self._distinct

    def _next_opening(self) -> Opening:
        empty_rounds = 0
        while not (candidates := self._draw_candidates()):
            empty_rounds += not self._seen
            if empty_rounds == MAX_EMPTY_ROUNDS:
                raise NoOpening(
                    f"{self._game.id} is always over after {self._first_plies} random plies"
                )
        opening, digest = min(candidates, key=lambda candidate: abs(candidate[0].score))
        if digest in self._used and self._distinct is None:
            self._distinct = len(self._openings)
        self._seen.add(digest)
        self._used.add(digest)
        return opening

    def _draw_candidates(self) -> list[tuple[Opening, str]]:
        """Draws new random openings, at most CANDIDATES of them.

        If it draws none, it makes the following openings a ply longer; past the longest length it
        allows all openings again, from the shortest length on.
        """
        candidates: list[tuple[Opening, str]] = []
        misses = 0
        while len(candidates) < CANDIDATES and misses < TRIES:
            opening, digest = self._draw_opening()
            if opening is None or digest in self._seen:
                misses += 1
            else:
                candidates.append((opening, digest))
        if not candidates and self._plies < longest_plies(self._game):
            self._plies += 1
        elif not candidates:
            self._seen.clear()
            self._plies = self._first_plies
        return candidates

    def _draw_opening(self) -> tuple[Opening | None, str]:
        """Draws a random opening; returns it with its digest, or None if the game ended within it.

        An opening with a decisive score is the least balanced one, so it is used only if there is
        no other.
        """
        position = self._game.start(self._options)
        tokens = []
        for _ in range(self._plies):
            moves = position.moves()
            if not moves:
                return None, ""
            move = moves[self._random.randrange(len(moves))]
            tokens.append(position.format_move(move))
            position = position.play(move)
        if not position.moves():
            return None, ""
        line = tuple(tokens)
        if line not in self._scores:
            self._scores[line] = self._score(position)
        return Opening(line, self._scores[line]), position.digest()

    def _score(self, position: Position) -> int:
        if self._searcher is None:
            return 0
        return self._searcher.search(position, SCORING_LIMIT, Table(TABLE_BITS), Control()).score


def longest_plies(game: Game) -> int:
    """The maximum length of an opening, in plies, in a game that has too few short ones."""
    return 2 * default_plies(game)


def default_plies(game: Game) -> int:
    """The length of a game's openings in plies, unless the user sets another."""
    if game.rules.SEARCH == "teach":
        return 0
    return DEFAULT_PLIES.get(game.id, OTHER_PLIES)
