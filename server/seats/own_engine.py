"""The transport of searches to the node's own pool, which is one place beside the workers."""

import asyncio
from collections.abc import Callable

from engine.dispatch.dispatcher import Dispatcher, Settled
from engine.dispatch.placing import Offer
from engine.dispatch.search import Attempt
from engine.search.job import RIVALS, Info, Job, SearchFailed, Use
from server.ports import Engines
from server.seats.broker_transport import RemoteSearch

#: The name of the node's own pool among the places. No worker's name is empty.
OWN = ""


class OwnEngine:
    """Runs attempts on the pool; calls `on_end(settled)` whenever one has ended."""

    def __init__(
        self,
        engines: Engines,
        dispatcher: Dispatcher[RemoteSearch, str],
        on_end: Callable[[Settled[RemoteSearch, str] | None], None],
    ) -> None:
        self._engines = engines
        self._dispatcher = dispatcher
        self._on_end = on_end
        self._tasks: dict[Attempt[str], asyncio.Task[None]] = {}

    def offer(self, job: Job) -> Offer[str]:
        """The pool as a place. It queues any number of live searches."""
        is_free, is_compiled = self.is_free_for(job.use), self._engines.is_warm(job.game)
        is_full = job.use != "live" and not is_free
        return Offer(OWN, 0.0 if is_free else 1.0, is_compiled=is_compiled, is_full=is_full)

    def is_free_for(self, use: Use) -> bool:
        """Whether the pool has fewer searches of the rivals of this class than processes."""
        load, uses = self._engines.load(), RIVALS[use]
        loads = [load.of(rival) for rival in uses]
        known_count = sum(each.running + each.waiting for each in loads)
        own_count = self._dispatcher.places.running_at(OWN, uses)
        return max(known_count, own_count) < load.workers

    def start(self, search: RemoteSearch, attempt: Attempt[str]) -> None:
        """Starts an attempt in a task of its own."""
        self._tasks[attempt] = asyncio.create_task(
            self._run(search, attempt), name=f"own search {search.id}"
        )

    def stop(self, attempt: Attempt[str]) -> None:
        """Cancels an attempt."""
        task = self._tasks.pop(attempt, None)
        if task is not None:
            task.cancel()

    async def _run(self, search: RemoteSearch, attempt: Attempt[str]) -> None:
        def report(info: Info) -> None:
            self._dispatcher.on_progress(attempt, info)
            search.on_info(info)

        try:
            result = await self._engines.search(search.job, report, attempt.time_ms)
            settled = self._dispatcher.on_answer(attempt, result)
        except SearchFailed as error:
            search.own_error = error
            settled = self._dispatcher.put_back(attempt, error)
        except Exception as error:
            settled = self._dispatcher.fail(search, error)
        self._tasks.pop(attempt, None)
        self._on_end(settled)
