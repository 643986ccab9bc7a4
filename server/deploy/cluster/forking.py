"""Quick starts of servers, workers and migrations for tests: a process that has imported them forks
each of them. A fork takes a tenth of the CPU time of a new process.

A request is one message on the forking process's standard input, a socket: JSON with the program,
its arguments and environment, and the descriptors of the child's input, output, errors, and of a
socket for the answer. The answer is the process id and, at its end, the exit code, one line each.
"""

import asyncio
import atexit
import ctypes
import gc
import json
import multiprocessing.util
import os
import select
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

#: The option of prctl that sets the signal for the death of the parent, from <sys/prctl.h>.
PR_SET_PDEATHSIG = 1
ROOT = Path(__file__).parents[3]
#: The largest size of a request, in bytes: the environment takes most of it.
MAX_REQUEST_BYTES = 1 << 20
#: Starts a process for multiprocessing.
SPAWN: Callable[..., int] = multiprocessing.util.spawnv_passfds
#: More descriptors than the forking process has open.
MAX_DESCRIPTORS = 1024
#: The programs that it forks, and their modules.
PROGRAMS = {
    "server": "server.__main__",
    "worker": "server.worker",
    "admin": "server.ops.admin",
    "client": "client.cli",
}
#: The modules that a server, or the fork server of its search workers, imports when it needs them.
LATE_MODULES = (
    "alembic.command",
    "engine.pool.preload",
    "migrations.env_config",
    "server.bus.mqtt",
    "server.store.postgres",
    "uvloop",
)


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

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def on_end(self, call: Callable[[object], None]) -> None:
        """Calls a function once the process has ended."""
        self._ending.add_done_callback(call)


class Forker:
    """The forking process. It starts with the first child, and ends with this one, as the children
    do.
    """

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._fixed: list[str | None] = []

    async def fork(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        stdin: int,
        stdout: int,
        stderr: int,
        program: str = "server",
        folder: Path = ROOT,
    ) -> ForkedProcess:
        """Forks one of PROGRAMS with these arguments, environment, standard streams and working
        directory.
        """
        if self._requests is None:
            self._requests = self._start()
            self._fixed = _fixed(os.environ)
        request = json.dumps(
            {
                "program": program,
                "arguments": list(arguments),
                "environ": dict(environ),
                "folder": str(folder),
            }
        ).encode()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            descriptors = [stdin, stdout, stderr, theirs.fileno()]
            socket.send_fds(self._requests, [request], descriptors)
        answers, writer = await asyncio.open_connection(sock=ours)
        pid = int(await answers.readline())

        async def ending() -> int:
            try:
                return int(await answers.readline())
            finally:
                writer.close()

        return ForkedProcess(pid, asyncio.create_task(ending(), name="forked server"))

    def can_fork(self, environ: Mapping[str, str]) -> bool:
        """Whether a child may have this environment: what it has read early cannot change."""
        return self._requests is None or self._fixed == _fixed(environ)

    def _start(self) -> socket.socket:
        """Starts the forking process; returns the socket for requests."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=theirs.fileno(),
                cwd=ROOT,
                start_new_session=True,
            )

        @atexit.register
        def end() -> None:
            ours.close()
            process.wait()

        return ours


def _fixed(environ: Mapping[str, str]) -> list[str | None]:
    """The variables that the forking process has read."""
    return [environ.get(name) for name in ("PLYROOM_CACHE", "PYTHONPATH")]


#: Forks all processes of this program; ends with it.
FORKER = Forker()


def main() -> None:
    """Forks a child for each request, until the requests end; answers with its id and exit code."""
    from server import __main__ as program
    from server.app import load_games
    from server.bot.registry import all_commands
    from server.web.client_files import client_folder, read_client

    for module in (*PROGRAMS.values(), *LATE_MODULES):
        import_module(module)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the pool's modules ignore it
    multiprocessing.util.spawnv_passfds = _fork_the_fork_server  # type: ignore[assignment]
    program.production_ids = list  # type: ignore[attr-defined]  # the pool loads games in use only
    load_games()
    all_commands()
    read_client(client_folder())
    requests = socket.socket(fileno=os.dup(0))
    answers: dict[int, socket.socket] = {}  # by the child's process id
    ended, wakeup = os.pipe()  # a byte at the end of a child
    os.set_blocking(wakeup, False)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        if ended in select.select([requests.fileno(), ended], [], [])[0]:
            os.read(ended, 4096)
            while answers:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                _answer(answers.pop(pid), os.waitstatus_to_exitcode(status), is_last=True)
            continue
        request, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST_BYTES, 4)
        if not request:
            return
        pid = os.fork()
        if pid == 0:
            for used in (requests, *answers.values()):
                used.detach()
            child = json.loads(request)
            _become_child(child["environ"], descriptors[:3])
            os.chdir(child["folder"])
            # As `python -P -m` sets them: the client's advice repeats its own command line.
            sys.argv = [str(ROOT / child["program"] / "__main__.py"), *child["arguments"]]
            sys.orig_argv = [sys.executable, "-P", "-m", child["program"], *child["arguments"]]
            import_module(PROGRAMS[child["program"]]).main(child["arguments"])
            os._exit(0)  # not reached: click exits the process
        *streams, answer = descriptors
        for descriptor in streams:
            os.close(descriptor)
        answers[pid] = socket.socket(fileno=answer)
        _answer(answers[pid], pid)


def _answer(answer: socket.socket, number: int, is_last: bool = False) -> None:
    """Writes a number to the program that requested a child, which may be gone."""
    with suppress(OSError):
        answer.send(b"%d\n" % number)
    if is_last:
        answer.close()


def _become_child(environ: dict[str, str], streams: Sequence[int]) -> None:
    """Gives the forked child its session, environment and standard streams."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    die_with_parent()
    os.environ.clear()
    os.environ.update(environ)
    for descriptor, source in enumerate(streams):
        os.dup2(source, descriptor)
    os.closerange(len(streams), MAX_DESCRIPTORS)


def _fork_the_fork_server(
    path: str, arguments: Sequence[str | bytes], descriptors: Sequence[int]
) -> int:
    """Starts a process with these open descriptors, as multiprocessing does; returns its id.

    The fork server of search workers is a fork of this one, which has imported its modules.
    """
    program = os.fsdecode(arguments[-1])
    if "multiprocessing.forkserver" not in program:
        return SPAWN(path, arguments, descriptors)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pid = os.fork()  # its threads stay behind
    if pid == 0:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        first = 3
        for descriptor in (*sorted(descriptors), MAX_DESCRIPTORS):
            os.closerange(first, descriptor)
            first = descriptor + 1
        gc.freeze()  # or the first collection would copy all pages
        gc.enable()
        try:
            exec(program, {})
        finally:
            os._exit(1)
    return pid


if __name__ == "__main__":
    main()
