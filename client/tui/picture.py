"""Draws the board of any game in cells of a size, from its views, and says where each cell is.

This module does no I/O and contains no rules. The signs of marks are those of line mode, and colour
adds no information. Colours are names of rich: "#ffffff", "color(160)", "" for the terminal's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rich.color import Color

from client.terminal.board import draw_lines, marks_by_cell, piece_letters
from client.terminal.colours import (
    FIXED_COLOURS,
    GROUNDS,
    HOLE_INK,
    HOLE_STATE_GROUNDS,
    NO_COLOURS,
    POINT_INK,
    STATE_GROUNDS,
    side_codes,
)
from client.terminal.figures import SHAPES, SPRITES, joints
from client.terminal.layout import Layout, lay_out
from client.terminal.wrapping import character_width, visible_width
from engine.view import BoardView, Grid, Kind, PositionView, Shape, cell_ids

#: The sizes of a cell in columns and rows, the largest first.
CELL_SIZES = ((6, 3), (4, 2), (2, 1))
#: The smallest size for pieces of two letters.
TWO_LETTERS = (3, 1)
#: The strokes of lines and sticks, turned clockwise by 0, 45, 90 and 135 degrees.
STROKES: Mapping[Shape, str] = {"line": "━\u2572┃\u2571", "stick": "│\u2571─\u2572"}
#: The signs around the cell under the cursor and around picked cells.
CURSOR, PICKED = (">", "<"), ("{", "}")
#: The signs around a piece that may be picked next, and the sign of such an empty cell.
NEXT = ("<", ">")
NEXT_EMPTY, ASCII_NEXT_EMPTY = "•", "+"
#: The sign of an empty cell.
EMPTY, ASCII_EMPTY = "·", "."
#: The sign of a dot that moves join.
DOT, ASCII_DOT = "•", "+"


class Ink(NamedTuple):
    """How a character looks."""

    colour: str = ""
    ground: str = ""
    is_bold: bool = False
    is_dim: bool = False
    is_reversed: bool = False


#: A row as pieces of text, each with its ink.
Row = tuple[tuple[str, Ink], ...]


class Box(NamedTuple):
    """Where a cell stands in a picture, in rows and columns of characters."""

    row: int
    col: int
    height: int
    width: int

    def contains(self, row: int, col: int) -> bool:
        """Whether the character at this place belongs to the cell."""
        rows, cols = row - self.row, col - self.col
        return 0 <= rows < self.height and 0 <= cols < self.width


def _middle(box: Box) -> tuple[int, int]:
    return box.row + box.height // 2, box.col + box.width // 2


def _distance(box: Box, row: int, col: int) -> int:
    """The distance of a character from the middle of a cell; a row counts as two columns."""
    middle_row, middle_col = _middle(box)
    return 2 * abs(row - middle_row) + abs(col - middle_col)


@dataclass(frozen=True, slots=True)
class Picture:
    """A board in characters; `boxes` are its cells by their ids."""

    rows: tuple[Row, ...]
    boxes: Mapping[str, Box]
    width: int

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def cell_at(self, row: int, col: int) -> str | None:
        """The id of the cell at a character, the one whose middle is nearest; None beside all."""
        found = [name for name, box in self.boxes.items() if box.contains(row, col)]
        return min(found, key=lambda name: _distance(self.boxes[name], row, col), default=None)

    def neighbour(self, cell: str, rows: int, cols: int) -> str:
        """The id of the next cell in a direction; the same one at the edge of the board."""
        row, col = _middle(self.boxes[cell])
        best: tuple[float, str] | None = None
        for name, box in self.boxes.items():
            there_row, there_col = _middle(box)
            # A row is about as high as two columns are wide.
            down, right = 2 * (there_row - row), there_col - col
            along, aside = down * rows + right * cols, abs(down * cols) + abs(right * rows)
            if name != cell and along > 0 and aside <= along * 2:
                best = min(best or (float("inf"), ""), (along + 2 * aside, name))
        return best[1] if best else cell


@dataclass(frozen=True, slots=True)
class Signs:
    """What a picture shows besides the position: the cursor, the picked cells, those that may be
    picked next, letters on the cells of arrows, and the side that drew the line on each cell.
    """

    cursor: str | None = None
    picked: tuple[str, ...] = ()
    next_cells: frozenset[str] = frozenset()
    letters: Mapping[str, str] = field(default_factory=dict)
    drawn_by: Mapping[str, int] = field(default_factory=dict)


#: The strokes of an edge of the board that a side owns: level, slanted down to the right, upright,
#: slanted down to the left.
EDGES, ASCII_EDGES = "━\u2572│\u2571", "=\\|/"


def _edges(
    board: BoardView, cells: Mapping[str, tuple[int, int]], is_ascii: bool
) -> list[tuple[int, int, str, int]]:
    """The edges that the sides have to join: row, column, text and side of each stroke. A level
    edge has the name of its side; the first row leaves space for the letters of the columns.
    """
    grid = board.board
    if isinstance(grid, Grid) or not grid.borders:
        return []
    strokes = ASCII_EDGES if is_ascii else EDGES
    first = min(row for row, _ in cells.values())
    middle = sum(col for _, col in cells.values()) / len(cells)
    found: list[tuple[int, int, str, int]] = []
    for border in grid.borders:
        spots = sorted(cells[site] for site in border.sites)
        (row, col), (last_row, last_col) = spots[0], spots[-1]
        if row == last_row:
            text = f" {board.seats[border.side].name} ".center(last_col - col + 1, strokes[0])
            found.append((row - 2 if row == first else row + 1, col, text, border.side))
            continue
        way = (last_col > col) - (last_col < col)
        stroke = strokes[2 - way]
        beside = -2 if (col + last_col) / 2 < middle else 2
        for each in range(row, last_row + 1):
            at = col + round((last_col - col) * (each - row) / (last_row - row))
            found.append((each, at + beside, stroke, border.side))
    return found


@lru_cache(maxsize=64)
def _layout(
    board: "_Hashed", flip: bool, piece_width: int, cell: tuple[int, int]
) -> tuple[Layout, int, int]:
    """A layout without rows above 0, with its width and height."""
    grid = board.view.board
    plain = lay_out(grid, flip, piece_width, cell=cell)
    middle_row, middle_col = cell[1] // 2, cell[0] // 2
    if not isinstance(grid, Grid):  # half a cell around the outer sites
        middle_row = min(middle_row, 0)
    edges = _edges(board.view, plain.cells, is_ascii=False)
    top = min(
        [row - middle_row for row, _ in plain.cells.values()]
        + [row for row, _, _ in plain.labels]
        + [row for row, *_ in edges]
    )
    left = min(
        [col - min(middle_col, 1) for _, col in plain.cells.values()]
        + [col for _, col, _ in plain.labels]
        + [col for _, col, *_ in edges]
    )
    cells = {name: (row - top, col - left) for name, (row, col) in plain.cells.items()}
    labels = tuple((row - top, col - left, text) for row, col, text in plain.labels)
    moved = Layout(
        cells, labels, plain.lines, plain.shows_ids, plain.blank, plain.cell_width, plain.sides
    )
    below = cell[1] - 1 - middle_row if isinstance(grid, Grid) else 0
    right = max(1, cell[0] - 1 - middle_col) if isinstance(grid, Grid) else 1  # room for a sign
    height = 1 + max(
        [row + below for row, _ in cells.values()]
        + [row for row, _, _ in labels]
        + [row - top for row, *_ in edges],
        default=0,
    )
    width = 1 + max(
        [col + right for _, col in cells.values()]
        + [col + visible_width(text) - 1 for _, col, text in labels]
        + [col - left + visible_width(text) - 1 for _, col, text, _ in edges],
        default=0,
    )
    return moved, width, height


class _Hashed:
    """A board view as a key of a cache: the same object, not an equal one."""

    __slots__ = ("view",)

    def __init__(self, view: BoardView) -> None:
        self.view = view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self.view is other.view

    def __hash__(self) -> int:
        return id(self.view)


def cell_size(
    board: BoardView, flip: bool, columns: int, rows: int, is_ascii: bool
) -> tuple[int, int]:
    """The largest size of a cell with which the board fits; the smallest one if none does."""
    piece_width = _piece_width(_Hashed(board), is_ascii)
    sizes = [size for size in CELL_SIZES if size[0] > piece_width]
    sizes += [TWO_LETTERS] if piece_width > 1 else []
    for size in sizes:
        _, width, height = _layout(_Hashed(board), flip, piece_width, size)
        if width <= columns and height <= rows:
            return size
    return sizes[-1]


def picture_size(
    board: BoardView, flip: bool, size: tuple[int, int], is_ascii: bool
) -> tuple[int, int]:
    """The columns and rows of a picture with cells of this size."""
    _, width, height = _layout(_Hashed(board), flip, _piece_width(_Hashed(board), is_ascii), size)
    return width, height


@lru_cache(maxsize=64)
def _piece_width(hashed: _Hashed, is_ascii: bool) -> int:
    """The width of what a cell shows: a piece, or its id where empty cells show that."""
    board = hashed.view
    ids = cell_ids(board.board) if lay_out(board.board, cell=CELL_SIZES[-1]).shows_ids else ()
    return max(map(visible_width, (*piece_texts(board, is_ascii).values(), *ids)), default=1)


def piece_texts(board: BoardView, is_ascii: bool) -> Mapping[str, str]:
    """The text of each kind of piece: a figure where the look of its kind has one and no two kinds
    get the same; else its letters, as in line mode.
    """
    return _piece_texts(_Hashed(board), is_ascii)


@lru_cache(maxsize=64)
def _piece_texts(hashed: _Hashed, is_ascii: bool) -> Mapping[str, str]:
    board = hashed.view
    letters = piece_letters(board)
    if is_ascii:
        return letters
    figures = {name: _figure(board, kind) for name, kind in board.kinds.items()}
    shown = [figure for figure in figures.values() if figure]
    if len(set(shown)) < len(shown):
        return letters
    return {name: figures[name] or letters[name] for name in board.kinds}


def _figure(board: BoardView, kind: Kind) -> str:
    """The figure of a kind of piece; "" without one."""
    if kind.shape in STROKES and (not kind.text or kind.shape == "stick"):
        return STROKES[kind.shape][round(kind.angle / 45) % 4]
    if kind.side is None or kind.side not in (0, 1) or kind.count or kind.mark:
        return ""
    is_dark = _is_dark(board, kind.side)
    if kind.sprite is not None:
        return SPRITES[kind.sprite][is_dark]
    return SHAPES[kind.shape][is_dark] if kind.shape in SHAPES else ""


def _is_dark(board: BoardView, side: int) -> bool:
    """Whether the colour of a side is the darker one of the two."""
    lights = [_lightness(seat.colour) for seat in board.seats]
    if len(lights) < 2 or lights[0] == lights[1]:
        return side == 0
    return lights[side] < lights[1 - side]


def _lightness(colour: str) -> float:
    try:
        red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    except ValueError:
        return 0.0
    return 0.299 * red + 0.587 * green + 0.114 * blue


def draw_picture(
    board: BoardView,
    position: PositionView,
    size: tuple[int, int],
    *,
    flip: bool = False,
    colours: int = NO_COLOURS,
    is_ascii: bool = False,
    signs: Signs | None = None,
) -> Picture:
    """Draws a position in cells of this size, in columns and rows; `flip` turns the board."""
    texts = piece_texts(board, is_ascii)
    piece_width = _piece_width(_Hashed(board), is_ascii)
    layout, width, height = _layout(_Hashed(board), flip, piece_width, size)
    page = _Page(height, width)
    lines: dict[tuple[int, int], str] = {}
    draw_lines(lines, layout, not is_ascii)
    for (row, col), stroke in lines.items():
        page.put(row, col, stroke, Ink(is_dim=True))
    shown_ids = {name for name in layout.cells if layout.shows_ids and name not in position.pieces}
    for row, col, label in layout.labels:
        if label.strip() not in shown_ids:  # its own cell says it
            page.put(row, col, label, Ink())
    painter = _Painter(board, position, layout, size, colours, is_ascii, signs or Signs(), texts)
    for row, col, text, side in _edges(board, layout.cells, is_ascii):
        page.put(row, col, text, painter.ink_of_side(side))
    if size[1] > 1:
        for side, stores in enumerate(board.stores):
            name = board.seats[side].name[: size[0] + 2]
            for row, col in (layout.cells[store] for store in stores):
                page.put(row + 1, max(0, min(col - 2, width - len(name))), name, Ink())
    boxes = {name: painter.box(name) for name in layout.cells}
    for name in layout.cells:
        painter.fill(page, name)
    for name in layout.cells:
        painter.draw(page, name)
    return Picture(page.rows(), boxes, width)


class _Page:
    """Characters by row and column, each with its ink."""

    def __init__(self, height: int, width: int) -> None:
        self._characters = [[" "] * width for _ in range(height)]
        self._inks = [[Ink()] * width for _ in range(height)]

    def put(self, row: int, col: int, text: str, ink: Ink) -> None:
        """Writes a text; what lies beside the page is left out. Without a ground of its own, the
        text has the ground that is there, and without a colour one that can be read on it.
        """
        if not 0 <= row < len(self._characters):
            return
        for character in text:
            width = character_width(character)
            if col >= 0 and col + width <= len(self._characters[row]):
                ground = self._inks[row][col].ground
                shown = ink if ink.ground or not ground else ink._replace(ground=ground)
                if shown.ground and not shown.colour:
                    shown = shown._replace(colour=text_colour(shown.ground))
                self._characters[row][col] = character
                self._inks[row][col] = shown
                if width == 2:
                    self._characters[row][col + 1] = ""
            col += width

    def is_free(self, row: int, col: int) -> bool:
        """Whether nothing is written there."""
        return (
            0 <= row < len(self._characters)
            and 0 <= col < len(self._characters[row])
            and self._characters[row][col] == " "
        )

    def rows(self) -> tuple[Row, ...]:
        """The rows, neighbours of the same ink joined."""
        return tuple(map(_joined, self._characters, self._inks))


def _joined(characters: list[str], inks: list[Ink]) -> Row:
    runs: list[tuple[str, Ink]] = []
    for character, ink in zip(characters, inks, strict=True):
        if runs and runs[-1][1] == ink:
            runs[-1] = (runs[-1][0] + character, ink)
        else:
            runs.append((character, ink))
    return tuple(runs)


class _Painter:
    """Paints the cells of one position."""

    def __init__(
        self,
        board: BoardView,
        position: PositionView,
        layout: Layout,
        size: tuple[int, int],
        colours: int,
        is_ascii: bool,
        signs: Signs,
        texts: Mapping[str, str],
    ) -> None:
        self._board = board
        self._position = position
        self._layout = layout
        self._width, self._height = size
        self._is_ascii = is_ascii
        self._signs = signs
        self._texts = texts
        self._colours = colours
        self._marks = marks_by_cell(board, position)
        self._sides = side_colours(board, colours)
        self._states = self._states_by_cell()
        self._joints = {} if is_ascii else joints(layout)
        grid = board.board
        #: The dots of a board that is bare but for them: what lies between them is fainter.
        self._dots = (
            frozenset[str]()
            if isinstance(grid, Grid) or grid.style != "bare"
            else frozenset(site.id for site in grid.sites if site.shape == "point")
        )
        self._is_grid = isinstance(grid, Grid)
        self._grounds = _grounds(board, colours)
        #: Whether pieces lie on grounds of our own, which white and black can be read on.
        self._piece_inks = [
            _on_ground(seat.colour) if self._grounds else side
            for seat, side in zip(board.seats, self._sides, strict=False)
        ]

    def ink_of_side(self, side: int | None) -> Ink:
        """How what belongs to a side looks."""
        is_known = side is not None and side < len(self._piece_inks)
        return Ink(self._piece_inks[side] if is_known and side is not None else "", is_bold=True)

    def _states_by_cell(self) -> dict[str, str]:
        """The most important state of each cell that has one."""
        states: dict[str, str] = {}
        targets = self._board.targets
        for mark in ("last", "win", "check"):
            marked = self._position.marks.get(mark) or (
                self._position.last if mark == "last" else ()
            )
            for target in marked:
                states |= dict.fromkeys(targets.get(target, (target,)), mark)
        states |= dict.fromkeys(self._signs.next_cells, "target")
        states |= dict.fromkeys(self._signs.picked, "picked")
        if self._signs.cursor is not None:
            states[self._signs.cursor] = "cursor"
        return states

    def box(self, name: str) -> Box:
        """The characters that belong to a cell."""
        row, col = self._layout.cells[name]
        return Box(row - self._height // 2, col - self._width // 2, self._height, self._width)

    def fill(self, page: _Page, name: str) -> None:
        """Fills the ground of a cell."""
        row, col, height, width = self.box(name)
        ink = Ink(ground=self._ground(name, row // height, col // width))
        if not self._grounds and self._is_grid and self._states.get(name) == "cursor":
            ink = Ink(is_reversed=True)
        if ink == Ink():
            return
        for each in range(row, row + height):
            page.put(each, col, " " * width, ink)

    def _ground(self, name: str, row: int, col: int) -> str:
        state = self._states.get(name)
        if self._grounds is None:
            return ""
        if state is not None:
            is_dark = self._board.board.style == "holes"
            return (HOLE_STATE_GROUNDS if is_dark else STATE_GROUNDS)[state]
        return self._grounds[(row + col) % 2]

    def draw(self, page: _Page, name: str) -> None:
        """Draws the piece or the sign of a cell, its marks and its letter."""
        row, col = self._layout.cells[name]
        piece = self._position.pieces.get(name)
        kind = None if piece is None else self._board.kinds.get(piece) or Kind(piece, text="?")
        text, ink = self._content(name, piece, kind)
        width = visible_width(text)
        start = col - (width - 1)
        if kind is not None and kind.shape == "line" and text in "━-":
            margin = max(0, self._width // 2 - 1 if self._is_grid else self._width - 1)
            start, text = col - margin, text * (2 * margin + 1)
            width = len(text)
        if kind is not None and kind.shape == "line" and text in "┃|" and not self._is_grid:
            for each in range(row - self._height + 1, row + self._height):
                page.put(each, col, text, ink)
        page.put(row, start, text, self._over(ink, name))
        signs = self._signs_around(name, kind is not None)
        if signs is not None:
            ink = self._over(Ink(is_bold=True), name)
            if start - 1 >= 0:
                page.put(row, start - 1, signs[0], ink)
            if self._width > 2 or page.is_free(row, start + width):
                page.put(row, start + width, signs[1], ink._replace(ground=""))
        if letter := self._signs.letters.get(name):
            # In place of what an empty cell shows, or close to the piece, in its row. A number in
            # place of a number has brackets, so that it does not name a cell.
            has_ids = kind is None and self._layout.shows_ids and self._width > 2
            beside = start - 2 if signs is not None and self._width > 3 else start - 1
            at = col - 1 if has_ids else start if kind is None else beside
            text = f"({letter})" if has_ids else letter
            page.put(row, at, text, self._over(Ink(is_bold=True), name))

    def _over(self, ink: Ink, name: str) -> Ink:
        """The ink of a text on the cell: under the cursor that of text, and reversed without
        grounds.
        """
        if self._states.get(name) != "cursor":
            return ink
        return ink._replace(colour="", is_reversed=not self._grounds)

    def _content(self, name: str, piece: str | None, kind: Kind | None) -> tuple[str, Ink]:
        """The text in the middle of a cell."""
        if piece is not None and kind is not None:
            drawn_by = self._signs.drawn_by if kind.shape == "line" else {}
            owner = self._layout.sides.get(name, drawn_by.get(name))
            side = owner if kind.side is None else kind.side
            return self._texts.get(piece, "?"), self.ink_of_side(side)
        if name in self._dots:
            return (ASCII_DOT if self._is_ascii else DOT), Ink(is_bold=True)
        if self._layout.shows_ids:
            return name, Ink()
        empty = ASCII_EMPTY if self._is_ascii else EMPTY
        if name in self._signs.next_cells:
            sign = ASCII_NEXT_EMPTY if self._is_ascii else NEXT_EMPTY
            return (empty, Ink(is_dim=True)) if self._dots else (sign, Ink(is_bold=True))
        if name in self._layout.blank or (self._grounds and self._board.board.style == "checker"):
            return " ", Ink()
        if self._board.board.style == "points" and self._grounds and not self._is_ascii:
            return "┼", Ink(POINT_INK)
        if self._board.board.style == "holes" and self._grounds and not self._is_ascii:
            return "·", Ink(HOLE_INK)
        return self._joints.get(name, empty), Ink(is_dim=True)

    def _signs_around(self, name: str, has_piece: bool) -> tuple[str, str] | None:
        """The most important signs to the left and right of what a cell shows."""
        if name == self._signs.cursor:
            return CURSOR
        if name in self._signs.picked:
            return PICKED
        if name in self._signs.next_cells and (has_piece or self._layout.shows_ids):
            return NEXT
        return self._marks.get(name)


def side_colours(board: BoardView, colours: int) -> list[str]:
    """The colour of each side on the terminal's own background; none without colours."""
    return [_colour(code) for code in side_codes(board, colours)] if colours else []


