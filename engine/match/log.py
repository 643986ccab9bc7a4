"""The log of a match: a JSON line for the match, then one per game, in order.

The log is all that a match needs in order to resume.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

#: The version of the log's format.
FORMAT = 1


class LogError(Exception):
    """A match cannot resume from its log; the message says why and what to do."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parameters of a match; they decide every move, except under time limits or threads."""

    game: str
    #: The digest of the rules.
    rules: str
    #: The descriptions of the players.
    players: tuple[str, str]
    seed: int
    opening_plies: int
    max_plies: int
    options: dict[str, str] = {}
    adjudicate: int | None = None
    compact: bool = False
    results_only: bool = False
    format: int = FORMAT


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One game.

    Compact logs have no moves, nodes or times: opening, players and seed suffice to replay the
    game, and the digest shows whether it came out the same. In a log with `results_only`
    they have no opening and no digest either.
    """

    n: int
    opening: str = ""
    #: The first player's result: 0, 1 or 2.
    half_points: int
    plies: int
    #: The digest of all moves.
    digest: str = ""
    forfeit: bool = False
    reason: str = ""
    moves: str = ""
    nodes: tuple[int, int] | None = None
    time_ms: tuple[int, int] | None = None

    @property
    def seat(self) -> int:
        """The first player's seat, which alternates from game to game."""
        return self.n % 2


def moves_digest(moves: Sequence[str]) -> str:
    """A digest of the tokens of a game, in 16 hex digits."""
    return hashlib.blake2b(" ".join(moves).encode(), digest_size=8).hexdigest()


class Log:
    """A log that is appended game by game, on file or (without a path) in memory.

    An existing file is read and resumed, or overwritten with `fresh`. The file does not change
    before the first game is added. That truncates it: with `fresh` to nothing, else to its whole
    lines, because a killed program may have left a partial one. Raises LogError if the file cannot
    be read or written, or is of another match.
    """

    def __init__(self, header: Header, path: Path | None, fresh: bool = False) -> None:
        self.header = header
        self.records: list[Record] = []
        self._path = path
        self._file: BinaryIO | None = None
        #: The bytes of the earlier log to keep; None once a game has been added.
        self._kept_bytes: int | None = 0
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._is_new = not path.exists()
            if not self._is_new and not fresh:
                self._kept_bytes = self._read(path)
            self._file = path.open("xb" if self._is_new else "r+b")
        except OSError as error:
            raise _failed(path, error) from error

    def append(self, record: Record) -> None:
        """Adds the next game; it is on disk when this returns."""
        assert record.n == len(self.records), "games are logged in order"
        self.records.append(record)
        if self._file is None:
            return
        assert self._path is not None
        try:
            if self._kept_bytes is not None:
                self._begin(self._file, self._kept_bytes)
            self._write(self._file, record)
        except OSError as error:
            raise _failed(self._path, error) from error

    def close(self) -> None:
        """Closes the file, and removes it if it is new and has no game."""
        if self._file is None or self._path is None:
            return
        self._file.close()
        if self._is_new and self._kept_bytes is not None:
            self._path.unlink(missing_ok=True)

    def _begin(self, file: BinaryIO, kept_bytes: int) -> None:
        file.truncate(kept_bytes)
        file.seek(kept_bytes)
        self._kept_bytes = None
        if not kept_bytes:
            self._write(file, self.header)

    def _write(self, file: BinaryIO, line: Header | Record) -> None:
        file.write(msgspec.json.encode(line) + b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _read(self, path: Path) -> int:
        """Reads the games; returns the bytes of whole lines. LogError if it is of another match."""
        header, self.records, whole_bytes = read_log(path)
        check_match(header, self.header, str(path))
        return whole_bytes


def check_match(found: Header | None, wanted: Header, place: str) -> None:
    """Raises LogError if the log at this place is of another match than the wanted one."""
    if found is not None and found != wanted:
        raise LogError(
            f"{place} is of another match ({_difference(found, wanted)}):"
            " name another file, or --fresh"
        )


def read_log(path: Path) -> tuple[Header | None, list[Record], int]:
    """The header, the games and the bytes of whole lines; LogError if a line is not a log's."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _failed(path, error) from error
    return parse_log(content, str(path))


def parse_log(content: bytes, place: str) -> tuple[Header | None, list[Record], int]:
    """The same as `read_log`, of a log that was read from this place."""
    whole, _, _ = content.rpartition(b"\n")
    if not whole:
        return None, [], 0
    first, *rest = whole.split(b"\n")
    try:
        header = msgspec.json.decode(first, type=Header)
        records = [msgspec.json.decode(line, type=Record) for line in rest]
    except msgspec.DecodeError as error:
        raise LogError(f"{place} is not a log of a match: {error}") from error
    if [record.n for record in records] != list(range(len(records))):
        raise LogError(f"{place} lacks games: they are not numbered 0, 1, 2, …")
    return header, records, len(whole) + 1


def _failed(path: Path, error: OSError) -> LogError:
    return LogError(f"the log {path} cannot be used: {error.strerror}")


def _difference(old: Header, new: Header) -> str:
    names = [name for name in Header.__struct_fields__ if getattr(old, name) != getattr(new, name)]
    return "; ".join(
        f"{name} {getattr(old, name)} in the log, {getattr(new, name)} now" for name in names
    )
