"""Searches by engine workers elsewhere, and by the pool here when there is one.

A server owns its searches: it picks the worker, watches it, and asks another one when it dies or
falls silent, at most TRIES times, with the time that is left; then the pool here has its turn. An
answer counts if it bears the search's id and its present try, and no other does.

Workers are not believed. What they say of a search is checked (`server.seats.answers`); one that
says what cannot be, or that a game is in quarantine, gets no more searches of that game under these
rules for as long as it lives (a worker that starts again has another name). Its words stay in this
node's log.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog

from engine.game import Game
from engine.search.job import Info, Job, Load, Result, RulesChanged, SearchFailed
from engine.search.levels import Level
from engine.search.report import best_so_far, level_for
from server.bus import work
from server.bus.link import Link
from server.bus.work import Advert, Malformed, Offer, Warming
from server.ports import Engines, EnginesAway, OnInfo
from server.process.metrics import Metrics
from server.seats.answers import Checker, Untrue, position_of

log = structlog.get_logger()

TRIES = 3
#: A worker says within this time that it has a search, or it is lost.
TAKE_S = 1.0
#: So long a worker that searches may be silent; it says something twice a second.
SILENCE_S = 1.5
#: How late an answer may be.
GRACE_S = 0.5
#: Nobody waits longer for one try: a game may have to be compiled first.
DEADLINE_S = 120.0
#: A worker whose advert is older is not asked.
ADVERT_S = 3.5
#: A worker that refused for want of room is left alone for so long.
BUSY_S = 0.25
#: After so many there is no hope.
REFUSALS = 200
#: With less time left than this the best move so far is the answer.
WORTH_A_TRY_S = 0.1
HOMES = 10_000
#: News of progress are read no more often: a worker sends them ten times a second.
PROGRESS_S = 0.08
#: Workers whose faults are remembered.
DISTRUSTED = 1000
#: So much of what a worker says stands in the log.
QUOTED = 200


class _Lost(Exception):
    """The worker is gone, silent or late."""


class _Busy(Exception):
    """The worker has no room."""


class _Changed(Exception):
    """The worker has other rules than it said."""


class _Failed(Exception):
    """The worker gave no answer to this search."""


class _Bad(Exception):
    """The worker is not fit to search this game: what it said is false, no message, or that it will
    not.
    """


@dataclass(eq=False, slots=True)
class _Worker:
    """A worker as this server knows it."""

    advert: Advert
    last_heard_s: float
    busy_until_s: float = 0.0
    #: Searches that this server has given it and that are not answered yet.
    mine: int = 0

    @property
    def load(self) -> float:
        """Searches a core."""
        return max(self.mine, self.advert.running + self.advert.waiting) / self.advert.cores

    def nps(self, game_id: str) -> int:
        """The speed that it says it has reached; 0 for none."""
        offer = self.advert.games.get(game_id)
        return offer.nps if offer is not None else 0


@dataclass(eq=False, slots=True)
class _Ticket:
    """A search on its way through workers."""

    id: str
    job: Job
    game: Game
    level: Level
    on_info: OnInfo
    attempt: int = 0
    losses: int = 0
    begun_s: float | None = None
    latest: Info | None = None
    #: Workers that lost it: they are asked again when there are no others.
    shunned: set[str] = field(default_factory=set)
    #: Workers that gave it up: they are not asked again.
    excluded: set[str] = field(default_factory=set)
    #: Why the pool here has no answer.
    local_error: SearchFailed | None = None
    checker: Checker | None = None

    def check(self) -> Checker:
        """What checks the answers; SearchFailed for a job that cannot be searched."""
        if self.checker is None:
            self.checker = Checker(position_of(self.job, self.game))
        return self.checker

    def left_s(self, now_s: float) -> float | None:
        """What is left of the job's own time, which begins with its first search."""
        if self.level.limit.time_ms is None:
            return None
        return self.level.limit.time_ms / 1000 - (
            now_s - (self.begun_s if self.begun_s is not None else now_s)
        )


