"""The time limits and intervals of a connection."""

from dataclasses import dataclass


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
