"""Runs analyses on a node's engines: one search for each position, the last position first.

The store holds the queue. A node leases an analysis, and renews the lease during each search and
with each result. If the node dies, the lease expires, and another node searches the positions that
have no result yet.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.search.job import Job, Result, RulesChanged, SearchError
from server.analysis.feed import AnalysisFeed
from server.analysis.positions import (
    CannotAnalyse,
    PlyResult,
    Subject,
    encode_result,
    ply_result,
)
from server.analysis.subjects import read_subject
from server.ports import EngineUnavailable, Ports
from server.store.base import AnalysedPly, Analysis, StoreError

log = structlog.get_logger()

#: Duration of a lease, in ms.
LEASE_MS = 10_000
#: Time between two renewals of a lease during a search, in seconds.
RENEW_S = 3.0
#: Time between two queries for analyses whose lease has expired, in seconds.
POLL_S = 5.0
#: Time between two checks for engines while the node has none, in seconds.
ENGINES_POLL_S = 0.5
#: Time between two attempts while all engines are busy, in seconds.
BUSY_RETRY_S = 1.0
#: Number of failed searches of one position after which the analysis fails.
TRIES = 3
#: Maximum number of analyses that a node runs at a time.
MAX_RUNNING = 4


class LeaseLost(Exception):
    """Another node runs the analysis now."""


class AnalysisRunner:
    """The analyses that this node runs."""

    def __init__(self, ports: Ports, feed: AnalysisFeed) -> None:
        self._ports = ports
        self._feed = feed
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Claims and runs analyses until it is cancelled, then returns their leases.

        A sole node first ends all leases, because only its earlier runs can hold any.
        """
        are_leases_valid = not self._ports.settings.is_sole_node
        try:
            while True:
                self._feed.any_changed.clear()
                try:
                    if not are_leases_valid:
                        await self._ports.store.analyses.end_leases()
                        are_leases_valid = True
                    await self._fill()
                except StoreError as error:
                    log.warning("store unavailable", duty="analyses", error=str(error))
                await self._wait()
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _fill(self) -> None:
        """Starts queued analyses while the node has a free slot."""
        while len(self._tasks) < self._slots:
            analysis = await self._ports.store.analyses.claim(
                self._ports.node, LEASE_MS, self._ports.settings.limit_background_running
            )
            if analysis is None:
                return
            if analysis.match in self._tasks:  # the lease expired during an outage of the store
                continue
            name = f"analysis {analysis.match}"
            self._tasks[analysis.match] = asyncio.create_task(self._run(analysis), name=name)

    @property
    def _slots(self) -> int:
        """The number of analyses that this node runs at a time; one worker stays free."""
        workers = self._ports.engines.load().workers
        return min(MAX_RUNNING, max(1, workers - 1)) if workers else 0

    async def _wait(self) -> None:
        """Waits for a change of an analysis, or until the next poll."""
        try:
            async with asyncio.timeout(POLL_S if self._slots else ENGINES_POLL_S):
                await self._feed.any_changed.wait()
        except TimeoutError:
            pass

    # --- one analysis ---

    async def _run(self, analysis: Analysis) -> None:
        """Runs an analysis to its end, or until this node loses the lease."""
        analyses = self._ports.store.analyses
        try:
            await self._analyse(analysis)
        except asyncio.CancelledError:
            with suppress(StoreError):
                await analyses.end(analysis, "queued")
            raise
        except LeaseLost:
            log.warning("lease of an analysis lost", match=analysis.match)
        except CannotAnalyse as error:
            await analyses.end(analysis, "failed", str(error))
        except SearchError as error:
            log.warning("analysis failed", match=analysis.match, error=str(error))
            await analyses.end(analysis, "failed", _reason(error))
        except StoreError as error:  # the lease expires, and a node takes the analysis over
            log.warning("store unavailable", match=analysis.match, error=str(error))
        except Exception:
            log.exception("analysis failed", match=analysis.match)
            await analyses.end(analysis, "failed", "The server failed on this match.")
        finally:
            del self._tasks[analysis.match]
        self._feed.publish(analysis.match)

    async def _analyse(self, analysis: Analysis) -> None:
        """Stores the missing results. Raises LeaseLost, CannotAnalyse, SearchError, StoreError."""
        store = self._ports.store
        match = await store.projections.match(analysis.match)
        if match is None:
            raise CannotAnalyse("There is no such match.")
        subject = await read_subject(self._ports, match)
        _check(await store.analyses.begin(analysis, subject.engine, subject.plies))
        analysis = replace(analysis, engine=subject.engine, plies=subject.plies)
        self._feed.publish(analysis.match)
        done = {each.ply for each in await store.analyses.plies(analysis.match, subject.engine)}
        for ply in reversed(range(subject.plies)):
            if ply not in done:
                result = await self._search(analysis, subject, ply)
                stored = AnalysedPly(ply, encode_result(result))
                _check(await store.analyses.add_ply(analysis, stored, LEASE_MS))
                self._ports.metrics.analysed_plies += 1
                self._feed.publish(analysis.match)
        _check(await store.analyses.end(analysis, "done"))
        self._ports.metrics.analyses += 1

    async def _search(self, analysis: Analysis, subject: Subject, ply: int) -> PlyResult:
        """The result of a position. Raises LeaseLost; raises SearchError after TRIES failures."""
        position = subject.positions[ply]
        if position.outcome() is not None:
            return PlyResult()
        job = subject.job(ply, analysis.asked_by)
        tries = 0
        while True:
            try:
                return ply_result(position, await self._search_with_lease(analysis, job))
            except (EngineUnavailable, QueueFull):
                await self._wait_for_engines(analysis)
            except RulesChanged:
                raise
            except SearchError as error:
                log.warning("search failed", match=analysis.match, ply=ply, error=str(error))
                tries += 1
                if tries == TRIES:
                    raise

    async def _search_with_lease(self, analysis: Analysis, job: Job) -> Result:
        """Runs a search and renews the lease during it. Cancels the search if the lease is lost."""
        search = asyncio.ensure_future(self._ports.engines.search(job, lambda info: None))
        try:
            while not (await asyncio.wait([search], timeout=RENEW_S))[0]:
                _check(await self._ports.store.analyses.renew(analysis, LEASE_MS))
            return await search
        finally:
            search.cancel()

    async def _wait_for_engines(self, analysis: Analysis) -> None:
        """Waits BUSY_RETRY_S. A node without engines returns the analysis to the queue."""
        await asyncio.sleep(BUSY_RETRY_S)
        if not self._slots:
            await self._ports.store.analyses.end(analysis, "queued")
            raise LeaseLost
        _check(await self._ports.store.analyses.renew(analysis, LEASE_MS))


def _check(has_lease: bool) -> None:
    if not has_lease:
        raise LeaseLost


def _reason(error: SearchError) -> str:
    """The reason for people why a search failed; the engine's own message is in the log."""
    if isinstance(error, RulesChanged):
        return "The engines have other rules than this server; try again later."
    return "No engine could search one of the positions; try again later."


@asynccontextmanager
async def open_analyses(ports: Ports) -> AsyncIterator[AnalysisFeed]:
    """Runs the analyses of this node, and yields their feed."""
    feed = AnalysisFeed(ports.bus, ports.node)
    stop_listening = ports.bus.listen(feed.on_message)
    task = asyncio.create_task(AnalysisRunner(ports, feed).run(), name="analyses")
    try:
        yield feed
    finally:
        stop_listening()
        task.cancel()
        await asyncio.wait([task])
