"""The messages about a room that are not events: description, snapshot, board, legal moves."""

from msgspec.structs import replace

from engine.game import GameFault
from engine.view import BoardView, PositionView
from server.protocol import messages as wire
from server.rooms.model import Match, Room


def description(room: Room) -> wire.RoomDescription:
    """The room's description, which never changes."""
    board: BoardView | None = None
    if room.game is not None:
        try:
            board = room.game.board(room.options)
        except GameFault:
            board = None
    return wire.RoomDescription(
        game=room.game_id, title=room.game.title if room.game else room.game_id,
        options=dict(room.options), visibility=room.visibility,
        host=room.host, created_ms=room.created_ms,
        levels=room.game.levels if room.game else 1, view=board,
    )  # fmt: skip


def snapshot(room: Room, player: bool) -> wire.Snapshot:
    """The whole room as a player, or as a spectator, may see it."""
    chat = tuple(line for line in room.chat if line.to == "room" or not player)
    match = room.match.state() if room.match else None
    return wire.Snapshot(
        room=room.id, v=room.v, seats=room.seats, match=match, offers=room.offers, chat=chat
    )


def view(room: Room, match: Match) -> wire.View | None:
    """The board of a match; None if this server cannot play it.

    Raises GameFault when the rules fail.
    """
    if match.position is None:
        return None
    position_view = match.position.view()
    if match.over is not None and position_view.turn is not None:
        position_view = _without_turn(position_view, match.over)
    return wire.View(room=room.id, v=room.v, match=match.id, ply=match.ply, view=position_view)


def _without_turn(position_view: PositionView, over: wire.MatchResult) -> PositionView:
    """The view of a match that did not end on the board: no seat to move, the reason as text."""
    return replace(position_view, turn=None, text=over.reason)


def turn(room: Room, match: Match) -> wire.Turn | None:
    """The legal moves of the seat to move; None if no person is to move.

    Raises GameFault when the rules fail.
    """
    position = match.position
    if position is None or match.over is not None or room.frozen is not None:
        return None
    if match.seats[match.turn].kind == "ai":
        return None
    return wire.Turn(
        room=room.id, v=room.v, match=match.id, ply=match.ply, moves=tuple(position.move_views()),
        claim=position.claim(),
    )  # fmt: skip
