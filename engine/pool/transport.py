"""The pool's transport: sends searches to worker processes over their pipes, and passes their
reports to the dispatcher.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from engine.dispatch.dispatcher import Dispatcher, Settled, WorkersLost
from engine.dispatch.placing import Offer
from engine.dispatch.search import Attempt
from engine.pool.messages import (
    Accepted,
    Answered,
    Failed,
    NotCompiled,
    Progress,
    Ready,
    SearchCommand,
    SearchStarted,
    WorkerMessage,
)
from engine.pool.quarantine import Quarantine
from engine.pool.readiness import Readiness
from engine.pool.slot import PoolSearch, WorkerSlot
from engine.pool.workers import Workers
from engine.search.job import (
    BACKGROUND,
    LIVE,
    USES,
    Info,
    Result,
    RulesChanged,
    SearchError,
    SearchFailed,
    SearchLost,
    Use,
)
from engine.search.uncompiled import may_answer_uncompiled

#: Seconds for which a search waits while all other workers load its game. Loading takes a fraction
#: of that on a usual disk.
LOADING_PATIENCE_S = 1.0


@dataclass(slots=True)
class PoolCounters:
    """Counts since the pool was opened: searches answered, failed and retried.

    `ended` counts the worker and compiling processes that died or were killed.
    """

    answered: int = 0
    failed: int = 0
    retried: int = 0
    ended: int = 0


#: Makes the workers. Its arguments are their callbacks for a message and for the end of a process.
MakeWorkers = Callable[
    [Callable[[WorkerSlot, WorkerMessage], None], Callable[[WorkerSlot], None]], Workers
]


class PipeTransport:
    """Carries out what the dispatcher decides, on the workers that `make_workers` makes."""

    def __init__(
        self,
        dispatcher: Dispatcher[PoolSearch, WorkerSlot],
        readiness: Readiness,
        quarantine: Quarantine,
        counts: PoolCounters,
        make_workers: MakeWorkers,
    ) -> None:
        self.workers = make_workers(self._on_message, self._on_end)
        self._dispatcher = dispatcher
        self._readiness = readiness
        self._quarantine = quarantine
        self._counts = counts
        self._timer: asyncio.TimerHandle | None = None
        self._redispatch: asyncio.TimerHandle | None = None

    # --- to the workers

    def dispatch(self) -> None:
        """Sends waiting searches to idle workers; where there is none, it stops less urgent
        searches.
        """
        while self._dispatcher.waiting_count and self.workers.has_idle:
            assigned = self._dispatcher.assign(_now_s(), self._offers, self._startable_classes())
            if assigned is None:
                break
            search, attempt = assigned
            try:
                self._send(search, attempt)
            except SearchError as error:
                attempt.place.release()
                self.settle(self._dispatcher.fail(search, error))

        if self._dispatcher.waiting_count:
            self._preempt()

    def _startable_classes(self) -> Collection[Use]:
        """The classes of which a search may start: those that are not live leave a worker free."""
        background_count = sum(self._dispatcher.load_of(use).running for use in BACKGROUND)
        return USES if background_count < self.workers.background_size else LIVE

    def _preempt(self) -> None:
        """Stops less urgent searches for those that wait for a worker."""
        for attempt in self._dispatcher.preempt(
            self.workers.stopping_count,
            lambda search: self._readiness.is_searchable(search.job, _now_s()),
            lambda attempt: attempt.place.is_loading,
        ):
            self.stop(attempt)

    def _offers(self, search: PoolSearch) -> Iterable[Offer[WorkerSlot]]:
        """The idle workers, with their reluctance as load."""
        if not self._readiness.is_searchable(search.job, _now_s()):
            return ()
        return [
            Offer(slot, self.workers.reluctance(slot, search.job), used_s=slot.assigned_s)
            for slot in self.workers.slots
            if slot.is_idle and not self._waits_for_loading(search, slot)
        ]

    def _waits_for_loading(self, search: PoolSearch, slot: WorkerSlot) -> bool:
        """Whether a search waits until another worker has loaded the game.

        The workers never all load one game, because a disk or a lock may make that slow. So the
        last one waits a moment. A live job is then searched uncompiled, the others wait on.
        """
        if self._may_load(search, slot):
            return False
        begun_s = min(
            other.assigned_s for other in self.workers.slots
            if other.is_loading_game(search.job.game)
        )  # fmt: skip
        waits_until_s = begun_s + LOADING_PATIENCE_S
        if _now_s() >= waits_until_s:
            return not may_answer_uncompiled(search.job)
        self._dispatch_at(waits_until_s)
        return True

    def _may_load(self, search: PoolSearch, slot: WorkerSlot) -> bool:
        """Whether the worker need not load the game for a search, or another one stays free."""
        job = search.job
        if slot.has_loaded_for(search) or self._readiness.is_uncompiled_at(slot, job, _now_s()):
            return True
        loading = sum(other.is_loading_game(job.game) for other in self.workers.slots)
        return not loading or loading + 1 < len(self.workers.slots)

    def _dispatch_at(self, at_s: float) -> None:
        """Dispatches again at a loop time, unless that is planned for an earlier one."""
        if self._redispatch is not None and self._redispatch.when() <= at_s:
            return
        if self._redispatch is not None:
            self._redispatch.cancel()
        self._redispatch = asyncio.get_running_loop().call_at(at_s, self._redispatch_now)

    def _redispatch_now(self) -> None:
        self._redispatch = None
        self.dispatch()

    def _send(self, search: PoolSearch, attempt: Attempt[WorkerSlot]) -> None:
        slot, job = attempt.place, search.job
        search.first_sent_s = search.first_sent_s or attempt.sent_s
        may_load = self._may_load(search, slot)
        is_uncompiled = not may_load or self._readiness.is_uncompiled_at(slot, job, _now_s())
        slot.begin(search, attempt, is_uncompiled)
        slot.process.send(
            SearchCommand(
                slot.command_number, job, attempt.time_ms, slot.is_uncompiled,
                self._readiness.may_compile(job.game),
            )
        )  # fmt: skip

    def settle(self, settled: Settled[PoolSearch, WorkerSlot] | None) -> None:
        """Hands an answer or an error to the caller, and stops a worker that still searches."""
        if settled is None:
            return
        if settled.running_attempt is not None:
            self.stop(settled.running_attempt)
        if isinstance(settled.outcome, WorkersLost):
            self._count(settled.search, str(settled.outcome), is_lost=True)
        elif isinstance(settled.outcome, Result) and settled.search.has_hung:
            self._count(settled.search, "a worker hung before it had an answer", is_lost=True)
        answer, outcome = settled.search.answer, settled.outcome
        if answer.done():  # its caller was cancelled
            return
        if isinstance(outcome, Result):
            self._counts.answered += 1
            answer.set_result(outcome)
        else:
            self._counts.failed += 1
            answer.set_exception(outcome)

    def settle_all(self, settled: Sequence[Settled[PoolSearch, WorkerSlot]]) -> None:
        """Settles several searches that end together."""
        for each in settled:
            self.settle(each)

    def stop(self, attempt: Attempt[WorkerSlot]) -> None:
        """Cancels a running search."""
        if attempt.place.attempt is attempt:
            attempt.place.stop(_now_s())

    # --- from the workers

    def _on_message(self, slot: WorkerSlot, message: WorkerMessage) -> None:
        """Handles a message of a worker; one about an earlier job is stale."""
        match message:
            case Progress(number=number, info=info) if number == slot.command_number:
                self._on_progress(slot, info)
            case Ready():
                self.dispatch()
            case Accepted(number=number) if number == slot.command_number:
                slot.on_accepted(_now_s())
            case SearchStarted(number=number) if number == slot.command_number:
                self._on_started(slot)
            case Answered(number=number, result=result) if number == slot.command_number:
                self._on_answer(slot, result)
            case Failed(number=number) as failed if number == slot.command_number:
                self._on_failure(slot, failed)
            case NotCompiled(number=number) as missing if number == slot.command_number:
                self._on_not_compiled(slot, missing)
            case _:
                pass

    def _on_started(self, slot: WorkerSlot) -> None:
        if slot.attempt is not None:
            now_s = _now_s()
            self._dispatcher.on_begun(slot.attempt, now_s)
            slot.on_started(now_s)
            if self._dispatcher.waiting_count:  # a search may have waited for the loading
                self.dispatch()

    def _on_progress(self, slot: WorkerSlot, info: Info) -> None:
        search, attempt = slot.pending, slot.attempt
        if search is None or attempt is None or not self._dispatcher.on_progress(attempt, info):
            return
        slot.on_nodes(info.nodes, _now_s())
        if search.on_info is not None:
            try:
                search.on_info(info)
            except Exception as error:
                self.settle(self._dispatcher.fail(search, error))

    def _on_answer(self, slot: WorkerSlot, result: Result) -> None:
        search, attempt = slot.pending, slot.attempt
        slot.release()
        if search is not None and attempt is not None:
            self._quarantine.record_answer(search.job.game, search.job.rules, _now_s())
            search.has_hung = False  # another worker has answered
            self.settle(self._dispatcher.on_answer(attempt, result))
        self.dispatch()

    def _on_failure(self, slot: WorkerSlot, failed: Failed) -> None:
        search, attempt = slot.pending, slot.attempt
        slot.release()
        if search is not None and attempt is not None:
            is_changed = failed.reason == "rules_changed"
            if is_changed and self._readiness.fall_back_to_uncompiled(slot, search.job):
                self.settle(self._dispatcher.put_back(attempt))
            else:
                kind = RulesChanged if is_changed else SearchFailed
                error = kind(failed.message or "the search was cancelled")
                self.settle(self._dispatcher.fail(search, error))
                if failed.reason == "fault":
                    self._count(search, failed.message, is_lost=False)
        self.dispatch()

    def _on_not_compiled(self, slot: WorkerSlot, missing: NotCompiled) -> None:
        search, attempt = slot.pending, slot.attempt
        slot.release()
        if search is not None and attempt is not None:
            if missing.is_locked:
                self._dispatch_at(self._readiness.on_locked(search.job.game, _now_s()))
            else:
                self._readiness.on_not_compiled(search.job.game)
            is_counted = not missing.is_locked
            self.settle(self._dispatcher.put_back(attempt, is_counted=is_counted))
        self.dispatch()

    def _on_end(self, slot: WorkerSlot) -> None:
        """Retries or settles the search of a worker that died or hung."""
        self._counts.ended += 1
        search, attempt, stopping = slot.pending, slot.attempt, slot.stopping
        has_hung = slot.is_hung and not slot.is_loading
        slot.release()
        self._dispatcher.places.forget(slot)
        if self.workers.is_failing_to_start:
            error = SearchLost("the search workers do not start")
            self.settle_all(self._dispatcher.fail_waiting(lambda _: error))
        if has_hung and stopping is not None:
            self._count(stopping, "a worker did not stop a cancelled search", is_lost=True)
        if search is None or attempt is None:
            return
        search.has_hung = search.has_hung or has_hung
        settled = self._dispatcher.on_lost(attempt, _now_s(), time_counts=slot.is_hung)
        self.settle(settled)
        if settled is None:
            self._counts.retried += 1
            self._set_timer()
            self.dispatch()

    def _count(self, search: PoolSearch, message: str, *, is_lost: bool) -> None:
        """Counts a search that raised an error, or that its workers lost. If that quarantines the
        game, its waiting searches fail now.
        """
        job, now_s, quarantine = search.job, _now_s(), self._quarantine
        if is_lost:
            begun_s = now_s if search.first_sent_s is None else search.first_sent_s
            starts = quarantine.record_loss(job.game, job.rules, message, begun_s, now_s)
        else:
            starts = quarantine.record_fault(job.game, job.rules, message, now_s)
        if starts:
            self.settle_all(
                self._dispatcher.fail_waiting(
                    lambda each: quarantine.error(each.job.game, each.job.rules, now_s)
                )
            )

    # --- time

    def _set_timer(self) -> None:
        """Sets the timer that calls `_expire` when the time of the next lost search is over."""
        if self._timer is not None:
            self._timer.cancel()
        deadline_s = self._dispatcher.next_deadline_s()
        loop = asyncio.get_running_loop()
        self._timer = None if deadline_s is None else loop.call_at(deadline_s, self._expire)

    def _expire(self) -> None:
        self.settle_all(self._dispatcher.expire(_now_s()))
        self._set_timer()

    def close(self, error: Exception) -> None:
        """Ends all searches with the error."""
        for timer in (self._timer, self._redispatch):
            if timer is not None:
                timer.cancel()
        self.settle_all(self._dispatcher.close(error))


def _now_s() -> float:
    return asyncio.get_running_loop().time()
