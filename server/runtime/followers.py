"""The followers of a room: connections to this node, and the presence that other nodes report."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from server.bus.base import PresenceReport
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.frames import text_frame
from server.rooms.model import Room

#: Changes of presence within this time are sent together, in seconds.
PRESENCE_DELAY_S = 0.1


class Followers:
    """The followers of a room on this node, and the presence frames that they receive.

    `room` returns the room as last seen here, None before it is loaded. `changed` is called after a
    presence frame was sent.
    """

    __slots__ = (
        "_changed",
        "_elsewhere",
        "_followers",
        "_joined_with",
        "_last_presence",
        "_ports",
        "_room",
        "_room_id",
        "_timer",
    )

    def __init__(
        self,
        room_id: str,
        ports: Ports,
        room: Callable[[], Room | None],
        changed: Callable[[str], None],
    ) -> None:
        self._room_id = room_id
        self._ports = ports
        self._room = room
        self._changed = changed
        #: The followers here, and whether each holds a seat.
        self._followers: dict[Follower, bool] = {}
        self._elsewhere: dict[str, PresenceReport] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._last_presence = b""
        #: The presence frames of the followers that joined after `_last_presence` was sent.
        self._joined_with: dict[Follower, bytes] = {}

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[Follower, bool]]:
        """The followers here, each with whether it holds a seat.

        They may come and go during the iteration.
        """
        return iter(tuple(self._followers.items()))

    @property
    def watching(self) -> int:
        """The number of followers without a seat, on all nodes."""
        return self._watching_here() + sum(here.watching for here in self._elsewhere.values())

    @property
    def nodes(self) -> Iterable[str]:
        """The other nodes that have reported presence."""
        return self._elsewhere

    # --- changes ---

    def add(self, follower: Follower, player: bool) -> None:
        """Adds a follower; `player` says whether it holds a seat."""
        self._followers[follower] = player

    def remove(self, follower: Follower) -> bool:
        """Removes a follower. Returns whether it was there."""
        if self._followers.pop(follower, None) is None:
            return False
        self._joined_with.pop(follower, None)
        self.presence_changed()
        return True

    def seats_changed(self, room: Room) -> None:
        """Updates which followers hold a seat."""
        for follower in self._followers:
            self._followers[follower] = room.seat_of(follower.identity) is not None
        self.presence_changed()

    def on_presence(self, here: PresenceReport) -> None:
        """Handles another node's report, and answers it if that node is new or asks."""
        is_new = here.node not in self._elsewhere
        self._elsewhere[here.node] = here
        self.presence_changed(publish=is_new or here.asks)

    def node_gone(self, node: str) -> None:
        """Drops the report of a node that has gone."""
        if self._elsewhere.pop(node, None) is not None:
            self.presence_changed(publish=False)

    # --- sending ---

    def presence_changed(self, publish: bool = True) -> None:
        """Schedules a presence frame for the followers here, and reports to other nodes at once."""
        if publish:
            self._publish_here()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                PRESENCE_DELAY_S, self._send_presence
            )

    def publish_presence(self, asks: bool = False) -> None:
        """Reports this node's followers again, in case the other nodes missed it."""
        if self._followers:
            self._publish_here(asks)

    def send_ephemeral_to_all(self, frame: bytes) -> None:
        """Sends a frame that a slow reader may miss."""
        for follower in tuple(self._followers):
            follower.send_ephemeral(frame)

    def presence(self, room: Room) -> bytes:
        """The frame that says which seats are connected and how many spectators watch."""
        elsewhere = (other.identities for other in self._elsewhere.values())
        here = {follower.identity for follower in self._followers}.union(*elsewhere)
        seats = tuple(
            one is not None and (one.kind == "ai" or one.identity in here) for one in room.seats
        )
        return text_frame(
            format_message(wire.Presence(room=self._room_id, seats=seats, watching=self.watching))
        )

    def presence_at_join(self, follower: Follower, room: Room) -> bytes:
        """The presence frame for a joining follower, which next receives one that differs."""
        frame = self._joined_with[follower] = self.presence(room)
        return frame

    def close(self) -> None:
        """Cancels the presence frame that is scheduled."""
        if self._timer is not None:
            self._timer.cancel()

    def _watching_here(self) -> int:
        return sum(not player for player in self._followers.values())

    def _publish_here(self, asks: bool = False) -> None:
        seated = frozenset(
            follower.identity for follower, player in self._followers.items() if player
        )
        self._ports.bus.publish(
            PresenceReport(self._room_id, self._ports.node, seated, self._watching_here(), asks)
        )

    def _send_presence(self) -> None:
        """Sends the presence to each follower here that has another one."""
        self._timer = None
        room = self._room()
        if room is None:
            return
        frame = self.presence(room)
        last, self._last_presence = self._last_presence, frame
        joined_with, self._joined_with = self._joined_with, {}
        for follower in tuple(self._followers):
            if joined_with.get(follower, last) != frame:
                follower.send_ephemeral(frame)
        if frame != last:
            self._changed(self._room_id)
