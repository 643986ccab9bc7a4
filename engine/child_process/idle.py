"""The idle processes of a pool, which wait for the next job and end after a while."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """A process that the pool can close."""

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""

    async def close(self) -> None:
        """Kills the process and waits for its end."""


P = TypeVar("P", bound=Closable)


class IdleProcesses(Generic[P]):
    """The idle processes of a pool, the longest idle one first. Each ends after `idle_s`."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._timers: dict[P, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._timers)

    def __iter__(self) -> Iterator[P]:
        return iter(self._timers)

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self._timers if process.pid is not None]

    def keep(self, process: P) -> None:
        """Adds a process whose job has ended."""
        loop = asyncio.get_running_loop()
        self._timers[process] = loop.call_later(self._idle_s, self.end, process)

    def take(self, fits: Callable[[P], bool] = lambda process: True) -> P | None:
        """Removes and returns the most recently used process that fits; None if there is none."""
        process = next((process for process in reversed(self._timers) if fits(process)), None)
        if process is not None:
            self._timers.pop(process).cancel()
        return process

    def end(self, process: P) -> None:
        """Kills a process, idle or not, without waiting for its end."""
        timer = self._timers.pop(process, None)
        if timer is not None:
            timer.cancel()
        task = asyncio.create_task(process.close(), name="end of a process")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Kills all processes, and waits for the end of all that were killed."""
        for process in list(self._timers):
            self.end(process)
        await asyncio.gather(*self._closing)
