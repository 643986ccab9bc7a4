"""The PostgreSQL store beyond the contract: two nodes, locks and broken connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from server.deploy.postgres import DISCONNECT, Postgres
from server.ids import IdentityId, MatchId
from server.store import postgres as pg
from server.store.base import (
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Identity,
    Store,
    StoreUnavailable,
    Thought,
)
from server.store.database import SqlDatabase
from server.store.postgres import open_postgres
from server.store.postgres_group import _append_statement, commit_appends
from server.store.postgres_link import Limits, PostgresUrl, QuickClosingConnection, connect
from server.store.sql import SqlStore
from tests.support.clock import StoppedClock, stopped_clock
from tests.support.fault_proxy import FaultProxy, Toward, fault_proxy
from tests.support.log_entries import (
    NOW_MS,
    QUICK_LIMITS,
    append,
    append_until_committed,
    entries,
    finished,
    listing,
    log,
    new_room,
    outcome,
    started,
)

# --- two nodes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("append_count", [250, pytest.param(1000, marks=pytest.mark.long)])
async def test_two_nodes_race_for_the_same_rooms(
    postgres: Postgres, database: str, append_count: int
) -> None:
    """Four writers on two nodes race for two rooms: v has no gap.

    Each command is in the log once, at the v that its writer got.
    """
    url = postgres.url(database)
    async with open_postgres(url) as first, open_postgres(url) as second:
        rooms = ["r1", "r2"]
        for room in rooms:
            await first.logs.create_room(new_room(room, count=1))
        acked: dict[bytes, tuple[str, int]] = {}
        conflicts = 0

        async def play(store: Store, name: str) -> None:
            nonlocal conflicts
            for n in range(append_count):
                room, body = rooms[n % 2], b'{"n":"%b %d"}' % (name.encode(), n)
                lost, v = await append_until_committed(
                    store, room, CommandKey(name, str(n)), body, 60
                )
                conflicts += lost
                acked[body] = (room, v)

        await asyncio.gather(
            play(first, "ada"), play(first, "ben"), play(second, "cyd"), play(second, "dan")
        )
        for room in rooms:
            events = await log(second, room)
            assert [event.v for event in events] == list(range(1, 2 * append_count + 2))
            assert {event.body: (room, event.v) for event in events[1:]} == {
                body: place for body, place in acked.items() if place[0] == room
            }
        assert conflicts > append_count // 5, "the writers conflicted too rarely for a race"


async def test_overlapping_groups_of_two_nodes_do_not_deadlock(
    postgres: Postgres, database: str
) -> None:
    """Two nodes commit groups over the same rooms, in opposite orders, without a deadlock."""
    url, long_limits = postgres.url(database), Limits(statement_s=20.0, lock_s=20.0)
    async with (
        open_postgres(url, long_limits) as first,
        open_postgres(url, long_limits) as second,
        postgres.session(database) as other,
        postgres.session(database) as session,
    ):
        rooms = [f"r{n:03}" for n in range(60)]
        await asyncio.gather(*(first.logs.create_room(new_room(room)) for room in rooms))
        async with other.transaction():
            await other.execute("SELECT FROM rooms WHERE id = 'r030' FOR UPDATE")
            writes = [outcome(first.logs.append(append(room, 2))) for room in rooms]
            writes += [outcome(second.logs.append(append(room, 2))) for room in reversed(rooms)]
            writing = [asyncio.create_task(write) for write in writes]
            while await session.fetchval(WAITING) < 2:
                assert not any(task.done() for task in writing)
        results = await asyncio.gather(*writing)
        assert [type(result) for result in results].count(type(None)) == 60
        assert [type(result) for result in results].count(Conflict) == 60
        assert set((await second.logs.heads(rooms)).values()) == {3}
        assert await session.fetchval(DEADLOCKS) == 0


#: The number of sessions that wait for a lock.
WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
#: The number of deadlocks in this database.
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


async def test_rooms_are_locked_in_the_order_of_the_rows(postgres: Postgres, database: str) -> None:
    """The query plan locks rooms by index, one after another, which prevents deadlocks."""
    async with postgres.session(database) as session:
        for name, value in pg.WRITER_SETTINGS.items():
            await session.execute(f"SET {name} = {value}")
        statement = _append_statement(False, False, False, False, False)
        plan = "\n".join(row[0] for row in await session.fetch(f"EXPLAIN {statement}", *NO_ROWS))
        update = plan[plan.index("CTE moved") :]
        assert "Nested Loop" in update[: update.index("Index Scan using pk_rooms")]
        assert "Seq Scan on rooms" not in plan
        assert "Hash Join" not in plan


#: Empty parameters of the append statement.
NO_ROWS: list[list[Any]] = [[] for _ in range(13)]


async def test_one_bad_append_fails_alone(postgres: Postgres, database: str) -> None:
    """An append that cannot be committed fails alone; the rest of its group is committed.

    The reasons: a conflict, a used command key, an existing match, a text that PostgreSQL cannot
    store, an unknown room.
    """
    url = postgres.url(database)
    async with open_postgres(url) as store:
        for n in range(8):
            await store.logs.create_room(new_room(f"r{n}", projections=[started(f"m{n}")]))
        await store.logs.append(append("r1", 2, CommandKey("ada", "used"), count=2))
        operations = [
            append("r0", 2, CommandKey("ada", "1")),
            append("r1", 4, CommandKey("ada", "used")),
            append("r2", 1, CommandKey("ada", "1")),
            append("r3", 2, CommandKey("ada", "1"), projections=[started("m0")]),
            append("r4", 2, CommandKey("ada", "nul\0")),
            append(
                "r5",
                2,
                CommandKey("ada", "1"),
                projections=[Thought("m5", 3, 1, b"{}"), finished("m5", 3)],
            ),
            append("never made", 0),
            append(
                "r6",
                2,
                CommandKey("ada", "1"),
                projections=[listing("six"), started("n6"), finished("n6")],
            ),
        ]
        results = await asyncio.gather(
            *(outcome(store.logs.append(operation)) for operation in operations)
        )
        assert [type(result) for result in results] == [
            type(None), Duplicate, Conflict, Conflict, StoreUnavailable, type(None), Conflict,
            type(None),
        ]  # fmt: skip
        assert isinstance(results[1], Duplicate)
        assert (results[1].first_v, results[1].last_v) == (3, 4)
        assert await store.logs.heads([f"r{n}" for n in range(8)]) == dict(zip(
            [f"r{n}" for n in range(8)], [3, 4, 2, 2, 2, 3, 3, 2], strict=True
        ))  # fmt: skip
        match = await store.projections.match(MatchId("n6"))
        assert match is not None
        assert match.plies == 7


async def test_a_group_with_conflicts_is_one_statement(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group with conflicts and used keys is committed by one statement."""
    groups: list[int] = []

    async def counted(link: Any, appends: list[Append], skip_locked: bool = False) -> Any:
        groups.append(len(appends))
        return await commit_appends(link, appends, skip_locked)

    monkeypatch.setattr(pg, "commit_appends", counted)
    async with open_postgres(postgres.url(database)) as store:
        await asyncio.gather(*(store.logs.create_room(new_room(f"r{n}")) for n in range(6)))
        await store.logs.append(append("r1", 2, CommandKey("ada", "used")))
        operations = [
            append("r0", 2), append("r1", 3, CommandKey("ada", "used")), append("r2", 1),
            append("r3", 3),
            append("r4", 2, CommandKey("ada", "1")), append("r5", 0),
        ]  # fmt: skip
        results = await asyncio.gather(
            *(outcome(store.logs.append(operation)) for operation in operations)
        )
        assert groups == [1, 6]
        kinds = [type(None), Duplicate, Conflict, Conflict, type(None), Conflict]
        assert [type(result) for result in results] == kinds
        assert sorted((await store.logs.heads([f"r{n}" for n in range(6)])).items()) == sorted(
            {"r0": 3, "r1": 3, "r2": 2, "r3": 2, "r4": 3, "r5": 2}.items()
        )
        assert [len(await store.logs.events(f"r{n}", 0)) for n in range(6)] == [3, 3, 2, 2, 3, 2]


