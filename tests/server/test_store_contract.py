"""The contract of server/store/base.py. A new backend is added to BACKENDS and must pass."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from server.deploy.postgres import Postgres
from server.store import expiry
from server.store.base import (
    EVERYONE,
    SPECTATORS,
    Append,
    CommandKey,
    Conflict,
    DaySpan,
    DueRoom,
    Duplicate,
    Identity,
    Page,
    Projection,
    RoomHead,
    Store,
    StoredEvent,
    StoreError,
    Thought,
    wall_clock_ms,
)
from server.store.memory import MemoryStore
from server.store.postgres import open_postgres
from server.store.sql import SqlStore, open_sqlite
from tests.support.log_entries import (
    NOW_MS,
    TODAY,
    append,
    entries,
    finished,
    listing,
    new_database,
    new_room,
    started,
)

#: The stores that are tested.
BACKENDS = ["memory", "sqlite", "postgres"]


@asynccontextmanager
async def open_backend(name: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """An empty store of that kind."""
    if name == "memory":
        yield MemoryStore()
    elif name == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        async with open_sqlite(new_database(folder)) as store:
            yield store
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        async with postgres.database() as database, open_postgres(postgres.url(database)) as store:
            yield store


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    async with open_backend(request.param, request) as store:
        yield store


async def result_of(operation: Awaitable[object]) -> object:
    """The operation's result, or the StoreError that it raises."""
    try:
        return await operation
    except StoreError as error:
        return error


# --- the log --------------------------------------------------------------------------------------


async def test_a_new_room_has_its_events_and_head(store: Store) -> None:
    """`create_room` commits the first events; the head holds the log's end, the node and the
    wake-up.
    """
    assert await store.create_room(new_room("r1", due_ms=NOW_MS)) is None
    assert await store.head("r1") == RoomHead(2, "n1", NOW_MS)
    assert await store.events("r1", 0) == list(entries(1, 2))


async def test_an_unknown_room_has_nothing(store: Store) -> None:
    """An unknown room has no head, events or commands, and an append to it is a Conflict."""
    assert await store.head("r1") is None
    assert await store.heads(["r1"]) == {}
    assert await store.events("r1", 0) == []
    assert await store.find_command("r1", CommandKey("ada", "1")) is None
    with pytest.raises(Conflict):
        await store.append(append("r1", 0))


async def test_events_are_stored_exactly(store: Store) -> None:
    """Events keep v, time, audience and body; node and wake-up are those of the last append."""
    await store.create_room(new_room("r1"))
    strange = StoredEvent(
        3, NOW_MS + 5, SPECTATORS, '{"kind":"said","text":"Grüße\u2028\\u0000🎲"}'.encode()
    )
    await store.append(Append("r1", 2, (strange,), "n2", NOW_MS + 9))
    assert await store.events("r1", 2) == [strange]
    assert await store.head("r1") == RoomHead(3, "n2", NOW_MS + 9)
    await store.append(append("r1", 3))
    assert await store.head("r1") == RoomHead(4, "n1", None)


async def test_events_are_read_in_pages(store: Store) -> None:
    """`events` returns at most `limit` entries after a v, in order; the pages make up the whole
    log.
    """
    await store.create_room(new_room("r1", count=7))
    pages = [await store.events("r1", v, 3) for v in (0, 3, 6, 7)]
    assert [[event.v for event in page] for page in pages] == [[1, 2, 3], [4, 5, 6], [7], []]


async def test_an_append_to_another_v_is_a_conflict(store: Store) -> None:
    """An append behind or ahead of the head is a Conflict and writes nothing."""
    await store.create_room(new_room("r1"))
    for after_v in (0, 1, 3):
        with pytest.raises(Conflict):
            await store.append(
                append("r1", after_v, CommandKey("ada", "1"), projections=[listing("no")])
            )
    assert await store.head("r1") == RoomHead(2, "n1", None)
    assert await store.events("r1", 2) == []
    assert await store.find_command("r1", CommandKey("ada", "1")) is None
    assert await store.rooms(9) == []


