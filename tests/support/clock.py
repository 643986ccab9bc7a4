"""A clock that a test turns, for an event loop with real sockets, pipes and processes (without
those: `virtual`).

async with stopped_clock() as clock:
    task = asyncio.create_task(…)                 # what needs no time happens
    await clock.until(task.done, within_s=1.6)    # and now what needs time, timer by timer
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

MOMENT_S = 0.002
#: Moments in which this process has nothing to do any more: then it waits for a timer, or for other
#: processes.
SETTLE = 5


class StoppedClock:
    """What the running loop takes for the time: it stands still until the test turns it. What comes
    over sockets and pipes, from threads and from other processes comes as ever, and other processes
    have their own time.
    """

    def __init__(self, loop: Any) -> None:
        self.now_s: float = loop.time()
        self._loop = loop

    def turn(self, seconds: float) -> None:
        """Lets so much time pass at once: what was due by then is called when the test next waits."""
        self.now_s += seconds

    async def until(self, holds: Callable[[], bool], within_s: float) -> float:
        """Turns from timer to timer until that holds, and returns for how long; AssertionError when
        it does not within so much time. For what happens in this process: the clock does not wait
        for others.
        """
        begun_s, end_s = self.now_s, self.now_s + within_s
        while not await self._settles(holds):
            coming = [timer.when() for timer in self._loop._scheduled if not timer.cancelled()]
            next_s = max(self.now_s, min(coming, default=end_s + 1))
            if next_s > end_s:
                raise AssertionError(f"it did not happen within {within_s:g} s")
            self.now_s = next_s
        return self.now_s - begun_s

    async def run(self, seconds: float) -> None:
        """Lets so much time pass, timer by timer."""
        end_s = self.now_s + seconds
        passed = self._loop.call_at(end_s, lambda: None)
        await self.until(lambda: self.now_s >= end_s, seconds)
        passed.cancel()
        await self._settles(lambda: False)

    async def _settles(self, holds: Callable[[], bool]) -> bool:
        """Whether that holds once everything has been done that can be done now."""
        for _ in range(SETTLE):
            if holds():
                return True
            await moment()
        return holds()


@asynccontextmanager
async def stopped_clock() -> AsyncIterator[StoppedClock]:
    """Stops the running loop's time; afterwards it goes on from where it was left. asyncio's own
    loop only.
    """
    loop: Any = asyncio.get_running_loop()
    real = type(loop).time
    clock = StoppedClock(loop)
    loop.time = lambda: clock.now_s
    try:
        yield clock
    finally:
        ahead_s = clock.now_s - real(loop)
        loop.time = lambda: real(loop) + ahead_s


async def ends_within(work: Coroutine[Any, Any, object], seconds: float) -> None:
    """Awaits it on a stopped clock; AssertionError when it needs more time than that. On uvloop,
    whose clock cannot be stopped, only that it ends.
    """
    task = asyncio.ensure_future(work)
    if isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop):
        async with stopped_clock() as clock:
            await clock.until(task.done, seconds)
    await task


async def moment() -> None:
    """Lets the world outside go on for a moment, whether the loop's clock stands still or not."""
    await asyncio.to_thread(time.sleep, MOMENT_S)


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what no event tells of; that it hangs is found by the time limit of all tests."""
    while not holds():
        await moment()
