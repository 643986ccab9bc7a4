"""The store on PostgreSQL: one held connection for the group commit, a small pool for everything
else.

When the link goes while a commit is under way, nobody knows what became of it. Then the same group
is sent again on a new link: compare-and-set and command keys make it happen once, whichever of the
two the server carried out, and what an operation without a key did stays unknown
(StoreUnavailable).
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
from server.store.base import Append, NewRoom, StoreError, StoreUnavailable
from server.store.group import Contended
from server.store.postgres_group import commit_appends, commit_rooms
from server.store.postgres_link import FAULTS, Fault, Limits, PostgresUrl, connect, fault_of
from server.store.sql import SqlStore
from server.store.writer import Op, Outcome

log = structlog.get_logger()
T = TypeVar("T")

#: How often a group is tried that the server rolls back because others were at it, too.
TRIES = 5

#: How the writer's statements are planned: once, by index, in the order of their rows. That order
#: is the one in which rooms are locked; and what the planner believes of a table that was empty a
#: minute ago does not matter.
DIRECT = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


@asynccontextmanager
async def open_postgres(address: str, limits: Limits | None = None) -> AsyncIterator[SqlStore]:
    """The store in a PostgreSQL database with our tables in it; StoreUnavailable says why it cannot
    be used.
    """
    url, limits = PostgresUrl(address), limits or Limits()
    pool = _Pool(url, limits)
    writer = _Writer(url, limits)
    try:
        epoch = await writer.open()
        store = SqlStore(writer.commit, pool.write, pool.read, epoch, _server_clock)
        task = asyncio.create_task(store.writer.run(), name="store writer")
        try:
            yield store
        finally:
            task.cancel()
            await asyncio.wait([task])
    finally:
        await writer.close()
        await pool.close()


def _server_clock() -> ColumnElement[int]:
    """Milliseconds since 1970 by the clock of the machine that PostgreSQL runs on."""
    return cast(func.extract("epoch", func.clock_timestamp()) * 1000, BigInteger)


async def in_transaction(
    address: str, work: Callable[[Connection], T], snapshot: bool = False
) -> T:
    """Runs a function on a connection of its own, in one transaction without time limits: for
    migrations, backups and their like. With `snapshot` it sees the database as it is at its
    beginning, and changes nothing.
    """
    url = PostgresUrl(address)
    unlimited = {
        "statement_timeout": "0",
        "lock_timeout": "0",
        "idle_in_transaction_session_timeout": "0",
    }
    level = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True} if snapshot else {}
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: connect(url, Limits(connect_s=10.0), **unlimited),
        poolclass=NullPool, execution_options=level,
    )  # fmt: skip
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    except (DBAPIError, OSError) as error:
        raise StoreUnavailable(f"the database {url} failed: {_words(error)}") from None
    finally:
        await engine.dispose()


async def upgrade_postgres(address: str) -> tuple[str | None, str]:
    """Runs the migrations that a database lacks; returns the revisions before and after."""
    where = str(PostgresUrl(address))
    return await in_transaction(address, lambda connection: schema.migrate(connection, where))


# --- the pool ---------------------------------------------------------------------------------------------------------


class _Pool:
    """A few connections for single statements, each a transaction of its own."""

    def __init__(self, url: PostgresUrl, limits: Limits) -> None:
        self._limits = limits
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://", async_creator=lambda: connect(url, limits), isolation_level="AUTOCOMMIT",
            pool_size=limits.pool, max_overflow=0, pool_timeout=limits.connect_s, pool_use_lifo=True,
        )  # fmt: skip

        @event.listens_for(self._engine.sync_engine, "checkout")
        def on_checkout(connection: Any, _record: Any, _proxy: Any) -> None:
            # A server that was restarted has closed them all, which asyncpg knows without asking.
            if connection.driver_connection.is_closed():
                raise DisconnectionError

    async def close(self) -> None:
        await self._engine.dispose()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Runs a function that only reads; once more on another link when its link went."""
        try:
            return await self._run(work)
        except _LinkGone:
            return await self._run(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Runs a function with one statement."""
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
            kind = _LinkGone if error.connection_invalidated else StoreUnavailable
            raise kind(f"the database failed: {_words(error)}") from error
        except (*FAULTS, SQLAlchemyError) as error:
            raise _LinkGone(f"the database failed: {_words(error)}") from error


class _LinkGone(StoreUnavailable):
    """The link went in the middle."""


def _words(error: Exception) -> str:
    """What the database said, without what SQLAlchemy wraps around it."""
    if isinstance(error, DBAPIError) and error.orig is not None:
        return str(error.orig.__cause__ or error.orig)
    return str(error) or type(error).__name__


EPOCH = "SELECT value FROM meta WHERE key = 'epoch'"


# --- the writer -------------------------------------------------------------------------------------------------------

#: Commits operations of one kind over a link; whether to pass over locked rooms.
_CommitSome = Callable[[Any, list[Any], bool], Awaitable[list[Outcome]]]


class _Writer:
    """The connection of the group commit, made anew when it goes."""

    def __init__(self, url: PostgresUrl, limits: Limits) -> None:
        self._url = url
        self._limits = limits
        self._link: Any = None
        self._epoch: str | None = None

    async def open(self) -> str:
        """Looks at the database before anything is written; returns its epoch."""
        link = await self._connected()
        try:
            async with asyncio.timeout(self._limits.answer_s):
                await self._check_schema(link)
                await link.execute(
                    "INSERT INTO meta (key, value) VALUES ('epoch', $1) ON CONFLICT DO NOTHING",
                    secrets.token_hex(8),
                )
                self._epoch = str(await link.fetchval(EPOCH))
                return self._epoch
        except FAULTS as error:
            raise StoreUnavailable(
                f"cannot use the database {self._url}: {_words(error)}"
            ) from error

    async def _check_schema(self, link: Any) -> None:
        revision = needs = None
        if await link.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
            revision = await link.fetchval("SELECT version_num FROM alembic_version")
            needs = await link.fetchval("SELECT value FROM meta WHERE key = $1", schema.NEEDS)
        schema.judge(revision, needs, str(self._url))
        durable = "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off'"
        if not await link.fetchval(durable):
            log.warning(
                "the database may forget what it has acknowledged",
                needed="fsync and synchronous_commit on",
            )

    async def close(self) -> None:
        if self._link is not None:
            try:
                async with asyncio.timeout(1.0):
                    await self._link.close()
            except FAULTS:
                self._drop()

    def _drop(self) -> None:
        if self._link is not None:
            self._link.terminate()
            self._link = None

    async def _connected(self) -> Any:
        """The link, a new one if the old one is gone; StoreUnavailable when there is none to a
        server that writes.
        """
        if self._link is not None and self._link.is_closed():
            self._link = None
        if self._link is None:
            link = await connect(self._url, self._limits, **DIRECT)
            try:
                async with asyncio.timeout(self._limits.answer_s):
                    await self._check_server(link)
            except BaseException as error:
                link.terminate()
                if isinstance(error, FAULTS):
                    raise StoreUnavailable(
                        f"cannot use the database {self._url}: {_words(error)}"
                    ) from error
                raise
            self._link = link
        return self._link

    async def _check_server(self, link: Any) -> None:
        """It may be another one than before: what an address leads to changes when a server fails."""
        if await link.fetchval("SELECT current_setting('transaction_read_only') = 'on'"):
            raise StoreUnavailable(
                f"the database {self._url} is read-only (a standby?): Plyroom needs the one that takes writes"
            )
        if self._epoch is not None and await link.fetchval(EPOCH) != self._epoch:
            raise StoreUnavailable(
                f"the database {self._url} is another one than at the start: restart this server"
            )

    async def commit(self, ops: list[Op]) -> list[Outcome]:
        """Commits a group and says what became of each; Contended when a row of it was there
        already.
        """
        outcomes: dict[str, Outcome] = {}
        news = [op for op in ops if isinstance(op, NewRoom)]
        appends = [op for op in ops if isinstance(op, Append)]
        if news:
            made = await self._settle(
                news, lambda link, some, skip_locked: commit_rooms(link, some)
            )
            outcomes |= zip((op.append.room for op in news), made, strict=True)
        if appends:
            added = await self._settle(appends, commit_appends)
            outcomes |= zip((op.room for op in appends), added, strict=True)
        return [outcomes[op.append.room if isinstance(op, NewRoom) else op.room] for op in ops]

    async def _settle(self, ops: list[Any], commit: _CommitSome) -> list[Outcome]:
        """Sends a group until the server has said something of each operation, within reason."""
        outcomes: list[Outcome] = [None] * len(ops)
        asked = list(range(len(ops)))
        lost = ""
        skip_locked = False
        for _ in range(TRIES):
            try:
                answers = await self._send([ops[n] for n in asked], commit, skip_locked)
            except StoreUnavailable as error:  # there is no link, and nothing was sent
                answers = [_not_known(f"{lost}; {error}") if lost else error] * len(asked)
            except FAULTS as error:
                fault = fault_of(error)
                if fault is Fault.GONE and not lost and not isinstance(error, TimeoutError):
                    lost = _words(error)
                    outcomes = [_not_known(lost)] * len(ops)
                    asked = [n for n in asked if _keyed(ops[n])]
                    if asked:
                        continue
                    return outcomes
                if fault is Fault.AGAIN:
                    continue
                if fault is Fault.LOCKED and not skip_locked:
                    skip_locked = (
                        True  # who waits for no lock is served now, and the others are told
                    )
                    continue
                answers = [self._answer(error, fault, bool(lost), len(ops))] * len(asked)
            for n, answer in zip(asked, answers, strict=True):
                outcomes[n] = answer
            return outcomes
        return [
            _not_known(lost) if lost else StoreUnavailable(f"others were faster {TRIES} times")
        ] * len(ops)

    async def _send(self, ops: list[Any], commit: _CommitSome, skip_locked: bool) -> list[Outcome]:
        """One try; a link that does not answer, or is not to be trusted any more, is let go of."""
        link = await self._connected()
        try:
            async with asyncio.timeout(self._limits.answer_s):
                return await commit(link, ops, skip_locked)
        except (*FAULTS, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) or fault_of(error) in (
                Fault.GONE,
                Fault.REFUSED,
            ):
                self._drop()
            raise

    def _answer(self, error: Exception, fault: Fault, unsure: bool, count: int) -> Outcome:
        """What to tell of a try that was the last one; Contended when each operation should be
        tried alone.
        """
        match fault:
            case Fault.GONE:
                return _not_known(_words(error) or f"no answer within {self._limits.answer_s:g} s")
            case _ if unsure:
                return _not_known(_words(error))
            case Fault.TWICE:
                raise Contended from error
            case Fault.MALFORMED if count > 1:
                raise Contended from error
            case Fault.MALFORMED:
                return StoreError(f"PostgreSQL cannot hold that: {_words(error)}")
            case _:
                return StoreUnavailable(f"the database refused: {_words(error)}")


def _keyed(op: Op) -> bool:
    """Whether it happens once, however often it is sent."""
    return isinstance(op, NewRoom) or op.command is not None


def _not_known(why: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the link to the database went in the commit, and what it did is not known: {why}"
    )
