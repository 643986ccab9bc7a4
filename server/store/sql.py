"""The store on a SQL database: the code common to SQLite and PostgreSQL, and the SQLite driver."""

import asyncio
import contextlib
import secrets
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, cast

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    and_,
    bindparam,
    create_engine,
    delete,
    event,
    insert,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import DBAPIError

from server.store import expiry
from server.store import tables as t
from server.store.base import (
    DUE_PAGE,
    MAX_HEARTBEAT_MS,
    Append,
    CommandKey,
    Conflict,
    DaySpan,
    DueRoom,
    Duplicate,
    Identity,
    NewRoom,
    Page,
    RoomHead,
    StoredEvent,
    StoredMatch,
    StoredRoom,
    StoreUnavailable,
    Thought,
    day_of,
    wall_clock_ms,
)
from server.store.folder import make_folder
from server.store.group import Contended, commit_on_sqlite
from server.store.schema import upgrade_sqlite
from server.store.writer import Commit, GroupWriter, Op, Outcome, room_of

T = TypeVar("T")


class TransactionRunner(Protocol):
    """Runs a function in one transaction, outside the event loop's thread.

    An exception of the function rolls the transaction back and propagates.
    """

    async def __call__(self, work: Callable[[Connection], T]) -> T: ...


#: SQLite connections for reads, each with its own thread.
READERS = 4
#: Time that a SQLite write waits for another process that holds the database, in ms.
BUSY_MS = 2000
#: WAL size at which SQLite checkpoints, in pages (16 MB). In a large WAL, many moves change a page
#: that is then copied to the database file only once.
CHECKPOINT_PAGES = 4000
#: Maximum number of room ids in one query for heads. Drivers accept at most 32,766 parameters, and
#: other requests are served between two queries.
HEADS_PER_QUERY = 5000
#: Time after which a disk operation counts as failed, in seconds. The server must answer every
#: command within 10 s.
ANSWER_S = 6.0

#: Time after which the row of a dead node is deleted, in ms.
DEAD_NODE_MS = 24 * 3_600_000

#: The query for a page of a room's log.
SELECT_EVENTS = (
    select(t.events.c.v, t.events.c.at_ms, t.events.c.audience, t.events.c.body)
    .where(t.events.c.room == bindparam("room"), t.events.c.v > bindparam("after_v"))
    .order_by(t.events.c.v)
    .limit(bindparam("limit"))
)
#: The columns of a StoredMatch, in its order.
MATCH_COLUMNS = [
    t.matches.c[name]
    for name in (
        "id", "room", "game", "number", "options", "seats", "start", "rules",
        "first_v", "started_ms", "last_v", "finished_ms", "plies", "over",
    )
]  # fmt: skip


@asynccontextmanager
async def open_sqlite(path: Path, busy_ms: int = BUSY_MS) -> AsyncIterator["SqlStore"]:
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
        _Threads(path, 1, "BEGIN IMMEDIATE", busy_ms) as writer,
        _Threads(path, READERS, "BEGIN", busy_ms) as reader,
    ):

        async def commit(ops: list[Op]) -> list[Outcome]:
            try:
                return await writer.run_raw(partial(commit_on_sqlite, ops=ops))
            except sqlite3.IntegrityError as error:
                raise Contended from error
            except sqlite3.Error as error:
                raise StoreUnavailable(f"the database failed: {error}") from error

        try:
            epoch = await writer.run(_epoch)
        except DBAPIError as error:
            raise StoreUnavailable(f"cannot use the database {path}: {error.orig}") from error
        store = SqlStore(commit, writer.run, reader.run, epoch, _local_clock)
        task = asyncio.create_task(store.writer.run(), name="store writer")
        try:
            yield store
        finally:
            task.cancel()
            await asyncio.wait([task])


