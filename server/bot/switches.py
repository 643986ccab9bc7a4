"""The switches that people turn on for themselves in a room, such as the coach; in memory only."""

from server.ids import IdentityId, RoomId
from server.runtime.hub import Hub
from server.runtime.room_runner import RoomRunner


class Switches:
    """The switches of the rooms that are open on this node. They end when the room is closed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        #: For each room its runner, and the names of the switches that are on, with the identity.
        self._on: dict[RoomId, tuple[RoomRunner, set[tuple[IdentityId, str]]]] = {}

    def turn(self, room_id: RoomId, identity: IdentityId, name: str, is_on: bool) -> None:
        """Turns a switch of a person on or off. Does nothing in a room that is not open."""
        self._forget_closed_rooms()
        runner = self._hub.runner(room_id)
        if runner is None:
            return
        _, switches = self._on.setdefault(room_id, (runner, set()))
        if is_on:
            switches.add((identity, name))
        else:
            switches.discard((identity, name))

    def names(self, room_id: RoomId, identity: IdentityId) -> frozenset[str]:
        """The names of the switches that are on for a person."""
        return frozenset(name for who, name in self._of(room_id) if who == identity)

    def people(self, room_id: RoomId, name: str) -> frozenset[IdentityId]:
        """The people for whom a switch is on."""
        return frozenset(who for who, each in self._of(room_id) if each == name)

    def _of(self, room_id: RoomId) -> set[tuple[IdentityId, str]]:
        entry = self._on.get(room_id)
        if entry is None or self._hub.runner(room_id) is not entry[0]:
            return set()
        return entry[1]

    def _forget_closed_rooms(self) -> None:
        closed = [
            room for room, (runner, _) in self._on.items() if self._hub.runner(room) is not runner
        ]
        for room_id in closed:
            del self._on[room_id]
