"""The switches that people turn on for themselves in a room, such as the coach."""

from server.ids import IdentityId, RoomId
from server.rooms.questions import parse_question
from server.runtime.hub import Hub
from server.runtime.room_runner import RoomRunner

#: The words after the name of a switch that turn it.
ON, OFF = "on", "off"


class Switches:
    """The switches of the rooms that are open on this node.

    They are in memory only. When a node opens a room it finds them again in the room's last lines
    of chat, where `/NAME on` and `/NAME off` are the commands of the switch NAME: so the coach
    stays on over a restart of the server, and on another node.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        #: For each room its runner, and the names of the switches that are on, with the identity.
        self._on: dict[RoomId, tuple[RoomRunner, set[tuple[IdentityId, str]]]] = {}

    def turn(self, room_id: RoomId, identity: IdentityId, name: str, is_on: bool) -> None:
        """Turns a switch of a person on or off. Does nothing in a room that is not open."""
        self._forget_closed_rooms()
        switches = self._of(room_id)
        if switches is None:
            return
        if is_on:
            switches.add((identity, name))
        else:
            switches.discard((identity, name))

    def on_line(self, room_id: RoomId, identity: IdentityId, text: str) -> None:
        """Turns the switch that a line of chat names, if it does. For lines of other nodes."""
        question = parse_question(text, has_ai=False)
        if question is not None and question.words[:1] in ((ON,), (OFF,)):
            self.turn(room_id, identity, question.command, question.words[0] == ON)

    def names(self, room_id: RoomId, identity: IdentityId) -> frozenset[str]:
        """The names of the switches that are on for a person."""
        return frozenset(name for who, name in self._of(room_id) or () if who == identity)

    def people(self, room_id: RoomId, name: str) -> frozenset[IdentityId]:
        """The people for whom a switch is on."""
        return frozenset(who for who, each in self._of(room_id) or () if each == name)

    def _of(self, room_id: RoomId) -> set[tuple[IdentityId, str]] | None:
        """The switches of a room; None if it is not open."""
        runner = self._hub.runner(room_id)
        if runner is None or runner.room is None:
            return None
        runner_then, switches = self._on.get(room_id, (None, set[tuple[IdentityId, str]]()))
        if runner_then is not runner:
            switches = set()
            self._on[room_id] = (runner, switches)
            for line in runner.room.chat:
                if not line.by:
                    self.on_line(room_id, IdentityId(line.identity), line.text)
        return switches

    def _forget_closed_rooms(self) -> None:
        closed = [
            room for room, (runner, _) in self._on.items() if self._hub.runner(room) is not runner
        ]
        for room_id in closed:
            del self._on[room_id]
