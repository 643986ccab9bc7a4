"""One worker process seen from the pool: start, send, receive, kill. All callbacks run in the event
loop.
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
JOIN_S = 5.0

_launching = threading.Lock()


class WorkerProcess:
    """A process, its pipe, and the control block in which this side writes the CANCEL word and
    nothing else.
    """

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
        self._ending = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Starts the process without holding up the loop. Unless it is closed first, `on_end` will
        be called once: at the process's end, or now when there is no process to be had.
        """
        launch = asyncio.get_running_loop().run_in_executor(None, self._launch)
        try:
            await asyncio.shield(launch)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, EOFError):
                await launch
            await self.close()
            raise
        except (
            OSError,
            EOFError,
        ):  # the server that forks died (a signal to the whole group), or no process is left
            self._gone()
            return
        self._listen()

    def send(self, command: WorkerCommand) -> None:
        """Hands an order to an idle worker; SearchFailed when it is too big."""
        content = encode(command)
        if len(content) > MAX_BYTES:
            raise SearchFailed(f"a job has at most {MAX_BYTES} bytes, not {len(content)}")
        self._control[layout.CANCEL] = 0
        if self._pipe is not None:
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # its end is noticed by reading
                self._pipe.send_bytes(content)

    def cancel(self) -> None:
        """The running search ends within milliseconds, and the worker says so."""
        self._control[layout.CANCEL] = 1

    def kill(self) -> None:
        """The end of the pipe follows, and with it `on_end`."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """Ends the process without a call of `on_end`, and frees what belongs to it."""
        self._ending = True
        self._hang_up()
        if self._process is not None:
            self.kill()
            await asyncio.to_thread(self._process.join, JOIN_S)
            with contextlib.suppress(ValueError):  # still there after JOIN_S
                self._process.close()
            self._process = None

    def _launch(self) -> None:
        self._control = self._context.RawArray("q", layout.CONTROL_WORDS)
        self._pipe, theirs = self._context.Pipe()
        process = self._context.Process(
            target=main,
            args=(theirs, self._control, self._table_bytes),
            name="plyroom-worker",
            daemon=True,
        )
        try:
            with _launching, _no_main_module(), _no_interrupt():
                process.start()
        finally:
            theirs.close()
        self._process = process

    def _listen(self) -> None:
        assert self._pipe is not None
        loop = asyncio.get_running_loop()
        if sys.platform == "win32":  # a named pipe, which the loop cannot wait for
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
                self._gone()
                return
            self._on_message(self, decode_message(content))

    def _read_by_thread(self, loop: asyncio.AbstractEventLoop, pipe: Connection) -> None:
        try:
            while True:
                message = decode_message(pipe.recv_bytes())
                loop.call_soon_threadsafe(self._on_message, self, message)
        except (EOFError, OSError):
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._gone)

    def _gone(self) -> None:
        self._hang_up()
        if not self._ending:
            self._ending = True
            self.kill()
            self._on_end(self)

    def _hang_up(self) -> None:
        if self._pipe is not None:
            if sys.platform != "win32":
                asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()
            self._pipe = None


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """Hides the main module from a start, lest every worker import the server's main program once
    more.
    """
    main_module = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main_module


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C goes to every process of a terminal; those started here never hear it, from their
    first instruction on.
    """
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # when it is started by the way, it unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def default_workers() -> int:
    """One worker a core; the event loop needs little of one."""
    affinity = getattr(os, "sched_getaffinity", None)
    return max(1, len(affinity(0)) if affinity else os.cpu_count() or 1)
