"""The work file of self-play: matches with their results, one per line.

The first line is the plan; each further line is a match in JSON. A match depends only on its number
and on the plan, so that a file written in several runs equals one written in a single run.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from engine.tune.errors import TuneError


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the matches of a work file are made."""

    tune: Literal[1]
    game: str
    #: The digest of the rules.
    rules: str
    seed: int
    #: Nodes per move.
    nodes: int
    #: Minimum number of random plies of an opening.
    least_random: int
    #: Maximum number of random plies of an opening.
    most_random: int
    options: dict[str, str]
    #: The score at which a match is won if both sides report it; 0: matches are played to the end.
    decided: int = 0
    #: The player whose scores the file holds; empty for the search that played the matches.
    judge: str = ""
    #: The judge scores one in this number of kept positions.
    every: int = 1


class PlayedMatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One match of a work file."""

    number: int
    #: The moves in tokens, separated by spaces.
    moves: str
    #: The first seat's result: 1 won, 0.5 drawn, 0 lost.
    result: float
    #: The plies whose positions are training data.
    kept: tuple[int, ...] = ()
    #: The search's score at each of these plies, for the side to move.
    scores: tuple[int, ...] = ()


def read_plan(path: Path) -> Plan | None:
    """The plan of a work file; None if the file does not exist or is empty.

    Raises TuneError for a file that cannot be read or is not a work file.
    """
    try:
        with path.open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TuneError(f"{path} cannot be read: {error.strerror}") from error
    if not line:
        return None
    try:
        if not line.endswith(b"\n"):
            raise msgspec.DecodeError("its first line is incomplete")
        return msgspec.json.decode(line, type=Plan)
    except msgspec.DecodeError as error:
        raise TuneError(f"{path} is not a work file of the tuner: {error}") from error


def read_matches(path: Path) -> Iterator[PlayedMatch]:
    """The matches of a work file in order, without an incomplete last line."""
    with path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                return
            try:
                played = msgspec.json.decode(line, type=PlayedMatch)
            except msgspec.DecodeError as error:
                raise TuneError(f"{path}, line {number + 2}: {error}") from error
            if played.number != number or len(played.kept) != len(played.scores):
                raise TuneError(
                    f"{path}, line {number + 2}: match {number} is expected here,"
                    " with a score for each kept position"
                )
            yield played


class WorkFile:
    """A context manager that appends matches to a work file."""

    def __init__(self, path: Path, plan: Plan) -> None:
        """Creates or resumes the file; TuneError if its matches were made with another plan."""
        old_plan = read_plan(path)
        self.count = 0
        if old_plan is not None:
            _expect_same(path, old_plan, plan)
            self.count = sum(1 for _ in read_matches(path))
        try:
            self._file = path.open("r+b" if old_plan is not None else "wb")
        except OSError as error:
            raise TuneError(f"{path} cannot be written: {error.strerror}") from error
        if old_plan is None:
            self._write(msgspec.json.encode(plan))
        else:
            for _ in range(self.count + 1):
                self._file.readline()
            self._file.truncate(self._file.tell())

    def add(self, played: PlayedMatch) -> None:
        """Appends the next match."""
        self._write(msgspec.json.encode(played))
        self.count += 1

    def _write(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._file.flush()

    def __enter__(self) -> "WorkFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()


def _expect_same(path: Path, old_plan: Plan, plan: Plan) -> None:
    old, new = structs.asdict(old_plan), structs.asdict(plan)
    differences = [
        f"{name} {_value_text(old[name])} and not {_value_text(new[name])}"
        for name in old
        if old[name] != new[name]
    ]
    if differences:
        raise TuneError(
            f"{path} was made with {', '.join(differences)}:"
            " take another file, or do not play on (--games 0)"
        )


def _value_text(value: object) -> str:
    return json.dumps(value) if isinstance(value, Mapping) else str(value)
