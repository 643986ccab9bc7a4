"""The board view, version 1: a generic board draws it, so that a new game needs no client code.

A game describes its board once for a room (`BoardView`) and each position (`PositionView`); the
seat to move also gets its moves as click sequences (`MoveView`). Clients match prefixes of the
paths, so one rule serves placements, from-to moves, multi-jumps and promotions. New fields may be
added with defaults; a field is never removed and never changes its meaning.
"""

from typing import Literal

from msgspec import Struct

#: The look of a board; with "points" the cells of a grid are the crossings of its lines.
Style = Literal["checker", "felt", "holes", "plain", "bare", "points"]
#: The look of a piece without a sprite: a stack is two discs, a king of draughts; a stick stands
#: upright; a line crosses its cell from the left edge to the right one.
Shape = Literal["disc", "cross", "ring", "stick", "stack", "line"]
Sprite = Literal["king", "queen", "rook", "bishop", "knight", "pawn"]
SiteShape = Literal["square", "hex", "point", "round"]


class Grid(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="grid"):
    """A rectangle of cells named a1, b1, … (column letter, row number)
    or by `names[row][col]`, where None is no cell.
    """

    cols: int
    rows: int
    origin: Literal["bottom-left", "top-left"] = "bottom-left"
    names: tuple[tuple[str | None, ...], ...] | None = None
    style: Style = "plain"
    gravity: bool = False
    labels: bool = True
    #: The second seat sees the board from the other side.
    flips: bool = False


class Site(Struct, frozen=True, omit_defaults=True):
    """A site of a free-form board; x to the right and y downwards, one cell being one unit
    wide.
    """

    id: str
    x: float
    y: float
    shape: SiteShape = "square"


class Border(Struct, frozen=True, omit_defaults=True):
    """An edge of the board that belongs to a side: the sites along it, whose outer edges are drawn
    in the side's colour.
    """

    side: int
    sites: tuple[str, ...]


class Sites(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="sites"):
    """A free-form board of sites; each entry of `lines` is drawn as a line through its sites."""

    sites: tuple[Site, ...]
    lines: tuple[tuple[str, ...], ...] = ()
    style: Style = "plain"
    borders: tuple[Border, ...] = ()


class Kind(Struct, frozen=True, omit_defaults=True):
    """The look of a kind of piece, and its name for people and screen readers; `text` is its letter
    on a terminal.

    `angle` turns the shape clockwise, in degrees from 0 to 359: a stick of 90 lies, a line of 90
    goes up and down.
    """

    name: str
    side: int | None = None
    shape: Shape = "disc"
    sprite: Sprite | None = None
    mark: str | None = None
    text: str | None = None
    angle: int = 0


class SeatView(Struct, frozen=True, omit_defaults=True):
    """The name of a side and the colour that stands for it."""

    name: str
    colour: str


class BoardView(Struct, frozen=True, omit_defaults=True):
    """The part of the view that stays the same for a whole room; `targets` maps a label (a column)
    to the cells that a click may hit for it; a label without cells ("pass") is a button beside the
    board. A move by such a button is played for a player who has no other move.
    """

    board: Grid | Sites
    kinds: dict[str, Kind]
    seats: tuple[SeatView, ...]
    targets: dict[str, tuple[str, ...]] = {}


class PositionView(Struct, frozen=True, omit_defaults=True):
    """One position: pieces by cell, the seat to move (None when finished), marks by name, the last
    move's path, one line of text; `hands` counts the pieces of each kind that wait beside the
    board.

    `last` and each of the `marks` name cells, or labels of `targets`: a label that has cells stands
    for them, a label without cells is its button, and is shown beside the board. The clients draw
    the mark `last`; where there is none, a terminal draws `last`.
    """

    pieces: dict[str, str]
    turn: int | None
    text: str
    marks: dict[str, tuple[str, ...]] = {}
    last: tuple[str, ...] = ()
    hands: dict[str, int] = {}
    #: The last move in the notation of the game, where that is not its token.
    played: str = ""


class MoveView(Struct, frozen=True, omit_defaults=True):
    """One legal move: its token, the clicks that make it, a label;
    `choice` distinguishes moves with equal paths, the other fields are for hover previews.
    """

    id: str
    path: tuple[str, ...]
    text: str
    choice: str | None = None
    affects: tuple[str, ...] = ()
    ghost: tuple[str, str] | None = None


def cell_ids(board: Grid | Sites) -> tuple[str, ...]:
    """Every cell of a board, row by row from its origin."""
    if isinstance(board, Sites):
        return tuple(site.id for site in board.sites)
    if board.names is not None:
        return tuple(name for row in board.names for name in row if name is not None)
    return tuple(
        f"{chr(97 + col)}{row + 1}" for row in range(board.rows) for col in range(board.cols)
    )
