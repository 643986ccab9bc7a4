"""The contract of server/store/base.py: the guests and rooms that expire, and those that stay."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from server.ids import IdentityId
from server.store import expiry
from server.store.base import (
    CommandKey,
    Conflict,
    DaySpan,
    ExpiryPage,
    Identity,
    RoomHead,
    Store,
)
from server.store.sql import SqlStore
from tests.support.log_entries import (
    NOW_MS,
    TODAY,
    append,
    finished,
    listing,
    new_room,
    started,
)
from tests.support.store_backends import open_backend, result_of

#: A span in which rows that were last seen TODAY have just expired.
SPAN = DaySpan(today=TODAY + 31, before_day=TODAY + 1)


async def expire_guests(store: Store, span: DaySpan = SPAN, limit: int = 500) -> list[str]:
    """Runs a full expiry round for guests; returns the deleted identities."""
    return await run_full_round(store.expiry.expire_identities, span, limit)


async def expire_rooms(store: Store, span: DaySpan = SPAN, limit: int = 500) -> list[str]:
    """Runs a full expiry round for rooms; returns the deleted rooms."""
    return await run_full_round(store.expiry.expire_rooms, span, limit)


async def run_full_round(
    expire: Callable[[str, DaySpan, int], Awaitable[ExpiryPage]], span: DaySpan, limit: int
) -> list[str]:
    """Expires page by page up to the last row; returns the deleted ids."""
    deleted: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await expire(after, span, limit)
        assert page.next is None or page.next > after
        deleted += page.deleted
        after = page.next
    return deleted


async def test_old_guests_who_never_sat_expire(store: Store) -> None:
    """Guests last seen before the span expire with their tokens, unless they took a seat."""
    for name in ("gone", "sat", "seen"):
        await store.identities.add_guest(Identity(IdentityId(name), name), name.encode(), NOW_MS)
    await store.expiry.mark_permanent(IdentityId("sat"))
    await store.expiry.mark_permanent(IdentityId("nobody"))
    assert await store.expiry.mark_identities_seen(["seen", "nobody"], TODAY + 1) == {"seen"}
    assert await expire_guests(store, DaySpan(TODAY + 30, TODAY)) == []
    assert await expire_guests(store) == ["gone"]
    assert await expire_guests(store) == []
    assert await store.identities.by_token(b"gone") is None
    assert await store.identities.by_token(b"sat") == Identity(
        IdentityId("sat"), "sat", TODAY, NOW_MS
    )
    assert await store.identities.by_token(b"seen") == Identity(
        IdentityId("seen"), "seen", TODAY + 1, NOW_MS
    )
    assert await store.expiry.mark_identities_seen(["gone"], TODAY) == frozenset()


async def test_a_last_seen_day_never_decreases(store: Store) -> None:
    """A node whose clock is behind never lowers a last seen day."""
    await store.identities.add_guest(Identity(IdentityId("a1"), "Ada"), b"hash", NOW_MS)
    await store.logs.create_room(new_room("r1"))
    for day in (TODAY + 5, TODAY - 5):
        assert await store.expiry.mark_identities_seen(["a1"], day) == {"a1"}
        assert await store.expiry.mark_rooms_seen(["r1"], day) == {"r1"}
    assert await store.identities.by_token(b"hash") == Identity(
        IdentityId("a1"), "Ada", TODAY + 5, NOW_MS
    )
    assert await store.logs.head("r1") == RoomHead(2, "n1", None, TODAY + 5)


async def test_old_rooms_without_a_match_expire_with_their_logs(store: Store) -> None:
    """A room last seen before the span is deleted with its log, unless it ever had a match."""
    for name in ("gone", "seen"):
        await store.logs.create_room(new_room(name, projections=[listing(name)]))
    await store.logs.create_room(new_room("played", projections=[started("m1"), finished("m1")]))
    await store.logs.append(append("gone", 2, CommandKey("ada", "1")))
    names = ["gone", "seen", "played"]
    assert await store.expiry.mark_rooms_seen(names, TODAY) == frozenset(names)
    await store.expiry.mark_rooms_seen(["seen"], TODAY + 1)
    assert await expire_rooms(store, DaySpan(TODAY + 7, TODAY)) == []
    assert await expire_rooms(store) == ["gone"]
    assert await expire_rooms(store) == []
    assert await store.logs.heads(names) == {"seen": 2, "played": 2}
    assert await store.logs.head("gone") is None
    assert await store.logs.events("gone", 0) == []
    assert await store.logs.find_command("gone", CommandKey("ada", "1")) is None
    assert await store.logs.created_room("ada", "gone") is None
    assert [room.room for room in await store.projections.rooms(9)] == ["seen"]
    assert await store.expiry.mark_rooms_seen(["gone"], TODAY) == frozenset()
    with pytest.raises(Conflict):
        await store.logs.append(append("gone", 3))
    assert await store.logs.create_room(new_room("again", create_id="gone")) is None, (
        "the same key makes another room"
    )


async def test_rows_without_a_last_seen_day_count_from_today(store: Store) -> None:
    """A room without a last seen day expires a full period after the first expiry round."""
    await store.logs.create_room(new_room("r1"))
    assert await expire_rooms(store) == []
    assert await store.logs.head("r1") == RoomHead(2, "n1", None, SPAN.today)
    assert await expire_rooms(store, DaySpan(SPAN.today + 7, SPAN.today)) == []
    assert await expire_rooms(store, DaySpan(SPAN.today + 8, SPAN.today + 1)) == ["r1"]


async def test_a_round_of_the_expiry_has_pages(store: Store) -> None:
    """An expiry page covers at most `limit` rows; a round covers all rows."""
    names = [f"n{number}" for number in range(7)]
    for name in names:
        await store.identities.add_guest(Identity(IdentityId(name), name), name.encode(), NOW_MS)
        await store.logs.create_room(new_room(name))
    await store.expiry.mark_permanent(IdentityId("n3"))
    await store.expiry.mark_rooms_seen(names, TODAY)
    assert await store.expiry.expire_identities("", SPAN, 2) == ExpiryPage(("n0", "n1"), "n1")
    assert await expire_guests(store, limit=2) == ["n2", "n4", "n5", "n6"]
    assert await store.expiry.expire_rooms("n1", SPAN, 3) == ExpiryPage(("n2", "n3", "n4"), "n4")
    assert await expire_rooms(store, limit=3) == ["n0", "n1", "n5", "n6"]


async def test_many_nodes_may_expire_rows_at_once(store: Store) -> None:
    """With concurrent expiry, marks and appends, each row is deleted at most once.

    Rows that were marked stay, and rooms and their logs stay consistent.
    """
    names = [f"n{number:02}" for number in range(30)]
    for name in names:
        await store.identities.add_guest(Identity(IdentityId(name), name), name.encode(), NOW_MS)
        await store.logs.create_room(new_room(name))
    await store.expiry.mark_rooms_seen(names, TODAY)
    rooms, guests, seen_rooms, seen_guests, appended = await asyncio.gather(
        asyncio.gather(*(expire_rooms(store) for _ in range(4))),
        asyncio.gather(*(expire_guests(store) for _ in range(4))),
        store.expiry.mark_rooms_seen(names[::2], SPAN.today),
        store.expiry.mark_identities_seen(names[1::2], SPAN.today),
        asyncio.gather(*(result_of(store.logs.append(append(name, 2))) for name in names)),
    )
    deleted_rooms = sorted(itertools.chain(*rooms))
    deleted_guests = sorted(itertools.chain(*guests))
    assert len(set(deleted_rooms)) == len(deleted_rooms)
    assert len(set(deleted_guests)) == len(deleted_guests)
    assert set(deleted_rooms).isdisjoint(seen_rooms)
    assert set(deleted_guests).isdisjoint(seen_guests)
    heads = await store.logs.heads(names)
    assert heads.keys() == set(names) - set(deleted_rooms)
    for name, append_result in zip(names, appended, strict=True):
        assert len(await store.logs.events(name, 0)) == heads.get(name, 0)
        assert name not in heads or heads[name] == (3 if append_result is None else 2)


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
async def test_a_deletion_checks_its_rows_again(
    backend: str, request: pytest.FixtureRequest
) -> None:
    """A row that changed after its page was read is not deleted."""
    async with open_backend(backend, request) as store:
        assert isinstance(store, SqlStore)
        names = ["seen", "grew", "played", "gone"]
        for name in names:
            await store.logs.create_room(new_room(name))
            await store.identities.add_guest(
                Identity(IdentityId(name), name), name.encode(), NOW_MS
            )
        await store.expiry.mark_rooms_seen(names, TODAY)
        await store.expiry.mark_rooms_seen(["seen"], SPAN.today)
        await store.expiry.mark_identities_seen(["seen"], SPAN.today)
        await store.expiry.mark_permanent(IdentityId("played"))
        await store.logs.append(append("grew", 2))
        await store.logs.append(append("played", 2, projections=[started("m1", 3)]))
        heads = dict.fromkeys(names, 2) | {"played": 3}
        assert await store.database.write(
            lambda connection: expiry.delete_rooms(connection, heads, SPAN.before_day)
        ) == ["gone"]
        assert await store.logs.heads(names) == {"seen": 2, "grew": 3, "played": 3}
        deleted = await store.database.write(
            lambda connection: expiry.delete_identities(connection, names, SPAN.before_day)
        )
        assert sorted(deleted) == ["gone", "grew"]
