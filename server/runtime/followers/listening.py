"""The time in which this node could hear its players.

The durations of absence are counted on this clock: how long a player has been gone, and since when
this node would have learned of a return. A jump of the time of day changes none of them.
"""

from collections.abc import Callable

#: The longest time between two readings that counts, in ms. A longer one is a stall.
MAX_GAP_MS = 1000
#: Time between two readings by the node's duty, in seconds.
LISTEN_S = 0.5
#: The longest time after a stall that does not count, in ms: until then everyone is back who is
#: there, with the delays between a client's attempts to connect.
MAX_SETTLING_MS = 10_000


class ListeningClock:
    """A clock in ms that is never set, and stands still while this node could not hear anyone.

    That is a stall: the process was stopped, its event loop was blocked, or the machine slept. It
    also stands still for as long again after a stall, at most MAX_SETTLING_MS: until then the node
    reads what its sockets hold, and clients that gave up connect again.

    `read_ms` is a clock that nobody sets, and that runs on while the process is stopped and while
    the machine sleeps. A stall is noticed as two readings far apart, so someone must read this
    clock every LISTEN_S.
    """

    __slots__ = ("_counted_ms", "_left_out_ms", "_read_at_ms", "_read_ms", "stall_count")

    def __init__(self, read_ms: Callable[[], int]) -> None:
        self._read_ms = read_ms
        self._read_at_ms = read_ms()
        self._counted_ms = 0
        #: What `read_ms` is ahead of this clock, while this clock runs.
        self._left_out_ms = self._read_at_ms
        #: The number of stalls up to the last reading.
        self.stall_count = 0

    def now_ms(self) -> int:
        """Reads the clock."""
        read_at_ms = self._read_ms()
        gap_ms, self._read_at_ms = read_at_ms - self._read_at_ms, read_at_ms
        if gap_ms > MAX_GAP_MS:
            self.stall_count += 1
            resumes_ms = read_at_ms + min(gap_ms, MAX_SETTLING_MS)
            self._left_out_ms = max(self._left_out_ms + gap_ms, resumes_ms - self._counted_ms)
        self._counted_ms = max(self._counted_ms, read_at_ms - self._left_out_ms)
        return self._counted_ms

    @property
    def settling_ms(self) -> int:
        """The time for which the clock stands still from the last reading on; 0 if it runs."""
        return max(0, self._counted_ms + self._left_out_ms - self._read_at_ms)

    def uptime_of_ms(self, at_ms: int) -> int:
        """The time of `read_ms` at which this clock runs and has reached `at_ms`, if there is no
        further stall.
        """
        return (max(at_ms, self._counted_ms) if self.settling_ms else at_ms) + self._left_out_ms
