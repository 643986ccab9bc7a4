"""Searches by remote engine workers, and by the local pool if there is one.

The server owns its searches. It sends a search to a worker and watches the worker. If the worker
dies or falls silent, the server sends the search to another one, at most TRIES times and within the
time that is left; then the local pool searches. An answer counts only if it carries the search's id
and current attempt.

Workers are not trusted: `server.seats.answers` checks their messages about a search. A worker gets
no more searches of a game under the same rules after an impossible message, or when it has the game
in quarantine. A restarted worker has another name and starts afresh. The reason is in this node's
log.
"""

import asyncio
import contextlib
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog

from engine.game import Game, GameError, GameFault
from engine.search.job import Info, Job, Load, Result, RulesChanged, SearchFailed
from engine.search.levels import Level
from engine.search.report import best_so_far, level_of_job
from server.bus import work
from server.bus.link import Link
from server.bus.work import Advert, CompilingGame, Malformed, ReadyGame
from server.ports import Engines, EngineUnavailable, OnInfo
from server.process.metrics import Metrics
from server.seats.answers import Checker, ImpossibleAnswer, position_of

log = structlog.get_logger()

#: Lost attempts after which a search goes to the local pool or fails.
TRIES = 3
#: Time within which a worker must confirm a search, in seconds. Otherwise the attempt is lost.
ACCEPT_S = 1.0
#: Longest silence of a searching worker, in seconds. A worker sends a message twice a second.
SILENCE_S = 1.5
#: Grace period after the search's own time, in seconds.
GRACE_S = 0.5
#: Deadline of one attempt, in seconds; it allows for compiling the game.
DEADLINE_S = 120.0
#: Age after which a worker's advert no longer counts, in seconds.
ADVERT_EXPIRY_S = 3.5
#: Pause before a worker that was busy gets a search again, in seconds.
BUSY_S = 0.25
#: Maximum number of attempts at a search.
MAX_ATTEMPTS = 200
#: Shortest time for another attempt, in seconds. With less left, the best move so far counts.
MIN_RETRY_S = 0.1
#: Maximum number of rooms whose last worker is remembered.
MAX_AFFINITIES = 10_000
#: Shortest time between two progress messages that are read, in seconds. A worker sends ten a
#: second.
PROGRESS_S = 0.08
#: Maximum number of distrusted workers that are remembered.
MAX_DISTRUSTED = 1000
#: Longest quotation of a worker's text in the log, in characters.
MAX_QUOTE = 200


class _Lost(Exception):
    """The attempt is lost: its worker is gone, silent or late."""


class _Busy(Exception):
    """The worker has no capacity for another search."""


class _OtherRules(Exception):
    """The worker has other rules than it advertised."""


class _Failed(Exception):
    """The worker gave no answer to this search."""


class _Untrusted(Exception):
    """The worker is unfit to search this game.

    It sent an impossible or malformed message, or has the game in quarantine.
    """


@dataclass(eq=False, slots=True)
class _Worker:
    """A worker as this server knows it."""

    advert: Advert
    last_heard_s: float
    busy_until_s: float = 0.0
    #: Searches of this server that the worker has not answered yet.
    own_searches: int = 0

    @property
    def load(self) -> float:
        """The worker's searches per core, running and waiting."""
        return max(self.own_searches, self.advert.running + self.advert.waiting) / self.advert.cores

    def nps(self, game_id: str) -> int:
        """The speed that the worker advertises for a game, in nodes per second; 0 for none."""
        offer = self.advert.games.get(game_id)
        return offer.nps if offer is not None else 0


