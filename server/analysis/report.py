"""The analysis of a match as its readers get it: its state, an entry for each position, a summary.

`Reports` makes the entries from stored results, at most one in each iteration of the event loop,
and caches them for later readers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

from msgspec import DecodeError, Struct

from server.analysis.positions import NODES, CannotAnalyse, Subject, decode_result
from server.analysis.subjects import check_match, read_subject
from server.analysis.words import Analysed, AnalysisSummary, PositionEntry, make_entry, make_summary
from server.ids import MatchId
from server.ports import Ports
from server.store.base import Analysis, StoredMatch

#: Capacity of the cache of positions and entries, in plies of about 5 KB each.
CACHED_PLIES = 5_000

#: The states of a report: those of an analysis, and two for a match without one.
ReportState = Literal["none", "queued", "running", "done", "failed", "refused"]


class AnalysisReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The analysis of a match.

    - `state` is "none" before anyone has requested it, and "refused" for a match that cannot be
      analysed. `reason` says why, in a sentence, also for "failed".
    - `ahead` is the number of analyses that start before a queued one. People take turns, so those
      of somebody who has many count only as far as their turns come earlier.
    - `plies` is the number of positions, one more than the moves. `done_plies` is the number of
      positions that are done. `nodes` is the node limit of the search of a position. `engine` names
      the rules and the engine on which the results depend.
    - `moves` has the entries of the positions that are done, in the order of the match. The
      analysis begins with the last position.
    - `summary` is null until the analysis is done.
    """

    state: ReportState
    reason: str = ""
    ahead: int | None = None
    plies: int
    done_plies: int
    nodes: int
    engine: str = ""
    moves: tuple[PositionEntry, ...] = ()
    summary: AnalysisSummary | None = None


class _CachedMatch:
    """The positions of a match, and the entries made so far from the results of an engine."""

    def __init__(self, subject: Subject, engine: str) -> None:
        self.subject = subject
        self.engine = engine
        self.analysed: dict[int, Analysed] = {}
        self.entries: dict[int, PositionEntry] = {}

    def add(self, ply: int, body: bytes) -> None:
        """Adds the result for a ply; ignores a body that this program cannot decode."""
        if ply < self.subject.plies and ply not in self.analysed:
            try:
                result = decode_result(body)
            except DecodeError:
                return
            self.analysed[ply] = Analysed.of(ply, self.subject.positions[ply], result)

    def make_entry(self, ply: int) -> PositionEntry | None:
        """The entry of a ply, with the judgement of its move if the next position is done."""
        known = self.entries.get(ply)
        before, after = self.analysed.get(ply), self.analysed.get(ply + 1)
        if before is None or (known is not None and (known.loss is not None or after is None)):
            return known
        moves = self.subject.moves
        token = moves[ply] if ply < len(moves) else None
        self.entries[ply] = make_entry(before, token, after)
        return self.entries[ply]

    def summary(self) -> AnalysisSummary | None:
        """The summary; None while a position has no result."""
        if len(self.analysed) < self.subject.plies:
            return None
        ordered = [self.analysed[ply] for ply in range(self.subject.plies)]
        return make_summary(ordered, self.subject.moves)


class Reports:
    """Makes the reports of analyses, and caches their positions and entries."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._cache: OrderedDict[tuple[MatchId, str], _CachedMatch] = OrderedDict()

    async def of(self, match: StoredMatch, known: Sequence[int] = ()) -> AnalysisReport:
        """The report of a match's analysis, without the entries of the `known` plies.

        If the analysis has ended, the report has all entries.
        """
        analysis = await self._ports.store.analyses.find(match.match)
        if analysis is None:
            return self._without_analysis(match)
        report = await self._with_state(match, analysis)
        try:
            cached = await self._cached(match, analysis)
        except CannotAnalyse as error:
            return _refused(str(error), analysis.plies)
        if cached is None:
            return report
        left_out = frozenset(known) if analysis.state in ("queued", "running") else frozenset()
        entries = []
        for ply in sorted(cached.analysed):
            is_new = ply not in cached.entries
            entry = cached.make_entry(ply)
            if entry is not None and ply not in left_out:
                entries.append(entry)
            if is_new:
                await asyncio.sleep(0)
        return AnalysisReport(
            state=report.state, reason=report.reason, ahead=report.ahead, plies=report.plies,
            done_plies=len(cached.analysed), engine=analysis.engine, nodes=NODES,
            moves=tuple(entries),
            summary=cached.summary() if analysis.state == "done" else None,
        )  # fmt: skip

    def _without_analysis(self, match: StoredMatch) -> AnalysisReport:
        plies = (match.plies or 0) + 1
        try:
            check_match(self._ports, match)
        except CannotAnalyse as error:
            return _refused(str(error), plies)
        return AnalysisReport(state="none", plies=plies, done_plies=0, nodes=NODES)

    async def _with_state(self, match: StoredMatch, analysis: Analysis) -> AnalysisReport:
        """The report without entries."""
        ahead = None
        if analysis.state == "queued":
            ahead = await self._ports.store.analyses.count_ahead(analysis)
        return AnalysisReport(
            state=analysis.state, reason=analysis.reason, ahead=ahead, plies=analysis.plies,
            done_plies=analysis.done_plies, engine=analysis.engine, nodes=NODES,
        )  # fmt: skip

    async def _cached(self, match: StoredMatch, analysis: Analysis) -> _CachedMatch | None:
        """The results so far; None if there are none. Raises CannotAnalyse."""
        if not analysis.engine:
            return None
        key = (match.match, analysis.engine)
        cached = self._cache.get(key)
        if cached is None:
            cached = _CachedMatch(await read_subject(self._ports, match), analysis.engine)
            self._cache[key] = cached
        self._cache.move_to_end(key)
        if len(cached.analysed) < cached.subject.plies:
            # The results come from the end of the match to its start.
            before = None if analysis.state == "done" else min(cached.analysed, default=None)
            for result in await self._ports.store.analyses.plies(
                match.match, analysis.engine, before
            ):
                cached.add(result.ply, result.body)
        self._shrink()
        return cached

    def _shrink(self) -> None:
        """Drops the least recently used matches beyond the capacity; keeps at least one match."""
        plies = sum(cached.subject.plies for cached in self._cache.values())
        while plies > CACHED_PLIES and len(self._cache) > 1:
            plies -= self._cache.popitem(last=False)[1].subject.plies


def _refused(reason: str, plies: int) -> AnalysisReport:
    return AnalysisReport(state="refused", reason=reason, plies=plies, done_plies=0, nodes=NODES)
