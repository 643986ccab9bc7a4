"""Starts and stops a server on this machine for the user's own matches."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from client.address import Address, parse_address
from client.errors import Unreachable

#: Seconds within which the server must print its address.
START_TIMEOUT_S = 60
#: Seconds that the server may take to stop after SIGTERM before the client kills it.
STOP_TIMEOUT_S = 15
#: The address in a line of the server's output.
_URL = re.compile(r"https?://[^\s/]+")
#: The folder that holds the packages `client` and `server`.
SOURCES = Path(__file__).resolve().parent.parent
#: The name of the server's log file in the data folder.
LOG_NAME = "server.log"


def server_command(*arguments: str) -> list[str]:
    """The command line that starts the server.

    The option -P keeps Python from importing a folder `server` of the user's working directory.
    """
    return [sys.executable, "-P", "-m", "server", *arguments]


def admin_command(*arguments: str) -> list[str]:
    """The command line that runs one of the server's administration commands."""
    return [sys.executable, "-P", "-m", "server.ops.admin", *arguments]


def worker_command(*arguments: str) -> list[str]:
    """The command line that starts an engine worker."""
    return [sys.executable, "-P", "-m", "server.worker", *arguments]


def analyse_command(*arguments: str) -> list[str]:
    """The command line that analyses a game in a file."""
    return [sys.executable, "-P", "-m", "server.ops.analyse", *arguments]


def teach_command(*arguments: str) -> list[str]:
    """The command line that runs the lessons of game search."""
    return [sys.executable, "-P", "-m", "engine.teach", *arguments]


def server_environ() -> dict[str, str]:
    """An environment in which `python -m server` finds its sources from any working directory."""
    paths = [str(SOURCES), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _open_private(path: Path) -> BinaryIO:
    """Opens a file for appending; a new file is readable by its owner only."""
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))


@asynccontextmanager
async def own_server(data: Path | None) -> AsyncIterator[Address]:
    """Runs a server that stores its matches in `data` (None: in a temporary folder).

    Yields the server's address. Raises Unreachable if the server does not start.
    """
    with contextlib.ExitStack() as stack:
        data_folder = data or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="plyroom-"))
        )
        data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_path = data_folder / LOG_NAME
        log = stack.enter_context(_open_private(log_path))
        process = await asyncio.create_subprocess_exec(
            *server_command(
                "--host", "127.0.0.1", "--port", "0", "--data", str(data_folder), "--until-eof"
            ),
            # With --until-eof the server stops when this pipe closes, however this process ends.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=server_environ(),
            start_new_session=True,  # Ctrl-C reaches the client only, which then stops the server.
        )
        try:
            address = await _read_address(process, log_path)
            discarding = asyncio.create_task(_discard_output(process), name="plyroom server output")
            try:
                yield address
            finally:
                discarding.cancel()
        finally:
            await _stop(process)


async def _read_address(process: asyncio.subprocess.Process, log_path: Path) -> Address:
    """Waits for the address that the server prints when it is ready; raises Unreachable."""
    assert process.stdout is not None, "its standard output is a pipe"
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while line := await process.stdout.readline():
                if match := _URL.search(line.decode(errors="replace")):
                    return parse_address(match[0])
    except TimeoutError:
        raise Unreachable(f"the server did not start within {START_TIMEOUT_S} s") from None
    raise Unreachable(f"the server could not be started{_last_lines(log_path)}")


def _last_lines(path: Path) -> str:
    """The last five lines of a file, each indented on a line of its own."""
    lines = path.read_text("utf-8", "replace").strip().splitlines()
    return "".join(f"\n  {line}" for line in lines[-5:])


async def _discard_output(process: asyncio.subprocess.Process) -> None:
    """Reads the server's output until it ends, so that the pipe never fills up."""
    assert process.stdout is not None, "its standard output is a pipe"
    while await process.stdout.read(4096):
        pass


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Sends SIGTERM, and kills the server if it still runs after `STOP_TIMEOUT_S`."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
