"""Where a server is: its address as people write it, what is made from it, the links to rooms and
matches. Pure.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

DEFAULT_SERVER = "http://127.0.0.1:8000"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


class BadAddress(ValueError):
    """Not an address of a server, or not a link to a room or match; the message says what was
    expected.
    """


@dataclass(frozen=True, slots=True)
class Address:
    """The root of a server: scheme http or https, host with port."""

    scheme: str
    netloc: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def socket(self) -> str:
        """The address of its WebSocket."""
        return f"{'wss' if self.scheme == 'https' else 'ws'}://{self.netloc}/ws"

    def room(self, room: str) -> str:
        """The link to a room, for people."""
        return f"{self}/room/{room}"

    def api(self, path: str) -> str:
        """The address of a path of the HTTP API."""
        return f"{self}/api/{path}"

    @property
    def is_local(self) -> bool:
        """Is it on this machine? Then no proxy is asked."""
        host = urlsplit(str(self)).hostname or ""
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


def parse_address(text: str) -> Address:
    """The server that `http://host:8000`, `ws://host/ws`, `host:8000` or any page of it names;
    BadAddress otherwise.
    """
    with_scheme = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(with_scheme.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadAddress(f"{text!r} is no address: {error}") from error
    if parts.scheme not in _SCHEMES or not host:
        raise BadAddress(f"{text!r} is no address of a server; one looks like {DEFAULT_SERVER}")
    return Address(_SCHEMES[parts.scheme], parts.netloc.rpartition("@")[2])


def parse_link(text: str) -> tuple[Address | None, str]:
    """The server (None for a bare id) and the id that a room's or match's id or link names;
    BadAddress otherwise.
    """
    if _ID.fullmatch(text):
        return None, text
    if "/" not in text:
        raise BadAddress(f"{text!r} is neither an id nor a link")
    parts = urlsplit(text if "://" in text else f"http://{text}")
    words = [word for word in parts.path.split("/") if word]
    last = words[-1] if words else ""
    if not _ID.fullmatch(last):
        raise BadAddress(
            f"{text!r} names no room or match; a link looks like {DEFAULT_SERVER}/room/ID"
        )
    return parse_address(f"{parts.scheme}://{parts.netloc}"), last


def linked_ply(text: str) -> int | None:
    """The ply that a link to a match points at: …/match/ID?ply=12."""
    ply = parse_qs(urlsplit(text).query).get("ply", [""])[0] if "/" in text else ""
    return int(ply) if ply.isascii() and ply.isdigit() and len(ply) < 6 else None
