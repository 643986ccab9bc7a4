"""Draws the board of any game as text, from its views.

This module does no I/O and contains no rules. Marks are characters around a cell: `[X]` is the last
move, `*X*` what won; a cell shows its most important mark. A legend below the board explains
them. Colour adds no information, and neither does the case of a letter: where two kinds of pieces
have the same letter, every piece also has its side's letter, as in `wK` and `bK`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from client.terminal.colours import FIXED_COLOURS, NO_COLOURS, SQUARE_CODES, side_codes
from client.terminal.figures import (
    LINES,
    SHADE,
    joints,
    piece_figures,
    sides_text,
    squares,
)
from client.terminal.layout import BOARD_ROWS, COLS, Layout, lay_out
from client.terminal.words import plural, position_text, possessive
from client.terminal.wrapping import RESET, character_width, visible_width
from engine.view import BoardView, Grid, Kind, PositionView, Shape, cell_ids

#: By mark: the characters to the left and right of a cell, and the text in the legend. The most
#: important mark comes first.
MARKS: Mapping[str, tuple[str, str, str]] = {
    "win": ("*", "*", "winning row"),
    "check": ("!", "!", "in check"),
    "last": ("[", "]", "last move"),
}
#: The text in the legend for winning cells that are no row on a grid.
WON_WITH = "won with this"
#: The least number of cells in a winning row.
ROW_CELLS = 3
#: The beginning of the line that explains the signs on a board.
SIGNS = "Signs: "
#: The most empty cells that this line names.
MAX_EMPTY_NAMES = 3
#: Buttons as what a side did.
PAST = {"pass": "passed", "swap": "swapped"}
#: The characters to the left and right of a cell with any other mark.
OTHER_MARK = ("(", ")")
#: The character of an empty cell.
EMPTY = "."
#: The character of an empty cell of a bare board.
BLANK = " "
#: Lines and sticks as characters, turned clockwise by 0, 45, 90 and 135 degrees.
STROKES: Mapping[Shape, str] = {"line": "-\\|/", "stick": "|/-\\"}
#: The terminal's code for bold text.
BOLD = "\x1b[1m"

#: Two runs of characters in one style.
_SAME_STYLE = re.compile(r"(\x1b\[[\d;]+m)([^\x1b]+)\x1b\[0m\1")

#: Characters by (row, column), each with its colour codes if it has any.
Page = dict[tuple[int, int], str]


@dataclass(frozen=True, slots=True)
class DrawnBoard:
    """A position as text: the rows of the board, which must not be wrapped, and the lines below.

    `compact` is the same position with the cells as close as they can be, and `pieces` has the
    pieces in words, for a terminal that is too narrow for both.
    """

    rows: tuple[str, ...]
    notes: tuple[str, ...]
    pieces: str = ""
    compact: "DrawnBoard | None" = None

    @property
    def width(self) -> int:
        """The number of columns that the rows need on a terminal."""
        return max(map(visible_width, self.rows))

    def __str__(self) -> str:
        return "\n".join((*self.rows, *self.notes))


def draw_board(
    board: BoardView,
    position: PositionView,
    colours: int = NO_COLOURS,
    flip: bool = False,
    state: str | None = None,
    has_figures: bool = False,
    columns: int = COLS,
) -> DrawnBoard:
    """Draws the position as text.

    Below the board it lists each side's edges, the pieces in hand, the meaning of the marks, and
    the position's own line of text, or `state` instead. `flip` turns the board by 180 degrees. With
    `colours` the pieces have the colours of their sides. With `has_figures` chessmen and men are
    drawn as such on dark and light squares, where the game has them, and lines without gaps. The
    cells are as far apart as fits into `columns`, or as close as they can be.
    """
    figures = piece_figures(board) if has_figures else {}
    letters = figures or piece_letters(board)
    piece_width = max(map(visible_width, letters.values()), default=1)
    layout = lay_out(board.board, flip, piece_width, (columns, BOARD_ROWS))
    page: Page = {}
    draw_lines(page, layout, has_figures)
    for row, col, label in layout.labels:
        _write(page, row, col, label)
    marks = marks_by_cell(board, position)
    codes = side_codes(board, colours) if colours else []
    styles = [f"{BOLD}\x1b[{code}m" for code in codes]
    chequered = squares(board.board, layout) if figures else {}
    if chequered and colours == FIXED_COLOURS:
        styles = []
    empty = _empty_texts(layout, joints(layout) if has_figures else {}, marks if chequered else {})
    for cell, (row, col) in layout.cells.items():
        _draw_cell(page, row, col, cell, board, position, letters, marks, layout, styles, empty)
    if colours == FIXED_COLOURS:
        _paint(page, chequered)
    elif not layout.shows_ids:
        _shade(page, chequered)
    notes = (
        *_border_lines(board, styles),
        *_hand_lines(board, position),
        *_store_lines(board, position),
        *_sign_lines(board, position, layout, letters, styles),
        *_legend_lines(board, position, _sides_text(board, figures, styles, chequered, colours)),
        position_text(board, position) if state is None else state,
    )
    compact = (
        draw_board(board, position, colours, flip, state, has_figures, columns=0)
        if columns
        else None
    )
    return DrawnBoard(tuple(_page_lines(page)), notes, pieces_text(board, position), compact)


def pieces_text(board: BoardView, position: PositionView, part: str = "") -> str:
    """The pieces in words, cell by cell, for players who cannot see the board.

    `part` restricts the list to the cells whose ids contain it.
    """
    if part and part not in "".join(cell_ids(board.board)):
        return f"There is no cell {part}."
    cells = [cell for cell in cell_ids(board.board) if part in cell]
    pieces = [
        f"{cell} {_kind(board, position.pieces[cell]).name}"
        for cell in cells
        if cell in position.pieces
    ]
    return ", ".join(pieces) if pieces else f"{part or 'The board'} is empty."


# --- drawing


def _shade(page: Page, squares: Mapping[tuple[int, int], bool]) -> None:
    """Draws the empty dark squares of a board without colours, and leaves the light ones blank."""
    for (row, col), is_dark in squares.items():
        if page.get((row, col)) == EMPTY:
            page[row, col] = BLANK
            if is_dark:
                around = [col - 1, col, col + 1]
                page.update({(row, at): SHADE for at in around if page.get((row, at), " ") == " "})


def _paint(page: Page, squares: Mapping[tuple[int, int], bool]) -> None:
    """Draws light and dark squares in their colours behind what stands on them."""
    for (row, col), is_dark in squares.items():
        for at in (col - 1, col, col + 1):
            character = page.get((row, at), BLANK)
            shown = BLANK if character == EMPTY else character
            page[row, at] = f"{SQUARE_CODES[is_dark]}{shown}{RESET}"


def _empty_texts(
    layout: Layout, joined: Mapping[str, str], marked: Collection[str]
) -> dict[str, str]:
    """What each cell shows when it is empty; `marked` are the marked cells of squares, which have
    no space for a mark and two digits.
    """
    if layout.shows_ids:
        return {cell: BLANK if cell in marked and len(cell) > 1 else cell for cell in layout.cells}
    return {
        cell: BLANK if cell in layout.blank else joined.get(cell, EMPTY) for cell in layout.cells
    }


def _draw_cell(
    page: Page,
    row: int,
    col: int,
    cell: str,
    board: BoardView,
    position: PositionView,
    letters: Mapping[str, str],
    marks: Mapping[str, tuple[str, str]],
    layout: Layout,
    styles: Sequence[str],
    empty: Mapping[str, str],
) -> None:
    kind = _kind(board, position.pieces[cell]) if cell in position.pieces else None
    text = letters.get(position.pieces[cell], "?") if kind else empty[cell]
    style = _style(kind, styles, layout.sides.get(cell)) if kind else ""
    if kind and kind.shape == "line" and text == "-":  # from edge to edge of its cell
        margin = max(0, layout.cell_width // 2 - 1)
        _write(page, row, col - margin, text * (2 * margin + 1), style)
    else:
        # The letter of the side stands left of the cell, so that the other letters are in a column.
        # So does the first digit of a square's number, as on a board of draughts.
        col -= 1 if visible_width(text) == 2 and (kind or isinstance(board.board, Grid)) else 0
        _write(page, row, col, text, style)
    cell_marks = marks.get(cell)
    if cell_marks:
        page[row, col - 1], page[row, col + visible_width(text)] = cell_marks


def _write(page: Page, row: int, col: int, text: str, style: str = "") -> None:
    for character in text:
        styled = f"{style}{character}{RESET}" if style else character
        width = character_width(character)
        if width == 0:  # it belongs to the character before it
            page[row, col - 1] = page.get((row, col - 1), "") + styled
            continue
        page[row, col] = styled
        col += width
        if width == 2:
            page[row, col - 1] = ""


def draw_lines(page: Page, layout: Layout, has_figures: bool = False) -> None:
    """Draws the lines between the cells of a board, in Unicode or in ASCII."""
    for first, second in layout.lines:
        (row, col), (to_row, to_col) = sorted((layout.cells[first], layout.cells[second]))
        steps = max(to_row - row, abs(to_col - col) if to_row == row else 0)
        stroke = "-" if to_row == row else "|" if to_col == col else "\\" if to_col > col else "/"
        for step in range(1, steps):
            page[
                row + round((to_row - row) * step / steps),
                col + round((to_col - col) * step / steps),
            ] = LINES[stroke] if has_figures else stroke


def _page_lines(page: Page) -> list[str]:
    rows: dict[int, dict[int, str]] = {}
    for (row, col), text in page.items():
        rows.setdefault(row, {})[col] = text
    return [_page_line(rows.get(row, {})) for row in range(min(rows), max(rows) + 1)]


def _page_line(characters: Mapping[int, str]) -> str:
    width = 1 + max(characters, default=-1)
    line = "".join(characters.get(col, " ") for col in range(width)).rstrip()
    while (merged := _SAME_STYLE.sub(r"\1\2", line)) != line:
        line = merged
    return line


def _kind(board: BoardView, name: str) -> Kind:
    return board.kinds.get(name) or Kind(name=name, text="?")


def _letter(kind: Kind) -> str:
    if kind.shape in STROKES and not kind.text:
        return STROKES[kind.shape][round(kind.angle / 45) % 4]
    letter = kind.text or kind.name[:1] or "?"
    return letter if kind.text else letter.lower() if kind.side == 1 else letter.upper()


def piece_letters(board: BoardView) -> dict[str, str]:
    """The text of each kind of piece: one letter, or the letters of its side and its kind if the
    letters of two kinds are equal but for their case: "wK", "bK".
    """
    plain = {name: _letter(kind) for name, kind in board.kinds.items()}
    pieces = {name: kind for name, kind in board.kinds.items() if kind.shape not in STROKES}
    folded = [plain[name].casefold() for name in pieces]
    if len(set(folded)) == len(folded):
        return plain
    return plain | {name: _with_side(board, kind, pieces.values()) for name, kind in pieces.items()}


def _with_side(board: BoardView, kind: Kind, kinds: Iterable[Kind]) -> str:
    """The letter of the kind's side and its own; the initial of "king" in "white king" if the kind
    has no text or two kinds of one side have the same letter.
    """
    own_side = [_letter(other).casefold() for other in kinds if other.side == kind.side]
    is_ambiguous = len(set(own_side)) < len(own_side)
    named = kind.name.split()[-1:] if is_ambiguous or not kind.text else []
    letter = named[0][0] if named else _letter(kind)
    return f"{_side_letter(board, kind.side)}{letter.upper()}"


def _side_letter(board: BoardView, side: int | None) -> str:
    """The first letter of the side's name; its number if both names begin with the same letter."""
    if side is None or side >= len(board.seats):
        return ""
    initials = [seat.name[:1].lower() for seat in board.seats]
    return initials[side] if len(set(initials)) == len(initials) else str(side + 1)


