"""A clock that a test advances, for an event loop with real sockets, pipes and processes.

Code without those can use `virtual` of tests/support/fake_server.py.

    async with stopped_clock() as clock:
        task = asyncio.create_task(…)
        await clock.until(task.done, within_s=1.6)    # advances the time, timer by timer
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

#: The real time that `moment` waits, in seconds.
MOMENT_S = 0.002
#: Moments after which the process counts as idle, waiting for a timer or for other processes.
IDLE_MOMENTS = 5


class StoppedClock:
    """The time of the running loop; it stands still until the test advances it.

    Data from sockets, pipes, threads and other processes arrives as usual. Other processes have
    their own time.
    """

    def __init__(self, loop: Any) -> None:
        self.now_s: float = loop.time()
        self._loop = loop

    def advance(self, seconds: float) -> None:
        """Advances the time at once; timers that become due run when the test next waits."""
        self.now_s += seconds

    async def until(self, holds: Callable[[], bool], within_s: float) -> float:
        """Advances from timer to timer until `holds` is true; returns the time that passed.

        Raises AssertionError when it does not become true within `within_s`. The condition must
        depend on this process only: the clock does not wait for other processes.
        """
        start_s, end_s = self.now_s, self.now_s + within_s
        while not await self._holds_when_idle(holds):
            timers_s = [timer.when() for timer in self._loop._scheduled if not timer.cancelled()]
            next_s = max(self.now_s, min(timers_s, default=end_s + 1))
            if next_s > end_s:
                raise AssertionError(f"the condition is not true within {within_s:g} s")
            self.now_s = next_s
        return self.now_s - start_s

    async def run(self, seconds: float) -> None:
        """Advances the time by `seconds`, timer by timer."""
        end_s = self.now_s + seconds
        end_timer = self._loop.call_at(end_s, lambda: None)
        await self.until(lambda: self.now_s >= end_s, seconds)
        end_timer.cancel()
        await self._holds_when_idle(lambda: False)

    async def _holds_when_idle(self, holds: Callable[[], bool]) -> bool:
        """Returns whether `holds` is true once no task or callback can run any more."""
        for _ in range(IDLE_MOMENTS):
            if holds():
                return True
            await moment()
        return holds()


@asynccontextmanager
async def stopped_clock() -> AsyncIterator[StoppedClock]:
    """Stops the running loop's time; afterwards time continues from the clock's last value.

    It works only with asyncio's own loop.
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
    """Awaits `work` on a stopped clock; raises AssertionError when it takes more than `seconds`.

    On uvloop, whose clock cannot be stopped, it only checks that the work ends.
    """
    task = asyncio.ensure_future(work)
    if isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop):
        async with stopped_clock() as clock:
            await clock.until(task.done, seconds)
    await task


async def moment() -> None:
    """Waits for a moment of real time, so that threads and other processes can run.

    It does so even while the loop's clock stands still.
    """
    await asyncio.to_thread(time.sleep, MOMENT_S)


async def until(holds: Callable[[], bool]) -> None:
    """Polls a condition that no event signals; the test's time limit ends a wait that hangs."""
    while not holds():
        await moment()
