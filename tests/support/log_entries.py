"""Log entries, rooms without a real game, and new databases, for tests of stores and the bus."""

import asyncio
import tempfile
from collections.abc import Awaitable, Sequence
from functools import cache
from pathlib import Path

from server.store.base import (
    EVERYONE,
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Listing,
    MatchFinished,
    MatchStarted,
    NewRoom,
    Projection,
    Store,
    StoredEvent,
    StoreError,
    StoreUnavailable,
    day_of,
)
from server.store.postgres_link import Limits
from server.store.schema import upgrade_sqlite

#: The time of all entries by default, in ms since 1970.
NOW_MS = 1_700_000_000_000
TODAY = day_of(NOW_MS)


def new_database(folder: Path) -> Path:
    """Creates an empty database in a folder; the migrations run once per process."""
    path = folder / "store.sqlite3"
    path.write_bytes(_migrated())
    return path


@cache
def _migrated() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        upgrade_sqlite(path)
        return path.read_bytes()


def entries(first_v: int, count: int = 1, at_ms: int = NOW_MS) -> tuple[StoredEvent, ...]:
    """Returns a sequence of events."""
    body = b'{"kind":"said","identity":"ada","name":"Ada","text":"%d"}'
    return tuple(StoredEvent(v, at_ms, EVERYONE, body % v) for v in range(first_v, first_v + count))


def append(
    room: str,
    after_v: int,
    command: CommandKey | None = None,
    *,
    count: int = 1,
    node: str = "n1",
    due_ms: int | None = None,
    at_ms: int = NOW_MS,
    projections: Sequence[Projection] = (),
) -> Append:
    """Returns an append of events after a v."""
    return Append(
        room, after_v, entries(after_v + 1, count, at_ms), node, due_ms, command, tuple(projections)
    )


def new_room(
    room: str,
    host: str = "ada",
    create_id: str | None = None,
    *,
    count: int = 2,
    node: str = "n1",
    due_ms: int | None = None,
    at_ms: int = NOW_MS,
    projections: Sequence[Projection] = (),
) -> NewRoom:
    """Returns a room that starts with events; by default its create_id is the room's id."""
    key = CommandKey(host, create_id or room)
    first = append(
        room, 0, key, count=count, node=node, due_ms=due_ms, at_ms=at_ms, projections=projections
    )
    return NewRoom(first, "sticks", True, host, key.id, at_ms)


def started(match: str, v: int = 1, *, public: bool = True, at_ms: int = NOW_MS) -> MatchStarted:
    """Returns the projection of a match that starts."""
    return MatchStarted(match, "sticks", 1, b"{}", b"[]", "1-2-3 first", "digest", v, at_ms, public)


def finished(match: str, v: int = 2, *, at_ms: int = NOW_MS) -> MatchFinished:
    """Returns the projection of a match that ends."""
    return MatchFinished(match, v, at_ms, 7, b'{"winner":0}', 0)


def listing(text: str, listed: bool = True) -> Listing:
    """Returns a room's entry in the lobby."""
    return Listing(listed, b'{"title":"%b"}' % text.encode())


#: Short limits, for tests that wait until the store reports PostgreSQL as unavailable.
QUICK_LIMITS = Limits(connect_s=2.0, statement_s=2.0, lock_s=0.2)


async def outcome(work: Awaitable[object]) -> object:
    """Returns the result of `work`, or the StoreError that it raises."""
    try:
        return await work
    except StoreError as error:
        return error


async def append_until_committed(
    store: Store, room: str, key: CommandKey, body: bytes, within_s: float = 30.0
) -> tuple[int, int]:
    """Writes an event as a node does; returns the number of conflicts and the event's v.

    It tries again after a conflict and when the outcome is unknown; the command's key prevents a
    second event.
    """
    conflicts = 0
    async with asyncio.timeout(within_s):
        while True:
            try:
                head = await store.logs.head(room)
                assert head is not None
                event = StoredEvent(head.v + 1, NOW_MS, 0, body)
                await store.logs.append(Append(room, head.v, (event,), "n1", None, key))
                return conflicts, head.v + 1
            except Conflict:
                conflicts += 1
            except Duplicate as duplicate:
                return conflicts, duplicate.last_v
            except StoreUnavailable:
                await asyncio.sleep(0.02)


async def log(store: Store, room: str) -> list[StoredEvent]:
    """Returns the whole log of a room."""
    events: list[StoredEvent] = []
    while page := await store.logs.events(room, len(events)):
        events += page
    return events
