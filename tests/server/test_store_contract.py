"""The contract of server/store/base.py: the logs, their projections, and the store as a whole."""

import asyncio
import itertools

import msgspec
import pytest

from server.ids import IdentityId, MatchId
from server.store.base import (
    EVERYONE,
    KEPT_CHANGE_MS,
    SPECTATORS,
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Identity,
    Projection,
    RoomHead,
    Store,
    StoredEvent,
    StoreError,
    Thought,
)
from tests.support.log_entries import (
    NOW_MS,
    TODAY,
    append,
    entries,
    finished,
    listing,
    new_room,
    started,
)
from tests.support.memory_store import entry_changed_ms
from tests.support.store_backends import result_of

# --- the log --------------------------------------------------------------------------------------


async def test_a_new_room_has_its_events_and_head(store: Store) -> None:
    """`create_room` commits the first events; the head has the last v, the node and the wake-up."""
    assert await store.logs.create_room(new_room("r1", due_ms=NOW_MS)) is None
    assert await store.logs.head("r1") == RoomHead(2, "n1", NOW_MS)
    assert await store.logs.events("r1", 0) == list(entries(1, 2))


async def test_an_unknown_room_has_no_log(store: Store) -> None:
    """An unknown room has no head, events or commands, and an append to it raises Conflict."""
    assert await store.logs.head("r1") is None
    assert await store.logs.heads(["r1"]) == {}
    assert await store.logs.events("r1", 0) == []
    assert await store.logs.find_command("r1", CommandKey("ada", "1")) is None
    with pytest.raises(Conflict):
        await store.logs.append(append("r1", 0))


async def test_events_are_stored_exactly(store: Store) -> None:
    """Events keep v, time, audience and body; node and wake-up are those of the last append."""
    await store.logs.create_room(new_room("r1"))
    event = StoredEvent(
        3, NOW_MS + 5, SPECTATORS, '{"kind":"said","text":"Grüße\u2028\\u0000🎲"}'.encode()
    )
    await store.logs.append(Append("r1", 2, (event,), "n2", NOW_MS + 9))
    assert await store.logs.events("r1", 2) == [event]
    assert await store.logs.head("r1") == RoomHead(3, "n2", NOW_MS + 9)
    await store.logs.append(append("r1", 3))
    assert await store.logs.head("r1") == RoomHead(4, "n1", None)


async def test_events_are_read_in_pages(store: Store) -> None:
    """`events` returns at most `limit` entries after a v, in order."""
    await store.logs.create_room(new_room("r1", count=7))
    pages = [await store.logs.events("r1", v, 3) for v in (0, 3, 6, 7)]
    assert [[event.v for event in page] for page in pages] == [[1, 2, 3], [4, 5, 6], [7], []]


async def test_an_append_to_another_v_is_a_conflict(store: Store) -> None:
    """An append behind or ahead of the head raises Conflict and writes nothing."""
    await store.logs.create_room(new_room("r1"))
    for after_v in (0, 1, 3):
        with pytest.raises(Conflict):
            await store.logs.append(
                append("r1", after_v, CommandKey("ada", "1"), projections=[listing("no")])
            )
    assert await store.logs.head("r1") == RoomHead(2, "n1", None)
    assert await store.logs.events("r1", 2) == []
    assert await store.logs.find_command("r1", CommandKey("ada", "1")) is None
    assert await store.projections.rooms(9) == []


async def test_one_of_many_writers_at_one_v_wins(store: Store) -> None:
    """Of many concurrent appends at one v, one is committed and the others raise Conflict."""
    await store.logs.create_room(new_room("r1"))
    results = await asyncio.gather(
        *(
            result_of(store.logs.append(append("r1", 2, CommandKey("ada", str(n)))))
            for n in range(20)
        )
    )
    assert [type(result) for result in results].count(Conflict) == 19
    winner = results.index(None)
    assert [event.v for event in await store.logs.events("r1", 0)] == [1, 2, 3]
    assert await store.logs.find_command("r1", CommandKey("ada", str(winner))) == (3, 3)


