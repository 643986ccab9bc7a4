"""Backup and restore: one file format for both kinds of database.

A backup can be made while servers run. A restore is complete or changes nothing.
"""

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Connection, text, update

from engine.rules.registry import load_game
from server.ids import IdentityId
from server.ops.admin import main
from server.ops.verify import Report, verify
from server.store import backup as copies
from server.store import schema, tables
from server.store.base import CommandKey, DaySpan, Identity, RoomHead, StoreError
from server.store.location import DATABASE_FILE
from server.store.lock import lock_folder
from tests.support.databases import (
    KINDS,
    Database,
    PostgresDatabase,
    bare_database,
    content,
    empty_database,
    migrate,
    play_matches,
)
from tests.support.log_entries import NOW_MS, TODAY, append, entries, new_room


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    async with empty_database(request.param, request) as database:
        yield database


def ignore_progress(done: int, total: int) -> None:
    """A progress callback that does nothing."""


async def make_backup(database: Database) -> bytes:
    """Makes a backup of the database; returns the file's bytes."""
    out = io.BytesIO()
    await database.run(
        lambda connection: copies.backup(connection, "here", out, ignore_progress), snapshot=True
    )
    return out.getvalue()


async def restore(database: Database, file: bytes) -> dict[str, int]:
    """Restores a backup; returns the number of rows by table."""
    return await database.run(
        lambda connection: copies.restore(connection, "here", io.BytesIO(file), ignore_progress)
    )


async def check(database: Database) -> Report:
    return await database.run(
        lambda connection: verify(connection, load_game, ignore_progress), snapshot=True
    )


def parse_lines(file: bytes) -> list[Any]:
    """Returns the parsed lines of a backup."""
    return [json.loads(line) for line in gzip.decompress(file).splitlines()]


def rows_by_table(file: bytes) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows of a backup by table."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    rows: list[dict[str, Any]] = []
    columns: list[str] = []
    for line in parse_lines(file):
        if isinstance(line, list):
            rows.append(dict(zip(columns, line, strict=True)))
        elif "table" in line:
            rows, columns = by_table.setdefault(line["table"], []), list(line["columns"])
    return by_table


def compress_lines(lines: list[Any]) -> bytes:
    """Returns a backup file with these lines."""
    return gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


# --- round trips ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", KINDS)
async def test_a_backup_restores_the_same_rows(
    database: Database, target: str, request: pytest.FixtureRequest
) -> None:
    """A backup of each kind of database can be restored into each kind.

    Every row is the same and rooms continue. The epoch differs, so clients fetch snapshots.
    """
    async with database.open() as store:
        rooms = await play_matches(store)
        await store.bus_key()
        epoch = store.epoch
        heads = await store.logs.heads(rooms)
    file = await make_backup(database)
    async with bare_database(target, request, "target") as other:
        rows = await restore(other, file)
        before, after = await database.run(content), await other.run(content)
        assert {name: after[name] for name in copies.TABLES} == {
            name: before[name] for name in copies.TABLES
        }
        assert rows == {name: len(before[name]) for name in copies.TABLES}
        assert after["nodes"] == []
        assert (await check(other)).problems == []
        async with other.open() as store:
            assert store.epoch != epoch
            assert await store.logs.heads(rooms) == heads
            await store.logs.append(append(rooms[0], heads[rooms[0]], CommandKey("cyd", "after")))
            assert await store.logs.find_command(rooms[0], CommandKey("cyd", "after")) is not None


async def test_a_backup_of_a_running_store_is_consistent(database: Database) -> None:
    """A backup during writes has all rooms as of one moment, each with its log up to its head."""
    async with database.open() as store:
        for room in ("a", "b"):
            await store.logs.create_room(new_room(room, count=1))
        stop = asyncio.Event()

        async def write() -> int:
            v = 1
            while not stop.is_set():
                for room in ("a", "b"):
                    await store.logs.append(append(room, v, CommandKey("ada", str(v))))
                v += 1
            return v

        writing = asyncio.create_task(write())
        files = []
        for _ in range(5):
            head = await store.logs.head("a")
            assert head is not None
            while (now := await store.logs.head("a")) is not None and now.v < head.v + 5:
                await asyncio.sleep(0)
            files.append(await make_backup(database))
        stop.set()
        last = await writing
        assert len(await store.logs.events("a", 0, 10_000)) == last
    heads_of_a = []
    for file in files:
        rows = rows_by_table(file)
        heads = {row["id"]: row["head"] for row in rows["rooms"]}
        for room, head_v in heads.items():
            assert [row["v"] for row in rows["events"] if row["room"] == room] == list(
                range(1, head_v + 1)
            )
        assert heads["b"] <= heads["a"] <= heads["b"] + 1
        heads_of_a.append(heads["a"])
    assert heads_of_a == sorted(set(heads_of_a)), "the store was written between the backups"


