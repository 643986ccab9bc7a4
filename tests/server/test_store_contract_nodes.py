"""The contract of server/store/base.py: nodes, their due rooms, and identities."""

import asyncio
import itertools
from collections.abc import Iterable

import pytest

from server.ids import IdentityId, RoomId
from server.store.base import (
    DAY_MS,
    NO_NODE,
    DueRoom,
    Identity,
    LastBeat,
    MatchFinished,
    MatchStarted,
    Rescheduled,
    RoomHead,
    RoomVersion,
    Store,
    StoreError,
    TakenRoom,
    wall_clock_ms,
)
from tests.support.log_entries import (
    NOW_MS,
    TODAY,
    append,
    new_room,
)

ADA, BEN = IdentityId("a1"), IdentityId("b1")


def room_ids(taken: Iterable[TakenRoom]) -> list[str]:
    """Returns the ids of rooms that were taken over."""
    return [room for room, _ in taken]


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
    assert sorted(
        room_ids(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False))
    ) == [
        "r2",
        "r5",
    ]
    assert room_ids(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)) == []
    assert await store.logs.head("r2") == RoomHead(2, "me", NOW_MS, taken_from="dead")
    assert room_ids(
        await store.nodes.take_over_due_rooms(NOW_MS + 5, "other", all_nodes=False)
    ) == ["r3"]
    await store.nodes.heartbeat("alive", -1)
    assert room_ids(
        await store.nodes.take_over_due_rooms(NOW_MS + 5, "other", all_nodes=False)
    ) == ["r1"]


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
    assert sorted(
        room_ids(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False))
    ) == [
        "r1",
        "r3",
    ]
    assert room_ids(await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=True)) == []
    assert room_ids(
        await store.nodes.take_over_due_rooms(NOW_MS + hour_ms, "me", all_nodes=False)
    ) == ["r2"]


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
    assert sorted(room_ids(itertools.chain(*taken))) == [f"r{n}" for n in range(5)]


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
    assert room_ids(await take_over(NOW_MS, "me", all_nodes=True, except_for=(r1, r3))) == []
    assert room_ids(await take_over(NOW_MS, "n2", all_nodes=False, except_for=(r2,))) == ["r1"]
    await store.logs.append(append("r1", 2, node="dead", due_ms=NOW_MS))
    assert room_ids(await take_over(NOW_MS, "me", all_nodes=False, except_for=(r1,))) == ["r1"]


async def test_a_takeover_names_the_node_before(store: Store) -> None:
    """The node that was responsible is known, so that clocks can stand since its last heartbeat:
    until an event or the end of the takeover, also if the next node dies in its turn.
    """

    async def taken_from(room: str) -> str | None:
        head = await store.logs.head(room)
        return None if head is None else head.taken_from

    rooms = (("r1", "n1"), ("r2", "n2"), ("r3", "n1"))
    for room, node in rooms:
        await store.logs.create_room(new_room(room, node=node, due_ms=NOW_MS))
        assert await taken_from(room) is None
    for node in ("me", "next"):
        taken = await store.nodes.take_over_due_rooms(NOW_MS, node, all_nodes=False)
        assert sorted(taken) == sorted(rooms)
        assert [await taken_from(room) for room, _ in rooms] == ["n1", "n2", "n1"]
    await store.nodes.end_takeover("me", "r1")
    assert await taken_from("r1") == "n1", "another node is responsible"
    await store.nodes.end_takeover("next", "r1")
    await store.logs.append(append("r2", 2, node="next", due_ms=NOW_MS))
    assert [await taken_from(room) for room, _ in rooms] == [None, None, "n1"]
    taken = await store.nodes.take_over_due_rooms(NOW_MS, "last", all_nodes=False)
    assert sorted(taken) == [("r1", "next"), ("r2", "next"), ("r3", "n1")]


async def test_a_running_clock_is_found_until_its_match_ends(store: Store) -> None:
    """`has_due_clock` looks at the rooms of a node that have a wake-up, in memory or not."""

    def started(match: str, clock: str | None) -> MatchStarted:
        return MatchStarted(
            match, "hex", 1, b"{}", b"[]", "", "rules", 1, NOW_MS, False, clock=clock
        )

    for room, node, clock, due_ms in (
        ("r1", "n1", "60", NOW_MS), ("r2", "n2", None, NOW_MS), ("r3", "n3", "60", None),
    ):  # fmt: skip
        await store.logs.create_room(new_room(room, node=node))
        projections = (started(f"m-{room}", clock),)
        await store.logs.append(append(room, 2, node=node, due_ms=due_ms, projections=projections))
    assert [await store.nodes.has_due_clock(f"n{n}") for n in (1, 2, 3)] == [True, False, False]
    over = MatchFinished("m-r1", 4, NOW_MS, 0, b"{}", None)
    await store.logs.append(append("r1", 3, node="n1", due_ms=NOW_MS, projections=(over,)))
    assert not await store.nodes.has_due_clock("n1")


