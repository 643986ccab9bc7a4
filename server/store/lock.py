"""The lock on a data folder: two servers on the same folder would both serve its rooms."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from server.address_file import IN_USE
from server.store.base import StoreUnavailable
from server.store.folder import make_file, make_folder, others_may_read

log = structlog.get_logger()

#: The lock file in the data folder; it holds the server's process id.
LOCK_FILE = "plyroom.lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Locks the folder until the block or the process ends.

    Raises StoreUnavailable if another server holds the lock.
    """
    try:
        existed = make_folder(folder)
        make_file(folder / LOCK_FILE)
        file = (folder / LOCK_FILE).open("a+")
    except OSError as error:
        raise StoreUnavailable(f"cannot use the data folder {folder}: {error.strerror}") from error
    if existed and others_may_read(folder):
        cure = f"chmod 700 {shlex.quote(str(folder))}"
        log.warning(
            "others may read the data folder",
            folder=str(folder),
            cure=cure,
            sentence="Other users of this machine can read the data folder. To prevent it:\n"
            f"  {cure}",
        )
    with file:
        try:
            _lock(file.fileno())
        except OSError as error:
            file.seek(0)
            holder = file.read(40).strip() or "unknown"
            raise StoreUnavailable(
                f"{IN_USE} (process {holder}) uses the data folder {folder}; choose another: --data"
            ) from error
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


if os.name == "nt":
    import msvcrt

    def _lock(descriptor: int) -> None:
        # A Windows lock also prevents reading, so lock a byte far behind the process id.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
