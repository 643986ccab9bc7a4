"""Virtual time, which passes only when every task waits.

A test of hours takes milliseconds, with the same order of timers in each run.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.BaseSelector):
    """A selector that never sleeps: it advances the time to the loop's next timer instead."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._inner = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._inner.select(0)
        if not ready and timeout is None:
            raise AssertionError("every task waits, and no timer is set")
        if not ready and timeout is not None and timeout > 0:
            self.now_s += timeout
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._inner.unregister(fileobj)

    def get_map(self) -> Any:
        return self._inner.get_map()

    def close(self) -> None:
        self._inner.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, for code that uses no network and no threads."""

    def __init__(self) -> None:
        self._virtual_selector = _JumpingSelector()
        super().__init__(self._virtual_selector)

    def time(self) -> float:
        return self._virtual_selector.now_s

    def stall(self, seconds: float) -> None:
        """Lets time pass in which nothing runs, as if the process had been stopped."""
        self._virtual_selector.now_s += seconds


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on virtual time, with a limit of twelve hours."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(asyncio.wait_for(main, 12 * 3600))
