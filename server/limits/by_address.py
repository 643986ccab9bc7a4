"""Limits of one address on one node: new guests, sockets, new rooms and places in memory.

Each node keeps its own counts in memory. Time comes from the caller. The unknown address "", of a
connection that has already closed, is not limited. A limit of 0 is off.
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

#: Addresses that a rate remembers, about 300 bytes each. Beyond that it forgets the least recently
#: used.
MAX_ADDRESSES = 20_000


#: Settings for benchmarks and load tests, in which one address or one player does the work of many.
NO_LIMITS: dict[str, Any] = {
    one.name: 0 for one in fields(Settings) if one.name.startswith("limit_")
}


class LimitExceeded(CommandRejected):
    """An address has reached a limit. `retry_s` is the time after which it may try again."""

    def __init__(self, code: Code, message: str, retry_s: int) -> None:
        super().__init__(code, f"{message}; try again in {retry_s} s")
        self.retry_s = retry_s


class Rates:
    """A burst and a rate a minute for each address. `what` names the limited thing in refusals."""

    def __init__(self, what: str, burst: int, per_minute: int) -> None:
        self._what = what
        self._burst = burst
        self._per_minute = per_minute
        self._buckets: dict[str, Bucket] = {}

    def __len__(self) -> int:
        """The number of addresses remembered."""
        return len(self._buckets)

    def take(self, address: str, now_s: float) -> None:
        """Takes a token of the address. Raises LimitExceeded when it has none."""
        if not (address and self._burst and self._per_minute):
            return
        bucket = self._buckets.pop(address, None) or Bucket(
            self._per_minute / 60, self._burst, now_s
        )
        taken = bucket.take(now_s)
        self._buckets[address] = bucket  # the dictionary is in order of use
        self._forget(now_s)
        if not taken:
            message = (
                f"your address may have {self._burst} {self._what} at once"
                f" and then {self._per_minute} a minute"
            )
            raise LimitExceeded(Code.RATE_EXCEEDED, message, max(1, math.ceil(bucket.wait_s())))

    def _forget(self, now_s: float) -> None:
        """Drops up to two full buckets, and the least recently used one beyond ADDRESSES."""
        for address in [
            one for one, bucket in islice(self._buckets.items(), 2) if bucket.is_full(now_s)
        ]:
            del self._buckets[address]
        if len(self._buckets) > MAX_ADDRESSES:
            del self._buckets[next(iter(self._buckets))]


class Sockets:
    """The open connections of each address."""

    RETRY_S = 10

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Raises LimitExceeded when the address has as many connections as it may."""
        if self._limit and address and self._open[address] >= self._limit:
            message = f"your address has {self._limit} connections open, as many as it may"
            raise LimitExceeded(Code.RATE_EXCEEDED, message, self.RETRY_S)

    def enter(self, address: str) -> None:
        """Counts a connection. Raises LimitExceeded when the address has too many."""
        self.check(address)
        self._open[address] += 1

    def leave(self, address: str) -> None:
        """Uncounts a connection that has closed."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


class RoomSlots:
    """The places for rooms in memory.

    A room counts for the address that created or first opened it, as long as it stays in memory.
    """

    def __init__(self, limit: int, percent: int) -> None:
        self._limit = limit
        self._limit_each = max(1, limit * percent // 100) if percent else limit
        self._address: dict[str, str] = {}
        self._rooms: dict[str, set[str]] = {}

    def __contains__(self, room: str) -> bool:
        return room in self._address

    def of(self, address: str) -> set[str]:
        """The rooms that count for an address."""
        return self._rooms.get(address, set())

    def is_full(self) -> bool:
        """Whether the node has no place for another room."""
        return len(self._address) >= self._limit

    def is_full_for(self, address: str) -> bool:
        """Whether the address has as many rooms as it may."""
        return bool(address) and len(self.of(address)) >= self._limit_each

    def check(self, address: str, retry_s: int) -> None:
        """Raises LimitExceeded when there is no place for another room."""
        if self.is_full():
            raise LimitExceeded(
                Code.ROOM_LIMIT, "this server has no place for another room now", retry_s
            )
        if self.is_full_for(address):
            message = f"your address has {self._limit_each} rooms open, as many as it may"
            raise LimitExceeded(Code.ROOM_LIMIT, message, retry_s)

    def take(self, room: str, address: str) -> None:
        """Takes a place for the room, unless it has one."""
        if room not in self._address:
            self._address[room] = address
            self._rooms.setdefault(address, set()).add(room)

    def free(self, room: str) -> None:
        """Frees the room's place."""
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
        self.room_slots = RoomSlots(settings.max_rooms, settings.limit_rooms_percent)
