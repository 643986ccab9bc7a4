"""The store's port: what the log and its projections promise, whatever keeps them.

Every backend passes the same contract tests. Rows never leave a backend: what comes out are the
values below.

The promises: `append` and `create_room` return only after the commit; all that one call writes is
committed together or not at all; v of a room counts 1, 2, 3, … without a gap; a command key (room,
identity, id) makes events once.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

#: Who may see an event.
EVERYBODY, SPECTATORS = 0, 1

#: No heartbeat holds for longer: one that reaches further ahead was made before the store's clock
#: was set back.
LONGEST_BEAT_MS = 60_000


def wall_clock_ms() -> int:
    """Milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000


DAY_MS = 24 * 3_600_000


def day_of(at_ms: int) -> int:
    """The day, counted from 1970 in UTC, in which a time falls."""
    return at_ms // DAY_MS


def batched(names: Sequence[str], most: int = 500) -> Iterator[Sequence[str]]:
    """The names, so many at a time, as one statement takes them."""
    for start in range(0, len(names), most):
        yield names[start : start + most]


class StoreError(Exception):
    """The store could not do it; the message says why."""


class Conflict(StoreError):
    """The room's head is not where the writer thought: read the newer events and decide again."""


class Duplicate(StoreError):
    """That command key has made its events already; here is their range."""

    def __init__(self, first_v: int, last_v: int) -> None:
        super().__init__(f"made v {first_v} to {last_v} before")
        self.first_v = first_v
        self.last_v = last_v


class StoreUnavailable(StoreError):
    """Nothing is known about whether it was written: ask again by command key."""


class StoredEvent(Struct, frozen=True):
    """One entry of a room's log: body is the event's JSON, at_ms the time it was decided, in ms
    since 1970.
    """

    v: int
    at_ms: int
    audience: int
    body: bytes


class CommandKey(Struct, frozen=True):
    """What makes a command's events happen once: unique with its room."""

    identity: str
    id: str


class Listing(Struct, frozen=True):
    """What the lobby shows of a room without opening it; summary is JSON.
    A room with listed False is not in the list.
    """

    listed: bool
    summary: bytes


class MatchStarted(Struct, frozen=True):
    """The row of a new match; options and seats are JSON."""

    match: str
    game: str
    number: int
    options: bytes
    seats: bytes
    start: str
    rules: str
    v: int
    at_ms: int
    public: bool


class MatchFinished(Struct, frozen=True):
    """How a match ended, at the event v."""

    match: str
    v: int
    at_ms: int
    plies: int
    over: bytes


class Thought(Struct, frozen=True):
    """What the AI saw at its move: body is JSON, v the move's event."""

    match: str
    v: int
    ply: int
    body: bytes


Projection = Listing | MatchStarted | MatchFinished | Thought


class Append(Struct, frozen=True):
    """Events to add after expected_v, and what must change with them.
    `node` takes responsibility for the wake-up at due_ms.
    """

    room: str
    expected_v: int
    events: tuple[StoredEvent, ...]
    node: str
    due_ms: int | None = None
    command: CommandKey | None = None
    projections: tuple[Projection, ...] = ()


class NewRoom(Struct, frozen=True):
    """A room to make with its first events; (host, create_id) makes it once."""

    append: Append
    game: str
    public: bool
    host: str
    create_id: str
    created_ms: int


class RoomHead(Struct, frozen=True):
    """Where a room's log ends, which node is responsible for its wake-up, and the last day on which
    it was noted that somebody was there (None: never).
    """

    v: int
    node: str
    due_ms: int | None
    seen_day: int | None = None


class Identity(Struct, frozen=True):
    """Somebody who may hold seats, and the last day on which it was noted that they were here
    (None: never).
    """

    id: str
    name: str
    seen_day: int | None = None


class StoredMatch(Struct, frozen=True):
    """A match as the list of matches has it; finished_ms, plies and over are None while it runs."""

    match: str
    room: str
    game: str
    number: int
    options: bytes
    seats: bytes
    start: str
    rules: str
    first_v: int
    started_ms: int
    last_v: int | None
    finished_ms: int | None
    plies: int | None
    over: bytes | None


