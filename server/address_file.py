"""The file in a data folder that says where its server is, for commands on the same machine."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

#: The file beside the lock in the data folder: a line with the address, one with the installation.
ADDRESS_FILE = "plyroom.address"
#: The beginning of the reason why a server does not start on a folder that another one uses.
IN_USE = "another Plyroom server"
#: What a server prints that `--until-eof` does not stop, because others are connected.
STAYING = "Others are connected: the server stops when they have left."
#: Maximum length of the file, in characters.
MAX_CHARACTERS = 500
_CONTENT = re.compile(r"(https?://[^\s/]+)\n([0-9a-f]{16})\n")


class ServerAddress(NamedTuple):
    """The address of a server on this machine, and the id of its installation."""

    url: str
    installation: str


@contextmanager
def announced_address(folder: Path, server: ServerAddress) -> Iterator[None]:
    """Writes the file until the block ends. A server that is killed leaves it behind.

    Raises OSError.
    """
    path = folder / ADDRESS_FILE
    handle, temporary = tempfile.mkstemp(dir=folder)  # readable by its owner only
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{server.url}\n{server.installation}\n")
    os.replace(temporary, path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def read_address(folder: Path) -> ServerAddress | None:
    """Reads the file; None without one, and for any other content.

    It proves nothing: the server there may have ended. Ask it for its installation.
    """
    try:
        with (folder / ADDRESS_FILE).open(encoding="ascii") as file:
            found = _CONTENT.fullmatch(file.read(MAX_CHARACTERS))
    except (OSError, ValueError):
        return None
    return None if found is None else ServerAddress(found[1], found[2])
