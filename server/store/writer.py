"""The group commit: a store's single writer commits all queued operations in one transaction.

Each caller gets its answer only after the commit. Concurrent callers share one commit. Measured on
SQLite with synchronous FULL: 20 to 50 times the moves per second of one commit per operation.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from server.store.base import Append, NewRoom, StoreUnavailable

#: An operation of the writer.
Op = Append | NewRoom
#: The result of an operation: the value that `GroupWriter.write` returns, or the exception that it
#: raises.
Outcome = str | Exception | None
#: Commits a group of operations and returns their outcomes.
Commit = Callable[[list[Op]], Awaitable[list[Outcome]]]

#: Maximum number of operations in one transaction.
MAX_GROUP = 500

#: Group size, in operations, from which the store counts as busy: the writer then waits for
#: `GATHER_S` before the next group.
BUSY_GROUP = 6

#: Pause after a busy group, in seconds. It makes groups larger, which costs less CPU per move; a
#: busy server has such delays anyway.
GATHER_S = 0.004

#: Queue capacity, in operations. When it is full, `write` raises StoreUnavailable.
MAX_QUEUED = 20_000


def room_of(op: Op) -> str:
    """The room that an operation writes."""
    return op.room if isinstance(op, Append) else op.append.room


class GroupWriter:
    """Queues operations and passes them to `commit` in groups; `run` is its only task.

    `commit` returns an outcome for each operation, in order. A group never holds two operations of
    one room, so that each operation sees the head that the previous one left.
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._queue: deque[tuple[Op, asyncio.Future[str | None]]] = deque()
        self._has_work = asyncio.Event()
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def write(self, op: Op) -> str | None:
        """Queues an operation and waits for its commit; returns the outcome or raises it."""
        if self._is_closed:
            raise StoreUnavailable("the store is closed")
        if len(self._queue) >= MAX_QUEUED:
            raise StoreUnavailable("too many writes are waiting")
        if self._loop is None:
            # Kept, since the lookup makes a system call in Python 3.11.
            self._loop = asyncio.get_running_loop()
        future: asyncio.Future[str | None] = self._loop.create_future()
        self._queue.append((op, future))
        self._has_work.set()
        return await future

    async def run(self) -> None:
        """Commits groups until cancelled. After that, operations raise StoreUnavailable."""
        try:
            while True:
                await self._has_work.wait()
                self._has_work.clear()
                while self._queue:
                    if await self._commit_one_group() >= BUSY_GROUP:
                        await asyncio.sleep(GATHER_S)
        finally:
            self._is_closed = True
            while self._queue:
                _resolve(self._queue.popleft()[1], StoreUnavailable("the store is closing"))

    async def _commit_one_group(self) -> int:
        """Commits one group; returns its size."""
        group = self._take_group()
        try:
            outcomes = await self._commit([op for op, _ in group])
        except asyncio.CancelledError:
            for _, future in group:
                _resolve(future, StoreUnavailable("the store is closing"))
            raise
        except Exception as error:
            outcomes = [StoreUnavailable(f"the store failed: {error}")] * len(group)
        for (_, future), outcome in zip(group, outcomes, strict=True):
            _resolve(future, outcome)
        return len(group)

    def _take_group(self) -> list[tuple[Op, asyncio.Future[str | None]]]:
        group: list[tuple[Op, asyncio.Future[str | None]]] = []
        postponed: list[tuple[Op, asyncio.Future[str | None]]] = []
        rooms: set[str] = set()
        while self._queue and len(group) < MAX_GROUP:
            op, future = self._queue.popleft()
            if room_of(op) in rooms:
                postponed.append((op, future))
            else:
                rooms.add(room_of(op))
                group.append((op, future))
        self._queue.extendleft(reversed(postponed))
        return group


def _resolve(future: asyncio.Future[str | None], outcome: Outcome) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
