"""The switches that people turn on for themselves in a room, such as the coach."""

from weakref import WeakKeyDictionary

from server.bot.registry import find_command
from server.ids import IdentityId, RoomId
from server.rooms.questions import parse_question
from server.runtime.node.hub import Hub
from server.runtime.room.room_runner import RoomRunner

#: The words after the name of a switch that turn it.
ON, OFF = "on", "off"
#: The switches of a room in which none is on.
NONE: frozenset[tuple[IdentityId, str]] = frozenset()


class Switches:
    """The switches of the rooms that are open on this node.

    They are in memory only. When a node opens a room it finds them again in the room's last lines
    of chat, where `/NAME on` and `/NAME off` are the commands of the switch NAME: so the coach
    stays on over a restart of the server, and on another node.
    """

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        #: The switches that are on in each open room: the identity and the name. A closed room has
        #: no runner any more.
        self._on: WeakKeyDictionary[RoomRunner, frozenset[tuple[IdentityId, str]]] = (
            WeakKeyDictionary()
        )

    def turn(self, room_id: RoomId, identity: IdentityId, name: str, is_on: bool) -> None:
        """Turns a switch of a person on or off. Does nothing in a room that is not open."""
        runner = self._hub.runner(room_id)
        if runner is not None and runner.room is not None:
            switch = {(identity, name)}
            switches = self._of(runner)
            self._on[runner] = switches | switch if is_on else switches - switch

    def on_line(self, room_id: RoomId, identity: IdentityId, text: str) -> None:
        """Turns the switch that a line of chat names, if it does. For lines of other nodes."""
        question = parse_question(text, has_ai=False)
        if question is None or question.words[:1] not in ((ON,), (OFF,)):
            return
        if find_command(question.command) is not None:
            self.turn(room_id, identity, question.command, question.words[0] == ON)

    def names(self, room_id: RoomId, identity: IdentityId) -> frozenset[str]:
        """The names of the switches that are on for a person."""
        return frozenset(name for who, name in self._in(room_id) if who == identity)

    def people(self, room_id: RoomId, name: str) -> frozenset[IdentityId]:
        """The people for whom a switch is on."""
        return frozenset(who for who, each in self._in(room_id) if each == name)

    def _in(self, room_id: RoomId) -> frozenset[tuple[IdentityId, str]]:
        """The switches of a room; none if it is not open."""
        runner = self._hub.runner(room_id)
        return NONE if runner is None else self._of(runner)

    def _of(self, runner: RoomRunner) -> frozenset[tuple[IdentityId, str]]:
        """The switches of a room, from its chat when they are first wanted."""
        switches = self._on.get(runner)
        if switches is None:
            if runner.room is None:  # the node is still reading it
                return NONE
            self._on[runner] = NONE
            for line in runner.room.chat:
                if not line.by:
                    self.on_line(runner.room_id, IdentityId(line.identity), line.text)
            switches = self._on[runner]
        return switches
