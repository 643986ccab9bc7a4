"""The timer of a room, which wakes it at its next deadline, at a change of the permitted commands,
or to read the log again.
"""

import asyncio
from collections.abc import Callable

from server.runtime.requests import Wake

#: Time before a deadline at which its room must be in memory, in seconds. An open room then stays
#: open, and any other is opened.
WAKE_AHEAD_S = 2.5
#: Time by which the same `Wake` must be wanted earlier to move the timer, in seconds.
EARLIER_S = 0.05


class RoomTimer:
    """Calls `submit` with a `Wake` when its time has come. It uses a clock that is never set back.

    Every open room has one, so it must be small.
    """

    __slots__ = ("_at_s", "_handle", "_loop", "_submit", "_wake")

    def __init__(self, submit: Callable[[Wake], object]) -> None:
        self._submit = submit
        self._wake: Wake | None = None
        self._handle: asyncio.TimerHandle | None = None
        # The loop's time at which the timer expires; uvloop's handle of a timer that is due at once
        # has no `when`.
        self._at_s = 0.0
        # Kept, since the lookup makes a system call in Python 3.11, and each move sets the timer.
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_soon(self) -> bool:
        """Whether the timer will wake the room within WAKE_AHEAD_S."""
        return self._handle is not None and not self._is_late(WAKE_AHEAD_S)

    def set(self, wake: Wake, delay_s: float) -> None:
        """Submits `wake` in `delay_s` seconds, unless the timer expires by then for another one.

        The caller must set it again after each wake-up, for what is due then: the wake-up that is
        kept may be an older one, of which nothing is due any more. So the moves of a match with a
        clock, which all put the flag off, do not each move a timer.
        """
        if self._handle is not None:
            if not self._is_late(delay_s + EARLIER_S if wake == self._wake else delay_s):
                return
            self._handle.cancel()
        self._wake = wake
        self._loop = loop = asyncio.get_running_loop()
        self._at_s = loop.time() + delay_s
        self._handle = loop.call_later(delay_s, self._fire)

    def _is_late(self, delay_s: float) -> bool:
        """Whether the timer, which is set, expires later than in `delay_s` seconds."""
        assert self._loop is not None, "the timer was set"
        return self._at_s - self._loop.time() > delay_s

    def cancel(self) -> None:
        """Cancels the timer, if it is set."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._wake = None

    def _fire(self) -> None:
        wake, self._wake, self._handle = self._wake, None, None
        assert wake is not None, "the timer is set"
        self._submit(wake)