async def test_one_of_many_writers_at_one_v_wins(store: Store) -> None:
    """Of many concurrent appends at one v, one is committed and the others are Conflicts."""
    await store.create_room(new_room("r1"))
    results = await asyncio.gather(
        *(result_of(store.append(append("r1", 2, CommandKey("ada", str(n))))) for n in range(20))
    )
    assert [type(result) for result in results].count(Conflict) == 19
    winner = results.index(None)
    assert [event.v for event in await store.events("r1", 0)] == [1, 2, 3]
    assert await store.find_command("r1", CommandKey("ada", str(winner))) == (3, 3)


async def test_two_concurrent_appends_of_a_room_succeed(store: Store) -> None:
    """Two concurrent appends of one room that follow each other both succeed, in the order of the
    calls.
    """
    await store.create_room(new_room("r1"))
    first, second = (
        store.append(append("r1", 2, node="n1")),
        store.append(append("r1", 3, node="n2")),
    )
    assert list(await asyncio.gather(result_of(first), result_of(second))) == [None, None]
    assert await store.head("r1") == RoomHead(4, "n2", None)


async def test_a_command_makes_events_once(store: Store) -> None:
    """A repeated key is a Duplicate that carries the range of v it made, and writes nothing."""
    await store.create_room(new_room("r1"))
    key = CommandKey("ada", "1")
    await store.append(append("r1", 2, key, count=2))
    assert await store.find_command("r1", key) == (3, 4)
    with pytest.raises(Duplicate) as duplicate:
        await store.append(append("r1", 4, key, projections=[listing("no")]))
    assert (duplicate.value.first_v, duplicate.value.last_v) == (3, 4)
    assert await store.head("r1") == RoomHead(4, "n1", None)
    assert await store.rooms(9) == []


async def test_a_late_repeated_command_is_refused(store: Store) -> None:
    """A repeated key at an old v is a Conflict or a Duplicate, and still finds its events."""
    await store.create_room(new_room("r1"))
    key = CommandKey("ada", "1")
    await store.append(append("r1", 2, key))
    assert isinstance(await result_of(store.append(append("r1", 2, key))), Conflict | Duplicate)
    assert await store.find_command("r1", key) == (3, 3)
    assert await store.head("r1") == RoomHead(3, "n1", None)


async def test_keys_and_texts_are_stored_exactly(store: Store) -> None:
    """Ids that differ in anything are different keys; names and bodies are stored unchanged."""
    await store.create_room(new_room("r1", count=1))
    ids = [
        "1",
        "1 ",
        " 1",
        "A",
        "a",
        "\u00e4",
        "a\u0308",
        "\U0001f3b2",
        "'",
        '"',
        "\\",
        "%",
        "\n",
        "\x7f",
        "\ufffd",
        "null",
    ]
    for v, text in enumerate(ids, 1):
        body = msgspec.json.encode({"kind": "said", "text": text})
        event = StoredEvent(v + 1, NOW_MS, EVERYONE, body)
        await store.append(
            Append("r1", v, (event,), "n1", None, CommandKey(text, text), (listing(text),))
        )
        await store.add_identity(Identity(text, text), text.encode(), NOW_MS)
    for v, text in enumerate(ids, 1):
        assert await store.find_command("r1", CommandKey(text, text)) == (v + 1, v + 1)
        assert msgspec.json.decode((await store.events("r1", v, 1))[0].body)["text"] == text
        assert await store.identity_by_token(text.encode()) == Identity(text, text, TODAY)
    assert await store.find_command("r1", CommandKey("1", " 1")) is None
    assert [room.summary for room in await store.rooms(1)] == [listing(ids[-1]).summary]


