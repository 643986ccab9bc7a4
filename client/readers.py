"""The readers of a connection: queues of messages about followed rooms and about the lobby."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from client.errors import PlyroomError, Refused
from client.following import Subscription, Verdict
from client.handshake import RETRY_CODES
from client.messages import EPHEMERAL, Refusal, RoomMessage, format_client_message
from client.outbox import Outbox
from client.timing import Timing
from server.protocol.messages import Joined, Leave, Lobby, Snapshot, WatchLobby

#: Maximum number of messages that wait for a reader. When more arrive for a room, its reader
#: receives a snapshot; a reader of the lobby misses them.
MAX_QUEUED_MESSAGES = 1024
#: Maximum number of rooms that a connection follows at the same time.
MAX_ROOMS = 100


class _FollowedRoom:
    """A followed room: its position in the log, and the messages that wait for the reader."""

    __slots__ = ("queue", "subscription")

    def __init__(self, room: str) -> None:
        self.subscription = Subscription(room)
        self.queue: asyncio.Queue[RoomMessage | PlyroomError] = asyncio.Queue(MAX_QUEUED_MESSAGES)

    def end(self, error: PlyroomError) -> None:
        """Queues an error that ends the reader; if the queue is full, it replaces the messages."""
        if self.queue.full():
            _clear(self.queue)
        self.queue.put_nowait(error)


class FollowedRooms:
    """The followed rooms, each with one reader."""

    def __init__(
        self,
        outbox: Outbox,
        timing: Timing,
        jitter: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._outbox = outbox
        self._timing = timing
        self._jitter = jitter
        self._new_id = new_id
        self._loop = asyncio.get_running_loop()
        self._rooms: dict[str, _FollowedRoom] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._rooms)

    async def follow(self, room: str) -> AsyncGenerator[RoomMessage, None]:
        """Joins a room and yields its messages; leaves it at the end."""
        if room in self._rooms:
            raise ValueError(f"the room {room} is followed already")
        if len(self._rooms) >= MAX_ROOMS:
            raise ValueError(f"a connection follows at most {MAX_ROOMS} rooms")
        self._outbox.raise_failure()
        followed = self._rooms[room] = _FollowedRoom(room)
        self._changed.set()
        self._join(followed)
        try:
            while True:
                message = await followed.queue.get()
                if isinstance(message, PlyroomError):
                    raise message
                yield message
        finally:
            del self._rooms[room]
            self._changed.set()
            self._outbox.post(format_client_message(Leave(id=self._new_id(), room=room)))

    @property
    def first(self) -> str | None:
        """The id of the followed room that was joined first, or None."""
        return next(iter(self._rooms), None)

    async def wait_for_only_room(self, other_than: str | None) -> Subscription:
        """Waits until exactly one room is followed, other than `other_than`, and can be resumed.

        Returns its subscription.
        """
        while True:
            if len(self._rooms) == 1:
                (followed,) = self._rooms.values()
                subscription = followed.subscription
                if subscription.room != other_than and subscription.may_resume:
                    return subscription
            self._changed.clear()
            await self._changed.wait()

    def is_current(self, subscription: Subscription) -> bool:
        """Whether this subscription's room is still followed and can be resumed."""
        followed = self._rooms.get(subscription.room)
        return (
            followed is not None
            and followed.subscription is subscription
            and subscription.may_resume
        )

    def join_frames(self, joined: Subscription | None = None) -> Iterator[str]:
        """The frames with which a new socket begins: a join of each room, except of `joined`, which
        the socket has joined already.
        """
        rooms = [each for each in self._rooms.values() if each.subscription is not joined]
        return map(self._join_frame, rooms)

    def require_snapshots(self) -> None:
        """Makes the next join of each room start from a snapshot."""
        for followed in self._rooms.values():
            followed.subscription.require_snapshot()

    def deliver(self, message: RoomMessage) -> None:
        """Queues a message for the reader, drops it, or joins again after a gap."""
        followed = self._rooms.get(message.room)
        if followed is None:
            return
        match followed.subscription.check(message):
            case Verdict.PASS:
                if isinstance(message, Joined | Snapshot):
                    self._changed.set()
                self._enqueue(followed, message)
            case Verdict.GAP:
                self._join(followed)
            case Verdict.DROP:
                pass

    def refuse(self, refusal: Refusal) -> None:
        """Joins again later when the server is busy; another refusal of a join ends the reader."""
        for followed in self._rooms.values():
            if refusal.id is not None and followed.subscription.join_id == refusal.id:
                if refusal.code in RETRY_CODES:
                    self._join_later(followed)
                else:
                    followed.end(Refused(refusal.code, refusal.message))

    def fail(self, failure: PlyroomError) -> None:
        """Ends every reader with an error."""
        for followed in self._rooms.values():
            followed.end(failure)

    def _join(self, followed: _FollowedRoom) -> None:
        self._outbox.post(self._join_frame(followed))

    def _join_frame(self, followed: _FollowedRoom) -> str:
        return format_client_message(followed.subscription.join(self._new_id()))

    def _join_later(self, followed: _FollowedRoom) -> None:
        """Joins again after a delay, unless another join is sent before."""
        refused_id = followed.subscription.join_id

        def rejoin() -> None:
            if (
                self._rooms.get(followed.subscription.room) is followed
                and followed.subscription.join_id == refused_id
            ):
                self._join(followed)

        self._loop.call_later(self._timing.retry_s * (0.5 + self._jitter()), rejoin)

    def _enqueue(self, followed: _FollowedRoom, message: RoomMessage) -> None:
        """Queues a message.

        Drops an ephemeral message when the queue is half full. Empties a full queue and joins
        the room from 0, so that the server sends a snapshot.
        """
        if isinstance(message, EPHEMERAL) and followed.queue.qsize() >= MAX_QUEUED_MESSAGES // 2:
            return
        if followed.queue.full():
            _clear(followed.queue)
            followed.subscription.require_snapshot()
            self._join(followed)
            return
        followed.queue.put_nowait(message)


