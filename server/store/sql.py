"""The store on a SQL database: SQLite today; the statements that differ between databases stand together at the top."""

import asyncio
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, assert_never

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    and_,
    bindparam,
    create_engine,
    event,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError

from server.store import tables as t
from server.store.base import (
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    Identity,
    Listing,
    MatchFinished,
    MatchStarted,
    NewRoom,
    Projection,
    RoomHead,
    StoredEvent,
    StoredMatch,
    StoredRoom,
    StoreUnavailable,
    Thought,
)
from server.store.schema import upgrade_sqlite
from server.store.writer import GroupWriter, Op, Outcome, room_of

T = TypeVar("T")


class Run(Protocol):
    """Runs a function on a connection inside one transaction, off the event loop;
    what it raises rolls back and comes out.
    """

    async def __call__(self, work: Callable[[Connection], T]) -> T: ...


class _Contended(Exception):
    """A room's head was not where its writer thought; the group is rolled back."""


READERS = 4
BUSY_MS = 2000
"""How long a write waits for another process that holds the database."""


@dataclass(frozen=True, slots=True)
class GroupStatements:
    """The three statements of a group commit; each takes all its rows as one JSON text.

    One statement and not one a row: sqlite3 gives the interpreter lock away at every row, and getting it back beside a busy event loop
    takes a switch interval each time (50 pairs at play waited 18 ms a move for that, so 3 ms).
    """

    move_heads: str
    """Rows [room, expected head, head, due_ms, node, changed_ms]; moves those heads that are where their writer thought."""
    insert_events: str
    """Rows [room, v, at_ms, audience, body]."""
    insert_commands: str
    """Rows [room, identity, id, first_v, last_v]."""


SQLITE = GroupStatements(
    move_heads="""
        UPDATE rooms SET head = u.head, due_ms = u.due_ms, node = u.node, changed_ms = u.changed_ms
        FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS expected,
                     json_extract(value, '$[2]') AS head, json_extract(value, '$[3]') AS due_ms,
                     json_extract(value, '$[4]') AS node, json_extract(value, '$[5]') AS changed_ms
              FROM json_each(?)) AS u
        WHERE rooms.id = u.id AND rooms.head = u.expected""",
    insert_events="""
        INSERT INTO events (room, v, at_ms, audience, body)
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
               json_extract(value, '$[3]'), CAST(json_extract(value, '$[4]') AS BLOB)
        FROM json_each(?)""",
    insert_commands="""
        INSERT INTO commands (room, identity, id, first_v, last_v)
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
               json_extract(value, '$[3]'), json_extract(value, '$[4]')
        FROM json_each(?)""",
)

INSERT_MATCHES = insert(t.matches)
INSERT_THOUGHTS = insert(t.thoughts)
FINISH_MATCH = (
    update(t.matches)
    .where(t.matches.c.id == bindparam("match"))
    .values(last_v=bindparam("at_v"), finished_ms=bindparam("ended_ms"), plies=bindparam("n"), over=bindparam("how"))
)
LIST_ROOM = (
    update(t.rooms).where(t.rooms.c.id == bindparam("room")).values(listed=bindparam("on"), summary=bindparam("text"))
)
SELECT_EVENTS = (
    select(t.events.c.v, t.events.c.at_ms, t.events.c.audience, t.events.c.body)
    .where(t.events.c.room == bindparam("room"), t.events.c.v > bindparam("after_v"))
    .order_by(t.events.c.v)
    .limit(bindparam("limit"))
)
MATCH_COLUMNS = [
    t.matches.c[name]
    for name in (
        "id", "room", "game", "number", "options", "seats", "start", "rules",
        "first_v", "started_ms", "last_v", "finished_ms", "plies", "over",
    )
]  # fmt: skip