async def test_two_concurrent_appends_of_a_room_succeed(store: Store) -> None:
    """Two concurrent appends to one room, at consecutive versions, both succeed in their order."""
    await store.logs.create_room(new_room("r1"))
    first, second = (
        store.logs.append(append("r1", 2, node="n1")),
        store.logs.append(append("r1", 3, node="n2")),
    )
    assert list(await asyncio.gather(result_of(first), result_of(second))) == [None, None]
    assert await store.logs.head("r1") == RoomHead(4, "n2", None)


async def test_a_command_makes_events_once(store: Store) -> None:
    """A repeated key raises Duplicate with the range of v of its events, and writes nothing."""
    await store.logs.create_room(new_room("r1"))
    key = CommandKey("ada", "1")
    await store.logs.append(append("r1", 2, key, count=2))
    assert await store.logs.find_command("r1", key) == (3, 4)
    with pytest.raises(Duplicate) as duplicate:
        await store.logs.append(append("r1", 4, key, projections=[listing("no")]))
    assert (duplicate.value.first_v, duplicate.value.last_v) == (3, 4)
    assert await store.logs.head("r1") == RoomHead(4, "n1", None)
    assert await store.projections.rooms(9) == []


async def test_a_late_repeated_command_is_refused(store: Store) -> None:
    """A repeated key at an old v raises Conflict or Duplicate; `find_command` finds its events."""
    await store.logs.create_room(new_room("r1"))
    key = CommandKey("ada", "1")
    await store.logs.append(append("r1", 2, key))
    assert isinstance(
        await result_of(store.logs.append(append("r1", 2, key))), Conflict | Duplicate
    )
    assert await store.logs.find_command("r1", key) == (3, 3)
    assert await store.logs.head("r1") == RoomHead(3, "n1", None)


async def test_keys_and_texts_are_stored_exactly(store: Store) -> None:
    """Ids with any difference are different keys; names and bodies are stored unchanged."""
    await store.logs.create_room(new_room("r1", count=1))
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
        await store.logs.append(
            Append("r1", v, (event,), "n1", None, CommandKey(text, text), (listing(text),))
        )
        await store.identities.add_guest(Identity(IdentityId(text), "Ada"), text.encode(), NOW_MS)
    for v, text in enumerate(ids, 1):
        assert await store.logs.find_command("r1", CommandKey(text, text)) == (v + 1, v + 1)
        assert msgspec.json.decode((await store.logs.events("r1", v, 1))[0].body)["text"] == text
        assert await store.identities.by_token(text.encode()) == Identity(
            IdentityId(text), "Ada", TODAY, NOW_MS
        )
    assert await store.logs.find_command("r1", CommandKey("1", " 1")) is None
    assert [room.summary for room in await store.projections.rooms(1)] == [listing(ids[-1]).summary]


async def test_a_key_belongs_to_a_room_and_an_identity(store: Store) -> None:
    """The same id from another identity, or in another room, is another command."""
    await store.logs.create_room(new_room("r1"))
    await store.logs.create_room(new_room("r2"))
    await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
    await store.logs.append(append("r1", 3, CommandKey("ben", "1")))
    await store.logs.append(append("r2", 2, CommandKey("ada", "1")))
    assert await store.logs.find_command("r1", CommandKey("ben", "1")) == (4, 4)
    assert await store.logs.find_command("r2", CommandKey("ada", "1")) == (3, 3)
    assert await store.logs.find_command("r2", CommandKey("ben", "1")) is None


async def test_a_used_key_fails_alone(store: Store) -> None:
    """Among many concurrent appends, the one with a used key fails and all others are committed."""
    for n in range(10):
        await store.logs.create_room(new_room(f"r{n}"))
    used = CommandKey("ada", "used")
    await store.logs.append(append("r4", 2, used))
    appends = [
        append(f"r{n}", 3 if n == 4 else 2, used if n == 4 else CommandKey("ada", "new"))
        for n in range(10)
    ]
    results = await asyncio.gather(
        *(result_of(store.logs.append(operation)) for operation in appends)
    )
    assert isinstance(results[4], Duplicate)
    assert (results[4].first_v, results[4].last_v) == (3, 3)
    assert [result for n, result in enumerate(results) if n != 4] == [None] * 9
    assert set((await store.logs.heads([f"r{n}" for n in range(10)])).values()) == {3}


