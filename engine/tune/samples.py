"""The training data: states with results, from work files and from files of positions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.game import Game, GameError, Position
from engine.tune.errors import TuneError
from engine.tune.games import read_matches, read_plan

#: The first seat's result by its notation in a file of positions.
RESULTS = {
    "1-0": 1.0,
    "0-1": 0.0,
    "1/2-1/2": 0.5,
    "1": 1.0,
    "0": 0.0,
    "0.5": 0.5,
    "1.0": 1.0,
    "0.0": 0.0,
}


@dataclass(frozen=True)
class Samples:
    """Training positions, as parallel sequences."""

    states: list[tuple[int, ...]]
    #: The result for the side to move, 0 to 1.
    results: Any
    #: A search's score for the side to move; NaN if it is unknown.
    scores: Any
    #: The number of each position's match; a position from a file counts as a match of its own.
    matches: Any

    def __len__(self) -> int:
        return len(self.states)


def read_samples(
    game: Game, work: Iterable[Path], positions: Iterable[Path], options: Mapping[str, str]
) -> Samples:
    """All positions of the files; TuneError if there are none or one is not of this game."""
    states, results, scores, matches = [], [], [], []
    groups: list[list[Sample]] = [group for path in work for group in _from_matches(game, path)]
    groups += [[sample] for path in positions for sample in _from_positions(game, path, options)]
    for number, group in enumerate(groups):
        for position, result, score in group:
            states.append(tuple(int(word) for word in position.state))
            results.append(result if position.turn == 0 else 1 - result)
            scores.append(score)
            matches.append(number)
    if not states:
        raise TuneError("there are no positions to learn from")
    return Samples(states, np.array(results), np.array(scores, float), np.array(matches))


#: A position, the first seat's result, and the search's score for the side to move (NaN if it is
#: unknown).
Sample = tuple[Position, float, float]


def _from_matches(game: Game, path: Path) -> Iterator[list[Sample]]:
    """The kept positions of each match of a work file."""
    plan = read_plan(path)
    if plan is None:
        return
    if plan.game != game.id:
        raise TuneError(f"{path} holds matches of {plan.game}, not of {game.id}")
    for played in read_matches(path):
        scores = dict(zip(played.kept, played.scores, strict=True))
        try:
            position = game.start(plan.options)
            samples: list[Sample] = []
            for ply, token in enumerate(played.moves.split()):
                if ply in scores:
                    samples.append((position, played.result, scores[ply]))
                position = position.replay(token)
        except GameError as error:
            raise TuneError(f"{path}, match {played.number}: {error}") from error
        yield samples


def _from_positions(game: Game, path: Path, options: Mapping[str, str]) -> Iterator[Sample]:
    """The positions of a file whose lines are a position's text, a semicolon and a result.

    The result is the first seat's, such as 1-0, 0-1 or 1/2-1/2.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TuneError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        text, _, result = line.rpartition(";")
        if result.strip() not in RESULTS:
            raise TuneError(
                f"{path}, line {number}:"
                " a position, a semicolon and 1-0, 0-1 or 1/2-1/2 are expected"
            )
        try:
            position = game.position(text.strip(), options)
        except GameError as error:
            raise TuneError(f"{path}, line {number}: {error}") from error
        if position.moves():
            yield position, RESULTS[result.strip()], float("nan")
