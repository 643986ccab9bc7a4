"""The user's own server for a match on this machine: a process that ends with the match."""

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

#: Seconds for the server to print its address.
START_S = 60
#: Seconds for the server to end after SIGTERM, before it is killed.
STOP_S = 15
_ADDRESS = re.compile(r"https?://[^\s/]+")
#: The folder that holds the packages `client` and `server`.
SOURCES = Path(__file__).resolve().parent.parent
#: The name of the server's log file in the data folder.
LOG = "server.log"


def server_command(*arguments: str) -> list[str]:
    """The command line that starts the server.

    With -P a folder called `server` in the user's working directory is not imported.
    """
    return [sys.executable, "-P", "-m", "server", *arguments]


def admin_command(*arguments: str) -> list[str]:
    """The command line that runs one of the server's administration commands."""
    return [sys.executable, "-P", "-m", "server.ops.admin", *arguments]


def worker_command(*arguments: str) -> list[str]:
    """The command line that starts an engine worker."""
    return [sys.executable, "-P", "-m", "server.worker", *arguments]


def server_environ() -> dict[str, str]:
    """An environment in which `python -m server` finds our sources from any working directory."""
    paths = [str(SOURCES), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _open_private(path: Path) -> BinaryIO:
    """Opens a file for appending; a new file is readable by its owner only."""
    return open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))


@asynccontextmanager
async def own_server(data: Path | None) -> AsyncIterator[Address]:
    """Starts a server that stores its matches in `data` (None: in a temporary folder).

    Yields its address, and raises Unreachable if it does not start.
    """
    with contextlib.ExitStack() as stack:
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plyroom-")))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_path = folder / LOG
        log = stack.enter_context(_open_private(log_path))
        process = await asyncio.create_subprocess_exec(
            *server_command(
                "--host", "127.0.0.1", "--port", "0", "--data", str(folder), "--until-eof"
            ),
            # Never written to: the server stops at its end, however this process ends.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=server_environ(),
            start_new_session=True,  # Ctrl-C reaches the client only, which then stops the server.
        )
        try:
            address = await _announced(process, log_path)
            draining = asyncio.create_task(_drain(process), name="plyroom server output")
            try:
                yield address
            finally:
                draining.cancel()
        finally:
            await _stop(process)


async def _announced(process: asyncio.subprocess.Process, log: Path) -> Address:
    """The address that the server prints when it is ready."""
    assert process.stdout is not None, "its standard output is a pipe"
    try:
        async with asyncio.timeout(START_S):
            while line := await process.stdout.readline():
                if found := _ADDRESS.search(line.decode(errors="replace")):
                    return parse_address(found[0])
    except TimeoutError:
        raise Unreachable(f"the server did not start within {START_S} s") from None
    raise Unreachable(f"the server could not be started{_last_lines(log)}")


def _last_lines(log: Path) -> str:
    return "".join(
        f"\n  {line}" for line in log.read_text("utf-8", "replace").strip().splitlines()[-5:]
    )


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None, "its standard output is a pipe"
    while await process.stdout.read(4096):
        pass


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Asks the server to stop, and kills it if it does not within `STOP_S`."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(STOP_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
