"""The warmer compiles games in a separate process, one step of one game at a time.

`compile_queue` decides the order.
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

#: Number of processes that may die or hang while compiling a step before the step fails.
COMPILE_TRIES = 3
#: Seconds that a step may take to compile.
COMPILE_TIMEOUT_S = 120.0
#: Seconds that a step may take to compile at idle priority.
IDLE_COMPILE_TIMEOUT_S = 1200.0

MakeProcess = Callable[
    [Callable[[WorkerProcess, WorkerMessage], None], Callable[[WorkerProcess], None]], WorkerProcess
]


#: Seconds until a step whose files another process has locked is tried again.
LOCK_RETRY_S = 1.0


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


class Warmer:
    """Compiles games; `run` is its task. It compiles `idle_games` without a request.

    It calls `on_change(game, state)` at each change of the state of a game's search,
    `on_settled(game)` when a step of a game is ready or has failed, and `on_end` when its process
    dies.
    """

    def __init__(
        self,
        make_process: MakeProcess,
        idle_games: Iterable[str],
        on_change: Callable[[str, WarmState], None],
        on_settled: Callable[[str], None],
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

    def error(self, game_id: str) -> SearchError:
        """A copy of the error of a game whose search failed to compile."""
        error = self._queue.status((game_id, "search")).error
        assert error is not None, "only a step that failed has an error"
        return type(error)(str(error))

    def is_settled(self, game_id: str, step: Step) -> bool:
        """Whether the step is ready or has failed, so that there is nothing to wait for."""
        return self._queue.status((game_id, step)).state in ("warm", "failed")

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
        """Returns when a game's search is ready or has failed."""
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
        """Compiles one step and settles it; false if the process died or the step was preempted."""
        status = self._queue.status(key)
        answer: asyncio.Future[SearchError | None] = asyncio.get_running_loop().create_future()
        self._running = running = _Running(key, is_idle, answer)
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
            async with asyncio.timeout(IDLE_COMPILE_TIMEOUT_S if is_idle else COMPILE_TIMEOUT_S):
                error = await answer
        except _Preempted:
            self._queue.set_state(key, "cold")
            return False
        except _Locked:
            self._queue.postpone(key, _now_s() + LOCK_RETRY_S)
            return True
        except (EOFError, TimeoutError):
            status.tries += 1
            if status.tries >= COMPILE_TRIES:
                self._queue.settle(
                    key,
                    SearchFailed(f"{status.tries} processes died or hung while compiling {key[0]}"),
                )
            else:
                self._queue.set_state(key, "cold")
            return False
        finally:
            self._running = None
        self._queue.settle(key, error)
        return True

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
            case _:
                pass

    def _on_process_end(self, process: WorkerProcess) -> None:
        self._on_end()
        if self._running is not None and not self._running.answer.done():
            self._running.answer.set_exception(EOFError())


def _now_s() -> float:
    return asyncio.get_running_loop().time()
