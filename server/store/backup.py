"""Backup of a store to one file, and restore. SQLite and PostgreSQL have the same file format.

The file is JSON lines under gzip. It starts with a header that holds the schema's revision. Each
table follows as a line with its columns and one line per row. The last line holds the row counts,
so that a truncated file is detected. A backup reads one snapshot: all its rooms are as they
were at one time, and each log is complete up to its head.

The file contains no heartbeats, no bus key and no epoch: a restored store gets a new epoch, which
makes clients resync from scratch. The header has the installation's id: a restored store is the
same installation, whose cookies and tokens stay valid.
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
from server.store.installation import (
    INSTALLATION,
    INSTALLATION_ID,
    store_installation,
    stored_installation,
)

#: The version of the file's format.
FORMAT = 1
#: The tables in a backup, in the order in which they are restored.
TABLES = (
    "identities", "rooms", "events", "commands", "matches", "thoughts", "analyses",
    "analysis_plies",
)  # fmt: skip
#: Rows that are read or inserted at a time.
BATCH = 1000
#: The encoded values of a row, in the order of the table's columns.
Row = list[Any]
#: Called with the number of rows processed so far and the total number, 0 if unknown.
ReportProgress = Callable[[int, int], None]


class BadBackup(StoreError):
    """The file is not a complete backup, or this program cannot read it."""


# --- backup ---------------------------------------------------------------------------------------


def backup(
    connection: Connection, where: str, file: BinaryIO, report_progress: ReportProgress
) -> dict[str, int]:
    """Writes all tables to `file`; returns the row count of each table.

    `connection` is in a transaction that sees one snapshot; `where` names the database in messages.
    """
    revision = schema.revision_of(connection)
    # A database with an older schema is backed up as it is, for example before its migration.
    if revision is None or revision > schema.HEAD:
        schema.check_revision(
            revision, schema.needed_program(connection) if revision else None, where
        )
    tables = _reflect_tables(connection)
    total = sum(_count(connection, table) for table in tables)
    row_counts: dict[str, int] = {}
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0) as gzip_file:
        _write_line(
            gzip_file,
            {
                "plyroom": "backup", "format": FORMAT, "schema": revision, "at_ms": wall_clock_ms(),
                INSTALLATION: stored_installation(connection),
            },
        )  # fmt: skip
        for table in tables:
            _write_line(
                gzip_file,
                {
                    "table": table.name,
                    "columns": {column.name: _encoding(column) for column in table.columns},
                },
            )
            row_counts[table.name] = 0
            for row in _encoded_rows(connection, table):
                _write_line(gzip_file, row)
                row_counts[table.name] += 1
                if row_counts[table.name] % BATCH == 0:
                    report_progress(sum(row_counts.values()), total)
        _write_line(gzip_file, {"rows": row_counts})
    report_progress(total, total)
    return row_counts


def _reflect_tables(connection: Connection) -> list[Table]:
    """The tables as the database defines them, at any revision; older ones lack some tables."""
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: name in TABLES)
    return [metadata.tables[name] for name in TABLES if name in metadata.tables]


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _encoding(column: Column[Any]) -> str:
    """The name of the encoding of a column's values; hexadecimal for bytes that are not JSON."""
    if isinstance(column.type, LargeBinary):
        return "hex" if column.name == "token_hash" else "utf8"
    return "bool" if isinstance(column.type, Boolean) else "plain"


def _encoded_rows(connection: Connection, table: Table) -> Iterator[Row]:
    """Yields a table's encoded rows in primary key order, fetched in batches of `BATCH`."""
    encoders = [_ENCODERS[_encoding(column)] for column in table.columns]
    query = select(table).order_by(*table.primary_key.columns)
    with connection.execution_options(yield_per=BATCH).execute(query) as rows:
        for row in rows:
            yield [
                None if value is None else convert(value)
                for value, convert in zip(row, encoders, strict=True)
            ]


#: The function that encodes a value for the file, by encoding.
_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "hex": bytes.hex, "utf8": bytes.decode, "bool": bool, "plain": lambda value: value
}  # fmt: skip
#: The function that decodes a value from the file, by encoding.
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "hex": bytes.fromhex, "utf8": str.encode, "bool": bool, "plain": lambda value: value
}  # fmt: skip


def _write_line(gzip_file: gzip.GzipFile, line: Any) -> None:
    gzip_file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


# --- restore --------------------------------------------------------------------------------------