async def test_no_secret_is_in_a_backup(database: Database) -> None:
    """A backup contains no bus key, no epoch, and only hashes of tokens."""
    async with database.open() as store:
        await play_matches(store)
        key, epoch = await store.bus_key(), store.epoch
        backup_text = gzip.decompress(await make_backup(database)).decode()
    assert key.hex() not in backup_text
    assert epoch not in backup_text
    assert "psst" in backup_text


# --- refused restores --------------------------------------------------------------------------


async def test_a_damaged_backup_restores_nothing(request: pytest.FixtureRequest) -> None:
    """A truncated, changed or incomplete backup, or another file, raises BadBackup.

    The database stays empty.
    """
    async with empty_database("sqlite", request) as source:
        async with source.open() as store:
            await play_matches(store)
        file = await make_backup(source)
    all_lines = parse_lines(file)
    flipped = bytearray(file)
    flipped[len(file) // 2] ^= 0x55
    damaged = {
        "cut": [file[:n] for n in (0, 5, 40, len(file) // 2, len(file) - 9, len(file) - 1)],
        "flipped": [bytes(flipped)],
        "row": [compress_lines(all_lines[:-5] + all_lines[-4:])],
        "end": [compress_lines(all_lines[:-1])],
        "line": [
            compress_lines([*all_lines[:3], {"table": "meta", "columns": {}}, *all_lines[3:]]),
            compress_lines([*all_lines[:2], "x"]),
        ],
        "other": [b"a letter", gzip.compress(b"a letter"), compress_lines([{"some": "thing"}])],
    }
    async with bare_database("sqlite", request, "target") as other:
        await other.run(migrate)
        for kind, files in damaged.items():
            for file_content in files:
                with pytest.raises(copies.BadBackup):
                    await restore(other, file_content)
                assert not any(
                    rows for name, rows in (await other.run(content)).items() if name != "meta"
                ), kind
        await restore(other, file)


async def test_a_backup_is_restored_only_into_an_empty_store(
    database: Database, request: pytest.FixtureRequest
) -> None:
    """A restore into a database with data is refused and changes nothing."""
    async with bare_database("sqlite", request, "source") as source:
        async with source.open() as store:
            await store.logs.create_room(new_room("r1"))
        file = await make_backup(source)
    async with database.open() as store:
        await store.logs.create_room(new_room("r2"))
    with pytest.raises(StoreError, match="not empty"):
        await restore(database, file)
    async with database.open() as store:
        assert await store.logs.heads(["r1", "r2"]) == {"r2": 2}


async def test_no_restore_while_a_server_runs_on_postgresql(
    request: pytest.FixtureRequest,
) -> None:
    """A restore into a database with the live heartbeat of a server is refused."""
    async with empty_database("postgres", request) as database, database.open() as store:
        await store.nodes.heartbeat("n1", 60_000)
        with pytest.raises(StoreError, match="stop it first"):
            await restore(
                database, compress_lines([{"plyroom": "backup", "format": 1, "schema": "0003"}])
            )


async def test_no_restore_while_a_server_runs_on_sqlite(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A restore into a data folder that a server has locked is refused and writes nothing."""
    async with bare_database("sqlite", request) as source, source.open() as store:
        await store.logs.create_room(new_room("r1"))
    file, data = tmp_path / "copy.plyroom", tmp_path / "data"
    file.write_bytes(await make_backup(source))
    with lock_folder(data):  # as a server does
        refused = await asyncio.to_thread(run_command, "restore", file, "--data", data)
        assert refused.exit_code == 1
        assert "another Plyroom server" in refused.stderr
        assert not (data / DATABASE_FILE).exists()
    done = await asyncio.to_thread(run_command, "restore", file, "--data", data)
    assert done.exit_code == 0, done.stderr


async def test_a_restore_restarts_the_expiry(
    database: Database, request: pytest.FixtureRequest
) -> None:
    """Guests and rooms of an old backup expire at the earliest a full period after the restore.

    Guests who took a seat never expire.
    """
    async with database.open() as store:
        await store.logs.create_room(new_room("r1"))
        await store.expiry.mark_rooms_seen(["r1"], TODAY)
        for name in ("sat", "guest"):
            await store.identities.add_guest(
                Identity(IdentityId(name), name), name.encode(), NOW_MS
            )
        await store.expiry.mark_permanent(IdentityId("sat"))
    file = await make_backup(database)
    later = DaySpan(TODAY + 1000, TODAY + 970)
    async with bare_database("sqlite", request, "new") as new:
        await restore(new, file)
        async with new.open() as store:
            for _ in range(2):
                assert (await store.expiry.expire_identities("", later, 9)).deleted == ()
                assert (await store.expiry.expire_rooms("", later, 9)).deleted == ()
            after_a_period = DaySpan(TODAY + 1031, TODAY + 1001)
            assert (await store.expiry.expire_identities("", after_a_period, 9)).deleted == (
                "guest",
            )
            assert (await store.expiry.expire_rooms("", after_a_period, 9)).deleted == ("r1",)


async def test_a_restored_backup_is_migrated(request: pytest.FixtureRequest) -> None:
    """A backup of an older schema is restored and then migrated; a newer one is refused."""
    async with (
        bare_database("sqlite", request) as old,
        bare_database("sqlite", request, "new") as new,
        bare_database("sqlite", request, "newer") as newer,
    ):

        def fill(connection: Connection) -> None:
            schema.upgrade(connection, "0001")
            connection.execute(
                text(
                    "INSERT INTO rooms (id, game, public, host, create_id, created_ms, head, node,"
                    " due_ms, listed, summary, changed_ms)"
                    " VALUES ('r1', 'sticks', true, 'ada', 'c', 5, 2, 'n1',"
                    " :now_ms, false, CAST('{}' AS BLOB), 5)"
                ),
                {"now_ms": NOW_MS},
            )
            for entry in entries(1, 2):
                row = {"v": entry.v, "at_ms": entry.at_ms, "body": entry.body}
                connection.execute(
                    text("INSERT INTO events VALUES ('r1', :v, :at_ms, 0, :body)"), row
                )

        await old.run(fill)
        file = await make_backup(old)
        assert parse_lines(file)[0]["schema"] == "0001"
        await restore(new, file)
        assert await new.run(schema.revision_of) == schema.HEAD
        async with new.open() as store:
            assert await store.logs.events("r1", 0) == list(entries(1, 2))
            assert await store.logs.head("r1") == RoomHead(2, "n1", NOW_MS)
        with pytest.raises(copies.BadBackup, match="newer Plyroom"):
            await restore(
                newer, compress_lines([{"plyroom": "backup", "format": 1, "schema": "9999"}])
            )


# --- the commands ---------------------------------------------------------------------------------


def run_command(*arguments: object, database: str = "") -> Result:
    """Runs a `plyroom` command."""
    return CliRunner().invoke(
        main, [str(argument) for argument in arguments], env={"PLYROOM_DATABASE": database}
    )


async def test_the_commands_of_an_operator(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The output and exit codes of backup, restore and verify."""
    source = tmp_path / "source"
    source.mkdir()
    file = tmp_path / "copy.plyroom"
    async with bare_database("sqlite", request) as database, database.open() as store:
        await play_matches(store)
    (tmp_path / "store.sqlite3").rename(source / "plyroom.sqlite3")
    result = await asyncio.to_thread(run_command, "backup", file, "--data", source)
    assert (result.exit_code, result.stdout.split(" of ")[0]) == (
        0,
        f"{file} holds 9 rooms with 69 events,",
    )
    assert file.stat().st_mode & 0o777 == 0o600
    repeated = await asyncio.to_thread(run_command, "backup", file, "--data", source)
    assert (repeated.exit_code, "already" in repeated.stderr) == (1, True)
    missing = await asyncio.to_thread(
        run_command, "backup", tmp_path / "none", "--data", tmp_path / "nowhere"
    )
    assert (missing.exit_code, "there is no database" in missing.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "nowhere").exists()
    result = await asyncio.to_thread(run_command, "restore", file, "--data", tmp_path / "target")
    assert result.exit_code == 0, result.stderr
    repeated = await asyncio.to_thread(run_command, "restore", file, "--data", tmp_path / "target")
    assert (repeated.exit_code, "not empty" in repeated.stderr) == (1, True)
    clean = await asyncio.to_thread(run_command, "verify", "--data", tmp_path / "target", "--json")
    assert clean.exit_code == 0
    assert json.loads(clean.stdout) == {
        "rooms": 9,
        "events": 69,
        "moves": 18,
        "unjudged": 0,
        "newer": 0,
        "problems": 0,
    }
    said = await asyncio.to_thread(run_command, "verify", "--data", tmp_path / "target")
    assert said.stdout == "9 rooms, 69 events, 18 moves: no problems\n"
    assert said.stderr == ""
    async with bare_database("postgres", request) as other:
        assert isinstance(other, PostgresDatabase)
        url = other.url
        restored = await asyncio.to_thread(run_command, "restore", file, database=url)
        assert restored.exit_code == 0, restored.stderr
        await other.run(
            lambda connection: connection.execute(update(tables.rooms).values(head=99)).rowcount
        )
        verified = await asyncio.to_thread(run_command, "verify", database=url)
        assert verified.exit_code == 1
        *problems, total = verified.stdout.splitlines()
        assert len(problems) == 9
        assert "the head is 99, the log ends at" in verified.stdout
        assert total == "9 rooms, 69 events, 18 moves: 9 problems"
        unknown = await asyncio.to_thread(
            run_command, "verify", database=url.rpartition("/")[0] + "/nowhere"
        )
        assert (unknown.exit_code, 'database "nowhere" does not exist' in unknown.stderr) == (
            1,
            True,
        )