class _Threads:
    """Worker threads, each with its own connection.

    A whole transaction takes one trip to a thread and back. With a driver that changes threads for
    every statement (aiosqlite), a move in a group of 50 took twice the CPU time.
    """

    def __init__(self, path: Path, count: int, begin: str, busy_ms: int) -> None:
        url = URL.create("sqlite", database=str(path))
        self._engine = create_engine(
            url, pool_size=count, max_overflow=0, connect_args={"check_same_thread": False}
        )
        _prepare_sqlite(self._engine, begin, busy_ms)
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=f"sqlite {begin.lower()}")
        self._thread_local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._executor.shutdown()
        self._engine.dispose()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs a function in a transaction; see TransactionRunner."""

        def in_transaction() -> T:
            connection = self._connection()
            with connection.begin():
                return work(connection)

        return await self._in_thread(in_transaction)

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
        if not hasattr(self._thread_local, "connection"):
            self._thread_local.connection = self._engine.connect()
        return cast(Connection, self._thread_local.connection)


def _prepare_sqlite(engine: Engine, begin: str, busy_ms: int) -> None:
    """Configures WAL, an fsync per commit, and transactions that start with `begin`.

    With BEGIN IMMEDIATE a transaction takes its write lock at the start, so it never has to upgrade
    a read lock.
    """

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        checkpoint = f"wal_autocheckpoint={CHECKPOINT_PAGES}"
        for pragma in (
            f"busy_timeout={busy_ms}",
            "journal_mode=WAL",
            "synchronous=FULL",
            checkpoint,
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

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


def _local_clock() -> ColumnElement[int]:
    """This machine's time, for a store in a local file."""
    return literal(wall_clock_ms(), BigInteger)


