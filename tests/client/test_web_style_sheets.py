"""The style sheets of a page leave the other pages alone: a sheet stays when its page is left."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache

import pytest

from server.web.client_files import APP
from tests.client.test_web_folders import FOLDER, SOURCES, STYLE_SHEET, all_imports

#: The style sheets of pages and their parts; those of boards belong to boards wherever they are.
SHEETS = {
    path.relative_to(FOLDER).as_posix(): path.read_text("utf-8")
    for name in ("glass", "lesson", "pages", "ui")
    for path in (FOLDER / name).rglob("*.css")
}
#: The module of each page in the table of pages, and the style sheets beside it.
PAGES = dict(re.findall(r'import\("\./([^"]+)"\).*?\n\s*\[(.*?)\]', SOURCES["pages.js"], re.DOTALL))
#: The value of a class: a text, a list, or a condition with some; and the texts in it.
CLASS = re.compile(
    r"\bclass: (\[[^\]]*\]|[^,{}]*(?:\$\{[^}]*\}[^,{}]*)*)|\bclass(?:Name = |List\.\w+\()(.*)"
)
TEXT = re.compile(r'"([^"]*)"|`([^`]*)`')
WORD = re.compile(r"(?<![\w${.])[a-z][\w-]*(?![\w(}.])")
#: An element or an id that a module draws.
DRAWN = re.compile(r'\b(?:h|createElement)\(\s*"([a-z0-9-]+)"|\bid: "([a-z-]+)"')
#: A comment of a style sheet.
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: What is before a block: the selectors of a rule, unless it begins with "@".
HEAD = re.compile(r"([^{};]+)\{")
#: A comma between selectors, not within parentheses.
COMMA = re.compile(r",(?![^(]*\))")
#: A pseudo-class with selectors that has no other one within it.
INNER = re.compile(r":([a-z-]+)\(([^()]*)\)")
#: What a selector says besides names.
REST = re.compile(r"::?[a-z-]+|\[[^\]]*\]")
NAME = re.compile(r"[.#]?[a-z][\w-]*")
#: A dialog by its name: no other page has it.
OWN_DIALOG = re.compile(r" *dialog\.(?!window)")
#: Elements that are on every page.
ALWAYS = {"html", "body"}


def alternatives(selectors: str) -> Iterator[str]:
    """Each selector of a list, without pseudo-classes that have selectors: of `:is`, `:where` and
    `:has` with each that they allow.
    """
    inner = INNER.search(selectors)
    if inner is None:
        yield from COMMA.split(selectors)
        return
    before, after = selectors[: inner.start()], selectors[inner.end() :]
    positive = inner[1] in ("is", "where", "has")
    for part in COMMA.split(inner[2]) if positive else [""]:
        yield from alternatives(f"{before} {part} {after}" if positive else before + after)


def selectors_of(sheet: str) -> Iterator[str]:
    """The selectors of each rule of a style sheet."""
    for head in HEAD.findall(COMMENT.sub("", sheet)):
        selectors = " ".join(head.split())
        if not selectors.startswith("@"):
            yield selectors


@cache
def modules_of(page: str) -> frozenset[str]:
    """The modules that a page loads, at once or later, and those of the shell."""
    reached: set[str] = set()
    waiting = [page, *all_imports(APP, SOURCES[APP])]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            if name != "pages.js":
                waiting += all_imports(name, SOURCES[name])
    return frozenset(reached - {"pages.js"})


@cache
def names_on(page: str) -> frozenset[str]:
    """The classes, elements and ids that may stand on a page, as selectors name them."""
    source = "\n".join(SOURCES[name] for name in modules_of(page))
    values = " ".join(value for pair in CLASS.findall(source) for value in pair)
    texts = " ".join(text for pair in TEXT.findall(values) for text in pair)
    classes = {f".{word}" for word in WORD.findall(texts)}
    drawn = {name for tag, id in DRAWN.findall(source) for name in (tag, id and f"#{id}") if name}
    return frozenset(classes | drawn | ALWAYS)


@cache
def sheets_of(page: str) -> frozenset[str]:
    """The style sheets that a page loads, at once or later."""
    source = PAGES[page] + "\n".join(SOURCES[name] for name in modules_of(page))
    return frozenset(STYLE_SHEET.findall(source))


def leaks(sheets: dict[str, str]) -> Iterator[str]:
    """Yields each selector that may match on a page that does not load its style sheet."""
    for sheet, text in sheets.items():
        others = [page for page in PAGES if sheet not in sheets_of(page)]
        for selectors in selectors_of(text):
            for selector in alternatives(selectors):
                names = set(NAME.findall(REST.sub("", selector)))
                for page in others:
                    if names <= names_on(page) and not OWN_DIALOG.match(selector):
                        yield f"{sheet}: {selector.strip()} ({posixpath.dirname(page)})"


def test_style_sheets_leave_other_pages_alone() -> None:
    """No rule of a page's style sheets may match on a page that does not load them: its selector
    names a class that only its own pages have.
    """
    assert list(leaks(SHEETS)) == []


@pytest.mark.parametrize(
    ("sheet", "selector", "page"),
    [
        ("lesson/lesson.css", ".runs", "pages/room"),
        ("pages/lesson/practice.css", ".chat, .answer", "pages/room"),
        ("pages/lobby/lobby.css", ".play", "pages/glass"),
        ("ui/match.css", ".share input", "pages/lesson"),
        ("pages/replay/print.css", ":root", "pages/lobby"),
        ("ui/clock/clock.css", ".face:not(.move-card):is(.no-such, .low)", "pages/lobby"),
    ],
)
def test_a_rule_that_matches_on_another_page_is_found(sheet: str, selector: str, page: str) -> None:
    found = list(leaks({sheet: f"@media print {{\n    {selector} {{ gap: 1px; }} }}"}))
    assert any(leak.startswith(sheet) and leak.endswith(f"({page})") for leak in found)
