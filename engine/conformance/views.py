"""Checks of what players see and click: views, the clicks that make moves, and their time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import msgspec

from engine.conformance.playouts import expect, playouts, positions, spread
from engine.game import Game, Position
from engine.view import BoardView, MoveView, PositionView, cell_ids

#: The time for the move list and view of a position, in seconds.
BUDGET_S = 0.005
#: Positions that are timed.
TIMED_POSITIONS = 60
#: Tries on each of these positions; the fastest one counts.
REPEATS = 7


def check_views(game: Game) -> None:
    """Views survive encoding and stay on the board; clicks lead to every legal move and to nothing
    else.
    """
    for line in playouts(game):
        board = game.board(line[0].options)
        expect(survives(board, BoardView), "a board view is what it is on the wire", board)
        cells = set(cell_ids(board.board))
        expect(len(board.seats) == 2, "there are two seats", board.seats)
        for label, hit in board.targets.items():
            expect(
                label not in cells and set(hit) <= cells, "a target stands for cells", label, hit
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
    expect(survives(view, PositionView), "a view is what it is on the wire", where, view)
    expect(set(view.pieces) <= cells, "pieces stand on cells", where, view.pieces)
    expect(
        set(view.pieces.values()) <= set(board.kinds),
        "pieces are of the board's kinds",
        where,
        view.pieces,
    )
    expect(
        set(view.hands) <= set(board.kinds),
        "what waits beside the board is of its kinds",
        where,
        view.hands,
    )
    places = cells | set(board.targets)
    is_placed = all(set(marked) <= places for marked in view.marks.values())
    expect(is_placed, "marks are on cells, or on labels of targets", where, view.marks)
    expect(
        set(view.last) <= places,
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
    expect(
        view.text and view.text.isprintable(), "a view says in a line what there is to see", where
    )
    is_over = position.outcome() is not None
    expect(
        view.turn == (None if is_over else position.turn),
        "a view tells whose turn it is",
        where,
        view.turn,
    )
    check_clicks(position, board, cells)


def check_clicks(position: Position, board: BoardView, cells: set[str]) -> None:
    """Checks the clicks of one position: from every start, each click that a player may make next
    leads to legal moves only.
    """
    where = position.text()
    clicks = position.move_views()
    expect(survives(clicks, list[MoveView]), "moves are what they are on the wire", where, clicks)
    expect(
        [click.id for click in clicks] == position.tokens(), "each legal move has its clicks", where
    )
    for click in clicks:
        path = click.path
        expect(
            path and set(path) <= cells | set(board.targets),
            "clicks are on the board",
            where,
            click,
        )
        is_button = any(board.targets.get(element) == () for element in path)
        expect(
            not is_button or len(path) == 1,
            "a target without cells is a button, the one click of a move",
            click,
        )
        expect(click.text.strip() and click.text.isprintable(), "a move has a label", where, click)
        expect(set(click.affects) <= cells, "affected cells are on the board", where, click)
        is_ghost = click.ghost is None or (
            click.ghost[0] in cells and click.ghost[1] in board.kinds
        )
        expect(is_ghost, "a ghost is a kind on a cell", where, click)
    found = finished_moves(clicks, board.targets, where)
    expect(found == {click.id for click in clicks}, "clicks lead to every legal move", where, found)


@dataclass(slots=True)
class Selection:
    """A sequence of clicked cells: the moves that it completes, and the selections after one more
    click.
    """

    ending: list[MoveView] = field(default_factory=list)
    further: dict[str, "Selection"] = field(default_factory=dict)


def finished_moves(
    clicks: list[MoveView], targets: dict[str, tuple[str, ...]], where: str
) -> set[str]:
    """The moves that can be made by clicking, as the clients match clicks: a cell matches a path's
    element when it is that cell or one of the element's cells.
    """
    start = Selection()
    for click in clicks:
        paths = [start]
        for element in click.path:
            hits = targets.get(element) or (element,)
            paths = [path.further.setdefault(cell, Selection()) for path in paths for cell in hits]
        for path in paths:
            path.ending.append(click)
    found: set[str] = set()
    waiting = [start]
    while waiting:
        selection = waiting.pop()
        waiting += selection.further.values()
        if not selection.ending:
            continue
        moves = [(move.id, move.path, move.choice) for move in selection.ending]
        expect(not selection.further, "no move's clicks begin another's", where, moves)
        expect(
            len({path for _, path, _ in moves}) == 1,
            "the same clicks belong to one path",
            where,
            moves,
        )
        choices = {choice for _, _, choice in moves}
        is_clear = len(moves) == 1 or (len(choices) == len(moves) and all(choices))
        expect(is_clear, "moves of one path differ in their choice", where, moves)
        found |= {token for token, _, _ in moves}
    return found


def survives(value: Any, kind: Any) -> bool:
    return bool(msgspec.json.decode(msgspec.json.encode(value), type=kind) == value)


def check_budget(game: Game, clock: Callable[[], float] = time.thread_time) -> None:
    """Move list and view of a position take less than 5 ms uncompiled: a server does nothing else
    meanwhile.

    It measures processor time, and the fastest of several tries counts: a busy machine is not the
    game's fault.
    """
    for position in spread(list(positions(game)), TIMED_POSITIONS):
        times = [shown_in(position, clock)]
        while min(times) >= BUDGET_S and len(times) < REPEATS:
            times.append(shown_in(position, clock))
        took = (
            f"{position.text()} took {min(times) * 1000:.2f} ms at best, "
            f"{median(times) * 1000:.2f} ms in the middle"
        )
        expect(min(times) < BUDGET_S, "move list and view take less than 5 ms", took)


def shown_in(position: Position, clock: Callable[[], float]) -> float:
    """The seconds that it takes to show a position for the first time."""
    fresh = Position(position.game, position.options, position.state, position.last, position.past)
    begun = clock()
    fresh.view()
    fresh.move_views()
    return clock() - begun
