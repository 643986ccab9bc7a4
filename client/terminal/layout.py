"""Computes where the cells of a board, their labels and lines stand on a page of characters.

This module does no I/O.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from msgspec import structs

from engine.view import Grid, Site, Sites

#: The width of the page on which every board should fit, in characters.
COLS = 80
#: The height of that page, in lines.
ROWS = 24
#: The number of rows of the page for the board; the other four are for text.
BOARD_ROWS = ROWS - 4

#: The column of the first cell; row labels stand to the left of it.
FIRST_COL = 4
#: An id such as c4: the column, then the row.
_COLUMN_ROW = re.compile(r"([a-z]{1,2})([0-9]{1,2})")
#: An id such as 4.3: the row, then the column.
_ROW_COLUMN = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands on the page, as rows and columns of characters.

    `cells` maps ids to (row, column), `labels` are (row, column, text), and `lines` are pairs of
    cells to connect. With `shows_ids`, an empty cell shows its id; the cells in `blank` show
    nothing. `cell_width` is the width of a cell in characters.
    """

    cells: dict[str, tuple[int, int]]
    labels: tuple[tuple[int, int, str], ...]
    lines: tuple[tuple[str, str], ...] = ()
    shows_ids: bool = False
    blank: frozenset[str] = frozenset()
    cell_width: int = 1
    #: The sides that cells belong to.
    sides: Mapping[str, int] = field(default_factory=dict)


def lay_out(
    board: Grid | Sites,
    flip: bool = False,
    piece_width: int = 1,
    page: tuple[int, int] = (COLS, BOARD_ROWS),
    cell: tuple[int, int] | None = None,
) -> Layout:
    """Places the cells at least two characters apart, so that marks fit between them.

    `flip` turns the board by 180 degrees. A piece is `piece_width` characters wide. `page` are the
    columns and rows into which the board should fit. With `cell`, the columns and rows of a cell,
    cells have this size, whether the board fits or not; the piece stands in the middle.
    """
    if isinstance(board, Grid):
        if cell is not None:
            return _lay_out_cells(board, flip, cell)
        return _lay_out_grid(board, flip, piece_width, page[0])
    turned = structs.replace(board, sites=_turned(board.sites)) if flip else board
    return _lay_out_sites(turned, piece_width, page, cell)


# --- grids


def _lay_out_grid(grid: Grid, flip: bool, piece_width: int, columns: int) -> Layout:
    first_col = FIRST_COL + piece_width - 1
    wide_step = 2 + piece_width
    # A cell with a mark, or the number at the end of a row.
    right = first_col + wide_step * grid.cols + 3 * (grid.names is not None)
    step = wide_step if right <= columns else wide_step - 1
    cells = {
        name: (row, first_col + step * col) for name, (row, col) in _grid_cells(grid, flip).items()
    }
    layout = _with_labels(cells, ())
    if not layout.shows_ids:
        return layout
    return replace(layout, labels=tuple(_row_ends(cells, first_col + step * grid.cols)))


def _grid_cells(grid: Grid, flip: bool) -> dict[str, tuple[int, int]]:
    """The cells by their row and column as they are seen, from the top left corner."""
    is_first_row_below = (grid.origin == "top-left") == flip
    rows = range(grid.rows - 1, -1, -1) if is_first_row_below else range(grid.rows)
    cols = range(grid.cols - 1, -1, -1) if flip else range(grid.cols)
    return {
        name: (seen_row, seen_col)
        for seen_row, row in enumerate(rows)
        for seen_col, col in enumerate(cols)
        if (name := _cell_id(grid, row, col)) is not None
    }


