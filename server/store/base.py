"""The interface of a store: the promises of the log and its projections, for every backend.

All backends pass the same contract tests. Database rows never leave a backend; callers receive the
structs below.

The promises: `append` and `create_room` return only after the commit. Everything that one call
writes is committed together or not at all. The versions `v` of a room count 1, 2, 3, … without a
gap. A command key (room, identity, id) makes events once.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

#: The audience of an event: everybody in the room, or spectators only.
EVERYONE, SPECTATORS = 0, 1

#: Longest validity of a heartbeat, in ms: one that reaches further ahead was written before the
#: store's clock was set back.
MAX_HEARTBEAT_MS = 60_000


def wall_clock_ms() -> int:
    """Milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000


DAY_MS = 24 * 3_600_000


def day_of(at_ms: int) -> int:
    """The UTC day of a time, counted from 1970."""
    return at_ms // DAY_MS


def batched(names: Sequence[str], most: int = 500) -> Iterator[Sequence[str]]:
    """Yields the names in slices of at most `most`, the size of one statement's parameter list."""
    for start in range(0, len(names), most):
        yield names[start : start + most]


class StoreError(Exception):
    """The store could not carry out the operation; the message says why."""


class Conflict(StoreError):
    """The compare-and-set failed: the room's head is not at the expected version. The caller reads
    the newer events and decides again.
    """


class Duplicate(StoreError):
    """The command key has made its events already; `first_v` and `last_v` are their range."""

    def __init__(self, first_v: int, last_v: int) -> None:
        super().__init__(f"made v {first_v} to {last_v} before")
        self.first_v = first_v
        self.last_v = last_v


class StoreUnavailable(StoreError):
    """The write may or may not be committed; the caller looks the command key up again."""


class StoredEvent(Struct, frozen=True):
    """An entry of a room's log: the event's JSON, and the time of its decision in ms since 1970."""

    v: int
    at_ms: int
    audience: int
    body: bytes


class CommandKey(Struct, frozen=True):
    """The idempotency key of a command; unique within its room."""

    identity: str
    id: str


class Listing(Struct, frozen=True):
    """The lobby's entry for a room, readable without opening it; `summary` is JSON. A room with
    `listed` False is not in the list.
    """

    listed: bool
    summary: bytes


class MatchStarted(Struct, frozen=True):
    """The row of a new match; `options` and `seats` are JSON."""

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
    """The result of a match, which ended with event `v`; `over` is JSON."""

    match: str
    v: int
    at_ms: int
    plies: int
    over: bytes


class Thought(Struct, frozen=True):
    """The AI's analysis of its move: `body` is JSON, `v` the move's event."""

    match: str
    v: int
    ply: int
    body: bytes


Projection = Listing | MatchStarted | MatchFinished | Thought


class Append(Struct, frozen=True):
    """Events to append after `expected_v`, with the projections that change in the same
    transaction. `node` takes responsibility for the wake-up at `due_ms`.
    """

    room: str
    expected_v: int
    events: tuple[StoredEvent, ...]
    node: str
    due_ms: int | None = None
    command: CommandKey | None = None
    projections: tuple[Projection, ...] = ()


class NewRoom(Struct, frozen=True):
    """A room to create with its first events; (host, create_id) creates it once."""

    append: Append
    game: str
    public: bool
    host: str
    create_id: str
    created_ms: int


class RoomHead(Struct, frozen=True):
    """The head of a room's log, the node responsible for its wake-up, and the last day on which
    presence in the room was recorded (None: never).
    """

    v: int
    node: str
    due_ms: int | None
    seen_day: int | None = None


class Identity(Struct, frozen=True):
    """An identity that may hold seats, and the last day on which it was present (None: never)."""

    id: str
    name: str
    seen_day: int | None = None


class StoredMatch(Struct, frozen=True):
    """A row of the match list; `last_v`, `finished_ms`, `plies`, `over` are None while it runs."""

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
    """An expiry threshold: on day `today`, rows last seen before `before_day` are old."""

    today: int
    before_day: int


