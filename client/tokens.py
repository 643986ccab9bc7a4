"""Stores the secret tokens that identify this user to servers, in a file for the user only."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from client.address import Address

#: Tokens by server (`installation_key`), then by the user's requested name ("" for none).
Tokens = dict[str, dict[str, str]]


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for Plyroom's state: in $XDG_STATE_HOME or its equivalent on this system."""
    if environ.get("XDG_STATE_HOME"):
        return Path(environ["XDG_STATE_HOME"]) / "plyroom"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "plyroom"
    return Path(environ.get("HOME") or Path.home()) / ".local" / "state" / "plyroom"


def installation_key(installation: str, address: Address) -> str:
    """The key of a server in the token file: its installation and its host, without the port.

    The host is part of it, as it is of a browser's cookie: a server that only claims to be another
    installation gets none of its tokens. All names of this machine itself are one host.
    """
    host = "localhost" if address.is_local else address.host
    return f"{installation} {address.scheme}://{host}"


class GuestTokens:
    """The tokens of one guest at a server: that of its `key`, and that of its key in earlier
    versions, which is read, but never written: it may belong to another server.

    Without a key there is none, and none is kept.
    """

    def __init__(
        self, file: "TokenFile", key: str | None, old_key: str | None, name: str | None
    ) -> None:
        self._file = file
        self._key = key
        self._name = name
        keys = [each for each in (key, old_key) if each is not None]
        found = [file.find(each, name) for each in keys]
        #: The tokens to try, in this order.
        self.known = tuple(dict.fromkeys(token for token in found if token is not None))

    def keep(self, token: str) -> None:
        """Stores the guest's token; raises OSError when writing fails."""
        if self._key is not None and self._file.find(self._key, self._name) != token:
            self._file.store(self._key, self._name, token)


class TokenFile:
    """A JSON file of tokens.

    A file that cannot be read counts as empty: its tokens are lost, and the servers create new
    guests.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def find(self, server: str, name: str | None) -> str | None:
        """Returns the token for a server and a name, or None."""
        return self._read().get(server, {}).get(name or "")

    def store(self, server: str, name: str | None, token: str) -> None:
        """Stores a token and replaces an earlier one; raises OSError when writing fails."""
        tokens = self._read()
        tokens.setdefault(server, {})[name or ""] = token
        self._write(tokens)

    def _read(self) -> Tokens:
        try:
            content = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(content, dict):
            return {}
        return {
            str(server): {str(name): str(token) for name, token in names.items()}
            for server, names in content.items()
            if isinstance(names, dict)
        }

    def _write(self, tokens: Tokens) -> None:
        """Replaces the file atomically: after a crash it is the old file or the new one."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self._path.parent)  # mkstemp sets mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(tokens, file, indent=1)
            os.replace(temporary, self._path)
        except BaseException:
            os.unlink(temporary)
            raise
