"""The analyses of matches in a SQL database.

On PostgreSQL each statement is a transaction of its own, so each one checks that the node still
has the lease. Rows of results are inserted and never changed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    func,
    literal,
    or_,
    select,
    text,
    update,
)

from server.ids import IdentityId, MatchId
from server.store import tables as t
from server.store.base import (
    AnalysedPly,
    Analysis,
    AnalysisState,
    AnalysisUsage,
)
from server.store.database import SqlDatabase

#: The columns of an Analysis, in its order.
COLUMNS = [t.analyses.c[name] for name in Analysis.__struct_fields__]
#: Queues an analysis that is new or has failed.
REQUEST = text("""
    INSERT INTO analyses ("match", state, asked_by, asked_ms, node, lease_ms, engine, plies,
        done_plies, reason)
    VALUES (:match, 'queued', :identity, :now, '', 0, '', :plies, 0, '')
    ON CONFLICT ("match") DO UPDATE SET state = 'queued', asked_by = excluded.asked_by,
        asked_ms = excluded.asked_ms, plies = excluded.plies, reason = ''
    WHERE analyses.state = 'failed'
    RETURNING "match" """)
#: Stores the result for a ply while the node runs the analysis with that engine.
ADD_PLY = text("""
    INSERT INTO analysis_plies ("match", engine, ply, body)
    SELECT "match", engine, :ply, :body FROM analyses
    WHERE "match" = :match AND state = 'running' AND node = :node AND engine = :engine
    ON CONFLICT DO NOTHING
    RETURNING ply""").bindparams(bindparam("body", type_=t.analysis_plies.c.body.type))


class SqlAnalyses:
    """Implements `server.store.base.AnalysisStore` on SQLite and PostgreSQL."""

    def __init__(self, database: SqlDatabase, clock: Callable[[], ColumnElement[int]]) -> None:
        self._database = database
        self._clock = clock

    async def usage(self, identity: IdentityId, window_ms: int) -> AnalysisUsage:
        c = t.analyses.c
        is_unfinished = c.state.in_(("queued", "running"))
        is_recent = c.asked_ms > self._clock() - window_ms
        rows = await self._database.select(
            select(
                func.count().filter(is_unfinished), func.count().filter(is_recent)
            ).where(c.asked_by == identity, or_(is_unfinished, is_recent))
        )  # fmt: skip
        return AnalysisUsage(*rows[0])

    async def request(self, match: MatchId, identity: IdentityId, plies: int) -> bool:
        now_ms = (await self._database.select(select(self._clock())))[0][0]
        values = {"match": match, "identity": identity, "plies": plies, "now": now_ms}
        return bool(await self._write(REQUEST, values))

    async def find(self, match: MatchId) -> Analysis | None:
        rows = await self._database.select(select(*COLUMNS).where(t.analyses.c.match == match))
        return Analysis(*rows[0]) if rows else None

    async def count_ahead(self, analysis: Analysis) -> int:
        queue = await self._database.select(_queue_query(self._clock()))
        return count_turns_before(analysis.match, [QueuedAnalysis(*row) for row in queue])

    async def claim(self, node: str, lease_ms: int, per_identity: int) -> Analysis | None:
        query = _next_query(self._clock(), per_identity)
        # Most of the time there is nothing to claim, and a query takes no write lock.
        if not await self._database.select(query):
            return None
        c = t.analyses.c
        free = query.with_for_update(of=t.analyses, skip_locked=True).cte("free")
        rows = await self._database.execute(
            update(t.analyses)
            .where(c.match.in_(select(free.c.match)))
            .values(state="running", node=node, lease_ms=self._clock() + lease_ms)
            .returning(*COLUMNS)
        )
        return Analysis(*rows[0]) if rows else None

    async def begin(self, analysis: Analysis, engine: str, plies: int) -> bool:
        counted = _count_plies(analysis.match, engine)
        return await self._update(
            analysis, {"engine": engine, "plies": plies, "done_plies": counted}
        )

    async def add_ply(self, analysis: Analysis, result: AnalysedPly, lease_ms: int) -> bool:
        values = {
            "match": analysis.match, "node": analysis.node, "engine": analysis.engine,
            "ply": result.ply, "body": result.body,
        }  # fmt: skip
        await self._write(ADD_PLY, values)
        counted = _count_plies(analysis.match, analysis.engine)
        return await self._update(
            analysis, {"done_plies": counted, "lease_ms": self._clock() + lease_ms}
        )

    async def renew(self, analysis: Analysis, lease_ms: int) -> bool:
        return await self._update(analysis, {"lease_ms": self._clock() + lease_ms})

    async def end(self, analysis: Analysis, state: AnalysisState, reason: str = "") -> bool:
        ended = {"ended_ms": self._clock()} if state in ("done", "failed") else {}
        return await self._update(
            analysis, {"state": state, "reason": reason, "node": "", "lease_ms": 0, **ended}
        )

    async def end_leases(self) -> None:
        c = t.analyses.c
        await self._database.execute(
            update(t.analyses)
            .where(c.state == "running")
            .values(state="queued", node="", lease_ms=0)
            .returning(c.match)
        )

    async def plies(
        self, match: MatchId, engine: str, before: int | None = None
    ) -> list[AnalysedPly]:
        c = t.analysis_plies.c
        query = select(c.ply, c.body).where(c.match == match, c.engine == engine)
        if before is not None:
            query = query.where(c.ply < before)
        rows = await self._database.select(query.order_by(c.ply))
        return [AnalysedPly(*row) for row in rows]

    async def _update(self, analysis: Analysis, values: dict[str, Any]) -> bool:
        """Changes the row of an analysis. Returns False if its node has lost the lease."""
        c = t.analyses.c
        is_own = and_(c.match == analysis.match, c.state == "running", c.node == analysis.node)
        if analysis.engine and "engine" not in values:
            is_own = and_(is_own, c.engine == analysis.engine)
        rows = await self._database.execute(
            update(t.analyses).where(is_own).values(**values).returning(c.match)
        )
        return bool(rows)

    async def _write(self, statement: Any, values: dict[str, Any]) -> list[Any]:
        def run(connection: Connection) -> list[Any]:
            return list(connection.execute(statement, values).all())

        return await self._database.write(run)


class QueuedAnalysis(Struct, frozen=True, order=True):
    """An analysis in the queue: the running analyses of its identity, the time at which the last of
    them ended, its own time and match, in the order of its turn, and the identity.
    """

    running: int
    last_ended_ms: int
    asked_ms: int
    match: str
    asked_by: str


def count_turns_before(match: str, queue: Sequence[QueuedAnalysis]) -> int:
    """The number of analyses of a queue that start before one of them, as identities take turns.

    It supposes that an analysis that runs ends before the next one of its identity starts. It is 0
    for a match that is not in the queue.
    """
    by_identity: dict[str, list[QueuedAnalysis]] = {}
    own: list[QueuedAnalysis] = []
    for queued in sorted(queue):
        turns = by_identity.setdefault(queued.asked_by, [])
        turns.append(queued)
        own = turns if queued.match == match else own
    rounds = next((n for n, queued in enumerate(own) if queued.match == match), 0)
    # In each round before its own every identity has a turn, and in its own those before it.
    return rounds + sum(
        min(len(turns), rounds + (turns[0] < own[0]))
        for turns in by_identity.values()
        if own and turns is not own
    )


def _queue_query(clock: ColumnElement[int], per_identity: int = 0) -> Any:
    """The query for the analyses that a node may run next, as `QueuedAnalysis` has them."""
    c, others = t.analyses.c, t.analyses.alias("others")
    running = (
        select(func.count())
        .where(
            others.c.asked_by == c.asked_by,
            others.c.state == "running",
            others.c.lease_ms >= clock,
        )
        .correlate(t.analyses)
        .scalar_subquery()
    )
    ended = t.analyses.alias("ended")
    last_ended_ms = (
        select(func.coalesce(func.max(ended.c.ended_ms), literal(0, BigInteger)))
        .where(ended.c.asked_by == c.asked_by)
        .correlate(t.analyses)
        .scalar_subquery()
    )
    is_claimable = or_(c.state == "queued", and_(c.state == "running", c.lease_ms < clock))
    query = select(running, last_ended_ms, c.asked_ms, c.match, c.asked_by).where(is_claimable)
    return query.where(running < per_identity) if per_identity else query


def _next_query(clock: ColumnElement[int], per_identity: int) -> Any:
    """The query for the analysis that a node should run next."""
    query = _queue_query(clock, per_identity)
    order = list(query.selected_columns)[:4]
    return query.order_by(*order).with_only_columns(t.analyses.c.match).limit(1)


def _count_plies(match: str, engine: str) -> Any:
    """The number of stored results of an engine for a match, as SQL."""
    c = t.analysis_plies.c
    return select(func.count()).where(c.match == match, c.engine == engine).scalar_subquery()
