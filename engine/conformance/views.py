"""Checks of the board view: its encoding, its cells, the clicks that make moves, and its time."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from numbers import Integral, Real
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from engine.conformance.playouts import expect, playouts, positions, spread
from engine.game import Game, Position
from engine.view import BoardView, MoveView, PositionView, cell_ids

#: The types of the parts of a view that JSON carries.
PLAIN = (str, int, float, bool, type(None))
#: Maximum time for the move list and view of a position, in seconds.
MAX_VIEW_S = 0.005
#: Positions that are timed.
TIMED_POSITIONS = 60
#: Maximum tries for each of these positions; the fastest one counts.
MAX_TRIES = 7


def check_views(game: Game) -> None:
    """Views survive encoding and name cells of the board only; clicks lead to every legal move and
    to nothing else.
    """
    for line in playouts(game):
        board = game.board(line[0].options)
        check_encoding(board, BoardView, "a board view survives encoding")
        cells = set(cell_ids(board.board))
        expect(len(board.seats) == 2, "a board has two seats", board.seats)
        for label, target_cells in board.targets.items():
            expect(
                label not in cells and set(target_cells) <= cells,
                "a target is a label for cells",
                label,
                target_cells,
            )
        for kind in board.kinds.values():
            expect(kind.side in (None, 0, 1), "a kind belongs to a seat or to none", kind)
            expect(0 <= kind.angle < 360, "a kind is turned by 0 to 359 degrees", kind)
        for position in line:
            check_view(position, board, cells)


def check_view(position: Position, board: BoardView, cells: set[str]) -> None:
    """Checks one position's view and clicks."""
    view = position.view()
    where = position.text()
    check_encoding(view, PositionView, "a view survives encoding", where)
    expect(set(view.pieces) <= cells, "pieces stand on cells", where, view.pieces)
    expect(
        set(view.pieces.values()) <= set(board.kinds),
        "pieces are of the board's kinds",
        where,
        view.pieces,
    )
    expect(
        set(view.hands) <= set(board.kinds),
        "hands are of the board's kinds",
        where,
        view.hands,
    )
    cells_and_labels = cells | set(board.targets)
    are_known = all(set(mark_cells) <= cells_and_labels for mark_cells in view.marks.values())
    expect(are_known, "marks are on cells, or on labels of targets", where, view.marks)
    expect(
        set(view.last) <= cells_and_labels,
        "the last move is on cells, or on labels of targets",
        where,
        view.last,
    )
    expect(
        bool(view.last) == (position.last is not None),
        "the last move is shown when there is one",
        where,
        view.last,
    )
    expect(view.text and view.text.isprintable(), "a view has a line of text", where)
    is_over = position.outcome() is not None
    expect(
        view.turn == (None if is_over else position.turn),
        "a view names the seat to move",
        where,
        view.turn,
    )
    check_clicks(position, board, cells)


def check_clicks(position: Position, board: BoardView, cells: set[str]) -> None:
    """Checks the clicks of one position: they are on the board and lead to every legal move."""
    where = position.text()
    move_views = position.move_views()
    check_encoding(move_views, list[MoveView], "move views survive encoding", where)
    expect(
        [move_view.id for move_view in move_views] == position.tokens(),
        "each legal move has its clicks",
        where,
    )
    for move_view in move_views:
        path = move_view.path
        expect(
            path and set(path) <= cells | set(board.targets),
            "clicks are on the board",
            where,
            move_view,
        )
        is_button = any(board.targets.get(element) == () for element in path)
        expect(
            not is_button or len(path) == 1,
            "a target without cells is a button, the one click of a move",
            move_view,
        )
        expect(
            move_view.text.strip() and move_view.text.isprintable(),
            "a move has a label",
            where,
            move_view,
        )
        expect(set(move_view.affects) <= cells, "affected cells are on the board", where, move_view)
        is_ghost_valid = move_view.ghost is None or (
            move_view.ghost[0] in cells and move_view.ghost[1] in board.kinds
        )
        expect(is_ghost_valid, "a ghost is a kind on a cell", where, move_view)
    clickable = clickable_moves(move_views, board.targets, where)
    expect(
        clickable == {move_view.id for move_view in move_views},
        "clicks lead to every legal move",
        where,
        clickable,
    )


