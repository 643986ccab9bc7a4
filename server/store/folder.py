"""Folders and files that only their owner may read: they hold what was said in private, and tokens'
hashes.
"""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path) -> bool:
    """Makes a folder, and those above it that are missing, for their owner only; returns whether it
    was there.

    A folder that was there is left as it is. OSError when it cannot be made.
    """
    for missing in reversed([folder, *folder.parents]):
        if not missing.exists():
            missing.mkdir(mode=0o700, exist_ok=True)
            if missing == folder:
                return False
    folder.mkdir(exist_ok=True)  # FileExistsError where a file has that name
    return True


def make_file(path: Path) -> None:
    """Makes an empty file for its owner only, if there is none: SQLite gives its other files the
    same rights.
    """
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def others_may_read(folder: Path) -> bool:
    """Whether somebody else on this machine may; on Windows rights are not told by mode, and nobody
    knows.
    """
    return os.name == "posix" and bool(
        folder.stat().st_mode & OTHERS & ~(stat.S_IWGRP | stat.S_IWOTH)
    )
