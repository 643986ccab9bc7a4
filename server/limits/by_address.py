"""The limits of one node: new guests, sockets, new rooms and rooms in memory of each address, new
names of each identity, the commands of each identity, of each address, and to each room, and the
joins and the new seats of each identity and of each address.

Each node has its own counts, in memory. The caller supplies the time. The address "" has
no limits: it stands for a closed connection and for the server itself. A limit of 0 is off.
"""

import math
from collections import Counter
from dataclasses import fields
from itertools import islice
from typing import Any

from server.codes import Code
from server.ids import IdentityId, RoomId
from server.limits.rate import Bucket, BucketTable
from server.rooms.model import CommandRejected
from server.settings import Settings

#: Maximum number of addresses that a rate limit remembers, about 300 bytes each. Beyond that it
#: forgets the least recently used address.
MAX_ADDRESSES = 20_000

#: New names that a guest may take at once, and in a minute after that. Each one is written to the
#: store and to the rooms in which the guest has a seat.
NAMES_BURST, NAMES_PER_MINUTE = 10, 6

#: Settings that switch all limits off, for load tests in which one address stands for many.
NO_LIMITS: dict[str, Any] = {
    setting.name: 0 for setting in fields(Settings) if setting.name.startswith("limit_")
}


class LimitExceeded(CommandRejected):
    """An address has reached a limit. `retry_s` is the time after which it may try again."""

    def __init__(self, code: Code, message: str, retry_s: int) -> None:
        super().__init__(code, f"{message}; try again in {retry_s} s")
        self.retry_s = retry_s


class RateLimit:
    """A rate limit for each address, or for another key. `subject` and `who` name what is limited
    and for whom, for messages.
    """

    def __init__(
        self, subject: str, burst: int, per_minute: float, who: str = "your address"
    ) -> None:
        self._subject = subject
        self._who = who
        self._burst = burst
        self._per_minute = per_minute
        self._buckets: dict[str, Bucket] = {}

    def __len__(self) -> int:
        """The number of addresses remembered."""
        return len(self._buckets)

    def take(self, address: str, now_s: float) -> None:
        """Takes a token from the address's bucket. Raises LimitExceeded if the bucket has none."""
        if not (address and self._burst and self._per_minute):
            return
        bucket = self._buckets.pop(address, None) or Bucket(
            self._per_minute / 60, self._burst, now_s
        )
        is_within_limit = bucket.take(now_s)
        self._buckets[address] = bucket  # keeps the dictionary in order of use
        self._forget(now_s)
        if not is_within_limit:
            message = (
                f"{self._who} may have {self._burst} {self._subject} at once"
                f" and then {self._per_minute} a minute"
            )
            raise LimitExceeded(Code.RATE_EXCEEDED, message, max(1, math.ceil(bucket.wait_s())))

    def _forget(self, now_s: float) -> None:
        """Drops full buckets among the two least recently used, and one beyond MAX_ADDRESSES."""
        for address in [
            address for address, bucket in islice(self._buckets.items(), 2) if bucket.is_full(now_s)
        ]:
            del self._buckets[address]
        if len(self._buckets) > MAX_ADDRESSES:
            del self._buckets[next(iter(self._buckets))]


class SocketLimit:
    """A limit of open connections for each address."""

    #: The time after which a refused client should try again, in seconds.
    RETRY_S = 10

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._open: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Raises LimitExceeded if the address has reached its limit of connections."""
        if self._limit and address and self._open[address] >= self._limit:
            message = f"your address has reached its limit of open connections ({self._limit})"
            raise LimitExceeded(Code.RATE_EXCEEDED, message, self.RETRY_S)

    def enter(self, address: str) -> None:
        """Counts a new connection. Raises LimitExceeded if the address has reached its limit."""
        self.check(address)
        self._open[address] += 1

    def leave(self, address: str) -> None:
        """Stops counting a connection that has closed."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]


