"""Folders and files that only their owner may read, for private messages and token hashes."""

import os
import stat
from pathlib import Path

#: The mode bits of all users but the owner.
OTHERS_RIGHTS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path) -> bool:
    """Makes a folder and its missing parents, for their owner only. Returns whether it existed.

    An existing folder is not changed. Raises OSError when the folder cannot be made.
    """
    for missing in reversed([folder, *folder.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)
            if missing == folder:
                return False
    folder.mkdir(exist_ok=True)  # FileExistsError where a file has that name
    return True


def make_file(path: Path) -> None:
    """Makes an empty file, for its owner only, unless it exists.

    SQLite gives its WAL and other side files the same rights.
    """
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def others_may_read(folder: Path) -> bool:
    """Whether other users of this machine may read the folder.

    Always False on Windows, where the mode does not show the rights.
    """
    return os.name == "posix" and bool(
        folder.stat().st_mode & OTHERS_RIGHTS & ~(stat.S_IWGRP | stat.S_IWOTH)
    )
