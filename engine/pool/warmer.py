"""What the pool compiles, in which order, and how far it is: one step of one game at a time, in a
process of its own.

First comes the search of the games that somebody asked for, then what makes those better that
somebody asked for by name (a solver, the personas), then the rest at idle priority: the searches of
all games before any solver. Personas are not compiled before somebody asks for one: few seats are
theirs. What is asked for ends an idle compilation. What the cache holds is settled at once, without
a process.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.compiler import code_cache
from engine.pool.messages import CompileCommand, Compiled, Compiling, Step, WorkerMessage
from engine.pool.process import WorkerProcess
from engine.rules.registry import load_game
from engine.search import uncompiled as cold
from engine.search.job import RulesChanged, SearchError, SearchFailed

TRIES = 3
#: A step may take this long to compile, …
LOAD_S = 120.0
#: … and this long by a process that gives way to everything else.
IDLE_LOAD_S = 1200.0
#: The steps after the search.
BETTER: tuple[Step, ...] = ("solver", "persona")

WarmState = Literal["cold", "warming", "warm", "failed"]
Key = tuple[str, Step]
MakeProcess = Callable[
    [Callable[[WorkerProcess, WorkerMessage], None], Callable[[WorkerProcess], None]], WorkerProcess
]


class _Preempted(Exception):
    """Something that somebody waits for is compiled instead."""


@dataclass(slots=True)
class _Warmth:
    """What is known about one step of a game."""

    state: WarmState = "cold"
    error: SearchError | None = None
    tries: int = 0
    cpu_ms: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Running:
    """The compilation that is under way."""

    key: Key
    is_idle: bool
    answer: asyncio.Future[SearchError | None]


class Warmer:
    """Compiles; `run` is its task. `spare` are the games that are compiled when nobody asks for
    any.

    `on_change(game, state)` tells of each change of a game's search; `on_settled(game)` that a step
    of a game is ready or has failed; `on_end` that a compiling process died.
    """

    def __init__(
        self,
        make_process: MakeProcess,
        spare: Iterable[str],
        on_change: Callable[[str, WarmState], None],
        on_settled: Callable[[str], None],
        on_end: Callable[[], None],
    ) -> None:
        self._make_process = make_process
        self._on_change = on_change
        self._on_settled = on_settled
        self._on_end = on_end
        self._known: dict[Key, _Warmth] = {}
        self._asked: list[Key] = []
        self._spare = list(spare)
        self._work = asyncio.Event()
        self._running: _Running | None = None
        self._gives_way = False
        self.process: WorkerProcess | None = None

    # --- what the pool calls

    def state(self, game_id: str) -> WarmState:
        """How far a game's search is."""
        return self._warmth((game_id, "search")).state

    def error(self, game_id: str) -> SearchError:
        """Why there are no searches of a game whose search failed to compile."""
        error = self._warmth((game_id, "search")).error
        assert error is not None, "only what failed has an error"
        return type(error)(str(error))

    def is_settled(self, game_id: str, step: Step) -> bool:
        """Is there nothing to wait for, because the step is ready or has failed?"""
        return self._warmth((game_id, step)).state in ("warm", "failed")

    def percent(self, game_id: str) -> int:
        """How far a game's search is compiled, by the processor time that it usually takes; 100
        when there is nothing to wait for, because it is ready or cannot be.
        """
        warmth = self._warmth((game_id, "search"))
        if warmth.state in ("warm", "failed"):
            return 100
        return cold.percent(game_id, warmth.cpu_ms / 1000) if warmth.state == "warming" else 0

    def ask(self, game_id: str, step: Step = "search") -> None:
        """Somebody waits for this: it is settled now if the cache holds it, or else compiled before
        what is idle.
        """
        key = (game_id, step)
        if self._warmth(key).state != "cold" or self._settle_from_cache(key):
            return
        if key not in self._asked:
            self._asked.append(key)
            self._work.set()
        running = self._running
        if running is not None and not running.answer.done() and self._goes_before(key, running):
            running.answer.set_exception(_Preempted())

    def add_spare(self, game_id: str) -> None:
        """One more game to compile when nobody asks for any."""
        if self.state(game_id) == "cold" and game_id not in self._spare:
            self._spare.append(game_id)
            self._work.set()

    async def settled(self, game_id: str) -> None:
        """Returns when a game's search is ready or has failed."""
        await self._warmth((game_id, "search")).settled.wait()

    def forget(self, game_id: str) -> None:
        """The cache does not hold this game any more, whatever it seemed to: it is cold again, and
        asked for.
        """
        for step in ("search", *BETTER):
            self._known.pop((game_id, step), None)
        self._on_change(game_id, "cold")
        self.ask(game_id)

    async def run(self) -> None:
        """Compiles in a process that is there only while there is something to compile, until
        cancelled.
        """
        while True:
            self._work.clear()
            try:
                while (found := self._next()) is not None:
                    await self._compile(*found)
            finally:
                await self._close()
            await self._work.wait()

    # --- the order

    def _goes_before(self, key: Key, running: _Running) -> bool:
        """Is the running compilation one that nobody waits for, or a lesser step while a search is
        wanted?
        """
        is_possible = key[1] == "search" or self.state(key[0]) == "warm"
        is_lesser = running.is_idle or (key[1] == "search" and running.key[1] != "search")
        return is_possible and is_lesser and running.key != key

    def _order(self) -> Iterator[tuple[Key, bool]]:
        """Everything that is wanted, in order, and whether it gives way to everything else."""
        asked = tuple(self._asked)
        yield from ((key, False) for key in asked if key[1] == "search")
        yield from (
            (key, False) for key in asked if key[1] != "search" and self.state(key[0]) == "warm"
        )
        games = tuple(dict.fromkeys((*(game_id for game_id, _ in asked), *self._spare)))
        yield from (((game_id, "search"), True) for game_id in games)
        yield from (
            ((game_id, "solver"), True) for game_id in games if self.state(game_id) == "warm"
        )

    def _next(self) -> tuple[Key, bool] | None:
        """What to compile now; what the cache holds is settled on the way."""
        for key, is_idle in self._order():
            if self._warmth(key).state == "cold" and not self._settle_from_cache(key):
                return key, is_idle
        return None

    # --- one compilation

    async def _compile(self, key: Key, is_idle: bool) -> None:
        if self._gives_way and not is_idle:
            await self._close()
        if self.process is None:
            self.process = self._make_process(self._on_message, self._on_process_end)
            await self.process.start()
        self._gives_way = is_idle
        if not await self._compile_in(self.process, key, is_idle):
            await self._close()

    async def _compile_in(self, process: WorkerProcess, key: Key, is_idle: bool) -> bool:
        """Compiles one step and settles it; false when the process died over it, or something else
        goes first.
        """
        warmth = self._warmth(key)
        answer: asyncio.Future[SearchError | None] = asyncio.get_running_loop().create_future()
        self._running = running = _Running(key, is_idle, answer)
        warmth.cpu_ms = 0
        self._set(key, "warming")
        waiting = next(
            (one for one, idle in self._order() if not idle and self._warmth(one).state == "cold"),
            None,
        )
        if waiting is not None and self._goes_before(waiting, running):
            answer.set_exception(_Preempted())  # it was asked for while the process started
        elif process.pid is None:  # it did not even start
            answer.set_exception(EOFError())
        else:
            process.send(
                CompileCommand(key[0], load_game(key[0]).digest, idle=is_idle, step=key[1])
            )
        try:
            async with asyncio.timeout(IDLE_LOAD_S if is_idle else LOAD_S):
                error = await answer
        except _Preempted:
            self._set(key, "cold")
            return False
        except (EOFError, TimeoutError):
            warmth.tries += 1
            if warmth.tries >= TRIES:
                self._settle(
                    key, SearchFailed(f"the compiler died {warmth.tries} times over {key[0]}")
                )
            else:
                self._set(key, "cold")
            return False
        finally:
            self._running = None
        self._settle(key, error)
        return True

    async def _close(self) -> None:
        self._gives_way = False
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
                self._warmth(running.key).cpu_ms = message.cpu_ms
            case _:
                pass

    def _on_process_end(self, process: WorkerProcess) -> None:
        self._on_end()
        if self._running is not None and not self._running.answer.done():
            self._running.answer.set_exception(EOFError())

    # --- what is known

    def _warmth(self, key: Key) -> _Warmth:
        return self._known.setdefault(key, _Warmth())

    def _set(self, key: Key, state: WarmState, error: SearchError | None = None) -> None:
        warmth = self._warmth(key)
        warmth.state, warmth.error = state, error
        if key[1] == "search":
            self._on_change(key[0], state)

    def _settle(self, key: Key, error: SearchError | None) -> None:
        """The step is ready, or cannot be."""
        self._set(key, "warm" if error is None else "failed", error)
        self._warmth(key).settled.set()
        self._asked = [one for one in self._asked if one != key]
        self._on_settled(key[0])

    def _settle_from_cache(self, key: Key) -> bool:
        """What was compiled before needs no process."""
        game_id, step = key
        try:
            game = load_game(game_id)
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            self._settle(key, SearchFailed(f"{type(error).__name__}: {error}"))
            return True
        is_nothing = step == "solver" and not getattr(game.rules, "SOLVER", "")
        if not is_nothing and not code_cache.is_ready(game_id, game.digest, step):
            return False
        self._settle(key, None)
        return True
