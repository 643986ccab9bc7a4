"""The store on a SQL database: what SQLite and PostgreSQL have in common."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    tuple_,
    union_all,
    update,
)

from server.ids import IdentityId, MatchId
from server.store import schema
from server.store import tables as t
from server.store.analyses import SqlAnalyses
from server.store.base import (
    DUE_PAGE,
    MAX_HEARTBEAT_MS,
    NO_NODE,
    Append,
    CommandKey,
    Condition,
    Conflict,
    DueRoom,
    Duplicate,
    Identity,
    LastBeat,
    MatchPage,
    NewRoom,
    Rescheduled,
    RoomHead,
    RoomVersion,
    StoredEvent,
    StoredMatch,
    StoredRoom,
    StoreReadOnly,
    StoreUnavailable,
    TakenRoom,
    Thought,
    batched,
    day_of,
    match_page,
)
from server.store.condition import ConditionRecord
from server.store.database import SqlDatabase, TransactionRunner
from server.store.expiry import SqlExpiry
from server.store.group import Contended
from server.store.installation import stored_installation
from server.store.match_columns import clock_of, latest_matches, players_of
from server.store.match_filter import EVERY_MATCH, SCAN_LIMIT, Key, MatchFilter, scan_end
from server.store.match_query import MatchScan, winner_column
from server.store.people import shown_event, shown_identity, shown_match, shown_room
from server.store.writer import Commit, GroupWriter, Op, Outcome, room_of

T = TypeVar("T")

#: Maximum number of room ids in one query for heads. Drivers accept at most 32,766 parameters, and
#: other requests are served between two queries.
HEADS_PER_QUERY = 5000
#: Time after which the row of a dead node is deleted, in ms.
DEAD_NODE_MS = 24 * 3_600_000

#: Time before the end of a heartbeat of an older program at which it was written, in ms: three
#: times the default of `heartbeat_s`.
OLDER_BEAT_MS = 3_000

#: The query for a page of a room's log.
SELECT_EVENTS = (
    select(*t.columns_of(StoredEvent, t.events))
    .where(t.events.c.room == bindparam("room"), t.events.c.v > bindparam("after_v"))
    .order_by(t.events.c.v)
    .limit(bindparam("limit"))
)
#: The columns of a StoredMatch, in its order.
MATCH_COLUMNS = t.columns_of(StoredMatch, t.matches)
#: The columns of an Identity, in its order.
IDENTITY_COLUMNS = t.columns_of(Identity, t.identities)


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
        installation: str,
        clock: Callable[[], ColumnElement[int]],
    ) -> None:
        self._record = record = ConditionRecord()
        self.database = database = SqlDatabase(write, read, record)
        self.epoch = epoch
        self.installation = installation
        self.logs = SqlLogs(database, _recording(commit, record))
        self.projections = SqlProjections(database)
        self.nodes = SqlNodes(database, clock)
        self.analyses = SqlAnalyses(database, clock)
        self.identities = SqlIdentities(database)
        self.expiry = SqlExpiry(database)

    async def bus_key(self) -> bytes:
        c = t.meta.c
        query = select(c.value).where(c.key == "bus key")
        rows = await self.database.select(query)
        if not rows:
            insert_key = insert(t.meta).values(key="bus key", value=secrets.token_hex(32))
            # If another node inserted the key first, the next query finds it. If the store failed,
            # the next query reports that.
            with contextlib.suppress(StoreUnavailable):
                await self.database.execute(insert_key.returning(c.value))
            rows = await self.database.select(query)
        if not rows:
            raise StoreUnavailable("the bus key could not be stored")
        return bytes.fromhex(rows[0][0])

    async def check(self) -> None:
        rows = await self.database.select(select(t.meta.c.value).where(t.meta.c.key == "epoch"))
        if not rows or rows[0][0] != self.epoch:
            raise StoreUnavailable(
                "the database is not the same as at the start: restart this server"
            )

    def condition(self) -> Condition:
        return self._record.current()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["SqlStore"]:
        """Commits what is appended until the block ends."""
        task = asyncio.create_task(self.logs.writer.run(), name="store writer")
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])


async def store_to_read(
    read: TransactionRunner, where: str, clock: Callable[[], ColumnElement[int]]
) -> SqlStore:
    """The store in the database of a running server, to read it; a write raises StoreReadOnly.

    Raises StoreUnavailable, and changes nothing, for a schema on which this program cannot run: the
    program may be newer than the server that runs.
    """

    def look(connection: Connection) -> tuple[str, str]:
        schema.check_schema(connection, where)
        c = t.meta.c
        epoch = connection.execute(select(c.value).where(c.key == "epoch")).scalar()
        installation = stored_installation(connection)
        if epoch is None or installation is None:
            raise StoreUnavailable(f"no server has used the database {where} yet")
        return str(epoch), installation

    fault = StoreReadOnly(f"the database {where} was opened to read it")

    async def commit(ops: list[Op]) -> list[Outcome]:
        raise fault

    async def write(work: Callable[[Connection], T]) -> T:
        raise fault

    return SqlStore(commit, write, read, *await read(look), clock)


def _recording(commit: Commit, record: ConditionRecord) -> Commit:
    """Commits groups and records whether the store has taken them."""

    async def commit_and_record(ops: list[Op]) -> list[Outcome]:
        try:
            outcomes = await commit(ops)
        except StoreUnavailable as fault:
            record.record("append", fault)
            raise
        faults = [each for each in outcomes if isinstance(each, StoreUnavailable)]
        record.record("append", faults[0] if faults else None)
        return outcomes

    return commit_and_record


class SqlLogs:
    """Implements `server.store.base.LogStore`; `writer` commits operations in groups."""

    def __init__(self, database: SqlDatabase, commit: Commit) -> None:
        self._database = database
        self._commit_group = commit
        self.writer = GroupWriter(self._commit)

    async def create_room(self, new: NewRoom) -> str | None:
        return await self.writer.write(new)

    async def created_room(self, host: str, create_id: str) -> str | None:
        c = t.rooms.c
        rows = await self._database.select(
            select(c.id).where(c.host == host, c.create_id == create_id)
        )
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
        rows = await self._database.select(
            select(c.head, c.node, c.due_ms, c.seen_day, c.taken_from).where(c.id == room)
        )
        return RoomHead(*rows[0]) if rows else None

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        heads: dict[str, int] = {}
        for start in range(0, len(rooms), HEADS_PER_QUERY):
            chunk = rooms[start : start + HEADS_PER_QUERY]
            rows = await self._database.select(
                select(t.rooms.c.id, t.rooms.c.head).where(t.rooms.c.id.in_(chunk))
            )
            heads.update((row[0], row[1]) for row in rows)
        return heads

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        rows = await self._database.select(
            SELECT_EVENTS, {"room": room, "after_v": after_v, "limit": limit}
        )
        return [shown_event(StoredEvent(*row)) for row in rows]

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        c = t.commands.c
        rows = await self._database.select(
            select(c.first_v, c.last_v).where(
                c.room == room, c.identity == key.identity, c.id == key.id
            )
        )
        return (rows[0][0], rows[0][1]) if rows else None


class SqlProjections:
    """Implements `server.store.base.ProjectionStore`."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def rooms(self, limit: int, since_ms: int = 0) -> list[StoredRoom]:
        c = t.rooms.c
        return await self._latest_rooms((c.listed.is_(True), c.changed_ms >= since_ms), limit)

    async def mark_rooms_followed(self, rooms: Sequence[str], at_ms: int) -> None:
        c = t.rooms.c
        for batch in batched(sorted(rooms)):
            # A room that is being written changes its own time, or is marked again later.
            free = (
                select(c.id)
                .where(c.id.in_(batch), c.changed_ms < at_ms)
                .with_for_update(skip_locked=True)
                .cte("free")
            )
            await self._database.execute(
                update(t.rooms)
                .where(c.id.in_(select(free.c.id)))
                .values(changed_ms=at_ms)
                .returning(c.id)
            )

    async def hosted_rooms(self, host: IdentityId, since_ms: int, limit: int) -> list[StoredRoom]:
        c = t.rooms.c
        return await self._latest_rooms((c.host == host, c.changed_ms >= since_ms), limit)

    async def entries(self, rooms: Sequence[str]) -> list[StoredRoom]:
        return await self._latest_rooms((t.rooms.c.id.in_(rooms),), len(rooms)) if rooms else []

    async def _latest_rooms(
        self, conditions: tuple[ColumnElement[bool], ...], limit: int
    ) -> list[StoredRoom]:
        c = t.rooms.c
        rows = await self._database.select(
            select(*t.columns_of(StoredRoom, t.rooms))
            .where(*conditions)
            .order_by(c.changed_ms.desc())
            .limit(limit)
        )
        return [shown_room(StoredRoom(*row)) for row in rows]

    async def player_matches(self, player: str, running: int, finished: int) -> list[StoredMatch]:
        c = t.matches.c
        parts = [
            select(*MATCH_COLUMNS).where(column == player, condition)
            .order_by(latest.desc()).limit(limit).subquery()
            for column in (c.first, c.second)
            for condition, latest, limit in (
                (c.finished_ms.is_(None), c.started_ms, running),
                (c.finished_ms.is_not(None), c.finished_ms, finished),
            )
        ]  # fmt: skip
        rows = await self._database.select(union_all(*(select(part) for part in parts)))
        return latest_matches([shown_match(StoredMatch(*row)) for row in rows], running, finished)

    async def room_matches(self, room: str, limit: int) -> list[StoredMatch]:
        c = t.matches.c
        rows = await self._database.select(
            select(*MATCH_COLUMNS).where(c.room == room).order_by(c.number.desc()).limit(limit)
        )
        return [shown_match(StoredMatch(*row)) for row in rows]

    async def fill_players(self, limit: int) -> int:
        c = t.matches.c
        rows = await self._database.select(
            select(c.id, c.seats).where(c.first.is_(None)).limit(limit)
        )
        for match_id, seats in rows:
            players = players_of(seats)
            await self._database.execute(
                update(t.matches)
                .where(c.id == match_id)
                .values(first=players.first or "", second=players.second or "")
                .returning(c.id)
            )
        return len(rows)

    async def fill_winners(self, limit: int) -> int:
        c = t.matches.c
        unfilled = select(c.id).where(c.winner.is_(None), c.finished_ms.is_not(None)).limit(limit)
        # Most of the time there is nothing to fill in, and a query takes no write lock.
        if not await self._database.select(unfilled):
            return 0
        free = unfilled.with_for_update(skip_locked=True).cte("free")
        return len(
            await self._database.execute(
                update(t.matches)
                .where(c.id.in_(select(free.c.id)))
                .values(winner=winner_column)
                .returning(c.id)
            )
        )

    async def fill_clocks(self, limit: int) -> int:
        c, e = t.matches.c, t.events.c
        rows = await self._database.select(
            select(c.id, e.body)
            .join(t.events, and_(e.room == c.room, e.v == c.first_v))
            .where(c.speed.is_(None))
            .limit(limit)
        )
        for match_id, body in rows:
            clock = clock_of(body)
            await self._database.execute(
                update(t.matches)
                .where(c.id == match_id)
                .values(clock=clock.text, speed=clock.speed)
                .returning(c.id)
            )
        return len(rows)

    async def matches(
        self,
        limit: int,
        before: Key | None,
        wanted: MatchFilter = EVERY_MATCH,
        *,
        after: Key | None = None,
        scan_limit: int = SCAN_LIMIT,
    ) -> MatchPage:
        scan = MatchScan(wanted, before, after)
        ends = await self._database.select(scan.ends(scan_limit))
        end_ms = scan_end((row[0] for row in ends), before, after)
        rows = await self._database.select(scan.rows(MATCH_COLUMNS, end_ms, limit))
        found = [shown_match(StoredMatch(*row)) for row in rows]
        return match_page(found, limit, end_ms, is_newer=after is not None)

    async def match(self, match: MatchId) -> StoredMatch | None:
        rows = await self._database.select(select(*MATCH_COLUMNS).where(t.matches.c.id == match))
        return shown_match(StoredMatch(*rows[0])) if rows else None

    async def thoughts(self, match: MatchId) -> list[Thought]:
        c = t.thoughts.c
        rows = await self._database.select(
            select(*t.columns_of(Thought, t.thoughts)).where(c.match == match).order_by(c.ply)
        )
        return [Thought(*row) for row in rows]


