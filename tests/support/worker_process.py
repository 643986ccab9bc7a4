"""An engine worker in its own process, forked from one that has imported the worker."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from server.bus.broker import Broker
from server.deploy.cluster.forking import ForkedProcess
from tests.support.server_process import START_S, fork


class WorkerProcess:
    """A worker that can be started again after its end."""

    def __init__(self, folder: Path, bus: Broker, name: str, games: str, cores: int = 1) -> None:
        self.name = name
        #: The worker's id at the broker in this run.
        self.id = ""
        user = f"{bus.user}:{bus.password}@" if bus.user else ""
        self._url = f"mqtt://{user}{bus.host}:{bus.port}"
        self._arguments = ("--games", games, "--cores", str(cores), "--name", name)
        self._errors = folder / f"{name}-stderr.txt"
        self._process: ForkedProcess | None = None

    @property
    def errors(self) -> str:
        """Everything it wrote to standard error, in all runs."""
        return self._errors.read_text("utf-8", "replace") if self._errors.exists() else ""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    async def start(self) -> None:
        """Starts the worker and waits until it has printed its id; its advert follows later."""
        environ = {
            name: value for name, value in os.environ.items() if not name.startswith("PLYROOM_")
        }
        if cache := os.environ.get("PLYROOM_CACHE"):
            environ["PLYROOM_CACHE"] = cache
        self._process, output = await fork(
            self._arguments, environ | {"PLYROOM_BUS": self._url}, self._errors, "worker"
        )
        async with asyncio.timeout(START_S):
            line = (await output.readline()).decode()
        assert line, self.errors
        self.id = line.split()[0]

    async def kill(self) -> None:
        """Kills it with SIGKILL; its search processes end by themselves soon afterwards."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> int:
        """Sends SIGTERM and returns the exit code."""
        self.send_signal(signal.SIGTERM)
        assert self._process is not None
        async with asyncio.timeout(START_S):
            return await self._process.wait()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal to the worker, not to its search processes."""
        assert self._process is not None
        self._process.send_signal(number)


@asynccontextmanager
async def working(
    folder: Path, bus: Broker, name: str, games: str, cores: int = 1
) -> AsyncIterator[WorkerProcess]:
    """Starts a worker, and kills it at the end if it still runs."""
    worker = WorkerProcess(folder, bus, name, games, cores)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.kill()
