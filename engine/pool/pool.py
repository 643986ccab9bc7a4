"""The search pool: long-lived worker processes behind one asyncio front.

    async with Pool(workers=2) as pool:
        result = await pool.search(job, on_info=print)

A worker that hangs or is late is killed (`slot`), one that ends is replaced (`workers`), and its
search goes to another worker with the time that is left (`engine.dispatch`, `transport`). If the
time runs out before another worker is ready, the best move so far is the answer. Cancelling the
task that waits in `search` ends the search.

A job has a class, `Job.use`. Searches that are not live leave a worker free if there are several. A
live search that finds no free worker preempts one of them: its worker stops within milliseconds,
and it is searched again later.

A separate process compiles the games (`warmer`). Until a game is compiled, its levels and personas
are searched uncompiled (`engine.search.uncompiled`), and jobs with their own limits wait
(`readiness`). The process that holds the pool does not load the compiler.
"""

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType

from engine.dispatch.dispatcher import Dispatcher
from engine.game import GameError
from engine.pool.compile_queue import WarmState
from engine.pool.messages import Step
from engine.pool.process import DEFAULT_START, StartMethod, WorkerProcess, default_workers
from engine.pool.quarantine import Quarantine
from engine.pool.readiness import Readiness
from engine.pool.slot import GRACE_S, PoolSearch, WorkerSlot
from engine.pool.transport import PipeTransport, PoolCounters
from engine.pool.warmer import Warmer
from engine.pool.workers import Workers
from engine.rules.registry import load_game, production_ids
from engine.search.job import (
    BACKGROUND,
    Info,
    Job,
    Load,
    Result,
    RulesChanged,
    SearchError,
    SearchFailed,
)
from engine.search.report import level_of_job


class PoolClosed(SearchError):
    """The pool closed before the search ended."""


