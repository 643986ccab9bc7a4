"""A Plyroom server in its own process, which tests may kill.

It is forked from a process that has imported the server, or started as a user starts it.

async with serving(tmp_path / "data", ai_pace_ms=0) as server:
    async with connect(server.url) as client: ...
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from server.deploy.cluster.forking import FORKER, ForkedProcess
from server.limits import by_address as limits

ROOT = Path(__file__).parents[2]
#: The time limit of a start or a stop, in seconds; only a server that hangs reaches it.
START_S = STOP_S = 60.0
#: The traceback of Python's forkserver when its parent is killed while it requests a process. The
#: server cannot catch that exception.
KILLED_FORKSERVER = re.compile(
    r"Traceback .*\n(  .*\n)*?  .*multiprocessing/forkserver\.py.*\n(  .*\n)*EOFError\n"
)
#: Settings that lift every rate limit, for tests that are faster than people.
NO_RATE_LIMITS: dict[str, Any] = {
    "messages_per_s": 1_000_000,
    "messages_burst": 1_000_000,
    "rooms_per_minute": 1_000_000,
    "rooms_burst": 1_000_000,
    **limits.NO_LIMITS,
}


class ServerProcess:
    """A server process on a data folder.

    It can be started again after its end, on the same port and data. Settings are those of
    `server.settings`, passed through the environment. `errors` is what it wrote to standard error
    in all runs. By default it has no search workers, which only AI seats need; it then starts and
    ends in half the time. With `is_forked` false it is started as a user starts it, in a new
    process; so it is where PYTHONPATH has changed since the first fork.
    """

    def __init__(
        self,
        data: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        workers: int = 0,
        is_forked: bool = True,
        **settings: object,
    ):
        self.data = data
        self.host = host
        self.port = port
        #: Its interpreter and its working directory. Those of an installed server are other ones.
        self.python = sys.executable
        self.folder = ROOT
        #: The lines that it printed at its last start.
        self.announced: list[str] = []
        self._workers = workers
        self._settings = _variables(settings)
        self._errors = data.with_name(f"{data.name}-stderr.txt")
        self._is_forked = is_forked
        self._process: asyncio.subprocess.Process | ForkedProcess | None = None
        self._output: asyncio.StreamReader | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def returncode(self) -> int | None:
        return self._running.returncode

    @property
    def errors(self) -> str:
        """Everything it wrote to standard error."""
        return self._errors.read_text("utf-8", "replace") if self._errors.exists() else ""

    @property
    def rss(self) -> int:
        """Resident memory in bytes, without the search workers'."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def connections(self) -> int:
        """Returns the number of connections that it holds."""
        sockets = psutil.Process(self.pid).net_connections("tcp")
        return sum(
            connection.laddr.port == self.port and connection.status != psutil.CONN_LISTEN
            for connection in sockets
        )

    def descendants(self) -> list[psutil.Process]:
        """Its child processes and their children, the search workers among them."""
        return psutil.Process(self.pid).children(recursive=True)

    async def start(self, **settings: object) -> None:
        """Starts the server and waits until it has printed its address.

        Raises RuntimeError with its last output if it ends instead. `settings` are for this run
        only.
        """
        await self._spawn(settings)
        async with asyncio.timeout(START_S):
            while (line := await self._line()) is not None:
                self.announced.append(line)
                if line.startswith("Everything is kept in"):
                    break
        if not self.announced:
            await self._running.wait()
            raise RuntimeError(
                f"the server did not start ({self._running.returncode}): {self.errors}"
            )
        self.port = int(self.announced[0].rstrip("/").rpartition(":")[2])

    async def start_and_wait(self) -> int:
        """Starts it and waits for its end, for starts that must fail; returns the exit code."""
        await self._spawn()
        return await self.wait()

    async def wait(self, within_s: float = STOP_S) -> int:
        """Waits for its end; returns the exit code."""
        async with asyncio.timeout(within_s):
            return await self._running.wait()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal to the server alone."""
        self._running.send_signal(number)

    def send_signal_to_all(self, number: signal.Signals) -> None:
        """Sends a signal to the server's process group, as Ctrl-C on a terminal and systemd do."""
        os.killpg(self.pid, number)

    async def kill(self) -> None:
        """Kills it with SIGKILL and waits for its end."""
        self._running.kill()
        await self._running.wait()

    async def stop(self) -> int:
        """Sends SIGTERM and returns the exit code."""
        self.send_signal(signal.SIGTERM)
        return await self.wait()

    async def _spawn(self, settings: dict[str, object] | None = None) -> None:
        self.data.parent.mkdir(parents=True, exist_ok=True)
        self.announced = []
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PLYROOM_") or name == "PLYROOM_CACHE"
        }
        arguments = [
            "--host", self.host, "--port", str(self.port), "--data", str(self.data),
            "--workers", str(self._workers), "--until-eof",  # in case the tests are killed
        ]  # fmt: skip
        environ |= self._settings | _variables(settings or {})
        is_installed_here = (self.python, self.folder) == (sys.executable, ROOT)
        if self._is_forked and is_installed_here and FORKER.can_fork(environ):
            self._process, self._output = await fork(arguments, environ, self._errors)
            return
        with self._errors.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                self.python, "-m", "server", *arguments,
                cwd=self.folder, env=environ, start_new_session=True,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        self._process, self._output = process, process.stdout

    async def _line(self) -> str | None:
        assert self._output is not None, "its standard output is a pipe"
        return (await self._output.readline()).decode().strip() or None

    @property
    def _running(self) -> asyncio.subprocess.Process | ForkedProcess:
        assert self._process is not None, "it was never started"
        return self._process


async def fork(
    arguments: Sequence[str], environ: dict[str, str], errors: Path, program: str = "server"
) -> tuple[ForkedProcess, asyncio.StreamReader]:
    """Forks a program of `FORKER`; returns it and its standard output. Its input ends with this
    process.
    """
    reading, output = os.pipe()
    stdin, kept_open = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
    )
    with errors.open("ab") as stderr:
        process = await FORKER.fork(arguments, environ, stdin, output, stderr.fileno(), program)
    os.close(output)
    os.close(stdin)

    def close(_ended: object) -> None:
        os.close(kept_open)
        transport.close()

    process.on_end(close)
    return process, reader


def _variables(settings: dict[str, object]) -> dict[str, str]:
    return {f"PLYROOM_{name.upper()}": str(value) for name, value in settings.items()}


@asynccontextmanager
async def serving(
    data: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    workers: int = 0,
    is_forked: bool = True,
    **settings: object,
) -> AsyncIterator[ServerProcess]:
    """Starts a server, and kills it at the end if it still runs; `stop` ends it cleanly."""
    server = ServerProcess(
        data, host=host, port=port, workers=workers, is_forked=is_forked, **settings
    )
    try:
        await server.start()
        yield server
    finally:
        if server._process is not None and server._process.returncode is None:
            await server.kill()


async def eventually(holds: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
    """Polls a condition that no event signals, such as another process's file or memory.

    Raises AssertionError when it does not become true within `within_s`.
    """
    try:
        async with asyncio.timeout(within_s):
            while not holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {within_s:g} s: {what}") from None


def assert_no_traceback(server: ServerProcess) -> None:
    """Asserts that no run of the server logged a traceback or an unexpected exception."""
    errors = KILLED_FORKSERVER.sub("", server.errors)
    assert "Traceback" not in errors, errors[-5000:]
    assert "exception" not in errors.lower(), errors[-5000:]
