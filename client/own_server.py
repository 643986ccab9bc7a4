"""Finds, starts and stops a server on this machine for the user's own matches."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from client.address import DEFAULT_SERVER, Address, parse_address
from client.errors import PlyroomError, Unreachable
from server.address_file import ADDRESS_FILE, IN_USE, STAYING, read_address
from server.settings import DEFAULT_FOLDER

#: Seconds within which the server must print its address.
START_TIMEOUT_S = 60
#: Seconds that the server may take to stop after SIGTERM before the client kills it.
STOP_TIMEOUT_S = 15
#: Seconds for which a server that another command is starting on the same folder is awaited, and
#: the interval at which it is looked for.
OTHER_START_S, OTHER_CHECK_S = 10, 0.2
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


def running_server(data: Path) -> Address | None:
    """The address of the server that uses a data folder now, as the folder says and that server
    confirms; None without one.
    """
    from client.api import fetch_installation

    if (found := read_address(data)) is None:
        return None
    address = parse_address(found.url)
    try:
        return address if fetch_installation(address) == found.installation else None
    except PlyroomError:
        return None


def server_here(folder: Path = DEFAULT_FOLDER) -> Address | None:
    """The address of a server that the user runs in this working directory, as `make run` and
    `plyroom serve` do; None without one. A file that another user wrote counts for nothing.
    """
    try:
        owner = (folder / ADDRESS_FILE).stat().st_uid
    except OSError:
        return None
    return running_server(folder) if os.name != "posix" or owner == os.getuid() else None


def servers_here() -> tuple[Address, ...]:
    """The servers that are known to run on this machine, each once: those of the user in this
    working directory and in the folder of this program, and the one at the default address.
    """
    from client.api import fetch_installation

    found: dict[str, Address] = {}
    for folder in (DEFAULT_FOLDER, SOURCES / DEFAULT_FOLDER):
        announced, running = read_address(folder), server_here(folder)
        if announced is not None and running is not None:
            found.setdefault(announced.installation, running)
    usual = parse_address(DEFAULT_SERVER)
    with contextlib.suppress(PlyroomError):
        found.setdefault(fetch_installation(usual) or "", usual)
    return tuple(found.values())


def usual_server() -> Address:
    """The server of a command that names none: that of `server_here`, else the one at the default
    address.
    """
    return server_here() or parse_address(DEFAULT_SERVER)


@asynccontextmanager
async def server_of_folder(
    data: Path, on_start: Callable[[], None]
) -> AsyncIterator[tuple[Address, bool]]:
    """Yields the address of the server that uses a data folder, and False; without one, runs a
    server on the folder and yields True.

    It calls `on_start` before it starts one. Raises Unreachable if the server does not start.
    """
    if (address := await asyncio.to_thread(running_server, data)) is not None:
        yield address, False
        return
    on_start()
    async with AsyncExitStack() as stack:
        try:
            started = await stack.enter_async_context(own_server(data)), True
        except Unreachable as error:
            other = await _await_other(data) if IN_USE in str(error) else None
            if other is None:
                raise
            started = other, False
        yield started


async def _await_other(data: Path) -> Address | None:
    """The address of a server that another command is starting on the folder; None without one."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(OTHER_START_S):
            while True:
                if (address := await asyncio.to_thread(running_server, data)) is not None:
                    return address
                await asyncio.sleep(OTHER_CHECK_S)
    return None


@asynccontextmanager
async def own_server(data: Path | None) -> AsyncIterator[Address]:
    """Runs a server that stores its matches in `data` (None: in a temporary folder).

    Yields the server's address. Raises Unreachable if the server does not start. At the end of the
    block a server with a folder goes on while others are connected.
    """
    with contextlib.ExitStack() as stack:
        data_folder = data or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="plyroom-"))
        )
        data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_path = data_folder / LOG_NAME
        log = stack.enter_context(_open_private(log_path))
        start_bytes = log.tell()  # before it stands what earlier servers wrote
        process = _start_server(data_folder, log)
        goes_on = False
        try:
            async with _lines(process) as lines:
                address = await _read_address(lines, log_path, start_bytes)
                try:
                    yield address
                finally:
                    goes_on = data is not None and await _leave(process, lines)
        finally:
            if not goes_on:
                await _stop(process)


def _start_server(data: Path, log: BinaryIO) -> subprocess.Popen[bytes]:
    """Starts a server on a folder; its log goes to a file."""
    return subprocess.Popen(
        server_command("--host", "127.0.0.1", "--port", "0", "--data", str(data), "--until-eof"),
        # With --until-eof the server stops as soon as this pipe is closed, which it is however this
        # process ends, and nobody is connected any more.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env=server_environ(),
        start_new_session=True,  # Ctrl-C reaches the client only, which then stops the server.
    )


@asynccontextmanager
async def _lines(process: subprocess.Popen[bytes]) -> AsyncIterator[asyncio.StreamReader]:
    """Yields the standard output of the server as it comes; both pipes are closed at the end.

    An asyncio subprocess would be killed with the event loop.
    """
    assert process.stdin is not None, "its standard input is a pipe"
    loop, lines = asyncio.get_running_loop(), asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), process.stdout
    )
    try:
        yield lines
    finally:
        transport.close()
        with contextlib.suppress(OSError):
            process.stdin.close()


async def _read_address(lines: asyncio.StreamReader, log_path: Path, start_bytes: int) -> Address:
    """Waits for the address that the server prints when it is ready; raises Unreachable with the
    end of what it has written to its log, from `start_bytes` on.
    """
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while line := await lines.readline():
                if match := _URL.search(line.decode(errors="replace")):
                    return parse_address(match[0])
    except TimeoutError:
        raise Unreachable(f"the server did not start within {START_TIMEOUT_S} s") from None
    raise Unreachable(f"the server could not be started{_last_lines(log_path, start_bytes)}")


async def _leave(process: subprocess.Popen[bytes], lines: asyncio.StreamReader) -> bool:
    """Ends the input of the server; returns whether it goes on, because others are connected."""
    assert process.stdin is not None, "its standard input is a pipe"
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STOP_TIMEOUT_S):
            while line := await lines.readline():
                if line.decode(errors="replace").strip() == STAYING:
                    return True
    return False


def _last_lines(path: Path, start_bytes: int) -> str:
    """The last five lines of a file from a place on, each indented on a line of its own."""
    lines = path.read_bytes()[start_bytes:].decode("utf-8", "replace").strip().splitlines()
    return "".join(f"\n  {line}" for line in lines[-5:])


async def _stop(process: subprocess.Popen[bytes]) -> None:
    """Sends SIGTERM, and kills the server if it still runs after `STOP_TIMEOUT_S`."""
    process.terminate()
    try:
        await asyncio.to_thread(process.wait, STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        await asyncio.to_thread(process.wait)