# --- locks and time-outs --------------------------------------------------------------------------


async def test_a_locked_room_delays_no_other(postgres: Postgres, database: str) -> None:
    """While another session locks a room's row, appends to it raise StoreUnavailable in time.

    The rest of their group is committed, and later appends succeed.
    """
    async with (
        open_postgres(postgres.url(database), QUICK_LIMITS) as store,
        postgres.session(database) as other,
    ):
        for room in ("r1", "r2"):
            await store.logs.create_room(new_room(room))
        async with other.transaction():
            await other.execute("SELECT FROM rooms WHERE id = 'r1' FOR UPDATE")
            first, second = store.logs.append(append("r1", 2)), store.logs.append(append("r2", 2))
            results = await asyncio.gather(outcome(first), outcome(second))
            assert isinstance(results[0], StoreUnavailable)
            assert "locked" in str(results[0])
            assert results[1] is None
        await store.logs.append(append("r1", 2))
        assert await store.logs.heads(["r1", "r2"]) == {"r1": 3, "r2": 3}


async def test_a_locked_table_is_reported_in_time(postgres: Postgres, database: str) -> None:
    """Reads and writes that wait too long for a table lock raise StoreUnavailable and write
    nothing.
    """
    async with (
        open_postgres(postgres.url(database), QUICK_LIMITS) as store,
        postgres.session(database) as other,
    ):
        await store.logs.create_room(new_room("r1"))
        async with other.transaction():
            await other.execute("LOCK TABLE events, identities")
            for work in (
                store.logs.append(append("r1", 2, CommandKey("ada", "1"))),
                store.logs.events("r1", 0),
                store.identities.add_guest(Identity(IdentityId("a1"), "Ada"), b"hash", NOW_MS),
            ):
                with pytest.raises(StoreUnavailable, match="lock"):
                    await work
        assert await store.logs.find_command("r1", CommandKey("ada", "1")) is None
        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        assert await store.logs.events("r1", 0) == list(entries(1, 3))


