"""The work file of `engine.tune.othello`: a line with its origin, then records of 8-byte words.

A file that does not begin with such a line is never overwritten.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from engine.tune.errors import TuneError
from engine.tune.othello_template import RECORD_WORDS

#: Length of a record in bytes.
RECORD_BYTES = 8 * RECORD_WORDS
#: Length of the first line in bytes; it is padded with spaces.
HEAD_BYTES = 256
#: All 64 cells, as a bitboard.
FULL = (1 << 64) - 1


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the matches of a work file are made."""

    tune_othello: Literal[1]
    #: The digest of the rules.
    rules: str
    seed: int
    #: Depth of the search that plays.
    depth: int


def read_origin(path: Path) -> Origin | None:
    """The first line of a work file; None if the file does not exist or is empty.

    Raises TuneError for a file that cannot be read or is not a work file.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TuneError(f"{path} cannot be read: {error.strerror}") from error
    if not head:
        return None
    try:
        if len(head) < HEAD_BYTES or not head.endswith(b"\n"):
            raise ValueError(f"its first line does not have {HEAD_BYTES} bytes")
        return msgspec.json.decode(head, type=Origin)
    except ValueError as error:
        raise TuneError(
            f"{path} does not say how its matches were made, so it is not a work file of this tuner"
            f" (or one of an old version without that line): it is left as it is ({error})"
        ) from error


def read_records(path: Path) -> Any:
    """The records of a work file, without an incomplete last one.

    Raises TuneError if the file does not exist or is empty.
    """
    if read_origin(path) is None:
        raise TuneError(f"{path} has no positions: give --matches")
    return _records(path.read_bytes()[HEAD_BYTES:])


class PositionFile:
    """A context manager that appends matches to a work file."""

    def __init__(self, path: Path, origin: Origin) -> None:
        """Creates or resumes the file; TuneError if it is not a work file or has another origin."""
        old_origin = read_origin(path)
        if old_origin is not None:
            _expect_same(path, old_origin, origin)
        try:
            self._file = path.open("wb" if old_origin is None else "r+b")
        except OSError as error:
            raise TuneError(f"{path} cannot be written: {error.strerror}") from error
        if old_origin is None:
            self._file.write(msgspec.json.encode(origin).ljust(HEAD_BYTES - 1) + b"\n")
            self.next_match = 0
        else:
            self._file.seek(HEAD_BYTES)
            self.next_match, whole = _whole_matches(_records(self._file.read()))
            self._file.seek(HEAD_BYTES + whole * RECORD_BYTES)
            self._file.truncate()

    def add(self, records: Sequence[Sequence[int]]) -> None:
        """Appends the records of a match."""
        words = np.array([[word & FULL for word in record] for record in records], np.uint64)
        self._file.write(words.astype("<u8").tobytes())

    def flush(self) -> None:
        self._file.flush()

    def __enter__(self) -> "PositionFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def count_matches(path: Path) -> int:
    """The number of matches in a file without the last one, which may be incomplete."""
    return 0 if read_origin(path) is None else _whole_matches(read_records(path))[0]


def _whole_matches(records: Any) -> tuple[int, int]:
    """The number of the next match to play, and the count of records before it.

    The last match in the file may be incomplete, so it is played again.
    """
    if not len(records):
        return 0, 0
    last = int(records[-1, 0])
    return last, int(np.searchsorted(records[:, 0], np.uint64(last)))


def _records(content: bytes) -> Any:
    whole = len(content) // RECORD_BYTES * RECORD_BYTES
    return np.frombuffer(content[:whole], "<u8").reshape(-1, RECORD_WORDS)


def _expect_same(path: Path, old_origin: Origin, origin: Origin) -> None:
    old, new = msgspec.to_builtins(old_origin), msgspec.to_builtins(origin)
    differences = [
        f"{name} {old[name]} and not {new[name]}" for name in old if old[name] != new[name]
    ]
    if differences:
        raise TuneError(
            f"{path} was made with {', '.join(differences)}:"
            " take another file, or play no more (--matches 0)"
        )
