"""The SQLite store beyond the contract: file, schema, locks, full disks, group commit, closing."""

import asyncio
import os
import resource
import sqlite3
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, event
from sqlalchemy.pool import Pool

from migrations.env_config import FOLDER
from server.ids import IdentityId
from server.store import schema, sqlite
from server.store.base import (
    CommandKey,
    Conflict,
    Duplicate,
    Identity,
    NewRoom,
    StoredEvent,
    StoreReadOnly,
    StoreUnavailable,
    wall_clock_ms,
)
from server.store.group import commit_on_sqlite
from server.store.sql import SqlStore
from server.store.sqlite import open_sqlite
from server.store.tables import metadata
from server.store.writer import MAX_GROUP, MAX_QUEUED, GroupWriter, Op, Outcome, room_of
from tests.support.log_entries import NOW_MS, TODAY, append, entries, new_database, new_room

#: A Python program that locks the database until its input ends.
LOCK_PROGRAM = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Starts a process that holds the file's write lock until the block ends; yields it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        LOCK_PROGRAM,
        str(path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        assert await process.stdout.readline() == b"locked\n"
        yield process
    finally:
        process.stdin.close()
        await process.wait()


def commit_count(path: Path) -> int:
    """Returns the number of transactions in the write-ahead log, by its commit frames."""
    log = Path(f"{path}-wal").read_bytes()
    page_bytes, salt = int.from_bytes(log[8:12], "big"), log[16:24]
    headers = (log[at : at + 24] for at in range(32, len(log), 24 + page_bytes))
    return sum(header[8:16] == salt and header[4:8] != bytes(4) for header in headers)


# --- the file -------------------------------------------------------------------------------------


async def test_committed_data_survives_a_restart(tmp_path: Path) -> None:
    """Events, keys, identities and the epoch survive a restart, in a folder with any name."""
    path = tmp_path / "100% für? #Spiele" / "store.sqlite3"
    async with open_sqlite(path) as store:
        epoch = store.epoch
        await store.logs.create_room(new_room("r1"))
        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        await store.identities.add_guest(Identity(IdentityId("a1"), "Ada"), b"hash", NOW_MS)
    async with open_sqlite(path) as store:
        assert store.epoch == epoch
        assert await store.logs.events("r1", 0) == list(entries(1, 3))
        assert await store.logs.find_command("r1", CommandKey("ada", "1")) == (3, 3)
        ada = Identity(IdentityId("a1"), "Ada", TODAY, NOW_MS)
        assert await store.identities.by_token(b"hash") == ada


async def test_two_stores_share_a_file(tmp_path: Path) -> None:
    """A store sees the commits of another one on the same file, and their appends conflict."""
    path = tmp_path / "store.sqlite3"
    async with open_sqlite(path) as first, open_sqlite(path) as second:
        assert first.epoch == second.epoch
        await first.logs.create_room(new_room("r1"))
        assert await second.logs.events("r1", 0) == list(entries(1, 2))
        await second.logs.append(append("r1", 2, node="n2"))
        with pytest.raises(Conflict):
            await first.logs.append(append("r1", 2, node="n1"))
        assert await first.logs.create_room(new_room("r2", "ada", "r1")) == "r1"


async def test_a_forked_child_leaves_the_connections_alone(tmp_path: Path) -> None:
    """A child rolls nothing back on the connections that it inherits: their files are its parent's,
    and their locks may be held by threads that it does not have.
    """
    rolled_back = os.memfd_create("rolled back")

    def on_reset(*_: object) -> None:
        os.write(rolled_back, b"!")

    event.listen(Pool, "reset", on_reset)
    try:
        async with open_sqlite(tmp_path / "store.sqlite3") as store:
            await store.logs.create_room(new_room("r1"))
            assert await store.logs.heads(["r1"]) == {"r1": 2}
            before = os.fstat(rolled_back).st_size
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                child = os.fork()
            if child == 0:
                os._exit(0)
            await asyncio.to_thread(os.waitpid, child, 0)
            assert os.fstat(rolled_back).st_size == before
        assert os.fstat(rolled_back).st_size > before
    finally:
        event.remove(Pool, "reset", on_reset)
        os.close(rolled_back)


@pytest.mark.parametrize(
    "content",
    [b"This is not a database but a letter to a friend. " * 40, b"SQLite format 3\0" * 9],
)
async def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file that is not a database is refused with its path and stays unchanged."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match=r"cannot use the database .*store\.sqlite3"):
        async with open_sqlite(path):
            raise AssertionError("it was opened")
    assert path.read_bytes() == content


async def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A folder that cannot be created is refused with the path."""
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(StoreUnavailable, match=r"cannot use the database .*store\.sqlite3"):
        async with open_sqlite(tmp_path / "data" / "store.sqlite3"):
            raise AssertionError("it was opened")


async def test_an_acknowledged_commit_is_synced(tmp_path: Path) -> None:
    """The file is in WAL mode, and its writer syncs each commit (synchronous FULL)."""
    path = tmp_path / "store.sqlite3"
    async with open_sqlite(path) as store:
        assert (
            await store.database.write(
                lambda connection: connection.exec_driver_sql("PRAGMA synchronous").scalar()
            )
            == 2
        )
        assert (
            await store.database.write(
                lambda connection: connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            )
            == "wal"
        )


# --- locks ----------------------------------------------------------------------------------------


async def test_a_lock_held_too_long_is_reported(tmp_path: Path) -> None:
    """A write that waits longer than `busy_ms` raises StoreUnavailable; reads continue.

    After the lock is released, writes succeed.
    """
    path = new_database(tmp_path)
    async with open_sqlite(path, busy_ms=50) as store:
        await store.logs.create_room(new_room("r1"))
        async with locked(path):
            with pytest.raises(StoreUnavailable, match="locked"):
                await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
            with pytest.raises(StoreUnavailable, match="locked"):
                await store.nodes.heartbeat("n1", NOW_MS)
            assert await store.logs.events("r1", 0) == list(entries(1, 2))
            assert await store.logs.find_command("r1", CommandKey("ada", "1")) is None
            await store.check()
        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        assert await store.logs.find_command("r1", CommandKey("ada", "1")) == (3, 3)


async def test_a_hanging_disk_is_reported_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that hangs raises StoreUnavailable in time; the key later shows its outcome."""
    hang = threading.Event()

    def slow(connection: sqlite3.Connection, ops: list[Op]) -> list[Outcome]:
        hang.wait(20)
        return commit_on_sqlite(connection, ops)

    async with open_sqlite(new_database(tmp_path)) as store:
        await store.logs.create_room(new_room("r1"))
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "ANSWER_S", 0.1)
            patch.setattr(sqlite, "commit_on_sqlite", slow)
            with pytest.raises(StoreUnavailable, match="did not answer"):
                await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        hang.set()
        with pytest.raises(Duplicate):  # it was committed after all
            await store.logs.append(append("r1", 3, CommandKey("ada", "1")))


