"""Quick starts for nodes that die again and again: a process that has imported the server forks
each life of a node.

A start costs a tenth of the processor time then. In it goes a line of JSON with arguments,
environment and a file for standard error; out come the life's process id and, at its end, its exit
code, a line each.
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

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Should the tests be killed, nothing of theirs goes on (Linux; elsewhere it does)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Life:
    """A forked process, with what the tests use of `asyncio.subprocess.Process`."""

    def __init__(self, pid: int, ending: "asyncio.Task[int]") -> None:
        self.pid = pid
        self._ending = ending

    @property
    def returncode(self) -> int | None:
        return self._ending.result() if self._ending.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ending)

    def send_signal(self, number: int) -> None:
        # The process that forks waits for it, so this id is nobody else's until the end was told.
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Forker:
    """The process that forks: one life at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def fork(
        self, arguments: Sequence[str], environ: Mapping[str, str], errors: Path
    ) -> Life:
        """The next life, once the last one has ended."""
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", __name__, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[2], start_new_session=True, preexec_fn=die_with_parent,
            )  # fmt: skip
        assert self._process.stdin is not None
        asked = {"arguments": list(arguments), "environ": dict(environ), "errors": str(errors)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        pid = await self._number()
        return Life(pid, asyncio.create_task(self._number(), name="life of a node"))

    async def _number(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return int(await self._process.stdout.readline())

    async def close(self) -> None:
        """Ends it, after its last life."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()


def main() -> None:
    """Forks for each line that comes, and waits for the end of that life."""
    from server import __main__ as program
    from server.app import load_games

    for module in ("server.bus.mqtt", "server.store.postgres"):
        import_module(module)  # what a node of a cluster loads later
    load_games()
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _live(asked)
            program.main(asked["arguments"])
            os._exit(0)  # click has ended the process already
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _live(asked: dict[str, object]) -> None:
    """Makes of a fork what a process of its own would be."""
    os.setsid()
    die_with_parent()
    os.environ.clear()
    os.environ.update(asked["environ"])  # type: ignore[call-overload]
    nothing = os.open(os.devnull, os.O_RDONLY)
    errors = os.open(str(asked["errors"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for mine, wanted in ((0, nothing), (1, errors), (2, errors)):
        os.dup2(wanted, mine)


if __name__ == "__main__":
    main()
