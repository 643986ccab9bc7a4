"""A private PostgreSQL server for tests and benchmarks.

Its files are its own and are removed at the end; its port is on 127.0.0.1.

PostgreSQL refuses to run as root; if this process runs as root, PostgreSQL runs as another user.
"""

import asyncio
import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest

from server.deploy.free_ports import free_port
from server.store.postgres import upgrade_postgres
from server.store.schema import NEEDS
from server.store.tables import metadata

#: The database user.
USER = "plyroom"
#: The user's password, which must be escaped in a URL.
PASSWORD = "a-secret:with/odd@signs"
#: Time limit of one call of `pg_isready` while the server starts, in seconds.
START_S = 30.0
#: The migrated database, which is copied for each test.
TEMPLATE = "migrated"
#: Settings of a production server, which survives a power failure.
WITH_FSYNC = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
#: Settings without fsync, for tests that do not simulate a power failure.
WITHOUT_FSYNC = {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "off"}


def program_folder() -> Path:
    """The folder of PostgreSQL's programs. Raises RuntimeError if they are not installed."""
    initdb_paths = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    if initdb_paths:
        return initdb_paths[-1].parent
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    raise RuntimeError(
        "PostgreSQL is not installed; `make system` installs it"
        " (Debian: apt-get install postgresql)"
    )


@cache
def unprivileged() -> dict[str, Any]:
    """Arguments of Popen that run PostgreSQL as another user if this process runs as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL must not run as root, and there is no user postgres or nobody")


def chown_to_postgres(folder: Path) -> None:
    """Makes PostgreSQL's user the owner of a folder and its contents."""
    ids = unprivileged()
    if ids:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, ids["user"], ids["group"], follow_symlinks=False)


def _is_alive(process: psutil.Process) -> bool:
    """Whether a process is alive; a zombie is not."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


class Postgres:
    """A PostgreSQL server in its own folder; it keeps its port when it is stopped or killed."""

    _names = count(1)

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._settings = settings
        self._empty_databases: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None

    def url(
        self, database: str = "postgres", port: int | None = None, password: str = PASSWORD
    ) -> str:
        """The URL of a database, as an operator writes it."""
        quoted = password.replace(":", "%3A").replace("/", "%2F").replace("@", "%40")
        return f"postgresql://{USER}:{quoted}@127.0.0.1:{port or self.port}/{database}"

    @property
    def pid(self) -> int:
        """The id of the main process, the parent of all others."""
        assert self._process is not None, "it was launched"
        return self._process.pid

    def start(self) -> None:
        """Starts the server and waits until it accepts connections."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Starts the server without waiting."""
        settings = {"port": str(self.port), **self._settings}
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    program_folder() / "postgres", "-D", self.folder / "data",
                    *(f"-c{k}={v}" for k, v in settings.items()),
                ],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                cwd=self.folder, **unprivileged(),
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        """Waits until the server accepts connections; RuntimeError with its log if it ends."""
        assert self._process is not None, "it was launched"
        ready = [
            str(program_folder() / "pg_isready"), "-q",
            "-h", "127.0.0.1", "-p", str(self.port), "-t", str(int(START_S)),
        ]  # fmt: skip
        while subprocess.run(ready).returncode != 0:
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(
                f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}"
            )

    def stop(self, mode: str = "fast") -> None:
        """Stops the server like `pg_ctl stop`: smart, fast, or immediate (without a checkpoint)."""
        number = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode]
        self._end(number)

    def kill(self) -> None:
        """Kills all its processes (SIGKILL) and waits for their end."""
        self._end(signal.SIGKILL, all_processes=True)

    def pause(self) -> None:
        """Suspends all its processes (SIGSTOP): they do not answer, and connections stay open."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Resumes all its processes (SIGCONT)."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None, "it was launched"
        children = psutil.Process(self._process.pid).children(recursive=True)
        os.kill(self._process.pid, number)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.send_signal(number)

    def _end(self, number: signal.Signals, all_processes: bool = False) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        children = psutil.Process(self._process.pid).children(recursive=True)
        if all_processes:
            self._signal_all(number)
        else:
            self._process.send_signal(number)
        self._process.wait(30)
        while any(map(_is_alive, children)):
            time.sleep(0.005)

    @asynccontextmanager
    async def session(self, database: str = "postgres") -> AsyncIterator[Any]:
        """A connection for the test's own statements."""
        connection = await asyncpg.connect(self.url(database))
        try:
            yield connection
        finally:
            connection.terminate()

    @asynccontextmanager
    async def database(self) -> AsyncIterator[str]:
        """The name of a private database with Plyroom's tables, all of them empty."""
        name = (
            self._empty_databases.pop() if self._empty_databases else await self._create(TEMPLATE)
        )
        yield name
        # Creating a database takes most of a second, emptying one a few milliseconds.
        async with self.session(name) as session:
            await session.execute(DISCONNECT)
            await session.execute(EMPTY)
        self._empty_databases.append(name)

    @asynccontextmanager
    async def bare_database(self) -> AsyncIterator[str]:
        """The name of a private database without tables."""
        name = await self._create("template0")
        yield name
        async with self.session() as session:
            await session.execute(f"DROP DATABASE {name} WITH (FORCE)")

    async def _create(self, template: str) -> str:
        name = f"test{next(self._names)}"
        async with self.session() as session:
            await session.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
        return name


