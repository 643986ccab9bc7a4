"""The pool's handle of a worker process: starts and kills it, and exchanges messages with it.

All callbacks run in the event loop.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any, Literal

from engine.pool.messages import MAX_BYTES, WorkerCommand, WorkerMessage, decode_message, encode
from engine.pool.worker import main
from engine.search import layout
from engine.search.job import SearchFailed

StartMethod = Literal["forkserver", "spawn"]
DEFAULT_START: StartMethod = "spawn" if sys.platform == "win32" else "forkserver"
#: Seconds that `close` waits for a killed process to end.
JOIN_S = 5.0

_launch_lock = threading.Lock()


class WorkerProcess:
    """A process, its pipe and its control block; the pool writes only the block's CANCEL word."""

    def __init__(
        self,
        method: StartMethod,
        table_bytes: int,
        on_message: Callable[["WorkerProcess", WorkerMessage], None],
        on_end: Callable[["WorkerProcess"], None],
    ) -> None:
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(["engine.pool.preload"])
        self._table_bytes = table_bytes
        self._on_message = on_message
        self._on_end = on_end
        self._process: Any = None
        self._pipe: Connection | None = None
        self._control: Any = None
        self._is_ending = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts the process without blocking the loop.

        Unless the process is closed first, `on_end` is called once: when the process ends, or
        during the start when it cannot be created.
        """
        launch = asyncio.get_running_loop().run_in_executor(None, self._launch)
        try:
            await asyncio.shield(launch)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, EOFError):
                await launch
            await self.close()
            raise
        except (OSError, EOFError):
            # A signal to the whole group killed the fork server, or no process can be created.
            self._on_pipe_closed()
            return
        self._listen()

    def send(self, command: WorkerCommand) -> None:
        """Sends a command to an idle worker; raises SearchFailed when it exceeds MAX_BYTES."""
        content = encode(command)
        if len(content) > MAX_BYTES:
            raise SearchFailed(f"a job has at most {MAX_BYTES} bytes, not {len(content)}")
        self._control[layout.CANCEL] = 0
        if self._pipe is not None:
            # The reader notices the end of the pipe.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._pipe.send_bytes(content)

    def cancel(self) -> None:
        """Ends the running search within milliseconds; the worker then reports that it stopped."""
        self._control[layout.CANCEL] = 1

    def kill(self) -> None:
        """Kills the process; its pipe then closes, which calls `on_end`."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Ends the process without calling `on_end`, and frees its resources."""
        self._is_ending = True
        self._close_pipe()
        if self._process is not None:
            self.kill()
            await asyncio.to_thread(self._process.join, JOIN_S)
            with contextlib.suppress(ValueError):  # the process still runs after JOIN_S
                self._process.close()
            self._process = None

    def _launch(self) -> None:
        self._control = self._context.RawArray("q", layout.CONTROL_WORDS)
        self._pipe, worker_end = self._context.Pipe()
        process = self._context.Process(
            target=main,
            args=(worker_end, self._control, self._table_bytes),
            name="plyroom-worker",
            daemon=True,
        )
        try:
            with _launch_lock, _no_main_module(), _no_interrupt():
                process.start()
        finally:
            worker_end.close()
        self._process = process

    def _listen(self) -> None:
        assert self._pipe is not None
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":  # the loop cannot wait for a named pipe
            threading.Thread(
                target=self._read_by_thread, args=(loop, self._pipe), daemon=True
            ).start()
        else:
            loop.add_reader(self._pipe.fileno(), self._read)

    def _read(self) -> None:
        while self._pipe is not None:
            try:
                if not self._pipe.poll():
                    return
                content = self._pipe.recv_bytes()
            except (EOFError, OSError):
                self._on_pipe_closed()
                return
            self._on_message(self, decode_message(content))

    def _read_by_thread(self, loop: asyncio.AbstractEventLoop, pipe: Connection) -> None:
        try:
            while True:
                message = decode_message(pipe.recv_bytes())
                loop.call_soon_threadsafe(self._on_message, self, message)
        except (EOFError, OSError):
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._on_pipe_closed)

    def _on_pipe_closed(self) -> None:
        self._close_pipe()
        if not self._is_ending:
            self._is_ending = True
            self.kill()
            self._on_end(self)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            if sys.platform != "win32":
                asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()
            self._pipe = None


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Hides the main module during a start, so that no worker imports the server's main program."""
    main_module = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main_module


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """Blocks SIGINT in the processes that are started here, from their first instruction on.

    A terminal sends Ctrl-C to every process of its foreground group.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # if `start` had to launch it, SIGINT would be unblocked
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def default_workers() -> int:
    """The number of available cores; the event loop needs little processor time of its own."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)