def sign_colours(board: BoardView, colours: int) -> list[str]:
    """The colour of each side's sign beside the board: that of its pieces, and that of text for
    white and black ones, which the board draws on its own ground.
    """
    own = side_colours(board, colours)
    if _grounds(board, colours) is None:
        return own
    greys = ("#000000", "#ffffff")
    return [
        "" if _on_ground(seat.colour) in greys else colour
        for seat, colour in zip(board.seats, own, strict=True)
    ]


def _grounds(board: BoardView, colours: int) -> tuple[str, str] | None:
    """The grounds of a board's light and dark cells; None where it has none of its own."""
    is_own = colours == FIXED_COLOURS and isinstance(board.board, Grid)
    return GROUNDS.get(board.board.style) if is_own else None


def _colour(code: str) -> str:
    """The name for a code of `side_codes`: "38;5;160" is "color(160)", "31" is "color(1)"."""
    if code.startswith("38;5;"):
        return f"color({code.removeprefix('38;5;')})"
    return "" if code == "39" else f"color({int(code) - 30})"


def _on_ground(colour: str) -> str:
    """A colour of a side on one of our grounds: white, black, or a bright form of its hue."""
    try:
        parts = bytes.fromhex(colour.removeprefix("#"))
    except ValueError:
        return "#ffffff"
    lightest, darkest = max(parts), min(parts)
    if lightest - darkest <= 40:
        return "#000000" if (lightest + darkest) / 2 < 128 else "#ffffff"
    raised = [round(110 + 145 * (part - darkest) / (lightest - darkest)) for part in parts]
    return "#" + bytes(raised).hex()


@lru_cache(maxsize=64)
def luminance(colour: str) -> float:
    """The relative luminance of a colour of rich, as WCAG 2 defines it."""
    parts = [part / 255 for part in Color.parse(colour).get_truecolor()]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, ground: str) -> float:
    """The contrast of a colour with a ground, from 1 to 21."""
    dark, light = sorted((luminance(colour), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def text_colour(ground: str) -> str:
    """Black or white, as can be read better on a ground."""
    return max("#000000", "#ffffff", key=lambda colour: contrast(colour, ground))


def half_blocks(modules: Sequence[Sequence[int]]) -> list[str]:
    """The modules of a QR code as text, two rows in one line: light modules are full blocks, as on
    a dark terminal.
    """
    width = len(modules[0]) if modules else 0
    rows = [*modules, *([[0] * width] if len(modules) % 2 else [])]
    return [
        "".join(
            "█▀▄ "[2 * upper + lower] for upper, lower in zip(rows[i], rows[i + 1], strict=True)
        )
        for i in range(0, len(rows), 2)
    ]
