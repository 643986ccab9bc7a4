"""Turns picked cells into moves: every move has a path of cells, of which a selection is the start.

This module does no I/O. The browser does it in the same way (client/web/board/clicks.js).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.view import BoardView, MoveView, PositionView

#: The cells of each label, such as those of a column.
Targets = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Pick:
    """The new selection, and the moves that the pick finished. Several finished moves have the same
    path and differ in their `choice`.
    """

    selection: tuple[str, ...] = ()
    finished: tuple[MoveView, ...] = ()


def _matches(element: str, cell: str, targets: Targets) -> bool:
    """Whether an element of a path is the cell, or a label that contains it."""
    return element == cell or cell in targets.get(element, ())


def candidates(
    moves: Sequence[MoveView], selection: Sequence[str], targets: Targets
) -> list[MoveView]:
    """The moves that begin with the selection."""
    return [
        move
        for move in moves
        if len(move.path) >= len(selection)
        and all(map(lambda element, cell: _matches(element, cell, targets), move.path, selection))
    ]


def next_cells(
    moves: Sequence[MoveView], selection: Sequence[str], targets: Targets
) -> frozenset[str]:
    """The cells that can be picked next."""
    at = len(selection)
    elements = {
        move.path[at] for move in candidates(moves, selection, targets) if len(move.path) > at
    }
    return frozenset(cell for each in elements for cell in targets.get(each, (each,)))


def pick(
    moves: Sequence[MoveView], selection: tuple[str, ...], cell: str, targets: Targets
) -> Pick:
    """The result of picking a cell: it extends the selection, finishes a move, starts another
    selection or drops the selection.
    """
    possible = candidates(moves, selection, targets)
    at = len(selection)
    going_on = [
        move for move in possible if len(move.path) > at and _matches(move.path[at], cell, targets)
    ]
    if going_on:
        extended = (*selection, cell)
        if all(len(move.path) == len(extended) for move in going_on):
            return Pick((), tuple(going_on))
        return Pick(extended)
    if not selection:
        return Pick()
    if selection[-1] == cell:
        return Pick((), tuple(move for move in possible if len(move.path) == at))
    ending = [move for move in possible if move.path and _matches(move.path[-1], cell, targets)]
    if ending:
        if len({move.path for move in ending}) == 1:
            return Pick((), tuple(ending))
        return Pick(selection)
    return pick(moves, (), cell, targets)


def partner_move(
    board: BoardView,
    position: PositionView,
    moves: Sequence[MoveView],
    selection: Sequence[str],
    cell: str,
) -> MoveView | None:
    """The only move of the one picked piece that also moves the piece of its side on the cell, when
    no move goes there: castling, picked as king and own rook.
    """

    def side_on(name: str) -> int | None:
        kind = board.kinds.get(position.pieces.get(name, ""))
        return None if kind is None else kind.side

    if len(selection) != 1 or side_on(cell) is None or side_on(cell) != side_on(selection[0]):
        return None
    own = candidates(moves, selection, board.targets)
    if any(_matches(element, cell, board.targets) for move in own for element in move.path):
        return None
    found = [move for move in own if cell in move.affects]
    return found[0] if len(found) == 1 else None


def buttons(moves: Sequence[MoveView], targets: Targets) -> list[MoveView]:
    """The moves that stand beside the board, such as a pass: their labels have no cells."""
    return [move for move in moves if len(move.path) == 1 and targets.get(move.path[0], None) == ()]


def choice_keys(moves: Sequence[MoveView]) -> dict[str, MoveView]:
    """A key for each of several moves with one path: the first letter of what they differ in, such
    as "q" for the queen; numbers if two begin with the same letter.
    """
    letters = [(move.choice or move.text)[:1].lower() for move in moves]
    if len(set(letters)) < len(moves) or not all(letter.isalnum() for letter in letters):
        letters = [str(number) for number in range(1, len(moves) + 1)]
    return dict(zip(letters, moves, strict=True))
