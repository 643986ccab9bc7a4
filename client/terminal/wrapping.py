"""Wraps text by its visible width: as many columns as a terminal needs to show it.

A colour code has no width, a wide character has two columns, and a combining character none. This
module does no I/O.
"""

import re
from functools import lru_cache
from unicodedata import category, east_asian_width

#: The least width to which text is wrapped, in columns.
MIN_WIDTH = 20
#: The terminal's code that ends all colours and styles.
RESET = "\x1b[0m"
#: A control sequence of a terminal.
_CONTROL_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
#: A control sequence that sets or ends colours and styles.
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
#: The codes that end all colours and styles.
_RESETS = (RESET, "\x1b[m")
#: A word and the spaces before it. A control sequence is a part of the word that it touches.
_WORD = re.compile(r"( *)([^ ]+)")
#: The categories of Unicode without a column: combining, enclosing, format and control characters.
_WITHOUT_COLUMN = ("Mn", "Me", "Cf", "Cc")
#: The soft hyphen, a format character that terminals show.
_SOFT_HYPHEN = "\u00ad"
#: The vowels and final consonants that join the Hangul syllable before them.
_HANGUL_JOINED = ("\u1160", "\u11ff")


def visible_width(text: str) -> int:
    """The width of a line on a terminal, in columns."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(character_width, _CONTROL_SEQUENCE.sub("", text)))


@lru_cache(maxsize=4096)
def character_width(character: str) -> int:
    """The width of a character on a terminal: 0, 1 or 2 columns."""
    if character == _SOFT_HYPHEN:
        return 1
    if category(character) in _WITHOUT_COLUMN:
        return 0
    if _HANGUL_JOINED[0] <= character <= _HANGUL_JOINED[1]:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def count_rows(text: str, columns: int) -> int:
    """The number of rows that a line fills on a terminal that breaks it at its right edge."""
    rows, col = 1, 0
    for width in map(character_width, _CONTROL_SEQUENCE.sub("", text)):
        if col + width > columns:
            rows, col = rows + 1, 0
        col += width
    return rows


def wrap(text: str, width: int) -> str:
    """Wraps each line that is wider than `width` columns between its words.

    The continuation of a line is indented by two more spaces than the line. A word is never cut, so
    a line without a space is left as it is. A colour that is open at a break ends there and begins
    again after the indentation. Lines become no narrower than MIN_WIDTH.
    """
    return "\n".join(_wrap_line(line.expandtabs(), width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if visible_width(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    rows = _fill_rows(line, max(width, MIN_WIDTH), len(indent))
    wrapped, style = [], ""
    for number, row in enumerate(rows):
        start = f"{indent}{style}" if number else ""
        style = _style_after(style, row)
        wrapped.append(f"{start}{row}{RESET if style else ''}")
    return "\n".join(wrapped)


def _fill_rows(line: str, width: int, indent_width: int) -> list[str]:
    """The line in rows of at most `width` columns, all but the first after an indentation."""
    rows, row, col = [], "", 0
    for spaces, word in _WORD.findall(line):
        word_width = visible_width(word)
        if not row.strip(" ") or col + len(spaces) + word_width <= width:
            row, col = f"{row}{spaces}{word}", col + len(spaces) + word_width
        elif word_width == 0:  # codes alone make no row
            row += word
        else:
            rows.append(row)
            row, col = word, indent_width + word_width
    return [*rows, row]


def _style_after(style: str, row: str) -> str:
    """The codes of colours and styles that are open after a row that begins with `style`."""
    for code in _STYLE.findall(row):
        style = "" if code in _RESETS else style + code
    return style
