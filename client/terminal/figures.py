"""The pieces of chess and draughts as figures of Unicode, and which squares of a board are dark.

This module does no I/O. A light side has outlined figures and a dark side filled ones; a board of
other colours keeps its letters.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from client.terminal.colours import is_dark
from client.terminal.layout import Layout
from client.terminal.wrapping import RESET
from engine.view import BoardView, Grid, Kind, Sites

#: The figures of chess, outlined and filled.
SPRITES: Mapping[str, str] = {
    "king": "♔♚", "queen": "♕♛", "rook": "♖♜", "bishop": "♗♝", "knight": "♘♞", "pawn": "♙♟",
}  # fmt: skip
#: Men or stones, and two on top of each other, as the kings of draughts.
SHAPES: Mapping[str, str] = {"disc": "○●", "stack": "◎◉"}
#: The strokes of lines between cells, in place of "-", "|", "\\" and "/".
LINES: Mapping[str, str] = {"-": "─", "|": "│", "\\": "\u2572", "/": "\u2571"}
#: Empty cells where lines meet, by the directions in which those go: up, right, down, left.
JOINTS: Mapping[str, str] = {
    "rd": "┌", "dl": "┐", "ur": "└", "ul": "┘", "rdl": "┬", "url": "┴", "urd": "├", "udl": "┤",
    "urdl": "┼", "rl": "─", "ud": "│",
}  # fmt: skip
#: An empty dark square without colours.
SHADE = "░"
#: The width of a square, in columns.
SQUARE_COLS = 3


def piece_figures(board: BoardView) -> dict[str, str]:
    """The figure of each kind of piece; none if a kind has none, or looks like another one."""
    shades = [is_dark(seat.colour) for seat in board.seats]
    if len(shades) != 2 or set(shades) != {True, False}:
        return {}
    figures = {name: _figure(kind, shades) for name, kind in board.kinds.items()}
    is_clear = all(figures.values()) and len(set(figures.values())) == len(figures)
    return figures if is_clear else {}


def _figure(kind: Kind, shades: list[bool | None]) -> str:
    """The figure of a kind; "" without one."""
    pair = SHAPES.get(kind.shape, "") if kind.sprite is None else SPRITES[kind.sprite]
    if not pair or kind.side is None or kind.mark is not None or kind.count:
        return ""
    return pair[int(bool(shades[kind.side]))]


def joints(layout: Layout) -> dict[str, str]:
    """The sign of each empty cell where lines meet; none for a cell with a slanted line."""
    ways: dict[str, set[str]] = {}
    for pair in layout.lines:
        for here, there in (pair, pair[::-1]):
            (row, col), (to_row, to_col) = layout.cells[here], layout.cells[there]
            down, right = to_row - row, to_col - col
            way = "?" if down and right else "d" if down > 0 else "u" if down else "rl"[right < 0]
            ways.setdefault(here, set()).add(way)
    found = {cell: "".join(way for way in "urdl?" if way in all_) for cell, all_ in ways.items()}
    return {cell: JOINTS[way] for cell, way in found.items() if way in JOINTS}


def squares(board: Grid | Sites, layout: Layout) -> dict[tuple[int, int], bool]:
    """The middles of the squares of a chequered board on the page, and whether each is dark; none
    if there is no room for squares.

    The square at the lower left is dark; where only some squares have names, those are dark.
    """
    if isinstance(board, Sites) or board.style != "checker":
        return {}
    rows = sorted({row for row, _ in layout.cells.values()}, reverse=True)
    cols = sorted({col for _, col in layout.cells.values()})
    if any(right - left != SQUARE_COLS for left, right in pairwise(cols)):
        return {}
    named = set(layout.cells.values())
    return {
        (row, col): (row, col) in named and (board.names is not None or (up + right) % 2 == 0)
        for up, row in enumerate(rows)
        for right, col in enumerate(cols)
    }


def sides_text(board: BoardView, figures: Mapping[str, str], styles: Sequence[str] = ()) -> str:
    """Which figures are whose, "♔ White, ♚ Black", in the styles of the sides if there are any."""
    first = {kind.side: figures[name] for name, kind in reversed(board.kinds.items())}
    shown = [
        f"{styles[seat]}{first[seat]}{RESET}" if styles else first[seat]
        for seat in range(len(board.seats))
    ]
    return ", ".join(f"{shown[seat]} {side.name}" for seat, side in enumerate(board.seats))