async def test_heads_of_many_rooms(store: Store) -> None:
    """`heads` returns known rooms with their v and leaves out unknown ones."""
    await store.logs.create_room(new_room("r1"))
    await store.logs.create_room(new_room("r2", count=5))
    assert await store.logs.heads(["r2", "r1", "r3"]) == {"r1": 2, "r2": 5}
    assert await store.logs.heads([]) == {}


async def test_heads_of_40000_rooms(store: Store) -> None:
    """`heads` takes more ids than a driver accepts parameters."""
    await store.logs.create_room(new_room("r1"))
    await store.logs.create_room(new_room("r39999"))
    assert await store.logs.heads([f"r{n}" for n in range(40_000)]) == {"r1": 2, "r39999": 2}


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
    assert await store.logs.created_room("ada", "c1") is None
    results = await asyncio.gather(
        *(store.logs.create_room(new_room(f"r{n}", "ada", "c1")) for n in range(8))
    )
    first = results.index(None)
    assert [result for result in results if result is not None] == [f"r{first}"] * 7
    assert await store.logs.create_room(new_room("r9", "ada", "c1")) == f"r{first}"
    assert await store.logs.created_room("ada", "c1") == f"r{first}"
    assert await store.logs.heads([f"r{n}" for n in range(10)]) == {f"r{first}": 2}


async def test_two_hosts_may_use_one_create_id(store: Store) -> None:
    """A create_id belongs to its host."""
    assert await store.logs.create_room(new_room("r1", "ada", "1")) is None
    assert await store.logs.create_room(new_room("r2", "ben", "1")) is None
    assert await store.logs.created_room("ben", "1") == "r2"


async def test_a_room_id_is_never_used_twice(store: Store) -> None:
    """A second room with an existing id raises Conflict and writes nothing."""
    await store.logs.create_room(new_room("r1", "ada", "1"))
    with pytest.raises(Conflict):
        await store.logs.create_room(new_room("r1", "ben", "1", projections=[listing("no")]))
    assert await store.logs.created_room("ben", "1") is None
    assert await store.logs.find_command("r1", CommandKey("ben", "1")) is None
    assert await store.projections.rooms(9) == []


async def test_the_create_is_a_command_of_the_room(store: Store) -> None:
    """`find_command` returns the room's first events for the key of its create."""
    await store.logs.create_room(new_room("r1", "ada", "c1", count=4))
    assert await store.logs.find_command("r1", CommandKey("ada", "c1")) == (1, 4)


# --- projections ----------------------------------------------------------------------------------


async def test_projections_change_with_their_events(store: Store) -> None:
    """An append changes the lobby's entry, the match and the AI's thoughts before it returns."""
    await store.logs.create_room(new_room("r1", projections=[listing("one"), started("m1")]))
    match = await store.projections.match(MatchId("m1"))
    assert match is not None
    assert (match.room, match.first_v, match.started_ms, match.finished_ms, match.over) == (
        "r1",
        1,
        NOW_MS,
        None,
        None,
    )
    assert [(room.room, room.summary) for room in await store.projections.rooms(9)] == [
        ("r1", listing("one").summary)
    ]
    thoughts = [Thought("m1", 4, 2, b"{}"), Thought("m1", 3, 1, b'{"score":3}')]
    rows: list[Projection] = [listing("no", listed=False), finished("m1", 4), *thoughts]
    await store.logs.append(append("r1", 2, count=2, projections=rows))
    assert await store.projections.rooms(9) == []
    match = await store.projections.match(MatchId("m1"))
    assert match is not None
    assert (match.last_v, match.finished_ms, match.plies, match.over) == (
        4,
        NOW_MS,
        7,
        b'{"winner":0}',
    )
    assert await store.projections.thoughts(MatchId("m1")) == thoughts[::-1]
    assert await store.projections.thoughts(MatchId("m2")) == []


async def test_an_append_is_all_or_nothing(store: Store) -> None:
    """If a row of an append cannot be written, no event, key, head or projection is written."""
    await store.logs.create_room(new_room("r1", projections=[started("m1")]))
    rows: list[Projection] = [listing("no"), finished("m1"), started("m1")]
    broken = append("r1", 2, CommandKey("ada", "1"), projections=rows)
    with pytest.raises(StoreError):
        await store.logs.append(broken)
    assert await store.logs.head("r1") == RoomHead(2, "n1", None)
    assert await store.logs.events("r1", 2) == []
    assert await store.logs.find_command("r1", CommandKey("ada", "1")) is None
    assert await store.projections.rooms(9) == []
    match = await store.projections.match(MatchId("m1"))
    assert match is not None
    assert match.finished_ms is None