def _style(kind: Kind, styles: Sequence[str], cell_side: int | None = None) -> str:
    """The codes for a piece; those of the side of its cell for one of no side, and bold text if the
    cell has none either; nothing without colours.
    """
    if not styles:
        return ""
    side = cell_side if kind.side is None else kind.side
    return styles[side] if side is not None and side < len(styles) else BOLD


def _in_style(text: str, side: int, styles: Sequence[str]) -> str:
    """A sign of a side in a line of text, in the colour that it has on the board."""
    return f"{styles[side]}{text}{RESET}" if side < len(styles) else text


# --- marks and the lines below the board


def marks_by_cell(board: BoardView, position: PositionView) -> dict[str, tuple[str, str]]:
    """The characters around each marked cell: those of its most important mark."""
    return {
        cell: MARKS[mark][:2] if mark in MARKS else OTHER_MARK
        for cell, mark in _mark_of_cells(board, position).items()
    }


def _mark_of_cells(board: BoardView, position: PositionView) -> dict[str, str]:
    """The most important mark of each marked cell."""
    return {
        cell: mark
        for mark, targets in sorted(
            _targets_by_mark(position).items(), key=lambda item: _rank(item[0]), reverse=True
        )
        for target in targets
        for cell in board.targets.get(target, (target,))
    }


