"""The log of a match: one JSON line for the match, then one a game, in order. It is all that going
on takes.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

FORMAT = 1


class LogError(Exception):
    """The log cannot be gone on with; the message says why and what to do."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What decides every move of a match, but for limits of time and threads."""

    game: str
    rules: str
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
    """One game: `half_points` are the first player's, `digest` is that of all moves.

    Compact logs leave the rest away: opening, players and seed say how to play the game again, and
    the digest whether it came out the same. Logs of results only have neither opening nor digest.
    """

    n: int
    opening: str = ""
    half_points: int
    plies: int
    digest: str = ""
    forfeit: bool = False
    reason: str = ""
    moves: str = ""
    nodes: tuple[int, int] | None = None
    time_ms: tuple[int, int] | None = None

    @property
    def seat(self) -> int:
        """The first player's seat: it changes from game to game."""
        return self.n % 2


def moves_digest(moves: Sequence[str]) -> str:
    """16 hex digits over the tokens of a game."""
    return hashlib.blake2b(" ".join(moves).encode(), digest_size=8).hexdigest()


class Log:
    """A file that is appended to game by game, or memory only (no path). Opened again, it goes on
    where it ended.

    Nothing is changed on file before the first game is added: then a line that was cut short when
    the program was killed is taken away, or the whole file if it is to be fresh. A file that cannot
    be read or written is a LogError.
    """

    def __init__(self, header: Header, path: Path | None, fresh: bool = False) -> None:
        self.header = header
        self.records: list[Record] = []
        self._path = path
        self._file: BinaryIO | None = None
        #: The bytes to keep of an earlier log, until the first game is added.
        self._kept: int | None = 0
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._is_new = not path.exists()
            if not self._is_new and not fresh:
                self._kept = self._read(path)
            self._file = path.open("xb" if self._is_new else "r+b")
        except OSError as error:
            raise _failed(path, error) from error

    def append(self, record: Record) -> None:
        """Adds the next game; a process that is killed afterwards has it on file."""
        assert record.n == len(self.records), "games are logged in order"
        self.records.append(record)
        if self._file is None:
            return
        assert self._path is not None
        try:
            if self._kept is not None:
                self._begin(self._file, self._kept)
            self._write(self._file, record)
        except OSError as error:
            raise _failed(self._path, error) from error

    def close(self) -> None:
        """Leaves no file where there was none and nothing was added."""
        if self._file is None or self._path is None:
            return
        self._file.close()
        if self._is_new and self._kept is not None:
            self._path.unlink(missing_ok=True)

    def _begin(self, file: BinaryIO, kept: int) -> None:
        file.truncate(kept)
        file.seek(kept)
        self._kept = None
        if not kept:
            self._write(file, self.header)

    def _write(self, file: BinaryIO, line: Header | Record) -> None:
        file.write(msgspec.json.encode(line) + b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _read(self, path: Path) -> int:
        """Reads the games; how many bytes of whole lines there are. LogError when the log is of
        another match.
        """
        header, self.records, kept = read_log(path)
        if header is not None and header != self.header:
            raise LogError(
                f"{path} is of another match ({_difference(header, self.header)}): name another file, or --fresh"
            )
        return kept


def read_log(path: Path) -> tuple[Header | None, list[Record], int]:
    """Header, games, and the bytes of whole lines; LogError where a whole line is none of a log."""
    try:
        whole, _, _ = path.read_bytes().rpartition(b"\n")
    except OSError as error:
        raise _failed(path, error) from error
    if not whole:
        return None, [], 0
    first, *rest = whole.split(b"\n")
    try:
        header = msgspec.json.decode(first, type=Header)
        records = [msgspec.json.decode(line, type=Record) for line in rest]
    except msgspec.DecodeError as error:
        raise LogError(f"{path} is no log of a match: {error}") from error
    if [record.n for record in records] != list(range(len(records))):
        raise LogError(f"{path} lacks games in between")
    return header, records, len(whole) + 1


def _failed(path: Path, error: OSError) -> LogError:
    return LogError(f"the log {path} cannot be used: {error.strerror}")


def _difference(old: Header, new: Header) -> str:
    names = [name for name in Header.__struct_fields__ if getattr(old, name) != getattr(new, name)]
    return "; ".join(
        f"{name} {getattr(old, name)} there, {getattr(new, name)} here" for name in names
    )
