"""Writes the files that are made from the lessons.

    python -m engine.reference.lessons client/web/pages/learn/pictures

writes the small picture of each lesson into that folder, beside the lessons the documents of those
that are stored, and for the client the words that lessons define. Tests compare all of them with
the searches. A picture is a searched tree without
text: MAX points up, MIN down, a cross is a cut-off.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from engine.teach.lessons import document
from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.document import (
    STORED_FILE,
    StoredLesson,
    lesson_document,
    quiz_document,
)
from engine.teach.lessons.words import WORDS, definition_of
from engine.teach.output.snapshot import Snapshot, snapshot
from engine.teach.trace import Trace

#: The module of the client with the words, and how it begins.
WORDS_FILE = "glass/text/words.js"
WORDS_HEAD = (
    "// Written by `python -m engine.reference.lessons`: the words of the founding texts, each",
    "// with the lesson that defines it and the sentence.",
    "",
    "/** @type {Record<string, [string, string]>} */",
    "export const WORDS = {",
)
#: The width and the height of a picture.
WIDTH, HEIGHT = 240, 132
#: The margin around the tree.
MARGIN = 12
#: Maximum number of children that a node of a picture has; further ones are left out.
MAX_CHILDREN = 9
#: Maximum number of leaves of a picture; deeper levels are left out until the rest fits.
MAX_LEAVES = 27
#: The greatest distance from the middle of a shape to its side, in units of the picture.
LARGEST = 8.0
#: The least distance from the middle of a shape to its side, in units of the picture.
SMALLEST = 2.6
#: The colours, in the light theme and in the dark one.
STYLE = (
    ".e{stroke:#858f96;fill:none}.b{stroke:#14655b;stroke-width:2.6;fill:none}"
    ".x{stroke:#b3261a;fill:none;stroke-dasharray:3 2.5}"
    ".max{fill:#dbe8fb;stroke:#2b5fa8}.min{fill:#fbe5d8;stroke:#a9501f}"
    ".mean{fill:#fbf1c8;stroke:#7d6300}.p{fill:#ece4f8;stroke:#6a45a3}"
    ".leaf{fill:#fff;stroke:#59636a}.f{fill:#dfe3e5;stroke:#858f96}"
    "@media(prefers-color-scheme:dark){.e{stroke:#75828a}.b{stroke:#45b8a4}.x{stroke:#f28b80}"
    ".max{fill:#21364f;stroke:#7fb0ee}.min{fill:#4a2d20;stroke:#eda277}"
    ".mean{fill:#453a14;stroke:#dcc05a}.p{fill:#372c4b;stroke:#bb9fe8}"
    ".leaf{fill:#262d32;stroke:#a3afb6}.f{fill:#333b41;stroke:#75828a}}"
)


def lesson_picture(name: str) -> str:
    """Returns the picture of a lesson: its first search in which something is skipped.

    A lesson without such a search, and an exercise, show their first one.
    """
    traces = lesson_traces(name)
    is_exercise = bool(load_lesson(name).solution)
    cut = (trace for trace in traces if trace.skipped.parent and not is_exercise)
    return draw_picture(next(cut, traces[0]))


@dataclass(slots=True)
class _Item:
    """A node of the picture: its row (negative for a skipped child) and its children."""

    row: int
    kind: str
    children: "list[_Item]" = field(default_factory=list)
    #: Whether the search went on below, but the picture does not show it.
    is_folded: bool = False
    x: float = 0.0
    y: float = 0.0


def draw_picture(trace: Trace) -> str:
    """Returns a picture of a search as an SVG document of WIDTH by HEIGHT."""
    shown = snapshot(trace)
    depth = max(trace.nodes.depth)
    root = _item(shown, 0, depth)
    while depth > 1 and _leaf_count(root) > MAX_LEAVES:
        depth -= 1
        root = _item(shown, 0, depth)
    size = _place(root)
    best = _best_rows(shown)
    parts = [*_edges(root, best), *_shapes(root, size)]
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}><style>{STYLE}</style>'
    return "\n".join([head, *parts, "</svg>", ""])


def _item(shown: Snapshot, row: int, depth: int) -> _Item:
    """A node with its children down to a depth."""
    nodes = shown.trace.nodes
    item = _Item(row, nodes.kind[row])
    skipped = [] if nodes.reason[row] == "chosen" else shown.skipped_children(row)
    below = [*shown.entered_children(row), *(~index for index in skipped)]
    if nodes.depth[row] >= depth:
        item.is_folded = bool(below)
        return item
    for child in below[:MAX_CHILDREN]:
        item.children.append(_Item(child, "skipped") if child < 0 else _item(shown, child, depth))
    return item


def _leaf_count(item: _Item) -> int:
    return sum(map(_leaf_count, item.children)) or 1


def _walk(item: _Item) -> Iterator[_Item]:
    yield item
    for child in item.children:
        yield from _walk(child)


def _levels(item: _Item) -> int:
    return 1 + max(map(_levels, item.children), default=0)


def _place(root: _Item) -> float:
    """Sets the places of all nodes; returns half the width of a shape."""
    slot = (WIDTH - 2 * MARGIN) / _leaf_count(root)
    level = (HEIGHT - 2 * MARGIN) / max(1, _levels(root) - 1)

    def place(item: _Item, left: float, y: float) -> float:
        """Places an item with its left end at `left`; returns its right end."""
        item.y = y
        right = left
        for child in item.children:
            right = place(child, right, y + level)
        item.x = (
            (item.children[0].x + item.children[-1].x) / 2 if item.children else left + slot / 2
        )
        return right if item.children else left + slot

    place(root, MARGIN, MARGIN)
    return max(SMALLEST, min(LARGEST, slot * 0.4))


def _best_rows(shown: Snapshot) -> set[int]:
    """The rows along the principal variation."""
    row, rows = 0, {0}
    for move in shown.trace.line:
        children = shown.entered_children(row)
        row = next((child for child in children if shown.trace.nodes.move[child] == move), -1)
        if row < 0:
            break
        rows.add(row)
    return rows


def _edges(root: _Item, best: set[int]) -> Iterator[str]:
    for item in _walk(root):
        for child in item.children:
            kind = "x" if child.row < 0 else "b" if child.row in best else "e"
            line = f"M{item.x:.1f} {item.y:.1f}L{child.x:.1f} {child.y:.1f}"
            yield f'<path class="{kind}" d="{line}"/>'


def _shapes(root: _Item, size: float) -> Iterator[str]:
    for item in _walk(root):
        half = min(LARGEST, size * (1.5 if item.children else 1.0))
        yield _shape(item, half)


def _shape(item: _Item, half: float) -> str:
    """MAX points up, MIN down, chance is round, a leaf is a box; a folded part hangs below."""
    x, y = item.x, item.y
    tall = half * 0.9
    if item.kind == "skipped":
        return (
            f'<path class="x" d="M{x - half:.1f} {y - half:.1f}l{2 * half:.1f} {2 * half:.1f}'
            f'm0 {-2 * half:.1f}l{-2 * half:.1f} {2 * half:.1f}"/>'
        )
    fold = ""
    if item.is_folded:
        fold = (
            f'<path class="f" d="M{x:.1f} {y:.1f}l{half:.1f} {1.3 * half:.1f}h{-2 * half:.1f}z"/>'
        )
    match item.kind:
        case "max":
            shape = f"M{x - half:.1f} {y + tall:.1f}h{2 * half:.1f}L{x:.1f} {y - tall:.1f}z"
        case "min":
            shape = f"M{x - half:.1f} {y - tall:.1f}h{2 * half:.1f}L{x:.1f} {y + tall:.1f}z"
        case "mean":
            return f'{fold}<circle class="mean" cx="{x:.1f}" cy="{y:.1f}" r="{half:.1f}"/>'
        case _:
            shape = f"M{x - half:.1f} {y - tall:.1f}h{2 * half:.1f}v{2 * tall:.1f}h{-2 * half:.1f}z"
    name = item.kind if item.kind in ("max", "min", "leaf") else "p"
    return f'{fold}<path class="{name}" d="{shape}"/>'


def compute_lesson(name: str) -> StoredLesson:
    """Runs the searches of a lesson and returns its documents; raises UnknownName."""
    return StoredLesson(
        msgspec.Raw(msgspec.json.encode(lesson_document(name))),
        msgspec.Raw(msgspec.json.encode(quiz_document(name))),
    )


def stored_file() -> str:
    """Returns the text of the file of stored documents, with one lesson per line."""
    lines = [
        f'"{name}":{msgspec.json.encode(compute_lesson(name)).decode()}'
        for name in sorted(LESSONS)
        if load_lesson(name).is_stored
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def words_module() -> str:
    """Returns the module of the client with the words that lessons define."""
    rows = [
        f"    {json(word)}: [{json(name)}, {json(definition_of(word))}],"
        for word, (name, _) in WORDS.items()
    ]
    return "\n".join((*WORDS_HEAD, *rows, "};", ""))


def json(text: str) -> str:
    """Returns a text as JavaScript has it."""
    return msgspec.json.encode(text).decode()


def main(folder: Path) -> None:
    """Writes NAME.svg for each lesson into a folder, and the files of stored documents and words.

    The folder is `pages/learn/pictures` of the client.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in LESSONS:
        (folder / f"{name}.svg").write_text(lesson_picture(name), "utf-8")
    (folder.parents[2] / WORDS_FILE).write_text(words_module(), "utf-8")
    Path(document.__file__).with_name(STORED_FILE).write_text(stored_file(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
