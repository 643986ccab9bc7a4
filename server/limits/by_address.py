"""What one address may take of a node: new guests, sockets, new rooms, and places for rooms in
memory.

Kept in memory, by each node for itself. Time comes from the caller. An address that is not known
("") is not limited: that is a connection which is gone already. A limit of 0 is off.
"""

import math
from collections import Counter
from dataclasses import fields
from itertools import islice
from typing import Any

from server.limits.rate import Bucket
from server.protocol.codes import Code
from server.rooms.model import CommandRejected
from server.settings import Settings

#: Addresses that a rate remembers, some 300 bytes each; beyond that it forgets the least recent.
ADDRESSES = 20_000


#: The settings of benchmarks and load tests, in which one address or one player does the work of a
#: crowd.
OFF: dict[str, Any] = {one.name: 0 for one in fields(Settings) if one.name.startswith("limit_")}


class LimitExceeded(CommandRejected):
    """An address has taken what it may take; `retry_s` says when it may try again."""

    def __init__(self, code: Code, message: str, retry_s: int) -> None:
        super().__init__(code, f"{message}; try again in {retry_s} s")
        self.retry_s = retry_s


class Rates:
    """So many at once and so many a minute for each address; `what` names them in refusals."""

    def __init__(self, what: str, burst: int, per_minute: int) -> None:
        self._what = what
        self._burst = burst
        self._per_minute = per_minute
        self._buckets: dict[str, Bucket] = {}

    def __len__(self) -> int:
        """The addresses that are remembered."""
        return len(self._buckets)

    def take(self, address: str, now_s: float) -> None:
        """Takes one, or raises LimitExceeded."""
        if not (address and self._burst and self._per_minute):
            return
        bucket = self._buckets.pop(address, None) or Bucket(
            self._per_minute / 60, self._burst, now_s
        )
        taken = bucket.take(now_s)
        self._buckets[address] = bucket  # the order of the dictionary is that of use
        self._forget(now_s)
        if not taken:
            message = f"your address may have {self._burst} {self._what} at once and then {self._per_minute} a minute"
            raise LimitExceeded(Code.RATE_EXCEEDED, message, max(1, math.ceil(bucket.wait_s())))

    def _forget(self, now_s: float) -> None:
        """Lets go of buckets that are as good as new, a few at a time, and of the oldest where
        there are too many.
        """
        for address in [
            one for one, bucket in islice(self._buckets.items(), 2) if bucket.full(now_s)
        ]:
            del self._buckets[address]
        if len(self._buckets) > ADDRESSES:
            del self._buckets[next(iter(self._buckets))]


class Sockets:
    """How many connections each address has open."""

    RETRY_S = 10

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """LimitExceeded when the address has as many as it may have."""
        if self._most and address and self._open[address] >= self._most:
            message = f"your address has {self._most} connections open, as many as it may"
            raise LimitExceeded(Code.RATE_EXCEEDED, message, self.RETRY_S)

    def enter(self, address: str) -> None:
        """Counts a connection, or raises LimitExceeded."""
        self.check(address)
        self._open[address] += 1

    def leave(self, address: str) -> None:
        """One of them is gone."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


class Places:
    """The places for rooms in memory. A room counts for the address that brought it there, by
    making it or by being the first to ask for it, as long as it stays.
    """

    def __init__(self, most: int, percent: int) -> None:
        self._most = most
        self._most_each = max(1, most * percent // 100) if percent else most
        self._address: dict[str, str] = {}
        self._rooms: dict[str, set[str]] = {}

    def __contains__(self, room: str) -> bool:
        return room in self._address

    def of(self, address: str) -> set[str]:
        """The rooms that count for an address."""
        return self._rooms.get(address, set())

    def is_full(self) -> bool:
        """Whether the node has no place for another room."""
        return len(self._address) >= self._most

    def is_full_for(self, address: str) -> bool:
        """Whether the address has as many rooms as it may have."""
        return bool(address) and len(self.of(address)) >= self._most_each

    def check(self, address: str, retry_s: int) -> None:
        """LimitExceeded when there is no place for another room."""
        if self.is_full():
            raise LimitExceeded(
                Code.ROOM_LIMIT, "this server has no place for another room now", retry_s
            )
        if self.is_full_for(address):
            message = f"your address has {self._most_each} rooms open, as many as it may"
            raise LimitExceeded(Code.ROOM_LIMIT, message, retry_s)

    def take(self, room: str, address: str) -> None:
        """The room is in memory, or about to be; nothing changes if it was before."""
        if room not in self._address:
            self._address[room] = address
            self._rooms.setdefault(address, set()).add(room)

    def free(self, room: str) -> None:
        """The room is not in memory any more."""
        address = self._address.pop(room, None)
        if address is not None:
            self._rooms[address].discard(room)
            if not self._rooms[address]:
                del self._rooms[address]


class Limits:
    """All limits by address of one node."""

    def __init__(self, settings: Settings) -> None:
        self.guests = Rates("new guests", settings.limit_guests, settings.limit_guests_per_minute)
        self.rooms = Rates(
            "new rooms", settings.limit_rooms_per_minute, settings.limit_rooms_per_minute
        )
        self.sockets = Sockets(settings.limit_sockets)
        self.places = Places(settings.max_rooms, settings.limit_rooms_percent)