def _targets_by_mark(position: PositionView) -> dict[str, tuple[str, ...]]:
    """The marked cells, labels and buttons by mark.

    In a view without the mark `last`, the path of the last move has it.
    """
    return {
        "last": position.last,
        **{mark: cells for mark, cells in position.marks.items() if cells},
    }


def _rank(mark: str) -> int:
    return list(MARKS).index(mark) if mark in MARKS else len(MARKS)


def _sides_text(
    board: BoardView,
    figures: Mapping[str, str],
    styles: Sequence[str],
    chequered: Mapping[tuple[int, int], bool],
    colours: int,
) -> str:
    """Which figures are whose, as the board shows them; "" without figures."""
    if not figures:
        return ""
    if chequered and colours == FIXED_COLOURS:
        on_squares = {name: f" {figure} " for name, figure in figures.items()}
        return sides_text(board, on_squares, [SQUARE_CODES[True]] * len(board.seats))
    return sides_text(board, figures, styles)


def _sign_lines(
    board: BoardView,
    position: PositionView,
    layout: Layout,
    letters: Mapping[str, str],
    styles: Sequence[str],
) -> list[str]:
    """The meaning of the signs that a free-form board without coordinates shows: "Signs: f
    First's, s Second's, R rock, P paper, S scissors; empty: 1, 2".
    """
    if not layout.shows_ids or isinstance(board.board, Grid):
        return []
    sides: dict[str, str] = {}
    signs: dict[str, str] = {}
    shown = set(position.pieces.values())
    for name, kind in board.kinds.items():
        text = letters[name]
        if name not in shown:
            continue
        if kind.side is not None and text != _letter(kind):
            side = _side_letter(board, kind.side)
            sides[_in_style(side, kind.side, styles)] = possessive(board.seats[kind.side].name)
            signs[text.removeprefix(side)] = kind.name.split()[-1]
        elif text.isdigit() and kind.name.startswith(f"{text} "):
            signs["numbers in"] = kind.name.removeprefix(f"{text} ")
        else:
            signs[text] = kind.name
    empty = [cell for cell in layout.cells if cell not in position.pieces]
    names = ", ".join(empty[:MAX_EMPTY_NAMES]) + ", …" * (len(empty) > MAX_EMPTY_NAMES)
    meanings = ", ".join(f"{sign} {meaning}" for sign, meaning in (sides | signs).items())
    lists = [meanings] * bool(meanings) + [f"empty: {names}"] * bool(empty)
    return [SIGNS + "; ".join(lists)]