class SqlStore:
    """Implements `server.store.base.Store` on SQLite and PostgreSQL.

    `commit` writes groups of log operations, `write` runs other writes, and `read` runs queries.
    `clock` returns the store's time in ms since 1970, as an SQL expression.
    """

    def __init__(
        self,
        commit: Commit,
        write: TransactionRunner,
        read: TransactionRunner,
        epoch: str,
        clock: Callable[[], ColumnElement[int]],
    ) -> None:
        self._commit_group = commit
        self._write = write
        self._read = read
        self._epoch = epoch
        self._clock = clock
        self._is_takeover_unanswered = False
        self.writer = GroupWriter(self._commit)

    @property
    def epoch(self) -> str:
        return self._epoch

    # --- the log ---

    async def create_room(self, new: NewRoom) -> str | None:
        return await self.writer.write(new)

    async def created_room(self, host: str, create_id: str) -> str | None:
        c = t.rooms.c
        rows = await self._select(select(c.id).where(c.host == host, c.create_id == create_id))
        return str(rows[0][0]) if rows else None

    async def append(self, append: Append) -> None:
        await self.writer.write(append)

    async def _commit(self, ops: list[Op]) -> list[Outcome]:
        """Commits a group; returns each operation's outcome.

        If the group is contended, because of a repeated command key or a moved head, commits each
        operation alone.
        """
        try:
            return await self._commit_group(ops)
        except Contended:
            return [await self._commit_alone(op) for op in ops]
        except StoreUnavailable as error:
            return [error] * len(ops)

    async def _commit_alone(self, op: Op) -> Outcome:
        try:
            if isinstance(op, Append) and op.command is not None:
                versions = await self.find_command(op.room, op.command)
                if versions is not None:
                    return Duplicate(*versions)
            return (await self._commit_group([op]))[0]
        except Contended:
            return Conflict(f"room {room_of(op)} is not at the expected v")
        except StoreUnavailable as error:
            return error

    async def head(self, room: str) -> RoomHead | None:
        c = t.rooms.c
        rows = await self._select(select(c.head, c.node, c.due_ms, c.seen_day).where(c.id == room))
        return RoomHead(*rows[0]) if rows else None

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        heads: dict[str, int] = {}
        for start in range(0, len(rooms), HEADS_PER_QUERY):
            chunk = rooms[start : start + HEADS_PER_QUERY]
            rows = await self._select(
                select(t.rooms.c.id, t.rooms.c.head).where(t.rooms.c.id.in_(chunk))
            )
            heads.update((row[0], row[1]) for row in rows)
        return heads

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        rows = await self._select(SELECT_EVENTS, {"room": room, "after_v": after_v, "limit": limit})
        return [StoredEvent(*row) for row in rows]

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        c = t.commands.c
        rows = await self._select(
            select(c.first_v, c.last_v).where(
                c.room == room, c.identity == key.identity, c.id == key.id
            )
        )
        return (rows[0][0], rows[0][1]) if rows else None

    # --- nodes and wake-ups ---

    async def due_rooms(
        self, now_ms: int, node: str, all_nodes: bool, limit: int = 500
    ) -> list[str]:
        c = t.rooms.c
        can_take_over: ColumnElement[bool] = c.node != node
        if not all_nodes:
            can_take_over = and_(can_take_over, c.node.not_in(self._alive()))
        if self._is_takeover_unanswered:
            # The answer to a takeover was lost. Its rooms are now this node's, so no other node
            # takes them over.
            can_take_over = or_(can_take_over, c.node == node)
        e = t.events.c
        last_ms = select(e.at_ms).where(e.room == c.id, e.v == c.head).scalar_subquery()
        is_due = and_(c.due_ms.is_not(None), or_(c.due_ms <= now_ms, c.due_ms <= last_ms))
        # PostgreSQL skips rooms that another transaction has locked: a node takes them over or
        # appends to them. SQLite has a single writer.
        due = (
            select(c.id).where(is_due, can_take_over).limit(limit)
            .with_for_update(of=t.rooms, skip_locked=True).cte("due")
        )  # fmt: skip
        taken = update(t.rooms).where(c.id.in_(select(due.c.id))).values(node=node).returning(c.id)
        try:
            rooms = [row[0] for row in await self._execute(taken)]
        except StoreUnavailable:
            self._is_takeover_unanswered = True
            raise
        self._is_takeover_unanswered = False
        return rooms

    async def own_due_rooms(
        self, node: str, before_ms: int, after: DueRoom | None = None, limit: int = DUE_PAGE
    ) -> list[DueRoom]:
        c = t.rooms.c
        is_due = and_(c.node == node, c.due_ms <= before_ms)
        if after is not None:
            is_due = and_(is_due, tuple_(c.due_ms, c.id) > tuple_(after.due_ms, after.room))
        due = select(c.due_ms, c.id).where(is_due).order_by(c.due_ms, c.id).limit(limit)
        return [DueRoom(*row) for row in await self._select(due)]

    async def heartbeat(self, node: str, alive_for_ms: int) -> int:
        alive_until_ms = t.nodes.c.alive_until_ms
        alive_for_ms = min(alive_for_ms, MAX_HEARTBEAT_MS)
        expires_at_ms = self._clock() + alive_for_ms
        refresh = (
            update(t.nodes)
            .where(t.nodes.c.id == node)
            .values(alive_until_ms=expires_at_ms)
            .returning(alive_until_ms)
        )
        rows = await self._execute(refresh)
        if not rows:
            rows = await self._execute(
                insert(t.nodes)
                .values(id=node, alive_until_ms=expires_at_ms)
                .returning(alive_until_ms)
            )
            # A node has a new id after each start. The rows of long dead nodes are useless.
            await self._execute(
                delete(t.nodes)
                .where(alive_until_ms < self._clock() - DEAD_NODE_MS)
                .returning(alive_until_ms)
            )
        return int(rows[0][0]) - alive_for_ms

    async def alive_nodes(self) -> frozenset[str]:
        return frozenset(row[0] for row in await self._select(self._alive()))

    def _alive(self) -> Any:
        clock, alive_until_ms = self._clock(), t.nodes.c.alive_until_ms
        return select(t.nodes.c.id).where(
            alive_until_ms >= clock, alive_until_ms <= clock + MAX_HEARTBEAT_MS
        )

    # --- identities ---

    async def add_identity(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        row = {
            "id": identity.id, "name": identity.name, "token_hash": token_hash,
            "created_ms": created_ms, "seen_day": day_of(created_ms), "sat": False,
        }  # fmt: skip
        await self._execute(insert(t.identities).values(row).returning(t.identities.c.id))

    async def identity_by_token(self, token_hash: bytes) -> Identity | None:
        c = t.identities.c
        rows = await self._select(
            select(c.id, c.name, c.seen_day).where(c.token_hash == token_hash)
        )
        return Identity(*rows[0]) if rows else None

    async def rename_identity(self, identity: str, name: str) -> None:
        c = t.identities.c
        await self._execute(
            update(t.identities).where(c.id == identity).values(name=name).returning(c.id)
        )

    async def mark_identities_seen(self, identities: Sequence[str], day: int) -> frozenset[str]:
        return frozenset(
            await self._run_write(
                lambda connection: expiry.mark_seen(connection, t.identities, identities, day)
            )
        )

    async def mark_permanent(self, identity: str) -> None:
        c = t.identities.c
        await self._execute(
            update(t.identities)
            .where(c.id == identity, c.sat.is_(False))
            .values(sat=True)
            .returning(c.id)
        )

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> Page:
        rows = await self._select(expiry.identity_page_query(after, limit))
        expired, never_seen = expiry.split_rows(rows, span)
        if never_seen:
            await self._execute(
                expiry.fill_seen_day_statement(t.identities, never_seen, span.today)
            )
        ids = [row.id for row in expired]
        deleted = (
            await self._run_write(
                lambda connection: expiry.delete_identities(connection, ids, span.before_day)
            )
            if ids
            else []
        )
        return expiry.pass_result(rows, limit, deleted)

    # --- room expiry ---

    async def mark_rooms_seen(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        return frozenset(
            await self._run_write(
                lambda connection: expiry.mark_seen(connection, t.rooms, rooms, day)
            )
        )

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> Page:
        rows = await self._select(expiry.room_page_query(after, limit))
        expired, never_seen = expiry.split_rows(rows, span)
        if never_seen:
            await self._execute(expiry.fill_seen_day_statement(t.rooms, never_seen, span.today))
        heads = {row.id: row.head for row in expired}
        deleted = (
            await self._run_write(
                lambda connection: expiry.delete_rooms(connection, heads, span.before_day)
            )
            if heads
            else []
        )
        return expiry.pass_result(rows, limit, deleted)

    # --- lists ---

    async def rooms(self, limit: int) -> list[StoredRoom]:
        c = t.rooms.c
        rows = await self._select(
            select(c.id, c.summary, c.changed_ms)
            .where(c.listed.is_(True))
            .order_by(c.changed_ms.desc())
            .limit(limit)
        )
        return [StoredRoom(*row) for row in rows]

    async def matches(self, limit: int, before: tuple[int, str] | None) -> list[StoredMatch]:
        c = t.matches.c
        query = select(*MATCH_COLUMNS).where(c.public.is_(True), c.finished_ms.is_not(None))
        if before is not None:
            at_ms, match = before
            query = query.where(
                or_(c.finished_ms < at_ms, and_(c.finished_ms == at_ms, c.id < match))
            )
        rows = await self._select(query.order_by(c.finished_ms.desc(), c.id.desc()).limit(limit))
        return [StoredMatch(*row) for row in rows]

    async def match(self, match: str) -> StoredMatch | None:
        rows = await self._select(select(*MATCH_COLUMNS).where(t.matches.c.id == match))
        return StoredMatch(*rows[0]) if rows else None

    async def thoughts(self, match: str) -> list[Thought]:
        c = t.thoughts.c
        rows = await self._select(
            select(c.match, c.v, c.ply, c.body).where(c.match == match).order_by(c.ply)
        )
        return [Thought(*row) for row in rows]

    async def bus_key(self) -> bytes:
        c = t.meta.c
        query = select(c.value).where(c.key == "bus key")
        rows = await self._select(query)
        if not rows:
            insert_key = insert(t.meta).values(key="bus key", value=secrets.token_hex(32))
            # If another node inserted the key first, the next query finds it. If the store failed,
            # the next query reports that.
            with contextlib.suppress(StoreUnavailable):
                await self._execute(insert_key.returning(c.value))
            rows = await self._select(query)
        if not rows:
            raise StoreUnavailable("the bus key could not be stored")
        return bytes.fromhex(rows[0][0])

    async def check(self) -> None:
        rows = await self._select(select(t.meta.c.value).where(t.meta.c.key == "epoch"))
        if not rows or rows[0][0] != self._epoch:
            raise StoreUnavailable(
                "the database is not the same as at the start: restart this server"
            )

    # --- shared ---

    async def _select(self, statement: Any, values: dict[str, Any] | None = None) -> list[Any]:
        try:
            return await self._read(
                lambda connection: list(connection.execute(statement, values or {}).all())
            )
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error

    async def _execute(self, statement: Any) -> list[Any]:
        """Runs one write statement in its own transaction; returns its rows."""
        return await self._run_write(lambda connection: list(connection.execute(statement).all()))

    async def _run_write(self, work: Callable[[Connection], list[Any]]) -> list[Any]:
        """Runs a function with write statements, each in its own transaction on PostgreSQL."""
        try:
            return await self._write(work)
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error
