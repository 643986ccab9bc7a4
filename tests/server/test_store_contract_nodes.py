"""The contract of server/store/base.py: nodes, their due rooms, and identities."""

import asyncio
import itertools

import pytest

from server.ids import IdentityId, RoomId
from server.store.base import (
    DueRoom,
    Identity,
    RoomHead,
    RoomVersion,
    Store,
    StoreError,
    wall_clock_ms,
)
from tests.support.log_entries import (
    NOW_MS,
    TODAY,
    append,
    new_room,
)

ADA, BEN = IdentityId("a1"), IdentityId("b1")

# --- nodes and wake-ups ---------------------------------------------------------------------------


async def test_due_rooms_of_dead_nodes_are_taken_over(store: Store) -> None:
    """`take_over_due_rooms` takes over, once, the rooms with a due wake-up and a dead node."""
    for node, alive_for_ms in (("alive", 60_000), ("dead", -1), ("me", 60_000)):
        await store.nodes.heartbeat(node, alive_for_ms)
    for room, node, due_ms in (
        ("r1", "alive", NOW_MS), ("r2", "dead", NOW_MS), ("r3", "dead", NOW_MS + 1),
        ("r4", "dead", None),
        ("r5", "never seen", NOW_MS - 99), ("r6", "me", NOW_MS),
    ):  # fmt: skip
        await store.logs.create_room(new_room(room, node=node, due_ms=due_ms))
    assert sorted(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)) == [
        "r2",
        "r5",
    ]
    assert await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False) == []
    assert await store.logs.head("r2") == RoomHead(2, "me", NOW_MS)
    assert await store.nodes.take_over_due_rooms(NOW_MS + 5, "other", all_nodes=False) == ["r3"]
    await store.nodes.heartbeat("alive", -1)
    assert await store.nodes.take_over_due_rooms(NOW_MS + 5, "other", all_nodes=False) == ["r1"]


async def test_a_wake_up_at_the_last_event_is_due_at_once(store: Store) -> None:
    """A wake-up at the time of the room's last event is due even if the caller's clock is behind.

    Any other wake-up depends on the caller's clock.
    """
    hour_ms = 3_600_000
    await store.logs.create_room(
        new_room("r1", node="dead", due_ms=NOW_MS + hour_ms, at_ms=NOW_MS + hour_ms)
    )
    await store.logs.create_room(new_room("r2", node="dead", due_ms=NOW_MS + hour_ms, at_ms=NOW_MS))
    await store.logs.create_room(new_room("r3", node="dead", due_ms=NOW_MS + 5, at_ms=NOW_MS))
    await store.logs.append(append("r3", 2, node="dead", due_ms=NOW_MS + 9, at_ms=NOW_MS + 9))
    assert sorted(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)) == [
        "r1",
        "r3",
    ]
    assert await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=True) == []
    assert await store.nodes.take_over_due_rooms(NOW_MS + hour_ms, "me", all_nodes=False) == ["r2"]


async def test_own_due_rooms_come_in_the_order_of_their_wake_ups(store: Store) -> None:
    """`own_due_rooms` returns a node's own due rooms page by page in the order of their wake-ups.

    Rooms with the same wake-up are in the order of their ids. Rooms of other nodes and rooms
    without a due wake-up are left out.
    """
    due = {"r1": 5, "r2": 3, "r3": 5, "r4": 0, "r5": 5, "late": 6}
    for room, due_ms in due.items():
        await store.logs.create_room(new_room(room, node="me", due_ms=NOW_MS + due_ms))
    await store.logs.create_room(new_room("other", node="n2", due_ms=NOW_MS))
    await store.logs.create_room(new_room("never", node="me", due_ms=None))
    rooms: list[DueRoom] = []
    while page := await store.nodes.own_due_rooms(
        "me", NOW_MS + 5, rooms[-1] if rooms else None, 2
    ):
        assert len(page) <= 2
        rooms += page
    expected = sorted((NOW_MS + due_ms, room) for room, due_ms in due.items() if room != "late")
    assert rooms == expected
    await store.logs.append(append("r4", 2, node="n2", due_ms=NOW_MS))
    await store.logs.append(append("r2", 2, node="me", due_ms=None))
    assert await store.nodes.own_due_rooms("me", NOW_MS) == []


async def test_alive_nodes(store: Store) -> None:
    """`alive_nodes` returns the nodes whose last heartbeat has not expired."""
    assert await store.nodes.alive_nodes() == frozenset()
    for node, alive_for_ms in (("n1", 10_000), ("n2", 10_000), ("eternal", 10**9)):
        await store.nodes.heartbeat(node, alive_for_ms)
    assert await store.nodes.alive_nodes() == {"n1", "n2", "eternal"}
    await store.nodes.heartbeat("n2", -1)
    assert await store.nodes.alive_nodes() == {"n1", "eternal"}


