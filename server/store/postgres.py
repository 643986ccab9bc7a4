"""The store on PostgreSQL: one connection for the group commit, and a small pool for the rest.

When the connection breaks during a commit, the outcome is unknown. The writer then sends the same
group again on a new connection. Compare-and-set and command keys ensure that each operation is
committed once, even if the first attempt was committed. The outcome of an operation without a key
stays unknown (StoreUnavailable).
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog
from sqlalchemy import BigInteger, ColumnElement, Connection, cast, event, func
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from server.store import schema
from server.store.base import Append, NewRoom, StoreError, StoreReadOnly, StoreUnavailable
from server.store.condition import store_fault
from server.store.group import Contended
from server.store.installation import INSTALLATION, first_installation
from server.store.postgres_group import commit_appends, commit_rooms
from server.store.postgres_link import FAULTS, Fault, Limits, PostgresUrl, connect, fault_of
from server.store.sql import SqlStore, store_to_read
from server.store.writer import Op, Outcome

log = structlog.get_logger()
T = TypeVar("T")

#: Maximum number of attempts to commit a group. The writer sends it again after a serialization
#: failure, a deadlock or a broken connection.
TRIES = 5

#: Planner settings of the writer's connection. Each statement has one generic plan, which uses
#: indexes and follows the order of the rows, so that rooms are locked in that order. Stale
#: statistics, for example of a table that was empty a minute ago, cannot change the plan.
WRITER_SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


@asynccontextmanager
async def open_postgres(address: str, limits: Limits | None = None) -> AsyncIterator[SqlStore]:
    """Opens the store in a migrated PostgreSQL database.

    Raises StoreUnavailable if the database cannot be used.
    """
    url, limits = PostgresUrl(address), limits or Limits()
    pool = _Pool(url, limits)
    writer = _Writer(url, limits)
    try:
        epoch, installation = await writer.open()
        store = SqlStore(writer.commit, pool.write, pool.read, epoch, installation, _server_clock)
        async with store.running():
            yield store
    finally:
        await writer.close()
        await pool.close()


@asynccontextmanager
async def read_postgres(address: str, limits: Limits | None = None) -> AsyncIterator[SqlStore]:
    """Opens the store in a PostgreSQL database to read it, with no connection beside the pool's.

    PostgreSQL itself refuses writes on these. Raises StoreUnavailable if the database cannot be
    used, or this program cannot run on its schema.
    """
    url = PostgresUrl(address)
    pool = _Pool(url, limits or Limits(), default_transaction_read_only="on")
    try:
        async with (await store_to_read(pool.read, str(url), _server_clock)).running() as store:
            yield store
    finally:
        await pool.close()


def _server_clock() -> ColumnElement[int]:
    """Milliseconds since 1970 by the clock of PostgreSQL's machine."""
    return cast(func.extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


async def run_in_transaction(
    address: str, work: Callable[[Connection], T], snapshot: bool = False
) -> T:
    """Runs a function in one transaction without time limits, on a connection of its own.

    It is meant for migrations and backups. With `snapshot` the transaction is read-only and sees
    the database as it was at its start.
    """
    url = PostgresUrl(address)
    unlimited = {
        "statement_timeout": "0",
        "lock_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
    level = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True} if snapshot else {}
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: connect(url, Limits(connect_s=10.0), **unlimited),
        poolclass=NullPool, execution_options=level,
    )  # fmt: skip
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    except (DBAPIError, OSError) as error:
        raise StoreUnavailable(f"the database {url} failed: {_reason(error)}") from None
    finally:
        await engine.dispose()


async def upgrade_postgres(address: str) -> tuple[str | None, str]:
    """Runs the missing migrations of a database; returns the revisions before and after."""
    where = str(PostgresUrl(address))
    return await run_in_transaction(address, lambda connection: schema.migrate(connection, where))


# --- the pool -------------------------------------------------------------------------------------


class _Pool:
    """A small connection pool for single statements, each in its own transaction."""

    def __init__(self, url: PostgresUrl, limits: Limits, **settings: str) -> None:
        self._limits = limits
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://", async_creator=lambda: connect(url, limits, **settings),
            isolation_level="AUTOCOMMIT", pool_size=limits.pool, max_overflow=0,
            pool_timeout=limits.connect_s, pool_use_lifo=True,
        )  # fmt: skip

        @event.listens_for(self._engine.sync_engine, "checkout")
        def on_checkout(connection: Any, _record: Any, _proxy: Any) -> None:
            # A restarted server has closed all connections. asyncpg notices that without a round
            # trip.
            if connection.driver_connection.is_closed():
                raise DisconnectionError

    async def close(self) -> None:
        await self._engine.dispose()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Runs a read-only function; tries once more if the connection breaks."""
        try:
            return await self._run(work)
        except _ConnectionLost:
            return await self._run(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Runs a function that executes one write statement. It is not tried again."""
        return await self._run(work)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            async with asyncio.timeout(self._limits.answer_s), self._engine.connect() as connection:
                return await connection.run_sync(work)
        except PoolTimeout as error:
            raise StoreUnavailable(
                f"all {self._limits.pool} connections to the database are busy"
            ) from error
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the database did not answer within {self._limits.answer_s:g} s"
            ) from error
        except DBAPIError as error:
            message = f"the database failed: {_reason(error)}"
            if error.connection_invalidated:
                raise _ConnectionLost(message) from error
            raise store_fault(message, _cause(error)) from error
        except (*FAULTS, SQLAlchemyError) as error:
            raise _ConnectionLost(f"the database failed: {_reason(error)}") from error


