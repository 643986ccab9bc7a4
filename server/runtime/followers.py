"""The followers of a room on this node, and the presence that the other nodes report."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from server.bus.base import PresenceReport
from server.ids import RoomId
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms.model import Room

#: Changes of presence within this time are sent together, in seconds.
PRESENCE_DELAY_S = 0.1


class Followers:
    """The followers of a room on this node, and the presence messages that they receive.

    `get_room` returns the newest state that this node has, or None before the room is loaded.
    `on_change` is called with the room's id when the presence has changed.
    """

    __slots__ = (
        "_followers",
        "_get_room",
        "_joined_with",
        "_last_presence",
        "_on_change",
        "_ports",
        "_remote_reports",
        "_room_id",
        "_timer",
        "left_ms",
    )

    def __init__(
        self,
        room_id: RoomId,
        ports: Ports,
        get_room: Callable[[], Room | None],
        on_change: Callable[[RoomId], None],
    ) -> None:
        self._room_id = room_id
        self._ports = ports
        self._get_room = get_room
        self._on_change = on_change
        #: The followers on this node, and whether each holds a seat.
        self._followers: dict[Follower, bool] = {}
        self._remote_reports: dict[str, PresenceReport] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last_presence: wire.Presence | None = None
        #: The presence messages of the followers that joined after `_last_presence` was sent.
        self._joined_with: dict[Follower, wire.Presence] = {}
        #: The time at which the last follower left; None before that, and if there was none.
        self.left_ms: int | None = None

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[Follower, bool]]:
        """Iterates over the followers on this node, each with whether it holds a seat.

        Followers may be added and removed during the iteration.
        """
        return iter(tuple(self._followers.items()))

    @property
    def watching(self) -> int:
        """The number of followers without a seat, on all nodes."""
        return self._local_spectators() + sum(
            report.watching for report in self._remote_reports.values()
        )

    @property
    def are_elsewhere(self) -> bool:
        """Whether all followers are on other nodes, and there are some."""
        reports = self._remote_reports.values()
        return not self._followers and any(each.identities or each.watching for each in reports)

    @property
    def reporting_nodes(self) -> Iterable[str]:
        """The other nodes that have reported presence."""
        return self._remote_reports

    # --- changes ---

    def add(self, follower: Follower, is_player: bool) -> None:
        """Adds a follower; `is_player` says whether it holds a seat."""
        self._followers[follower] = is_player

    def remove(self, follower: Follower) -> bool:
        """Removes a follower. Returns False if the connection did not follow the room."""
        if self._followers.pop(follower, None) is None:
            return False
        self._joined_with.pop(follower, None)
        self.schedule_presence()
        return True

    def on_seats_changed(self, room: Room) -> None:
        """Updates which followers hold a seat."""
        for follower in self._followers:
            self._followers[follower] = room.seat_of(follower.identity) is not None
        self.schedule_presence()

    def receive_report(self, report: PresenceReport) -> None:
        """Stores another node's report, and replies with one if that node is new or asks for it."""
        is_new = report.node not in self._remote_reports
        self._remote_reports[report.node] = report
        self.schedule_presence(publish=is_new or report.asks)

    def on_node_down(self, node: str) -> None:
        """Drops the report of a node that is down."""
        if self._remote_reports.pop(node, None) is not None:
            self.schedule_presence(publish=False)

    # --- sending ---

    def schedule_presence(self, publish: bool = True) -> None:
        """Schedules a presence message to this node's followers.

        With `publish`, also reports to the other nodes at once.
        """
        if not (self._followers or self.are_elsewhere):
            self.left_ms = self._ports.now_ms()
        if publish:
            self._publish_report()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                PRESENCE_DELAY_S, self._send_presence
            )

    def publish_presence(self, asks: bool = False) -> None:
        """Reports this node's followers to the other nodes again, in case they missed a report.

        `asks` asks them for their reports.
        """
        if self._followers:
            self._publish_report(asks)

    def send_ephemeral_to_all(self, message: Outbound) -> None:
        """Sends all followers on this node a message that slow readers may miss."""
        for follower in tuple(self._followers):
            follower.send_ephemeral(message)

    def presence(self, room: Room) -> wire.Presence:
        """The message that says which seats are connected and how many spectators watch."""
        remote = (report.identities for report in self._remote_reports.values())
        present = {follower.identity for follower in self._followers}.union(*remote)
        seats = tuple(
            occupant is not None and (occupant.kind == "ai" or occupant.identity in present)
            for occupant in room.seats
        )
        return wire.Presence(room=self._room_id, seats=seats, watching=self.watching)

    def presence_at_join(self, follower: Follower, room: Room) -> wire.Presence:
        """The presence message for a joining follower.

        The follower receives the next presence message only if it differs from this one.
        """
        presence = self._joined_with[follower] = self.presence(room)
        return presence

    def close(self) -> None:
        """Cancels the scheduled presence message, if any."""
        if self._timer is not None:
            self._timer.cancel()

    def _local_spectators(self) -> int:
        return sum(not is_player for is_player in self._followers.values())

    def _publish_report(self, asks: bool = False) -> None:
        seated = frozenset(
            follower.identity for follower, is_player in self._followers.items() if is_player
        )
        self._ports.bus.publish(
            PresenceReport(self._room_id, self._ports.node, seated, self._local_spectators(), asks)
        )

    def _send_presence(self) -> None:
        """Sends the presence message to each follower whose last one differs."""
        self._timer = None
        room = self._get_room()
        if room is None:
            return
        presence = self.presence(room)
        last, self._last_presence = self._last_presence, presence
        joined_with, self._joined_with = self._joined_with, {}
        message = Outbound(presence)
        for follower in tuple(self._followers):
            if joined_with.get(follower, last) != presence:
                follower.send_ephemeral(message)
        if presence != last:
            self._on_change(self._room_id)