def restore(
    connection: Connection, where: str, file: BinaryIO, report_progress: ReportProgress
) -> dict[str, int]:
    """Fills an empty store in one transaction; returns the row count of each table.

    The schema is created at the backup's revision and then migrated to this program's. Raises
    StoreError with the reason when the restore is refused.
    """
    lines = _read_lines(file)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("plyroom") != "backup":
        raise BadBackup("the file is not a backup of Plyroom")
    revision = str(header.get("schema"))
    if header.get("format") != FORMAT or revision > schema.HEAD:
        raise BadBackup(f"this backup was made by a newer Plyroom (its schema is {revision})")
    installation = header.get(INSTALLATION)  # backups of earlier versions have none
    if installation is not None and not INSTALLATION_ID.fullmatch(str(installation)):
        raise BadBackup(f"the backup is damaged: its installation is {str(installation)[:40]!r}")
    _create_empty_tables(connection, where, revision)
    tables = {table.name: table for table in _reflect_tables(connection)}
    row_counts = _fill_tables(connection, tables, lines, report_progress)
    schema.migrate(connection, where)
    # The time until expiry starts again, so that rows do not expire because the backup is old.
    for table in (t.identities, t.rooms):
        connection.execute(update(table).values(seen_day=None))
    connection.execute(t.meta.delete().where(t.meta.c.key == "epoch"))
    connection.execute(insert(t.meta).values(key="epoch", value=secrets.token_hex(8)))
    if installation is not None:
        store_installation(connection, installation)
    return row_counts


def _create_empty_tables(connection: Connection, where: str, revision: str) -> None:
    """Creates empty tables at that revision.

    Raises StoreError if the database has rows or a running server.
    """
    if schema.revision_of(connection) is not None:
        for table in _reflect_tables(connection):
            if _count(connection, table):
                raise StoreError(
                    f"the database {where} is not empty: a backup is restored into an empty one"
                )
        if connection.dialect.name == "postgresql":  # a SQLite server locks its data folder instead
            now_ms = func.extract("epoch", func.clock_timestamp()) * 1000
            live_nodes = (
                select(func.count()).select_from(t.nodes).where(t.nodes.c.alive_until_ms > now_ms)
            )
            if connection.execute(live_nodes).scalar_one():
                raise StoreError(f"a server uses the database {where}: stop it first")
        schema.downgrade(connection)
    schema.upgrade(connection, revision)


def _fill_tables(
    connection: Connection,
    tables: dict[str, Table],
    lines: Iterator[Any],
    report_progress: ReportProgress,
) -> dict[str, int]:
    row_counts: dict[str, int] = {}
    names: list[str] = []
    decoders: list[Callable[[Any], Any]] = []
    table: Table | None = None
    while batch := list(islice(lines, BATCH)):
        rows: list[dict[str, Any]] = []
        for line in batch:
            if isinstance(line, list) and table is not None and len(line) == len(names):
                values = (
                    None if v is None else convert(v)
                    for v, convert in zip(line, decoders, strict=True)
                )
                rows.append(dict(zip(names, values, strict=True)))
                continue
            _insert(connection, table, rows, row_counts)
            rows = []
            match line:
                case {"rows": counts}:
                    if counts != row_counts:
                        raise BadBackup(
                            f"the backup is damaged: {counts} rows were expected"
                            f" and {row_counts} found"
                        )
                    return row_counts
                case {"table": str(name), "columns": dict(columns)} if name in tables:
                    table, names = tables[name], list(columns)
                    decoders = [_DECODERS[kind] for kind in columns.values()]
                    row_counts[name] = 0
                case _:
                    raise BadBackup(
                        f"the backup is damaged: a line of it begins {str(line)[:40]!r}"
                    )
        _insert(connection, table, rows, row_counts)
        report_progress(sum(row_counts.values()), 0)
    raise BadBackup("the backup was cut short: its end is missing")


def _insert(
    connection: Connection,
    table: Table | None,
    rows: list[dict[str, Any]],
    row_counts: dict[str, int],
) -> None:
    if rows:
        assert table is not None, "rows come after their table's line"
        connection.execute(insert(table), rows)
        row_counts[table.name] += len(rows)


def _read_lines(file: BinaryIO) -> Iterator[Any]:
    try:
        with gzip.GzipFile(fileobj=file) as gzip_file:
            for line in gzip_file:
                yield json.loads(line)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise BadBackup(f"the backup cannot be read: {error}") from error
