"""Fast restarts for nodes that the tests kill repeatedly: a process that has imported the server
forks each new node. A fork takes a tenth of the CPU time of a new process.

The forking process reads one line of JSON per node with arguments, environment and a file for
standard error. It writes the node's process id and, at its end, its exit code, one line each.
"""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

#: The option of prctl that sets the signal for the death of the parent, from <sys/prctl.h>.
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ends this process when its parent is killed (on Linux; elsewhere it keeps running)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class ForkedProcess:
    """A forked process, with the part of `asyncio.subprocess.Process` that the tests use."""

    def __init__(self, pid: int, ending: "asyncio.Task[int]") -> None:
        self.pid = pid
        self._ending = ending

    @property
    def returncode(self) -> int | None:
        return self._ending.result() if self._ending.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ending)

    def send_signal(self, number: int) -> None:
        # The forking process waits for the child, so the pid is not reused before the exit code
        # is reported.
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Forker:
    """The forking process, with one child at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def fork(
        self, arguments: Sequence[str], environ: Mapping[str, str], errors: Path
    ) -> ForkedProcess:
        """Forks the next child, once the last one has ended."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", __name__, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[3], start_new_session=True, preexec_fn=die_with_parent,
            )  # fmt: skip
        assert self._process.stdin is not None
        request = {"arguments": list(arguments), "environ": dict(environ), "errors": str(errors)}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        pid = await self._read_number()
        return ForkedProcess(pid, asyncio.create_task(self._read_number(), name="forked node"))

    async def _read_number(self) -> int:
        """Reads the next line from the forking process: a process id or an exit code."""
        assert self._process is not None
        assert self._process.stdout is not None
        return int(await self._process.stdout.readline())

    async def close(self) -> None:
        """Ends the forking process, after its last child."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()


def main() -> None:
    """Forks a child for each input line and waits for its end."""
    from server import __main__ as program
    from server.app import load_games

    for module in ("server.bus.mqtt", "server.store.postgres"):
        import_module(module)  # a node of a cluster would import them later
    load_games()
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become_server(request)
            program.main(request["arguments"])
            os._exit(0)  # not reached: click exits the process
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become_server(request: dict[str, object]) -> None:
    """Turns the forked child into a server process."""
    os.setsid()
    die_with_parent()
    os.environ.clear()
    os.environ.update(request["environ"])  # type: ignore[call-overload]
    nothing = os.open(os.devnull, os.O_RDONLY)
    errors = os.open(str(request["errors"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor, source in ((0, nothing), (1, errors), (2, errors)):
        os.dup2(source, descriptor)


if __name__ == "__main__":
    main()