@dataclass(eq=False, slots=True)
class _Attempt:
    """One try at one worker."""

    ticket: _Ticket
    worker: str
    answer: asyncio.Future[Result]
    silent_at_s: float
    #: From when on progress is read again.
    heed_at_s: float = 0.0
    is_compiled: bool = True

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


@dataclass(slots=True)
class Counts:
    """Since the start: searches answered by workers, tries lost with theirs, news that came too
    late or twice, and payloads that were no news. What workers said falsely is in
    `Metrics.bad_answers`.
    """

    answered: int = 0
    lost: int = 0
    late: int = 0
    malformed: int = 0


class RemoteEngines:
    """See `server.ports.Engines`. `node` is who this server is; `local` its own pool, if it has
    one.
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
        self._home: dict[str, str] = {}
        #: By the worker's name: games, each with the digest of its rules. It outlives adverts,
        #: which come and go.
        self._distrusted: dict[str, set[tuple[str, str]]] = {}
        link.subscribe(f"{work.WORKERS}/+", self._on_advert)
        link.subscribe(work.news_topic(node), self._on_news)
        link.on_gap(self._on_gap)

    # --- what the house calls

    def is_warm(self, game_id: str) -> bool:
        remote = any(
            self._offers(worker, worker.advert.games.get(game_id), game_id)
            for worker in self._present()
        )
        return remote or (self._local is not None and self._local.is_warm(game_id))

    def warm_percent(self, game_id: str) -> int:
        if self.is_warm(game_id):
            return 100
        offers = [worker.advert.warming.get(game_id) for worker in self._present()]
        here = [] if self._local is None else [self._local.warm_percent(game_id)]
        return max([*here, *(offer.percent for offer in offers if offer is not None)], default=0)

    def expect(self, game_id: str) -> None:
        if self._local is not None:
            self._local.expect(game_id)
        for worker in self._present():
            if game_id in worker.advert.warming:
                topic = work.order_topic(worker.advert.worker)
                self._link.publish(topic, work.encode(work.Expect(game_id)), kept=True)

    def load(self) -> Load:
        here = self._local.load() if self._local is not None else Load(0, 0, 0)
        cores = sum(worker.advert.cores for worker in self._present())
        return Load(here.running + len(self._attempts), here.waiting, here.workers + cores)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        game = self._find_game(job.game)
        if job.rules != game.digest:
            raise RulesChanged(
                f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
            )
        ticket = _Ticket(secrets.token_hex(12), job, game, level_for(job, game), on_info)
        if time_ms is not None and ticket.level.limit.time_ms is not None:
            ticket.begun_s = _now_s() - max(0, ticket.level.limit.time_ms - time_ms) / 1000
        while True:
            worker, here = self._choose(ticket), self._here(ticket)
            if worker is not None:
                if (result := await self._ask(ticket, worker)) is not None:
                    return result
            elif here is not None:
                try:
                    return await self._search_here(ticket, here)
                except SearchFailed as error:
                    ticket.local_error = error
            else:
                self._check_hope(ticket)
                await asyncio.sleep(BUSY_S)

    async def _ask(self, ticket: _Ticket, worker: _Worker) -> Result | None:
        """One try: the answer, or None to ask somebody else; SearchFailed after the last one."""
        name, game = worker.advert.worker, ticket.game
        try:
            return await self._attempt(ticket, worker)
        except _Busy:
            worker.busy_until_s = _now_s() + BUSY_S
        except _Changed:
            self._workers.pop(name, None)  # until it advertises anew
        except _Failed as failed:
            log.warning(
                "search failed at a worker",
                worker=_quoted(name),
                game=game.id,
                reason=_quoted(str(failed)),
            )
            ticket.excluded.add(name)
        except _Bad as bad:
            self._distrust(name, game, str(bad))
        except _Lost as lost:
            self.counts.lost += 1
            ticket.losses += 1
            log.warning("search lost", worker=_quoted(name), game=game.id, reason=str(lost))
            ticket.shunned.add(name)
            return self._give_up(ticket)
        if ticket.attempt >= REFUSALS:
            raise SearchFailed("no worker has room for this search")
        return None

    def _distrust(self, name: str, game: Game, reason: str) -> None:
        """The worker gets no more searches of this game; the log says so once."""
        self._metrics.bad_answers += 1
        offered = (game.id, game.digest)
        if offered in self._distrusted.setdefault(name, set()):
            return
        self._distrusted[name].add(offered)
        if len(self._distrusted) > DISTRUSTED:
            del self._distrusted[next(iter(self._distrusted))]
        log.error(
            "worker not asked any more", worker=_quoted(name), game=game.id, reason=_quoted(reason)
        )

    # --- choosing

    def _present(self) -> list[_Worker]:
        """The workers that one can count on."""
        if not self._link.flows:
            return []
        since_s = _now_s() - ADVERT_S
        return [worker for worker in self._workers.values() if worker.last_heard_s > since_s]

    def _offers(
        self, worker: _Worker, offer: Offer | Warming | None, game_id: str, rules: str | None = None
    ) -> bool:
        """Whether that offer of a worker is for the game, with these rules, and believed."""
        if offer is None or rules not in (None, offer.rules):
            return False
        return (game_id, offer.rules) not in self._distrusted.get(worker.advert.worker, ())

    def _able(self, ticket: _Ticket) -> list[_Worker]:
        """Those that have exactly these rules compiled and may still answer."""
        return [one for one in self._asked(ticket) if self._is_for(ticket, one, one.advert.games)]

    def _warming(self, ticket: _Ticket) -> list[_Worker]:
        """Those with exactly these rules that have not compiled them yet; they search levels all
        the same.
        """
        return [one for one in self._asked(ticket) if self._is_for(ticket, one, one.advert.warming)]

    def _asked(self, ticket: _Ticket) -> list[_Worker]:
        """The workers that this search has not failed at."""
        return [worker for worker in self._present() if worker.advert.worker not in ticket.excluded]

    def _is_for(
        self, ticket: _Ticket, worker: _Worker, offers: Mapping[str, Offer | Warming]
    ) -> bool:
        job = ticket.job
        return self._offers(worker, offers.get(job.game), job.game, job.rules)

    def _here(self, ticket: _Ticket) -> Engines | None:
        """The pool here, if there is one and it has not failed."""
        return self._local if ticket.local_error is None else None

    def _check_hope(self, ticket: _Ticket) -> None:
        """Raises what ends a search that nobody can answer now: EnginesAway when nobody offers the
        game at all.
        """
        if self._able(ticket) or self._warming(ticket):
            return
        if ticket.local_error is not None:
            raise ticket.local_error
        job = ticket.job
        adverts = [worker.advert for worker in self._present()]
        offers = [one.games.get(job.game) or one.warming.get(job.game) for one in adverts]
        if any(offer is not None and offer.rules == job.rules for offer in offers):
            raise SearchFailed(f"no worker that offers {job.game} gives an answer that can be used")
        raise EnginesAway(f"no engine is there for {job.game}")

    def _choose(self, ticket: _Ticket) -> _Worker | None:
        """The worker to ask: the room's own if it has a free core, else the least loaded, the
        fastest of those; None for the pool here, or when all are full. One that has the game
        compiled comes before the pool here, unless that has too, and that before one that has not.
        """
        here = self._here(ticket)
        if ticket.losses >= TRIES and here is not None:
            return None
        now_s = _now_s()
        able = self._able(ticket)
        if not able and here is None:
            able = self._warming(ticket)
        is_ready_here = here is not None and (not able or here.is_warm(ticket.job.game))
        able = [worker for worker in able if worker.busy_until_s <= now_s]
        able = [worker for worker in able if worker.advert.worker not in ticket.shunned] or able
        free = [worker for worker in able if worker.load < 1]
        if not free and is_ready_here and self._has_room_here():
            return None
        home = self._workers.get(self._home.get(ticket.job.affinity, ""))
        if home is not None and home in free:
            return home
        return min(
            free or able, key=lambda one: (one.load, -one.nps(ticket.job.game)), default=None
        )

    def _has_room_here(self) -> bool:
        """Is a process of the pool here idle?"""
        load = self._local.load() if self._local is not None else Load(0, 0, 0)
        return load.running + load.waiting < load.workers

    # --- one try

    async def _attempt(self, ticket: _Ticket, worker: _Worker) -> Result:
        ticket.attempt += 1
        name, now_s = worker.advert.worker, _now_s()
        left_s = ticket.left_s(now_s)
        order = work.Search(
            id=ticket.id, attempt=ticket.attempt, server=self._node, job=_nameless(ticket.job),
            deadline_ms=int(DEADLINE_S * 1000),
            time_ms=None if left_s is None or ticket.begun_s is None else max(1, round(left_s * 1000)),
        )  # fmt: skip
        payload = work.encode(order)
        if len(payload) > work.MAX_BYTES:
            raise SearchFailed(f"a search has at most {work.MAX_BYTES} bytes, not {len(payload)}")
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        attempt = self._attempts[ticket.id] = _Attempt(
            ticket, name, answer, now_s + TAKE_S, is_compiled=ticket.job.game in worker.advert.games
        )  # fmt: skip
        self._move_in(ticket.job.affinity, name)
        worker.mine += 1
        self._link.publish(work.order_topic(name), payload, kept=True)
        try:
            return await self._watched(attempt, now_s)
        except (_Lost, asyncio.CancelledError):
            self._link.publish(
                work.order_topic(name), work.encode(work.Stop(ticket.id, ticket.attempt)), kept=True
            )
            if ticket.begun_s is None:
                ticket.begun_s = now_s  # what was lost here is not given to the next try
            raise
        finally:
            worker.mine -= 1
            del self._attempts[ticket.id]
            if not answer.cancel():
                answer.exception()  # it may have come when nobody waited any more

    async def _watched(self, attempt: _Attempt, ordered_s: float) -> Result:
        """The answer, or _Lost when the worker is silent for too long, or late."""
        ticket = attempt.ticket
        while True:
            end_s = ordered_s + DEADLINE_S
            left_s = ticket.left_s(now_s := _now_s())
            is_compiled = attempt.is_compiled  # what is played in full uncompiled may take longer
            if left_s is not None and ticket.begun_s is not None and is_compiled:
                end_s = min(end_s, max(now_s + left_s, ordered_s + WORTH_A_TRY_S) + GRACE_S)
            until_s = min(attempt.silent_at_s, end_s)
            if until_s <= now_s:
                raise _Lost("late" if end_s <= now_s else "silent")
            await asyncio.wait([attempt.answer], timeout=until_s - now_s)
            if attempt.answer.done():
                return attempt.answer.result()

    def _give_up(self, ticket: _Ticket) -> Result | None:
        """After a lost try: the best so far when there is no time or no try left; None to go on."""
        left_s = ticket.left_s(_now_s())
        is_last = ticket.losses >= TRIES and self._here(ticket) is None
        is_late = left_s is not None and left_s < WORTH_A_TRY_S
        if ticket.latest is not None and ticket.latest.pv and (is_last or is_late):
            return best_so_far(ticket.job, ticket.game, ticket.latest)
        if is_last:
            raise SearchFailed(f"{ticket.losses} workers died or fell silent over this search")
        return None

    async def _search_here(self, ticket: _Ticket, local: Engines) -> Result:
        left_s = ticket.left_s(_now_s()) if ticket.begun_s is not None else None
        time_ms = None if left_s is None else round(max(left_s, WORTH_A_TRY_S) * 1000)
        return await local.search(ticket.job, ticket.on_info, time_ms)

    def _move_in(self, affinity: str, worker: str) -> None:
        self._home.pop(affinity, None)
        self._home[affinity] = worker
        if len(self._home) > HOMES:
            del self._home[next(iter(self._home))]

    # --- from the broker

    def _on_advert(self, topic: str, payload: bytes) -> None:
        if not payload:
            self._gone(topic)
            return
        try:
            advert = work.parse_advert(topic, payload)
        except Malformed as error:
            self._refuse(topic, error)
            return
        known = self._workers.get(advert.worker)
        if known is None:
            self._workers[advert.worker] = _Worker(advert, _now_s())
            log.info(
                "engine worker",
                worker=_quoted(advert.worker),
                cores=advert.cores,
                games=len(advert.games),
            )
        else:
            known.advert, known.last_heard_s = advert, _now_s()

    def _gone(self, topic: str) -> None:
        for name in [name for name in self._workers if work.worker_topic(name) == topic]:
            del self._workers[name]
            log.info("engine worker gone", worker=_quoted(name))
            for attempt in tuple(self._attempts.values()):
                if attempt.worker == name:
                    attempt.fail(_Lost("gone"))

    def _on_gap(self, topics: frozenset[str] | None) -> None:
        """Without a broker no answer comes; the pool here need not wait for that."""
        if topics is None and not self._link.flows and self._local is not None:
            for attempt in tuple(self._attempts.values()):
                attempt.fail(_Lost("the broker is away"))

    def _on_news(self, topic: str, payload: bytes) -> None:
        try:
            news = work.parse_news(payload)
        except Malformed as error:
            self._refuse(topic, error)
            if (head := work.news_head(payload)) is not None:
                attempt = self._attempts.get(head.id)
                if attempt is not None and attempt.ticket.attempt == head.attempt:
                    attempt.fail(_Bad("an answer that is no message"))
            return
        attempt = self._attempts.get(news.id)
        if attempt is None or attempt.ticket.attempt != news.attempt or attempt.answer.done():
            self.counts.late += 1
            return
        attempt.silent_at_s = _now_s() + SILENCE_S
        match news:
            case work.Taken():
                pass
            case work.Progress(info=info):
                self._progress(attempt, info)
            case work.Answered(result=result):
                self._answered(attempt, result)
            case work.Refused(reason=reason, message=message):
                attempt.fail(_refusal(reason, message))

    def _progress(self, attempt: _Attempt, info: Info) -> None:
        ticket, now_s = attempt.ticket, _now_s()
        if now_s < attempt.heed_at_s:
            return
        attempt.heed_at_s = now_s + PROGRESS_S
        try:
            info = ticket.check().info(info)
            ticket.latest = info
            if ticket.begun_s is None:
                ticket.begun_s = now_s - info.time_ms / 1000
            ticket.on_info(info)
        except Untrue as untrue:
            attempt.fail(_Bad(str(untrue)))
        except Exception as error:
            attempt.fail(error)

    def _answered(self, attempt: _Attempt, result: Result) -> None:
        try:
            attempt.answer.set_result(attempt.ticket.check().result(result))
            self.counts.answered += 1
        except Untrue as untrue:
            attempt.fail(_Bad(str(untrue)))
        except SearchFailed as error:
            attempt.fail(error)

    def _refuse(self, topic: str, error: Malformed) -> None:
        self.counts.malformed += 1
        self._link.counts.refused += 1
        refused = self.counts.malformed
        if refused.bit_count() == 1:  # 1, 2, 4, 8, …
            log.warning(
                "worker message refused",
                topic=_quoted(topic),
                reason=_quoted(str(error)),
                refused=refused,
            )


def _refusal(reason: str, message: str) -> Exception:
    match reason:
        case "busy":
            return _Busy()
        case "game.changed":
            return _Changed(message)
        case "quarantined":
            return _Bad(f"it has the game in quarantine: {message}")
        case _:
            return _Failed(message)


def _quoted(text: str) -> str:
    """The words of a worker as they may stand in a log: without control and format characters, and
    cut.
    """
    return "".join(c if c.isprintable() else "?" for c in text[:QUOTED])


def _nameless(job: Job) -> Job:
    """The job for somebody who need not know the room: whoever knows an unlisted room's name may
    enter it.
    """
    return msgspec.structs.replace(
        job, affinity=hashlib.blake2b(job.affinity.encode(), digest_size=8).hexdigest()
    )


def _now_s() -> float:
    return asyncio.get_running_loop().time()
