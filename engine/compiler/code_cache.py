"""The cache of compiled searches on disk: a private folder, in it one folder for each installation,
one lock for each game, checksums, and removal of old versions.

The files are numba's own: pickles with machine code, which numba runs when it loads them. So the
folder must be private, and a file that changed since it was written is discarded. The seal of a
version is a JSON file beside the code, with the checksums of its files.

Numba finds code only if it was compiled from the same source path, by the same Python, for the same
processor. Two checkouts, or two machines with a shared home folder, would not find each other's
code, although the digests of their rules are equal. So each installation has a folder of its own,
and its files, seals and locks concern no other. A folder that nothing has used for UNUSED_DAYS is
removed.
"""

import contextlib
import gc
import hashlib
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from enum import Enum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: The maximum number of versions of one game's code on disk, including the one in use.
KEPT_VERSIONS = 3
#: The key in a seal that lists the steps whose code is complete.
READY = "ready"
#: The days after which the unused folder of an installation is removed.
UNUSED_DAYS = 60
#: The file in an installation's folder that describes it; its time is that of the last use.
DESCRIPTION = "installation.json"
#: The shortest time between two records of the last use, in seconds.
USED_EVERY_S = 3600
#: Numbers of new objects, and of collections of the younger generation, that start a garbage
#: collection of each of the three generations while code is compiled. Numba makes millions of
#: objects that live as long as the compilation: Python's default spends a fifth of the time there.
COMPILING_GC_THRESHOLDS = (100_000, 20, 20)
#: The lines of /proc/cpuinfo on which the machine code for a processor depends.
PROCESSOR_LINES = (
    "vendor_id", "cpu family", "model", "stepping", "flags",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features", "isa",
)  # fmt: skip


class NotCached(Exception):
    """The cache has no code that this process could load, and the process may not compile it."""


class CacheBusy(Exception):
    """Another process holds the lock of a game's files, and this process may not wait for it."""


class Access(Enum):
    """What a process may do to get compiled code."""

    #: Load it or compile it, and wait for a lock.
    COMPILE = "compile"
    #: Load it or compile it, but not wait for a lock: CacheBusy.
    COMPILE_AT_ONCE = "compile at once"
    #: Only load it, and not wait for a lock: NotCached or CacheBusy.
    LOAD = "load"


_access: ContextVar[Access] = ContextVar("access", default=Access.COMPILE)


def access() -> Access:
    """What this thread may do to get compiled code."""
    return _access.get()


@contextlib.contextmanager
def with_access(allowed: Access) -> Iterator[None]:
    """Limits what this thread may do to get compiled code until the block ends."""
    token = _access.set(allowed)
    try:
        yield
    finally:
        _access.reset(token)


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


def code_folder() -> Path:
    """The folder of this installation's compiled code in the cache; creates it if it is missing."""
    folder = cache_folder() / f"code-{installation_id(installation())}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not (folder / DESCRIPTION).exists():
        _replace_json(folder / DESCRIPTION, installation())
        remove_unused(folder.parent, folder)
    return folder


@cache
def installation() -> dict[str, str]:
    """What compiled code depends on besides its sources, by name."""
    return {
        "engine": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "python": f"{platform.python_implementation()} {sys.version}",
        "numba": version("numba"),
        "llvmlite": version("llvmlite"),
        "numpy": version("numpy"),
        "processor": _processor(Path("/proc/cpuinfo")),
    }


def installation_id(properties: dict[str, str]) -> str:
    """A short name for an installation with these properties."""
    return hashlib.blake2b(json.dumps(properties).encode(), digest_size=8).hexdigest()


