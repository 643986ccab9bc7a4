"""A child process: start it, exchange messages with it through pipes, kill it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping

from engine.child_process.framing import LENGTH_BYTES

#: Seconds that a killed process may take to end.
CLOSE_S = 5.0
#: The environment variables that a process inherits. The others may hold secrets.
ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TZ")
#: The environment variables that are set: few threads, because each takes address space, and the
#: same order of sets in every process.
SETTINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


class ChildProcess:
    """A process that runs one module of this program, with framed messages on its pipes."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._input: asyncio.WriteTransport | None = None
        self._output = asyncio.StreamReader()
        self._ended = asyncio.Event()
        self._closing = contextlib.ExitStack()

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""
        return None if self._process is None else self._process.pid

    async def start(
        self,
        module: str,
        *arguments: str,
        folder: str = os.sep,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the process, which inherits no file and no socket. Raises OSError if it cannot.

        `folder` is its working directory; `variables` come into its environment.
        """
        self._process = _started(
            [sys.executable, "-P", "-m", module, *arguments],
            {**(variables or {}), **environment()},
            folder,
        )
        self._ended = asyncio.Event()
        waiting = (self._process, asyncio.get_running_loop(), self._ended)
        threading.Thread(target=_wait, args=waiting, name="child process", daemon=True).start()
        try:
            await self._connect(self._process)
        except BaseException:
            await self.close()
            raise

    async def _connect(self, process: subprocess.Popen[bytes]) -> None:
        """Connects the event loop to the pipes of the process."""
        loop = asyncio.get_running_loop()
        self._output = asyncio.StreamReader()
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._closing.callback(self._input.close)
        output, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._output), process.stdout
        )
        self._closing.callback(output.close)

    def write(self, framed: bytes) -> None:
        """Writes a framed message."""
        assert self._input is not None, "the process was started"
        self._input.write(framed)

    async def read(self, max_bytes: int) -> bytes:
        """Returns the next message; raises EOFError at the end, ValueError if it is too long."""
        assert self._process is not None, "the process was started"
        header = await self._output.readexactly(LENGTH_BYTES)
        length = int.from_bytes(header, "big")
        if length > max_bytes:
            raise ValueError("the reply is too long")
        return await self._output.readexactly(length)

    def interrupt(self) -> None:
        """Raises JobTimeout in the process's `time_limit` block."""
        if self._process is not None:
            self._process.send_signal(signal.SIGALRM)

    async def close(self) -> None:
        """Kills the process with those that it has started, and waits for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        self._closing.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._ended.wait()


def _started(
    command: list[str], variables: Mapping[str, str], folder: str
) -> subprocess.Popen[bytes]:
    """Starts a process with two pipes; returns as soon as its program is loaded.

    The event loop does not do it: between fork and exec, uvloop runs Python code in the child,
    which drops what belongs to other threads. If that waits for a lock that one of them held, such
    as that of the store's pool of connections, the child never starts, and its parent stands still
    with it.
    """
    return subprocess.Popen(
        command, bufsize=0, cwd=folder, env=variables, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _wait(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, ended: asyncio.Event
) -> None:
    """Waits for the end of a process, so that it does not stay as a zombie, and reports it."""
    process.wait()
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(ended.set)


def environment() -> dict[str, str]:
    """Returns the environment of a child process, which imports from the same path as this one."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    inherited = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return {**inherited, **SETTINGS, "PYTHONPATH": path}
