"""A private Mosquitto broker for tests and benchmarks, on a free port of 127.0.0.1.

The broker can be killed and restarted:

    async with mosquitto(tmp_path) as broker:
        async with open_link(broker.address, …) as link: ...
"""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from server.bus.broker import Broker
from server.deploy.free_ports import free_port

#: Time limit for the broker's start, in seconds.
START_S = 60.0


class BrokerMissing(Exception):
    """Mosquitto is not installed."""


def mosquitto_path(name: str = "mosquitto") -> str:
    """The path of a program. Raises BrokerMissing if it is not installed.

    Debian installs daemons outside most users' PATH.
    """
    path = shutil.which(
        name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    )
    if path is None:
        raise BrokerMissing(f"{name} is not installed; make system installs it")
    return path


class Mosquitto:
    """A broker process; it keeps its port when it is restarted.

    `lines` are added to its configuration.
    """

    def __init__(
        self,
        folder: Path,
        users: Mapping[str, str] | None = None,
        acl: Path | None = None,
        lines: tuple[str, ...] = (),
    ) -> None:
        self.port = free_port()
        self._folder = folder
        self._users = users
        self._acl = acl
        self._lines = lines
        self._process: asyncio.subprocess.Process | None = None

    @property
    def address(self) -> Broker:
        """The broker's address without credentials."""
        return Broker("127.0.0.1", self.port)

    def address_of(self, user: str) -> Broker:
        """The broker's address with the credentials of a user."""
        assert self._users is not None, "this broker has users"
        return Broker("127.0.0.1", self.port, user=user, password=self._users[user])

    @property
    def pid(self) -> int:
        assert self._process is not None, "the broker was started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Starts the broker and waits until it accepts connections."""
        self._process = await asyncio.create_subprocess_exec(
            mosquitto_path(), "-c", str(await self._configure()),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        async with asyncio.timeout(START_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    assert self._process.returncode is None, "the broker runs"
                    await asyncio.sleep(0.005)
                else:
                    writer.close()
                    return

    async def _configure(self) -> Path:
        lines = [
            f"listener {self.port} 127.0.0.1",
            "persistence false",
            "log_dest none",
            "set_tcp_nodelay true",
        ]
        lines.append(f"allow_anonymous {'false' if self._users else 'true'}")
        lines.append("user root" if os.geteuid() == 0 else "")
        if self._users:
            passwords = self._folder / "passwords"
            passwords.write_text(
                "".join(f"{user}:{password}\n" for user, password in self._users.items())
            )
            passwords.chmod(0o600)
            hashing = await asyncio.create_subprocess_exec(
                mosquitto_path("mosquitto_passwd"), "-U", str(passwords)
            )
            assert await hashing.wait() == 0
            lines.append(f"password_file {passwords}")
        if self._acl is not None:
            lines.append(f"acl_file {self._acl}")
        path = self._folder / "mosquitto.conf"
        path.write_text("\n".join([*lines, *self._lines, ""]))
        return path

    async def kill(self) -> None:
        """Kills the broker (SIGKILL) and waits for its end."""
        self.send_signal(signal.SIGKILL)
        assert self._process is not None
        await self._process.wait()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal to the broker if it is running."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


@asynccontextmanager
async def mosquitto(
    folder: Path,
    users: Mapping[str, str] | None = None,
    acl: Path | None = None,
    lines: tuple[str, ...] = (),
) -> AsyncIterator[Mosquitto]:
    """A running broker; it is killed at the end of the block."""
    broker = Mosquitto(folder, users, acl, lines)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.kill()
