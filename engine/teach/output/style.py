"""The style of text on a terminal: guide lines and colours, neither of them in a pipe."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

#: The width of the text, in columns.
WIDTH = 80
#: The colours (ECMA-48 SGR parameters) by mark.
COLOURS = {
    "max": "32",
    "min": "35",
    "mean": "33",
    "best": "1",
    "cut": "31",
    "dim": "2",
    "current": "7",
    "title": "1",
}
#: The deepest level that is indented; deeper lines begin with the number of their level.
DEEPEST_INDENT = 20


@dataclass(frozen=True, slots=True)
class Style:
    """Whether the text has guide lines between nodes, and colours."""

    has_guides: bool = False
    has_colour: bool = False

    def paint(self, mark: str, text: str) -> str:
        """Returns the text in the colour of a mark; unchanged without colours."""
        code = COLOURS.get(mark)
        return f"\033[{code}m{text}\033[0m" if self.has_colour and code and text else text


#: The style of a pipe: plain text, indented.
PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an outline: its level, its text, and the marks that colour parts of it."""

    level: int
    text: str
    #: The mark of the whole line, or "".
    mark: str = ""
    #: Parts of the text, each with its mark.
    marks: tuple[tuple[str, str], ...] = ()
    #: Whether the line continues the one above.
    is_continued: bool = False

    def painted(self, style: Style) -> str:
        """Returns the text in its colours."""
        if self.mark:
            return style.paint(self.mark, self.text)
        text = self.text
        for part, mark in self.marks:
            text = text.replace(part, style.paint(mark, part), 1)
        return text


def outline(lines: Iterable[Line], style: Style = PLAIN) -> Iterator[str]:
    """Yields the lines, each indented by its level, with guide lines if the style has them.

    A line that is too long continues on the next one.
    """
    rows = [part for line in lines for part in _parts(line, style)]
    indents = _guides(rows) if style.has_guides else [_indent(row) for row in rows]
    for row, indent in zip(rows, indents, strict=True):
        yield style.paint("dim", indent) + row.painted(style)


def _parts(line: Line, style: Style) -> Iterator[Line]:
    """Yields a line in parts that fit the width."""
    width = WIDTH - len(_indent(line)) - (style.has_guides and min(line.level, DEEPEST_INDENT))
    texts = textwrap.wrap(line.text, width, subsequent_indent="  ", break_on_hyphens=False)
    for number, text in enumerate(texts or [""]):
        yield replace(line, text=text, is_continued=number > 0)


def _indent(line: Line) -> str:
    if line.level <= DEEPEST_INDENT:
        return "  " * line.level
    return "  " * DEEPEST_INDENT + f"[ply {line.level}] "


def _guides(rows: list[Line]) -> list[str]:
    """The guide lines before each row, found from the last row upwards.

    `open_levels` holds the levels at which a later row continues the same list of children.
    """
    open_levels: set[int] = set()
    guides = []
    for row in reversed(rows):
        open_levels = {level for level in open_levels if level <= row.level}
        levels = range(1, min(row.level, DEEPEST_INDENT) + 1)
        bars = ["│  " if level in open_levels else "   " for level in levels]
        if row.is_continued:
            guides.append("".join(bars))
            continue
        if bars:
            bars[-1] = "├─ " if row.level in open_levels else "└─ "
        deeper = f"[ply {row.level}] " if row.level > DEEPEST_INDENT else ""
        guides.append("".join(bars) + deeper)
        open_levels.add(row.level)
    return guides[::-1]
