"""The time limits and intervals of a connection, and the server's time as the client knows it."""

from collections import deque
from dataclasses import dataclass

#: The number of times from the server of which the one counts that came fastest.
TIME_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits and intervals, in seconds."""

    #: The interval between pings.
    ping_s: float = 2.5
    #: The connection drops a socket that receives nothing for this long.
    silence_s: float = 9
    #: The connection drops a socket on which a command stays unanswered for this long.
    answer_s: float = 12
    #: The connection drops a socket on which no welcome arrives within this time.
    welcome_s: float = 5
    #: The upper limit of the delay before the first retry; it doubles with each attempt.
    retry_s: float = 1
    #: The limit does not grow beyond this.
    retry_max_s: float = 4
    #: A socket that stays open for this long resets the back-off.
    stable_s: float = 10
    #: The connection repeats a command for this long while the server is busy or cannot use its
    #: database. A new socket starts this time again.
    busy_s: float = 60

    def backoff_s(self, attempts: int, jitter: float) -> float:
        """Seconds to wait after this number of attempts: exponential back-off with full jitter.

        `jitter` is a random number from 0 to 1.
        """
        return jitter * min(self.retry_s * 2.0**attempts, self.retry_max_s)


class ServerTime:
    """The server's time of day, from the times that it sends and a clock of this process that is
    never set: so a computer whose own time of day is wrong shows the same as the server.

    A time that took long to arrive seems early. The latest of the last TIME_SAMPLES counts.
    """

    def __init__(self) -> None:
        self._ahead_ms: deque[float] = deque(maxlen=TIME_SAMPLES)

    def restart(self) -> None:
        """Forgets what an earlier server has sent."""
        self._ahead_ms.clear()

    def observe(self, at_ms: int, received_s: float) -> None:
        """Notes a time of the server, in ms since 1970, that arrived at `received_s`."""
        self._ahead_ms.append(at_ms - received_s * 1000)

    def now_ms(self, now_s: float) -> int:
        """The server's time at `now_s`, in ms since 1970; 0 before it has sent one."""
        return int(max(self._ahead_ms) + now_s * 1000) if self._ahead_ms else 0
