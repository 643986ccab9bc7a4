"""The board on the screen: the cursor walks its cells, and picked cells become moves."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from types import MappingProxyType

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from client.tui.picking import next_cells, partner_move, pick
from client.tui.picture import Ink, Picture, Signs, cell_size, draw_picture, picture_size
from engine.view import BoardView, MoveView, PositionView

#: The directions of the arrow keys, in rows and columns.
DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
#: No lines were drawn.
NOBODY: Mapping[str, int] = MappingProxyType({})


@lru_cache(maxsize=512)
def style_of(ink: Ink) -> Style:
    """The style of Textual for an ink."""
    return Style(
        color=ink.colour or None,
        bgcolor=ink.ground or None,
        bold=ink.is_bold or None,
        dim=ink.is_dim or None,
        reverse=ink.is_reversed or None,
    )


class BoardPane(Widget, can_focus=True):
    """Draws a position in the largest cells that fit. A board that does not fit scrolls around the
    cursor.

    Arrow keys reach it through its screen, which calls `walk`, `pick` and `drop`.
    """

    FOCUS_ON_CLICK = False

    class Finished(Message):
        """The picked cells are the whole path of these moves; several differ in their `choice`.
        `says` is how they were read, "" where that is plain.
        """

        def __init__(self, moves: tuple[MoveView, ...], says: str = "") -> None:
            super().__init__()
            self.moves = moves
            self.says = says

    class Clicked(Message):
        """The cell that is under the cursor now was clicked."""

    class Turned(Message):
        """The wheel was turned over the board: by one step, down or up."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    def __init__(self, colours: int, is_ascii: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self.colours = colours
        self._is_ascii = is_ascii
        self._board: BoardView | None = None
        self._position: PositionView | None = None
        self._moves: Sequence[MoveView] = ()
        self._flip = False
        self._letters: Mapping[str, str] = {}
        self._drawn_by: Mapping[str, int] = {}
        self._picture: Picture | None = None
        #: The first visible row and column of the picture.
        self._offset = (0, 0)
        #: The style of the pane itself.
        self._base = Style()
        self.selection: tuple[str, ...] = ()
        self.cursor: str | None = None

    def show(
        self,
        board: BoardView | None,
        position: PositionView | None,
        moves: Sequence[MoveView],
        flip: bool,
        letters: Mapping[str, str],
        drawn_by: Mapping[str, int] = NOBODY,
    ) -> None:
        """Shows a position and the moves that may be played in it. Lines have the colours of the
        sides that drew them.
        """
        if position != self._position or tuple(moves) != tuple(self._moves):
            self.selection = ()
        if board is not self._board:
            self.cursor = None
        self._board, self._position, self._moves = board, position, moves
        self._flip, self._letters, self._drawn_by = flip, letters, drawn_by
        self._draw()

    @property
    def picture(self) -> Picture | None:
        """The picture that is shown, if there is a position."""
        return self._picture

    @property
    def next_cells(self) -> frozenset[str]:
        """The cells to mark as those that may be picked next: all after the first pick; before it
        those of moves of one cell, unless that is most of the board.
        """
        if self._board is None:
            return frozenset()
        cells = next_cells(self._moves, self.selection, self._board.targets)
        if self.selection:
            return cells
        is_single = all(len(move.path) == 1 for move in self._moves)
        size = len(self._picture.boxes) if self._picture is not None else 0
        return cells if is_single and 2 * len(cells) <= size else frozenset()

    def size_for(self, columns: int, rows: int) -> tuple[int, int]:
        """The columns and rows that the board takes up of these."""
        if self._board is None or self._position is None:
            return columns, rows
        size = cell_size(self._board, self._flip, columns, rows, self._is_ascii)
        width, height = picture_size(self._board, self._flip, size, self._is_ascii)
        return min(columns, width), min(rows, height)

    def _draw(self) -> None:
        if self._board is None or self._position is None:
            self._picture = None
            self.refresh()
            return
        columns, rows = self.size.width, self.size.height
        before, before_at = self._picture, self._offset
        size = cell_size(self._board, self._flip, columns, rows, self._is_ascii)
        self._picture = draw_picture(
            self._board,
            self._position,
            size,
            flip=self._flip,
            colours=self.colours,
            is_ascii=self._is_ascii,
            signs=Signs(
                self.cursor, self.selection, self.next_cells, self._letters, self._drawn_by
            ),
        )
        self._scroll(rows, columns)
        self._refresh_rows(before, before_at)

    def _refresh_rows(self, before: Picture | None, before_at: tuple[int, int]) -> None:
        """Draws the rows anew that differ from the picture before, which was at this offset."""
        picture = self._picture
        assert picture is not None, "drawn before"
        if before is None or before_at != self._offset or before.width != picture.width:
            self.refresh()
            return
        top, columns = self._offset[0], self.size.width
        pairs = zip_longest(before.rows[top:], picture.rows[top:])
        changed = [row for row, (old, new) in enumerate(pairs) if old != new]
        if changed:
            self.refresh(*(Region(0, row, columns, 1) for row in changed))

    def _scroll(self, rows: int, columns: int) -> None:
        """Moves the visible part so that the cursor is in it, with a cell around it."""
        picture = self._picture
        assert picture is not None, "drawn before"
        top, left = self._offset
        if self.cursor is not None and (box := picture.boxes.get(self.cursor)) is not None:
            top = _into_view(top, rows, box.row - box.height, box.row + 2 * box.height)
            left = _into_view(left, columns, box.col - box.width, box.col + 2 * box.width)
        self._offset = (
            max(0, min(top, picture.height - rows)),
            max(0, min(left, picture.width - columns)),
        )

    def on_resize(self) -> None:
        """Draws the board in cells that fit."""
        self._draw()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines of the picture."""
        self._base = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A line of the picture."""
        picture = self._picture
        top, left = self._offset
        if picture is None or not 0 <= y + top < picture.height:
            return Strip.blank(self.size.width, self._base)
        base = self._base
        segments = [Segment(text, base + style_of(ink)) for text, ink in picture.rows[y + top]]
        return Strip(segments).crop_extend(left, left + self.size.width, base)

    def on_click(self, event: Click) -> None:
        """Picks the cell that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None or self._picture is None:
            return
        top, left = self._offset
        cell = self._picture.cell_at(offset.y + top, offset.x + left)
        if cell is not None:
            event.stop()
            self.cursor = cell
            self.post_message(self.Clicked())

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Tells the screen."""
        event.stop()
        self.post_message(self.Turned(1))

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Tells the screen."""
        event.stop()
        self.post_message(self.Turned(-1))

    def walk(self, rows: int, cols: int) -> None:
        """Moves the cursor to the next cell in a direction."""
        if self._picture is None or not self._picture.boxes:
            return
        if self.cursor is None or self.cursor not in self._picture.boxes:
            self.cursor = self._first_cell()
        self.cursor = self._picture.neighbour(self.cursor, rows, cols)
        self._draw()

    def scroll_rows(self, rows: int) -> bool:
        """Scrolls a board that does not fit; returns whether it can be scrolled."""
        if self._picture is None or self._picture.height <= self.size.height:
            return False
        top, left = self._offset
        self._offset = max(0, min(top + rows, self._picture.height - self.size.height)), left
        self.refresh()
        return True

    def _first_cell(self) -> str:
        """Where the cursor begins: on the last move, else in the middle of the board."""
        picture, position = self._picture, self._position
        assert picture is not None, "there is a board"
        assert position is not None, "there is a board"
        last = [cell for cell in position.last if cell in picture.boxes]
        if last:
            return last[-1]
        middle_row, middle_col = picture.height // 2, picture.width // 2
        return min(
            picture.boxes,
            key=lambda name: (
                abs(2 * (picture.boxes[name].row - middle_row))
                + abs(picture.boxes[name].col - middle_col)
            ),
        )

    def pick(self) -> bool:
        """Picks the cell under the cursor; returns whether that is part of a move."""
        if self._board is None or self._position is None or self.cursor is None:
            return False
        had = self.selection
        partner = partner_move(self._board, self._position, self._moves, had, self.cursor)
        if partner is not None:
            self.selection = ()
            self._draw()
            says = f"{had[0]} {self.cursor} is read as {partner.text or partner.id}"
            self.post_message(self.Finished((partner,), says))
            return True
        result = pick(self._moves, had, self.cursor, self._board.targets)
        self.selection = result.selection
        self._draw()
        if result.finished:
            self.post_message(self.Finished(result.finished))
        return bool(result.finished or result.selection or had)

    def drop(self) -> bool:
        """Drops what is picked; returns whether there was something."""
        had = bool(self.selection)
        self.selection = ()
        self._draw()
        return had


def _into_view(first: int, length: int, begin: int, end: int) -> int:
    """The first visible row or column so that those from `begin` to `end` are visible, or as many
    as there is space for, those in the middle.
    """
    if end - begin > length:
        return (begin + end - length) // 2
    return max(min(first, begin), end - length)