@asynccontextmanager
async def open_sqlite(path: Path) -> AsyncIterator["SqlStore"]:
    """The store in a SQLite file, made and migrated when needed; StoreUnavailable when the file cannot be used."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(upgrade_sqlite, path)
    except (OSError, DBAPIError) as error:
        raise StoreUnavailable(f"cannot use the database {path}: {error}") from error
    with _threads(path, 1, "BEGIN IMMEDIATE") as write, _threads(path, READERS, "BEGIN") as read:
        store = SqlStore(SQLITE, write, read, await write(_epoch))
        task = asyncio.create_task(store.writer.run(), name="store writer")
        try:
            yield store
        finally:
            task.cancel()
            await asyncio.wait([task])


@contextmanager
def _threads(path: Path, count: int, begin: str) -> Iterator[Run]:
    """Threads with a connection each, which run functions in a transaction.

    One hop to a thread and back for a whole transaction: with a driver that hops for every statement (aiosqlite), a
    group of 50 moves cost 88 us of CPU a move; so it costs 46.
    """
    engine = create_engine(
        f"sqlite:///{path}", pool_size=count, max_overflow=0, connect_args={"check_same_thread": False}
    )
    _prepare_sqlite(engine, begin)
    executor = ThreadPoolExecutor(count, thread_name_prefix=f"sqlite {begin.lower()}")

    held = threading.local()

    def in_transaction(work: Callable[[Connection], T]) -> T:
        if not hasattr(held, "connection"):
            held.connection = engine.connect()
        with held.connection.begin():
            return work(held.connection)

    async def run(work: Callable[[Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, in_transaction, work)

    try:
        yield run
    finally:
        executor.shutdown()
        engine.dispose()


def _prepare_sqlite(engine: Engine, begin: str) -> None:
    """WAL, an fsync for each commit, and transactions that take their lock at the start (never read, then write)."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={BUSY_MS}"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def on_begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)


def _epoch(connection: Connection) -> str:
    """The store's epoch, made at its first start."""
    found = connection.execute(select(t.meta.c.value).where(t.meta.c.key == "epoch")).scalar()
    if found is None:
        found = secrets.token_hex(8)
        connection.execute(insert(t.meta), {"key": "epoch", "value": found})
    return str(found)