#: The statement that ends all other connections to the database and returns their number.
DISCONNECT = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
#: The statements that empty all tables, except for the schema's `needs`.
EMPTY = "".join(f"DELETE FROM {table};" for table in metadata.tables if table != "meta") + (
    f"DELETE FROM meta WHERE key <> '{NEEDS}';"
)


@contextmanager
def _scratch(prefix: str) -> Iterator[Path]:
    """Yields a new folder that PostgreSQL's user can reach, and removes it at the end of the block.

    If this process is killed, a shell that waits for the end of its input stops the server and
    removes the folder.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o755)
    watch = subprocess.Popen(
        ["sh", "-c", CLEAN_UP, "sh", folder], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield folder
    finally:
        watch.communicate(b"done\n")
        shutil.rmtree(folder, ignore_errors=True)


#: The shell program that cleans up if this process is killed; a line of input cancels it.
CLEAN_UP = """
    if read -r done; then exit; fi
    if [ -f "$1/data/postmaster.pid" ]; then
        pid=$(head -n 1 "$1/data/postmaster.pid")
        kill -QUIT "$pid"
        while kill -0 "$pid"; do sleep 0.1; done
    fi 2>/dev/null
    rm -rf "$1"
"""


@contextmanager
def private_postgres(**settings: str) -> Iterator[Postgres]:
    """Runs a private PostgreSQL server with a migrated template database until the block ends.

    `settings` are PostgreSQL's.
    """
    with _scratch("plyroom-postgres-") as folder:
        server = Postgres(
            folder, **{**_SETTINGS, "unix_socket_directories": str(folder), **settings}
        )
        shutil.copytree(_initialized_data(), folder / "data", symlinks=True)
        (folder / "data").chmod(0o700)
        chown_to_postgres(folder)
        try:
            server.start()
            yield server
        finally:
            server.kill()


#: The settings of every private server.
_SETTINGS = {
    "listen_addresses": "127.0.0.1", "shared_buffers": "32MB", "max_connections": "60",
    "log_min_messages": "error", "autovacuum_naptime": "1h", "max_wal_size": "256MB",
    **WITHOUT_FSYNC,
}  # fmt: skip


@cache
def _initialized_data() -> Path:
    """The data folder of an initialized server with the template database, which callers copy.

    It is made once per process.
    """
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(_scratch("plyroom-initdb-"))
    secret = folder / "password"
    secret.write_text(PASSWORD)
    chown_to_postgres(folder)
    command = [
        str(program_folder() / "initdb"), "-D", str(folder / "data"), "-U", USER,
        "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
        "--no-instructions",
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, **unprivileged())
    if result.returncode != 0:
        raise RuntimeError(f"initdb failed: {result.stderr}")
    server = Postgres(folder, **{**_SETTINGS, "unix_socket_directories": str(folder)})
    server.start()
    try:
        with ThreadPoolExecutor(1) as thread:  # this thread may have a running event loop
            thread.submit(lambda: asyncio.run(_make_template(server))).result()
    finally:
        server.stop()
    return folder / "data"


async def _make_template(server: Postgres) -> None:
    async with server.session() as session:
        await session.execute(f"CREATE DATABASE {TEMPLATE}")
    await upgrade_postgres(server.url(TEMPLATE))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The PostgreSQL server of the whole test run; tests create databases in it and clean up."""
    with private_postgres() as server:
        yield server
