"""A running cluster: PostgreSQL, Mosquitto, nodes, workers and the proxy, each of which can be
killed and restarted.

    async with cluster(folder, nodes=3, workers=2) as running:
        async with connect(running.url) as client: ...
"""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from server.deploy.cluster.forking import FORKER, ForkedProcess, die_with_parent
from server.deploy.cluster.plan import (
    DEPLOY,
    ROOT,
    Service,
    compose,
    postgres_settings,
    proxy_config,
    service,
    with_local_places,
)
from server.deploy.free_ports import free_ports
from server.deploy.mosquitto import mosquitto_path
from server.deploy.postgres import WITH_FSYNC, Postgres, private_postgres, unprivileged

#: The name of the cluster's database.
DATABASE = "plyroom"
#: Time limits for a start and for a stop, in seconds; only a process that hangs exceeds them.
START_S = STOP_S = 60.0


class Member:
    """One process of the cluster, across restarts; its standard error goes to a file."""

    def __init__(
        self,
        described: Service,
        folder: Path,
        ready_port: int | None,
        ready_path: str | None = None,
    ) -> None:
        self.name = described.name
        self._argv = described.argv
        self._environ = described.environ
        self._ready = (ready_port, ready_path)
        self._errors = folder / f"{described.name}.log"
        self._process: asyncio.subprocess.Process | ForkedProcess | None = None
        #: The program of `FORKER` and its arguments, if it is forked; None for a new process.
        self.forked: tuple[str, list[str]] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def errors(self) -> str:
        """The standard error of all its runs."""
        return self._errors.read_text("utf-8", "replace") if self._errors.exists() else ""

    async def start(self, **settings: object) -> None:
        """Starts the process and waits until it is ready.

        The `settings` apply to this run only. Raises RuntimeError if the process ends.
        """
        await self.launch(**settings)
        await self.wait_until_ready()

    async def launch(self, **settings: object) -> None:
        """Starts the process without waiting until it is ready."""
        changes = {f"PLYROOM_{name.upper()}": str(value) for name, value in settings.items()}
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PLYROOM_") or name == "PLYROOM_CACHE"
        }
        if self.forked is not None:
            program, arguments = self.forked
            with self._errors.open("ab") as errors, open(os.devnull, "rb") as nothing:
                self._process = await FORKER.fork(
                    arguments, inherited | self._environ | changes,
                    nothing.fileno(), errors.fileno(), errors.fileno(), program,
                )  # fmt: skip
            return
        with self._errors.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv, cwd=ROOT, env=inherited | self._environ | changes,
                start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, preexec_fn=die_with_parent,
            )  # fmt: skip

    async def wait_until_ready(self) -> None:
        """Waits until the process serves. Raises RuntimeError if it ends."""
        port, path = self._ready
        async with asyncio.timeout(START_S):
            while port is not None and not await is_answering(port, path):
                if self._process is not None and self._process.returncode is not None:
                    raise RuntimeError(f"{self.name} ended at its start: {self.errors[-3000:]}")
                await asyncio.sleep(0.02)

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process alone."""
        assert self._process is not None, "it was never started"
        self._process.send_signal(number)

    def signal_all(self, number: signal.Signals) -> None:
        """Sends a signal to the process and its descendants."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    async def wait(self, within_s: float = STOP_S) -> int:
        """Waits for the end of the process; returns its exit code."""
        assert self._process is not None, "it was never started"
        async with asyncio.timeout(within_s):
            return await self._process.wait()

    async def kill(self) -> None:
        """Kills the process (SIGKILL) and waits for its end; its children end by themselves."""
        if self._process is not None and self._process.returncode is None:
            self.send_signal(signal.SIGKILL)
            await self.wait()

    async def stop(self) -> int:
        """Stops the process (SIGTERM); returns its exit code."""
        self.send_signal(signal.SIGTERM)
        return await self.wait()

    def cpu_s(self) -> float:
        """The CPU time of the process and its descendants, in seconds."""
        process = psutil.Process(self.pid)
        processes = (process, *process.children(recursive=True))
        times = [each.cpu_times() for each in processes]
        return float(sum(each.user + each.system for each in times))