class SqlStore:
    """See `server.store.base.Store`. All writes go one after the other through `write`; reads run beside them."""

    def __init__(self, statements: GroupStatements, write: Run, read: Run, epoch: str) -> None:
        self._write = write
        self._read = read
        self._epoch = epoch
        self._statements = statements
        self.writer = GroupWriter(self._commit)

    @property
    def epoch(self) -> str:
        return self._epoch

    # --- the log ---

    async def create_room(self, new: NewRoom) -> str | None:
        return await self.writer.write(new)

    async def append(self, append: Append) -> None:
        await self.writer.write(append)

    async def _commit(self, ops: list[Op]) -> list[Outcome]:
        """Commits a group; when one of it must fail (a second command key, a head that moved), each alone, so that only that one does."""
        try:
            return await self._write(partial(self._group, ops))
        except (IntegrityError, _Contended):
            return [await self._alone(op) for op in ops]
        except DBAPIError as error:
            return [StoreUnavailable(f"the database failed: {error.orig}")] * len(ops)

    async def _alone(self, op: Op) -> Outcome:
        try:
            if isinstance(op, Append) and op.command is not None:
                made = await self.find_command(op.room, op.command)
                if made is not None:
                    return Duplicate(*made)
            return (await self._write(partial(self._group, [op])))[0]
        except _Contended:
            return Conflict(f"room {room_of(op)} is not where its writer thought")
        except IntegrityError as error:
            return Conflict(f"the store refused it: {error.orig}")
        except (DBAPIError, StoreUnavailable) as error:
            return StoreUnavailable(f"the database failed: {error}")

    def _group(self, ops: list[Op], connection: Connection) -> list[Outcome]:
        outcomes: list[Outcome] = [None] * len(ops)
        done = [op for op in ops if isinstance(op, Append)]
        self._move_heads(done, connection)
        for index, op in enumerate(ops):
            if isinstance(op, NewRoom):
                outcomes[index] = _insert_room(op, connection)
                if outcomes[index] is None:
                    done.append(op.append)
        self._insert_events(done, connection)
        for append in done:
            for projection in append.projections:
                _project(append.room, projection, connection)
        return outcomes

    def _move_heads(self, appends: list[Append], connection: Connection) -> None:
        """Moves the heads of all rooms; _Contended if one was not where its writer thought."""
        if not appends:
            return
        rows = [
            (a.room, a.expected_v, a.expected_v + len(a.events), a.due_ms, a.node, a.events[-1].at_ms)
            for a in sorted(appends, key=lambda a: a.room)
        ]
        if _run(connection, self._statements.move_heads, rows) != len(rows):
            raise _Contended

    def _insert_events(self, appends: list[Append], connection: Connection) -> None:
        """The events and command keys of many rooms."""
        events = [(a.room, e.v, e.at_ms, e.audience, e.body.decode()) for a in appends for e in a.events]
        if events:
            _run(connection, self._statements.insert_events, events)
        keys = [
            (a.room, a.command.identity, a.command.id, a.expected_v + 1, a.expected_v + len(a.events))
            for a in appends
            if a.command is not None
        ]
        if keys:
            _run(connection, self._statements.insert_commands, keys)

    async def head(self, room: str) -> RoomHead | None:
        found = await self._select(select(t.rooms.c.head, t.rooms.c.node, t.rooms.c.due_ms).where(t.rooms.c.id == room))
        return RoomHead(*found[0]) if found else None

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        found = await self._select(select(t.rooms.c.id, t.rooms.c.head).where(t.rooms.c.id.in_(rooms)))
        return {row[0]: row[1] for row in found}

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        found = await self._select(SELECT_EVENTS, {"room": room, "after_v": after_v, "limit": limit})
        return [StoredEvent(*row) for row in found]

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        c = t.commands.c
        found = await self._select(
            select(c.first_v, c.last_v).where(c.room == room, c.identity == key.identity, c.id == key.id)
        )
        return (found[0][0], found[0][1]) if found else None

    # --- nodes and wake-ups ---

    async def due_rooms(self, now_ms: int, node: str, all_nodes: bool, limit: int = 500) -> list[str]:
        alive = select(t.nodes.c.id).where(t.nodes.c.alive_until_ms >= now_ms)
        abandoned: ColumnElement[bool] = t.rooms.c.node != node
        if not all_nodes:
            abandoned = and_(abandoned, t.rooms.c.node.not_in(alive))
        due = select(t.rooms.c.id).where(t.rooms.c.due_ms <= now_ms, abandoned).limit(limit)
        taken = update(t.rooms).where(t.rooms.c.id.in_(due), abandoned).values(node=node).returning(t.rooms.c.id)
        return [row[0] for row in await self._change(taken)]

    async def heartbeat(self, node: str, alive_until_ms: int) -> None:
        values = {"id": node, "alive_until_ms": alive_until_ms}
        known = (
            update(t.nodes).where(t.nodes.c.id == node).values(alive_until_ms=alive_until_ms).returning(t.nodes.c.id)
        )
        if not await self._change(known):
            await self._change(insert(t.nodes).values(values).returning(t.nodes.c.id))

    # --- identities ---

    async def add_identity(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        row = {"id": identity.id, "name": identity.name, "token_hash": token_hash, "created_ms": created_ms}
        await self._change(insert(t.identities).values(row).returning(t.identities.c.id))

    async def identity_by_token(self, token_hash: bytes) -> Identity | None:
        c = t.identities.c
        found = await self._select(select(c.id, c.name).where(c.token_hash == token_hash))
        return Identity(*found[0]) if found else None

    async def rename_identity(self, identity: str, name: str) -> None:
        c = t.identities.c
        await self._change(update(t.identities).where(c.id == identity).values(name=name).returning(c.id))

    # --- lists ---

    async def rooms(self, limit: int) -> list[StoredRoom]:
        c = t.rooms.c
        found = await self._select(
            select(c.id, c.summary, c.changed_ms).where(c.listed.is_(True)).order_by(c.changed_ms.desc()).limit(limit)
        )
        return [StoredRoom(*row) for row in found]

    async def matches(self, limit: int, before: tuple[int, str] | None) -> list[StoredMatch]:
        c = t.matches.c
        query = select(*MATCH_COLUMNS).where(c.public.is_(True), c.finished_ms.is_not(None))
        if before is not None:
            at_ms, match = before
            query = query.where(or_(c.finished_ms < at_ms, and_(c.finished_ms == at_ms, c.id < match)))
        found = await self._select(query.order_by(c.finished_ms.desc(), c.id.desc()).limit(limit))
        return [StoredMatch(*row) for row in found]

    async def match(self, match: str) -> StoredMatch | None:
        found = await self._select(select(*MATCH_COLUMNS).where(t.matches.c.id == match))
        return StoredMatch(*found[0]) if found else None

    async def thoughts(self, match: str) -> list[Thought]:
        c = t.thoughts.c
        found = await self._select(select(c.match, c.v, c.ply, c.body).where(c.match == match).order_by(c.ply))
        return [Thought(*row) for row in found]

    async def check(self) -> None:
        await self._select(select(t.meta.c.value).where(t.meta.c.key == "epoch"))

    # --- shared ---

    async def _select(self, statement: Any, values: dict[str, Any] | None = None) -> list[Any]:
        try:
            return await self._read(lambda connection: list(connection.execute(statement, values or {}).all()))
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error

    async def _change(self, statement: Any) -> list[Any]:
        """One small write of its own, between the log's groups."""
        try:
            return await self._write(lambda connection: list(connection.execute(statement).all()))
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error


def _insert_room(new: NewRoom, connection: Connection) -> str | None:
    """Makes the room's row; returns the room that the same (host, create_id) made before, if any."""
    made = select(t.rooms.c.id).where(t.rooms.c.host == new.host, t.rooms.c.create_id == new.create_id)
    earlier = connection.execute(made).scalar()
    if earlier is not None:
        return str(earlier)
    append = new.append
    row = {
        "id": append.room, "game": new.game, "public": new.public, "host": new.host, "create_id": new.create_id,
        "created_ms": new.created_ms, "head": len(append.events), "node": append.node, "due_ms": append.due_ms,
        "listed": False, "summary": b"{}", "changed_ms": append.events[-1].at_ms,
    }  # fmt: skip
    connection.execute(insert(t.rooms), row)
    return None


def _run(connection: Connection, statement: str, rows: list[tuple[Any, ...]]) -> int:
    """Runs one of the group statements; returns how many rows it touched."""
    return connection.exec_driver_sql(statement, (msgspec.json.encode(rows).decode(),)).rowcount


def _project(room: str, projection: Projection, connection: Connection) -> None:
    match projection:
        case Listing(listed, summary):
            connection.execute(LIST_ROOM, {"room": room, "on": listed, "text": summary})
        case MatchStarted() as m:
            row = {
                "id": m.match, "room": room, "game": m.game, "number": m.number, "options": m.options, "seats": m.seats,
                "start": m.start, "rules": m.rules, "public": m.public, "first_v": m.v, "started_ms": m.at_ms,
            }  # fmt: skip
            connection.execute(INSERT_MATCHES, row)
        case MatchFinished() as m:
            ended = {"match": m.match, "at_v": m.v, "ended_ms": m.at_ms, "n": m.plies, "how": m.over}
            connection.execute(FINISH_MATCH, ended)
        case Thought() as thought:
            seen = {"match": thought.match, "v": thought.v, "ply": thought.ply, "body": thought.body}
            connection.execute(INSERT_THOUGHTS, seen)
        case _:
            assert_never(projection)
