"""The browser client's files: their contents as they are sent, and what each page needs.

A file is sent without its comments. Blank lines take their place, so line numbers stay the same.
"""

import hashlib
import posixpath
import re
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

#: MIME types by suffix. The machine's own table may be missing or wrong.
MIME = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".json": "application/json", ".png": "image/png", ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon", ".txt": "text/plain",
}  # fmt: skip
#: The module that starts the app; it imports the shell.
APP = "shell/app.js"
#: The module with the table of pages.
PAGE_TABLE = "pages.js"

#: A comment that takes whole lines. A JSDoc cast in front of an expression stays.
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.MULTILINE | re.DOTALL)
#: A module that another one imports when it is loaded; not `import(…)`, and not JSDoc's `@import`.
_IMPORT = re.compile(r'^(?:import|\}|import .*) (?:from )?"(\.[^"]+)";$', re.MULTILINE)
#: An entry of the table of pages: its path, its module and its style sheets.
_PAGE = re.compile(
    r"^    \[\s*/\^(?P<path>.+)\$/,\s*"
    r'async \(\) => \(await import\("\./(?P<module>[^"]+)"\)\)\.\w+,\s*'
    r"\[(?P<style_sheets>[^\]]*)\],\s*\],$",
    re.MULTILINE,
)


class ClientPage(Struct, frozen=True):
    """A page: its path as a regular expression, its modules and its style sheets.

    `modules` are those that are loaded with the page, the shell's first.
    """

    path: str
    modules: tuple[str, ...]
    style_sheets: tuple[str, ...]


class ClientFiles:
    """The client's files, read once: a running server never mixes two versions."""

    def __init__(self, folder: Path) -> None:
        self.contents = {
            path.relative_to(folder).as_posix(): _as_sent(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in MIME
        }
        digest = hashlib.blake2b(digest_size=6)
        for name, content in self.contents.items():
            digest.update(name.encode() + b"\0" + content)
        self.version = digest.hexdigest()
        self.pages = tuple(self._pages())

    def modules_of(self, *modules: str) -> tuple[str, ...]:
        """These modules and all that are loaded with them, those that are nearest first."""
        found = dict.fromkeys(modules)
        waiting = list(modules)
        while waiting:
            name = waiting.pop(0)
            new = [path for path in self._imports(name) if path not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return tuple(found)

    def _imports(self, module: str) -> list[str]:
        folder = posixpath.dirname(module)
        text = self.contents[module].decode()
        return [posixpath.normpath(posixpath.join(folder, path)) for path in _IMPORT.findall(text)]

    def _pages(self) -> list[ClientPage]:
        """The pages of the client's table. Raises ValueError if an entry cannot be read."""
        text = self.contents[PAGE_TABLE].decode()
        pages = [
            ClientPage(
                entry["path"].replace(r"\/", "/"),
                self.modules_of(APP, entry["module"]),
                tuple(re.findall(r'"([^"]+)"', entry["style_sheets"])),
            )
            for entry in _PAGE.finditer(text)
        ]
        if not pages or len(pages) != text.count("import("):
            raise ValueError(f"{PAGE_TABLE} has an entry in an unknown form")
        return pages


def client_folder() -> Path:
    """The folder of the browser client."""
    return Path(str(files("client"))) / "web"


def _as_sent(path: Path) -> bytes:
    """The content of a file, for modules and style sheets without comments."""
    content = path.read_bytes()
    if path.suffix not in (".js", ".css"):
        return content
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), content.decode()).encode()
