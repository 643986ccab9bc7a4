"""Servers in processes of their own, with their CPU time and memory as /proc reports them."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from server.limits import by_address as limits

#: Clock ticks a second, the unit of CPU times in /proc.
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: Size of a memory page in bytes, the unit of memory in /proc.
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
#: What a server writes to stderr when it is told to stop.
FAREWELL = "Stopping.\n"
#: The environment of a server without rate limits that closes idle rooms after 5 s.
UNLIMITED_ENVIRON = {
    "PLYROOM_MESSAGES_PER_S": "100000",
    "PLYROOM_MESSAGES_BURST": "100000",
    "PLYROOM_ROOMS_PER_MINUTE": "1000000",
    "PLYROOM_ROOMS_BURST": "1000000",
    "PLYROOM_ROOM_IDLE_S": "5",
    **{f"PLYROOM_{name.upper()}": str(value) for name, value in limits.NO_LIMITS.items()},
}


def server_command(data: Path) -> tuple[str, ...]:
    """The command that starts a server on a free port."""
    return (
        sys.executable, "-m", "server", "--host", "127.0.0.1", "--port", "0",
        "--data", str(data), "--workers", "1",
    )  # fmt: skip


@dataclass(frozen=True)
class Process:
    """A server in its own process."""

    pid: int
    port: int
    started_s: float


@asynccontextmanager
async def spawn(
    *command: str, environment: dict[str, str] | None = None, core: int | None = None
) -> AsyncIterator[Process]:
    """Starts a program that prints an address with its port; stops it at the end of the block, and
    then prints what it wrote to its stderr.

    The program and its children run on that core only; None: on any core.
    """
    with tempfile.TemporaryFile("w+") as errors:
        start_s = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **(environment or {})},
            preexec_fn=None if core is None else partial(os.sched_setaffinity, 0, {core}),
        )
        assert process.stdout is not None, "stdout is a pipe"
        try:
            line = await asyncio.to_thread(process.stdout.readline)
            if "http://" not in line:
                raise click.ClickException(f"{' '.join(command)} did not start")
            port = int(line.split("http://")[1].split("/")[0].rsplit(":", 1)[1])
            yield Process(process.pid, port, start_s)
        finally:
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.wait)
            errors.seek(0)
            click.echo(errors.read().replace(FAREWELL, ""), nl=False, err=True)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads, without children, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def resident_bytes(pid: int) -> int:
    """The process's resident memory, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def cpu_seconds_with_children(pid: int | None) -> float:
    """User and system time of a process and its children, ended ones included, in seconds."""
    if pid is None:
        return 0.0
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if stat.parent.name == str(pid):
                total += sum(map(int, fields[11:15]))
            elif fields[1] == str(pid):
                total += int(fields[11]) + int(fields[12])
    return total / TICKS_PER_S
