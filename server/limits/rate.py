"""A token bucket: a rate per second, with a burst."""


class Bucket:
    """Holds up to `burst` tokens and gains `per_s` tokens a second.

    The caller supplies the time, in seconds.
    """

    __slots__ = ("_burst", "_per_s", "_tokens", "_updated_s")

    def __init__(self, per_s: float, burst: int, now_s: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._tokens = float(burst)
        self._updated_s = now_s

    def take(self, now_s: float) -> bool:
        """Takes a token; returns False if there is none."""
        self._tokens = min(
            self._burst, self._tokens + max(0.0, now_s - self._updated_s) * self._per_s
        )
        self._updated_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def wait_s(self) -> float:
        """The time from the last `take` until there is a token, in seconds."""
        return max(0.0, (1 - self._tokens) / self._per_s)

    def is_full(self, now_s: float) -> bool:
        """Whether the bucket is full. A full bucket may be dropped: it equals a new one."""
        return self._tokens + max(0.0, now_s - self._updated_s) * self._per_s >= self._burst