async def test_a_slow_statement_is_reported(postgres: Postgres, database: str) -> None:
    """A statement that reaches the statement timeout fails and is cancelled on the server."""
    limits = Limits(statement_s=0.2, lock_s=5.0)
    async with (
        open_postgres(postgres.url(database), limits) as store,
        postgres.session(database) as other,
    ):
        await store.logs.create_room(new_room("r1"))
        async with other.transaction():
            await other.execute("LOCK TABLE events")
            with pytest.raises(StoreUnavailable, match="statement timeout"):
                await store.logs.append(append("r1", 2))
            running = (
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'plyroom' AND state = 'active'"
            )
            assert await other.fetchval(running + " AND datname = current_database()") == 0
        await store.logs.append(append("r1", 2))


async def test_a_busy_pool_is_reported(postgres: Postgres, database: str) -> None:
    """When all connections of the pool are busy for too long, the next read raises
    StoreUnavailable.
    """
    limits = Limits(connect_s=2.0, statement_s=30.0, lock_s=30.0, pool=1)
    async with (
        open_postgres(postgres.url(database), limits) as store,
        postgres.session(database) as other,
    ):
        await store.logs.create_room(new_room("r1"))
        async with other.transaction():
            await other.execute("LOCK TABLE events")
            first = asyncio.create_task(store.logs.events("r1", 0))
            await asyncio.sleep(0)
            with pytest.raises(StoreUnavailable, match="1 connections to the database are busy"):
                await store.logs.head("r1")
        assert await first == list(entries(1, 2))


