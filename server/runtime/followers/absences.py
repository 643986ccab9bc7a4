"""The players of a room who have no connection to any node, as this node knows it.

Presence is not in the log. Each node merges its own connections with the reports of the others, and
trusts the result only while the bus delivers their messages (`BusFlow`). So in a partition nobody
wins by a claim: the nodes cannot be sure that a player has gone.

All durations are counted on one clock (`ListeningClock`), so neither a jump of the time of day nor
a stall of this node gives anybody a win. And the absence of one player counts only while the other
one, who may claim for it, is in the room: when both have gone, the first to come back waits for
what is left of the time.
"""

from collections.abc import Collection, Container, Sequence

from server.events import Moved, Occupant, RoomEvent
from server.ids import NOBODY, IdentityId
from server.rooms.model import Absence, Room
from server.runtime.followers.bus_flow import BusFlow
from server.settings import Settings
from server.time_controls import Speed, speed_of

#: The time after which an absent player's opponent may claim a match with a clock, in ms; a third
#: of it after a closed page.
GONE_MS: dict[Speed, int] = {
    "bullet": 30_000, "blitz": 30_000, "rapid": 60_000, "classical": 120_000,
}  # fmt: skip


class _Gone:
    """A player who has no connection. All times are those of the flow's clock."""

    __slots__ = ("at_ms", "has_closed_page", "since_ms", "sure_since_ms")

    def __init__(self, at_ms: int) -> None:
        #: The end of the last connection, which was closed with the page or not.
        self.at_ms = at_ms
        self.has_closed_page = False
        #: That end, and the time since which this node is sure of it: both moved on by what the
        #: opponent has been away since.
        self.since_ms = at_ms
        self.sure_since_ms = at_ms