class _ConnectionLost(StoreUnavailable):
    """The connection broke during the statement."""


def _reason(error: Exception) -> str:
    """The database's error message, without SQLAlchemy's wrapping."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return str(_cause(error))
    return str(error) or type(error).__name__


def _cause(error: DBAPIError) -> BaseException | None:
    """The driver's own error, without SQLAlchemy's wrapping."""
    return error.orig if error.orig is None else error.orig.__cause__ or error.orig


#: The query for the store's epoch.
SELECT_EPOCH = "SELECT value FROM meta WHERE key = 'epoch'"


# --- the writer -----------------------------------------------------------------------------------

#: Commits appends or new rooms over a connection; the flag says whether to skip locked rooms.
_CommitGroup = Callable[[Any, list[Any], bool], Awaitable[list[Outcome]]]


class _Writer:
    """The connection of the group commit, reopened when it breaks."""

    def __init__(self, url: PostgresUrl, limits: Limits) -> None:
        self._url = url
        self._limits = limits
        self._link: Any = None
        self._epoch: str | None = None

    async def open(self) -> tuple[str, str]:
        """Connects and checks the schema; returns the store's epoch and the installation's id.

        It makes both if needed. Each statement may take the whole time of an answer: their sum may
        be longer.
        """
        link = await self._ensure_link()
        try:
            await self._check_schema(link)
            await link.execute(
                "INSERT INTO meta (key, value) VALUES ('epoch', $1) ON CONFLICT DO NOTHING",
                secrets.token_hex(8),
                timeout=self._limits.answer_s,
            )
            self._epoch = str(await self._value(link, SELECT_EPOCH))
            return self._epoch, await self._installation(link, self._epoch)
        except FAULTS as error:
            raise StoreUnavailable(
                f"cannot use the database {self._url}: {_reason(error)}"
            ) from error

    async def _installation(self, link: Any, epoch: str) -> str:
        """The installation's id, stored on first use if the store takes writes."""
        query = "SELECT value FROM meta WHERE key = $1"
        stored = await self._value(link, query, INSTALLATION)
        if stored is not None:
            return str(stored)
        first = first_installation(epoch)
        try:
            await link.execute(
                "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                INSTALLATION, first, timeout=self._limits.answer_s,
            )  # fmt: skip
        except FAULTS as error:
            # A full disk. The next start that can write it stores the same id.
            if not isinstance(store_fault("", error), StoreReadOnly):
                raise
        return first

    async def _check_schema(self, link: Any) -> None:
        revision = needs = None
        if await self._value(link, "SELECT to_regclass('alembic_version') IS NOT NULL"):
            revision = await self._value(link, "SELECT version_num FROM alembic_version")
            needs = await self._value(link, "SELECT value FROM meta WHERE key = $1", schema.NEEDS)
        schema.check_revision(revision, needs, str(self._url))
        durability_query = (
            "SELECT current_setting('fsync') = 'on'"
            " AND current_setting('synchronous_commit') <> 'off'"
        )
        if not await self._value(link, durability_query):
            log.warning(
                "the database may forget what it has acknowledged",
                needed="fsync and synchronous_commit on",
            )

    async def _value(self, link: Any, query: str, *arguments: str) -> Any:
        """The first column of the first row, within the time of an answer."""
        return await link.fetchval(query, *arguments, timeout=self._limits.answer_s)

    async def close(self) -> None:
        if self._link is not None:
            try:
                async with asyncio.timeout(1.0):
                    await self._link.close()
            except FAULTS:
                self._terminate()

    def _terminate(self) -> None:
        if self._link is not None:
            self._link.terminate()
            self._link = None

    async def _ensure_link(self) -> Any:
        """Returns the connection, and opens a new one if it is closed.

        Raises StoreUnavailable if no writable server is reachable.
        """
        if self._link is not None and self._link.is_closed():
            self._link = None
        if self._link is None:
            link = await connect(self._url, self._limits, **WRITER_SETTINGS)
            try:
                async with asyncio.timeout(self._limits.answer_s):
                    await self._check_server(link)
            except BaseException as error:
                link.terminate()
                if isinstance(error, FAULTS):
                    raise StoreUnavailable(
                        f"cannot use the database {self._url}: {_reason(error)}"
                    ) from error
                raise
            self._link = link
        return self._link

    async def _check_server(self, link: Any) -> None:
        """Raises StoreUnavailable unless the server accepts writes and holds the same store.

        After a failover, the address may lead to another server.
        """
        if await link.fetchval("SELECT current_setting('transaction_read_only') = 'on'"):
            raise StoreReadOnly(
                f"the database {self._url} is read-only (a standby?):"
                " Plyroom needs the one that takes writes"
            )
        if self._epoch is not None and await link.fetchval(SELECT_EPOCH) != self._epoch:
            raise StoreUnavailable(
                f"the database {self._url} is not the same as at the start: restart this server"
            )

    async def commit(self, ops: list[Op]) -> list[Outcome]:
        """Commits a group; returns each operation's outcome.

        Raises Contended if the operations must be committed one by one.
        """
        outcomes: dict[str, Outcome] = {}
        new_rooms = [op for op in ops if isinstance(op, NewRoom)]
        appends = [op for op in ops if isinstance(op, Append)]
        if new_rooms:
            room_outcomes = await self._commit_with_retries(
                new_rooms, lambda link, rooms, skip_locked: commit_rooms(link, rooms)
            )
            outcomes |= zip((op.append.room for op in new_rooms), room_outcomes, strict=True)
        if appends:
            append_outcomes = await self._commit_with_retries(appends, commit_appends)
            outcomes |= zip((op.room for op in appends), append_outcomes, strict=True)
        return [outcomes[op.append.room if isinstance(op, NewRoom) else op.room] for op in ops]

    async def _commit_with_retries(self, ops: list[Any], commit: _CommitGroup) -> list[Outcome]:
        """Sends a group up to TRIES times; stops when all outcomes are known or cannot change."""
        outcomes: list[Outcome] = [None] * len(ops)
        pending = list(range(len(ops)))
        link_error = ""
        skip_locked = False
        for _ in range(TRIES):
            try:
                answers = await self._send([ops[n] for n in pending], commit, skip_locked)
            except StoreUnavailable as error:  # not connected, so nothing was sent
                answers = [
                    _outcome_unknown(f"{link_error}; {error}") if link_error else error
                ] * len(pending)
            except FAULTS as error:
                fault = fault_of(error)
                if (
                    fault is Fault.CONNECTION_LOST
                    and not link_error
                    and not isinstance(error, TimeoutError)
                ):
                    link_error = _reason(error)
                    outcomes = [_outcome_unknown(link_error)] * len(ops)
                    pending = [n for n in pending if _is_idempotent(ops[n])]
                    if pending:
                        continue
                    return outcomes
                if fault is Fault.CONFLICT:
                    continue
                if fault is Fault.LOCKED and not skip_locked:
                    # Now commit the operations on unlocked rooms and report the others as locked.
                    skip_locked = True
                    continue
                answers = [self._failed_outcome(error, fault, bool(link_error), len(ops))] * len(
                    pending
                )
            for n, answer in zip(pending, answers, strict=True):
                outcomes[n] = answer
            return outcomes
        if link_error:
            return [_outcome_unknown(link_error)] * len(ops)
        return [StoreUnavailable(f"other transactions won {TRIES} times")] * len(ops)

    async def _send(self, ops: list[Any], commit: _CommitGroup, skip_locked: bool) -> list[Outcome]:
        """Makes one attempt; closes the connection if it may be broken or out of step."""
        link = await self._ensure_link()
        try:
            async with asyncio.timeout(self._limits.answer_s):
                return await commit(link, ops, skip_locked)
        except (*FAULTS, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) or fault_of(error) in (
                Fault.CONNECTION_LOST,
                Fault.REFUSED,
            ):
                self._terminate()
            raise

    def _failed_outcome(
        self, error: Exception, fault: Fault, is_unknown: bool, count: int
    ) -> Outcome:
        """The outcome for all operations of a group that failed for good.

        Raises Contended if the operations must be committed one by one.
        """
        match fault:
            case Fault.CONNECTION_LOST:
                return _outcome_unknown(
                    _reason(error) or f"no answer within {self._limits.answer_s:g} s"
                )
            case _ if is_unknown:
                return _outcome_unknown(_reason(error))
            case Fault.DUPLICATE_ROW:
                raise Contended from error
            case Fault.MALFORMED if count > 1:
                raise Contended from error
            case Fault.MALFORMED:
                return StoreError(f"PostgreSQL cannot store the values: {_reason(error)}")
            case _:
                return store_fault(f"the database refused: {_reason(error)}", error)


def _is_idempotent(op: Op) -> bool:
    """Whether the operation may be sent twice: its key ensures that it is committed once."""
    return isinstance(op, NewRoom) or op.command is not None


def _outcome_unknown(reason: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the connection to the database broke in the commit, whose outcome is unknown: {reason}"
    )
