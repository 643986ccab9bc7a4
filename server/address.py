"""The addresses of clients and of the server.

The origin of a connection is the socket's address, or the one that a trusted proxy reports:
`X-Forwarded-For` and `X-Forwarded-Proto` count only when the socket belongs to a proxy that the
operator trusts (`PLYROOM_PROXIES`); any other client could write anything there.

The server's own names are those in Host headers and in the operator's settings.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

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
    # A proxy on this machine reaches the server by either family.
    for one, other in (("127.0.0.1", "::1"), ("::1", "127.0.0.1")):
        if any(ipaddress.ip_address(one) in network for network in networks):
            networks.append(ipaddress.ip_network(other))
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


# --- the server's own names -----------------------------------------------------------------------

#: A host with an optional port (RFC 3986, section 3.2).
_AUTHORITY = re.compile(r"(\[[^\[\]@]*\]|[^\[\]:@]*)(?::([0-9]{0,5}))?", re.ASCII)
#: A name of at most 253 characters (RFC 1035, section 2.3.4). Windows allows underscores.
_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_-]{1,63}\.)*([a-z0-9_-]{1,63})", re.ASCII)
#: A last label that makes a name an IPv4 address, or invalid, for browsers (URL Standard, "ends in
#: a number"). They send IPv4 addresses only in the form of four decimal numbers.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
#: The zone of an IPv6 address (RFC 6874).
_ZONE = re.compile(r"[\w.~-]+", re.ASCII)
#: The port of each scheme where none is written.
DEFAULT_PORTS = {"http": 80, "https": 443}


class Host(NamedTuple):
    """A host and its port, if one is written.

    `name` is a name in lower case without a final dot, an IPv4 address, or an IPv6 address in
    brackets.
    """

    name: str
    port: int | None
    is_address: bool


def parse_host(text: str) -> Host | None:
    """The host of a Host header or of a URL; None if it is malformed."""
    parts = _AUTHORITY.fullmatch(text)
    if parts is None:
        return None
    host, port = parts[1].lower(), int(parts[2]) if parts[2] else None
    if port is not None and port > 65535:
        return None
    if host.startswith("["):
        address, separator, zone = host[1:-1].partition("%")
        if separator and not _ZONE.fullmatch(zone):
            return None
        try:
            return Host(f"[{ipaddress.IPv6Address(address)}]", port, is_address=True)
        except ValueError:
            return None
    try:
        return Host(str(ipaddress.IPv4Address(host)), port, is_address=True)
    except ValueError:
        pass
    name = host.removesuffix(".")
    labels = _NAME.fullmatch(name)
    if labels is None or _NUMBER.fullmatch(labels[1]):
        return None
    return Host(name, port, is_address=False)


def ascii_host(text: str) -> str:
    """A host with an optional port as browsers send it: umlauts and other letters of a name as in
    xn--mller-kva (UTS 46).

    Raises ValueError for a name that has no such form.
    """
    if text.isascii():
        return text
    from yarl import URL  # the URLs of aiohttp; most servers have no such name

    name, colon, port = text.partition(":")
    return f"{URL.build(scheme='http', host=name).raw_host}{colon}{port}"


def parse_names(text: str) -> tuple[str, ...]:
    """The names in a text that the operator has written: `play.example.org`, `*.example.org` for
    those below a name, `.example.org` for both. A scheme and a port are allowed, and ignored.

    Raises ValueError, which quotes a name that browsers can never send.
    """
    names: list[str] = []
    for entry in filter(None, re.split(r"[\s,;]+", text)):
        scheme, separator, rest = entry.rpartition("://")
        if separator and scheme.lower() not in ("http", "https", "ws", "wss"):
            raise ValueError(f"{entry!r} is no host name")
        authority, slash, path = rest.partition("/")
        if path:
            raise ValueError(f"{entry!r} has a path, {slash + path!r}: a host name has none")
        if authority.count(":") > 1 and not authority.startswith("["):
            authority = f"[{authority}]"
        prefix, bare = "", authority
        for pattern in ("*.", "."):
            if authority.startswith(pattern):
                prefix, bare = pattern, authority.removeprefix(pattern)
                break
        try:
            host = parse_host(ascii_host(bare))
        except ValueError:
            host = None
        if host is None or (prefix and host.is_address):
            raise ValueError(f"{entry!r} is no host name")
        if prefix != "*.":
            names.append(host.name)
        if prefix:
            names.append(f"*.{host.name}")
    return tuple(dict.fromkeys(names))


def parse_url(text: str) -> tuple[str, str]:
    """The address of the server that the operator has written, in ASCII and without a final slash,
    and its host's name. Raises ValueError, which says why it is none.
    """
    try:
        parts = urlsplit(text.strip())
        is_web = parts.scheme in DEFAULT_PORTS and "@" not in text
        host = parse_host(ascii_host(parts.netloc)) if is_web else None
    except ValueError:
        host = None
    if host is None or host.port == 0 or host.name in ("0.0.0.0", "[::]"):
        raise ValueError("it is not an address that a browser can open")
    if parts.path.strip("/"):
        raise ValueError(
            f"it has a path, {parts.path!r}: Plyroom needs a host name or a port of its own"
        )
    if parts.query or parts.fragment:
        raise ValueError("it has more than a host and a port")
    return f"{parts.scheme}://{ascii_host(parts.netloc).removesuffix(':')}", host.name


#: Host names that mean this machine only.
LOCAL_NAMES = ("localhost", "ip6-localhost")


def is_local_host(text: str) -> bool:
    """Whether a Host header names the machine of the request itself: no other machine may use it
    as an address of this server.
    """
    host = parse_host(text)
    if host is None:
        return False
    if not host.is_address:
        return host.name in LOCAL_NAMES or host.name.endswith(".localhost")
    address = ipaddress.ip_address(host.name.strip("[]"))
    return address.is_loopback or address.is_unspecified


def with_host(text: str, new_host: str) -> str:
    """A Host header with another host, IPv4 or IPv6, and the same port."""
    host = parse_host(text)
    bracketed = f"[{new_host}]" if ":" in new_host else new_host
    return f"{bracketed}:{host.port}" if host is not None and host.port else bracketed


def public_urls(
    url: str, host: str, is_https: bool, network_addresses: Sequence[str]
) -> tuple[str, ...]:
    """The addresses of this server for people on other machines, the most likely one first.

    `url` is the operator's setting, which stands alone if it is set. `host` is the Host header of
    a request: if it works on other machines, so do invitations with it. Otherwise they contain one
    of this machine's `network_addresses`; without any, or for a malformed host, none.
    """
    if url:
        return (url,)
    scheme = "https" if is_https else "http"
    if not is_local_host(host):
        return (f"{scheme}://{host}",) if parse_host(host) is not None else ()
    return tuple(f"{scheme}://{with_host(host, address)}" for address in network_addresses)
