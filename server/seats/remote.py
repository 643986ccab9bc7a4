"""Searches by remote engine workers, and by the node's own pool if there is one.

The node owns its searches. The dispatcher (`engine.dispatch`) assigns each one to a place and
decides its answer; `broker_transport` sends it to a worker, or `own_engine` runs it on the pool.
`workers` holds the known workers.
"""

import asyncio
import math
import secrets
from collections.abc import Callable

from engine.dispatch.dispatcher import Dispatcher, Settled
from engine.dispatch.placing import Offer
from engine.dispatch.search import Attempt
from engine.game import Game
from engine.search.job import (
    BACKGROUND,
    USES,
    ClassLoad,
    GameQuarantined,
    Job,
    Load,
    Result,
    RulesChanged,
    SearchFailed,
    Use,
)
from engine.search.report import level_of_job
from server.bus import work
from server.bus.link import Link
from server.bus.work import Malformed
from server.ports import Engines, EngineUnavailable, OnInfo
from server.process.metrics import Metrics
from server.seats.broker_transport import (
    BUSY_S,
    GRACE_S,
    BrokerTransport,
    Counts,
    RemoteSearch,
    reject_message,
)
from server.seats.own_engine import OWN, OwnEngine
from server.seats.workers import RemoteWorkers

#: Maximum number of searches that wait for a worker. Workers have queues of their own.
QUEUE_SIZE = 10_000


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
        self._find_game = find_game
        self._local = local
        self._workers = RemoteWorkers(lambda: link.is_up, find_game, self._metrics)
        self._dispatcher: Dispatcher[RemoteSearch, str] = Dispatcher(
            QUEUE_SIZE, GRACE_S, None if local is None else OWN
        )
        self._own = None if local is None else OwnEngine(local, self._dispatcher, self._on_end)
        self._broker = BrokerTransport(
            link, node, self._dispatcher, self._workers, self.counts, self._on_end
        )
        self._timer: asyncio.TimerHandle | None = None
        link.subscribe(f"{work.WORKERS_TOPIC}/+", self._on_advert)
        link.subscribe(work.answers_topic(node), self._broker.on_message)
        link.on_gap(self._on_gap)

    # --- the Engines interface

    def is_warm(self, game_id: str) -> bool:
        is_local = self._local is not None and self._local.is_warm(game_id)
        return is_local or self._workers.is_warm(game_id)

    def warm_percent(self, game_id: str) -> int:
        if self.is_warm(game_id):
            return 100
        local = [] if self._local is None else [self._local.warm_percent(game_id)]
        return max([*local, *self._workers.warming(game_id).values()], default=0)

    def expect(self, game_id: str) -> None:
        if self._local is not None:
            self._local.expect(game_id)
        for name in self._workers.warming(game_id):
            topic = work.commands_topic(name)
            self._link.publish(topic, work.encode(work.Expect(game_id)), reliable=True)

    def load(self) -> Load:
        local = self._local.load() if self._local is not None else Load(0, 0, 0)
        at_workers = self._dispatcher.running_count - self._dispatcher.places.running_at(OWN)
        return Load(
            local.running + at_workers,
            local.waiting + self._dispatcher.waiting_count,
            local.workers + self._workers.cores(),
            self._workers.other_rules(),
            {use: local.of(use) + self._load_of(use) for use in BACKGROUND},
        )

    def _load_of(self, use: Use) -> ClassLoad:
        """This node's searches of a class, without those that its own pool has."""
        load = self._dispatcher.load_of(use)
        at_workers = load.running - self._dispatcher.places.running_at(OWN, (use,))
        return ClassLoad(at_workers, load.waiting)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        game = self._find_game(job.game)
        if job.rules != game.digest:
            raise RulesChanged(
                f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
            )
        loop = asyncio.get_running_loop()
        search = RemoteSearch(
            id=secrets.token_hex(12), job=job, game=game, level=level_of_job(job, game),
            on_info=on_info, answer=loop.create_future(),
        )  # fmt: skip
        search.set_time_left(loop.time(), time_ms)
        self._dispatcher.admit(search)
        self._dispatch()
        try:
            return await search.answer
        except asyncio.CancelledError:
            attempt = self._dispatcher.withdraw(search)
            if attempt is not None:
                self._stop(search, attempt)
            raise

    # --- dispatching

    def _dispatch(self) -> None:
        """Starts the waiting searches for which there is a place, and fails those that no connected
        engine can answer.

        If some still wait, it tries again after BUSY_S, because an advert expires silently.
        """
        now_s = asyncio.get_running_loop().time()
        while (
            assigned := self._dispatcher.assign(now_s, self._offers, self._startable_classes())
        ) is not None:
            search, attempt = assigned
            if self._own is not None and attempt.place == OWN:
                self._own.start(search, attempt)
                continue
            try:
                self._broker.send(search, attempt)
            except SearchFailed as error:
                self._settle(self._dispatcher.fail(search, error))
        for settled in self._dispatcher.fail_waiting(self._error_of):
            self._settle(settled)
        self._set_timer(now_s)

    def _startable_classes(self) -> list[Use]:
        """The classes for which there may be a place; for live searches there always may."""
        running_at = self._dispatcher.places.running_at
        return [
            use
            for use in USES
            if use == "live"
            or (
                self._dispatcher.load_of(use).waiting
                and (
                    self._workers.has_place_for(use, running_at)
                    or (self._own is not None and self._own.is_free_for(use))
                )
            )
        ]

    def _offers(self, search: RemoteSearch) -> list[Offer[str]]:
        """The places for a search. The node's own pool runs no strategies."""
        offers = self._workers.offers(search.job, self._dispatcher.places.running_at)
        is_own = self._own is not None and search.job.strategy is None
        return [*offers, self._own.offer(search.job)] if self._own and is_own else offers

    def _error_of(self, search: RemoteSearch) -> Exception | None:
        """The error of a search that no connected engine can answer."""
        if any(offer.place not in search.failed_at for offer in self._offers(search)):
            return None
        if search.has_fallback_move:
            return None
        if search.own_error is not None:
            return search.own_error
        game_id = search.job.game
        if self._workers.is_advertised(search.job):
            message = f"no worker that offers {game_id} gave a usable answer"
            left_s = math.inf if search.failed_at else self._workers.excluded_for_s(search.job)
            return SearchFailed(message) if math.isinf(left_s) else GameQuarantined(message, left_s)
        return EngineUnavailable(f"no engine for {game_id} is connected")

    def _stop(self, search: RemoteSearch, attempt: Attempt[str]) -> None:
        if self._own is not None and attempt.place == OWN:
            self._own.stop(attempt)
        else:
            self._broker.stop(search, attempt)

    def _settle(self, settled: Settled[RemoteSearch, str] | None) -> None:
        """Hands an answer or an error to the caller, and stops an engine that still searches."""
        if settled is None:
            return
        search, outcome = settled.search, settled.outcome
        if settled.running_attempt is not None:
            self._stop(search, settled.running_attempt)
        if search.answer.done():  # its caller was cancelled
            return
        if isinstance(outcome, Result):
            search.answer.set_result(outcome)
        else:
            search.answer.set_exception(outcome)

    def _on_end(self, settled: Settled[RemoteSearch, str] | None) -> None:
        """An attempt has ended: its search may need another one, and its engine may be free."""
        self._settle(settled)
        if self._dispatcher.waiting_count:
            self._dispatch()

    def _set_timer(self, now_s: float) -> None:
        """Calls `_on_timer` when a search is late, a worker's pause ends, or an advert expired."""
        if self._timer is not None:
            self._timer.cancel()
        deadline_s = self._dispatcher.next_deadline_s()
        if self._dispatcher.waiting_count:
            deadline_s = min(now_s + BUSY_S, deadline_s or now_s + BUSY_S)
        loop = asyncio.get_running_loop()
        self._timer = None if deadline_s is None else loop.call_at(deadline_s, self._on_timer)

    def _on_timer(self) -> None:
        for settled in self._dispatcher.expire(asyncio.get_running_loop().time()):
            self._settle(settled)
        self._dispatch()

    # --- from the broker

    def _on_advert(self, topic: str, payload: bytes) -> None:
        """Handles a worker's advert; an empty one means that the worker is gone."""
        if not payload:
            for name in self._workers.on_gone(topic):
                self._broker.lose_all("gone", name)
        else:
            try:
                self._workers.on_advert(work.parse_advert(topic, payload))
            except Malformed as error:
                reject_message(self._link, self.counts, topic, error)
        if self._dispatcher.waiting_count:
            self._dispatch()

    def _on_gap(self, topics: frozenset[str] | None) -> None:
        """Gives up all attempts if the broker is unreachable, so that the local pool takes over."""
        if topics is None and not self._link.is_up and self._own is not None:
            self._broker.lose_all("the broker is unreachable")
