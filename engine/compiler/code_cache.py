"""The cache of compiled searches on disk: a private folder, one lock for each game, checksums, and
removal of old versions.

The files are numba's own: pickles with machine code, which numba runs when it loads them. So the
folder must be private, and a file that changed since it was written is discarded. The seal of a
version is a JSON file beside the code, with the checksums of its files.
"""

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: The maximum number of versions of one game's code on disk, including the one in use.
KEPT_VERSIONS = 3
#: The key in a seal that lists the steps whose code is complete.
READY = "ready"


def cache_folder() -> Path:
    """A private, writable folder: PLYROOM_CACHE, NUMBA_CACHE_DIR, the user's cache, or else a
    temporary one.
    """
    configured = os.environ.get("PLYROOM_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    wanted = Path(configured) if configured else Path(home) / "plyroom" / "engine"
    fallback = Path(tempfile.gettempdir()) / f"plyroom-engine-{_user()}"
    for folder in (wanted, fallback):
        if _is_usable(folder):
            return folder
    return _own_folder()


@cache
def _own_folder() -> Path:
    """A folder of this process alone, as the last resort."""
    return Path(tempfile.mkdtemp(prefix="plyroom-engine-"))


def _user() -> int | str:
    return os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _is_usable(folder: Path) -> bool:
    """Creates the folder if it is missing; True if it is private to this user and writable."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            state = folder.lstat()
            if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
                return False
            if stat.S_IMODE(state.st_mode) != 0o700:
                folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def locked(folder: Path, scope: str) -> Iterator[None]:
    """Holds the lock of a scope's files; it is also released when the process dies."""
    with open(folder / f"{scope}.lock", "a+b") as file:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def tag_of(scope: str, digest: str) -> str:
    """The name of one version of a scope's code: the digest of its rules and the numba version."""
    compiler = "".join(part for part in version("numba") if part.isalnum())
    return f"{scope}.{digest}n{compiler}"


def scope_of(game_id: str, part: str = "") -> str:
    """The name under which a part of a game's code is locked, sealed and pruned.

    The search itself is the part "". Each part has a lock of its own, so that a process that loads
    the search does not wait for one that compiles a solver.
    """
    return f"{game_id}@{part}" if part else game_id


def note_ready(game_id: str, digest: str, step: str) -> None:
    """Records that the cache holds all code of a step (the search, a solver) of these rules."""
    if is_ready(game_id, digest, step):
        return
    folder, tag = cache_folder(), tag_of(game_id, digest)
    with locked(folder, game_id):
        content = _read_seal(folder, tag)
        _write_seal(folder, tag, {**content, READY: sorted({*content.get(READY, ()), step})})


def is_ready(game_id: str, digest: str, step: str) -> bool:
    """True if the cache has recorded all code of a step as complete; loading checks the files."""
    return step in _read_seal(cache_folder(), tag_of(game_id, digest)).get(READY, ())


def has_search(game_id: str, digest: str) -> bool:
    """True if the search of these rules can be loaded without compiling; removes a damaged one."""
    if not is_ready(game_id, digest, "search"):
        return False
    folder, tag = cache_folder(), tag_of(game_id, digest)
    files = code_files(folder, tag)
    if files and _read_seal(folder, tag).get("files") == _checksums(files):
        return True
    with locked(folder, game_id):
        if not files or discard_damaged(folder, tag):
            discard(folder, tag)
            return False
    return True


def code_files(folder: Path, tag: str) -> list[Path]:
    """The cache files of one version of a game."""
    return sorted(folder.glob(f"*/*.{tag}-*.nb[ci]"))


def discard(folder: Path, tag: str) -> None:
    """Removes one version of a game from the cache."""
    for path in [*code_files(folder, tag), _seal_path(folder, tag)]:
        path.unlink(missing_ok=True)


def discard_damaged(folder: Path, tag: str) -> bool:
    """Removes a version whose files differ from its seal; True if it has removed one.

    Call it under the lock.
    """
    files = code_files(folder, tag)
    if not files:
        return False
    if _read_seal(folder, tag).get("files") == _checksums(files):
        return False
    discard(folder, tag)
    return True


def seal(folder: Path, tag: str, floats: Iterable[str] = ()) -> None:
    """Records the checksums of a version's files, and the float variables found in compiling them.

    Call it under the lock, after every change.
    """
    sums = {"files": _checksums(code_files(folder, tag)), "floats": sorted(floats)}
    _write_seal(folder, tag, {**_read_seal(folder, tag), **sums})


def _write_seal(folder: Path, tag: str, content: dict[str, Any]) -> None:
    path = _seal_path(folder, tag)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(content))
    draft.replace(path)


def sealed_floats(folder: Path, tag: str) -> list[str]:
    """The float variables found when the files of a version were compiled."""
    return list(_read_seal(folder, tag).get("floats", ()))


def _read_seal(folder: Path, tag: str) -> dict[str, Any]:
    """The content of the last seal; empty when the seal is missing or damaged."""
    try:
        content = json.loads(_seal_path(folder, tag).read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def prune(folder: Path, scope: str, tag: str) -> None:
    """Removes the oldest versions of a scope beyond KEPT_VERSIONS, but never the version `tag`.

    Call it under the lock.
    """
    seals = [path for path in folder.glob(f"{scope}.*.sums") if path != _seal_path(folder, tag)]
    seals.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in seals[KEPT_VERSIONS - 1 :]:
        discard(folder, path.name.removesuffix(".sums"))


def _seal_path(folder: Path, tag: str) -> Path:
    return folder / f"{tag}.sums"


def _checksums(files: list[Path]) -> dict[str, str]:
    return {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
