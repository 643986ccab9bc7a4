"""The engine workers that advertise to a node, and the games that the node trusts each with.

After an impossible message a worker gets no more searches of that game under the same rules, and
when it has the game in quarantine it gets none for a while; the reason is in this node's log. A
restarted worker has another name, and is trusted again.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from engine.dispatch.placing import Offer
from engine.game import Game, GameError, GameFault
from engine.search.job import BACKGROUND, LIVE, RIVALS, Job, Priority, Use
from server.bus import work
from server.bus.work import Advert, CompilingGame, ReadyGame, UncompiledGame
from server.process.metrics import Metrics

log = structlog.get_logger()

#: Returns the number of this node's searches of some classes that a worker has not answered yet.
RunningAt = Callable[[str, Sequence[Use]], int]

#: Age after which a worker's advert no longer counts, in seconds.
ADVERT_EXPIRY_S = 3.5
#: Maximum number of distrusted workers that are remembered.
MAX_DISTRUSTED = 1000
#: Longest quotation of a worker's text in the log, in characters.
MAX_QUOTE = 200


@dataclass(eq=False, slots=True)
class RemoteWorker:
    """A worker with its latest advert."""

    advert: Advert
    #: The loop time at which the advert arrived.
    last_advert_s: float

    def offer_for(self, job: Job) -> ReadyGame | CompilingGame | UncompiledGame | None:
        """The worker's offer of the job's game with the job's rules.

        None also if the job needs more than the worker's program can do, has a class that it does
        not know, or a strategy that the worker does not run.
        """
        if job.use != "live" and not self.advert.study:
            return None
        if job.needs and not set(job.needs) <= set(self.advert.can):
            return None
        offers: list[ReadyGame | CompilingGame | UncompiledGame | None] = [
            self.advert.games.get(job.game),
            self.advert.warming.get(job.game),
        ]
        if job.strategy is not None:
            if job.strategy not in self.advert.strategies:
                return None
            offers.append(self.advert.uncompiled.get(job.game))
        for offer in offers:
            if offer is not None and offer.rules == job.rules:
                return offer
        return None

    def load(self, own_searches: int) -> float:
        """The worker's live searches per core, running and waiting.

        `own_searches` is the number of this node's live searches that it has not answered yet.
        """
        return max(own_searches, self.advert.running + self.advert.waiting) / self.advert.cores

    def total_load(self, running_at: RunningAt) -> float:
        """The worker's searches of all classes per core."""
        name = self.advert.worker
        background_count = max(running_at(name, BACKGROUND), self.advert.studying)
        return self.load(running_at(name, LIVE)) + background_count / self.advert.cores

    def is_full_for(self, use: Use, running_at: RunningAt, priority: Priority = 0) -> bool:
        """Whether the worker should get no search of this class and priority now.

        A live search may queue there, but not one of a match between AIs: the worker serves its
        queue in turn. That one, and one for a person who waits, needs a core without a live search,
        and a study needs an idle core.
        """
        name = self.advert.worker
        live_load, rival_count = self.load(running_at(name, LIVE)), running_at(name, RIVALS[use])
        if use == "live":
            return live_load >= 1 + (0 if priority else work.QUEUED_PER_CORE)
        if use == "ask":
            return live_load >= 1 or rival_count >= self.advert.study
        is_full = max(rival_count, self.advert.studying) >= self.advert.study
        return is_full or self.total_load(running_at) >= 1


