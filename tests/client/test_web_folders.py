"""The modules of the browser client (client/web) import each other in one direction."""

import posixpath
import re
from collections.abc import Iterator

import pytest

from server.web.client_files import (
    APP,
    EMBED,
    EMBED_MATCH,
    EMBED_MATCH_STYLE_SHEETS,
    EMBED_STYLE_SHEETS,
    PAGE_TABLE,
    PART_TABLE,
    client_folder,
)

FOLDER = client_folder()
#: A module that another one imports when it is loaded; not `import(…)`, and not JSDoc's `@import`.
STATIC = re.compile(r'^(?:import|\}|import .*) (?:from )?"(\.[^"]+)";$', re.MULTILINE)
#: A module that is loaded when it is needed.
DYNAMIC = re.compile(r'\bimport\("([^"]+)"\)')
#: A style sheet in the table of pages.
STYLE_SHEET = re.compile(r'"([^"]+\.css)"')
#: The folders of the glass box, from the top.
GLASS = {"glass/viewer", "glass/drawing", "glass/text", "glass/trace"}
#: What every page may import besides its own folder.
PARTS = {"lesson", *GLASS, "ui", "board", "shell"}
#: The folders, and those of whose modules each may import, at once or later. The start of the app,
#: main.js, is the only way to the table of pages, and the table is the only way to a page.
MAY_IMPORT = {
    "main.js": {"pages.js", "shell"},
    "pages.js": {f"pages/{path.name}" for path in (FOLDER / "pages").iterdir()},
    "shell": {"shell"},
    "board": {"board", "shell"},
    "ui": {"ui", "board", "shell"},
    "glass/trace": {"glass/trace", "shell"},
    "glass/text": {"glass/text", "glass/trace", "shell"},
    "glass/drawing": {"glass/drawing", "glass/text", "glass/trace", "shell"},
    "glass/viewer": {*GLASS, "ui", "board", "shell"},
    "lesson": {"lesson", *GLASS, "ui", "board", "shell"},
}
#: A comparison of the text that a key types with a letter.
TYPED_LETTER = re.compile(r'\bevent\.key === "[A-Za-z]"|\.includes\(event\.key\)')
SOURCES = {
    path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in FOLDER.rglob("*.js")
}


def imports(name: str, source: str, pattern: re.Pattern[str] = STATIC) -> list[str]:
    """The paths of the modules that a module imports."""
    folder = posixpath.dirname(name)
    return [posixpath.normpath(posixpath.join(folder, path)) for path in pattern.findall(source)]


def folder_of(name: str) -> str:
    """The top folder of a module; for a module of a page or of the glass box the one below it."""
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in ("pages", "glass") else parts[0]


def all_imports(name: str, source: str) -> list[str]:
    """The paths of the modules that a module imports, at once or later."""
    return imports(name, source) + imports(name, source, DYNAMIC)


def circles(sources: dict[str, str]) -> Iterator[list[str]]:
    """Yields the modules of each circle of imports, at once or later, in the order of imports.

    Of circles that share modules it yields at least one.
    """
    done: set[str] = set()

    def walk(name: str, importers: list[str]) -> Iterator[list[str]]:
        if name in importers:
            yield importers[importers.index(name) :]
        elif name not in done:
            for target in all_imports(name, sources.get(name, "")):
                yield from walk(target, [*importers, name])
            done.add(name)

    for name in sources:
        yield from walk(name, [])


def wrong_imports(sources: dict[str, str]) -> Iterator[str]:
    """Yields each import that points to a folder whose modules may not be imported there."""
    for name, source in sources.items():
        folder = folder_of(name)
        allowed = MAY_IMPORT.get(folder, {folder, *PARTS})
        for target in all_imports(name, source):
            if folder_of(target) not in allowed:
                yield f"{name} imports {target}"


def test_folders_import_in_one_direction() -> None:
    """No page imports from another page's folder; shell, board and ui import no page."""
    assert len(SOURCES) > 20
    assert list(wrong_imports(SOURCES)) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("pages/room/page.js", 'import { drawMatch } from "../replays/page.js";\n'),
        ("shell/app.js", 'import {\n    LobbyPage,\n} from "../pages/lobby/page.js";\n'),
        ("shell/app.js", 'import "../board/board.js";\n'),
        ("shell/router.js", 'import { PAGES } from "../pages.js";\n'),
        ("pages.js", 'import { x } from "./ui/table.js";\n'),
        ("shell/frame.js", 'const help = await import("../ui/help.js");\n'),
        ("ui/table.js", 'import { x } from "../pages/room/descriptions.js";\n'),
        ("ui/thinking.js", 'import { x } from "../glass/viewer/viewer.js";\n'),
        ("glass/viewer/viewer.js", 'import { x } from "../../pages/glass/page.js";\n'),
        ("glass/text/facts.js", 'import { x } from "../drawing/shown-nodes.js";\n'),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(name: str, source: str) -> None:
    assert len(list(wrong_imports({name: source}))) == 1


def test_no_module_imports_itself_through_others() -> None:
    """There is no circle of imports, neither of those at once nor of those later."""
    assert list(circles(SOURCES)) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("shell/style-sheets.js", 'import { PAGES } from "../pages.js";\n'),
        ("ui/players.js", 'import {\n    drawTable,\n} from "./table.js";\n'),
        ("board/pieces.js", 'const board = await import("./board.js");\n'),
        ("shell/words.js", 'import { x } from "./words.js";\n'),
    ],
)
def test_a_circle_is_found(name: str, line: str) -> None:
    """One import back makes a circle with the modules that lead to it."""
    found = list(circles(SOURCES | {name: line + SOURCES[name]}))
    assert found
    assert all(name in circle for circle in found)


def test_every_import_is_found_and_its_module_exists() -> None:
    """All modules but a few are reached from the app, or from a lesson or a match in a frame."""
    reached: set[str] = set()
    waiting = [APP, EMBED, EMBED_MATCH]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            source = SOURCES[name]
            waiting += all_imports(name, source)
    assert reached == SOURCES.keys() - {"shell/theme-early.js"}


def test_every_style_sheet_is_loaded() -> None:
    """Each style sheet is in the table of pages or of a page's parts, in the HTML page or in that
    of a frame, or a module loads it by name.
    """
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.css")}
    later = re.findall(r'loadStyleSheet\("([^"]+\.css)"\)', "\n".join(SOURCES.values()))
    html = re.findall(r'"\{\{base\}\}/([^"]+\.css)"', (FOLDER / "index.html").read_text("utf-8"))
    tables = [name for name in SOURCES if posixpath.basename(name) in (PAGE_TABLE, PART_TABLE)]
    pages = [sheet for name in tables for sheet in STYLE_SHEET.findall(SOURCES[name])]
    assert files == {*html, *later, *pages, *EMBED_STYLE_SHEETS, *EMBED_MATCH_STYLE_SHEETS}


def test_letters_of_shortcuts_are_those_of_the_key() -> None:
    """No handler compares what a key types with a letter, which other layouts do not have."""
    assert TYPED_LETTER.search('if (event.key === "f")')
    assert not [name for name, source in SOURCES.items() if TYPED_LETTER.search(source)]
