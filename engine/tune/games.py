"""Matches with their results: as lines of a work file, which self-play goes on with where it was
stopped.

The first line says how the matches are made; each other one is a match in JSON. A match depends on
its number and on the first line only, so a file that was made in several runs is the same as one
that was made in one.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from engine.tune.errors import TuneError

FORMAT = 1


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the matches of a work file are made: with the rules of this digest, so many nodes a move,
    after so many random plies; a match in which both sides see the same one ahead by `decided` is
    taken for won (0: played on). Where there is a judge, the scores are this player's, for every so
    many of the positions kept.
    """

    tune: Literal[1]
    game: str
    rules: str
    seed: int
    nodes: int
    least_random: int
    most_random: int
    options: dict[str, str]
    decided: int = 0
    judge: str = ""
    every: int = 1


class Played(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One match: its moves, and which plies are worth keeping with what the search thought there
    (for the side to move). The result is the first seat's: 1 won, 0 lost, 0.5 drawn.
    """

    number: int
    moves: str
    result: float
    kept: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()


def read_plan(path: Path) -> Plan | None:
    """The first line of a work file; None where there is no file yet or an empty one."""
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
            raise msgspec.DecodeError("its first line has no end")
        return msgspec.json.decode(line, type=Plan)
    except msgspec.DecodeError as error:
        raise TuneError(f"{path} is no work file of the tuner: {error}") from error


def read_matches(path: Path) -> Iterator[Played]:
    """The matches of a work file in order. What was written last may be cut off: it does not count."""
    with path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                return
            try:
                played = msgspec.json.decode(line, type=Played)
            except msgspec.DecodeError as error:
                raise TuneError(f"{path}, line {number + 2}: {error}") from error
            if played.number != number or len(played.kept) != len(played.scores):
                raise TuneError(f"{path}, line {number + 2}: match {number} is expected, complete")
            yield played


class WorkFile:
    """A work file that is open for more matches; a context manager."""

    def __init__(self, path: Path, plan: Plan) -> None:
        """Begins the file or goes on with it; TuneError when its matches were made in another way."""
        found = read_plan(path)
        self.count = 0
        if found is not None:
            _expect_same(path, found, plan)
            self.count = sum(1 for _ in read_matches(path))
        try:
            self._file = path.open("r+b" if found is not None else "wb")
        except OSError as error:
            raise TuneError(f"{path} cannot be written: {error.strerror}") from error
        if found is None:
            self._write(msgspec.json.encode(plan))
        else:
            for _ in range(self.count + 1):
                self._file.readline()
            self._file.truncate(self._file.tell())

    def add(self, played: Played) -> None:
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


def _expect_same(path: Path, found: Plan, plan: Plan) -> None:
    old, new = (structs.asdict(one) for one in (found, plan))
    wrong = [
        f"{name} {_told(old[name])} and not {_told(new[name])}"
        for name in old
        if old[name] != new[name]
    ]
    if wrong:
        raise TuneError(
            f"{path} was made with {', '.join(wrong)}: take another file, or do not play on (--games 0)"
        )


def _told(value: object) -> str:
    return json.dumps(value) if isinstance(value, Mapping) else str(value)