async def test_a_rolled_back_group_is_tried_again(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadlock or serialization failure is retried a limited number of times."""
    import asyncpg

    errors: list[Exception] = []

    async def failing(link: Any, appends: list[Append], skip_locked: bool = False) -> Any:
        if errors:
            raise errors.pop()
        return await commit_appends(link, appends, skip_locked)

    monkeypatch.setattr(pg, "commit_appends", failing)
    async with open_postgres(postgres.url(database)) as store:
        await store.logs.create_room(new_room("r1"))
        errors += [asyncpg.DeadlockDetectedError("one"), asyncpg.SerializationError("two")]
        await store.logs.append(append("r1", 2))
        errors += [asyncpg.SerializationError("again")] * 99
        with pytest.raises(StoreUnavailable, match="other transactions won"):
            await store.logs.append(append("r1", 3))
        assert len(errors) > 90
        errors.clear()
        assert await store.logs.heads(["r1"]) == {"r1": 3}


# --- broken connections ---------------------------------------------------------------------------


@asynccontextmanager
async def over_proxy(
    postgres: Postgres, database: str, limits: Limits = QUICK_LIMITS
) -> AsyncIterator[tuple[SqlStore, FaultProxy]]:
    """Opens a store behind a proxy that can cut its connections; there is a room r1 at v 2."""
    async with (
        fault_proxy(postgres.port) as proxy,
        open_postgres(postgres.url(database, proxy.port), limits) as store,
    ):
        await store.logs.create_room(new_room("r1"))
        yield store, proxy


async def test_a_commit_on_a_broken_connection_happens_once(
    postgres: Postgres, database: str
) -> None:
    """An append is committed once, even if the connection is cut at any byte.

    It succeeds or raises Duplicate with its v.
    """
    async with over_proxy(postgres, database) as (store, proxy):
        await store.logs.append(append("r1", 2, CommandKey("ada", "warm")))
        before = dict(proxy.forwarded)
        await store.logs.append(append("r1", 3, CommandKey("ada", "warm 2")))
        sizes = {toward: proxy.forwarded[toward] - before[toward] for toward in Toward}
        kinds: list[str] = []
        v = 4
        for toward in Toward:
            for count in sorted(
                {*range(0, sizes[toward], max(1, sizes[toward] // 12)), sizes[toward] - 1}
            ):
                key = CommandKey("ada", f"{toward} {count}")
                cut = proxy.cut_after(toward, count)
                result = await outcome(store.logs.append(append("r1", v, key)))
                kinds.append(type(result).__name__)
                assert cut.is_set()
                v_range = await store.logs.find_command("r1", key)
                assert v_range == (v + 1, v + 1), (toward, count, result)
                if result is not None:
                    assert isinstance(result, Duplicate), result
                    assert (result.first_v, result.last_v) == v_range
                v += 1
        assert [event.v for event in await log(store, "r1")] == list(range(1, v + 1))
        assert set(kinds) == {"NoneType", "Duplicate"}, (
            "some cuts came before the commit, some after it"
        )


async def test_an_append_without_a_key_is_not_repeated_after_a_cut(
    postgres: Postgres, database: str
) -> None:
    """After a cut, an append without a command key raises StoreUnavailable: its outcome is unknown.

    Appends of its group with a key are looked up by their keys.
    """
    async with over_proxy(postgres, database) as (store, proxy):
        await store.logs.create_room(new_room("r2"))
        await store.logs.append(append("r1", 2))
        cut = proxy.cut_after(Toward.CLIENT, 1)
        results = await asyncio.gather(
            outcome(store.logs.append(append("r1", 3))),
            outcome(store.logs.append(append("r2", 2, CommandKey("ada", "1")))),
        )
        assert cut.is_set()
        assert isinstance(results[0], StoreUnavailable)
        assert "unknown" in str(results[0])
        assert isinstance(results[1], Duplicate)
        assert await store.logs.heads(["r1", "r2"]) == {"r1": 4, "r2": 3}


async def test_a_room_is_created_once_on_a_broken_connection(
    postgres: Postgres, database: str
) -> None:
    """If the connection is cut before or after the commit, create_room creates the room once."""
    async with over_proxy(postgres, database) as (store, proxy):
        for n, (toward, count) in enumerate(
            ((Toward.SERVER, 40), (Toward.CLIENT, 1), (Toward.SERVER, 300))
        ):
            cut = proxy.cut_after(toward, count)
            assert (
                await store.logs.create_room(new_room(f"new{n}", projections=[started(f"n{n}")]))
                is None
            )
            assert cut.is_set()
            assert await store.logs.events(f"new{n}", 0) == list(entries(1, 2))


async def test_a_frozen_connection_times_out(postgres: Postgres, database: str) -> None:
    """Reads and writes on a frozen connection fail in time; then the store reconnects."""
    async with over_proxy(
        postgres, database, Limits(connect_s=0.5, statement_s=0.2, lock_s=0.1)
    ) as (store, proxy):
        await store.logs.head("r1")
        proxy.freeze()
        operations = [
            store.logs.append(append("r1", 2, CommandKey("ada", "1"))),
            store.logs.head("r1"),
        ]
        async with stopped_clock() as clock:
            waiting = asyncio.gather(*(outcome(operation) for operation in operations))
            await clock.until(waiting.done, within_s=5)
        assert [type(result) for result in await waiting] == [StoreUnavailable] * 2
        assert await append_until_committed(
            store, "r1", CommandKey("ada", "1"), entries(3)[0].body
        ) == (0, 3)
        assert await store.logs.events("r1", 0) == list(entries(1, 3))


async def test_a_connection_to_a_silent_server_closes_without_an_error(
    postgres: Postgres, database: str
) -> None:
    """SQLAlchemy would print the traceback of an error."""
    async with fault_proxy(postgres.port) as proxy:
        link = await connect(PostgresUrl(postgres.url(database, proxy.port)), Limits())
        proxy.freeze()
        async with stopped_clock() as clock:
            closing = asyncio.create_task(link.close())
            await clock.until(closing.done, within_s=1)
        await closing
        assert link.is_closed()


async def test_a_slow_start_is_no_failure(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store opens though each statement of its start takes as long as a statement may."""
    async with stopped_clock() as clock:
        for name in ("execute", "fetchval"):
            monkeypatch.setattr(QuickClosingConnection, name, slow(clock, name))
        async with open_postgres(postgres.url(database)) as store:
            monkeypatch.undo()
            assert await store.logs.head("r1") is None


def slow(clock: StoppedClock, name: str) -> Any:
    """A method of a connection whose answer comes after the longest time of a statement."""
    method = getattr(asyncpg.Connection, name)

    async def run(link: Any, *arguments: Any, **options: Any) -> Any:
        answer = asyncio.ensure_future(method(link, *arguments, **options))
        await asyncio.sleep(0)
        clock.advance(Limits().statement_s)
        return await answer

    return run


async def test_a_start_with_a_silent_database_fails_in_time(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that falls silent while a store opens is reported within an answer's time."""
    async with fault_proxy(postgres.port) as proxy:
        is_silent = asyncio.Event()
        check_schema = pg._Writer._check_schema

        async def check_in_silence(writer: Any, link: Any) -> None:
            proxy.freeze()
            is_silent.set()
            await check_schema(writer, link)

        monkeypatch.setattr(pg._Writer, "_check_schema", check_in_silence)
        store = open_postgres(postgres.url(database, proxy.port))
        opening = asyncio.ensure_future(outcome(store.__aenter__()))
        await is_silent.wait()
        async with stopped_clock() as clock:
            await clock.until(opening.done, within_s=Limits().answer_s + 1)
        assert "cannot use the database" in str(await opening)


async def test_reads_survive_closed_connections(postgres: Postgres, database: str) -> None:
    """Reads and writes succeed after the server has closed the store's idle connections."""
    async with open_postgres(postgres.url(database)) as store, postgres.session(database) as other:
        await store.logs.create_room(new_room("r1"))
        for v in range(2, 5):
            await store.logs.head("r1")
            assert await other.fetchval(DISCONNECT) == 2
            assert (
                await outcome(store.logs.append(append("r1", v, CommandKey("ada", str(v))))) is None
            )
            assert await store.nodes.heartbeat("n1", 1000) > 0
            assert await store.logs.heads(["r1"]) == {"r1": v + 1}


async def test_a_takeover_whose_answer_is_lost_is_repeated(
    postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the answer to a takeover is lost, the next call returns its rooms again."""
    async with over_proxy(postgres, database) as (store, proxy):
        await store.nodes.heartbeat("me", 60_000)
        for n in range(3):
            await store.logs.create_room(
                new_room(f"d{n}", node="dead", due_ms=NOW_MS, at_ms=NOW_MS - 9)
            )
        assert await store.nodes.take_over_due_rooms(NOW_MS - 1, "me", all_nodes=False) == []
        with monkeypatch.context() as patch:
            execute = SqlDatabase.execute

            async def lose_the_answer(self: SqlDatabase, statement: Any) -> list[Any]:
                proxy.cut_after(Toward.CLIENT, 1)
                return await execute(self, statement)

            patch.setattr(SqlDatabase, "execute", lose_the_answer)
            with pytest.raises(StoreUnavailable):
                await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)
        taken = await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)
        assert sorted(room for room, _ in taken) == ["d0", "d1", "d2"]
        assert await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False) == []
