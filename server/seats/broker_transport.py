"""The transport of searches to workers over the broker: sends attempts, watches for silent
workers, and passes the reports of the others to the dispatcher.

Workers are not trusted: `server.seats.answers` checks their messages about a search. An answer
counts only if it carries the search's id and the number of its current attempt.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from engine.dispatch.dispatcher import Dispatcher, Settled
from engine.dispatch.search import Attempt, PendingSearch
from engine.search.job import Info, Job, Result, SearchFailed
from engine.strategies import reasons
from engine.strategies.contract import StrategyFailed
from server.bus import work
from server.bus.link import Link
from server.bus.work import Malformed
from server.ports import OnInfo
from server.seats.answers import Checker, ImpossibleAnswer, position_of
from server.seats.workers import RemoteWorkers, quoted

log = structlog.get_logger()

#: Time within which a worker must confirm a search, in seconds. Otherwise the attempt is lost.
ACCEPT_S = 1.0
#: Longest silence of a searching worker, in seconds. A worker sends a message twice a second.
SILENCE_S = 1.5
#: Grace period after the search's own time, in seconds.
GRACE_S = 0.5
#: Deadline of one attempt at a live search, in seconds; it allows for compiling the game.
DEADLINE_S = 120.0
#: Pause before a worker that was busy gets a search again, in seconds.
BUSY_S = 0.25
#: Pause before a worker that has the game in quarantine without end gets a search of it again, in
#: seconds: it may have been restarted.
QUARANTINED_S = 60.0
#: Shortest time between two progress messages that are read, in seconds. A worker sends ten a
#: second.
PROGRESS_S = 0.08


class RemoteSearch(PendingSearch[str], eq=False, kw_only=True):
    """A search that a room waits for. Its places are workers, by name."""

    id: str
    answer: asyncio.Future[Result]
    on_info: OnInfo
    #: The error with which the node's own pool failed at the search.
    own_error: SearchFailed | None = None
    _checker: Checker | None = None

    def checker(self) -> Checker:
        """The checker of this search's answers.

        Raises SearchFailed for a job that cannot be searched.
        """
        if self._checker is None:
            self._checker = Checker(position_of(self.job, self.game))
        return self._checker


@dataclass(eq=False, slots=True)
class SentAttempt:
    """An attempt that a worker has, and when the worker counts as silent or late."""

    search: RemoteSearch
    attempt: Attempt[str]
    is_compiled: bool
    #: The loop time at which the worker counts as silent.
    silent_at_s: float
    #: The loop time from which progress is read again.
    progress_at_s: float = 0.0
    alarm: asyncio.TimerHandle | None = None
    #: The loop time of the alarm. uvloop's handle of an alarm that is due at once has no `when`.
    alarm_at_s: float = 0.0

    @property
    def lost_at_s(self) -> float:
        """The loop time at which the attempt is lost, if no message comes before."""
        return min(self.silent_at_s, self.end_s)

    @property
    def end_s(self) -> float:
        """The loop time at which the attempt is late."""
        end_s = self.attempt.sent_s + deadline_s(self.search.job)
        job_end_s = self.search.end_s(self.attempt.sent_s)
        # Compiling may take longer than the search.
        return min(end_s, job_end_s + GRACE_S) if job_end_s and self.is_compiled else end_s


@dataclass(slots=True)
class Counts:
    """Counts since the start: answered searches, lost attempts, late and malformed messages.

    `Metrics.bad_answers` counts impossible messages.
    """

    answered: int = 0
    lost: int = 0
    late: int = 0
    malformed: int = 0


class BrokerTransport:
    """Sends the searches of `node` to workers.

    It calls `on_end(settled)` whenever an attempt has ended, with the end of its search, if that
    has ended too.
    """

    def __init__(
        self,
        link: Link,
        node: str,
        dispatcher: Dispatcher[RemoteSearch, str],
        workers: RemoteWorkers,
        counts: Counts,
        on_end: Callable[[Settled[RemoteSearch, str] | None], None],
    ) -> None:
        self._link = link
        self._node = node
        self._dispatcher = dispatcher
        self._workers = workers
        self._counts = counts
        self._on_end = on_end
        #: The attempts that workers have, by the id of their search.
        self._sent: dict[str, SentAttempt] = {}

    # --- to the workers

    def send(self, search: RemoteSearch, attempt: Attempt[str]) -> None:
        """Sends an attempt to its worker; raises SearchFailed if the command is too long."""
        command = work.Search(
            id=search.id, attempt=attempt.number, server=self._node, job=_hide_room(search.job),
            deadline_ms=int(deadline_s(search.job) * 1000), time_ms=attempt.time_ms,
        )  # fmt: skip
        payload = work.encode(command)
        if len(payload) > work.MAX_BYTES:
            raise SearchFailed(f"a search has at most {work.MAX_BYTES} bytes, not {len(payload)}")
        advert = self._workers.known[attempt.place].advert
        is_compiled = search.job.strategy is not None or search.job.game in advert.games
        sent = SentAttempt(search, attempt, is_compiled, attempt.sent_s + ACCEPT_S)
        self._sent[search.id] = sent
        self._link.publish(work.commands_topic(attempt.place), payload, reliable=True)
        self._watch(sent)

    def stop(self, search: RemoteSearch, attempt: Attempt[str]) -> None:
        """Commands the worker to stop an attempt, and ignores its further messages about it."""
        self._forget(search)
        command = work.encode(work.Stop(search.id, attempt.number))
        self._link.publish(work.commands_topic(attempt.place), command, reliable=True)

    def lose_all(self, reason: str, worker: str | None = None) -> None:
        """Gives up the attempts at one worker, or at all workers, as lost."""
        for sent in list(self._sent.values()):
            if worker in (None, sent.attempt.place):
                self._lose(sent, reason)

    # --- silence

    def _watch(self, sent: SentAttempt) -> None:
        """Sets the alarm for the moment at which the worker counts as silent or late.

        An alarm that is already set for an earlier time stays: when it fires, `_on_alarm` sets the
        next one. So the messages of a running search cost no new timers.
        """
        at_s = sent.lost_at_s
        if sent.alarm is not None:
            if sent.alarm_at_s <= at_s:
                return
            sent.alarm.cancel()
        sent.alarm_at_s = at_s
        sent.alarm = asyncio.get_running_loop().call_at(at_s, self._on_alarm, sent)

    def _on_alarm(self, sent: SentAttempt) -> None:
        sent.alarm = None
        now_s = _now_s()
        if sent.lost_at_s > now_s:
            self._watch(sent)
        elif sent.end_s > now_s:
            self._lose(sent, "silent")
        elif sent.search.use == "live":
            self._lose(sent, "late")
        else:  # live searches kept the worker busy
            self.stop(sent.search, sent.attempt)
            self._on_end(self._dispatcher.put_back(sent.attempt))

    def _lose(self, sent: SentAttempt, reason: str) -> None:
        self._counts.lost += 1
        search, name = sent.search, sent.attempt.place
        log.warning("search lost", worker=quoted(name), game=search.job.game, reason=reason)
        self.stop(search, sent.attempt)
        # It may have searched since its last message, so the time counts.
        self._on_end(self._dispatcher.on_lost(sent.attempt, _now_s(), time_counts=True))

    def _forget(self, search: RemoteSearch) -> None:
        sent = self._sent.pop(search.id, None)
        if sent is not None and sent.alarm is not None:
            sent.alarm.cancel()

    # --- from the workers

    def on_message(self, topic: str, payload: bytes) -> None:
        """Handles a worker's message about a search."""
        try:
            message = work.parse_worker_message(payload)
        except Malformed as error:
            reject_message(self._link, self._counts, topic, error)
            header = work.parse_search_id(payload)
            sent = None if header is None else self._current(header.id, header.attempt)
            if sent is not None:
                self._discredit(sent, "a malformed answer")
            return
        sent = self._current(message.id, message.attempt)
        if sent is None:
            self._counts.late += 1
            return
        sent.silent_at_s = _now_s() + SILENCE_S
        match message:
            case work.Taken():
                self._watch(sent)
            case work.Progress(info=info):
                self._on_progress(sent, info)
            case work.Answered(result=result):
                self._on_answer(sent, result)
            case work.Refused(lost=True):
                self._lose(sent, "its processes died or hung")
            case work.Refused(reason=reason, message=text, left_ms=left_ms):
                self._on_refused(sent, reason, text, left_ms)

    def _current(self, search_id: str, number: int) -> SentAttempt | None:
        """The attempt with this number, if it is the current one of its search."""
        sent = self._sent.get(search_id)
        return sent if sent is not None and sent.attempt.number == number else None

    def _on_progress(self, sent: SentAttempt, info: Info) -> None:
        """Checks and reports a progress message, unless it follows the previous one too soon."""
        search, now_s = sent.search, _now_s()
        if now_s >= sent.progress_at_s:
            sent.progress_at_s = now_s + PROGRESS_S
            try:
                info = search.checker().check_info(info)
                self._dispatcher.on_begun(sent.attempt, now_s - info.time_ms / 1000)
                self._dispatcher.on_progress(sent.attempt, info)
                search.on_info(info)
            except ImpossibleAnswer as error:
                self._discredit(sent, str(error))
                return
            except Exception as error:
                self._on_end(self._dispatcher.fail(search, error))
                return
        self._watch(sent)

    def _on_answer(self, sent: SentAttempt, result: Result) -> None:
        """Ends the attempt with the answer after checking it."""
        search = sent.search
        try:
            result = search.checker().check_result(result)
        except ImpossibleAnswer as error:
            self._discredit(sent, str(error))
        except SearchFailed as error:
            self._on_end(self._dispatcher.fail(search, error))
        else:
            self._forget(search)
            self._counts.answered += 1
            self._on_end(self._dispatcher.on_answer(sent.attempt, result))

    def _on_refused(self, sent: SentAttempt, reason: str, text: str, left_ms: int) -> None:
        search, name = sent.search, sent.attempt.place
        self._forget(search)
        failed_with = None
        match reason:
            case "busy":
                self._dispatcher.places.pause(name, _now_s() + BUSY_S)
            case "game.changed":
                self._workers.forget(name)  # until it advertises again
            case "quarantined":
                reason = f"it has the game in quarantine: {text}"
                self._workers.distrust(
                    name, search.game, reason, left_ms / 1000 if left_ms else QUARANTINED_S
                )
                if not left_ms:  # nothing to wait for
                    game = search.job.game
                    failed_with = SearchFailed(f"no worker that offers {game} gave a usable answer")
            case "strategy":
                failure = StrategyFailed(text if text in reasons.REASONS else reasons.FAILED)
                self._on_end(self._dispatcher.fail(search, failure))
                return
            case _:
                game, text = search.job.game, quoted(text)
                log.warning(
                    "search failed at a worker", worker=quoted(name), game=game, reason=text
                )
                failed_with = SearchFailed(f"no worker that offers {game} gave a usable answer")
        self._on_end(self._dispatcher.put_back(sent.attempt, failed_with))

    def _discredit(self, sent: SentAttempt, reason: str) -> None:
        """Ends an attempt, and no longer trusts its worker with this game."""
        self._workers.distrust(sent.attempt.place, sent.search.game, reason)
        self.stop(sent.search, sent.attempt)
        self._on_end(self._dispatcher.put_back(sent.attempt))


def deadline_s(job: Job) -> float:
    """The deadline of one attempt at a job, in seconds."""
    return DEADLINE_S if job.use == "live" else work.BACKGROUND_DEADLINE_S


def reject_message(link: Link, counts: Counts, topic: str, error: Malformed) -> None:
    """Counts a malformed message, and logs the 1st, 2nd, 4th, 8th, … one."""
    counts.malformed += 1
    link.counts.refused += 1
    if counts.malformed.bit_count() == 1:
        log.warning(
            "worker message refused",
            topic=quoted(topic),
            reason=quoted(str(error)),
            refused=counts.malformed,
        )


def _hide_room(job: Job) -> Job:
    """The job with a hash of its room's id: anyone who knows the id can enter an unlisted room.

    It has no priority, which older workers do not know: it orders this node's queue only.
    """
    return msgspec.structs.replace(
        job, affinity=hashlib.blake2b(job.affinity.encode(), digest_size=8).hexdigest(), priority=0
    )


def _now_s() -> float:
    return asyncio.get_running_loop().time()
