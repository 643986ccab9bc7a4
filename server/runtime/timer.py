"""The one timer of a room: it wakes the room at its next deadline, when time changes what players
may do, or to read the log again.
"""

import asyncio
from collections.abc import Callable

from server.runtime.requests import Wake

#: A room that is due within this time stays in memory, and one out of memory is opened, in seconds.
WAKE_AHEAD_S = 2.5


class RoomTimer:
    """Gives `submit` one `Wake` when its time has come. Waits with a clock that is never set back.

    Every open room has one, so it must be small.
    """

    __slots__ = ("_handle", "_submit", "_wake")

    def __init__(self, submit: Callable[[Wake], object]) -> None:
        self._submit = submit
        self._wake: Wake | None = None
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_soon(self) -> bool:
        """Whether the timer will wake the room within WAKE_AHEAD_S."""
        if self._handle is None:
            return False
        return self._handle.when() - asyncio.get_running_loop().time() <= WAKE_AHEAD_S

    def set(self, wake: Wake, delay_s: float) -> None:
        """Submits `wake` in `delay_s`, instead of any other. It changes nothing if the timer is set
        for the same.
        """
        if wake == self._wake:
            return
        self.cancel()
        self._wake = wake
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._fire)

    def cancel(self) -> None:
        """Wakes the room no more."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._wake = None

    def _fire(self) -> None:
        wake, self._wake, self._handle = self._wake, None, None
        assert wake is not None, "the timer is set"
        self._submit(wake)
