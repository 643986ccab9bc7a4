"""The frames that show a board: the view for every viewer, the legal moves for the side to move."""

import structlog

from engine.game import GameFault
from server.protocol.codec import format_message
from server.protocol.frames import text_frame
from server.rooms import views
from server.rooms.model import Room

log = structlog.get_logger()


def view_frame(room: Room) -> bytes:
    """Returns the board of the running or last match as a frame.

    Returns b"" before the first match, and when the rules fail.
    """
    try:
        view = views.view(room, room.match) if room.match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return b""
    return text_frame(format_message(view)) if view else b""


def turn_frame(room: Room) -> tuple[bytes, str | None]:
    """Returns the legal moves as a frame, and the identity that receives the frame.

    Returns (b"", None) when no person is to move, and when the rules fail.
    """
    match = room.playing
    try:
        turn = views.turn(room, match) if match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return b"", None
    if turn is None or match is None or match.position is None:
        return b"", None
    return text_frame(format_message(turn)), match.seats[match.position.turn].identity


def _log_fault(room: Room, fault: GameFault) -> None:
    log.error("game fault", room=room.id, game=room.game_id, fault=str(fault), exc_info=True)