async def test_a_heartbeat_returns_the_stores_time(store: Store) -> None:
    """A heartbeat returns the time of the store's clock (here this machine's), in ms since 1970."""
    before_ms = wall_clock_ms()
    times = [
        await store.nodes.heartbeat("n1", 1000),
        await store.nodes.heartbeat("n1", -1000),
        await store.nodes.heartbeat("n2", 0),
    ]
    assert [before_ms, *times, wall_clock_ms()] == sorted([before_ms, *times, wall_clock_ms()])


async def test_a_sole_node_takes_all_due_rooms(store: Store) -> None:
    """With `all_nodes`, rooms of living nodes are taken over too, at most `limit` per call."""
    await store.nodes.heartbeat("before", 10_000)
    for n in range(5):
        await store.logs.create_room(new_room(f"r{n}", node="before", due_ms=NOW_MS))
    taken = [
        await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=True, limit=2)
        for _ in range(4)
    ]
    assert [len(rooms) for rooms in taken] == [2, 2, 1, 0]
    assert sorted(itertools.chain(*taken)) == [f"r{n}" for n in range(5)]


async def test_a_released_room_waits_for_another_node(store: Store) -> None:
    """A released room is taken over as that of a dead node, except by a node that leaves it out.

    A room that has had an event since the released version stays with its node.
    """
    await store.nodes.heartbeat("me", 60_000)
    for room in ("r1", "r2", "r3"):
        await store.logs.create_room(new_room(room, node="me", due_ms=NOW_MS))
    await store.logs.append(append("r2", 2, node="me", due_ms=NOW_MS))
    r1, r2, r3 = (RoomVersion(RoomId(room), 2) for room in ("r1", "r2", "r3"))
    await store.nodes.release_rooms("me", [r1, r2])
    await store.nodes.release_rooms("other", [r3])
    assert [due.room for due in await store.nodes.own_due_rooms("me", NOW_MS)] == ["r2", "r3"]
    take_over = store.nodes.take_over_due_rooms
    assert await take_over(NOW_MS, "me", all_nodes=True, except_for=(r1, r3)) == []
    assert await take_over(NOW_MS, "n2", all_nodes=False, except_for=(r2,)) == ["r1"]
    await store.logs.append(append("r1", 2, node="dead", due_ms=NOW_MS))
    assert await take_over(NOW_MS, "me", all_nodes=False, except_for=(r1,)) == ["r1"]


async def test_one_node_takes_each_due_room(store: Store) -> None:
    """Of many nodes that take over at once, exactly one gets each room."""
    for n in range(30):
        await store.logs.create_room(new_room(f"r{n}", node="dead", due_ms=NOW_MS))
    for n in range(4):
        await store.nodes.heartbeat(f"n{n}", 60_000)
    taken = await asyncio.gather(
        *(store.nodes.take_over_due_rooms(NOW_MS, f"n{n}", all_nodes=False) for n in range(4))
    )
    assert sorted(itertools.chain(*taken)) == sorted(f"r{n}" for n in range(30))


async def test_taking_over_does_not_move_the_head(store: Store) -> None:
    """After a takeover the previous node can still append at the same v."""
    await store.logs.create_room(new_room("r1", node="slow", due_ms=NOW_MS))
    await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)
    await store.logs.append(append("r1", 2, node="slow"))
    assert await store.logs.head("r1") == RoomHead(3, "slow", None)


# --- identities -----------------------------------------------------------------------------------


async def test_identities_are_found_by_token(store: Store) -> None:
    """An identity is found by its token's hash, with its latest name; unknown tokens give None."""
    await store.identities.add_guest(Identity(ADA, "Ada"), b"\x00hash\xff", NOW_MS)
    await store.identities.add_guest(Identity(BEN, "Ben"), b"other", NOW_MS)
    assert await store.identities.by_token(b"\x00hash\xff") == Identity(ADA, "Ada", TODAY, NOW_MS)
    await store.identities.rename(ADA, "Ada L.")
    assert await store.identities.by_token(b"\x00hash\xff") == Identity(
        ADA, "Ada L.", TODAY, NOW_MS
    )
    assert await store.identities.by_token(b"other") == Identity(BEN, "Ben", TODAY, NOW_MS)
    assert await store.identities.by_token(b"\x00hash") is None


async def test_a_token_belongs_to_one_identity(store: Store) -> None:
    """A second identity with the same token or id is refused."""
    await store.identities.add_guest(Identity(ADA, "Ada"), b"hash", NOW_MS)
    for identity, token_hash in (
        (Identity(BEN, "Ben"), b"hash"),
        (Identity(ADA, "Ben"), b"new"),
    ):
        with pytest.raises(StoreError):
            await store.identities.add_guest(identity, token_hash, NOW_MS)
    assert await store.identities.by_token(b"hash") == Identity(ADA, "Ada", TODAY, NOW_MS)
    assert await store.identities.by_token(b"new") is None
