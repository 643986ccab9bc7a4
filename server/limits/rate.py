"""Token buckets: a rate with a burst, for one subject or for many."""

#: Maximum number of keys that a table of buckets remembers, about 200 bytes each. Beyond that it
#: forgets keys that were not used lately.
MAX_KEYS = 20_000
#: Tolerance for rounding errors of times since 1970, in seconds.
EPSILON_S = 1e-4


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


class BucketTable:
    """Token buckets by key: each holds up to `burst` tokens and gains `per_minute` in a minute.

    It refuses nothing if either is 0. The caller supplies the time, in seconds. Each bucket is one
    number, the time at which it will be full, so that a token costs no object (the generic cell
    rate algorithm). A bucket that is full equals a new one, and is dropped with the old keys.
    """

    __slots__ = ("_empty_s", "_full_s", "_old_full_s", "_token_s", "_wait_from_s", "is_on")

    def __init__(self, burst: int, per_minute: int) -> None:
        #: Whether the table refuses anything.
        self.is_on = burst > 0 and per_minute > 0
        #: The time in which a bucket gains a token, and in which an empty one becomes full.
        self._token_s = 60 / per_minute if self.is_on else 0.0
        self._empty_s = burst * self._token_s
        #: The time before it is full from which a bucket has no whole token.
        self._wait_from_s = self._empty_s - self._token_s
        #: When each bucket will be full: of the keys used lately, and of others. A key moves to the
        #: first at its use; when that has half of MAX_KEYS, it replaces the second.
        self._full_s: dict[str, float] = {}
        self._old_full_s: dict[str, float] = {}

    def __len__(self) -> int:
        """The number of keys remembered."""
        return len(self._full_s) + len(self._old_full_s)

    def take(self, key: str, now_s: float) -> float:
        """Takes a token and returns 0; returns the time until there is one, in seconds, if the
        key's bucket has none.
        """
        if not self.is_on:
            return 0.0
        full_s = self._full_s.get(key)
        if full_s is None:
            full_s = self._find_old(key, now_s)
        to_full_s = full_s - now_s
        if to_full_s <= 0:
            self._full_s[key] = now_s + self._token_s
            return 0.0
        if to_full_s <= self._wait_from_s + EPSILON_S:
            self._full_s[key] = full_s + self._token_s
            return 0.0
        if to_full_s > self._empty_s + 2 * EPSILON_S:
            # The clock was set back, which no client can do: the bucket begins anew, because a
            # refusal would stop everybody's matches.
            self._full_s[key] = now_s + self._token_s
            return 0.0
        return to_full_s - self._wait_from_s

    def give_back(self, key: str) -> None:
        """Returns a token to the key's bucket, if the table still remembers it."""
        full_s = self._full_s.get(key)
        if full_s is not None:
            self._full_s[key] = full_s - self._token_s

    def _find_old(self, key: str, now_s: float) -> float:
        """Makes the key one that was used lately; returns the time at which its bucket will be
        full.
        """
        full_s = self._old_full_s.pop(key, now_s)
        if len(self._full_s) >= MAX_KEYS // 2:
            self._old_full_s = {
                other: until_s for other, until_s in self._full_s.items() if until_s > now_s
            }
            self._full_s = {}
        self._full_s[key] = full_s
        return full_s