async def test_a_write_waits_for_a_short_lock(tmp_path: Path) -> None:
    """A write waits for a lock within the busy time, then succeeds."""
    path = new_database(tmp_path)
    async with open_sqlite(path, busy_ms=30_000) as store:
        await store.logs.create_room(new_room("r1"))
        async with locked(path) as other:
            waiting = asyncio.create_task(store.logs.append(append("r1", 2)))
            done, _ = await asyncio.wait([waiting], timeout=0.1)
            assert not done, "it did not wait for the lock"
            assert other.stdin is not None
            other.stdin.close()
            await waiting
        assert await store.logs.heads(["r1"]) == {"r1": 3}


async def test_opening_a_locked_file_is_reported(tmp_path: Path) -> None:
    """Opening a locked file raises StoreUnavailable."""
    path = new_database(tmp_path)
    async with open_sqlite(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM meta")
        connection.commit()
    async with locked(path):
        with pytest.raises(StoreUnavailable, match="locked"):
            async with open_sqlite(path, busy_ms=50):
                raise AssertionError("it was opened")


async def refusal(operation: Awaitable[None]) -> StoreUnavailable | None:
    """Returns the StoreUnavailable that the operation raises, or None if it succeeds."""
    try:
        await operation
    except StoreUnavailable as error:
        return error
    return None


# --- disk full ------------------------------------------------------------------------------------


async def test_a_full_disk_is_reported_and_recovered_from(tmp_path: Path) -> None:
    """On a full disk writes raise StoreUnavailable and write nothing.

    Once there is space again, writes succeed without a restart.
    """
    async with open_sqlite(new_database(tmp_path)) as store:
        await store.logs.create_room(new_room("r1"))
        pages = await store.database.write(
            lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        )
        await store.database.write(
            lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count={pages}").all()
        )
        v, error = 2, None
        while error is None:
            error = await refusal(store.logs.append(append("r1", v, CommandKey("ada", str(v)))))
            v += error is None
            assert v < 1000, "the disk is not full yet"
        assert "full" in str(error)
        assert isinstance(error, StoreReadOnly)
        assert store.condition().name == "read-only"
        assert await store.logs.heads(["r1"]) == {"r1": v}
        assert await store.logs.find_command("r1", CommandKey("ada", str(v))) is None
        await store.database.write(
            lambda connection: connection.exec_driver_sql("PRAGMA max_page_count=100000").all()
        )
        await store.logs.append(append("r1", v, CommandKey("ada", str(v))))
        assert store.condition().name == "ok"
        assert await store.logs.heads(["r1"]) == {"r1": v + 1}


async def test_a_failed_commit_is_recovered_from(tmp_path: Path) -> None:
    """A store whose commits failed to write the file works again once the file can be written."""
    async with open_sqlite(new_database(tmp_path)) as store:
        await store.logs.create_room(new_room("r1"))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(
            resource.RLIMIT_FSIZE, ((tmp_path / "store.sqlite3-wal").stat().st_size, hard)
        )
        try:
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        assert await store.logs.heads(["r1"]) == {"r1": 3}
        assert await store.logs.events("r1", 0) == list(entries(1, 3))


# --- group commit ---------------------------------------------------------------------------------


async def test_concurrent_writes_share_commits(tmp_path: Path) -> None:
    """300 concurrent appends take at most 5 commits."""
    path = new_database(tmp_path)
    async with open_sqlite(path) as store:
        await asyncio.gather(*(store.logs.create_room(new_room(f"r{n}")) for n in range(300)))
        before = commit_count(path)
        await asyncio.gather(*(store.logs.append(append(f"r{n}", 2)) for n in range(300)))
        assert 1 <= commit_count(path) - before <= 5
        assert set((await store.logs.heads([f"r{n}" for n in range(300)])).values()) == {3}


async def test_a_single_write_is_one_commit(tmp_path: Path) -> None:
    """A single write is committed at once, without waiting for others."""
    path = new_database(tmp_path)
    async with open_sqlite(path) as store:
        await store.logs.create_room(new_room("r1"))
        before = commit_count(path)
        await store.logs.append(append("r1", 2))
        assert commit_count(path) - before == 1


class Gate:
    """A commit function that records its groups and waits until it is opened."""

    def __init__(self) -> None:
        self.groups: list[list[Op]] = []
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        self.outcomes: dict[str, Outcome] = {}

    async def commit(self, ops: list[Op]) -> list[Outcome]:
        self.groups.append(ops)
        self.entered.set()
        await self.open.wait()
        return [self.outcomes.get(room_of(op)) for op in ops]


@asynccontextmanager
async def running_writer(gate: Gate) -> AsyncIterator[GroupWriter]:
    """Runs a GroupWriter until the block ends."""
    writer = GroupWriter(gate.commit)
    task = asyncio.create_task(writer.run())
    try:
        yield writer
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_group_never_holds_a_room_twice() -> None:
    """Operations of one room keep their order and are in different groups.

    A group has at most MAX_GROUP operations.
    """
    gate = Gate()
    gate.open.set()
    ops: list[Op] = [append(f"r{n % 600}", n // 600) for n in range(1300)]
    async with running_writer(gate) as writer:
        await asyncio.gather(*(writer.write(op) for op in ops))
    for group in gate.groups:
        assert len(group) <= MAX_GROUP
        assert len({room_of(op) for op in group}) == len(group)
    written: list[Op] = [op for group in gate.groups for op in group]
    for room in {room_of(op) for op in ops}:
        assert [op for op in written if room_of(op) == room] == [
            op for op in ops if room_of(op) == room
        ]


async def test_no_write_returns_before_the_commit() -> None:
    """I5: no write returns while the commit runs; then each gets its own outcome."""
    gate = Gate()
    gate.outcomes = {"r1": Conflict("late"), "r2": "earlier"}
    async with running_writer(gate) as writer:
        writes = [asyncio.create_task(writer.write(append(f"r{n}", 0))) for n in range(3)]
        await gate.entered.wait()
        assert not any(task.done() for task in writes)
        gate.open.set()
        results = await asyncio.gather(*writes, return_exceptions=True)
    assert results[0] is None
    assert isinstance(results[1], Conflict)
    assert results[2] == "earlier"


async def test_a_commit_that_raises_fails_its_group_only() -> None:
    """An exception in a commit fails the writes of its group only."""
    errors = [RuntimeError("a defect"), None]

    async def commit(ops: list[Op]) -> list[Outcome]:
        error = errors.pop(0)
        if error is not None:
            raise error
        return [None] * len(ops)

    writer = GroupWriter(commit)
    task = asyncio.create_task(writer.run())
    with pytest.raises(StoreUnavailable, match="a defect"):
        await writer.write(append("r1", 0))
    assert await writer.write(append("r1", 0)) is None
    task.cancel()
    await asyncio.wait([task])


async def test_closing_fails_queued_writes() -> None:
    """When a writer closes, running, queued and later writes raise StoreUnavailable."""
    gate = Gate()
    async with running_writer(gate) as writer:
        writes = [asyncio.create_task(writer.write(append("r1", n))) for n in range(3)]
        await gate.entered.wait()
    for task in writes:
        with pytest.raises(StoreUnavailable, match="closing"):
            await task
    with pytest.raises(StoreUnavailable, match="closed"):
        await writer.write(append("r1", 0))


async def test_a_write_beyond_the_queue_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the queue's capacity a write is refused at once instead of waiting."""
    assert MAX_QUEUED <= 20_000
    monkeypatch.setattr("server.store.writer.MAX_QUEUED", 3)
    gate = Gate()
    async with running_writer(gate) as writer:
        writes = [asyncio.create_task(writer.write(append(f"r{n}", 0))) for n in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="too many"):
            await writer.write(append("r9", 0))
        gate.open.set()
        assert await asyncio.gather(*writes) == [None] * 3


async def test_a_cancelled_caller_does_not_affect_others() -> None:
    """After a caller is cancelled, the other writes of its group still get their outcomes."""
    gate = Gate()
    async with running_writer(gate) as writer:
        writes = [asyncio.create_task(writer.write(append(f"r{n}", 0))) for n in range(3)]
        await gate.entered.wait()
        writes[1].cancel()
        gate.open.set()
        results = await asyncio.gather(*writes, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert results[::2] == [None, None]


async def test_a_closed_store_reports_that_it_is_closed(tmp_path: Path) -> None:
    """Reads and writes of a closed store raise StoreUnavailable.

    A write during the close may be committed; its key shows whether it was.
    """
    path = new_database(tmp_path)
    async with open_sqlite(path) as store:
        await store.logs.create_room(new_room("r1"))
        late = asyncio.create_task(store.logs.append(append("r1", 2, CommandKey("ada", "1"))))
        await asyncio.sleep(0)
    try:
        await late
        acknowledged = True
    except StoreUnavailable:
        acknowledged = False
    for operation in (
        store.logs.head("r1"),
        store.logs.append(append("r1", 3)),
        store.nodes.heartbeat("n1", 1),
        store.check(),
    ):
        with pytest.raises(StoreUnavailable):
            await operation
    async with open_sqlite(path) as again:
        v_range = await again.logs.find_command("r1", CommandKey("ada", "1"))
        assert v_range == (3, 3) or (v_range is None and not acknowledged)


# --- the schema -----------------------------------------------------------------------------------


def test_the_migrations_create_the_tables(tmp_path: Path) -> None:
    """The migrations create the schema of server/store/tables.py, WITHOUT ROWID tables included."""
    path = tmp_path / "store.sqlite3"
    schema.upgrade_sqlite(path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
    engine.dispose()
    fresh = create_engine("sqlite://")
    metadata.create_all(fresh)
    with fresh.connect() as connection, closing(sqlite3.connect(path)) as migrated:
        tables = migrated.execute(TABLES).fetchall()
        assert tables == [tuple(row) for row in connection.exec_driver_sql(TABLES)]
        partial = migrated.execute(PARTIAL).fetchall()
        assert {name: sql.partition(" WHERE ")[2] for name, sql in partial} == {
            "ix_matches_speed": "speed IS NULL",
            "ix_matches_winner": "winner IS NULL AND finished_ms IS NOT NULL",
            "ix_rooms_due_ms": "due_ms IS NOT NULL",
        }
    fresh.dispose()


#: Selects the tables, each with whether it is WITHOUT ROWID.
TABLES = """SELECT name, wr FROM pragma_table_list
            WHERE name NOT LIKE 'sqlite%' AND name <> 'alembic_version' ORDER BY name"""
#: Selects the partial indexes.
PARTIAL = (
    "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%' ORDER BY name"
)


def test_the_code_names_the_newest_migration(tmp_path: Path) -> None:
    """schema.HEAD is the only head of the migrations folder, and a new file is at it."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    assert ScriptDirectory.from_config(config).get_heads() == [schema.HEAD]
    path = tmp_path / "store.sqlite3"
    assert schema.sqlite_revision(path) is None
    schema.upgrade_sqlite(path)
    assert schema.sqlite_revision(path) == schema.HEAD


def test_every_migration_can_be_reversed(tmp_path: Path) -> None:
    """Downgrading to nothing and upgrading again gives the same schema."""
    path = tmp_path / "store.sqlite3"
    schema.upgrade_sqlite(path)
    everything = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute(everything).fetchall()
    engine = create_engine(f"sqlite:///{path}")
    for change, revision in ((command.downgrade, "base"), (command.upgrade, "head")):
        config = Config()
        config.set_main_option("script_location", str(FOLDER))
        with engine.begin() as alembic:
            config.attributes["connection"] = alembic
            change(config, revision)
    engine.dispose()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(everything).fetchall() == before


async def test_a_database_from_a_newer_plyroom_is_refused(tmp_path: Path) -> None:
    """A database of a newer version is refused with advice, and its file is unchanged."""
    path = tmp_path / "store.sqlite3"
    async with open_sqlite(path) as store:
        await store.logs.create_room(new_room("r1"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.execute("UPDATE meta SET value = '9999' WHERE key = 'needs'")
        connection.commit()
    with pytest.raises(StoreUnavailable, match=rf"newer Plyroom .*9999.*{schema.HEAD}.*backup"):
        async with open_sqlite(path):
            raise AssertionError("it was opened")
    assert schema.sqlite_revision(path) == "9999"


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """An empty file becomes a store, as after a first start that ended before the migrations."""
    path = tmp_path / "store.sqlite3"
    path.touch()
    async with open_sqlite(path) as store:
        assert await store.logs.create_room(new_room("r1")) is None
        assert await store.logs.events("r1", 0) == [
            StoredEvent(e.v, e.at_ms, e.audience, e.body) for e in entries(1, 2)
        ]


async def test_new_rooms_and_appends_share_a_commit(tmp_path: Path) -> None:
    """New rooms and appends to older rooms share a commit, each with its own outcome."""
    path = tmp_path / "store.sqlite3"
    async with open_sqlite(path) as store:
        await store.logs.create_room(new_room("r0"))
        before = commit_count(path)
        operations: list[Op] = [append("r0", 2), new_room("r1"), new_room("r2", "ada", "r0")]
        assert await asyncio.gather(*(write(store, op) for op in operations)) == [None, None, "r0"]
        assert commit_count(path) - before == 1
        operations = [append("r0", 3), append("r9", 0), new_room("r3"), append("r1", 7)]
        results = await asyncio.gather(
            *(write(store, op) for op in operations), return_exceptions=True
        )
        assert [type(result) for result in results] == [type(None), Conflict, type(None), Conflict]
        assert await store.logs.heads(["r0", "r1", "r3"]) == {"r0": 4, "r1": 2, "r3": 2}


async def write(store: SqlStore, op: Op) -> str | None:
    if isinstance(op, NewRoom):
        return await store.logs.create_room(op)
    await store.logs.append(op)
    return None


async def test_a_node_with_a_heartbeat_from_the_future_is_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the clock is set back by an hour, nodes with earlier heartbeats count as dead."""
    async with open_sqlite(new_database(tmp_path)) as store:
        await store.nodes.heartbeat("before", 10_000)
        await store.logs.create_room(new_room("r1", node="before", due_ms=NOW_MS))
        monkeypatch.setattr(sqlite, "wall_clock_ms", lambda: wall_clock_ms() - 3_600_000)
        assert await store.nodes.alive_nodes() == frozenset()
        taken = await store.nodes.take_over_due_rooms(NOW_MS, "me", all_nodes=False)
        assert taken == [("r1", "before")]
