"""Positions for the checks of a game, from random matches with a fixed seed; and the error of a
failed check.
"""

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from engine.game import Game, GameFault, Position

#: Maximum random matches for each set of options.
PLAYOUTS = 12
#: Maximum length of a random match, in plies.
MAX_PLIES = 300
#: Plies in all random matches of a game, so a game with long matches gets fewer matches.
TOTAL_PLIES = 1800
#: Minimum random matches for each set of options, even if they are long.
MIN_PLAYOUTS = 2

T = TypeVar("T")


class ConformanceError(Exception):
    """A game breaks a promise; the message names the promise and the position."""


def expect(is_kept: object, promise: str, *where: object) -> None:
    """Raises ConformanceError with the promise and its place unless it is kept."""
    if not is_kept:
        raise ConformanceError(f"{promise}: {' | '.join(map(str, where))}")


def option_sets(game: Game) -> list[dict[str, str]]:
    """Returns the default options, then the defaults with each other offered value."""
    sets = [game.check_options({})]
    for name, option in game.options.items():
        sets += [
            game.check_options({name: value}) for value in option.offered if value != option.default
        ]
    return sets


def playouts(game: Game, count: int = PLAYOUTS, seed: int = 1) -> Iterator[list[Position]]:
    """Yields random matches as lists of positions: up to `count` for each set of options."""
    yield from _play_matches(game, count, seed, TOTAL_PLIES)


def positions(game: Game, count: int = PLAYOUTS, seed: int = 1) -> Iterator[Position]:
    """Yields the positions of the random matches, one match after another."""
    for line in playouts(game, count, seed):
        yield from line


def spread(items: Sequence[T], count: int) -> list[T]:
    """Returns at most `count` of the items, evenly spaced from the first to the last."""
    if len(items) <= count:
        return list(items)
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


@lru_cache(maxsize=8)
def _play_matches(
    game: Game, count: int, seed: int, total_plies: int
) -> tuple[list[Position], ...]:
    rng = random.Random(seed)
    sets = option_sets(game)
    plies_per_set = total_plies * count // PLAYOUTS // len(sets)
    lines = []
    for options in sets:
        plies_left = plies_per_set
        for number in range(count):
            if plies_left <= 0 and number >= MIN_PLAYOUTS:
                break
            line = [game.start(options)]
            check_state(line[0])
            while len(line) <= MAX_PLIES and (moves := legal_moves(line[-1])):
                line.append(line[-1].play(rng.choice(moves)))
                check_state(line[-1])
            plies_left -= len(line)
            lines.append(line)
    return tuple(lines)


def check_state(position: Position) -> None:
    """Checks that a state is a tuple of WORDS words; the error names the function at fault."""
    words = position.game.rules.WORDS
    state: object = position.state
    function = "init" if position.last is None else "play"
    form = f"a state is a tuple of WORDS = {words} words, each np.uint64"
    expect(isinstance(state, tuple), f"{form}; {function} returns {type(state).__name__}", state)
    assert isinstance(state, tuple)
    fix = f"{function} returns {len(state)}: return one for each of WORDS, or correct WORDS"
    expect(len(state) == words, f"{form}; {fix}", state)
    others = [type(word).__name__ for word in state if type(word) is not np.uint64]
    expect(
        not others,
        f"{form}; {function} returns {', '.join(others)} among them: write U(...) around it",
        state,
    )


def legal_moves(position: Position) -> list[int]:
    """Returns the legal moves; if there are too many, the error says which MAX_MOVES to set."""
    try:
        return position.moves()
    except GameFault as error:
        if not isinstance(error.__cause__, IndexError):
            raise
        rules = position.game.rules
        with np.errstate(over="ignore"):
            count = int(rules.moves(position.state, [0] * (64 * rules.MAX_MOVES + 4096)))
        if count <= rules.MAX_MOVES:
            raise
        fix = (
            f"the position {position.text()} has {count}: "
            f"write MAX_MOVES = {count} or more, the size of compiled buffers"
        )
        raise ConformanceError(
            f"no state has more than MAX_MOVES = {rules.MAX_MOVES} moves: {fix}"
        ) from error
