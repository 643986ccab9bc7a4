"""How much of the HTTP API each address may use. Kept in memory, for a bounded number of addresses."""

import math
from collections import OrderedDict
from collections.abc import Callable

from server.rate import Bucket

KEPT_ADDRESSES = 20_000


class AddressRate:
    """So many a minute for each address, and so many at once; per_minute = 0 is no limit. `now_s` is the clock.

    Of more addresses than are kept, those that have asked for nothing the longest start afresh.
    """

    def __init__(self, per_minute: int, burst: int, now_s: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._burst = max(1, burst)
        self._now_s = now_s
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, address: str) -> bool:
        """Whether that address may have one more now."""
        if not self._per_minute:
            return True
        now_s = self._now_s()
        bucket = self._buckets.get(address)
        if bucket is None:
            bucket = self._buckets[address] = Bucket(self._per_minute / 60, self._burst, now_s)
            if len(self._buckets) > KEPT_ADDRESSES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        return bucket.take(now_s)

    @property
    def wait_s(self) -> int:
        """After so long, rounded up, an address that was refused may have another one."""
        return math.ceil(60 / self._per_minute) if self._per_minute else 0
