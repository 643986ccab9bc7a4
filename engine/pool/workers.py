"""The pool's worker processes: starts them, replaces those that end, and closes them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from engine.pool.messages import Ready, WorkerMessage
from engine.pool.process import StartMethod, WorkerProcess
from engine.pool.slot import WorkerSlot
from engine.search.job import Job

#: Pauses before a start in seconds, by the number of workers that died before they were ready.
START_BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0)


class Workers:
    """Keeps `size` worker processes running between `open` and `close`.

    It calls `on_message(slot, message)` with what the workers send, and `on_end(slot)` when one has
    ended and its successor is about to start.
    """

    def __init__(
        self,
        size: int,
        method: StartMethod,
        table_bytes: int,
        on_message: Callable[[WorkerSlot, WorkerMessage], None],
        on_end: Callable[[WorkerSlot], None],
    ) -> None:
        self._size = size
        self._method: StartMethod = method
        self._table_bytes = table_bytes
        self._on_message = on_message
        self._on_end = on_end
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed_starts = 0
        self._is_open = False
        self.slots: list[WorkerSlot] = []

    def open(self) -> None:
        """Returns at once; the workers start in the background."""
        self._is_open = True
        for index in range(self._size):
            self.slots.append(WorkerSlot(self._new_process()))
            self._spawn(self._start(self.slots[index]), f"search-worker-{index}")

    async def close(self) -> None:
        """Ends all processes."""
        self._is_open = False
        for slot in self.slots:
            slot.unwatch()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(slot.process.close() for slot in self.slots))
        self.slots.clear()

    @property
    def ready(self) -> list[WorkerSlot]:
        """The workers that accept commands."""
        return [slot for slot in self.slots if slot.is_ready]

    @property
    def has_idle(self) -> bool:
        """Whether a worker is ready for a search."""
        return any(slot.is_ready and not slot.is_busy for slot in self.slots)

    @property
    def stopping_count(self) -> int:
        """The number of workers that still stop a search."""
        return sum(slot.is_stopping for slot in self.slots)

    @property
    def background_size(self) -> int:
        """The number of workers that searches may use that are not live. One is left free for live
        searches if there are several.
        """
        return max(1, self._size - 1)

    def reluctance(self, slot: WorkerSlot, job: Job) -> float:
        """How little an idle worker suits a job, from 0 to below 1.

        Searches that are not live keep to the same workers: a live search that finds its room's
        worker busy begins with an empty table at another one.
        """
        if job.use == "live":
            return 0.0
        is_for_live = slot not in self.slots[: self.background_size]
        return 0.5 * is_for_live + 0.25 * (not slot.has_loaded(job.game))

    @property
    def is_failing_to_start(self) -> bool:
        """Whether enough starts in a row have failed for waiting searches to fail too.

        The workers are started again all the same.
        """
        return self._failed_starts >= len(START_BACKOFF_S)

    def slot_of(self, process: WorkerProcess) -> WorkerSlot | None:
        """The slot of a process; None if the process has been replaced."""
        for slot in self.slots:
            if slot.process is process:
                return slot
        return None

    def on_message(self, process: WorkerProcess, message: WorkerMessage) -> None:
        """Forwards a message of a worker that has not been replaced."""
        slot = self.slot_of(process)
        if slot is None:
            return
        if isinstance(message, Ready):
            slot.is_ready = True
            self._failed_starts = 0
        self._on_message(slot, message)

    def _on_process_end(self, process: WorkerProcess) -> None:
        slot = self.slot_of(process)
        if slot is None or not self._is_open:
            return
        if not slot.is_ready:
            self._failed_starts += 1
        slot.unwatch()
        self.slots[self.slots.index(slot)] = successor = WorkerSlot(self._new_process())
        self._spawn(self._replace(process, successor), "search-worker-replacement")
        self._on_end(slot)

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess(self._method, self._table_bytes, self.on_message, self._on_process_end)

    async def _start(self, slot: WorkerSlot) -> None:
        """Starts a slot's process, after a pause if the previous starts failed."""
        await asyncio.sleep(START_BACKOFF_S[min(self._failed_starts, len(START_BACKOFF_S) - 1)])
        await slot.process.start()

    async def _replace(self, old: WorkerProcess, slot: WorkerSlot) -> None:
        """Frees the resources of a dead worker and starts another one in its place."""
        closing = asyncio.create_task(old.close(), name="search-worker-close")
        await self._start(slot)
        await closing

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