async def test_a_key_belongs_to_a_room_and_an_identity(store: Store) -> None:
    """The same id from another identity, or in another room, is another command."""
    await store.create_room(new_room("r1"))
    await store.create_room(new_room("r2"))
    await store.append(append("r1", 2, CommandKey("ada", "1")))
    await store.append(append("r1", 3, CommandKey("ben", "1")))
    await store.append(append("r2", 2, CommandKey("ada", "1")))
    assert await store.find_command("r1", CommandKey("ben", "1")) == (4, 4)
    assert await store.find_command("r2", CommandKey("ada", "1")) == (3, 3)
    assert await store.find_command("r2", CommandKey("ben", "1")) is None


async def test_a_used_key_fails_alone(store: Store) -> None:
    """Among many concurrent appends, the one with a used key fails and all others are committed."""
    for n in range(10):
        await store.create_room(new_room(f"r{n}"))
    used = CommandKey("ada", "used")
    await store.append(append("r4", 2, used))
    appends = [
        append(f"r{n}", 3 if n == 4 else 2, used if n == 4 else CommandKey("ada", "new"))
        for n in range(10)
    ]
    results = await asyncio.gather(*(result_of(store.append(operation)) for operation in appends))
    assert isinstance(results[4], Duplicate)
    assert (results[4].first_v, results[4].last_v) == (3, 3)
    assert [result for n, result in enumerate(results) if n != 4] == [None] * 9
    assert set((await store.heads([f"r{n}" for n in range(10)])).values()) == {3}


async def test_heads_of_many_rooms(store: Store) -> None:
    """`heads` returns known rooms with their v and leaves out unknown ones."""
    await store.create_room(new_room("r1"))
    await store.create_room(new_room("r2", count=5))
    assert await store.heads(["r2", "r1", "r3"]) == {"r1": 2, "r2": 5}
    assert await store.heads([]) == {}


async def test_the_epoch_stays(store: Store) -> None:
    """The epoch is a non-empty text that does not change."""
    assert store.epoch
    assert store.epoch == store.epoch
    await store.check()


async def test_the_bus_key_is_made_once(store: Store) -> None:
    """All callers, concurrent ones too, get the same 32 random bytes."""
    keys = {await store.bus_key(), *await asyncio.gather(*(store.bus_key() for _ in range(5)))}
    assert len(keys) == 1
    assert len(keys.pop()) == 32


# --- creating -------------------------------------------------------------------------------------


async def test_a_room_is_created_once(store: Store) -> None:
    """A repeated (host, create_id) returns the existing room; concurrent calls create one room."""
    assert await store.created_room("ada", "c1") is None
    results = await asyncio.gather(
        *(store.create_room(new_room(f"r{n}", "ada", "c1")) for n in range(8))
    )
    first = results.index(None)
    assert [result for result in results if result is not None] == [f"r{first}"] * 7
    assert await store.create_room(new_room("r9", "ada", "c1")) == f"r{first}"
    assert await store.created_room("ada", "c1") == f"r{first}"
    assert await store.heads([f"r{n}" for n in range(10)]) == {f"r{first}": 2}


async def test_two_hosts_may_use_one_create_id(store: Store) -> None:
    """A create_id belongs to its host."""
    assert await store.create_room(new_room("r1", "ada", "1")) is None
    assert await store.create_room(new_room("r2", "ben", "1")) is None
    assert await store.created_room("ben", "1") == "r2"


async def test_a_room_id_is_never_used_twice(store: Store) -> None:
    """A second room with an existing id is a Conflict and writes nothing."""
    await store.create_room(new_room("r1", "ada", "1"))
    with pytest.raises(Conflict):
        await store.create_room(new_room("r1", "ben", "1", projections=[listing("no")]))
    assert await store.created_room("ben", "1") is None
    assert await store.find_command("r1", CommandKey("ben", "1")) is None
    assert await store.rooms(9) == []


