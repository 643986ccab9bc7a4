"""The store in a SQLite file: threads with a connection each, one of them for all writes."""

import asyncio
import secrets
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    literal,
    select,
)
from sqlalchemy.exc import DBAPIError

from server.store import tables as t
from server.store.base import StoreUnavailable, wall_clock_ms
from server.store.condition import store_fault
from server.store.folder import make_folder
from server.store.group import Contended, commit_on_sqlite, prepare_commits
from server.store.installation import INSTALLATION, first_installation, store_installation
from server.store.schema import upgrade_sqlite
from server.store.sql import SqlStore, store_to_read
from server.store.writer import Op, Outcome

T = TypeVar("T")

#: The statement that begins a transaction that writes: it takes the write lock at the start, so the
#: transaction never has to upgrade a read lock.
BEGIN_WRITE = "BEGIN IMMEDIATE"
#: The statement that begins a transaction that only reads.
BEGIN_READ = "BEGIN"
#: Number of threads for reads, each with its own connection.
READ_THREADS = 4
#: Time that a SQLite write waits for another process that holds the database, in ms.
BUSY_MS = 2000
#: WAL size at which SQLite checkpoints, in pages (16 MB). In a large WAL, many moves change a page
#: that is then copied to the database file only once.
CHECKPOINT_PAGES = 4000
#: Time after which a disk operation counts as failed, in seconds. The server must answer every
#: command within 10 s.
ANSWER_S = 6.0


@asynccontextmanager
async def open_sqlite(path: Path, busy_ms: int = BUSY_MS) -> AsyncIterator[SqlStore]:
    """Opens the store in a SQLite file, which it creates or migrates if needed.

    A write waits up to `busy_ms` for another process that locks the file. Raises StoreUnavailable
    with the reason if the file cannot be used.
    """
    try:
        make_folder(path.parent)
        await asyncio.to_thread(upgrade_sqlite, path)
    except (OSError, sqlite3.Error, DBAPIError) as error:
        raise StoreUnavailable(f"cannot use the database {path}: {error}") from error
    with (
        _Threads(path, 1, BEGIN_WRITE, busy_ms) as writer,
        _Threads(path, READ_THREADS, BEGIN_READ, busy_ms) as reader,
    ):

        async def commit(ops: list[Op]) -> list[Outcome]:
            try:
                return await writer.run_raw(partial(commit_on_sqlite, ops=ops))
            except sqlite3.IntegrityError as error:
                raise Contended from error
            except sqlite3.Error as error:
                raise store_fault(f"the database failed: {error}", error) from error

        try:
            epoch = await writer.run(_epoch)
        except DBAPIError as error:
            raise StoreUnavailable(f"cannot use the database {path}: {error.orig}") from error
        installation = await _installation(writer, epoch)
        store = SqlStore(commit, writer.run, reader.run, epoch, installation, _local_clock)
        async with store.running():
            yield store


@asynccontextmanager
async def read_sqlite(path: Path, busy_ms: int = BUSY_MS) -> AsyncIterator[SqlStore]:
    """Opens the store in the SQLite file of a running server to read it.

    It creates, migrates and writes nothing; a write raises StoreReadOnly. Raises StoreUnavailable
    with the reason if there is no such file, or none whose schema this program reads.
    """
    with _Threads(path, 1, BEGIN_READ, busy_ms, is_read_only=True) as reader:
        try:
            store = await store_to_read(reader.run, str(path), _local_clock)
        except DBAPIError as error:
            raise StoreUnavailable(f"cannot use the database {path}: {error.orig}") from error
        async with store.running():
            yield store


class _Threads:
    """Worker threads, each with its own connection.

    A whole transaction takes one trip to a thread and back. With a driver that changes threads for
    every statement (aiosqlite), a move in a group of 50 took twice the CPU time.
    """

    def __init__(
        self, path: Path, count: int, begin: str, busy_ms: int, *, is_read_only: bool = False
    ) -> None:
        url = URL.create("sqlite", database=str(path))
        if is_read_only:  # https://sqlite.org/uri.html
            address, query = path.absolute().as_uri(), {"mode": "ro", "uri": "true"}
            url = URL.create("sqlite", database=address, query=query)
        self._engine = create_engine(
            url, pool_size=count, max_overflow=0, connect_args={"check_same_thread": False}
        )
        _prepare_sqlite(self._engine, begin, busy_ms, is_read_only=is_read_only)
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=f"sqlite {begin.lower()}")
        # Not `threading.local`: a forked child drops what belongs to the threads that it does not
        # have, and would roll back their transactions, in files that it shares with its parent.
        self._connections: dict[int, Connection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.shutdown()
        for connection in self._connections.values():
            connection.close()
        self._engine.dispose()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs a function in a transaction; see TransactionRunner."""

        def run_in_transaction() -> T:
            connection = self._connection()
            with connection.begin():
                return work(connection)

        return await self._in_thread(run_in_transaction)

    async def run_raw(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs a function that manages its own transaction on the driver's connection."""

        def on_driver() -> T:
            return work(cast(sqlite3.Connection, self._connection().connection.driver_connection))

        return await self._in_thread(on_driver)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        except RuntimeError as error:
            raise StoreUnavailable("the store is closed") from error
        try:
            async with asyncio.timeout(ANSWER_S):
                return await future
        except TimeoutError as error:
            # A thread cannot be interrupted, so the operation may still be committed.
            raise StoreUnavailable(f"the disk did not answer within {ANSWER_S:g} s") from error

    def _connection(self) -> Connection:
        thread = threading.get_ident()
        if thread not in self._connections:
            self._connections[thread] = self._engine.connect()
        return self._connections[thread]


def _prepare_sqlite(engine: Engine, begin: str, busy_ms: int, *, is_read_only: bool) -> None:
    """Configures transactions that start with `begin`, and WAL with an fsync per commit, which a
    connection `is_read_only` leaves as they are.

    `begin` is BEGIN_WRITE for the connection that commits groups, BEGIN_READ for the others.
    """
    settings = [f"busy_timeout={busy_ms}"]
    if not is_read_only:
        checkpoint = f"wal_autocheckpoint={CHECKPOINT_PAGES}"
        settings += ["journal_mode=WAL", "synchronous=FULL", checkpoint]

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in settings:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
        if begin == BEGIN_WRITE:
            prepare_commits(connection)

    @event.listens_for(engine, "begin")
    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)


def _epoch(connection: Connection) -> str:
    """The store's epoch, created on first use."""
    epoch = connection.execute(select(t.meta.c.value).where(t.meta.c.key == "epoch")).scalar()
    if epoch is None:
        epoch = secrets.token_hex(8)
        connection.execute(insert(t.meta), {"key": "epoch", "value": epoch})
    return str(epoch)


async def _installation(writer: _Threads, epoch: str) -> str:
    """The installation's id, stored on first use if the store takes writes."""

    def find(connection: Connection) -> str | None:
        return connection.execute(
            select(t.meta.c.value).where(t.meta.c.key == INSTALLATION)
        ).scalar()

    try:
        stored = await writer.run(find)
        if stored is None:
            await writer.run(partial(store_installation, installation=first_installation(epoch)))
        return stored or first_installation(epoch)
    except DBAPIError:
        # A full disk or a damaged page. The next start that can write it stores the same id.
        return first_installation(epoch)


def _local_clock() -> ColumnElement[int]:
    """This machine's time, for a store in a local file."""
    return literal(wall_clock_ms(), BigInteger)