class RoomSlots:
    """Limits the rooms in memory, for the node and for each address.

    A room counts for the address that created or first opened it, as long as it stays in memory.
    """

    def __init__(self, limit: int, percent: int) -> None:
        self._limit = limit
        self._limit_per_address = max(1, limit * percent // 100) if percent else limit
        self._address: dict[RoomId, str] = {}
        self._rooms: dict[str, set[RoomId]] = {}

    def __contains__(self, room: RoomId) -> bool:
        return room in self._address

    def rooms_of(self, address: str) -> set[RoomId]:
        """The rooms that count for the address."""
        return self._rooms.get(address, set())

    def is_full(self) -> bool:
        """Whether the node has reached its limit of rooms."""
        return len(self._address) >= self._limit

    def is_full_for(self, address: str) -> bool:
        """Whether the address has reached its limit of rooms."""
        return bool(address) and len(self.rooms_of(address)) >= self._limit_per_address

    def check(self, address: str, retry_s: int) -> None:
        """Raises LimitExceeded if the node or the address has reached its limit of rooms."""
        if self.is_full():
            raise LimitExceeded(
                Code.ROOM_LIMIT, "this server has reached its limit of open rooms", retry_s
            )
        if self.is_full_for(address):
            limit = self._limit_per_address
            message = f"your address has reached its limit of open rooms ({limit})"
            raise LimitExceeded(Code.ROOM_LIMIT, message, retry_s)

    def take(self, room: RoomId, address: str) -> None:
        """Takes a slot for the room, unless it has one."""
        if room not in self._address:
            self._address[room] = address
            self._rooms.setdefault(address, set()).add(room)

    def free(self, room: RoomId) -> None:
        """Frees the room's slot."""
        address = self._address.pop(room, None)
        if address is not None:
            self._rooms[address].discard(room)
            if not self._rooms[address]:
                del self._rooms[address]


class CommandLimits:
    """The rates of people's commands on one node: of each identity, of each address, and to each
    room.

    A command takes its tokens before the room decides it, because a refused command has a cost too.
    Two exceptions need the room's answer:

    - The legal moves of a match do not count for the address, so that any number of people behind
      one address can play. A move takes that token only when it is refused.
    - A command without events counts for its sender, but not for the room. Otherwise a stranger
      could keep the players of a room from moving by commands that it refuses.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.identities = BucketTable(
            settings.limit_commands_burst, settings.limit_commands_per_minute
        )
        self.addresses = BucketTable(
            settings.limit_commands_address_burst, settings.limit_commands_address_per_minute
        )
        self.rooms = BucketTable(
            settings.limit_commands_room_per_minute, settings.limit_commands_room_per_minute
        )

    def take(self, identity: IdentityId, address: str, room: RoomId, now_s: float) -> None:
        """Takes a token for a person's command. Raises LimitExceeded if one of the three has none.

        The address is "" for a move, and for a command that comes from none.
        """
        wait_s = self.identities.take(identity, now_s)
        if wait_s > 0:
            raise _too_many_commands("you send", self._settings.limit_commands_per_minute, wait_s)
        if address:
            wait_s = self.addresses.take(address, now_s)
            if wait_s > 0:
                limit = self._settings.limit_commands_address_per_minute
                raise _too_many_commands("your address sends", limit, wait_s)
        wait_s = self.rooms.take(room, now_s)
        if wait_s > 0:
            limit = self._settings.limit_commands_room_per_minute
            raise _too_many_commands("all of you together send this room", limit, wait_s)

    def on_no_events(self, room: RoomId) -> None:
        """Gives the room the token of a command back that made no events."""
        self.rooms.give_back(room)

    def on_refused_move(self, address: str, now_s: float) -> None:
        """Takes a token of the address, as far as it has one, for a move that was refused."""
        if address:
            self.addresses.take(address, now_s)


def _too_many_commands(who: str, per_minute: int, wait_s: float) -> LimitExceeded:
    message = f"{who} too many commands (the limit is {per_minute} a minute)"
    return LimitExceeded(Code.RATE_EXCEEDED, message, max(1, math.ceil(wait_s)))


class JoinLimits:
    """The rates of joins on one node: of each identity, and of each address.

    A join costs the server a snapshot of the room, many times what a command costs. The pages of a
    club that all connect again after a restart are within the limits; a client that is refused
    joins later.
    """

    def __init__(self, settings: Settings) -> None:
        self._identities = RateLimit(
            "joins", settings.limit_joins_burst, settings.limit_joins_per_minute, who="you"
        )
        self._addresses = RateLimit(
            "joins", settings.limit_joins_address_burst, settings.limit_joins_address_per_minute
        )

    def take(self, identity: IdentityId, address: str, now_s: float) -> None:
        """Takes a token for a join. Raises LimitExceeded if the identity or the address has none.

        The address is "" for a join that comes from none.
        """
        self._identities.take(identity, now_s)
        self._addresses.take(address, now_s)


class SitLimits:
    """The rates at which an identity, and the people of an address, sit down in one room.

    Each time adds events to the room's log, which takes a limited number of them. So a stranger
    who sits down and stands up again needs hours to fill it.
    """

    def __init__(self, settings: Settings) -> None:
        self._identities = RateLimit(
            "new seats in a room",
            settings.limit_sits_burst,
            settings.limit_sits_per_minute,
            who="you",
        )
        self._addresses = RateLimit(
            "new seats in a room",
            settings.limit_sits_address_burst,
            settings.limit_sits_address_per_minute,
        )

    def take(self, identity: IdentityId, address: str, room: RoomId, now_s: float) -> None:
        """Takes a token for a seat in the room. Raises LimitExceeded if there is none.

        The address is "" for a command that comes from none.
        """
        self._identities.take(f"{identity} {room}", now_s)
        if address:
            self._addresses.take(f"{address} {room}", now_s)


class Limits:
    """All limits of one node."""

    def __init__(self, settings: Settings) -> None:
        self.guests = RateLimit(
            "new guests", settings.limit_guests, settings.limit_guests_per_minute
        )
        self.names = RateLimit("new names", NAMES_BURST, NAMES_PER_MINUTE, who="you")
        self.rooms = RateLimit(
            "new rooms", settings.limit_rooms_per_minute, settings.limit_rooms_per_minute
        )
        self.commands = CommandLimits(settings)
        self.joins = JoinLimits(settings)
        self.sits = SitLimits(settings)
        self.sockets = SocketLimit(settings.limit_sockets)
        self.room_slots = RoomSlots(settings.max_rooms, settings.limit_rooms_percent)