async def test_creating_is_a_command_of_the_room(store: Store) -> None:
    """The create command's key made the first events, so a repeated create gets the same v."""
    await store.create_room(new_room("r1", "ada", "c1", count=4))
    assert await store.find_command("r1", CommandKey("ada", "c1")) == (1, 4)


# --- projections ----------------------------------------------------------------------------------


async def test_projections_change_with_their_events(store: Store) -> None:
    """The lobby's entry, the match and the AI's thoughts are readable as soon as the append
    returns.
    """
    await store.create_room(new_room("r1", projections=[listing("one"), started("m1")]))
    match = await store.match("m1")
    assert match is not None
    assert (match.room, match.first_v, match.started_ms, match.finished_ms, match.over) == (
        "r1",
        1,
        NOW_MS,
        None,
        None,
    )
    assert [(room.room, room.summary) for room in await store.rooms(9)] == [
        ("r1", listing("one").summary)
    ]
    thoughts = [Thought("m1", 4, 2, b"{}"), Thought("m1", 3, 1, b'{"score":3}')]
    rows: list[Projection] = [listing("no", listed=False), finished("m1", 4), *thoughts]
    await store.append(append("r1", 2, count=2, projections=rows))
    assert await store.rooms(9) == []
    match = await store.match("m1")
    assert match is not None
    assert (match.last_v, match.finished_ms, match.plies, match.over) == (
        4,
        NOW_MS,
        7,
        b'{"winner":0}',
    )
    assert await store.thoughts("m1") == thoughts[::-1]
    assert await store.thoughts("m2") == []


async def test_an_append_is_all_or_nothing(store: Store) -> None:
    """If one row of an append cannot be written, none is: no event, key, head or projection."""
    await store.create_room(new_room("r1", projections=[started("m1")]))
    rows: list[Projection] = [listing("no"), finished("m1"), started("m1")]
    broken = append("r1", 2, CommandKey("ada", "1"), projections=rows)
    with pytest.raises(StoreError):
        await store.append(broken)
    assert await store.head("r1") == RoomHead(2, "n1", None)
    assert await store.events("r1", 2) == []
    assert await store.find_command("r1", CommandKey("ada", "1")) is None
    assert await store.rooms(9) == []
    match = await store.match("m1")
    assert match is not None
    assert match.finished_ms is None


async def test_listed_rooms_come_in_order_of_change(store: Store) -> None:
    """`rooms` returns at most `limit` listed rooms, last changed first; a move is not a change."""
    for n in range(4):
        await store.create_room(
            new_room(f"r{n}", at_ms=NOW_MS + n, projections=[listing(str(n), listed=n != 2)])
        )
    await store.append(append("r0", 2, at_ms=NOW_MS + 9, projections=[listing("0")]))
    await store.append(append("r1", 2, at_ms=NOW_MS + 99))
    assert [(room.room, room.changed_ms) for room in await store.rooms(2)] == [
        ("r0", NOW_MS + 9),
        ("r3", NOW_MS + 3),
    ]
    assert [room.room for room in await store.rooms(9)] == ["r0", "r3", "r1"]


async def test_matches_are_paged_by_cursor(store: Store) -> None:
    """`matches` returns finished public matches, newest first, each once over all pages.

    Matches that finish meanwhile do not shift later pages.
    """
    await store.create_room(new_room("r1", count=1))
    for n in range(9):
        at_ms = NOW_MS + n // 3
        ended = finished(f"m{n}", at_ms=at_ms)
        await store.append(
            append("r1", n + 1, projections=[started(f"m{n}", public=n != 4), ended])
        )
    await store.append(append("r1", 10, projections=[started("running")]))
    seen: list[str] = []
    before: tuple[int, str] | None = None
    for extra in itertools.count():
        page = await store.matches(3, before)
        if not page:
            break
        seen += [row.match for row in page]
        assert page[-1].finished_ms is not None
        before = (page[-1].finished_ms, page[-1].match)
        newer: list[Projection] = [started(f"x{extra}"), finished(f"x{extra}", at_ms=NOW_MS + 99)]
        await store.append(append("r1", 11 + extra, projections=newer))
    assert seen == ["m8", "m7", "m6", "m5", "m3", "m2", "m1", "m0"]
    private = await store.match("m4")
    assert private is not None
    assert private.finished_ms == NOW_MS + 1


