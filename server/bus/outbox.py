"""The bounded queue of messages to the broker: a broker that does not read costs no memory."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

#: Maximum number of attempts to deliver a message. If a message is in flight each time that the
#: connection breaks, it may be the cause.
MAX_TRIES = 3


@dataclass(slots=True)
class QueuedMessage:
    """A queued message. Only a reliable one is sent again if the connection breaks."""

    topic: str
    payload: bytes
    reliable: bool
    retain: bool = False
    tries: int = 0


class Outbox:
    """A queue of at most `limit` messages. On overflow it drops the oldest unreliable message, or
    the oldest reliable one if there is no other.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reliable: deque[QueuedMessage] = deque()
        self._unreliable: deque[QueuedMessage] = deque()
        self._ready = asyncio.Event()
        #: Number of unreliable messages dropped.
        self.dropped = 0
        #: Number of reliable messages dropped.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._reliable) + len(self._unreliable)

    def put(self, message: QueuedMessage) -> None:
        """Adds a message, and drops another one on overflow."""
        (self._reliable if message.reliable else self._unreliable).append(message)
        self._shrink()
        self._ready.set()

    def put_back(self, messages: Sequence[QueuedMessage]) -> None:
        """Puts the reliable messages that were in flight back at the head; drops the others."""
        for message in reversed(messages):
            message.tries += 1
            if not message.reliable:
                self.dropped += 1
            elif message.tries >= MAX_TRIES:
                self.lost += 1
            else:
                self._reliable.appendleft(message)
        self._shrink()
        if self._reliable:
            self._ready.set()

    def drop_unreliable(self) -> None:
        """Drops the unreliable messages, which are stale after an interruption."""
        self.dropped += len(self._unreliable)
        self._unreliable.clear()

    async def get(self) -> QueuedMessage:
        """Removes and returns the next message, reliable ones first."""
        while not (self._reliable or self._unreliable):
            self._ready.clear()
            await self._ready.wait()
        return (self._reliable or self._unreliable).popleft()

    def _shrink(self) -> None:
        while len(self) > self._limit:
            if self._unreliable:
                self._unreliable.popleft()
                self.dropped += 1
            else:
                self._reliable.popleft()
                self.lost += 1
