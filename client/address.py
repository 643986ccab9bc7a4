"""Server addresses as people write them, the URLs made from them, and links to rooms and matches.

This module does no I/O.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

#: The address of a server that runs on this machine with the default port.
DEFAULT_SERVER = "http://127.0.0.1:8000"
#: The name or the number of a host, without brackets.
_HOST = re.compile(r"[\w.:%-]+")
#: The id of a room or of a match.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: A link with its scheme, in a text.
_LINK = re.compile(r"(?:https?|wss?)://[^\s<>]+", re.IGNORECASE)
#: What stands around a link or an id in a text, and is in neither: quotes and brackets of all
#: scripts, full stops, invisible characters. A bracket may begin an IPv6 address.
_BEFORE, _BEHIND = re.compile(r"^[^\w\[-]+"), re.compile(r"[^\w-]+$")
#: A scheme with a slash or the colon missing.
_TYPED_SCHEME = re.compile(r"^(https?|wss?)(?::/|//)(?=[^/])", re.IGNORECASE)
#: The HTTP scheme for each scheme that a user may type.
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


class BadAddress(ValueError):
    """The text is not an address, an id or a link; the message says what is expected."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address: the scheme (http or https) and the host with its port."""

    scheme: str
    netloc: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def websocket_url(self) -> str:
        """The URL of the server's WebSocket."""
        return f"{'wss' if self.scheme == 'https' else 'ws'}://{self.netloc}/ws"

    def websocket_url_for(self, room_id: str | None) -> str:
        """The WebSocket's URL with the room's id, by which a proxy may choose the node."""
        return self.websocket_url + (f"?room={quote(room_id, safe='')}" if room_id else "")

    def room_url(self, room_id: str) -> str:
        """The URL of a room's page."""
        return f"{self}/room/{room_id}"

    def api_url(self, path: str) -> str:
        """The URL of a path in the HTTP API."""
        return f"{self}/api/{path}"

    @property
    def host(self) -> str:
        """The host in lower case, without port and brackets."""
        return urlsplit(str(self)).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine; the client then uses no proxy."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.removesuffix(".") == "localhost"


def parse_address(text: str) -> Address:
    """Parses `http://host:8000`, `ws://host/ws`, `host:8000` or the URL of any page of the server.

    Raises BadAddress for anything else.
    """
    typed = _TYPED_SCHEME.sub(r"\1://", text.strip())
    if typed.count(":") > 1 and _is_ipv6(typed):
        typed = f"[{typed}]"
    try:
        parts = urlsplit(typed if "://" in typed else f"http://{typed}")
        host, _ = parts.hostname, parts.port  # reading an invalid port raises ValueError
    except ValueError as error:
        raise BadAddress(f"{text!r} is not an address: {error}") from error
    if parts.scheme not in _SCHEMES or not host or not _HOST.fullmatch(host):
        raise BadAddress(f"{text!r} is not the address of a server; an example is {DEFAULT_SERVER}")
    return Address(_SCHEMES[parts.scheme], _in_ascii(parts.netloc.rpartition("@")[2]))


def _is_ipv6(text: str) -> bool:
    """Whether the text is an IPv6 address without brackets."""
    try:
        return ip_address(text).version == 6
    except ValueError:
        return False


def _in_ascii(netloc: str) -> str:
    """A host and port as networks know it: umlauts as in xn--mller-kva. Raises BadAddress."""
    if netloc.isascii():
        return netloc
    from yarl import URL  # most addresses need none

    try:
        return URL(f"http://{netloc}").raw_authority
    except ValueError as error:
        raise BadAddress(f"{netloc!r} is not the name of a server: {error}") from error


def parse_link(text: str) -> tuple[Address | None, str]:
    """Parses a link to a room or match, or its bare id. Returns the server and the id.

    The text around a link, as in `Join me (http://host/room/abc).`, does not count.

    The server is None for a bare id. Raises BadAddress for anything else.
    """
    if "/" not in text:
        bare = _bare(text)
        if not _ID.fullmatch(bare):
            raise BadAddress(f"{text!r} is neither an id nor a link")
        # Servers make ids of lower-case letters and digits.
        return None, bare.lower() if bare.isalnum() else bare
    parts = _link_in(text)
    segments = list(filter(None, map(_bare, unquote(parts.path).split("/"))))
    last = segments[-1].lower() if segments else ""
    if not _ID.fullmatch(last):
        raise BadAddress(
            f"{text!r} is not a link to a room or a match; an example is {DEFAULT_SERVER}/room/ID"
        )
    return parse_address(f"{parts.scheme}://{parts.netloc}"), last


def _link_in(text: str) -> SplitResult:
    """The link in a text, with its scheme. Raises BadAddress."""
    found = _LINK.search(text)
    link = _TYPED_SCHEME.sub(r"\1://", found[0] if found else _BEFORE.sub("", text))
    try:
        return urlsplit(link if "://" in link else f"http://{link}")
    except ValueError as error:
        raise BadAddress(f"{text!r} is not a link: {error}") from error


def _bare(text: str) -> str:
    """An id without what stands around it in a text."""
    return _BEHIND.sub("", _BEFORE.sub("", text).lstrip("["))


def linked_ply(text: str) -> int | None:
    """The ply in a match link such as `…/match/ID?ply=12`, or None. `text` is as for `parse_link`;
    raises BadAddress for a text with a slash that has no link.
    """
    ply = parse_qs(_link_in(text).query).get("ply", [""])[0] if "/" in text else ""
    ply = _BEHIND.sub("", ply)
    return int(ply) if ply.isascii() and ply.isdigit() and len(ply) < 6 else None