def _processor(cpuinfo: Path) -> str:
    """The processor for which numba compiles; on Linux with its features."""
    lines = [platform.machine()]
    if sys.platform != "linux":  # there it would start a process, and say less than the file
        lines.append(platform.processor())
    lines += [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    with contextlib.suppress(OSError), cpuinfo.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if not line.strip():
                break  # the first processor stands for all
            if name.strip() in PROCESSOR_LINES:
                lines.append(f"{name.strip()}={value.strip()}")
    return " ".join(filter(None, lines))


def mark_used(folder: Path) -> None:
    """Records that an installation's folder is in use, at most once in USED_EVERY_S."""
    description = folder / DESCRIPTION
    with contextlib.suppress(OSError):  # a cache that cannot be written can still be read
        if time.time() - description.stat().st_mtime > USED_EVERY_S:
            os.utime(description)


def remove_unused(root: Path, own: Path) -> None:
    """Removes the folders of other installations that nothing has used for UNUSED_DAYS."""
    oldest_s = time.time() - UNUSED_DAYS * 86_400
    for folder in root.glob("code-*"):
        with contextlib.suppress(OSError):
            if folder != own and (folder / DESCRIPTION).stat().st_mtime < oldest_s:
                shutil.rmtree(folder)


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
def locked(folder: Path, scope: str, *, is_shared: bool = False) -> Iterator[None]:
    """Holds the lock of a scope's files; it is also released when the process dies.

    Processes that only load code share the lock with `is_shared`, where the system can. One that
    holds it alone compiles: garbage collections are then rare. Raises CacheBusy if another
    process holds the lock and `access` allows no waiting.
    """
    may_wait = access() is Access.COMPILE
    collecting = contextlib.nullcontext() if is_shared else _few_collections()
    with open(folder / f"{scope}.lock", "a+b") as file, collecting:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            while True:
                try:
                    msvcrt.locking(
                        file.fileno(), msvcrt.LK_LOCK if may_wait else msvcrt.LK_NBLCK, 1
                    )
                    break
                except OSError as error:  # LK_LOCK gives up after ten seconds
                    if not may_wait:
                        raise CacheBusy(f"another process holds the lock of {scope}") from error
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
            try:
                fcntl.flock(file, kind if may_wait else kind | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CacheBusy(f"another process holds the lock of {scope}") from error
            yield


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Makes garbage collections rare until the block ends."""
    before = gc.get_threshold()
    gc.set_threshold(*COMPILING_GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


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
    folder, tag = code_folder(), tag_of(game_id, digest)
    with locked(folder, game_id):
        content = _read_seal(folder, tag)
        _write_seal(folder, tag, {**content, READY: sorted({*content.get(READY, ()), step})})


def is_ready(game_id: str, digest: str, step: str) -> bool:
    """True if the cache has recorded all code of a step as complete; loading checks the files."""
    return step in _read_seal(code_folder(), tag_of(game_id, digest)).get(READY, ())


def forget_ready(game_id: str, digest: str, step: str) -> None:
    """Records that the cache does not hold all code of a step, because it could not be loaded.

    Without its search a version has no use, so its files go. Raises CacheBusy if another process
    holds the lock and `access` allows no waiting.
    """
    folder, tag = code_folder(), tag_of(game_id, digest)
    with locked(folder, game_id):
        if step == "search":
            discard(folder, tag)
            return
        content = _read_seal(folder, tag)
        ready = [known for known in content.get(READY, ()) if known != step]
        _write_seal(folder, tag, {**content, READY: ready})


def code_files(folder: Path, tag: str) -> list[Path]:
    """The cache files of one version of a game."""
    return sorted(folder.glob(f"*/*.{tag}-*.nb[ci]"))


def discard(folder: Path, tag: str) -> None:
    """Removes one version of a game from the cache."""
    for path in [*code_files(folder, tag), _seal_path(folder, tag)]:
        path.unlink(missing_ok=True)


def is_intact(folder: Path, tag: str) -> bool:
    """True if a version has files, and they are as its seal says."""
    files = code_files(folder, tag)
    return bool(files) and _read_seal(folder, tag).get("files") == _checksums(files)


def discard_damaged(folder: Path, tag: str) -> bool:
    """Removes a version whose files differ from its seal; True if it has removed one.

    Call it under the lock.
    """
    if not code_files(folder, tag) or is_intact(folder, tag):
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
    _replace_json(_seal_path(folder, tag), content)


def _replace_json(path: Path, content: dict[str, Any]) -> None:
    """Writes a file in one step: a reader sees the old content or the new one."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
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