@dataclass(eq=False, slots=True)
class _PendingSearch:
    """A search and the state of its attempts."""

    id: str
    job: Job
    game: Game
    level: Level
    on_info: OnInfo
    attempt: int = 0
    losses: int = 0
    #: The loop time from which the job's time runs; None before the first search.
    begun_s: float | None = None
    #: The last progress of the search.
    latest: Info | None = None
    #: Workers that lost the search. They get it again only if there are no others.
    lost_by: set[str] = field(default_factory=set)
    #: Workers that failed at the search. They do not get it again.
    failed_at: set[str] = field(default_factory=set)
    #: The error with which the local pool failed at the search.
    local_error: SearchFailed | None = None
    _checker: Checker | None = None

    def checker(self) -> Checker:
        """The checker of this search's answers.

        Raises SearchFailed for a job that cannot be searched.
        """
        if self._checker is None:
            self._checker = Checker(position_of(self.job, self.game))
        return self._checker

    def left_s(self, now_s: float) -> float | None:
        """The rest of the job's time, which runs from `begun_s` on; None if it is unlimited."""
        if self.level.limit.time_ms is None:
            return None
        return self.level.limit.time_ms / 1000 - (
            now_s - (self.begun_s if self.begun_s is not None else now_s)
        )


@dataclass(eq=False, slots=True)
class _Attempt:
    """One attempt at a search, by one worker."""

    pending: _PendingSearch
    worker: str
    answer: asyncio.Future[Result]
    #: The loop time at which the worker counts as silent.
    silent_at_s: float
    #: The loop time from which progress is read again.
    progress_at_s: float = 0.0
    is_compiled: bool = True

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclass(slots=True)
class Counts:
    """Counts since the start: answered searches, lost attempts, late and malformed messages.

    `Metrics.bad_answers` counts impossible messages.
    """

    answered: int = 0
    lost: int = 0
    late: int = 0
    malformed: int = 0


