"""Who follows a room: the connections here, and what the other nodes say of theirs."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from server.bus.base import PresenceReport
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.frames import text_frame
from server.rooms.model import Room

#: Comings and goings within so long are told at once.
PRESENCE_DELAY_S = 0.1


class Followers:
    """The followers of a room on this node, and the presence that they and the other nodes are
    told.

    `room` gives the room as last seen here, None before it is loaded; `changed` is called after
    presence was told.
    """

    __slots__ = (
        "_changed",
        "_elsewhere",
        "_followers",
        "_ports",
        "_room",
        "_room_id",
        "_timer",
        "_told",
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
        self._followers: dict[Follower, bool] = {}  # whether it holds a seat
        self._elsewhere: dict[str, PresenceReport] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._told = b""

    def __len__(self) -> int:
        return len(self._followers)

    def __iter__(self) -> Iterator[tuple[Follower, bool]]:
        """The followers here, each with whether it holds a seat; they may come and go meanwhile."""
        return iter(tuple(self._followers.items()))

    @property
    def watching(self) -> int:
        """How many follow the room without a seat, on all nodes."""
        return self._watching_here() + sum(here.watching for here in self._elsewhere.values())

    @property
    def nodes(self) -> Iterable[str]:
        """The other nodes that said who is there."""
        return self._elsewhere

    # --- who comes and goes ---

    def add(self, follower: Follower, player: bool) -> None:
        self._followers[follower] = player

    def remove(self, follower: Follower) -> bool:
        """Whether it was there."""
        if self._followers.pop(follower, None) is None:
            return False
        self.presence_changed()
        return True

    def seats_changed(self, room: Room) -> None:
        """Looks anew who holds a seat."""
        for follower in self._followers:
            self._followers[follower] = room.seat_of(follower.identity) is not None
        self.presence_changed()

    def heard(self, here: PresenceReport) -> None:
        """Another node says who is there, and may ask who is here."""
        unheard_of = here.node not in self._elsewhere
        self._elsewhere[here.node] = here
        self.presence_changed(publish=unheard_of or here.asks)

    def node_gone(self, node: str) -> None:
        """Nobody is here on that node any more."""
        if self._elsewhere.pop(node, None) is not None:
            self.presence_changed(publish=False)

    # --- telling ---

    def presence_changed(self, publish: bool = True) -> None:
        """Tells it soon here, and at once to the other nodes."""
        if publish:
            self._say_here()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                PRESENCE_DELAY_S, self._tell_presence
            )

    def say_here(self, asks: bool = False) -> None:
        """Tells the other nodes once more who is here, in case they have not heard."""
        if self._followers:
            self._say_here(asks)

    def tell_ephemeral(self, frame: bytes) -> None:
        """Sends what a slow reader may miss."""
        for follower in tuple(self._followers):
            follower.send_ephemeral(frame)

    def presence(self, room: Room) -> bytes:
        """The frame that says which seats have somebody connected, and how many watch."""
        elsewhere = (other.identities for other in self._elsewhere.values())
        here = {follower.identity for follower in self._followers}.union(*elsewhere)
        seats = tuple(
            one is not None and (one.kind == "ai" or one.identity in here) for one in room.seats
        )
        return text_frame(
            format_message(wire.Presence(room=self._room_id, seats=seats, watching=self.watching))
        )

    def close(self) -> None:
        """Nothing more is told."""
        if self._timer is not None:
            self._timer.cancel()

    def _watching_here(self) -> int:
        return sum(not player for player in self._followers.values())

    def _say_here(self, asks: bool = False) -> None:
        seated = frozenset(
            follower.identity for follower, player in self._followers.items() if player
        )
        self._ports.bus.publish(
            PresenceReport(self._room_id, self._ports.node, seated, self._watching_here(), asks)
        )

    def _tell_presence(self) -> None:
        """Tells everybody who is here, if that is news."""
        self._timer = None
        room = self._room()
        if room is None:
            return
        frame = self.presence(room)
        if frame != self._told:
            self._told = frame
            self.tell_ephemeral(frame)
            self._changed(self._room_id)