async def test_listed_rooms_come_in_order_of_change(store: Store) -> None:
    """`rooms` returns at most `limit` listed rooms, the last changed first.

    Only an append with a new listing counts as a change.
    """
    for n in range(4):
        await store.logs.create_room(
            new_room(f"r{n}", at_ms=NOW_MS + n, projections=[listing(str(n), listed=n != 2)])
        )
    await store.logs.append(append("r0", 2, at_ms=NOW_MS + 9, projections=[listing("0")]))
    await store.logs.append(append("r1", 2, at_ms=NOW_MS + 99))
    assert [(room.room, room.changed_ms) for room in await store.projections.rooms(2)] == [
        ("r0", NOW_MS + 9),
        ("r3", NOW_MS + 3),
    ]
    assert [room.room for room in await store.projections.rooms(9)] == ["r0", "r3", "r1"]


@pytest.mark.parametrize("was_listed", [False, True])
@pytest.mark.parametrize("listed", [False, True])
async def test_a_change_of_an_entry_in_no_list_keeps_its_time_for_a_minute(
    store: Store, was_listed: bool, listed: bool
) -> None:
    """An entry has the time of its last change, or `entry_changed_ms` keeps the one before: only if
    the room is listed neither before nor after, and only within KEPT_CHANGE_MS of it. An append
    without an entry, in the same group or alone, leaves the time as it was.
    """
    before = listing("before", listed=was_listed)
    for n in range(2):
        await store.logs.create_room(new_room(f"r{n}", at_ms=NOW_MS, projections=[before]))
    changed_ms, seen = NOW_MS, []
    for v, at_ms in enumerate((NOW_MS + KEPT_CHANGE_MS, NOW_MS + KEPT_CHANGE_MS + 1), 2):
        entry = append("r0", v, at_ms=at_ms, projections=[listing(str(v), listed=listed)])
        await asyncio.gather(store.logs.append(entry), store.logs.append(append("r1", v)))
        is_before_listed = was_listed if v == 2 else listed
        changed_ms = entry_changed_ms(is_before_listed, changed_ms, listed, at_ms)
        seen.append(changed_ms)
        rows = await store.projections.entries(["r0", "r1"])
        assert {row.room: row.changed_ms for row in rows} == {"r0": changed_ms, "r1": NOW_MS}
        assert {row.summary for row in rows} == {listing(str(v)).summary, before.summary}
    minute_ms = NOW_MS + KEPT_CHANGE_MS
    kept = {(False, False): [NOW_MS, minute_ms + 1], (True, False): [minute_ms, minute_ms]}
    assert seen == kept.get((was_listed, listed), [minute_ms, minute_ms + 1])


async def test_matches_are_paged_by_cursor(store: Store) -> None:
    """`matches` returns finished public matches, newest first, each once over all pages.

    Matches that finish between two pages do not shift later ones.
    """
    await store.logs.create_room(new_room("r1", count=1))
    for n in range(9):
        at_ms = NOW_MS + n // 3
        ended = finished(f"m{n}", at_ms=at_ms)
        await store.logs.append(
            append("r1", n + 1, projections=[started(f"m{n}", public=n != 4), ended])
        )
    await store.logs.append(append("r1", 10, projections=[started("running")]))
    match_ids: list[str] = []
    before: tuple[int, str] | None = None
    for extra in itertools.count():
        page = (await store.projections.matches(3, before)).rows
        if not page:
            break
        match_ids += [row.match for row in page]
        assert page[-1].finished_ms is not None
        before = (page[-1].finished_ms, page[-1].match)
        newer: list[Projection] = [started(f"x{extra}"), finished(f"x{extra}", at_ms=NOW_MS + 99)]
        await store.logs.append(append("r1", 11 + extra, projections=newer))
    assert match_ids == ["m8", "m7", "m6", "m5", "m3", "m2", "m1", "m0"]
    private = await store.projections.match(MatchId("m4"))
    assert private is not None
    assert private.finished_ms == NOW_MS + 1
