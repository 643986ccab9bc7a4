"""The queue of analyses of the store in memory."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from server.ids import IdentityId, MatchId
from server.store.analyses import QueuedAnalysis, count_turns_before
from server.store.base import AnalysedPly, Analysis, AnalysisState, AnalysisUsage


@dataclass(slots=True)
class AnalysisTables:
    """The rows of the analyses, which outlive the restart of a node."""

    analyses: dict[str, Analysis] = field(default_factory=dict)
    ended_ms: dict[str, int] = field(default_factory=dict)
    plies: dict[tuple[str, str, int], AnalysedPly] = field(default_factory=dict)


class MemoryAnalyses:
    """See `server.store.base.AnalysisStore`."""

    def __init__(self, tables: AnalysisTables, now_ms: Callable[[], int]) -> None:
        self._tables = tables
        self._now_ms = now_ms

    async def usage(self, identity: IdentityId, window_ms: int) -> AnalysisUsage:
        await asyncio.sleep(0)
        since_ms = self._now_ms() - window_ms
        own = [each for each in self._tables.analyses.values() if each.asked_by == identity]
        return AnalysisUsage(
            sum(each.state in ("queued", "running") for each in own),
            sum(each.asked_ms > since_ms for each in own),
        )

    async def request(self, match: MatchId, identity: IdentityId, plies: int) -> bool:
        await asyncio.sleep(0)
        before = self._tables.analyses.get(match)
        if before is not None and before.state != "failed":
            return False
        engine = before.engine if before is not None else ""
        self._tables.analyses[match] = Analysis(
            match, "queued", identity, self._now_ms(), "", 0, engine, plies, 0, ""
        )
        return True

    async def find(self, match: MatchId) -> Analysis | None:
        await asyncio.sleep(0)
        return self._tables.analyses.get(match)

    async def count_ahead(self, analysis: Analysis) -> int:
        await asyncio.sleep(0)
        return count_turns_before(analysis.match, self._queue(0))

    async def claim(self, node: str, lease_ms: int, per_identity: int) -> Analysis | None:
        await asyncio.sleep(0)
        queue = self._queue(per_identity)
        if not queue:
            return None
        claimed = replace(
            self._tables.analyses[min(queue).match],
            state="running", node=node, lease_ms=self._now_ms() + lease_ms,
        )  # fmt: skip
        self._put(claimed)
        return claimed

    def _queue(self, per_identity: int) -> list[QueuedAnalysis]:
        """The analyses that a node may run next."""
        now_ms, analyses = self._now_ms(), self._tables.analyses
        running = Counter(
            each.asked_by
            for each in analyses.values()
            if each.state == "running" and each.lease_ms >= now_ms
        )
        ended_ms: dict[str, int] = {}
        for match, at_ms in self._tables.ended_ms.items():
            identity = analyses[match].asked_by
            ended_ms[identity] = max(at_ms, ended_ms.get(identity, 0))
        return [
            QueuedAnalysis(
                running[each.asked_by], ended_ms.get(each.asked_by, 0),
                each.asked_ms, each.match, each.asked_by,
            )
            for each in analyses.values()
            if each.state == "queued" or (each.state == "running" and each.lease_ms < now_ms)
            if not per_identity or running[each.asked_by] < per_identity
        ]  # fmt: skip

    async def begin(self, analysis: Analysis, engine: str, plies: int) -> bool:
        await asyncio.sleep(0)
        current = self._own(replace(analysis, engine=""))
        if current is None:
            return False
        done_plies = self._count_plies(analysis.match, engine)
        self._put(replace(current, engine=engine, plies=plies, done_plies=done_plies))
        return True

    async def add_ply(self, analysis: Analysis, result: AnalysedPly, lease_ms: int) -> bool:
        await asyncio.sleep(0)
        current = self._own(analysis)
        if current is None:
            return False
        self._tables.plies.setdefault((analysis.match, analysis.engine, result.ply), result)
        done_plies = self._count_plies(analysis.match, analysis.engine)
        self._put(replace(current, done_plies=done_plies, lease_ms=self._now_ms() + lease_ms))
        return True

    async def renew(self, analysis: Analysis, lease_ms: int) -> bool:
        await asyncio.sleep(0)
        current = self._own(analysis)
        if current is not None:
            self._put(replace(current, lease_ms=self._now_ms() + lease_ms))
        return current is not None

    async def end(self, analysis: Analysis, state: AnalysisState, reason: str = "") -> bool:
        await asyncio.sleep(0)
        current = self._own(analysis)
        if current is not None:
            self._put(replace(current, state=state, reason=reason, node="", lease_ms=0))
            if state in ("done", "failed"):
                self._tables.ended_ms[analysis.match] = self._now_ms()
        return current is not None

    async def end_leases(self) -> None:
        await asyncio.sleep(0)
        for analysis in list(self._tables.analyses.values()):
            if analysis.state == "running":
                self._put(replace(analysis, state="queued", node="", lease_ms=0))

    async def plies(
        self, match: MatchId, engine: str, before: int | None = None
    ) -> list[AnalysedPly]:
        await asyncio.sleep(0)
        return [
            self._tables.plies[key]
            for key in sorted(self._tables.plies)
            if key[:2] == (match, engine) and (before is None or key[2] < before)
        ]

    def _own(self, analysis: Analysis) -> Analysis | None:
        """The current row; None if the node of `analysis` no longer runs it."""
        current = self._tables.analyses.get(analysis.match)
        if current is None or (current.state, current.node) != ("running", analysis.node):
            return None
        return current if analysis.engine in ("", current.engine) else None

    def _put(self, analysis: Analysis) -> None:
        self._tables.analyses[analysis.match] = analysis

    def _count_plies(self, match: str, engine: str) -> int:
        return sum(key[:2] == (match, engine) for key in self._tables.plies)
