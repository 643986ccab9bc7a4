"""The messages that show a board: the view for all, the legal moves for the player to move."""

import structlog

from engine.game import GameFault
from engine.rules.errors import GameHung
from server.protocol import messages as wire
from server.protocol import views
from server.rooms.model import Room

log = structlog.get_logger()


def view_message(room: Room) -> wire.View | None:
    """Returns the board of the running or last match.

    Returns None before the first match, and when the rules fail.
    """
    try:
        return views.view(room, room.match) if room.match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return None


def turn_message(room: Room) -> tuple[wire.Turn | None, str | None]:
    """Returns the legal moves, and the identity that receives them.

    Returns (None, None) when no person is to move, and when the rules fail.
    """
    match = room.running_match
    try:
        turn = views.turn(room, match) if match else None
    except GameFault as fault:
        _log_fault(room, fault)
        return None, None
    if turn is None or match is None or match.position is None:
        return None, None
    return turn, match.seats[match.turn].identity


def _log_fault(room: Room, fault: GameFault) -> None:
    if isinstance(fault, GameHung):  # the watchdog has logged it, once
        return
    log.error("game fault", room=room.id, game=room.game_id, fault=str(fault), exc_info=True)