async def test_an_early_wake_up_stays(store: Store) -> None:
    """A stored wake-up that is in the future and not later than the new one stays; any other one is
    replaced. None replaces it, and a new one replaces None.
    """
    steps = [  # the time of the event, its wake-up, and the one that is stored then
        (0, 300, 300), (10, 310, 300), (20, 300, 300), (30, 299, 299), (40, 400, 299),
        (299, 500, 500), (310, 310, 310), (320, None, None), (330, 900, 900), (340, 340, 340),
        (350, 600, 600),
    ]  # fmt: skip
    await store.logs.create_room(new_room("r1", due_ms=None, at_ms=NOW_MS))
    for v, (at_ms, due_ms, stored_ms) in enumerate(steps, 2):
        new_ms = None if due_ms is None else NOW_MS + due_ms
        await store.logs.append(append("r1", v, due_ms=new_ms, at_ms=NOW_MS + at_ms))
        head = await store.logs.head("r1")
        assert head is not None
        assert head.due_ms == (None if stored_ms is None else NOW_MS + stored_ms), (at_ms, due_ms)


async def test_a_wake_up_is_written_later(store: Store) -> None:
    """`reschedule` writes the wake-ups of a node's own rooms that have had no further event."""
    for room in ("r1", "r2", "r3", "r4"):
        node = "other" if room == "r3" else "me"
        await store.logs.create_room(new_room(room, node=node, due_ms=NOW_MS))
    await store.logs.append(append("r2", 2, node="me", due_ms=NOW_MS + 1))
    rooms = [Rescheduled(RoomId(f"r{n}"), 2, NOW_MS + 10 * n) for n in (1, 2, 3, 4)]
    await store.nodes.reschedule("me", rooms)
    heads = [await store.logs.head(room) for room in ("r1", "r2", "r3", "r4")]
    assert [head.due_ms for head in heads if head] == [
        NOW_MS + 10, NOW_MS + 1, NOW_MS, NOW_MS + 40,
    ]  # fmt: skip


async def test_the_last_heartbeat_of_a_node_is_remembered(store: Store) -> None:
    """`last_beat` gives its time, by the node's clock if it is known, and whether it still counts.
    A dead node is remembered while it is responsible for a room with a wake-up, or was before a
    takeover. For a released room it gives that of the node that died last.
    """
    assert await store.nodes.last_beat("n1") is None
    assert await store.nodes.last_beat(NO_NODE) is None
    first_ms = await store.nodes.heartbeat("n1", 60_000)
    beat = await store.nodes.last_beat("n1")
    assert beat is not None
    assert (abs(beat.at_ms - first_ms) <= 1, beat.is_alive) == (True, True)
    await store.logs.create_room(new_room("r1", node="n1", due_ms=NOW_MS))
    second_ms = await store.nodes.heartbeat("n1", -2 * DAY_MS)
    await store.nodes.heartbeat("new", 1000, 77)
    assert await store.nodes.last_beat("new") == LastBeat(77, True)
    await store.nodes.take_over_due_rooms(NOW_MS, "new", all_nodes=False)
    await store.nodes.heartbeat("newer", 1000)
    for node in ("n1", NO_NODE):
        beat = await store.nodes.last_beat(node)
        assert beat is not None
        assert (abs(beat.at_ms - second_ms) <= 1, beat.is_alive) == (True, False), node


async def test_one_node_takes_each_due_room(store: Store) -> None:
    """Of many nodes that take over at once, exactly one gets each room."""
    for n in range(30):
        await store.logs.create_room(new_room(f"r{n}", node="dead", due_ms=NOW_MS))
    for n in range(4):
        await store.nodes.heartbeat(f"n{n}", 60_000)
    taken = await asyncio.gather(
        *(store.nodes.take_over_due_rooms(NOW_MS, f"n{n}", all_nodes=False) for n in range(4))
    )
    assert sorted(room_ids(itertools.chain(*taken))) == sorted(f"r{n}" for n in range(30))


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