class RemoteWorkers:
    """The workers whose adverts have arrived. None of them counts while `is_up` is false."""

    def __init__(
        self, is_up: Callable[[], bool], find_game: Callable[[str], Game], metrics: Metrics
    ) -> None:
        self.known: dict[str, RemoteWorker] = {}
        self._is_up = is_up
        self._find_game = find_game
        self._metrics = metrics
        #: The games that each worker is not trusted with, by its name, with their rules' digests,
        #: and the times at which it is asked again. The entries outlive the workers' adverts.
        self._distrusted: dict[str, dict[tuple[str, str], float]] = {}

    # --- adverts

    def on_advert(self, advert: Advert) -> None:
        """Handles a worker's advert."""
        worker = self.known.get(advert.worker)
        if worker is not None:
            worker.advert, worker.last_advert_s = advert, _now_s()
            return
        self.known[advert.worker] = RemoteWorker(advert, _now_s())
        log.info(
            "engine worker",
            worker=quoted(advert.worker),
            cores=advert.cores,
            games=len(advert.games),
        )

    def on_gone(self, topic: str) -> list[str]:
        """Forgets the worker whose advert had this topic; returns its name, if it was known."""
        names = [name for name in self.known if work.worker_topic(name) == topic]
        for name in names:
            del self.known[name]
            log.info("engine worker gone", worker=quoted(name))
        return names

    def forget(self, name: str) -> None:
        """Forgets a worker until it advertises again."""
        self.known.pop(name, None)

    def distrust(self, name: str, game: Game, reason: str, for_s: float = math.inf) -> None:
        """Excludes the worker from searches of this game for a time, and logs that once."""
        self._metrics.bad_answers += 1
        offered = (game.id, game.digest)
        games = self._distrusted.setdefault(name, {})
        if games.get(offered, -math.inf) > _now_s():
            return
        games[offered] = _now_s() + for_s
        if len(self._distrusted) > MAX_DISTRUSTED:
            del self._distrusted[next(iter(self._distrusted))]
        event = "worker not asked any more" if math.isinf(for_s) else "worker not asked for a while"
        log.error(event, worker=quoted(name), game=game.id, reason=quoted(reason))

    # --- offers

    def live(self) -> list[RemoteWorker]:
        """The workers with a recent advert; none while the broker is unreachable."""
        if not self._is_up():
            return []
        since_s = _now_s() - ADVERT_EXPIRY_S
        return [worker for worker in self.known.values() if worker.last_advert_s > since_s]

    def offers(self, job: Job, running_at: RunningAt) -> list[Offer[str]]:
        """The trusted workers that can search the job, for the dispatcher to choose from.

        `running_at` returns the number of this node's searches of some classes that a worker has.
        """
        offers = []
        for worker in self.live():
            name, offer = worker.advert.worker, worker.offer_for(job)
            if offer is not None and self._is_trusted(name, job.game, offer.rules):
                load = worker.load(running_at(name, LIVE))
                if job.use != "live":
                    load = worker.total_load(running_at)
                nps = offer.nps if isinstance(offer, ReadyGame) else 0
                is_compiled = job.strategy is not None or isinstance(offer, ReadyGame)
                offers.append(
                    Offer(
                        name, load, nps, is_compiled=is_compiled,
                        is_full=worker.is_full_for(job.use, running_at, job.priority),
                    )
                )  # fmt: skip
        return offers

    def has_place_for(self, use: Use, running_at: RunningAt) -> bool:
        """Whether a worker should get a search of this class now, if it has the game."""
        return any(not worker.is_full_for(use, running_at) for worker in self.live())

    def is_advertised(self, job: Job) -> bool:
        """Whether a worker could search the job, trusted or not."""
        return any(worker.offer_for(job) is not None for worker in self.live())

    def excluded_for_s(self, job: Job) -> float:
        """The seconds until the first worker that could search the job is trusted with it again."""
        game = (job.game, job.rules)
        until_s = [
            self._distrusted.get(worker.advert.worker, {}).get(game, math.inf)
            for worker in self.live()
            if worker.offer_for(job) is not None
        ]
        return min(until_s, default=math.inf) - _now_s()

    def is_warm(self, game_id: str) -> bool:
        """Whether a trusted worker has compiled the game."""
        offers = [
            (worker.advert.worker, worker.advert.games.get(game_id)) for worker in self.live()
        ]
        return any(
            offer is not None and self._is_trusted(name, game_id, offer.rules)
            for name, offer in offers
        )

    def warming(self, game_id: str) -> dict[str, int]:
        """The workers that are compiling the game, by name, with their progress in percent."""
        return {
            worker.advert.worker: worker.advert.warming[game_id].percent
            for worker in self.live()
            if game_id in worker.advert.warming
        }

    def cores(self) -> int:
        """The number of cores of all workers."""
        return sum(worker.advert.cores for worker in self.live())

    def other_rules(self) -> int:
        """The number of games that workers offer with a digest other than this node's."""
        count = 0
        for worker in self.live():
            offers: dict[str, ReadyGame | CompilingGame] = {
                **worker.advert.warming,
                **worker.advert.games,
            }
            for game_id, offer in offers.items():
                with contextlib.suppress(GameError, GameFault):  # this node cannot play the game
                    count += offer.rules != self._find_game(game_id).digest
        return count

    def _is_trusted(self, name: str, game_id: str, rules: str) -> bool:
        until_s = self._distrusted.get(name, {}).get((game_id, rules), -math.inf)
        return until_s <= _now_s()


def quoted(text: str) -> str:
    """A worker's text for the log: truncated, and without control and format characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:MAX_QUOTE])


def _now_s() -> float:
    return asyncio.get_running_loop().time()
