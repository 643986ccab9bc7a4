"""A child process: start it, exchange messages with it through a socket, kill it."""

import asyncio
import contextlib
import os
import signal
import socket
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
    """A process that runs one module of this program, with framed messages on a socket.

    The socket is its standard input and output.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._ended = asyncio.Event()

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
        own_end, other_end = socket.socketpair()
        with other_end:
            try:
                self._process = _started(
                    [sys.executable, "-P", "-m", module, *arguments],
                    {**(variables or {}), **environment()},
                    folder,
                    other_end.fileno(),
                )
            except BaseException:
                own_end.close()
                raise
        self._ended = asyncio.Event()
        waiting = (self._process, asyncio.get_running_loop(), self._ended)
        threading.Thread(target=_wait, args=waiting, name="child process", daemon=True).start()
        try:
            self._streams = await asyncio.open_unix_connection(sock=own_end)
        except BaseException:
            own_end.close()
            await self.close()
            raise

    def write(self, framed: bytes) -> None:
        """Writes a framed message."""
        assert self._streams is not None, "the process was started"
        self._streams[1].write(framed)

    async def read(self, max_bytes: int) -> bytes:
        """Returns the next message; raises EOFError at the end, ValueError if it is too long."""
        assert self._streams is not None, "the process was started"
        stream, _ = self._streams
        try:
            header = await stream.readexactly(LENGTH_BYTES)
            length = int.from_bytes(header, "big")
            if length > max_bytes:
                raise ValueError("the reply is too long")
            return await stream.readexactly(length)
        except ConnectionError as error:  # it ended before it had read all
            raise EOFError(str(error)) from error

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
        if self._streams is not None:
            self._streams[1].transport.abort()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._ended.wait()


def _started(
    command: list[str], variables: Mapping[str, str], folder: str, end: int
) -> subprocess.Popen[bytes]:
    """Starts a process, whose input and output are an end of a socket; returns as soon as its
    program is loaded.

    The event loop does not do it: between fork and exec, uvloop runs Python code in the child,
    which drops what belongs to other threads. If that waits for a lock that one of them held, such
    as that of the store's pool of connections, the child never starts, and its parent stands still
    with it.

    It gets a socket instead of two pipes because uvloop closes the number of a pipe's file twice,
    the second time perhaps after another thread has opened a file with that number.
    """
    return subprocess.Popen(
        command, cwd=folder, env=variables, start_new_session=True,
        stdin=end, stdout=end, stderr=subprocess.DEVNULL,
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