def _meaning(board: BoardView, mark: str, targets: Sequence[str]) -> str:
    """A mark in the legend; winning cells are a row only on a grid."""
    cells = [cell for target in targets for cell in board.targets.get(target, (target,))]
    if mark == "win" and not (isinstance(board.board, Grid) and len(cells) >= ROW_CELLS):
        return WON_WITH
    return MARKS[mark][2] if mark in MARKS else mark


def _legend_lines(board: BoardView, position: PositionView, sides: str) -> list[str]:
    """Which figures are whose, if the pieces are figures, and the meaning of the marks on the
    board; a mark on a button is spelled out: "Black passed".
    """
    entries = [sides] if sides else []
    shown = set(_mark_of_cells(board, position).values())
    for mark, targets in sorted(
        _targets_by_mark(position).items(), key=lambda item: _rank(item[0])
    ):
        left, right = MARKS[mark][:2] if mark in MARKS else OTHER_MARK
        meaning = _meaning(board, mark, targets)
        buttons = [target for target in targets if board.targets.get(target) == ()]
        if mark in shown:
            entries.append(f"{left} {right} {meaning}")
        entries += [_button_mark(board, position, button, mark, meaning) for button in buttons]
    return [", ".join(entries)] if entries else []


def _button_mark(
    board: BoardView, position: PositionView, button: str, mark: str, meaning: str
) -> str:
    """A mark on a button in words; that of the last move says who made it: "Black passed"."""
    if mark != "last" or position.turn is None or len(board.seats) <= 1 - position.turn:
        return f"{button}: {meaning}"
    return f"{board.seats[1 - position.turn].name} {PAST.get(button, f'played {button}')}"


def _border_lines(board: BoardView, styles: Sequence[str]) -> list[str]:
    """The edges of each side by their ends: "Edges: Red (X) a1-k1, a11-k11; …"."""
    if isinstance(board.board, Grid) or not board.board.borders:
        return []
    letters = {kind.side: piece_letters(board)[name] for name, kind in board.kinds.items()}
    edges: dict[int, list[str]] = {}
    for border in board.board.borders:
        edges.setdefault(border.side, []).append(f"{border.sites[0]}-{border.sites[-1]}")
    edges_text = [
        f"{board.seats[side].name} ({_in_style(letters.get(side, '?'), side, styles)})"
        f" {', '.join(ends)}"
        for side, ends in edges.items()
    ]
    return [f"Edges: {'; '.join(edges_text)}"]


def _store_lines(board: BoardView, position: PositionView) -> list[str]:
    """The seeds in the stores of each side: "Seeds: South 3 (right), North 5"."""
    if not board.stores:
        return []
    kinds = [[position.pieces.get(cell) for cell in cells] for cells in board.stores]
    counts = [sum(_kind(board, kind).count for kind in each if kind) for each in kinds]
    texts = [f"{seat.name} {count}" for seat, count in zip(board.seats, counts, strict=False)]
    return [f"{board.counted.capitalize()}s in store: {', '.join(texts)}"]


def _hand_lines(board: BoardView, position: PositionView) -> list[str]:
    pieces = [(_kind(board, kind).name, count) for kind, count in position.hands.items() if count]
    held = [f"{count} {name if count == 1 else plural(name)}" for name, count in pieces]
    return [f"In hand: {', '.join(held)}"] if held else []
