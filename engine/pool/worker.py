"""The worker process: serves one command at a time from its pipe, and exits when the pipe closes.

The main thread searches. A reader thread notices that the pool has closed its end of the pipe, even
during a search. During each search a companion thread enforces the time limit and reports progress.
(The kernel runs without the GIL.)
"""

import contextlib
import os
import queue
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from engine.compiler import code_cache
from engine.compiler.code_cache import Access, CacheBusy, NotCached
from engine.game import Game, GameFault
from engine.pool.messages import (
    Accepted,
    Answered,
    CompileCommand,
    Compiled,
    Compiling,
    Failed,
    NotCompiled,
    Progress,
    Ready,
    Reason,
    SearchCommand,
    SearchStarted,
    Step,
    WorkerCommand,
    WorkerMessage,
    decode_command,
    encode,
)
from engine.rules.registry import load_game
from engine.search.job import Info, Result, RulesChanged, SearchFailed
from engine.search.report import asks_solver

#: Seconds between the reports of a running search's node count.
PROGRESS_S = 0.15
#: Seconds between the heartbeats of a worker that loads or compiles a game.
HEARTBEAT_S = 0.5
#: Size of a room's table, as a power of two of entries.
TABLE_BITS = 20
#: The niceness of a worker that compiles at idle priority.
IDLE_NICE = 10


