"""The boards after lines of moves, which a viewer shows beside the nodes of a search."""

from typing import Any

from engine.game import Position
from engine.rules.registry import load_game
from engine.teach.requests.request import BoardsRequest


def boards_of(request: BoardsRequest) -> dict[str, Any]:
    """Returns the views of the positions after each line, with the legal moves if asked for.

    Raises GameError for what is no position, option or legal move.
    """
    game = load_game(request.game)
    start = (
        game.start(request.options)
        if request.position is None
        else game.position(request.position, request.options)
    )
    known: dict[tuple[str, ...], Position] = {(): start}
    positions = [position_after(line, known) for line in request.lines]
    found: dict[str, Any] = {"positions": [position.view() for position in positions]}
    if request.legal:
        found["moves"] = [position.move_views() for position in positions]
        found["board"] = game.board(start.options)
        found["texts"] = [position.text() for position in positions]
    return found


def position_after(line: tuple[str, ...], known: dict[tuple[str, ...], Position]) -> Position:
    """Returns the position after a line; adds each position on the way to the known ones."""
    for count in range(1, len(line) + 1):
        if line[:count] not in known:
            before = known[line[: count - 1]]
            known[line[:count]] = before.play(before.parse_move(line[count - 1]))
    return known[line]
