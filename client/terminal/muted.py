"""The people whose lines of chat this user hides, in a file. Nobody else learns of it."""

import json
from pathlib import Path


class MutedFile:
    """A JSON list of identities. A file that cannot be read or written counts as empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identities = _read(path)

    def __contains__(self, identity: str) -> bool:
        return identity in self._identities

    def add(self, identity: str) -> None:
        """Mutes a person."""
        self._identities.add(identity)
        self._write()

    def remove(self, identity: str) -> None:
        """Shows again what a person writes."""
        self._identities.discard(identity)
        self._write()

    def _write(self) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.write_text(json.dumps(sorted(self._identities)), "utf-8")
        except OSError:
            return  # the list then lasts as long as the program


def _read(path: Path) -> set[str]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return set()
    return {str(each) for each in content} if isinstance(content, list) else set()
