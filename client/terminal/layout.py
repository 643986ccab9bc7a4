"""Places the cells of a board, their labels and the lines between them on a page of characters.

This module does no I/O.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from engine.view import Grid, Sites

#: The page that every board should fit on, in characters; four of its rows are for text.
COLS, ROWS = 80, 24

#: Rows of the page for the board.
BOARD_ROWS = ROWS - 4
_COLUMN_ROW = re.compile(r"([a-z]{1,2})([0-9]{1,2})")
_ROW_COLUMN = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    """Cells by id and words, each at (row, column) of the page, and lines between cells.

    With `named`, the cells show their ids.
    """

    cells: dict[str, tuple[int, int]]
    words: tuple[tuple[int, int, str], ...]
    lines: tuple[tuple[str, str], ...] = ()
    named: bool = False


def lay_out(board: Grid | Sites, flip: bool = False) -> Layout:
    """Places every cell at least two characters from the next, so that marks fit in between.

    `flip` turns a grid by 180 degrees.
    """
    return _grid(board, flip) if isinstance(board, Grid) else _sites(board)


# --- grids


def _grid(grid: Grid, flip: bool) -> Layout:
    upwards = (grid.origin == "top-left") == flip
    rows = range(grid.rows - 1, -1, -1) if upwards else range(grid.rows)
    cols = range(grid.cols - 1, -1, -1) if flip else range(grid.cols)
    step = 3 if 4 + 3 * grid.cols <= COLS else 2
    cells = {
        name: (line, 4 + step * at)
        for line, row in enumerate(rows)
        for at, col in enumerate(cols)
        if (name := _name(grid, row, col)) is not None
    }
    labelled = _labelled(cells, ())
    return (
        replace(labelled, words=tuple(_row_ends(cells, 4 + step * grid.cols)))
        if labelled.named
        else labelled
    )


def _row_ends(cells: dict[str, tuple[int, int]], right: int) -> Iterator[tuple[int, int, str]]:
    """The first and the last cell name beside each row: pieces hide the names of their cells."""
    rows: dict[int, list[str]] = {}
    for name, (line, _) in sorted(cells.items(), key=lambda cell: cell[1]):
        rows.setdefault(line, []).append(name)
    for line, names in rows.items():
        if len(names) > 1 and all(len(name) <= 2 for name in names):
            yield line, 0, f"{names[0]:>2}"
            yield line, right + 1, names[-1]


def _name(grid: Grid, row: int, col: int) -> str | None:
    return grid.names[row][col] if grid.names is not None else f"{chr(97 + col)}{row + 1}"


# --- sites


def _sites(board: Sites) -> Layout:
    """Places sites in their proportions as far as characters allow.

    Neighbouring rows are two apart where the board has lines between them.
    """
    xs, ys = [site.x for site in board.sites], [site.y for site in board.sites]
    lines = tuple(pair for line in board.lines for pair in pairwise(line))
    across = _scale(_gaps_across(board), max(xs) - min(xs), COLS - 6, (4, 3, 2))
    down = _scale(_gap(ys), max(ys) - min(ys), BOARD_ROWS - 1, (2, 1) if lines else (1,))
    places = {
        site.id: (round((site.y - min(ys)) * down), 4 + round((site.x - min(xs)) * across))
        for site in board.sites
    }
    return _labelled(places, lines)


def _scale(gap: float, extent: float, room: int, wanted: tuple[int, ...]) -> float:
    """Characters per unit: the smallest gap gets the first wanted step that fits, or the last."""
    fitting = [step / gap for step in wanted if extent * step / gap <= room]
    return fitting[0] if fitting else wanted[-1] / gap


def _gap(values: Iterable[float]) -> float:
    """The smallest distance between different values; 1 when there is none."""
    ordered = sorted({round(value, 6) for value in values})
    return min((b - a for a, b in pairwise(ordered)), default=1.0)


def _gaps_across(board: Sites) -> float:
    """The smallest distance between two sites of one row."""
    rows: dict[float, list[float]] = {}
    for site in board.sites:
        rows.setdefault(round(site.y, 6), []).append(site.x)
    return min((_gap(row) for row in rows.values() if len(row) > 1), default=1.0)


# --- labels


def _labelled(cells: dict[str, tuple[int, int]], lines: tuple[tuple[str, str], ...]) -> Layout:
    """Adds column letters and row numbers if ids consist of them; else cells show their ids."""
    parts = {name: _parts(name) for name in cells}
    if not all(parts.values()):
        return Layout(cells, (), lines, named=True)
    rows = _common((cells[name][0], part[1]) for name, part in parts.items() if part)
    if rows is None:
        return Layout(cells, (), lines, named=True)
    words = [(line, 0, f"{number:>2}") for line, number in rows.items()]
    words += _column_words(cells, {name: part[0] for name, part in parts.items() if part})
    return Layout(cells, tuple(words), lines)


def _column_words(
    cells: dict[str, tuple[int, int]], columns: dict[str, str]
) -> list[tuple[int, int, str]]:
    """Column letters below the board, or at the columns' top ends where they lean (hex boards)."""
    if not all(letters.isalpha() for letters in columns.values()):
        return []
    upright = _common((cells[name][1], letters) for name, letters in columns.items())
    if upright is not None:
        bottom = 1 + max(line for line, _ in cells.values())
        return [(bottom, col, letters) for col, letters in upright.items()]
    ends: dict[str, tuple[int, int]] = {}
    for name, letters in columns.items():
        ends[letters] = min(ends.get(letters, cells[name]), cells[name])
    return [(line - 1, col - 1, letters) for letters, (line, col) in ends.items()]


def _parts(name: str) -> tuple[str, str] | None:
    """The column and the row in an id such as c4 or 4.3; None for other ids."""
    if found := _COLUMN_ROW.fullmatch(name):
        return found[1], found[2]
    if found := _ROW_COLUMN.fullmatch(name):
        return found[2], found[1]
    return None


def _common(pairs: Iterable[tuple[int, T]]) -> dict[int, T] | None:
    """The value on which all pairs of a place agree, by place; None when some disagree."""
    known: dict[int, T] = {}
    for place, value in pairs:
        if known.setdefault(place, value) != value:
            return None
    return known
