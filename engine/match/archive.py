"""The logs of a game's matches: all of them compressed in one file, `GAME.zip`.

Each log is an entry with a name such as `ladders/2-1.jsonl`, so `unzip -p chess.zip
ladders/2-1.jsonl` prints one. A match that is under way has its log beside that file, plain
(`chess-ladders-2-1.jsonl`): each game of it is on disk when it is over. At the end of the command
the log moves into the file. A command that was killed leaves the plain log, which stands for the
entry until the same command has resumed it.

The same logs make the same bytes: entries are sorted by name and have no times.
"""

import contextlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from engine.compiler.code_cache import locked
from engine.match.log import Header, Log, LogError, Record, check_match, parse_log, read_log

#: The folder of the project's own results. It is not installed: only a checkout has it.
RESULTS = Path(__file__).parent / "results"
#: The time of all entries, the earliest that the format knows.
_EPOCH = (1980, 1, 1, 0, 0, 0)
#: What reading a damaged file raises.
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def results_folder(chosen: Path | None) -> Path:
    """The chosen folder, or that of the checkout; LogError if there is neither."""
    if chosen is not None:
        return chosen
    if not RESULTS.is_dir():
        raise LogError("an installed Plyroom has no results: name a folder for the logs, --folder")
    return RESULTS


def games_with_logs(folder: Path, kind: str) -> list[str]:
    """The ids of the games that have logs of this kind ("ladders", "ablations"), sorted."""
    return sorted(
        path.stem for path in folder.glob("*.zip") if Archive(folder, path.stem).names(kind)
    )


class Archive:
    """The logs of one game in a folder. Two commands may write different logs at the same time.

    All methods raise LogError if a file cannot be used, is damaged or is not a log.
    """

    def __init__(self, folder: Path, game_id: str) -> None:
        self._folder = folder
        self._game_id = game_id
        self.path = folder / f"{game_id}.zip"

    def names(self, kind: str) -> list[str]:
        """The names of the logs of a kind, sorted: `ladders/1-greedy.jsonl`, …"""
        before = f"{self._game_id}-{kind}-"
        under_way = {
            f"{kind}/{path.name.removeprefix(before)}"
            for path in self._folder.glob(f"{before}*.jsonl")
        }
        in_file = {name for name in self._entries() if name.startswith(f"{kind}/")}
        return sorted(in_file | under_way)

    def read(self, name: str) -> tuple[Header | None, list[Record]]:
        """The header and the games of a log; None and no games if there is no such log."""
        under_way = self._under_way(name)
        if under_way.exists():
            return read_log(under_way)[:2]
        content = self._entry(name)
        return (None, []) if content is None else parse_log(content, self.place_of(name))[:2]

    def place_of(self, name: str) -> str:
        """Where the log is, for messages."""
        return f"{name} in {self.path}"

    @contextlib.contextmanager
    def log(self, name: str, header: Header, fresh: bool = False) -> Iterator[Log]:
        """The log of a match, to which games can be added; it resumes an existing one or, with
        `fresh`, replaces it at its first game. Raises LogError if that one is of another match.
        """
        path = self._under_way(name)
        if not fresh and not path.exists() and (content := self._entry(name)) is not None:
            place = self.place_of(name)
            check_match(parse_log(content, place)[0], header, place)
            _write(path, content)
        log = Log(header, path, fresh)
        try:
            yield log
        finally:
            log.close()
            if path.exists():
                self._store(name, path)

    def _under_way(self, name: str) -> Path:
        return self._folder / f"{self._game_id}-{name.replace('/', '-')}"

    def _entry(self, name: str) -> bytes | None:
        content = self._entries((name,)).get(name)
        if content is None:
            self._entries()  # raises if the name is missing because it is damaged
        return content

    def _entries(self, names: tuple[str, ...] | None = None) -> dict[str, bytes]:
        """The logs in the file, all or some, by name."""
        try:
            with zipfile.ZipFile(self.path) as file:
                if any(entry.comment for entry in file.infolist()):
                    # A damaged length of a comment hides the entries behind it.
                    raise zipfile.BadZipFile("an entry has a comment")
                return {
                    name: file.read(name)
                    for name in file.namelist()
                    if names is None or name in names
                }
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LogError(f"the logs {self.path} cannot be used: {error.strerror}") from error
        except _DAMAGED as error:
            raise LogError(f"the logs {self.path} are damaged: {error}") from error

    def _store(self, name: str, path: Path) -> None:
        """Moves a plain log into the file; a crash leaves it in one of the two at least."""
        try:
            with locked(self._folder, self._game_id):
                whole, newline, _ = path.read_bytes().rpartition(b"\n")
                entries = self._entries()
                if whole and entries.get(name) != whole + newline:
                    _write(self.path, packed({**entries, name: whole + newline}))
                path.unlink()
        except OSError as error:
            raise LogError(f"the logs {self.path} cannot be used: {error.strerror}") from error


def packed(logs: dict[str, bytes]) -> bytes:
    """The file of these logs, by name. The same logs and the same zlib give the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name in sorted(logs):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = 0o644 << 16
            file.writestr(entry, logs[name], zipfile.ZIP_DEFLATED, 9)
    return target.getvalue()


def _write(path: Path, content: bytes) -> None:
    """Writes a file that is complete or absent, also after a crash."""
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