# --- nodes and wake-ups ---------------------------------------------------------------------------


async def test_due_rooms_of_dead_nodes_are_taken_over(store: Store) -> None:
    """A room whose wake-up is due and whose node is dead is taken over by the caller, once."""
    for node, alive_for_ms in (("alive", 60_000), ("dead", -1), ("me", 60_000)):
        await store.heartbeat(node, alive_for_ms)
    for room, node, due_ms in (
        ("r1", "alive", NOW_MS), ("r2", "dead", NOW_MS), ("r3", "dead", NOW_MS + 1),
        ("r4", "dead", None),
        ("r5", "never seen", NOW_MS - 99), ("r6", "me", NOW_MS),
    ):  # fmt: skip
        await store.create_room(new_room(room, node=node, due_ms=due_ms))
    assert sorted(await store.due_rooms(NOW_MS, "me", all_nodes=False)) == ["r2", "r5"]
    assert await store.due_rooms(NOW_MS, "me", all_nodes=False) == []
    assert await store.head("r2") == RoomHead(2, "me", NOW_MS)
    assert await store.due_rooms(NOW_MS + 5, "other", all_nodes=False) == ["r3"]
    await store.heartbeat("alive", -1)
    assert await store.due_rooms(NOW_MS + 5, "other", all_nodes=False) == ["r1"]


async def test_a_room_due_at_its_last_event_is_due_by_any_clock(store: Store) -> None:
    """A wake-up that was due at the room's last event is due even if the caller's clock is behind.

    Any other wake-up depends on the caller's clock.
    """
    hour_ms = 3_600_000
    await store.create_room(
        new_room("r1", node="dead", due_ms=NOW_MS + hour_ms, at_ms=NOW_MS + hour_ms)
    )
    await store.create_room(new_room("r2", node="dead", due_ms=NOW_MS + hour_ms, at_ms=NOW_MS))
    await store.create_room(new_room("r3", node="dead", due_ms=NOW_MS + 5, at_ms=NOW_MS))
    await store.append(append("r3", 2, node="dead", due_ms=NOW_MS + 9, at_ms=NOW_MS + 9))
    assert sorted(await store.due_rooms(NOW_MS, "me", all_nodes=False)) == ["r1", "r3"]
    assert await store.due_rooms(NOW_MS, "me", all_nodes=True) == []
    assert await store.due_rooms(NOW_MS + hour_ms, "me", all_nodes=False) == ["r2"]


async def test_own_due_rooms_come_in_the_order_of_their_wake_ups(store: Store) -> None:
    """A node's own due rooms come page by page in the order of their wake-ups, those of the same
    time too; rooms of others, later ones and those without a wake-up do not.
    """
    due = {"r1": 5, "r2": 3, "r3": 5, "r4": 0, "r5": 5, "late": 6}
    for room, due_ms in due.items():
        await store.create_room(new_room(room, node="me", due_ms=NOW_MS + due_ms))
    await store.create_room(new_room("other", node="n2", due_ms=NOW_MS))
    await store.create_room(new_room("never", node="me", due_ms=None))
    found: list[DueRoom] = []
    while page := await store.own_due_rooms("me", NOW_MS + 5, found[-1] if found else None, 2):
        assert len(page) <= 2
        found += page
    expected = sorted((NOW_MS + due_ms, room) for room, due_ms in due.items() if room != "late")
    assert found == expected
    await store.append(append("r4", 2, node="n2", due_ms=NOW_MS))
    await store.append(append("r2", 2, node="me", due_ms=None))
    assert await store.own_due_rooms("me", NOW_MS) == []


