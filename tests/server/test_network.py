"""The sockets of a server, what it prints about them, and containers."""

import errno
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from server import __main__ as server_main
from server.__main__ import announcement
from server.app import RunningServer, open_node
from server.net.listener import PortTaken
from server.process import network
from server.process.network import bind_sockets, is_container, shared_addresses
from server.settings import Settings
from server.web.client_files import client_folder
from tests.support.fake_server import FakeServer

HAS_IPV6 = socket.has_dualstack_ipv6()


@contextmanager
def bound_to(host: str, port: int = 0) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        sockets = bind_sockets(host, port)
        for each in sockets:
            stack.enter_context(closing(each))
        yield sockets


def is_heard(address: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((address, port)).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
@pytest.mark.parametrize(
    ("host", "heard"),
    [
        ("", {"127.0.0.1", "::1"}), ("::", {"127.0.0.1", "::1"}), ("0.0.0.0", {"127.0.0.1"}),
        ("127.0.0.1", {"127.0.0.1"}), ("::1", {"::1"}),
    ],
)  # fmt: skip
def test_what_a_host_hears(host: str, heard: set[str]) -> None:
    """All networks are IPv4 and IPv6 alike; each address has the same port, also a free one."""
    with bound_to(host) as sockets:
        (port,) = {each.getsockname()[1] for each in sockets}
        assert {each for each in ("127.0.0.1", "::1") if is_heard(each, port)} == heard
    with bound_to(host, port) as again:
        assert {each.getsockname()[1] for each in again} == {port}


def test_small_messages_do_not_wait() -> None:
    """asyncio sets TCP_NODELAY only on connections of a socket that names its protocol."""
    for bound in bind_sockets("127.0.0.1", 0):
        with bound:
            assert bound.proto == socket.IPPROTO_TCP


def test_a_name_with_several_addresses_has_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """As localhost has on most machines. One that another program uses is reported."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", 0)) for n in (1, 2, 1)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    with bound_to("localhost") as sockets:
        addresses = [each.getsockname() for each in sockets]
        (port,) = {port for _, port in addresses}
        assert [address for address, _ in addresses] == ["127.0.0.1", "127.0.0.2"]
        with pytest.raises(OSError) as taken:
            bind_sockets("localhost", port)
        assert taken.value.errno == errno.EADDRINUSE


class Binder:
    """Binds as `network._bind` does, but fails as the test says: by family, once each."""

    def __init__(self, *faults: tuple[int, int]) -> None:
        self.faults = list(faults)
        self.tries = 0
        self._bind = network._bind

    def __call__(self, family: int, address: tuple[object, ...]) -> socket.socket:
        self.tries += 1
        for fault in self.faults:
            if fault[0] == family:
                self.faults.remove(fault)
                raise OSError(fault[1], "a fault of the test")
        return self._bind(family, address)


@pytest.mark.parametrize("absent", network.ABSENT)
@pytest.mark.parametrize("host", ["", "::"])
def test_a_machine_without_ipv6_starts(
    host: str, absent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It listens on IPv4. A machine without both reports why."""
    monkeypatch.setattr(network, "_bind", Binder((socket.AF_INET6, absent)))
    with bound_to(host) as sockets:
        assert [each.family for each in sockets] == [socket.AF_INET]
    both = Binder((socket.AF_INET, absent), (socket.AF_INET6, absent))
    monkeypatch.setattr(network, "_bind", both)
    with pytest.raises(OSError, match="a fault of the test"):
        bind_sockets(host, 0)


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
def test_a_free_port_is_free_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free port of IPv4 that another program has in IPv6 is given up for another one; a port that
    was asked for is not, and the attempts end.
    """
    taken = (socket.AF_INET6, errno.EADDRINUSE)
    binder = Binder(taken, taken)
    monkeypatch.setattr(network, "_bind", binder)
    with bound_to("") as sockets:
        assert (binder.tries, len(sockets)) == (6, 2)
        port = sockets[0].getsockname()[1]
    monkeypatch.setattr(network, "_bind", Binder(taken))
    with pytest.raises(OSError):
        bind_sockets("", port)
    binder = Binder(*[taken] * 1000)
    monkeypatch.setattr(network, "_bind", binder)
    with pytest.raises(OSError):
        bind_sockets("", 0)
    assert binder.tries == 2 * network.PORT_TRIES


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
async def test_a_port_that_is_taken_in_one_family_is_taken() -> None:
    """A server on all networks does not start half."""
    with bound_to("::1") as sockets:
        fake = FakeServer()
        port = sockets[0].getsockname()[1]
        with pytest.raises(PortTaken):
            async with open_on(fake, "", port):
                raise AssertionError("it listens")
        assert not is_heard("127.0.0.1", port)


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["", "::"])
async def test_a_node_serves_and_stops_on_all_its_addresses(host: str) -> None:
    """Requests and sockets of both families reach it; after its end neither hears."""
    async with open_on(FakeServer(), host, 0) as running:
        port = running.port
        assert set(running.addresses) == {"0.0.0.0", "::"}
        for address in ("127.0.0.1", "::1"):
            assert is_heard(address, port)
    assert [each for each in ("127.0.0.1", "::1") if is_heard(each, port)] == []


def open_on(fake: FakeServer, host: str, port: int) -> AbstractAsyncContextManager[RunningServer]:
    """Runs a node that listens on this host and port."""
    fake.settings = replace(fake.settings, host=host, port=port)
    return open_node(fake.ports("n1"), client_folder())


# --- the printed addresses ------------------------------------------------------------------------


def test_the_terminal_program_is_named_as_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first lines name a program that can be copied into a shell in the server's folder."""
    program = tmp_path / ".venv" / "bin" / "plyroom"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    monkeypatch.setattr(server_main, "which", lambda name: None)
    assert server_main.terminal_program() == str(program)
    monkeypatch.chdir(tmp_path)
    assert server_main.terminal_program() == ".venv/bin/plyroom"
    monkeypatch.chdir(program.parent)
    assert server_main.terminal_program() == "./plyroom"
    blank = tmp_path / "my games" / "plyroom"
    blank.parent.mkdir()
    blank.touch()
    monkeypatch.setattr(sys, "executable", str(blank.with_name("python")))
    assert shlex.split(server_main.terminal_program()) == [str(blank)]
    monkeypatch.chdir(tmp_path)
    assert server_main.terminal_program() == "'my games/plyroom'"
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    program.unlink()
    assert server_main.terminal_program() == "plyroom"


@pytest.mark.parametrize(
    ("host", "heard", "first"),
    [
        ("", ("0.0.0.0", "::"), "http://127.0.0.1:8123/"), ("", ("0.0.0.0",), "http://127.0.0.1:8123/"),
        ("", ("::",), "http://[::1]:8123/"), ("::", ("0.0.0.0", "::"), "http://[::1]:8123/"),
        ("::", ("0.0.0.0",), "http://127.0.0.1:8123/"), ("0.0.0.0", ("0.0.0.0",), "http://127.0.0.1:8123/"),
        ("192.168.1.7", ("192.168.1.7",), "http://192.168.1.7:8123/"),
        ("localhost", ("127.0.0.1", "::1"), "http://localhost:8123/"), ("::1", ("::1",), "http://[::1]:8123/"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("in_container", [True, False])
@pytest.mark.parametrize("url", ["", "https://play.example.org"])
def test_what_is_printed(
    host: str, heard: tuple[str, ...], first: str, in_container: bool, url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The first line has an address that this machine can open. The second is for others: the
    operator's address; else the machine's, or in a container what to set.
    """
    monkeypatch.setattr(server_main, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(network, "network_addresses", addresses_of_a_machine)
    running = cast(RunningServer, SimpleNamespace(port=8123, addresses=heard, metrics_port=None))
    lines = list(announcement(Settings(host=host, url=url), running, in_container))
    assert lines[0] == f"Plyroom is at {first}"
    assert lines[-1].startswith("Everything is kept in ")
    is_shared = host in ("", "::", "0.0.0.0")
    assert lines[-2] == f"In a terminal: plyroom --url {first.removesuffix('/')}"
    assert len(lines) == (4 if url or is_shared else 3)
    if url:
        assert lines[1] == "Others open https://play.example.org/"
    elif is_shared and in_container:
        assert lines[1].endswith("as in PLYROOM_URL=http://192.168.1.7:8123")
        assert "Others" not in lines[1]
    elif is_shared:
        assert lines[1] == "Others on your network open http://192.168.1.7:8123/"


def addresses_of_a_machine(is_ipv6: bool = False) -> tuple[str, ...]:
    return ("2001:db8::7",) if is_ipv6 else ("192.168.1.7", "10.0.0.5")


def test_the_addresses_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those of the families that are heard, IPv4 first."""
    monkeypatch.setattr(network, "network_addresses", addresses_of_a_machine)
    both = ("192.168.1.7", "10.0.0.5", "2001:db8::7")
    assert {host: shared_addresses(host) for host in ("", "::", "0.0.0.0", "10.0.0.5", "::1")} == {
        "": both, "::": both, "0.0.0.0": both[:2], "10.0.0.5": (), "::1": (),
    }  # fmt: skip


# --- containers -----------------------------------------------------------------------------------

CONTAINER_ID = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ROOT_ON_DISK = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
#: The files of a machine that runs containers, but is none.
DOCKER_HOST = {
    "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
    "proc/self/mountinfo": ROOT_ON_DISK
    + "95 22 0:50 / /var/lib/docker/overlay2/9f86/merged rw - overlay overlay"
    " rw,lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/9f86/diff\n",
}


def overlay(upper: str) -> str:
    return (
        f"700 600 0:60 / / rw,relatime master:2 - overlay overlay rw,lowerdir=/x,upperdir={upper}\n"
    )


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        pytest.param({".dockerenv": ""}, {}, True, id="Docker"),
        pytest.param({"run/.containerenv": ""}, {}, True, id="Podman"),
        pytest.param({}, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, True, id="Kubernetes"),
        pytest.param(
            {"proc/self/cgroup": f"12:memory:/docker/{CONTAINER_ID}\n0::/\n"}, {}, True, id="v1"),
        pytest.param(
            {"proc/self/cgroup": f"0::/system.slice/docker-{CONTAINER_ID}.scope\n"}, {}, True,
            id="v2 of the host"),
        pytest.param({"proc/self/cgroup": "0::/kubepods/besteffort/pod1\n"}, {}, True, id="a pod"),
        pytest.param(
            {"proc/self/cgroup": "0::/", "proc/self/mountinfo": overlay(
                "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/9/fs")},
            {}, True, id="containerd"),
        pytest.param(
            {"proc/self/mountinfo": overlay("/var/lib/containers/storage/overlay/9f86/diff")},
            {}, True, id="a root of Podman"),
        pytest.param({}, {}, False, id="nothing is known"),
        pytest.param(DOCKER_HOST, {}, False, id="a host of containers"),
        pytest.param(
            {"proc/self/cgroup": "0::/system.slice/plyroom-docker.service\n"}, {}, False,
            id="a service"),
        pytest.param(
            {"proc/self/cgroup": "0::/system.slice/docker.service\n"}, {}, False, id="dockerd"),
        pytest.param({"proc/self/cgroup": "0::/lxc.payload.web/init.scope\n",
                      "proc/self/mountinfo": ROOT_ON_DISK}, {"container": "lxc"}, False, id="LXC"),
        pytest.param({"proc/self/mountinfo": overlay("/cow/upper")}, {}, False, id="a live medium"),
        pytest.param({"proc/self/cgroup": "\ufffd\x00"}, {"HOME": "/root"}, False, id="noise"),
    ],
)  # fmt: skip
def test_a_container(
    files: dict[str, str], environ: dict[str, str], expected: bool, tmp_path: Path
) -> None:
    """A container of Docker, Podman, containerd or Kubernetes is known by what it finds, a machine
    that runs them is none, and neither is a system container with an address of its own.
    """
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert is_container(tmp_path, environ) is expected
