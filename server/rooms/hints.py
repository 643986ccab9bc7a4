"""The rule of hints. A hint makes no events: the bot answers the asker alone."""

from server.codes import Code
from server.commands import Command, Hint
from server.events import RoomEvent
from server.rooms import permissions
from server.rooms.model import CommandRejected, Moment, Room, Rule
from server.rooms.permissions import check, require_running_match, viewer_of


def hint(room: Room, command: Hint, moment: Moment) -> list[RoomEvent]:
    """Returns no events. Raises CommandRejected if the viewer may not have the hint."""
    check(permissions.hint(room, viewer_of(room, moment.actor.identity)))
    ply = require_running_match(room).ply
    if command.ply != ply:
        raise CommandRejected(
            Code.MOVE_STALE, f"the position is another one: {ply} plies are played"
        )
    return []


#: The rules of this module.
RULES: dict[type[Command], Rule] = {Hint: hint}
