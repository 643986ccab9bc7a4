"""The browser client's files: their contents as they are sent, and what each page needs.

Modules and style sheets are sent without comments and indentation, and the modules of a folder in
one file.
"""

import hashlib
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from server.web.bundles import Bundles

#: MIME types by suffix. The machine's own table may be missing or wrong.
MIME = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".json": "application/json", ".png": "image/png", ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon", ".txt": "text/plain",
}  # fmt: skip
#: The module that starts the app; it imports the shell and the table of pages.
APP = "main.js"
#: The module that starts a lesson in a frame of another page, and its style sheets.
EMBED = "embed/app.js"
EMBED_STYLE_SHEETS = (
    *("shell/base.css", "glass/drawing/glass.css", "glass/viewer/viewer.css"),
    *("lesson/lesson.css", "embed/embed.css"),
)
#: The same of a match in a frame.
EMBED_MATCH = "embed-match/app.js"
EMBED_MATCH_STYLE_SHEETS = ("shell/base.css", "board/board.css", "embed-match/embed.css")
#: The module with the table of pages.
PAGE_TABLE = "pages.js"
#: The module beside a page's own with the table of its parts, if it has one.
PART_TABLE = "later.js"

#: A JSDoc cast in front of an expression.
_CAST = re.compile(r"/\*\* @type \{[^\n]*?\} \*/ ?")
#: A comment that takes whole lines.
_COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.MULTILINE | re.DOTALL)
#: An entry of the table of pages: its path, its module and its style sheets.
_PAGE = re.compile(
    r"^\[\s*/\^(?P<path>.+)\$/,\s*"
    r'async \(\) => \(await import\("\./(?P<module>[^"]+)"\)\)\.\w+,\s*'
    r"\[(?P<style_sheets>[^\]]*)\](?:,\s*\[(?P<requests>[^\]]*)\])?,?\s*\],$",
    re.MULTILINE,
)
#: An entry of the table of a page's parts: its name, its module, and what else it loads.
_PART = re.compile(
    r'^(?P<name>\w+): \(\) => load\(import\("\./(?P<module>[^"]+)"\)(?P<others>.*)\),$',
    re.MULTILINE,
)
#: A style sheet in an entry.
_STYLE_SHEET = re.compile(r'"([^"]+\.css)"')


class ClientPart(Struct, frozen=True):
    """A part of a page that not every address of it needs: its files of modules beyond those of
    the page, and its style sheets.
    """

    modules: tuple[str, ...]
    style_sheets: tuple[str, ...]


class ClientPage(Struct, frozen=True):
    """A page: its path as a regular expression, its bundles of modules, its style sheets, the
    paths that it requests at once, and its parts by name.
    """

    path: str
    bundles: tuple[str, ...]
    style_sheets: tuple[str, ...]
    requests: tuple[str, ...]
    parts: dict[str, ClientPart] = {}


class ClientFiles:
    """The client's files, read once: a running server never mixes two versions.

    Raises ValueError if the table of pages or a module has an unknown form.
    """

    def __init__(self, folder: Path) -> None:
        read = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in MIME
        }
        modules = {name: body.decode() for name, body in read.items() if name.endswith(".js")}
        table = _read_table(modules[PAGE_TABLE])
        bundles = Bundles(modules, [APP, EMBED, EMBED_MATCH, *(entry["module"] for entry in table)])
        self.contents = {name: body for name, body in read.items() if name not in modules}
        self.contents |= {name: text.encode() for name, text in bundles.files().items()}
        self.pages = tuple(
            ClientPage(
                entry["path"].replace(r"\/", "/"),
                bundles.needed_by(APP, entry["module"]),
                _strings(entry["style_sheets"]),
                _strings(entry["requests"] or ""),
                _read_parts(entry["module"], modules, bundles),
            )
            for entry in table
        )
        #: The pages of a lesson and of a match in a frame, which are not in the table.
        self.embed = ClientPage(
            "/embed/learn/{id}", bundles.needed_by(EMBED), EMBED_STYLE_SHEETS, ()
        )
        self.embed_match = ClientPage(
            "/embed/match/{id}", bundles.needed_by(EMBED_MATCH), EMBED_MATCH_STYLE_SHEETS, ()
        )
        digest = hashlib.blake2b(digest_size=6)
        for name, content in sorted(self.contents.items()):
            digest.update(name.encode() + b"\0" + content)
        self.version = digest.hexdigest()


def _read_table(text: str) -> list[re.Match[str]]:
    """The entries of the client's table of pages. Raises ValueError if one cannot be read."""
    entries = list(_PAGE.finditer(text))
    if not entries or len(entries) != text.count("import("):
        raise ValueError(f"{PAGE_TABLE} has an entry in an unknown form")
    return entries


def _read_parts(page: str, modules: Mapping[str, str], bundles: Bundles) -> dict[str, ClientPart]:
    """The parts of a page, from the table beside its module. Raises ValueError if one entry cannot
    be read.
    """
    folder = posixpath.dirname(page)
    text = modules.get(f"{folder}/{PART_TABLE}", "")
    entries = list(_PART.finditer(text))
    if len(entries) != text.count("load(import("):
        raise ValueError(f"{folder}/{PART_TABLE} has an entry in an unknown form")
    loaded = bundles.needed_by(APP, page)
    return {
        entry["name"]: ClientPart(
            tuple(
                name
                for name in bundles.needed_by(f"{folder}/{entry['module']}")
                if name not in loaded
            ),
            tuple(_STYLE_SHEET.findall(entry["others"])),
        )
        for entry in entries
    }


def _strings(text: str) -> tuple[str, ...]:
    """The strings in double quotes in a piece of JavaScript."""
    return tuple(re.findall(r'"([^"]+)"', text))


@cache
def read_client(folder: Path) -> ClientFiles:
    """The client's files in a folder, as this process read them first."""
    return ClientFiles(folder)


def client_folder() -> Path:
    """The folder of the browser client."""
    return Path(str(files("client"))) / "web"


def shorten(text: str) -> str:
    """A module or a style sheet without lines of comments, casts, blank lines and indentation."""
    lines = (line.strip() for line in _CAST.sub("", _COMMENT.sub("", text)).split("\n"))
    return "\n".join([line for line in lines if line])


def _read(path: Path) -> bytes:
    """The content of a file; modules and style sheets are shortened."""
    content = path.read_bytes()
    if path.suffix in (".js", ".css"):
        return shorten(content.decode()).encode()
    return content