class SqlNodes:
    """Implements `server.store.base.NodeStore`."""

    def __init__(self, database: SqlDatabase, clock: Callable[[], ColumnElement[int]]) -> None:
        self._database = database
        self._clock = clock
        self._is_takeover_unanswered = False

    async def take_over_due_rooms(
        self,
        now_ms: int,
        node: str,
        all_nodes: bool,
        limit: int = DUE_PAGE,
        except_for: Collection[RoomVersion] = (),
    ) -> list[TakenRoom]:
        c = t.rooms.c
        can_take_over: ColumnElement[bool] = c.node != node
        if not all_nodes:
            can_take_over = and_(can_take_over, c.node.not_in(self._alive()))
        if self._is_takeover_unanswered:
            # The answer to a takeover was lost. Its rooms are now this node's, so no other node
            # takes them over.
            can_take_over = or_(can_take_over, c.node == node)
        earlier_node = func.coalesce(c.taken_from, c.node)
        e = t.events.c
        last_ms = select(e.at_ms).where(e.room == c.id, e.v == c.head).scalar_subquery()
        is_due = and_(c.due_ms.is_not(None), or_(c.due_ms <= now_ms, c.due_ms <= last_ms))
        if except_for:
            is_due = and_(is_due, tuple_(c.id, c.head).not_in(except_for))
        # Most of the time nothing is due, and a query takes no write lock.
        query = select(c.id, c.node, earlier_node).where(is_due, can_take_over).limit(limit)
        found = await self._database.select(query)
        if not found:
            self._is_takeover_unanswered = False
            return []
        # The node is compared again: another one may have taken the room over since the query.
        # PostgreSQL skips rooms that another transaction has locked, because another node is taking
        # them over or appending to them. SQLite has a single writer.
        due = (
            select(c.id)
            .where(is_due, can_take_over, tuple_(c.id, c.node).in_([row[:2] for row in found]))
            .with_for_update(of=t.rooms, skip_locked=True).cte("due")
        )  # fmt: skip
        # In an UPDATE, all values are computed from the old row.
        taken_from = case((c.node == node, c.taken_from), else_=earlier_node)
        take_over = (
            update(t.rooms)
            .where(c.id.in_(select(due.c.id)))
            .values(node=node, taken_from=taken_from)
            .returning(c.id)
        )
        try:
            rows = await self._database.execute(take_over)
        except StoreUnavailable:
            self._is_takeover_unanswered = True
            raise
        self._is_takeover_unanswered = False
        earlier = {row[0]: row[2] for row in found}
        return [TakenRoom(row[0], earlier[row[0]]) for row in rows]

    async def end_takeover(self, node: str, room: str) -> None:
        c = t.rooms.c
        await self._database.execute(
            update(t.rooms)
            .where(c.id == room, c.node == node)
            .values(taken_from=None)
            .returning(c.id)
        )

    async def has_due_clock(self, node: str) -> bool:
        c, m = t.rooms.c, t.matches.c
        is_timed = and_(m.finished_ms.is_(None), m.clock.is_not(None))
        query = (
            select(m.id)
            .join(t.rooms, m.room == c.id)
            .where(c.node == node, c.due_ms.is_not(None), is_timed)
            .limit(1)
        )
        return bool(await self._database.select(query))

    async def reschedule(self, node: str, rooms: Sequence[Rescheduled]) -> None:
        c = t.rooms.c
        is_unchanged = tuple_(c.id, c.head).in_([(room, v) for room, v, _ in rooms])
        times = case({room: due_ms for room, _, due_ms in rooms}, value=c.id)
        await self._database.execute(
            update(t.rooms).where(c.node == node, is_unchanged).values(due_ms=times).returning(c.id)
        )

    async def release_rooms(self, node: str, rooms: Sequence[RoomVersion]) -> None:
        c = t.rooms.c
        is_unchanged = tuple_(c.id, c.head).in_(rooms)
        release = update(t.rooms).where(c.node == node, is_unchanged).values(node=NO_NODE)
        await self._database.execute(release.returning(c.id))

    async def own_due_rooms(
        self, node: str, before_ms: int, after: DueRoom | None = None, limit: int = DUE_PAGE
    ) -> list[DueRoom]:
        c = t.rooms.c
        is_due = and_(c.node == node, c.due_ms <= before_ms)
        if after is not None:
            is_due = and_(is_due, tuple_(c.due_ms, c.id) > tuple_(after.due_ms, after.room))
        due = select(c.due_ms, c.id).where(is_due).order_by(c.due_ms, c.id).limit(limit)
        return [DueRoom(*row) for row in await self._database.select(due)]

    async def heartbeat(self, node: str, alive_for_ms: int, at_ms: int | None = None) -> int:
        alive_until_ms = t.nodes.c.alive_until_ms
        alive_for_ms = min(alive_for_ms, MAX_HEARTBEAT_MS)
        now = self._clock()
        beat = {
            "alive_until_ms": now + alive_for_ms,
            "beat_ms": now if at_ms is None else literal(at_ms, BigInteger),
        }
        refresh = update(t.nodes).where(t.nodes.c.id == node).values(beat).returning(alive_until_ms)
        rows = await self._database.execute(refresh)
        if not rows:
            rows = await self._database.execute(
                insert(t.nodes).values({"id": node, **beat}).returning(alive_until_ms)
            )
            # A node has a new id after each start. The rows of long dead nodes are useless, unless
            # a clock stands still since their last heartbeat.
            responsible = func.coalesce(t.rooms.c.taken_from, t.rooms.c.node)
            waiting = select(responsible).where(t.rooms.c.due_ms.is_not(None))
            await self._database.execute(
                delete(t.nodes)
                .where(alive_until_ms < self._clock() - DEAD_NODE_MS, t.nodes.c.id.not_in(waiting))
                .returning(alive_until_ms)
            )
        return int(rows[0][0]) - alive_for_ms

    async def last_beat(self, node: str) -> LastBeat | None:
        c = t.nodes.c
        is_alive = c.id.in_(self._alive())
        is_meant = not_(is_alive) if node == NO_NODE else c.id == node
        at_ms = func.coalesce(c.beat_ms, c.alive_until_ms - OLDER_BEAT_MS)
        rows = await self._database.select(
            select(at_ms, is_alive).where(is_meant).order_by(c.alive_until_ms.desc()).limit(1)
        )
        return LastBeat(int(rows[0][0]), bool(rows[0][1])) if rows else None

    async def alive_nodes(self) -> frozenset[str]:
        return frozenset(row[0] for row in await self._database.select(self._alive()))

    def _alive(self) -> Any:
        clock, alive_until_ms = self._clock(), t.nodes.c.alive_until_ms
        return select(t.nodes.c.id).where(
            alive_until_ms >= clock, alive_until_ms <= clock + MAX_HEARTBEAT_MS
        )


class SqlIdentities:
    """Implements `server.store.base.IdentityStore`."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def add_guest(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        row = {
            "id": identity.id, "name": identity.name, "token_hash": token_hash,
            "created_ms": created_ms, "seen_day": day_of(created_ms), "sat": False,
        }  # fmt: skip
        await self._database.execute(insert(t.identities).values(row).returning(t.identities.c.id))

    async def by_token(self, token_hash: bytes) -> Identity | None:
        rows = await self._database.select(
            select(*IDENTITY_COLUMNS).where(t.identities.c.token_hash == token_hash)
        )
        return shown_identity(Identity(*rows[0])) if rows else None

    async def find(self, identity: IdentityId) -> Identity | None:
        rows = await self._database.select(
            select(*IDENTITY_COLUMNS).where(t.identities.c.id == identity)
        )
        return shown_identity(Identity(*rows[0])) if rows else None

    async def rename(self, identity: IdentityId, name: str) -> None:
        c = t.identities.c
        await self._database.execute(
            update(t.identities).where(c.id == identity).values(name=name).returning(c.id)
        )