class RemoteEngines:
    """Implements `server.ports.Engines`.

    `node` is this server's name and `local` its own pool, if it has one.
    """

    def __init__(
        self,
        link: Link,
        node: str,
        find_game: Callable[[str], Game],
        local: Engines | None,
        metrics: Metrics | None = None,
    ) -> None:
        self.counts = Counts()
        self._metrics = metrics or Metrics()
        self._link = link
        self._node = node
        self._find_game = find_game
        self._local = local
        self._workers: dict[str, _Worker] = {}
        self._attempts: dict[str, _Attempt] = {}
        self._affinity: dict[str, str] = {}
        #: The games that each worker is not trusted with, by its name, with their rules' digests.
        #: The entries outlive the workers' adverts.
        self._distrusted: dict[str, set[tuple[str, str]]] = {}
        link.subscribe(f"{work.WORKERS_TOPIC}/+", self._on_advert)
        link.subscribe(work.answers_topic(node), self._on_message)
        link.on_gap(self._on_gap)

    # --- the Engines interface

    def is_warm(self, game_id: str) -> bool:
        remote = any(
            self._is_offered(worker, worker.advert.games.get(game_id), game_id)
            for worker in self._live_workers()
        )
        return remote or (self._local is not None and self._local.is_warm(game_id))

    def warm_percent(self, game_id: str) -> int:
        if self.is_warm(game_id):
            return 100
        offers = [worker.advert.warming.get(game_id) for worker in self._live_workers()]
        local = [] if self._local is None else [self._local.warm_percent(game_id)]
        return max([*local, *(offer.percent for offer in offers if offer is not None)], default=0)

    def expect(self, game_id: str) -> None:
        if self._local is not None:
            self._local.expect(game_id)
        for worker in self._live_workers():
            if game_id in worker.advert.warming:
                topic = work.commands_topic(worker.advert.worker)
                self._link.publish(topic, work.encode(work.Expect(game_id)), reliable=True)

    def load(self) -> Load:
        local = self._local.load() if self._local is not None else Load(0, 0, 0)
        cores = sum(worker.advert.cores for worker in self._live_workers())
        running = local.running + len(self._attempts)
        return Load(running, local.waiting, local.workers + cores, self._other_rules())

    def _other_rules(self) -> int:
        """The number of games that workers offer with a digest other than this server's."""
        count = 0
        for worker in self._live_workers():
            offers: dict[str, ReadyGame | CompilingGame] = {
                **worker.advert.warming,
                **worker.advert.games,
            }
            for game_id, offer in offers.items():
                with contextlib.suppress(GameError, GameFault):  # this server cannot play the game
                    count += offer.rules != self._find_game(game_id).digest
        return count

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        game = self._find_game(job.game)
        if job.rules != game.digest:
            raise RulesChanged(
                f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
            )
        pending = _PendingSearch(secrets.token_hex(12), job, game, level_of_job(job, game), on_info)
        if time_ms is not None and pending.level.limit.time_ms is not None:
            pending.begun_s = _now_s() - max(0, pending.level.limit.time_ms - time_ms) / 1000
        while True:
            worker, local = self._choose(pending), self._local_engines(pending)
            if worker is not None:
                if (result := await self._try_worker(pending, worker)) is not None:
                    return result
            elif local is not None:
                try:
                    return await self._search_locally(pending, local)
                except SearchFailed as error:
                    pending.local_error = error
            else:
                self._check_answerable(pending)
                await asyncio.sleep(BUSY_S)

    async def _try_worker(self, pending: _PendingSearch, worker: _Worker) -> Result | None:
        """Makes one attempt with a worker; returns its answer, or None if another attempt is due.

        Raises SearchFailed after the last attempt.
        """
        name, game = worker.advert.worker, pending.game
        try:
            return await self._run_attempt(pending, worker)
        except _Busy:
            worker.busy_until_s = _now_s() + BUSY_S
        except _OtherRules:
            self._workers.pop(name, None)  # until it advertises again
        except _Failed as error:
            log.warning(
                "search failed at a worker",
                worker=_quoted(name),
                game=game.id,
                reason=_quoted(str(error)),
            )
            pending.failed_at.add(name)
        except _Untrusted as error:
            self._distrust(name, game, str(error))
        except _Lost as error:
            self.counts.lost += 1
            pending.losses += 1
            log.warning("search lost", worker=_quoted(name), game=game.id, reason=str(error))
            pending.lost_by.add(name)
            return self._give_up(pending)
        if pending.attempt >= MAX_ATTEMPTS:
            raise SearchFailed("no worker has room for this search")
        return None

    def _distrust(self, name: str, game: Game, reason: str) -> None:
        """Excludes the worker from searches of this game, and logs that once."""
        self._metrics.bad_answers += 1
        offered = (game.id, game.digest)
        if offered in self._distrusted.setdefault(name, set()):
            return
        self._distrusted[name].add(offered)
        if len(self._distrusted) > MAX_DISTRUSTED:
            del self._distrusted[next(iter(self._distrusted))]
        log.error(
            "worker not asked any more", worker=_quoted(name), game=game.id, reason=_quoted(reason)
        )

    # --- choosing

    def _live_workers(self) -> list[_Worker]:
        """The workers with a recent advert; none while the broker is unreachable."""
        if not self._link.is_up:
            return []
        since_s = _now_s() - ADVERT_EXPIRY_S
        return [worker for worker in self._workers.values() if worker.last_heard_s > since_s]

    def _is_offered(
        self,
        worker: _Worker,
        offer: ReadyGame | CompilingGame | None,
        game_id: str,
        rules: str | None = None,
    ) -> bool:
        """Whether the worker offers the game (with `rules`, if given) and is trusted with it."""
        if offer is None or rules not in (None, offer.rules):
            return False
        return (game_id, offer.rules) not in self._distrusted.get(worker.advert.worker, ())

    def _compiled_workers(self, pending: _PendingSearch) -> list[_Worker]:
        """The eligible workers that have exactly these rules compiled."""
        return [
            worker
            for worker in self._eligible(pending)
            if self._has_rules(pending, worker, worker.advert.games)
        ]

    def _compiling_workers(self, pending: _PendingSearch) -> list[_Worker]:
        """The eligible workers that have exactly these rules but have not compiled them yet.

        They can already search for levels.
        """
        return [
            worker
            for worker in self._eligible(pending)
            if self._has_rules(pending, worker, worker.advert.warming)
        ]

    def _eligible(self, pending: _PendingSearch) -> list[_Worker]:
        """The workers that have not failed at this search."""
        return [
            worker
            for worker in self._live_workers()
            if worker.advert.worker not in pending.failed_at
        ]

    def _has_rules(
        self,
        pending: _PendingSearch,
        worker: _Worker,
        offers: Mapping[str, ReadyGame | CompilingGame],
    ) -> bool:
        """Whether the worker offers the job's game with exactly the job's rules."""
        job = pending.job
        return self._is_offered(worker, offers.get(job.game), job.game, job.rules)

    def _local_engines(self, pending: _PendingSearch) -> Engines | None:
        """The local pool, if there is one and it has not failed at this search."""
        return self._local if pending.local_error is None else None

    def _check_answerable(self, pending: _PendingSearch) -> None:
        """Raises SearchFailed if no engine that offers the game can answer the search.

        Raises EngineUnavailable if none offers it.
        """
        if self._compiled_workers(pending) or self._compiling_workers(pending):
            return
        if pending.local_error is not None:
            raise pending.local_error
        job = pending.job
        adverts = [worker.advert for worker in self._live_workers()]
        offers = [advert.games.get(job.game) or advert.warming.get(job.game) for advert in adverts]
        if any(offer is not None and offer.rules == job.rules for offer in offers):
            raise SearchFailed(f"no worker that offers {job.game} gave a usable answer")
        raise EngineUnavailable(f"no engine for {job.game} is connected")

    def _choose(self, pending: _PendingSearch) -> _Worker | None:
        """The worker for the next attempt; None for the local pool, or if all workers are busy.

        The room's last worker comes first if it has a free core, then the least loaded one, then
        the fastest. Workers that have compiled the game come before a local pool that has not. Such
        a pool comes before workers that have not.
        """
        local = self._local_engines(pending)
        if pending.losses >= TRIES and local is not None:
            return None
        now_s = _now_s()
        candidates = self._compiled_workers(pending)
        if not candidates and local is None:
            candidates = self._compiling_workers(pending)
        is_local_ready = local is not None and (not candidates or local.is_warm(pending.job.game))
        candidates = [worker for worker in candidates if worker.busy_until_s <= now_s]
        candidates = [
            worker for worker in candidates if worker.advert.worker not in pending.lost_by
        ] or candidates
        free = [worker for worker in candidates if worker.load < 1]
        if not free and is_local_ready and self._local_is_idle():
            return None
        preferred = self._workers.get(self._affinity.get(pending.job.affinity, ""))
        if preferred is not None and preferred in free:
            return preferred
        return min(
            free or candidates,
            key=lambda worker: (worker.load, -worker.nps(pending.job.game)),
            default=None,
        )

    def _local_is_idle(self) -> bool:
        """Whether a process of the local pool is idle."""
        load = self._local.load() if self._local is not None else Load(0, 0, 0)
        return load.running + load.waiting < load.workers

    # --- one attempt

    async def _run_attempt(self, pending: _PendingSearch, worker: _Worker) -> Result:
        """Sends the search to the worker; returns its answer or raises the attempt's failure."""
        pending.attempt += 1
        name, now_s = worker.advert.worker, _now_s()
        left_s = pending.left_s(now_s)
        command = work.Search(
            id=pending.id, attempt=pending.attempt, server=self._node, job=_hide_room(pending.job),
            deadline_ms=int(DEADLINE_S * 1000),
            time_ms=(
                None if left_s is None or pending.begun_s is None
                else max(1, round(left_s * 1000))
            ),
        )  # fmt: skip
        payload = work.encode(command)
        if len(payload) > work.MAX_BYTES:
            raise SearchFailed(f"a search has at most {work.MAX_BYTES} bytes, not {len(payload)}")
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        attempt = self._attempts[pending.id] = _Attempt(
            pending, name, answer, now_s + ACCEPT_S,
            is_compiled=pending.job.game in worker.advert.games
        )  # fmt: skip
        self._remember_worker(pending.job.affinity, name)
        worker.own_searches += 1
        self._link.publish(work.commands_topic(name), payload, reliable=True)
        try:
            return await self._await_answer(attempt, now_s)
        except (_Lost, asyncio.CancelledError):
            self._link.publish(
                work.commands_topic(name),
                work.encode(work.Stop(pending.id, pending.attempt)),
                reliable=True,
            )
            if pending.begun_s is None:
                pending.begun_s = now_s  # the lost time counts for the next attempt
            raise
        finally:
            worker.own_searches -= 1
            del self._attempts[pending.id]
            if not answer.cancel():
                answer.exception()  # retrieved, so that asyncio does not log a late exception

    async def _await_answer(self, attempt: _Attempt, sent_s: float) -> Result:
        """Waits for the answer. Raises _Lost when the worker is late or silent for too long."""
        pending = attempt.pending
        while True:
            end_s = sent_s + DEADLINE_S
            left_s = pending.left_s(now_s := _now_s())
            is_compiled = attempt.is_compiled  # if not, compiling may take longer than the search
            if left_s is not None and pending.begun_s is not None and is_compiled:
                end_s = min(end_s, max(now_s + left_s, sent_s + MIN_RETRY_S) + GRACE_S)
            until_s = min(attempt.silent_at_s, end_s)
            if until_s <= now_s:
                raise _Lost("late" if end_s <= now_s else "silent")
            await asyncio.wait([attempt.answer], timeout=until_s - now_s)
            if attempt.answer.done():
                return attempt.answer.result()

    def _give_up(self, pending: _PendingSearch) -> Result | None:
        """After a lost attempt: the best move so far if no time or attempt is left, else None.

        Raises SearchFailed after the last attempt if there is no move.
        """
        left_s = pending.left_s(_now_s())
        is_last = pending.losses >= TRIES and self._local_engines(pending) is None
        is_late = left_s is not None and left_s < MIN_RETRY_S
        if pending.latest is not None and pending.latest.pv and (is_last or is_late):
            return best_so_far(pending.job, pending.game, pending.latest)
        if is_last:
            raise SearchFailed(f"{pending.losses} workers died or fell silent over this search")
        return None

    async def _search_locally(self, pending: _PendingSearch, local: Engines) -> Result:
        """Searches with the local pool, in the time that is left."""
        left_s = pending.left_s(_now_s()) if pending.begun_s is not None else None
        time_ms = None if left_s is None else round(max(left_s, MIN_RETRY_S) * 1000)
        return await local.search(pending.job, pending.on_info, time_ms)

    def _remember_worker(self, affinity: str, worker: str) -> None:
        """Remembers the worker of a room, and forgets the oldest room beyond MAX_AFFINITIES."""
        self._affinity.pop(affinity, None)
        self._affinity[affinity] = worker
        if len(self._affinity) > MAX_AFFINITIES:
            del self._affinity[next(iter(self._affinity))]

    # --- from the broker

    def _on_advert(self, topic: str, payload: bytes) -> None:
        """Handles a worker's advert; an empty one means that the worker is gone."""
        if not payload:
            self._on_worker_gone(topic)
            return
        try:
            advert = work.parse_advert(topic, payload)
        except Malformed as error:
            self._reject_message(topic, error)
            return
        worker = self._workers.get(advert.worker)
        if worker is None:
            self._workers[advert.worker] = _Worker(advert, _now_s())
            log.info(
                "engine worker",
                worker=_quoted(advert.worker),
                cores=advert.cores,
                games=len(advert.games),
            )
        else:
            worker.advert, worker.last_heard_s = advert, _now_s()

    def _on_worker_gone(self, topic: str) -> None:
        """Forgets the worker with this topic and fails its attempts."""
        for name in [name for name in self._workers if work.worker_topic(name) == topic]:
            del self._workers[name]
            log.info("engine worker gone", worker=_quoted(name))
            for attempt in tuple(self._attempts.values()):
                if attempt.worker == name:
                    attempt.fail(_Lost("gone"))

    def _on_gap(self, topics: frozenset[str] | None) -> None:
        """Fails all attempts if the broker is unreachable, so that the local pool takes over."""
        if topics is None and not self._link.is_up and self._local is not None:
            for attempt in tuple(self._attempts.values()):
                attempt.fail(_Lost("the broker is unreachable"))

    def _on_message(self, topic: str, payload: bytes) -> None:
        """Handles a worker's message about a search."""
        try:
            message = work.parse_worker_message(payload)
        except Malformed as error:
            self._reject_message(topic, error)
            if (header := work.parse_search_id(payload)) is not None:
                attempt = self._attempts.get(header.id)
                if attempt is not None and attempt.pending.attempt == header.attempt:
                    attempt.fail(_Untrusted("a malformed answer"))
            return
        attempt = self._attempts.get(message.id)
        if attempt is None or attempt.pending.attempt != message.attempt or attempt.answer.done():
            self.counts.late += 1
            return
        attempt.silent_at_s = _now_s() + SILENCE_S
        match message:
            case work.Taken():
                pass
            case work.Progress(info=info):
                self._on_progress(attempt, info)
            case work.Answered(result=result):
                self._on_answer(attempt, result)
            case work.Refused(reason=reason, message=text):
                attempt.fail(_failure_of(reason, text))

    def _on_progress(self, attempt: _Attempt, info: Info) -> None:
        """Passes on a progress message after checking it, unless it comes too soon."""
        pending, now_s = attempt.pending, _now_s()
        if now_s < attempt.progress_at_s:
            return
        attempt.progress_at_s = now_s + PROGRESS_S
        try:
            info = pending.checker().check_info(info)
            pending.latest = info
            if pending.begun_s is None:
                pending.begun_s = now_s - info.time_ms / 1000
            pending.on_info(info)
        except ImpossibleAnswer as error:
            attempt.fail(_Untrusted(str(error)))
        except Exception as error:
            attempt.fail(error)

    def _on_answer(self, attempt: _Attempt, result: Result) -> None:
        """Ends the attempt with the answer after checking it."""
        try:
            attempt.answer.set_result(attempt.pending.checker().check_result(result))
            self.counts.answered += 1
        except ImpossibleAnswer as error:
            attempt.fail(_Untrusted(str(error)))
        except SearchFailed as error:
            attempt.fail(error)

    def _reject_message(self, topic: str, error: Malformed) -> None:
        """Counts a malformed message, and logs the 1st, 2nd, 4th, 8th, … one."""
        self.counts.malformed += 1
        self._link.counts.refused += 1
        refused = self.counts.malformed
        if refused.bit_count() == 1:
            log.warning(
                "worker message refused",
                topic=_quoted(topic),
                reason=_quoted(str(error)),
                refused=refused,
            )


def _failure_of(reason: str, message: str) -> Exception:
    """The failure of an attempt that a worker refused."""
    match reason:
        case "busy":
            return _Busy()
        case "game.changed":
            return _OtherRules(message)
        case "quarantined":
            return _Untrusted(f"it has the game in quarantine: {message}")
        case _:
            return _Failed(message)


def _quoted(text: str) -> str:
    """A worker's text for the log: truncated, and without control and format characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_QUOTE])


def _hide_room(job: Job) -> Job:
    """The job with a hash of its room's id: anyone who knows the id can enter an unlisted room."""
    return msgspec.structs.replace(
        job, affinity=hashlib.blake2b(job.affinity.encode(), digest_size=8).hexdigest()
    )


def _now_s() -> float:
    return asyncio.get_running_loop().time()
