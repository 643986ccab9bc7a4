"""Token buckets: a rate a second with a burst."""


class Bucket:
    """Holds up to `burst` tokens and gains `per_s` a second.

    Time comes from the caller, in seconds.
    """

    __slots__ = ("_at_s", "_burst", "_per_s", "_tokens")

    def __init__(self, per_s: float, burst: int, now_s: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._tokens = float(burst)
        self._at_s = now_s

    def take(self, now_s: float) -> bool:
        """Takes a token. Returns False when there is none."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def wait_s(self) -> float:
        """The time from the last `take` until there is a token, in seconds."""
        return max(0.0, (1 - self._tokens) / self._per_s)

    def is_full(self, now_s: float) -> bool:
        """Whether the bucket is full; a full bucket need not be kept."""
        return self._tokens + max(0.0, now_s - self._at_s) * self._per_s >= self._burst
