"""The links between pages lead to existing targets, and the tests that the pages name exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")
TEST = re.compile(r"\b(tests/[\w/]+\.py)::(\w+)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
#: Pages whose sentences come from docstrings and tables in the code.
GENERATED = ("protocol.md", "levels.md", "ablations.md")
page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def _anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings: lower case, no punctuation, hyphens for spaces."""
    headings = HEADING.findall(CODE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@page
def test_every_relative_link_has_a_target(page: Path) -> None:
    """Each relative link names a file or folder that exists, and each anchor a heading of it."""
    wrong = []
    for link in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            wrong.append(link)
    assert not wrong


def test_every_page_is_on_the_shelves() -> None:
    """docs/README.md has a link to every page of the documentation, and so to each new one."""
    shelves = ROOT / "docs/README.md"
    linked = {
        (shelves.parent / link.partition("#")[0]).resolve()
        for link in LINK.findall(shelves.read_text("utf-8"))
    }
    assert [
        page for page in PAGES if page.parent.parent == shelves.parent and page not in linked
    ] == []


@page
def test_every_named_test_exists(page: Path) -> None:
    """Each `tests/…::name` on a page is a test function of that file."""
    named = TEST.findall(page.read_text("utf-8"))
    assert not [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).exists() or name not in _functions(ROOT / file)
    ]


def test_every_guarantee_names_a_test() -> None:
    """Each row of a table of docs/reference/guarantees.md names at least one test."""
    text = (ROOT / "docs/reference/guarantees.md").read_text("utf-8")
    rows = [row for row in re.findall(r"^\|.*\|$", text, re.MULTILINE) if "|---" not in row]
    assert len(rows) > 20
    assert not [row for row in rows if not TEST.search(row) and not row.startswith("| promise")]


@page
def test_lines_of_prose_have_at_most_100_columns(page: Path) -> None:
    """Generated pages, tables, code and lines with a link may be longer."""
    text = page.read_text("utf-8")
    if page.name in GENERATED:
        return
    assert not [
        line
        for line in CODE.sub("", text).splitlines()
        if len(line) > 100 and not line.startswith(("|", "    ")) and "](" not in line
    ]
