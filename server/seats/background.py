"""Searches that people ask for: a question about a position (ask), or the analysis of a match
(study).

A node has one `BackgroundSearches` (`Ports.background`). A request is one search, or several:

    result = await searches.search(identity, "ask", job)

    async with searches.request(identity, "study") as search:
        for job in jobs:
            result = await search(job)

The result of an ask is cached for some minutes, so that the same question about a position is
searched once. Live searches come first, so a request may take any time. The limits are in memory,
for each identity and class on this node. The analysis of a match is no such request: the store
counts its limits, for all nodes together (server/analysis/requests.py).
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
    PersonUse,
    RunSearch,
    SearchRefused,
)
from server.settings import Settings

#: Maximum number of nodes of a job. A preempted search begins anew, so searches must be short.
MAX_NODES = 200_000
#: Time for which the result of an ask is cached, in seconds.
KEEP_S = 300.0
#: Maximum number of cached results.
MAX_KEPT = 256
#: The name of each class of requests in messages to people.
SUBJECTS: dict[PersonUse, str] = {"ask": "questions to the engine", "study": "analyses"}

_encode_job = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _Person:
    """The unfinished requests of an identity in one class."""

    turns: asyncio.Semaphore
    count: int = 0


class BackgroundSearches:
    """Runs the searches that people ask for on a node's engines, within limits."""

    def __init__(self, engines: Engines, settings: Settings, now_s: Callable[[], float]) -> None:
        self._engines = engines
        self._settings = settings
        self._now_s = now_s
        self._people: dict[tuple[IdentityId, PersonUse], _Person] = {}
        #: The cached results by job, the oldest first, each with the time until which it is valid.
        self._kept: dict[bytes, tuple[float, Result]] = {}
        asks, studies = settings.limit_asks_per_hour, settings.limit_studies_per_day
        self._rates: dict[PersonUse, RateLimit] = {
            "ask": RateLimit(SUBJECTS["ask"], asks, asks / 60),
            "study": RateLimit(SUBJECTS["study"], studies, studies / (24 * 60)),
        }

    async def search(
        self, identity: IdentityId, use: PersonUse, job: Job, on_info: OnInfo = lambda info: None
    ) -> Result:
        """Runs a request of one search, and returns its result. Raises as `request` does.

        A repeated ask gets the cached result at once, and counts against no limit.
        """
        key = _encode_job(replace(job, affinity=""))
        kept = self._find(key) if use == "ask" else None
        if kept is not None:
            return kept
        async with self.request(identity, use) as search:
            result = await search(job, on_info)
        if use == "ask" and not result.info.warming:
            self._keep(key, result)
        return result

    @asynccontextmanager
    async def request(self, identity: IdentityId, use: PersonUse) -> AsyncIterator[RunSearch]:
        """Waits for the identity's turn, and yields the function that runs a search.

        That function takes a job with a limit of at most MAX_NODES nodes, and `on_info`. Raises
        SearchRefused beyond a limit. The function raises SearchError, and SearchRefused if no
        engine has room.
        """
        person = self._enter(identity, use)
        try:
            async with person.turns:
                yield self._runner(identity, use)
        finally:
            person.count -= 1
            if not person.count:
                del self._people[identity, use]

    def _find(self, key: bytes) -> Result | None:
        """The cached result of a job, if it is still valid."""
        until_s, result = self._kept.get(key, (0.0, None))
        return result if self._now_s() < until_s else None

    def _keep(self, key: bytes, result: Result) -> None:
        self._kept.pop(key, None)
        self._kept[key] = self._now_s() + KEEP_S, result
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]

    def _enter(self, identity: IdentityId, use: PersonUse) -> _Person:
        """Counts a request. Raises SearchRefused beyond a limit."""
        running, waiting = (
            self._settings.limit_background_running,
            self._settings.limit_background_waiting,
        )
        key = (identity, use)
        person = self._people.get(key) or _Person(asyncio.Semaphore(running or 1_000_000))
        if running and waiting and person.count >= running + waiting:
            raise SearchRefused(
                Code.RATE_EXCEEDED,
                f"{person.count} of your {SUBJECTS[use]} are running or waiting;"
                " wait until one of them has ended",
            )
        self._count(identity, use)
        self._people[key] = person
        person.count += 1
        return person

    def _count(self, identity: IdentityId, use: PersonUse) -> None:
        """Counts a request against the hourly or daily limit. Raises SearchRefused beyond it."""
        try:
            self._rates[use].take(identity, self._now_s())
        except LimitExceeded as limit:
            number, period = self._settings.limit_asks_per_hour, "an hour"
            if use == "study":
                number, period = self._settings.limit_studies_per_day, "a day"
            minutes = max(1, round(limit.retry_s / 60))
            raise SearchRefused(
                Code.RATE_EXCEEDED,
                f"you have reached the limit of {number} {SUBJECTS[use]} {period};"
                f" try again in {minutes} min",
            ) from limit

    def _runner(self, identity: IdentityId, use: PersonUse) -> RunSearch:
        async def run(job: Job, on_info: Callable[[Info], None] = lambda info: None) -> Result:
            try:
                return await self._engines.search(job_for_person(job, identity, use), on_info)
            except QueueFull as error:
                raise SearchRefused(
                    Code.ENGINE_BUSY, "all engines are busy; try again in a few minutes"
                ) from error
            except EngineUnavailable as error:
                raise SearchRefused(
                    Code.ENGINE_BUSY, "no engine is connected that could answer; try again later"
                ) from error

        return run


def job_for_person(job: Job, identity: IdentityId, use: PersonUse) -> Job:
    """The job in the class `use`. The identity is its affinity: identities take turns.

    Raises ValueError if the job is not limited by nodes.
    """
    limit = job.limit
    has_other_player = (job.level, job.persona, job.strategy) != (None, None, None)
    has_time = (limit.time_ms, limit.clock_ms) != (None, None)
    if has_other_player or has_time or limit.nodes is None or limit.nodes > MAX_NODES:
        raise ValueError(f"a search for a person has a limit of 1 to {MAX_NODES} nodes only")
    return replace(job, use=use, affinity=f"{use}:{identity}")
