"""The board view, version 1: clients draw any game from it, so a new game needs no client code.

A game describes its board once for each room (`BoardView`) and then every position
(`PositionView`). The player to move also receives the legal moves as click sequences (`MoveView`).
Clients match prefixes of these sequences, so one rule serves placements, from-to moves, multiple
jumps and promotions. A new field needs a default; a field is never removed and never changes its
meaning.

Rules compute with the numbers of numpy, which no encoder knows: the fields that are numbers take
them and keep Python's.
"""

from numbers import Integral, Real
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

#: The types of numbers that are encoded, and None for a field without one.
_PLAIN = (int, float, type(None))
#: Seats at every board, one for each side.
SEATS = 2
#: The look of a board; with "points" the cells of a grid are the intersections of its lines.
Style = Literal["checker", "felt", "holes", "plain", "bare", "points"]
#: The look of a piece without a sprite: a stack is two discs, as for a king in draughts; a stick
#: stands upright; a line crosses its cell from the left edge to the right edge. Rock, paper and
#: scissors are drawn as such.
Shape = Literal["disc", "cross", "ring", "stick", "stack", "line", "rock", "paper", "scissors"]
Sprite = Literal["king", "queen", "rook", "bishop", "knight", "pawn"]
SiteShape = Literal["square", "hex", "point", "round"]


def _plain_number(value: Any) -> Any:
    """The int or float that is equal to a number; any other value as it is."""
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _keep_plain_numbers(view: Struct, *fields: str) -> None:
    """Replaces the numbers of numpy in these fields of a new view."""
    for field in fields:
        if type(value := getattr(view, field)) not in _PLAIN:
            force_setattr(view, field, _plain_number(value))


class Grid(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="grid"):
    """A rectangle of cells, named a1, b1, … (column letter, row number) or by `names[row][col]`.

    A name of None means that there is no cell.
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

    def __post_init__(self) -> None:
        _keep_plain_numbers(self, "cols", "rows")


class Site(Struct, frozen=True, omit_defaults=True):
    """A cell of a free-form board; x grows to the right, y downwards, in cell widths.

    `side` is the side that the cell belongs to, such as a house of Kalah: it has a rim in the
    side's colour.
    """

    id: str
    x: float
    y: float
    shape: SiteShape = "square"
    side: int | None = None

    def __post_init__(self) -> None:
        _keep_plain_numbers(self, "side")
        if type(self.x) not in _PLAIN or type(self.y) not in _PLAIN:
            _keep_plain_numbers(self, "x", "y")


class Border(Struct, frozen=True, omit_defaults=True):
    """An edge of the board that belongs to a side: the sites along it, whose outer edges are drawn
    in the side's colour.
    """

    side: int
    sites: tuple[str, ...]

    def __post_init__(self) -> None:
        _keep_plain_numbers(self, "side")


class Sites(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="sites"):
    """A free-form board of sites; each entry of `lines` is drawn as a line through its sites."""

    sites: tuple[Site, ...]
    lines: tuple[tuple[str, ...], ...] = ()
    style: Style = "plain"
    borders: tuple[Border, ...] = ()
    #: The second seat sees the board from the other side.
    flips: bool = False


class Kind(Struct, frozen=True, omit_defaults=True):
    """The look of a kind of piece and its name, which screen readers speak.

    `text` is its letter on a terminal. `angle` turns the shape clockwise, in degrees from 0 to 359:
    a stick at 90 lies flat, a line at 90 is vertical. A kind with a `count` is a heap of so many
    seeds, drawn with its mark.
    """

    name: str
    side: int | None = None
    shape: Shape = "disc"
    sprite: Sprite | None = None
    mark: str | None = None
    text: str | None = None
    angle: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        _keep_plain_numbers(self, "side", "angle", "count")


class SeatView(Struct, frozen=True, omit_defaults=True):
    """The name and the colour of a side."""

    name: str
    colour: str


class BoardView(Struct, frozen=True, omit_defaults=True):
    """The part of the view that stays the same for a whole room.

    `targets` maps a label, such as a column, to the cells that count as clicks on it. A label
    without cells, such as "pass", is a button beside the board. The server plays the move of such a
    button for a player who has no other move. `counted` is the noun for a side's pieces, such as
    "disc"; clients then show how many pieces each side has on the board. With `stores`, cells by
    side, they show how many seeds lie in the side's cells there.
    """

    board: Grid | Sites
    kinds: dict[str, Kind]
    seats: tuple[SeatView, ...]
    targets: dict[str, tuple[str, ...]] = {}
    counted: str = ""
    stores: tuple[tuple[str, ...], ...] = ()


class PositionView(Struct, frozen=True, omit_defaults=True):
    """One position: pieces by cell, the seat to move (None when finished), marks by name, the last
    move's path and one line of text.

    `hands` counts the pieces of each kind that wait beside the board. `last` and the `marks` name
    cells or labels of `targets`: a label with cells stands for those cells, a label without cells
    for its button. Clients draw the mark named "last"; without that mark, a terminal draws the
    field `last`.
    """

    pieces: dict[str, str]
    turn: int | None
    text: str
    marks: dict[str, tuple[str, ...]] = {}
    last: tuple[str, ...] = ()
    hands: dict[str, int] = {}
    #: The last move in the notation of the game, if that differs from its token.
    played: str = ""

    def __post_init__(self) -> None:
        if type(self.turn) not in _PLAIN:
            force_setattr(self, "turn", _plain_number(self.turn))
        if self.hands and any(type(count) is not int for count in self.hands.values()):
            hands = {kind: _plain_number(count) for kind, count in self.hands.items()}
            force_setattr(self, "hands", hands)


class MoveView(Struct, frozen=True, omit_defaults=True):
    """One legal move: its token, the clicks that make it and a label.

    `choice` distinguishes moves with equal paths. `affects` and `ghost` are for hover previews.
    """

    id: str
    path: tuple[str, ...]
    text: str
    choice: str | None = None
    affects: tuple[str, ...] = ()
    ghost: tuple[str, str] | None = None


def cell_ids(board: Grid | Sites) -> tuple[str, ...]:
    """Returns the ids of all cells of a board; those of a grid row by row from its origin."""
    if isinstance(board, Sites):
        return tuple(site.id for site in board.sites)
    if board.names is not None:
        return tuple(name for row in board.names for name in row if name is not None)
    return tuple(
        f"{chr(97 + col)}{row + 1}" for row in range(board.rows) for col in range(board.cols)
    )