@dataclass(slots=True)
class Selection:
    """A node of the tree of clicks: the moves completed there, and its children by clicked cell."""

    completed: list[MoveView] = field(default_factory=list)
    next: dict[str, "Selection"] = field(default_factory=dict)


def clickable_moves(
    move_views: list[MoveView], targets: dict[str, tuple[str, ...]], where: str
) -> set[str]:
    """Returns the tokens of the moves that can be made by clicking, as the clients match clicks.

    A clicked cell matches an element of a path that is that cell, or a label for it.
    """
    start = Selection()
    for move_view in move_views:
        selections = [start]
        for element in move_view.path:
            hits = targets.get(element) or (element,)
            selections = [
                selection.next.setdefault(cell, Selection())
                for selection in selections
                for cell in hits
            ]
        for selection in selections:
            selection.completed.append(move_view)
    tokens: set[str] = set()
    waiting = [start]
    while waiting:
        selection = waiting.pop()
        waiting += selection.next.values()
        if not selection.completed:
            continue
        moves = [(move.id, move.path, move.choice) for move in selection.completed]
        expect(not selection.next, "no move's path is a prefix of another's", where, moves)
        expect(
            len({path for _, path, _ in moves}) == 1,
            "the same clicks belong to one path",
            where,
            moves,
        )
        choices = {choice for _, _, choice in moves}
        is_clear = len(moves) == 1 or (len(choices) == len(moves) and all(choices))
        expect(is_clear, "moves of one path differ in their choice", where, moves)
        tokens |= {token for token, _, _ in moves}
    return tokens


def check_encoding(views: Any, kind: Any, promise: str, *where: object) -> None:
    """Views are the same after JSON. The message names the first part that is not, and says what to
    write in its place.
    """
    try:
        if msgspec.json.decode(msgspec.json.encode(views), type=kind) == views:
            return
        fault: object = views
    except (TypeError, msgspec.ValidationError) as error:
        fault = error
    wrong = next(((name, part) for name, part in leaves(views) if type(part) not in PLAIN), None)
    if wrong is not None:
        fault = f"{wrong[0]} is {describe_type(wrong[1])}"
    expect(False, promise, *where, fault)


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the parts of a view that consist of no others, each with its name: `hands['R']`."""
    if isinstance(value, Struct):
        for field_name in value.__struct_fields__:
            prefix = f"{name}." if name else ""
            yield from leaves(getattr(value, field_name), f"{prefix}{field_name}")
    elif type(value) is dict:
        for key, each in value.items():
            yield f"a key of {name}", key
            yield from leaves(each, f"{name}[{key!r}]")
    elif type(value) is tuple:
        for number, each in enumerate(value):
            yield from leaves(each, f"{name}[{number}]")
    elif type(value) is list and not name:  # the views of several moves
        for each in value:
            yield from leaves(each)
    else:
        yield name, value


def describe_type(value: object) -> str:
    """The type of a part that JSON cannot carry, and what to write in its place."""
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    if isinstance(value, str):
        plain = "str(...)"
    elif isinstance(value, Integral):
        plain = "int(...)"
    elif isinstance(value, Real):
        plain = "float(...)"
    elif isinstance(value, Iterable):
        plain = "tuple(...) of plain texts and numbers"
    else:
        plain = "int(...) for a number, bool(...) for yes or no, or str(...)"
    return f"a {module}{kind.__name__}; write {plain}"


def check_budget(game: Game, clock: Callable[[], float] = time.thread_time) -> None:
    """The move list and view of a position take less than 5 ms, since they block the event loop.

    The check measures processor time, and the fastest of several tries counts, so that a busy
    machine does not fail a game.
    """
    for position in spread(list(positions(game)), TIMED_POSITIONS):
        times = [time_view(position, clock)]
        while min(times) >= MAX_VIEW_S and len(times) < MAX_TRIES:
            times.append(time_view(position, clock))
        timing = (
            f"{position.text()} took {min(times) * 1000:.2f} ms at best, "
            f"{median(times) * 1000:.2f} ms in the median"
        )
        expect(min(times) < MAX_VIEW_S, "move list and view take less than 5 ms", timing)


def time_view(position: Position, clock: Callable[[], float]) -> float:
    """Returns the seconds that the view and move list of a position take without any cache."""
    uncached = Position(
        position.game, position.options, position.state, position.last, position.past
    )
    start_s = clock()
    uncached.view()
    uncached.move_views()
    return clock() - start_s