class StoredRoom(Struct, frozen=True):
    """A public room as the lobby lists it."""

    room: str
    summary: bytes
    changed_ms: int


class DaySpan(Struct, frozen=True):
    """What was last seen before `before_day` is old on the day `today`."""

    today: int
    before_day: int


class Page(Struct, frozen=True):
    """What a look over a page of rows deleted, and the id of the page's last row; None when it was
    the last page.
    """

    gone: tuple[str, ...]
    next: str | None


class Store(Protocol):
    """Where everything is kept that must outlive the process."""

    @property
    def epoch(self) -> str:
        """Random, made with the store: it differs after a restore from a backup, and then clients
        start anew.
        """

    async def create_room(self, new: NewRoom) -> str | None:
        """Commits a new room; returns None, or the id of the room that the same (host, create_id)
        made before.
        """

    async def created_room(self, host: str, create_id: str) -> str | None:
        """The room that (host, create_id) made, if it made one."""

    async def append(self, append: Append) -> None:
        """Commits events; Conflict, Duplicate or StoreUnavailable when it did not."""

    async def head(self, room: str) -> RoomHead | None:
        """Where the room's log ends; None for a room that does not exist."""

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        """The heads of many rooms; unknown ones are left out."""

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        """The log after a v, in order, at most `limit` entries."""

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        """The (first, last) v that a command made, if it made any."""

    async def due_rooms(
        self, now_ms: int, node: str, all_nodes: bool, limit: int = 500
    ) -> list[str]:
        """Takes rooms over whose wake-up has come and whose node is gone (or every node's): they
        are this node's from now on. What was due already when the room's last event was written is
        due, whatever `now_ms` is: clocks are set back, and differ. After a call that failed, rooms
        that are this node's already may come, too.
        """

    async def heartbeat(self, node: str, alive_for_ms: int) -> int:
        """Says that a node is alive for so long from now (LONGEST_BEAT_MS at most), by the store's
        clock, so that nodes whose clocks differ do not take each other for dead; returns the
        store's time in ms since 1970.
        """

    async def alive_nodes(self) -> frozenset[str]:
        """The nodes whose heartbeat has not run out, by the store's clock."""

    async def add_identity(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        """A new guest, who has never sat and was seen on the day on which it was made."""

    async def identity_by_token(self, token_hash: bytes) -> Identity | None:
        """Whose token that is."""

    async def rename_identity(self, identity: str, name: str) -> None:
        """A new name; events keep the old one."""

    async def saw_identities(self, identities: Sequence[str], day: int) -> frozenset[str]:
        """Notes that they were here on that day; returns those that there are."""

    async def mark_sat(self, identity: str) -> None:
        """The guest is about to take a seat or to make a room, and stays for ever; nothing if there
        is no such one.
        """

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> Page:
        """Looks over the identities whose ids follow `after`: guests who never sat and whose last
        day is old go; the days of those without one count from today.
        """

    # --- rooms that nobody needs ---

    async def saw_rooms(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        """Notes that somebody was there on that day; returns those rooms that there are."""

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> Page:
        """Looks over the rooms whose ids follow `after`: those that never had a match and whose
        last day is old go with all that belongs to them; the days of those without one count from
        today.
        """

    async def rooms(self, limit: int) -> list[StoredRoom]:
        """The listed rooms, those first whose entry changed last."""

    async def matches(self, limit: int, before: tuple[int, str] | None) -> list[StoredMatch]:
        """Finished public matches, the newest first;
        before is the (finished_ms, match) of the last one of the page before.
        """

    async def match(self, match: str) -> StoredMatch | None:
        """One match, public or not, running or finished."""

    async def thoughts(self, match: str) -> list[Thought]:
        """What the AI saw in a match, by ply."""

    async def bus_key(self) -> bytes:
        """Random, made at the first call and the same for every node: nodes know each other's
        messages by it. Never told to anybody else.
        """

    async def check(self) -> None:
        """StoreUnavailable unless the store answers."""
