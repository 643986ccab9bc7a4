"""What waits to be sent to the broker: bounded, so that a broker that does not read costs no
memory.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

#: A message that was under way so often when the connection broke may be what breaks it.
TRIES = 3


@dataclass(slots=True)
class Letter:
    """A message on its way. One that is kept is sent again if the connection breaks; others may be
    missed.
    """

    topic: str
    payload: bytes
    kept: bool
    retain: bool = False
    tries: int = 0


class Outbox:
    """At most `limit` letters: beyond it the oldest that may be missed goes, then the oldest of
    all.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: deque[Letter] = deque()
        self._others: deque[Letter] = deque()
        self._ready = asyncio.Event()
        #: Letters that may be missed and were.
        self.dropped = 0
        #: Letters that were to be kept.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._kept) + len(self._others)

    def put(self, letter: Letter) -> None:
        """Adds a letter, and drops another one if there are too many."""
        (self._kept if letter.kept else self._others).append(letter)
        self._shrink()
        self._ready.set()

    def put_back(self, letters: Sequence[Letter]) -> None:
        """Letters that were under way when the connection broke go first, those to be kept."""
        for letter in reversed(letters):
            letter.tries += 1
            if not letter.kept:
                self.dropped += 1
            elif letter.tries >= TRIES:
                self.lost += 1
            else:
                self._kept.appendleft(letter)
        self._shrink()
        if self._kept:
            self._ready.set()

    def forget_others(self) -> None:
        """What may be missed is old news after an interruption."""
        self.dropped += len(self._others)
        self._others.clear()

    async def get(self) -> Letter:
        """The next letter: those to be kept first."""
        while not (self._kept or self._others):
            self._ready.clear()
            await self._ready.wait()
        return (self._kept or self._others).popleft()

    def _shrink(self) -> None:
        while len(self) > self._limit:
            if self._others:
                self._others.popleft()
                self.dropped += 1
            else:
                self._kept.popleft()
                self.lost += 1