async def is_answering(port: int, path: str | None) -> bool:
    """Whether a server on that port answers a GET of the path with 200."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        if path is None:
            return True
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        return b" 200 " in await reader.readline()
    except OSError:
        return False
    finally:
        writer.close()


@dataclass(frozen=True, slots=True)
class Connections:
    """The broker's port, and the ports at which nodes and workers reach the broker and the nodes
    reach the database. A test may put proxies there.
    """

    broker: int
    nodes_to_broker: int
    nodes_to_database: int


@asynccontextmanager
async def direct_connections(postgres: Postgres) -> AsyncIterator[Connections]:
    """Direct connections without proxies."""
    (port,) = free_ports(1)
    yield Connections(port, port, postgres.port)


class Cluster:
    """A cluster's members; `url` is the proxy's address, `urls` are the nodes' own."""

    def __init__(
        self,
        folder: Path,
        postgres: Postgres,
        node_count: int,
        worker_count: int,
        extra_environ: Mapping[str, str],
        connections: Connections,
        games: str | None,
        forks: bool,
    ) -> None:
        self.folder = folder
        self.postgres = postgres
        self.connections = connections
        self.database_url = postgres.url(DATABASE, port=connections.nodes_to_database)
        self.port, *ports = free_ports(2 * node_count + 1)
        self._player_ports, self._metrics_ports = ports[:node_count], ports[node_count:]
        #: Whether benchmarks measure it at real-time priority.
        self.has_realtime_priority = False
        self.places = {
            "postgres:5432": f"127.0.0.1:{postgres.port}",
            "mosquitto:1883": f"127.0.0.1:{connections.nodes_to_broker}",
            "/run/secrets": str(folder / "secrets"),
            "/mosquitto/config": str(folder),
            "/tmp/": f"{folder}/",
        }
        self._games = games
        self._forks = forks
        self._make_files()
        self.mosquitto = Member(self._broker(), folder, connections.broker)
        self.nodes = [self._node(n, extra_environ) for n in range(node_count)]
        self.workers = [self._worker(n, extra_environ) for n in range(worker_count)]
        program = (
            shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or "haproxy"
        )
        proxy = Service("proxy", [program, "-db", "-f", str(folder / "haproxy.cfg")], {})
        self.proxy = Member(proxy, folder, self.port, "/livez")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self._player_ports]

    @property
    def metrics_ports(self) -> list[int]:
        return list(self._metrics_ports)

    @property
    def members(self) -> list[Member]:
        return [self.mosquitto, *self.nodes, *self.workers, self.proxy]

    def _make_files(self) -> None:
        """Makes the secrets with secrets.sh, and the configuration of broker and proxy for these
        addresses.
        """
        secrets = self.folder / "secrets"
        secrets.mkdir()
        (secrets / "database_url").write_text(self.database_url)
        subprocess.run(
            ["sh", DEPLOY / "secrets.sh", secrets], check=True, stdout=subprocess.DEVNULL
        )
        for file in secrets.iterdir():
            file.write_text(with_local_places(file.read_text(), self.places))
        config = with_local_places((DEPLOY / "mosquitto.conf").read_text(), self.places)
        # Replace the container's port, and listen on this machine only.
        config = config.replace("listener 1883", f"listener {self.connections.broker} 127.0.0.1")
        (self.folder / "mosquitto.conf").write_text(
            config + ("user root\n" if os.geteuid() == 0 else "")
        )
        shutil.copy(DEPLOY / "mosquitto.acl", self.folder)
        (self.folder / "haproxy.cfg").write_text(self._proxy_config())

    def _proxy_config(self) -> str:
        """The proxy's configuration with the nodes of this cluster."""
        ports = zip(self._player_ports, self._metrics_ports, strict=True)
        return proxy_config(self.port, list(ports))

    def _broker(self) -> Service:
        folder = self.folder / "mosquitto"
        folder.mkdir()
        environ = {
            "OUT": str(folder),
            "PASSWORDS": str(self.folder / "secrets" / "mosquitto_passwords"),
            "CONFIG": str(self.folder / "mosquitto.conf"),
            "PATH": f"{os.environ['PATH']}:{Path(mosquitto_path()).parent}",
        }
        return Service("mosquitto", ["sh", str(DEPLOY / "mosquitto.sh")], environ)

    def _node(self, n: int, extra_environ: Mapping[str, str]) -> Member:
        places = {
            **self.places,
            "/tmp/data": str(self.folder / f"node{n + 1}"),
            "0.0.0.0": "127.0.0.1",
            "8000": str(self._player_ports[n]),
            "9100": str(self._metrics_ports[n]),
            compose()["services"]["node1"]["environment"]["PLYROOM_PROXIES"]: "127.0.0.1",
        }
        node1 = service("node1", places)
        environ = {**node1.environ, "PLYROOM_NODE": f"node{n + 1}", **extra_environ}
        argv = [*node1.argv, "--host", "127.0.0.1"]
        described = Service(f"node{n + 1}", argv, environ)
        node = Member(described, self.folder, self._metrics_ports[n], "/readyz")
        node.forked = ("server", argv[argv.index("server") + 1 :]) if self._forks else None
        return node

    def _worker(self, n: int, extra_environ: Mapping[str, str]) -> Member:
        worker = service("worker", self.places)
        argv = [*worker.argv, *(["--games", self._games] if self._games else [])]
        described = Service(f"worker{n + 1}", argv, {**worker.environ, **extra_environ})
        member = Member(described, self.folder, None)
        member.forked = ("worker", argv[argv.index("worker") + 1 :]) if self._forks else None
        return member

    async def migrate(self) -> None:
        """Migrates the database, as the compose file's service of that name does."""
        described = service("migrate", self.places)
        member = Member(described, self.folder, None)
        member.forked = ("admin", described.argv[1:]) if self._forks else None
        await member.launch()
        if await member.wait(START_S) != 0:
            raise RuntimeError(f"plyroom migrate failed: {member.errors[-3000:]}")

    async def start(self) -> None:
        """Starts all members in the compose file's order; returns when the proxy serves."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.migrate())
            tasks.create_task(self.mosquitto.start())
        async with asyncio.TaskGroup() as tasks:
            for member in (*self.nodes, *self.workers):
                tasks.create_task(member.start())
        await self.proxy.start()


@asynccontextmanager
async def cluster(
    folder: Path,
    nodes: int = 3,
    workers: int = 2,
    settings: Mapping[str, object] | None = None,
    connections: Callable[
        [Postgres], AbstractAsyncContextManager[Connections]
    ] = direct_connections,
    games: str | None = None,
    forks: bool = False,
) -> AsyncIterator[Cluster]:
    """A cluster that serves; all members are killed at the end.

    `settings` are added to those of the nodes and workers. `games` names the workers' games,
    separated by commas (None: all). With `forks`, the migration, the nodes and the workers are
    forked from a process that has imported them, so they start quickly.
    """
    extra_environ = {
        f"PLYROOM_{name.upper()}": str(value) for name, value in (settings or {}).items()
    }
    with private_postgres(**{**WITH_FSYNC, **postgres_settings()}) as postgres:
        async with postgres.session() as session:
            await session.execute(f"CREATE DATABASE {DATABASE}")
        async with connections(postgres) as connected:
            running = Cluster(
                folder, postgres, nodes, workers, extra_environ, connected, games, forks
            )
            try:
                await running.start()
                yield running
            finally:
                await asyncio.gather(*(member.kill() for member in running.members))


@asynccontextmanager
async def temporary_cluster(
    nodes: int = 3, workers: int = 2, settings: Mapping[str, object] | None = None
) -> AsyncIterator[Cluster]:
    """A cluster that serves, with its files in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="plyroom-cluster-") as name:
        folder = Path(name)
        if unprivileged():
            folder.chmod(0o755)  # PostgreSQL and Mosquitto then run as another user
        async with cluster(folder, nodes, workers, settings) as running:
            yield running
