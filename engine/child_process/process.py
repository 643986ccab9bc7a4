"""A child process: start it, exchange messages with it through pipes, kill it."""

import asyncio
import contextlib
import os
import signal
import sys
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
        self._process: asyncio.subprocess.Process | None = None

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
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", module, *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, env={**(variables or {}), **environment()},
            cwd=folder, start_new_session=True,
        )  # fmt: skip

    def write(self, framed: bytes) -> None:
        """Writes a framed message."""
        assert self._process is not None, "the process was started"
        assert self._process.stdin is not None, "it has a pipe"
        self._process.stdin.write(framed)

    async def read(self, max_bytes: int) -> bytes:
        """Returns the next message; raises EOFError at the end, ValueError if it is too long."""
        assert self._process is not None, "the process was started"
        assert self._process.stdout is not None, "it has a pipe"
        header = await self._process.stdout.readexactly(LENGTH_BYTES)
        length = int.from_bytes(header, "big")
        if length > max_bytes:
            raise ValueError("the reply is too long")
        return await self._process.stdout.readexactly(length)

    def interrupt(self) -> None:
        """Raises JobTimeout in the process's `time_limit` block; kills the process on Windows."""
        if self._process is None or self._process.returncode is not None:
            return
        number = getattr(signal, "SIGALRM", None)
        if number is None:
            self._process.kill()
        else:
            self._process.send_signal(number)

    async def close(self) -> None:
        """Kills the process with those that it has started, and waits for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        assert process.stdin is not None, "it has a pipe"
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await process.wait()


def environment() -> dict[str, str]:
    """Returns the environment of a child process, which imports from the same path as this one."""
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    inherited = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    return {**inherited, **SETTINGS, "PYTHONPATH": path}