class Pool:
    """Searches jobs on `workers` processes. A pool belongs to one event loop and is entered once.

    `queue_size` is the number of jobs of each rank that may wait, and `table_bytes` the size of
    the tables that each worker keeps, in bytes. The pool compiles the games in `warm` (by default
    all games) at idle priority when no other game is requested. It calls `on_warm(game, state)`
    when the state of a game's search changes, and `on_compile_error(game, step, error)` when a step
    fails or pauses.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        queue_size: int = 256,
        table_bytes: int = 64 << 20,
        warm: Iterable[str] | None = None,
        on_warm: Callable[[str, WarmState], None] | None = None,
        on_compile_error: Callable[[str, Step, SearchError], None] | None = None,
        start_method: StartMethod = DEFAULT_START,
    ) -> None:
        size = default_workers() if workers is None else workers
        if size < 1:
            raise ValueError("a pool has at least one worker")
        self.counts = PoolCounters()
        self._is_open = False
        self._on_warm = on_warm
        self._on_compile_error = on_compile_error
        self._warmer = Warmer(
            lambda on_message, on_end: WorkerProcess(start_method, 0, on_message, on_end),
            production_ids() if warm is None else warm,
            self._on_change,
            self._on_settled,
            self._on_warmer_end,
        )
        self._warming: asyncio.Task[None] | None = None
        self._readiness = Readiness(self._warmer)
        self._quarantine = Quarantine()
        self._dispatcher: Dispatcher[PoolSearch, WorkerSlot] = Dispatcher(queue_size, GRACE_S)
        self._transport = PipeTransport(
            self._dispatcher, self._readiness, self._quarantine, self.counts,
            lambda on_message, on_end: Workers(
                size, start_method, table_bytes, on_message, on_end
            ),
        )  # fmt: skip
        self._workers = self._transport.workers

    async def __aenter__(self) -> "Pool":
        """Returns at once; the workers start in the background, and jobs wait for them."""
        self._is_open = True
        self._workers.open()
        self._warming = asyncio.create_task(self._warmer.run(), name="search-warmer")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Fails all waiting and running searches with PoolClosed, and leaves no process behind."""
        self._is_open = False
        self._transport.close(PoolClosed("the search pool is closed"))
        assert self._warming is not None, "the pool was entered"
        self._warming.cancel()
        await asyncio.gather(self._warming, return_exceptions=True)
        await self._workers.close()

    # --- searches

    async def search(
        self, job: Job, on_info: Callable[[Info], None] | None = None, time_ms: int | None = None
    ) -> Result:
        """Searches a job and returns its result.

        The loop calls `on_info` after each depth and several times a second. If another pool has
        already tried the job, `time_ms` is the time that is left to it; waiting uses it up too.

        Raises RulesChanged, QueueFull, PoolClosed, GameQuarantined or another SearchFailed.
        Cancelling the caller ends the search within milliseconds.
        """
        search = self._new_search(job, on_info)
        search.set_time_left(asyncio.get_running_loop().time(), time_ms)
        self._dispatcher.admit(search)
        self._readiness.request(job, search.game)
        self._transport.dispatch()
        try:
            return await search.answer
        except asyncio.CancelledError:
            attempt = self._dispatcher.withdraw(search)
            if attempt is not None:
                self._transport.stop(attempt)
            raise

    def _new_search(self, job: Job, on_info: Callable[[Info], None] | None) -> PoolSearch:
        """The search of a job, or the error with which the pool refuses it."""
        if not self._is_open:
            raise PoolClosed("the search pool is closed")
        try:
            game = load_game(job.game)
        except GameError as error:
            raise SearchFailed(str(error)) from error
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            raise SearchFailed(
                f"{job.game} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if game.rules.SEARCH == "teach":
            raise SearchFailed(f"{game.title} has no levels: its AI seats play strategies")
        if job.rules != game.digest:
            raise RulesChanged(
                f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
            )
        now_s = asyncio.get_running_loop().time()
        refusal = self._quarantine.error(job.game, job.rules, now_s) or self._readiness.error(job)
        if refusal is not None:
            raise refusal
        return PoolSearch(
            job=job, game=game, level=level_of_job(job, game), on_info=on_info,
            answer=asyncio.get_running_loop().create_future(),
        )  # fmt: skip

    # --- compiling

    async def warm(self, game_id: str, *, idle: bool = False) -> None:
        """Compiles a game and returns when its search is ready; raises SearchFailed or RulesChanged
        if it fails or its compilation pauses, and at once if it has failed or pauses now.

        The pool compiles it before all other cold games. With `idle` it compiles the game at idle
        priority, once no other game is requested.
        """
        if idle:
            self._warmer.add_idle_game(game_id)
        else:
            self._warmer.request(game_id)
        if (error := self.compile_error(game_id)) is None:
            await self._warmer.wait_until_settled(game_id)
            error = self.compile_error(game_id)
        if error is not None:
            raise error

    def expect(self, game_id: str) -> None:
        """Announces searches of this game, so that it is compiled before unrequested games."""
        self._warmer.request(game_id)

    def warm_state(self, game_id: str) -> WarmState:
        """The state of a game's search: cold (not compiled yet), warming, warm or failed."""
        return self._warmer.state(game_id)

    def compile_error(self, game_id: str) -> SearchError | None:
        """Why a game's search is not compiled and, for now, not being compiled; else None."""
        return self._warmer.error(game_id)

    def is_warm(self, game_id: str) -> bool:
        """Whether a game's search is compiled.

        Until then its levels play uncompiled, and all but the lowest levels are weaker.
        """
        return self.warm_state(game_id) == "warm"

    def warm_percent(self, game_id: str) -> int:
        """How far the compilation of a game's search is; 100 also when it has failed."""
        return self._warmer.percent(game_id)

    def _on_change(self, game_id: str, state: WarmState) -> None:
        if self._on_warm is not None:
            asyncio.get_running_loop().call_soon(self._on_warm, game_id, state)

    def _on_settled(self, game_id: str, step: Step) -> None:
        """Fails the waiting jobs that need a compilation that failed, and dispatches the others."""
        error = self._warmer.error(game_id, step)
        if error is not None and self._on_compile_error is not None:
            asyncio.get_running_loop().call_soon(self._on_compile_error, game_id, step, error)
        self._transport.settle_all(
            self._dispatcher.fail_waiting(lambda search: self._readiness.error(search.job))
        )
        self._transport.dispatch()

    def _on_warmer_end(self) -> None:
        self.counts.ended += 1

    # --- how busy it is

    @property
    def waiting_count(self) -> int:
        """The number of jobs that wait for a worker or for their game."""
        return self._dispatcher.waiting_count

    @property
    def running_count(self) -> int:
        """The number of running searches."""
        return self._dispatcher.running_count

    @property
    def ready_worker_count(self) -> int:
        """The number of workers that accept commands."""
        return len(self._workers.ready)

    def load(self) -> Load:
        """The numbers of running and waiting searches and of ready workers."""
        background = {use: self._dispatcher.load_of(use) for use in BACKGROUND}
        return Load(
            self.running_count, self.waiting_count, self.ready_worker_count, background=background
        )

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that are ready."""
        return [slot.process.pid for slot in self._workers.ready if slot.process.pid is not None]