class LobbyReaders:
    """The readers of the list of public rooms."""

    def __init__(self, outbox: Outbox, new_id: Callable[[], str]) -> None:
        self._outbox = outbox
        self._new_id = new_id
        self._queues: list[asyncio.Queue[Lobby | PlyroomError]] = []

    async def read(self) -> AsyncGenerator[Lobby, None]:
        """Yields the list, then its changes; unsubscribes when the last reader ends."""
        self._outbox.raise_failure()
        queue: asyncio.Queue[Lobby | PlyroomError] = asyncio.Queue(MAX_QUEUED_MESSAGES)
        self._queues.append(queue)
        self._outbox.post(self._watch_frame())
        try:
            while True:
                message = await queue.get()
                if isinstance(message, PlyroomError):
                    raise message
                yield message
        finally:
            self._queues.remove(queue)
            if not self._queues:
                self._outbox.post(self._watch_frame(on=False))

    def watch_frames(self) -> Iterator[str]:
        """The frame with which a new socket begins, if there is a reader."""
        if self._queues:
            yield self._watch_frame()

    def deliver(self, message: Lobby) -> None:
        """Queues a message for each reader that is not too far behind."""
        for queue in self._queues:
            if not queue.full():
                queue.put_nowait(message)

    def fail(self, failure: PlyroomError) -> None:
        """Ends every reader with an error."""
        for queue in self._queues:
            _clear(queue)
            queue.put_nowait(failure)

    def _watch_frame(self, on: bool = True) -> str:
        return format_client_message(WatchLobby(id=self._new_id(), on=on))


def _clear(queue: "asyncio.Queue[Any]") -> None:
    while not queue.empty():
        queue.get_nowait()
