"""The players of a room who have no connection to any node, as this node knows it.

Presence is not in the log. Each node merges its own connections with the reports of the others, and
trusts the result only while the bus delivers their messages (`BusFlow`). So in a partition nobody
wins by a claim: the nodes cannot be sure that a player has gone.
"""

from collections.abc import Callable, Collection, Container, Sequence

from server.events import Moved, RoomEvent
from server.ids import IdentityId
from server.rooms.model import Absence, Room
from server.runtime.followers.bus_flow import BusFlow
from server.settings import Settings


class Absences:
    """Since when each absent player of one room has been gone."""

    __slots__ = ("_absent", "_flow", "_now_ms", "_settings", "_subscribed_ms")

    def __init__(self, flow: BusFlow, now_ms: Callable[[], int], settings: Settings) -> None:
        self._flow = flow
        self._now_ms = now_ms
        self._settings = settings
        #: The time since which this node receives the bus messages about the room.
        self._subscribed_ms = now_ms()
        #: The end of the last connection of each absent player, and whether they closed the page.
        self._absent: dict[IdentityId, tuple[int, bool]] = {}

    def __bool__(self) -> bool:
        """Whether a player of a running match is absent."""
        return bool(self._absent)

    def update(self, room: Room, present: Container[str]) -> None:
        """Notes which players of a running match are absent; `present` are the identities with a
        connection on any node.
        """
        if room.running_match is None:
            self._absent.clear()
            return
        players = {
            IdentityId(occupant.identity)
            for occupant in room.seats
            if occupant is not None and occupant.kind != "ai"
        }
        for identity in self._absent.keys() - players:
            del self._absent[identity]
        for identity in players:
            if identity in present:
                self._absent.pop(identity, None)
            else:
                self._absent.setdefault(identity, (self._now_ms(), False))

    def on_present(self, identities: Collection[str]) -> None:
        """Notes that these identities have a connection, even if it ends soon."""
        for identity in tuple(self._absent):
            if identity in identities:
                del self._absent[identity]

    def on_page_closed(self, identity: IdentityId) -> None:
        """Notes that the last connection of an identity ended because they closed the page."""
        since_ms, _ = self._absent.get(identity, (self._now_ms(), False))
        self._absent[identity] = (since_ms, True)

    def on_events(self, room: Room, events: Sequence[RoomEvent]) -> None:
        """Notes the moves of players: at that time they had a connection, to some node."""
        for event in events:
            if isinstance(event, Moved) and not event.forced and event.seat < len(room.seats):
                occupant = room.seats[event.seat]
                identity = IdentityId(occupant.identity if occupant is not None else "")
                if identity in self._absent:
                    self._absent[identity] = (self._now_ms(), False)

    def restart(self) -> None:
        """Forgets how long the players have been gone: bus messages about the room were lost."""
        self._subscribed_ms = self._now_ms()

    def find(self, identity: IdentityId) -> Absence | None:
        """The absence of a player; None for one who has a connection on any node."""
        absent = self._absent.get(identity)
        if absent is None:
            return None
        since_ms, has_closed_page = absent
        flow_since_ms = self._flow.since_ms
        certain_ms = None if flow_since_ms is None else max(flow_since_ms, self._subscribed_ms)
        settings = self._settings
        limit_ms = settings.page_closed_ms if has_closed_page else settings.gone_ms
        return Absence(since_ms, certain_ms, limit_ms)

    def claimable_ms(self, room: Room) -> tuple[int | None, ...]:
        """For each seat, the time from which the opponent may claim; None for a seat that is not
        absent, for an AI, and for a seat whose opponent is no other person.
        """
        people = [o for o in room.seats if o is not None and o.kind != "ai"]
        if not self._absent or len({occupant.identity for occupant in people}) < len(room.seats):
            return ()
        absences = [self.find(IdentityId(occupant.identity)) for occupant in people]
        if not any(absences):
            return ()
        return tuple(
            [None if absence is None else self._claimable_ms(absence) for absence in absences]
        )

    def _claimable_ms(self, absence: Absence) -> int:
        """The time from which the opponent may claim, if the bus flows from now on."""
        claimable_ms = absence.claimable_ms
        return self._now_ms() + absence.limit_ms if claimable_ms is None else claimable_ms
