"""The warmer compiles games in a separate process, one step of one game at a time.

`compile_queue` decides the order. A slow or busy machine may take as long as it needs: a process
hangs when its processor time stands still, not when it is late. A step whose processes died or hung
is tried again after a pause, because another program may have taken the memory or the processor. A
step that uses too much processor time has failed: that does not depend on other programs.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.pool.compile_queue import CompileQueue, Key, WarmState
from engine.pool.messages import CompileCommand, Compiled, Compiling, Step, WorkerMessage
from engine.pool.process import WorkerProcess
from engine.rules.registry import load_game
from engine.search import uncompiled
from engine.search.job import RulesChanged, SearchError, SearchFailed

#: Number of processes that may die or hang while compiling a step before it pauses. Those that gave
#: way to another step do not count. After a pause one more is enough for the next pause.
COMPILE_TRIES = 3
#: Length of a step's first pause, in seconds. Each further pause is twice as long, up to
#: MAX_PAUSE_S.
FIRST_PAUSE_S = 60.0
#: Maximum length of a pause, in seconds.
MAX_PAUSE_S = 3600.0
#: Seconds after which a compilation hangs if its processor time has not grown by STANDSTILL_CPU_MS.
#: With 40 busy processes beside it on two cores, an idle compilation still gets six times as much.
STANDSTILL_S = 300.0
#: The growth that counts, in milliseconds: more than the process's own heartbeats take meanwhile.
STANDSTILL_CPU_MS = 250
#: Processor time after which a step has failed, in milliseconds. Chess takes 10 s here, and about a
#: minute on a Raspberry Pi.
COMPILE_CPU_MS = 600_000

MakeProcess = Callable[
    [Callable[[WorkerProcess, WorkerMessage], None], Callable[[WorkerProcess], None]], WorkerProcess
]


#: Seconds until a step whose files another process has locked is tried again.
LOCK_RETRY_S = 1.0


class CompilesTooLong(SearchFailed):
    """Compiling a step took COMPILE_CPU_MS of processor time and did not end."""


class _Locked(Exception):
    """Another process holds the lock of the files of the running compilation."""


class _Preempted(Exception):
    """A more urgent step takes the place of the running compilation."""


@dataclass(slots=True)
class _Running:
    """The running compilation."""

    key: Key
    is_idle: bool
    answer: asyncio.Future[SearchError | None]
    #: Expires when the compilation hangs.
    standstill: asyncio.Timeout
    #: The processor time at the last growth that counted, in milliseconds.
    grown_ms: int = 0

    def on_cpu_time(self, cpu_ms: int) -> None:
        """Waits for the compilation as long as its processor time grows, up to COMPILE_CPU_MS."""
        if cpu_ms > COMPILE_CPU_MS:
            game_id, step = self.key
            used = f"{COMPILE_CPU_MS // 1000} s of processor time"
            self.answer.set_result(
                CompilesTooLong(f"{used} were not enough to compile the {step} of {game_id}")
            )
        elif cpu_ms - self.grown_ms >= STANDSTILL_CPU_MS and not self.standstill.expired():
            self.grown_ms = cpu_ms
            self.standstill.reschedule(_now_s() + STANDSTILL_S)


class Warmer:
    """Compiles games; `run` is its task. It compiles `idle_games` without a request.

    It calls `on_change(game, state)` at each change of the state of a game's search,
    `on_settled(game, step)` when a step is ready, has failed, or pauses, and `on_end` when its
    process dies.
    """

    def __init__(
        self,
        make_process: MakeProcess,
        idle_games: Iterable[str],
        on_change: Callable[[str, WarmState], None],
        on_settled: Callable[[str, Step], None],
        on_end: Callable[[], None],
    ) -> None:
        self._make_process = make_process
        self._on_end = on_end
        self._queue = CompileQueue(idle_games, on_change, on_settled)
        self._has_work = asyncio.Event()
        self._running: _Running | None = None
        self._is_idle_process = False
        self.process: WorkerProcess | None = None

    # --- what the pool calls

    def state(self, game_id: str) -> WarmState:
        """The state of a game's search."""
        return self._queue.state(game_id)

    def error(self, game_id: str, step: Step = "search") -> SearchError | None:
        """A copy of the error of a step that failed or pauses; None for any other step."""
        error = self._queue.status((game_id, step)).error
        return None if error is None else type(error)(str(error))

    def is_settled(self, game_id: str, step: Step) -> bool:
        """Whether the step is ready or has failed, so that there is nothing to wait for."""
        return self._queue.status((game_id, step)).state in ("warm", "failed")

    def has_paused(self, game_id: str, step: Step) -> bool:
        """Whether so many processes died or hung that the step has paused, even if it is being
        compiled again.
        """
        return self._queue.status((game_id, step)).tries >= COMPILE_TRIES

    def percent(self, game_id: str) -> int:
        """Returns the compiled share of a game's search, estimated from its usual processor time.

        It is 100 when the search is ready or has failed.
        """
        status = self._queue.status((game_id, "search"))
        if status.state in ("warm", "failed"):
            return 100
        return uncompiled.percent(game_id, status.cpu_ms / 1000) if status.state == "warming" else 0

    def request(self, game_id: str, step: Step = "search") -> None:
        """Requests a step; it is settled if the cache holds it, else compiled before idle work."""
        key = (game_id, step)
        if not self._queue.request(key):
            return
        self._has_work.set()
        running = self._running
        if running is not None and not running.answer.done() and self._preempts(key, running):
            running.answer.set_exception(_Preempted())

    def add_idle_game(self, game_id: str) -> None:
        """Adds a game to compile at idle priority without a request."""
        if self._queue.add_idle_game(game_id):
            self._has_work.set()

    async def wait_until_settled(self, game_id: str) -> None:
        """Returns when a game's search is ready, has failed, or pauses."""
        await self._queue.status((game_id, "search")).settled.wait()

    def forget(self, game_id: str) -> None:
        """Makes a game cold again, because the cache has lost it, and requests it again."""
        for step in self._queue.forget(game_id):
            self.request(game_id, step)

    async def run(self) -> None:
        """Compiles until cancelled; the process exists only while there is something to compile."""
        while True:
            self._has_work.clear()
            try:
                while (step := self._queue.next_step(_now_s())) is not None:
                    await self._compile(*step)
            finally:
                await self._close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._queue.next_retry_s()):
                    await self._has_work.wait()

    # --- one compilation

    async def _compile(self, key: Key, is_idle: bool) -> None:
        if self._is_idle_process and not is_idle:
            await self._close()
        if self.process is None:
            self.process = self._make_process(self._on_message, self._on_process_end)
            await self.process.start()
        self._is_idle_process = is_idle
        if not await self._compile_in(self.process, key, is_idle):
            await self._close()

    async def _compile_in(self, process: WorkerProcess, key: Key, is_idle: bool) -> bool:
        """Compiles one step and settles it; false if the process is of no more use: it died, hung,
        or still compiles the step.
        """
        status = self._queue.status(key)
        answer: asyncio.Future[SearchError | None] = asyncio.get_running_loop().create_future()
        standstill = asyncio.timeout(STANDSTILL_S)
        self._running = running = _Running(key, is_idle, answer, standstill)
        status.cpu_ms = 0
        self._queue.set_state(key, "warming")
        requested = self._queue.next_request(_now_s())
        if requested is not None and self._preempts(requested, running):
            answer.set_exception(_Preempted())  # the request came while the process started
        elif process.pid is None:  # the process did not start
            answer.set_exception(EOFError())
        else:
            process.send(
                CompileCommand(key[0], load_game(key[0]).digest, idle=is_idle, step=key[1])
            )
        try:
            async with standstill:
                error = await answer
        except _Preempted:
            self._queue.set_state(key, "cold")
            return False
        except _Locked:
            self._queue.postpone(key, _now_s() + LOCK_RETRY_S)
            return True
        except (EOFError, TimeoutError):
            self._on_loss(key)
            return False
        finally:
            self._running = None
        self._queue.settle(key, error)
        return not isinstance(error, CompilesTooLong)

    def _on_loss(self, key: Key) -> None:
        """Has a step tried again, at once or after a pause, whose process died or hung."""
        status = self._queue.status(key)
        status.tries += 1
        pauses = status.tries - COMPILE_TRIES
        if pauses < 0:
            self._queue.set_state(key, "cold")
            return
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(pauses, 30), MAX_PAUSE_S)
        count = f"{status.tries} processes died or hung while compiling the {key[1]} of {key[0]}"
        error = SearchFailed(f"{count}: it is compiled again after {pause_s:.0f} s")
        self._queue.pause(key, _now_s() + pause_s, error)

    def _preempts(self, key: Key, running: _Running) -> bool:
        return self._queue.preempts(key, running.key, running.is_idle)

    async def _close(self) -> None:
        self._is_idle_process = False
        if self.process is not None:
            process, self.process = self.process, None
            await process.close()

    def _on_message(self, process: WorkerProcess, message: WorkerMessage) -> None:
        running = self._running
        if running is None or process is not self.process or running.answer.done():
            return
        match message:
            case Compiled(is_locked=True):
                running.answer.set_exception(_Locked())
            case Compiled():
                kind = RulesChanged if message.is_changed else SearchFailed
                running.answer.set_result(None if message.error is None else kind(message.error))
            case Compiling():
                self._queue.status(running.key).cpu_ms = message.cpu_ms
                running.on_cpu_time(message.cpu_ms)
            case _:
                pass

    def _on_process_end(self, process: WorkerProcess) -> None:
        self._on_end()
        if self._running is not None and not self._running.answer.done():
            self._running.answer.set_exception(EOFError())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