class Absences:
    """How long each absent player of one room has been gone."""

    __slots__ = (
        "_absent", "_clock", "_flow", "_limit_ms", "_page_closed_ms", "_players", "_settings",
        "_subscribed_ms",
    )  # fmt: skip

    def __init__(self, flow: BusFlow, settings: Settings) -> None:
        self._flow = flow
        self._clock = flow.clock
        self._settings = settings
        #: The time since which this node receives the bus messages about the room.
        self._subscribed_ms = self._clock.now_ms()
        #: The players of the running match, also those whose seat an AI keeps.
        self._players: tuple[IdentityId, ...] = ()
        self._absent: dict[IdentityId, _Gone] = {}
        self._limit_ms, self._page_closed_ms = settings.gone_ms, settings.page_closed_ms

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
        self._set_limits(room)
        self._players = tuple(map(_player, room.seats))
        for identity in self._absent.keys() - {*self._players}:
            del self._absent[identity]
        for identity in {*self._players} - {NOBODY}:
            if identity in present:
                self._end(identity)
            elif identity not in self._absent:
                self._absent[identity] = _Gone(self._clock.now_ms())

    def _set_limits(self, room: Room) -> None:
        """With a clock a player may claim earlier or later, by the class of the control."""
        clock = None if room.match is None else room.match.clock
        limit_ms = None if clock is None else GONE_MS.get(speed_of(clock.control))
        if limit_ms is None:
            settings = self._settings
            self._limit_ms, self._page_closed_ms = settings.gone_ms, settings.page_closed_ms
        else:
            self._limit_ms, self._page_closed_ms = limit_ms, limit_ms // 3

    def on_present(self, identities: Collection[str]) -> None:
        """Notes that these identities have a connection, even if it ends soon."""
        for identity in tuple(self._absent):
            if identity in identities:
                self._end(identity)

    def on_page_closed(self, identity: IdentityId) -> None:
        """Notes that the last connection of an identity ended because they closed the page."""
        if identity not in self._absent:
            self._absent[identity] = _Gone(self._clock.now_ms())
        self._absent[identity].has_closed_page = True

    def on_events(self, room: Room, events: Sequence[RoomEvent]) -> None:
        """Notes the moves of players: at that time they had a connection, to some node."""
        for event in events:
            if isinstance(event, Moved) and not event.forced and event.seat < len(room.seats):
                occupant = room.seats[event.seat]
                identity = IdentityId(occupant.identity if occupant is not None else "")
                if identity in self._absent:
                    self._end(identity)
                    self._absent[identity] = _Gone(self._clock.now_ms())

    def restart(self) -> None:
        """Forgets how long the players have been gone: bus messages about the room were lost."""
        self._subscribed_ms = self._clock.now_ms()

    def find(self, identity: IdentityId) -> Absence | None:
        """The absence of a player; None for one who has a connection on any node."""
        gone = self._absent.get(identity)
        if gone is None:
            return None
        now_ms, limit_ms = self._clock.now_ms(), self._limit_of(gone)
        since_ms, sure_since_ms = self._starts(identity, gone, now_ms)
        # After a stall a player may be back, and what says so still unread.
        settling_ms = self._clock.settling_ms
        left_ms = max(0, since_ms + limit_ms - now_ms)
        sure_in_ms = None
        if sure_since_ms is not None:
            sure_in_ms = max(0, sure_since_ms + limit_ms - now_ms) + settling_ms
        return Absence(left_ms + settling_ms if left_ms else 0, sure_in_ms)

    def claimable_at_ms(self, room: Room) -> tuple[int | None, ...]:
        """For each seat, the time from which the opponent may claim, in ms of `Ports.uptime_ms`, if
        the bus flows from now on and nobody comes or goes. None for a seat that is not absent.

        Empty if no seat is, and if the seats are not those of two people.
        """
        people = [o for o in room.seats if o is not None and o.kind != "ai"]
        if not self._absent or len({occupant.identity for occupant in people}) < len(room.seats):
            return ()
        times_ms = tuple([self._claimable_at_ms(IdentityId(each.identity)) for each in people])
        return times_ms if any(at_ms is not None for at_ms in times_ms) else ()

    def _claimable_at_ms(self, identity: IdentityId) -> int | None:
        gone = self._absent.get(identity)
        if gone is None:
            return None
        now_ms = self._clock.now_ms()
        since_ms, sure_since_ms = self._starts(identity, gone, now_ms)
        start_ms = now_ms if sure_since_ms is None else max(since_ms, sure_since_ms)
        return self._clock.uptime_of_ms(start_ms + self._limit_of(gone))

    def _limit_of(self, gone: _Gone) -> int:
        return self._page_closed_ms if gone.has_closed_page else self._limit_ms

    def _sure_since_ms(self, gone: _Gone) -> int | None:
        """The time since which this node is sure of an absence; None if it is not."""
        flow_since_ms = self._flow.since_ms
        if flow_since_ms is None:
            return None
        return max(gone.sure_since_ms, flow_since_ms, self._subscribed_ms)

    def _starts(self, identity: IdentityId, gone: _Gone, now_ms: int) -> tuple[int, int | None]:
        """The start of an absence, and since when this node is sure of it, as if the opponent's own
        absence ended now.
        """
        sure_since_ms = self._sure_since_ms(gone)
        opponent = self._absent.get(self._opponent(identity))
        if opponent is None:
            return gone.since_ms, sure_since_ms
        return (
            _moved_on(gone.since_ms, opponent.at_ms, now_ms),
            None if sure_since_ms is None else _moved_on(sure_since_ms, opponent.at_ms, now_ms),
        )

    def _end(self, identity: IdentityId) -> None:
        """Ends an absence, if there is one, and leaves its time out of the opponent's."""
        ended = self._absent.pop(identity, None)
        opponent = self._absent.get(self._opponent(identity))
        if ended is not None and opponent is not None:
            now_ms = self._clock.now_ms()
            sure_since_ms = self._sure_since_ms(opponent)
            opponent.since_ms = _moved_on(opponent.since_ms, ended.at_ms, now_ms)
            opponent.sure_since_ms = (
                now_ms if sure_since_ms is None else _moved_on(sure_since_ms, ended.at_ms, now_ms)
            )

    def _opponent(self, identity: IdentityId) -> IdentityId:
        """The player of the other seat; NOBODY without one."""
        return next((player for player in self._players if player != identity), NOBODY)


def _player(occupant: Occupant | None) -> IdentityId:
    """The person who plays a seat, also while an AI keeps it; NOBODY if an AI holds it."""
    if occupant is None:
        return NOBODY
    if occupant.kept_for is not None:
        return IdentityId(occupant.kept_for.identity)
    return NOBODY if occupant.kind == "ai" else IdentityId(occupant.identity)


def _moved_on(since_ms: int, from_ms: int, to_ms: int) -> int:
    """A start, moved on by the part of the time from `from_ms` to `to_ms` that came after it."""
    return since_ms + to_ms - max(since_ms, from_ms)