class Page(Struct, frozen=True):
    """The result of one expiry pass over a page of rows: the deleted ids, and the id of the page's
    last row, or None after the last page.
    """

    deleted: tuple[str, ...]
    next: str | None


class Store(Protocol):
    """Everything that must outlive the process."""

    @property
    def epoch(self) -> str:
        """A random token made with the store. It differs after a restore from a backup, which makes
        clients resync from scratch.
        """

    async def create_room(self, new: NewRoom) -> str | None:
        """Commits a new room; returns None, or the id of the room that (host, create_id) made
        before.
        """

    async def created_room(self, host: str, create_id: str) -> str | None:
        """The id of the room that (host, create_id) made; None if there is none."""

    async def append(self, append: Append) -> None:
        """Commits events; raises Conflict, Duplicate or StoreUnavailable if it does not."""

    async def head(self, room: str) -> RoomHead | None:
        """The head of the room's log; None for a room that does not exist."""

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        """The heads of many rooms; unknown rooms are left out."""

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        """The log entries after `after_v`, in order, at most `limit` of them."""

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        """The (first, last) version that a command made; None if it made no events."""

    async def due_rooms(
        self, now_ms: int, node: str, all_nodes: bool, limit: int = 500
    ) -> list[str]:
        """Takes over rooms whose wake-up is due and whose node is dead (any other node with
        `all_nodes`); returns their ids.

        From now on these rooms belong to `node`. A wake-up that was due when the room's last event
        was written is due whatever `now_ms` says: clocks differ and are set back. After a call that
        failed, the result may include rooms that belong to this node already.
        """

    async def heartbeat(self, node: str, alive_for_ms: int) -> int:
        """Records that a node is alive for the next `alive_for_ms` (MAX_HEARTBEAT_MS at most);
        returns the store's time in ms since 1970.

        The expiry time is by the store's clock, so that nodes whose clocks differ do not declare
        each other dead.
        """

    async def alive_nodes(self) -> frozenset[str]:
        """The nodes whose heartbeat has not expired, by the store's clock."""

    async def add_identity(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        """Adds a guest who has never sat and whose last seen day is the day of `created_ms`."""

    async def identity_by_token(self, token_hash: bytes) -> Identity | None:
        """The identity with that token hash; None if there is none."""

    async def rename_identity(self, identity: str, name: str) -> None:
        """Changes an identity's name; events keep the old one."""

    async def mark_identities_seen(self, identities: Sequence[str], day: int) -> frozenset[str]:
        """Records that the identities were present on that day; returns the ids that exist."""

    async def mark_sat(self, identity: str) -> None:
        """Marks a guest who is about to take a seat or to make a room, and so never expires; does
        nothing for an unknown identity.
        """

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> Page:
        """Runs one expiry pass over the `limit` identities that follow `after`.

        Deletes guests who never sat and whose last seen day is old. For identities without a last
        seen day, the count starts at `span.today`.
        """

    # --- room expiry ---

    async def mark_rooms_seen(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        """Records presence in the rooms on that day; returns the ids that exist."""

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> Page:
        """Runs one expiry pass over the `limit` rooms that follow `after`.

        Deletes, with all that belongs to them, rooms that never had a match and whose last seen day
        is old. For rooms without a last seen day, the count starts at `span.today`.
        """

    async def rooms(self, limit: int) -> list[StoredRoom]:
        """The listed rooms, most recently changed entry first."""

    async def matches(self, limit: int, before: tuple[int, str] | None) -> list[StoredMatch]:
        """Finished public matches, newest first. `before` is the (finished_ms, match) of the
        previous page's last match.
        """

    async def match(self, match: str) -> StoredMatch | None:
        """One match, public or not, running or finished."""

    async def thoughts(self, match: str) -> list[Thought]:
        """The AI's analysis of a match's moves, by ply."""

    async def bus_key(self) -> bytes:
        """The secret by which nodes authenticate each other's messages: random, made at the first
        call, the same for every node, never sent to anyone else.
        """

    async def check(self) -> None:
        """Raises StoreUnavailable unless the store answers."""
