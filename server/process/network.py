"""This machine in its networks: its name, its addresses, and the sockets on which it listens."""

import errno
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

#: Hosts to listen on that stand for all networks of this machine, IPv4 and IPv6.
ALL_NETWORKS = ("", "::")
#: The host that stands for all its IPv4 networks.
ALL_IPV4 = "0.0.0.0"
#: Attempts to find a free port that several sockets can share.
PORT_TRIES = 20
#: Connections that a socket holds until the server accepts them.
BACKLOG = 100
#: Errors of a socket whose family or address this machine does not have.
ABSENT = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)

#: Targets of probes, the most likely network first: an address for documentation (RFC 5737), which
#: is routed like any foreign one, then the private networks (RFC 1918).
IPV4_TARGETS = ("192.0.2.1", "192.168.0.1", "10.0.0.1", "172.16.0.1")
#: The same for IPv6: an address for documentation (RFC 3849).
IPV6_TARGETS = ("2001:db8::1",)


# --- listening ------------------------------------------------------------------------------------


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Listens on a host's addresses, all on one port; port 0 is a free one.

    A host of ALL_NETWORKS has IPv4 and IPv6, as far as this machine has them. Looking up another
    name may block. Raises OSError.
    """
    if host in ALL_NETWORKS:
        wildcards = ((socket.AF_INET, (ALL_IPV4, 0)), (socket.AF_INET6, ("::", 0)))
        return _bind_all(wildcards, port, may_lack=True)
    found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = dict.fromkeys((family, address) for family, _, _, _, address in found)
    return _bind_all(addresses, port, may_lack=len(addresses) > 1)


def _bind_all(
    addresses: Iterable[tuple[int, tuple[object, ...]]], port: int, may_lack: bool
) -> list[socket.socket]:
    """Binds all addresses to one port; those that this machine lacks may be missing, but not all.

    Raises OSError.
    """
    for attempt in range(PORT_TRIES):
        sockets: list[socket.socket] = []
        absent: OSError | None = None
        try:
            for family, address in addresses:
                number = sockets[0].getsockname()[1] if sockets else port
                try:
                    sockets.append(_bind(family, (address[0], number, *address[2:])))
                except OSError as error:
                    if not may_lack or error.errno not in ABSENT:
                        raise
                    absent = error
        except OSError as error:
            is_last = attempt == PORT_TRIES - 1
            is_chance = port == 0 and bool(sockets) and error.errno == errno.EADDRINUSE
            for each in sockets:
                each.close()
            if is_last or not is_chance:
                raise
            continue  # another program has the free port of the first family in the second one
        if not sockets and absent is not None:
            raise absent
        return sockets
    raise AssertionError("the last attempt returns or raises")


def _bind(family: int, address: tuple[object, ...]) -> socket.socket:
    """Listens on one address; an IPv6 socket hears no IPv4. Raises OSError."""
    # asyncio sets TCP_NODELAY on the connections of a socket that names its protocol. Without it a
    # small message may wait 40 ms for the acknowledgement of the last one.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
        bound.setblocking(False)
    except BaseException:
        bound.close()
        raise
    return bound


# --- addresses and names --------------------------------------------------------------------------


def network_addresses(is_ipv6: bool = False) -> tuple[str, ...]:
    """This machine's addresses in its networks, the most likely one first; empty if it has none.

    It sends no packet: connecting a UDP socket only looks up the route.
    """
    return tuple(dict.fromkeys(_local_addresses(is_ipv6)))


def is_for_networks(host: str) -> bool:
    """Whether `host` stands for all networks of this machine, or all its IPv4 networks."""
    return host in (*ALL_NETWORKS, ALL_IPV4)


def shared_addresses(host: str) -> tuple[str, ...]:
    """The addresses at which other machines reach a server that listens on `host`, if that stands
    for networks of this machine; the most likely one first.
    """
    if host in ALL_NETWORKS:
        return (*network_addresses(), *network_addresses(is_ipv6=True))
    return network_addresses() if host == ALL_IPV4 else ()


def _local_addresses(is_ipv6: bool) -> Iterator[str]:
    """Yields the local address of the route to each target, if there is one."""
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
    for target in IPV6_TARGETS if is_ipv6 else IPV4_TARGETS:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((target, 9))
                address = str(probe.getsockname()[0])
        except OSError:
            continue
        if not address.startswith("127.") and address != "::1":
            yield address


def browser_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names by which browsers may call this server: those of the operator, and the machine's
    own name, for which no DNS is asked.
    """
    return (*names, socket.gethostname())


# --- containers -----------------------------------------------------------------------------------

#: Files that Docker and Podman put into their containers.
CONTAINER_FILES = (".dockerenv", "run/.containerenv")
#: A control group of a container: its id, or the pods of Kubernetes.
_CONTAINER_GROUP = re.compile(r"\b[0-9a-f]{64}\b|\bkubepods\b")
#: The root file system of a container, as layers that Docker, containerd or Podman keep.
_CONTAINER_ROOT = re.compile(
    r"^\S+ \S+ \S+ \S+ / .*/(?:docker|containerd|containers)/", re.MULTILINE
)


def is_container(root: Path = Path("/"), environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this process is in a container of Docker, Podman, containerd or Kubernetes: other
    machines reach it at an address of its host only, which it cannot know.

    The system containers of LXC and systemd-nspawn count as machines: they usually have an address
    in the network.
    """
    if any((root / name).exists() for name in CONTAINER_FILES):
        return True
    if "KUBERNETES_SERVICE_HOST" in environ:
        return True
    groups, mounts = (_text(root / "proc/self" / name) for name in ("cgroup", "mountinfo"))
    return bool(_CONTAINER_GROUP.search(groups) or _CONTAINER_ROOT.search(mounts))


def _text(path: Path) -> str:
    """The text of a file; empty where there is none."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
