"""The origin of a connection: the socket's address, or the one that a trusted proxy reports.

`X-Forwarded-For` and `X-Forwarded-Proto` count only when the socket belongs to a proxy that the
operator trusts (`PLYROOM_PROXIES`); any other client could write anything there.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Host names that mean this machine only.
LOCAL_NAMES = ("localhost", "ip6-localhost")

#: Prefix length of a household's IPv6 network, in bits: its devices may use any address in it.
IPV6_PREFIX = 64

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a connection, by which the server limits clients.

    `address` is an IPv4 address, an IPv6 network of 64 bits, or empty if unknown.
    """

    address: str
    is_https: bool = False


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks of the trusted proxies."""

    networks: tuple[Network, ...] = ()

    def trusts(self, address: Address) -> bool:
        """Whether the address belongs to a trusted proxy."""
        return any(address in network for network in self.networks)

    def origin(
        self, peer: str | None, forwarded_for: Sequence[str], forwarded_proto: Sequence[str]
    ) -> Origin:
        """The origin of a connection from `peer`, given its X-Forwarded-* headers.

        Behind several trusted proxies, the address is the last one in X-Forwarded-For that is not
        one of them.
        """
        nearest = parse_address(peer or "")
        if nearest is None:
            return Origin("")
        if not self.trusts(nearest):
            return Origin(limit_key(nearest))
        schemes = _parts(forwarded_proto)
        is_https = bool(schemes) and schemes[-1].lower() == "https"
        for hop in reversed(_parts(forwarded_for)):
            address = parse_address(hop)
            if address is None:
                break
            nearest = address
            if not self.trusts(address):
                break
        return Origin(limit_key(nearest), is_https)


def parse_proxies(texts: Iterable[str]) -> Proxies:
    """Parses a list of networks or addresses.

    Raises ValueError, which names the text that is neither.
    """
    networks = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text))
        except ValueError as error:
            raise ValueError(
                f"networks as in 10.0.0.0/8,fd00::/8 were expected: {error}"
            ) from error
    return Proxies(tuple(networks))


def parse_address(text: str) -> Address | None:
    """The address in a text, without port, zone and brackets; None if there is none."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (
        (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
    )


def limit_key(address: Address) -> str:
    """The key that limits count by: an IPv4 address, or the /64 network of an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))


def _parts(headers: Sequence[str]) -> list[str]:
    """The values of a comma-separated header, which may occur several times."""
    return [part.strip() for part in ",".join(headers).split(",") if part.strip()]


def is_local_host(host: str) -> bool:
    """Whether a Host header names the machine of the request itself: no other machine may use it
    as an address of this server.
    """
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name.lower() in LOCAL_NAMES or name.lower().endswith(".localhost"):
        return True
    address = parse_address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def with_host(host: str, new_host: str) -> str:
    """A Host header with another host, IPv4 or IPv6, and the same port."""
    port = host.rpartition(":")[2] if not host.endswith("]") and ":" in host else ""
    bracketed = f"[{new_host}]" if ":" in new_host else new_host
    return f"{bracketed}:{port}" if port else bracketed


def public_urls(
    url: str, host: str, is_https: bool, network_addresses: Sequence[str]
) -> tuple[str, ...]:
    """The addresses of this server for people on other machines, the most likely one first.

    `url` is the operator's setting, which stands alone if it is set. `host` is the Host header of
    a request: if it works on other machines, so do invitations with it. Otherwise they contain one
    of this machine's `network_addresses`; without any, none.
    """
    if url:
        return (url,)
    scheme = "https" if is_https else "http"
    if not is_local_host(host):
        return (f"{scheme}://{host}",)
    return tuple(f"{scheme}://{with_host(host, address)}" for address in network_addresses)