def _lay_out_cells(grid: Grid, flip: bool, cell: tuple[int, int]) -> Layout:
    """A grid whose cells touch each other; `cells` are their middles."""
    width, height = cell
    first_col = FIRST_COL - 1
    cells = {
        name: (row * height + height // 2, first_col + col * width + width // 2)
        for name, (row, col) in _grid_cells(grid, flip).items()
    }
    layout = replace(_with_labels(cells, (), height - height // 2), cell_width=width)
    if not layout.shows_ids:
        return layout
    right = first_col + width * grid.cols - 1
    return replace(layout, labels=tuple(_row_ends(cells, right)))


def _row_ends(cells: dict[str, tuple[int, int]], right: int) -> Iterator[tuple[int, int, str]]:
    """Labels beside each row: its first and last id, because pieces hide the ids of their cells."""
    rows: dict[int, list[str]] = {}
    for name, (page_row, _) in sorted(cells.items(), key=lambda cell: cell[1]):
        rows.setdefault(page_row, []).append(name)
    for page_row, names in rows.items():
        if len(names) > 1 and all(len(name) <= 2 for name in names):
            yield page_row, 0, f"{names[0]:>2}"
            yield page_row, right + 1, f"{names[-1]:>2}"


def _cell_id(grid: Grid, row: int, col: int) -> str | None:
    return grid.names[row][col] if grid.names is not None else f"{chr(97 + col)}{row + 1}"


# --- sites


def _lay_out_sites(
    board: Sites, piece_width: int, page: tuple[int, int], cell: tuple[int, int] | None = None
) -> Layout:
    """Places sites in their proportions, rounded to characters.

    On a board with lines, neighbouring rows are two apart if they fit.
    """
    col_steps = tuple(step for step in (4, 3, 2) if step > piece_width) or (piece_width + 1,)
    if cell is not None:
        col_steps = (cell[0],)
    row_steps: tuple[int, ...] = (2, 1) if board.lines else (1,)
    if cell is not None:
        row_steps = (cell[1],)
    xs, ys = [site.x for site in board.sites], [site.y for site in board.sites]
    lines = tuple(pair for line in board.lines for pair in pairwise(line))
    x_scale = _scale(_min_gap_in_rows(board), max(xs) - min(xs), page[0] - 6, col_steps)
    y_scale = _scale(_min_gap(ys), max(ys) - min(ys), page[1] - 1, row_steps)
    cells = {
        site.id: (
            round((site.y - min(ys)) * y_scale),
            FIRST_COL + round((site.x - min(xs)) * x_scale),
        )
        for site in board.sites
    }
    # A bare board draws nothing on its empty cells but the points.
    is_bare = board.style == "bare"
    blank = frozenset(site.id for site in board.sites if is_bare and site.shape != "point")
    sides = {site.id: site.side for site in board.sites if site.side is not None}
    labelled = _with_labels(cells, lines)
    return replace(labelled, blank=blank, cell_width=round(x_scale), sides=sides)


def _turned(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """The sites of a board that is turned by 180 degrees."""
    return tuple([structs.replace(site, x=-site.x, y=-site.y) for site in sites])


def _scale(gap: float, extent: float, size: int, steps: tuple[int, ...]) -> float:
    """Returns the number of characters per unit of the board.

    The smallest gap between cells becomes the first of `steps` with which the board fits, or the
    last one if none does. `extent` is the board's width or height in units, and `size` the number
    of characters that are available.
    """
    fitting = [step / gap for step in steps if extent * step / gap <= size]
    return fitting[0] if fitting else steps[-1] / gap


def _min_gap(values: Iterable[float]) -> float:
    """The smallest distance between different values; 1 for fewer than two."""
    ordered = sorted({round(value, 6) for value in values})
    return min((b - a for a, b in pairwise(ordered)), default=1.0)


def _min_gap_in_rows(board: Sites) -> float:
    """The smallest distance between two sites of one row."""
    rows: dict[float, list[float]] = {}
    for site in board.sites:
        rows.setdefault(round(site.y, 6), []).append(site.x)
    return min((_min_gap(row) for row in rows.values() if len(row) > 1), default=1.0)


# --- labels


def _with_labels(
    cells: dict[str, tuple[int, int]], lines: tuple[tuple[str, str], ...], below: int = 1
) -> Layout:
    """Adds column letters and row numbers if ids consist of them; else cells show their ids.

    Ids of another form beside them, such as that of a store, have no label. The letters of upright
    columns stand `below` rows below the middles of the last row.
    """
    parts = {name: part for name in cells if (part := _split_id(name)) is not None}
    if not parts:
        return Layout(cells, (), lines, shows_ids=True)
    rows = _common_values((cells[name][0], part[1]) for name, part in parts.items())
    if rows is None:
        return Layout(cells, (), lines, shows_ids=True)
    labels = [(page_row, 0, f"{number:>2}") for page_row, number in rows.items()]
    labels += _column_labels(cells, {name: part[0] for name, part in parts.items()}, below)
    return Layout(cells, tuple(labels), lines)


def _column_labels(
    cells: dict[str, tuple[int, int]], columns: dict[str, str], below: int
) -> list[tuple[int, int, str]]:
    """Column letters below upright columns; above slanted ones, as on a hex board."""
    if not all(letters.isalpha() for letters in columns.values()):
        return []
    upright = _common_values((cells[name][1], letters) for name, letters in columns.items())
    if upright is not None:
        bottom = below + max(page_row for page_row, _ in cells.values())
        return [(bottom, col, letters) for col, letters in upright.items()]
    tops: dict[str, tuple[int, int]] = {}
    for name, letters in columns.items():
        tops[letters] = min(tops.get(letters, cells[name]), cells[name])
    return [(page_row - 1, col - 1, letters) for letters, (page_row, col) in tops.items()]


def _split_id(name: str) -> tuple[str, str] | None:
    """The column and the row in an id such as c4 or 4.3; None for other ids."""
    if match := _COLUMN_ROW.fullmatch(name):
        return match[1], match[2]
    if match := _ROW_COLUMN.fullmatch(name):
        return match[2], match[1]
    return None


def _common_values(pairs: Iterable[tuple[int, T]]) -> dict[int, T] | None:
    """Maps each key of the pairs to its value; None when a key has different values."""
    values: dict[int, T] = {}
    for key, value in pairs:
        if values.setdefault(key, value) != value:
            return None
    return values