async def test_the_nodes_that_are_alive(store: Store) -> None:
    """`alive_nodes` returns the nodes whose last heartbeat has not expired."""
    assert await store.alive_nodes() == frozenset()
    for node, alive_for_ms in (("n1", 10_000), ("n2", 10_000), ("eternal", 10**9)):
        await store.heartbeat(node, alive_for_ms)
    assert await store.alive_nodes() == {"n1", "n2", "eternal"}
    await store.heartbeat("n2", -1)
    assert await store.alive_nodes() == {"n1", "eternal"}


async def test_heads_of_40000_rooms(store: Store) -> None:
    """`heads` takes more ids than a driver accepts parameters."""
    await store.create_room(new_room("r1"))
    await store.create_room(new_room("r39999"))
    assert await store.heads([f"r{n}" for n in range(40_000)]) == {"r1": 2, "r39999": 2}


async def test_a_heartbeat_returns_the_stores_time(store: Store) -> None:
    """A heartbeat returns the store's clock, here this machine's, in ms since 1970."""
    before_ms = wall_clock_ms()
    times = [
        await store.heartbeat("n1", 1000),
        await store.heartbeat("n1", -1000),
        await store.heartbeat("n2", 0),
    ]
    assert [before_ms, *times, wall_clock_ms()] == sorted([before_ms, *times, wall_clock_ms()])


async def test_a_sole_node_takes_all_due_rooms(store: Store) -> None:
    """With all_nodes, a room is taken over even from an alive node, `limit` rooms per call."""
    await store.heartbeat("before", 10_000)
    for n in range(5):
        await store.create_room(new_room(f"r{n}", node="before", due_ms=NOW_MS))
    taken = [await store.due_rooms(NOW_MS, "me", all_nodes=True, limit=2) for _ in range(4)]
    assert [len(rooms) for rooms in taken] == [2, 2, 1, 0]
    assert sorted(itertools.chain(*taken)) == [f"r{n}" for n in range(5)]


async def test_one_node_takes_each_due_room(store: Store) -> None:
    """Of many nodes that take over at once, exactly one gets each room."""
    for n in range(30):
        await store.create_room(new_room(f"r{n}", node="dead", due_ms=NOW_MS))
    for n in range(4):
        await store.heartbeat(f"n{n}", 60_000)
    taken = await asyncio.gather(
        *(store.due_rooms(NOW_MS, f"n{n}", all_nodes=False) for n in range(4))
    )
    assert sorted(itertools.chain(*taken)) == sorted(f"r{n}" for n in range(30))


async def test_taking_over_does_not_move_the_head(store: Store) -> None:
    """After a takeover the previous node can still append at the same v."""
    await store.create_room(new_room("r1", node="slow", due_ms=NOW_MS))
    await store.due_rooms(NOW_MS, "me", all_nodes=False)
    await store.append(append("r1", 2, node="slow"))
    assert await store.head("r1") == RoomHead(3, "slow", None)


# --- identities -----------------------------------------------------------------------------------


async def test_identities_are_found_by_token(store: Store) -> None:
    """An identity is found by its token's hash, with its latest name; unknown tokens give None."""
    await store.add_identity(Identity("a1", "Ada"), b"\x00hash\xff", NOW_MS)
    await store.add_identity(Identity("b1", "Ben"), b"other", NOW_MS)
    assert await store.identity_by_token(b"\x00hash\xff") == Identity("a1", "Ada", TODAY)
    await store.rename_identity("a1", "Ada L.")
    assert await store.identity_by_token(b"\x00hash\xff") == Identity("a1", "Ada L.", TODAY)
    assert await store.identity_by_token(b"other") == Identity("b1", "Ben", TODAY)
    assert await store.identity_by_token(b"\x00hash") is None


