"""Backup of a store to one portable file, and restore: the file is the same for SQLite and
PostgreSQL.

The file is JSON lines under gzip. It starts with a header that holds the schema's revision; each
table follows as a line with its columns and one line per row; the last line holds the row counts,
so that a truncated file is detected. A backup reads one snapshot: all rooms are of the same moment,
and each log is complete up to its head.

The file does not contain the epoch (a restored store gets a new one, which makes clients resync
from scratch), heartbeats, and the bus key.
"""

import gzip
import json
import secrets
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    func,
    insert,
    select,
    update,
)

from server.store import schema
from server.store import tables as t
from server.store.base import StoreError, wall_clock_ms

#: The version of the file's format.
FORMAT = 1
#: The tables in a backup, in the order in which they are restored.
KEPT = ("identities", "rooms", "events", "commands", "matches", "thoughts")
#: Rows that are read or inserted at a time.
BATCH = 1000
Row = list[Any]
#: Progress callback: rows done so far, and rows in total (0 if unknown).
Told = Callable[[int, int], None]


class BadBackup(StoreError):
    """The file is not a complete backup, or this program cannot read it."""


# --- backup ---------------------------------------------------------------------------------------


def backup(connection: Connection, where: str, file: BinaryIO, report: Told) -> dict[str, int]:
    """Writes the snapshot that `connection` sees to `file`; returns the row count of each table."""
    revision = schema.revision_of(connection)
    # A database with an older schema is backed up as it is, for example before its migration.
    if revision is None or revision > schema.HEAD:
        schema.judge(revision, schema.needs_of(connection) if revision else None, where)
    tables = _reflected(connection)
    total = sum(_count(connection, table) for table in tables)
    done: dict[str, int] = {}
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
        _write(
            packed,
            {"plyroom": "backup", "format": FORMAT, "schema": revision, "at_ms": wall_clock_ms()},
        )
        for table in tables:
            _write(
                packed,
                {"table": table.name, "columns": {one.name: _kind(one) for one in table.columns}},
            )
            done[table.name] = 0
            for row in _stream(connection, table):
                _write(packed, row)
                done[table.name] += 1
                if done[table.name] % BATCH == 0:
                    report(sum(done.values()), total)
        _write(packed, {"rows": done})
    report(total, total)
    return done


def _reflected(connection: Connection) -> list[Table]:
    """The tables as the database defines them, at any revision."""
    found = MetaData()
    found.reflect(connection, only=KEPT)
    return [found.tables[name] for name in KEPT]


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _kind(column: Column[Any]) -> str:
    """The encoding of a column's values in the file; hexadecimal for bytes that are not JSON
    text.
    """
    if isinstance(column.type, LargeBinary):
        return "hex" if column.name == "token_hash" else "utf8"
    return "bool" if isinstance(column.type, Boolean) else "plain"


def _stream(connection: Connection, table: Table) -> Iterator[Row]:
    """Yields a table's encoded rows in primary key order, fetched in batches of `BATCH`."""
    pack = [_PACK[_kind(one)] for one in table.columns]
    query = select(table).order_by(*table.primary_key.columns)
    with connection.execution_options(yield_per=BATCH).execute(query) as found:
        for row in found:
            yield [
                None if value is None else change(value)
                for value, change in zip(row, pack, strict=True)
            ]


_PACK: dict[str, Callable[[Any], Any]] = {
    "hex": bytes.hex, "utf8": bytes.decode, "bool": bool, "plain": lambda value: value
}  # fmt: skip
_UNPACK: dict[str, Callable[[Any], Any]] = {
    "hex": bytes.fromhex, "utf8": str.encode, "bool": bool, "plain": lambda value: value
}  # fmt: skip


def _write(packed: gzip.GzipFile, line: Any) -> None:
    packed.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


# --- restore --------------------------------------------------------------------------------------


def restore(connection: Connection, where: str, file: BinaryIO, report: Told) -> dict[str, int]:
    """Fills an empty store in one transaction, all of the file or nothing; returns the row count of
    each table.

    The schema is created at the backup's revision and then migrated to this program's. Raises
    StoreError with the reason when the restore is refused.
    """
    lines = _lines(file)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("plyroom") != "backup":
        raise BadBackup("this is no backup of Plyroom")
    revision = str(header.get("schema"))
    if header.get("format") != FORMAT or revision > schema.HEAD:
        raise BadBackup(f"this backup was made by a newer Plyroom (its schema is {revision})")
    _make_empty(connection, where, revision)
    tables = {table.name: table for table in _reflected(connection)}
    done = _fill(connection, tables, lines, report)
    schema.migrate(connection, where)
    # Ages start again: a row that was old when the backup was made does not expire on restore.
    for table in (t.identities, t.rooms):
        connection.execute(update(table).values(seen_day=None))
    connection.execute(t.meta.delete().where(t.meta.c.key == "epoch"))
    connection.execute(insert(t.meta).values(key="epoch", value=secrets.token_hex(8)))
    return done


def _make_empty(connection: Connection, where: str, revision: str) -> None:
    """Creates empty tables at that revision; StoreError if the database has rows or a server."""
    found = schema.revision_of(connection)
    if found is not None:
        for table in _reflected(connection):
            if _count(connection, table):
                raise StoreError(
                    f"the database {where} is not empty: a backup is restored into an empty one"
                )
        if connection.dialect.name == "postgresql":  # a SQLite server locks its data folder instead
            now_ms = func.extract("epoch", func.clock_timestamp()) * 1000
            alive = (
                select(func.count()).select_from(t.nodes).where(t.nodes.c.alive_until_ms > now_ms)
            )
            if connection.execute(alive).scalar_one():
                raise StoreError(f"a server uses the database {where}: stop it first")
        schema.downgrade(connection)
    schema.upgrade(connection, revision)


def _fill(
    connection: Connection, tables: dict[str, Table], lines: Iterator[Any], report: Told
) -> dict[str, int]:
    done: dict[str, int] = {}
    names: list[str] = []
    unpack: list[Callable[[Any], Any]] = []
    table: Table | None = None
    while batch := list(islice(lines, BATCH)):
        rows: list[dict[str, Any]] = []
        for line in batch:
            if isinstance(line, list) and table is not None and len(line) == len(names):
                values = (
                    None if v is None else change(v) for v, change in zip(line, unpack, strict=True)
                )
                rows.append(dict(zip(names, values, strict=True)))
                continue
            _insert(connection, table, rows, done)
            rows = []
            match line:
                case {"rows": counts}:
                    if counts != done:
                        raise BadBackup(
                            f"the backup is damaged: {counts} rows were expected and {done} found"
                        )
                    return done
                case {"table": str(name), "columns": dict(columns)} if name in tables:
                    table, names = tables[name], list(columns)
                    unpack = [_UNPACK[kind] for kind in columns.values()]
                    done[name] = 0
                case _:
                    raise BadBackup(
                        f"the backup is damaged: a line of it begins {str(line)[:40]!r}"
                    )
        _insert(connection, table, rows, done)
        report(sum(done.values()), 0)
    raise BadBackup("the backup was cut short: its end is missing")


def _insert(
    connection: Connection, table: Table | None, rows: list[dict[str, Any]], done: dict[str, int]
) -> None:
    if rows:
        assert table is not None, "rows come after their table's line"
        connection.execute(insert(table), rows)
        done[table.name] += len(rows)


def _lines(file: BinaryIO) -> Iterator[Any]:
    try:
        with gzip.GzipFile(fileobj=file) as packed:
            for line in packed:
                yield json.loads(line)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise BadBackup(f"the backup cannot be read: {error}") from error