def main(pipe: Connection, control_words: Any, table_bytes: int) -> None:
    """Serves commands until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The server imports this module to refer to `main`; only the worker imports the compiler.
    driver = import_module("engine.search.driver")
    Worker(driver, pipe, control_words, table_bytes).serve()


class Worker:
    """A worker's loaded games, the tables of its rooms, and its end of the pipe."""

    def __init__(self, driver: Any, pipe: Connection, control_words: Any, table_bytes: int) -> None:
        self._driver = driver
        self._pipe = pipe
        self._send_lock = threading.Lock()
        self._progress_lock = threading.Lock()
        self._commands: queue.SimpleQueue[WorkerCommand] = queue.SimpleQueue()
        self._control = driver.Control(control_words)
        self._searchers: dict[tuple[str, bool], Any] = {}
        self._personas: dict[tuple[str, bool], Any] = {}
        self._tables: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._table_bytes = table_bytes
        self._loading: int | None = None
        #: The step that the worker loads.
        self._step: Step = "search"
        self._compiling: tuple[str, float] | None = None

    def serve(self) -> None:
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        self._send(Ready(os.getpid()))
        while True:
            match self._commands.get():
                case SearchCommand() as command:
                    self._send(self._run(command))
                case CompileCommand() as command:
                    self._send(self._compile(command))

    def _read(self) -> None:
        while True:
            try:
                while not self._pipe.poll(HEARTBEAT_S):
                    self._send_heartbeat()
                command = decode_command(self._pipe.recv_bytes())
            except (EOFError, OSError):
                os._exit(0)  # the pool has ended, so no caller waits for the search
            if isinstance(command, SearchCommand):
                self._loading = command.number
                self._send_heartbeat()
            self._commands.put(command)

    def _send_heartbeat(self) -> None:
        """Reports that the worker still loads a game, or the time it has spent compiling one."""
        number, compiling = self._loading, self._compiling
        if number is not None:
            self._send(Accepted(number))
        if compiling is not None:
            game_id, begun_s = compiling
            self._send(Compiling(game_id, round((time.process_time() - begun_s) * 1000)))

    def _send(self, message: WorkerMessage) -> None:
        # The reader notices a closed pipe too.
        with self._send_lock, contextlib.suppress(BrokenPipeError):
            self._pipe.send_bytes(encode(message))

    def _send_progress(self, number: int, read_info: Callable[[], Info | None]) -> None:
        """Reads a search's progress and sends it, both under one lock.

        The report of a completed depth thus waits until the companion has sent the one that it has
        read, and the pool receives the reports in order.
        """
        with self._progress_lock:
            info = read_info()
            if info is not None:
                self._send(Progress(number, info))

    def _run(self, command: SearchCommand) -> WorkerMessage:
        """Runs a search command and returns the reply; a faulty game fails this command only."""
        try:
            searcher, personas = self._load(command)
            self._loading = None
            self._send(SearchStarted(command.number))
            result = self._answer(command, searcher, personas)
        except self._driver.Cancelled:
            return _failed(command, "cancelled", "")
        except RulesChanged as error:
            return _failed(command, "rules_changed", str(error))
        except NotCached:
            with contextlib.suppress(CacheBusy), code_cache.with_access(Access.LOAD):
                code_cache.forget_ready(command.job.game, command.job.rules, self._step)
            return NotCompiled(command.number)
        except CacheBusy:
            return NotCompiled(command.number, is_locked=True)
        except SearchFailed as error:
            reason: Reason = "fault" if isinstance(error.__cause__, GameFault) else "failed"
            return _failed(command, reason, f"{type(error).__name__}: {error}")
        except Exception as error:
            return _failed(command, "fault", f"{type(error).__name__}: {error}")
        finally:
            self._loading = None
        return Answered(command.number, result)

    def _answer(self, command: SearchCommand, searcher: Any, personas: Any) -> Result:
        """Runs the search, or the job's persona, and reports its progress."""
        hooks: dict[str, Any] = {
            "on_info": lambda info: self._send_progress(command.number, lambda: info),
            "watch": lambda running: self._watch(command.number, running),
            "time_ms": command.time_ms,
        }
        if personas is not None:
            persona_result: Result = personas.answer(command.job, self._control, **hooks)
            return persona_result
        job = command.job
        result: Result = self._driver.answer(
            job, searcher, lambda: self._table(job.affinity, job.game), self._control, **hooks
        )
        return result

    def _compile(self, command: CompileCommand) -> WorkerMessage:
        """Compiles the step of a command into the cache, and returns the reply."""
        if command.idle:
            lower_priority()
        self._compiling = (command.game, time.process_time())
        try:
            with code_cache.with_access(Access.COMPILE_AT_ONCE):
                self._compile_step(command)
        except CacheBusy:
            return Compiled(command.game, None, is_locked=True)
        except Exception as error:
            is_changed = isinstance(error, RulesChanged)
            return Compiled(command.game, f"{type(error).__name__}: {error}"[:1000], is_changed)
        finally:
            self._compiling = None
        return Compiled(command.game, None)

    def _compile_step(self, command: CompileCommand) -> None:
        """Compiles a step into the cache. Raises RulesChanged, CacheBusy, or the rules' error."""
        game = load_game(command.game)
        _check_rules(game, command.rules)
        searcher = self._searcher(game.id, compiled=True)
        if command.step == "solver":
            searcher.add_solver()
        elif command.step == "persona":
            self._personas_of(searcher)

    def _load(self, command: SearchCommand) -> tuple[Any, Any]:
        """The search that a job needs, with its solver, and its personas (None without one).

        Raises NotCached or CacheBusy if compiled code cannot be loaded at once. A worker compiles
        only if the command allows it, so that no job waits for that.
        """
        job, self._step = command.job, "search"
        game = load_game(job.game)
        if command.uncompiled:
            searcher = self._searcher(game.id, compiled=False)
            return searcher, None if job.persona is None else self._personas_of(searcher)
        _check_rules(game, job.rules)
        allowed = Access.COMPILE_AT_ONCE if command.may_compile else Access.LOAD
        with code_cache.with_access(allowed):
            searcher = self._searcher(game.id, compiled=True)
            if job.persona is not None:
                self._step = "persona"
                return searcher, self._personas_of(searcher)
            if searcher.solver is None and asks_solver(job, game):
                self._step = "solver"
                is_ready = code_cache.is_ready(game.id, game.digest, "solver")
                # A live job does not wait until a solver is compiled.
                if is_ready or (command.may_compile and job.use != "live"):
                    searcher.add_solver()
        return searcher, None

    def _searcher(self, game_id: str, *, compiled: bool) -> Any:
        """The search of a game, loaded from the cache or compiled.

        It does not load the game's solver, which may not be compiled yet.
        """
        key = (game_id, compiled)
        if key not in self._searchers:
            searcher = self._driver.Searcher(
                load_game(game_id), compiled=compiled, with_solver=False
            )
            searcher.prepare_search()
            self._searchers[key] = searcher
        return self._searchers[key]

    def _personas_of(self, searcher: Any) -> Any:
        """The personas of a game, loaded for the first job that needs one.

        They are not loaded in advance, because few players are personas.
        """
        key = (searcher.game.id, searcher.is_compiled)
        if key not in self._personas:
            personas = import_module("engine.search.persona").Personas(searcher)
            personas.prepare()
            self._personas[key] = personas
        return self._personas[key]

    def _table(self, affinity: str, game_id: str) -> Any:
        """The table of a room for a game; a new one may evict the least recently used ones."""
        key = (affinity, game_id)
        if key not in self._tables:
            self._tables[key] = self._driver.Table(TABLE_BITS)
        self._tables.move_to_end(key)
        while (
            len(self._tables) > 1
            and sum(table.size_bytes for table in self._tables.values()) > self._table_bytes
        ):
            self._tables.popitem(last=False)
        return self._tables[key]

    @contextlib.contextmanager
    def _watch(self, number: int, running: Any) -> Iterator[None]:
        """Runs the companion thread of a search until the context ends."""
        ended = threading.Event()
        companion = threading.Thread(
            target=self._run_companion, args=(number, running, ended), name="companion", daemon=True
        )
        companion.start()
        try:
            yield
        finally:
            ended.set()
            companion.join()

    def _run_companion(self, number: int, running: Any, ended: threading.Event) -> None:
        deadline_s = None if running.seconds is None else time.perf_counter() + running.seconds
        while True:
            left_s = (
                PROGRESS_S if deadline_s is None else max(0.0, deadline_s - time.perf_counter())
            )
            if ended.wait(min(PROGRESS_S, left_s)):
                return
            if deadline_s is not None and time.perf_counter() >= deadline_s:
                running.expire()
                deadline_s = None
            else:
                self._send_progress(number, lambda: _live_info(running))


def _check_rules(game: Game, digest: str) -> None:
    """Raises RulesChanged if a command is for other rules than those that this process has."""
    if game.digest != digest:
        raise RulesChanged(f"the rules of {game.id} are {game.digest} here, not {digest}")


def lower_priority() -> None:
    """Lowers this process's priority to IDLE_NICE; a second call changes nothing."""
    if hasattr(os, "nice"):
        os.nice(max(0, IDLE_NICE - os.nice(0)))


def _live_info(running: Any) -> Info | None:
    """The progress of a search; None also when the rules raise, which the search itself reports."""
    try:
        info: Info | None = running.live()
    except Exception:
        return None
    return info


def _failed(command: SearchCommand, reason: Reason, message: str) -> Failed:
    return Failed(command.number, reason, message[:1000])