async def test_a_token_belongs_to_one_identity(store: Store) -> None:
    """A second identity with the same token or id is refused."""
    await store.add_identity(Identity("a1", "Ada"), b"hash", NOW_MS)
    for identity, token_hash in ((Identity("b1", "Ben"), b"hash"), (Identity("a1", "Ben"), b"new")):
        with pytest.raises(StoreError):
            await store.add_identity(identity, token_hash, NOW_MS)
    assert await store.identity_by_token(b"hash") == Identity("a1", "Ada", TODAY)
    assert await store.identity_by_token(b"new") is None


# --- expiry ---------------------------------------------------------------------------------------

#: A span in which rows that were last seen TODAY have just expired.
SPAN = DaySpan(today=TODAY + 31, before_day=TODAY + 1)


async def expire_guests(store: Store, span: DaySpan = SPAN, limit: int = 500) -> list[str]:
    """The identities that a full expiry round deletes."""
    return await run_full_round(store.expire_identities, span, limit)


async def expire_rooms(store: Store, span: DaySpan = SPAN, limit: int = 500) -> list[str]:
    """The rooms that a full expiry round deletes."""
    return await run_full_round(store.expire_rooms, span, limit)


async def run_full_round(
    expire: Callable[[str, DaySpan, int], Awaitable[Page]], span: DaySpan, limit: int
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
        await store.add_identity(Identity(name, name), name.encode(), NOW_MS)
    await store.mark_permanent("sat")
    await store.mark_permanent("nobody")
    assert await store.mark_identities_seen(["seen", "nobody"], TODAY + 1) == {"seen"}
    assert await expire_guests(store, DaySpan(TODAY + 30, TODAY)) == []
    assert await expire_guests(store) == ["gone"]
    assert await expire_guests(store) == []
    assert await store.identity_by_token(b"gone") is None
    assert await store.identity_by_token(b"sat") == Identity("sat", "sat", TODAY)
    assert await store.identity_by_token(b"seen") == Identity("seen", "seen", TODAY + 1)
    assert await store.mark_identities_seen(["gone"], TODAY) == frozenset()


async def test_a_last_seen_day_never_decreases(store: Store) -> None:
    """A node whose clock is behind never lowers a last seen day."""
    await store.add_identity(Identity("a1", "Ada"), b"hash", NOW_MS)
    await store.create_room(new_room("r1"))
    for day in (TODAY + 5, TODAY - 5):
        assert await store.mark_identities_seen(["a1"], day) == {"a1"}
        assert await store.mark_rooms_seen(["r1"], day) == {"r1"}
    assert await store.identity_by_token(b"hash") == Identity("a1", "Ada", TODAY + 5)
    assert await store.head("r1") == RoomHead(2, "n1", None, TODAY + 5)


async def test_old_rooms_without_a_match_expire_with_their_logs(store: Store) -> None:
    """A room last seen before the span is deleted with its log, unless it ever had a match."""
    for name in ("gone", "seen"):
        await store.create_room(new_room(name, projections=[listing(name)]))
    await store.create_room(new_room("played", projections=[started("m1"), finished("m1")]))
    await store.append(append("gone", 2, CommandKey("ada", "1")))
    names = ["gone", "seen", "played"]
    assert await store.mark_rooms_seen(names, TODAY) == frozenset(names)
    await store.mark_rooms_seen(["seen"], TODAY + 1)
    assert await expire_rooms(store, DaySpan(TODAY + 7, TODAY)) == []
    assert await expire_rooms(store) == ["gone"]
    assert await expire_rooms(store) == []
    assert await store.heads(names) == {"seen": 2, "played": 2}
    assert await store.head("gone") is None
    assert await store.events("gone", 0) == []
    assert await store.find_command("gone", CommandKey("ada", "1")) is None
    assert await store.created_room("ada", "gone") is None
    assert [room.room for room in await store.rooms(9)] == ["seen"]
    assert await store.mark_rooms_seen(["gone"], TODAY) == frozenset()
    with pytest.raises(Conflict):
        await store.append(append("gone", 3))
    assert await store.create_room(new_room("again", create_id="gone")) is None, (
        "the same key makes another room"
    )


async def test_rows_without_a_last_seen_day_count_from_today(store: Store) -> None:
    """A room without a last seen day expires a full period after the first expiry round."""
    await store.create_room(new_room("r1"))
    assert await expire_rooms(store) == []
    assert await store.head("r1") == RoomHead(2, "n1", None, SPAN.today)
    assert await expire_rooms(store, DaySpan(SPAN.today + 7, SPAN.today)) == []
    assert await expire_rooms(store, DaySpan(SPAN.today + 8, SPAN.today + 1)) == ["r1"]


async def test_a_round_of_the_expiry_has_pages(store: Store) -> None:
    """An expiry page covers at most `limit` rows; a round covers all rows."""
    names = [f"n{number}" for number in range(7)]
    for name in names:
        await store.add_identity(Identity(name, name), name.encode(), NOW_MS)
        await store.create_room(new_room(name))
    await store.mark_permanent("n3")
    await store.mark_rooms_seen(names, TODAY)
    assert await store.expire_identities("", SPAN, 2) == Page(("n0", "n1"), "n1")
    assert await expire_guests(store, limit=2) == ["n2", "n4", "n5", "n6"]
    assert await store.expire_rooms("n1", SPAN, 3) == Page(("n2", "n3", "n4"), "n4")
    assert await expire_rooms(store, limit=3) == ["n0", "n1", "n5", "n6"]


async def test_many_nodes_may_expire_rows_at_once(store: Store) -> None:
    """With concurrent expiry, marks and appends, each row is deleted once and marked rows stay.

    Rooms and their logs stay consistent.
    """
    names = [f"n{number:02}" for number in range(30)]
    for name in names:
        await store.add_identity(Identity(name, name), name.encode(), NOW_MS)
        await store.create_room(new_room(name))
    await store.mark_rooms_seen(names, TODAY)
    rooms, guests, seen_rooms, seen_guests, appended = await asyncio.gather(
        asyncio.gather(*(expire_rooms(store) for _ in range(4))),
        asyncio.gather(*(expire_guests(store) for _ in range(4))),
        store.mark_rooms_seen(names[::2], SPAN.today),
        store.mark_identities_seen(names[1::2], SPAN.today),
        asyncio.gather(*(result_of(store.append(append(name, 2))) for name in names)),
    )
    deleted_rooms = sorted(itertools.chain(*rooms))
    deleted_guests = sorted(itertools.chain(*guests))
    assert len(set(deleted_rooms)) == len(deleted_rooms)
    assert len(set(deleted_guests)) == len(deleted_guests)
    assert set(deleted_rooms).isdisjoint(seen_rooms)
    assert set(deleted_guests).isdisjoint(seen_guests)
    heads = await store.heads(names)
    assert heads.keys() == set(names) - set(deleted_rooms)
    for name, append_result in zip(names, appended, strict=True):
        assert len(await store.events(name, 0)) == heads.get(name, 0)
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
            await store.create_room(new_room(name))
            await store.add_identity(Identity(name, name), name.encode(), NOW_MS)
        await store.mark_rooms_seen(names, TODAY)
        await store.mark_rooms_seen(["seen"], SPAN.today)
        await store.mark_identities_seen(["seen"], SPAN.today)
        await store.mark_permanent("played")
        await store.append(append("grew", 2))
        await store.append(append("played", 2, projections=[started("m1", 3)]))
        heads = dict.fromkeys(names, 2) | {"played": 3}
        assert await store._run_write(
            lambda connection: expiry.delete_rooms(connection, heads, SPAN.before_day)
        ) == ["gone"]
        assert await store.heads(names) == {"seen": 2, "grew": 3, "played": 3}
        deleted = await store._run_write(
            lambda connection: expiry.delete_identities(connection, names, SPAN.before_day)
        )
        assert sorted(deleted) == ["gone", "grew"]
