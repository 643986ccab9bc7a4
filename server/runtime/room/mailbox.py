"""A bounded queue with one reader.

Every open room has one, so it must be small: it takes a quarter of the memory of an asyncio.Queue.
"""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Full(Exception):
    """The mailbox is at its limit."""


class Mailbox(Generic[T]):
    """A first-in, first-out queue of up to `limit` items. Only one task may call `get`."""

    __slots__ = ("_items", "_limit", "_loop", "_waiter")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[T] = []
        self._waiter: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T, beyond_limit: bool = False) -> None:
        """Adds an item. Raises Full at the limit, unless `beyond_limit`."""
        if len(self._items) >= self._limit and not beyond_limit:
            raise Full
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> T:
        """Waits for the next item and removes it."""
        while not self._items:
            if self._loop is None:
                # Kept, since the lookup makes a system call in Python 3.11.
                self._loop = asyncio.get_running_loop()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._items.pop(0)

    def take(self) -> T | None:
        """Removes and returns the next item, or returns None if there is none."""
        return self._items.pop(0) if self._items else None
