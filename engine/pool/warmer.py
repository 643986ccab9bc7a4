"""The warmer compiles games in a separate process, one step of one game at a time.

It compiles first the searches of the requested games, then their requested additions (a solver, the
personas), then the rest at idle priority: the searches of all games before any solver. It compiles
personas on request only, because few players use them. A request preempts an idle compilation. A
step is settled when it is ready or has failed; a step that the cache holds is settled at once,
without a process.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.compiler import code_cache
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
#: The steps that add to a game's search.
ADDITIONS: tuple[Step, ...] = ("solver", "persona")

WarmState = Literal["cold", "warming", "warm", "failed"]
#: A step of a game: the game's id, and the step.
Key = tuple[str, Step]
MakeProcess = Callable[
    [Callable[[WorkerProcess, WorkerMessage], None], Callable[[WorkerProcess], None]], WorkerProcess
]


class _Preempted(Exception):
    """A more urgent step takes the place of the running compilation."""


@dataclass(slots=True)
class _StepStatus:
    """The state of one step of a game."""

    state: WarmState = "cold"
    error: SearchError | None = None
    tries: int = 0
    cpu_ms: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)


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
        self._on_change = on_change
        self._on_settled = on_settled
        self._on_end = on_end
        self._statuses: dict[Key, _StepStatus] = {}
        self._requested: list[Key] = []
        self._idle_games = list(idle_games)
        self._has_work = asyncio.Event()
        self._running: _Running | None = None
        self._is_idle_process = False
        self.process: WorkerProcess | None = None

    # --- what the pool calls

    def state(self, game_id: str) -> WarmState:
        """The state of a game's search."""
        return self._status((game_id, "search")).state

    def error(self, game_id: str) -> SearchError:
        """A copy of the error of a game whose search failed to compile."""
        error = self._status((game_id, "search")).error
        assert error is not None, "only a step that failed has an error"
        return type(error)(str(error))

    def is_settled(self, game_id: str, step: Step) -> bool:
        """Whether the step is ready or has failed, so that there is nothing to wait for."""
        return self._status((game_id, step)).state in ("warm", "failed")

    def percent(self, game_id: str) -> int:
        """Returns the compiled share of a game's search, estimated from its usual processor time.

        It is 100 when the search is ready or has failed.
        """
        status = self._status((game_id, "search"))
        if status.state in ("warm", "failed"):
            return 100
        return uncompiled.percent(game_id, status.cpu_ms / 1000) if status.state == "warming" else 0

    def request(self, game_id: str, step: Step = "search") -> None:
        """Requests a step; it is settled if the cache holds it, else compiled before idle work."""
        key = (game_id, step)
        if self._status(key).state != "cold" or self._settle_from_cache(key):
            return
        if key not in self._requested:
            self._requested.append(key)
            self._has_work.set()
        running = self._running
        if running is not None and not running.answer.done() and self._preempts(key, running):
            running.answer.set_exception(_Preempted())

    def add_idle_game(self, game_id: str) -> None:
        """Adds a game to compile at idle priority without a request."""
        if self.state(game_id) == "cold" and game_id not in self._idle_games:
            self._idle_games.append(game_id)
            self._has_work.set()

    async def settled(self, game_id: str) -> None:
        """Returns when a game's search is ready or has failed."""
        await self._status((game_id, "search")).settled.wait()

    def forget(self, game_id: str) -> None:
        """Makes a game cold again, because the cache has lost it, and requests it again."""
        for step in ("search", *ADDITIONS):
            self._statuses.pop((game_id, step), None)
        self._on_change(game_id, "cold")
        self.request(game_id)

    async def run(self) -> None:
        """Compiles until cancelled; the process exists only while there is something to compile."""
        while True:
            self._has_work.clear()
            try:
                while (step := self._next_step()) is not None:
                    await self._compile(*step)
            finally:
                await self._close()
            await self._has_work.wait()

    # --- the order

    def _preempts(self, key: Key, running: _Running) -> bool:
        """Whether a requested step ends the running compilation.

        A request preempts idle work, and a requested search preempts any addition.
        """
        can_start = key[1] == "search" or self.state(key[0]) == "warm"
        is_less_urgent = running.is_idle or (key[1] == "search" and running.key[1] != "search")
        return can_start and is_less_urgent and running.key != key

    def _steps_in_order(self) -> Iterator[tuple[Key, bool]]:
        """All steps to compile, in order, each with whether it is compiled at idle priority."""
        requested = tuple(self._requested)
        yield from ((key, False) for key in requested if key[1] == "search")
        yield from (
            (key, False) for key in requested if key[1] != "search" and self.state(key[0]) == "warm"
        )
        games = tuple(dict.fromkeys((*(game_id for game_id, _ in requested), *self._idle_games)))
        yield from (((game_id, "search"), True) for game_id in games)
        yield from (
            ((game_id, "solver"), True) for game_id in games if self.state(game_id) == "warm"
        )

    def _next_step(self) -> tuple[Key, bool] | None:
        """The step to compile now; settles the steps before it that the cache holds."""
        for key, is_idle in self._steps_in_order():
            if self._status(key).state == "cold" and not self._settle_from_cache(key):
                return key, is_idle
        return None

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
        status = self._status(key)
        answer: asyncio.Future[SearchError | None] = asyncio.get_running_loop().create_future()
        self._running = running = _Running(key, is_idle, answer)
        status.cpu_ms = 0
        self._set(key, "warming")
        requested = next(
            (
                step
                for step, idle in self._steps_in_order()
                if not idle and self._status(step).state == "cold"
            ),
            None,
        )
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
            self._set(key, "cold")
            return False
        except (EOFError, TimeoutError):
            status.tries += 1
            if status.tries >= COMPILE_TRIES:
                self._settle(
                    key,
                    SearchFailed(f"{status.tries} processes died or hung while compiling {key[0]}"),
                )
            else:
                self._set(key, "cold")
            return False
        finally:
            self._running = None
        self._settle(key, error)
        return True

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
            case Compiled():
                kind = RulesChanged if message.is_changed else SearchFailed
                running.answer.set_result(None if message.error is None else kind(message.error))
            case Compiling():
                self._status(running.key).cpu_ms = message.cpu_ms
            case _:
                pass

    def _on_process_end(self, process: WorkerProcess) -> None:
        self._on_end()
        if self._running is not None and not self._running.answer.done():
            self._running.answer.set_exception(EOFError())

    # --- the states

    def _status(self, key: Key) -> _StepStatus:
        return self._statuses.setdefault(key, _StepStatus())

    def _set(self, key: Key, state: WarmState, error: SearchError | None = None) -> None:
        status = self._status(key)
        status.state, status.error = state, error
        if key[1] == "search":
            self._on_change(key[0], state)

    def _settle(self, key: Key, error: SearchError | None) -> None:
        """Marks the step as ready, or as failed with the error."""
        self._set(key, "warm" if error is None else "failed", error)
        self._status(key).settled.set()
        self._requested = [step for step in self._requested if step != key]
        self._on_settled(key[0])

    def _settle_from_cache(self, key: Key) -> bool:
        """Settles a step that needs no compiling; returns whether it did.

        Such a step is in the cache, has no solver to compile, or is of a game that cannot load.
        """
        game_id, step = key
        try:
            game = load_game(game_id)
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            self._settle(key, SearchFailed(f"{type(error).__name__}: {error}"))
            return True
        has_no_solver = step == "solver" and not game.rules.SOLVER
        if not has_no_solver and not code_cache.is_ready(game_id, game.digest, step):
            return False
        self._settle(key, None)
        return True
