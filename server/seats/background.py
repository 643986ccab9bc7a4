"""Searches for a person's questions about positions: the class `ask`.

A node has one `BackgroundSearches` (`Ports.background`). A request is one search, or several:

    result = await searches.search(identity, job)

    async with searches.request(identity) as search:
        for job in jobs:
            result = await search(job)

The result of a request of one search is cached for some minutes, so that the same question about a
position is searched once. Live searches come first, so a request may take any time. The limits are
in memory, for each identity on this node. The analysis of a match (`study`) is no such request: the
store counts its limits, for all nodes together (server/analysis/requests.py).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.search.job import Info, Job, Result
from server.codes import Code
from server.ids import IdentityId
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import (
    Engines,
    EngineUnavailable,
    OnInfo,
    RunSearch,
    SearchRefused,
)
from server.settings import Settings

#: Maximum number of nodes of a job. A preempted search begins anew, so searches must be short.
MAX_NODES = 200_000
#: Time for which a result is cached, in seconds.
KEEP_S = 300.0
#: Maximum number of cached results.
MAX_KEPT = 256
#: The name of the requests in messages to people.
SUBJECT = "questions to the engine"

_encode_job = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _Person:
    """The unfinished requests of an identity."""

    turns: asyncio.Semaphore
    count: int = 0


class BackgroundSearches:
    """Runs the searches that people ask for on a node's engines, within limits."""

    def __init__(self, engines: Engines, settings: Settings, now_s: Callable[[], float]) -> None:
        self._engines = engines
        self._settings = settings
        self._now_s = now_s
        self._people: dict[IdentityId, _Person] = {}
        #: The cached results by job, the oldest first, each with the time until which it is valid.
        self._kept: dict[bytes, tuple[float, Result]] = {}
        per_hour = settings.limit_asks_per_hour
        self._rate = RateLimit(SUBJECT, per_hour, per_hour / 60)

    async def search(
        self, identity: IdentityId, job: Job, on_info: OnInfo = lambda info: None
    ) -> Result:
        """Runs a request of one search, and returns its result. Raises as `request` does.

        A repeated question gets the cached result at once, and counts against no limit.
        """
        key = _encode_job(replace(job, affinity=""))
        kept = self._find(key)
        if kept is not None:
            return kept
        async with self.request(identity) as search:
            result = await search(job, on_info)
        if not result.info.warming:
            self._keep(key, result)
        return result

    @asynccontextmanager
    async def request(self, identity: IdentityId) -> AsyncIterator[RunSearch]:
        """Waits for the identity's turn, and yields the function that runs a search.

        That function takes a job with a limit of at most MAX_NODES nodes, and `on_info`. Raises
        SearchRefused beyond a limit. The function raises SearchError, and SearchRefused if no
        engine has room.
        """
        person = self._enter(identity)
        try:
            async with person.turns:
                yield self._runner(identity)
        finally:
            person.count -= 1
            if not person.count:
                del self._people[identity]

    def _find(self, key: bytes) -> Result | None:
        """The cached result of a job, if it is still valid."""
        until_s, result = self._kept.get(key, (0.0, None))
        return result if self._now_s() < until_s else None

    def _keep(self, key: bytes, result: Result) -> None:
        self._kept.pop(key, None)
        self._kept[key] = self._now_s() + KEEP_S, result
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]

    def _enter(self, identity: IdentityId) -> _Person:
        """Counts a request. Raises SearchRefused beyond a limit."""
        running, waiting = (
            self._settings.limit_background_running,
            self._settings.limit_background_waiting,
        )
        person = self._people.get(identity) or _Person(asyncio.Semaphore(running or 1_000_000))
        if running and waiting and person.count >= running + waiting:
            raise SearchRefused(
                Code.RATE_EXCEEDED,
                f"{person.count} of your {SUBJECT} are running or waiting;"
                " wait until one of them has ended",
            )
        self._count(identity)
        self._people[identity] = person
        person.count += 1
        return person

    def _count(self, identity: IdentityId) -> None:
        """Counts a request against the hourly limit. Raises SearchRefused beyond it."""
        try:
            self._rate.take(identity, self._now_s())
        except LimitExceeded as limit:
            minutes = max(1, round(limit.retry_s / 60))
            raise SearchRefused(
                Code.RATE_EXCEEDED,
                f"you have reached the limit of {self._settings.limit_asks_per_hour} {SUBJECT}"
                f" an hour; try again in {minutes} min",
            ) from limit

    def _runner(self, identity: IdentityId) -> RunSearch:
        async def run(job: Job, on_info: Callable[[Info], None] = lambda info: None) -> Result:
            try:
                return await self._engines.search(job_for_person(job, identity), on_info)
            except QueueFull as error:
                raise SearchRefused(
                    Code.ENGINE_BUSY, "all engines are busy; try again in a few minutes"
                ) from error
            except EngineUnavailable as error:
                raise SearchRefused(
                    Code.ENGINE_BUSY, "no engine is connected that could answer; try again later"
                ) from error

        return run


def job_for_person(job: Job, identity: IdentityId) -> Job:
    """The job in the class `ask`. The identity is its affinity: identities take turns.

    Raises ValueError if the job is not limited by nodes.
    """
    limit = job.limit
    has_other_player = (job.level, job.persona, job.strategy) != (None, None, None)
    has_time = (limit.time_ms, limit.clock_ms) != (None, None)
    if has_other_player or has_time or limit.nodes is None or limit.nodes > MAX_NODES:
        raise ValueError(f"a search for a person has a limit of 1 to {MAX_NODES} nodes only")
    return replace(job, use="ask", affinity=f"ask:{identity}")
