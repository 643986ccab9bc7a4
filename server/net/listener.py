"""The one port: `websockets` owns WebSocket connections, aiohttp owns every other request.

A small protocol reads the head of a connection's first request and hands the connection over; after
that it costs nothing.
"""

import asyncio
import errno
import ipaddress
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from server.address import Proxies, limit_key, parse_address, parse_proxies
from server.protocol.codes import Close
from server.protocol.messages import MAX_FRAME_BYTES
from server.settings import Settings
from server.web.connection import HEAD_LIMIT_BYTES, HttpConnections
from server.web.headers import SECURITY_HEADERS

HEAD_LINES = 128
HEAD_LINE_BYTES = 8190
WS_PATH = "/ws"
#: How long a client has to answer the closing of its connection.
CLOSE_S = 2.0

Handler = Callable[[ServerConnection], Awaitable[None]]


class CannotListen(Exception):
    """The address is none of this machine's, or not ours to use; the message says which."""


class PortTaken(CannotListen):
    """Another program listens on that port."""


class Hall:
    """Counts who has come in and is no WebSocket: connections that have not said yet what they
    want, and HTTP.

    When it is full, the one that has kept silent for longest makes room. One address gets half of
    the places, unless a trusted proxy has it.
    """

    def __init__(self, places: int, proxies: Proxies) -> None:
        self._places = places
        self._proxies = proxies
        self._counts: Counter[str] = Counter()
        self._total = 0
        self._silent: dict[Door, None] = {}

    def enter(self, door: "Door", peer: str | None) -> str | None:
        """Gives a newcomer a place, and the key with which to leave it; None when there is none."""
        address = parse_address(peer or "")
        is_proxy = address is not None and self._proxies.trusts(address)
        key = "" if address is None or is_proxy else limit_key(address)
        if key and self._counts[key] >= max(1, self._places // 2):
            return None
        if self._total >= self._places:
            if not self._silent:
                return None
            next(iter(self._silent)).abort()
        self._counts[key] += 1
        self._total += 1
        self._silent[door] = None
        return key

    def speaks(self, door: "Door") -> None:
        """It has said what it wants."""
        self._silent.pop(door, None)

    def leave(self, key: str) -> None:
        """A place becomes free."""
        self._total -= 1
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def clear(self) -> None:
        """Ends the connections that have not said yet what they want."""
        for door in tuple(self._silent):
            door.abort()


class Door(asyncio.Protocol):
    """Reads up to the end of the first request's head, then hands the transport to whoever it is
    for.

    A head that is not there after `silence_s` ends the connection; one that is too big is refused
    (431).
    """

    def __init__(
        self,
        hall: Hall,
        make_websocket: Callable[[], asyncio.Protocol],
        make_http: Callable[[Callable[[], None]], asyncio.Protocol],
        silence_s: float,
    ) -> None:
        self._hall = hall
        self._make_websocket = make_websocket
        self._make_http = make_http
        self._silence_s = silence_s
        self._head = bytearray()
        self._key: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._key = self._hall.enter(self, peer[0] if isinstance(peer, tuple) else None)
        if self._key is None:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, FULL)
            return
        self._timer = asyncio.get_running_loop().call_later(self._silence_s, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._go()

    def abort(self) -> None:
        """Ends a connection whose first request has not come yet."""
        self._go()
        self._transport.abort()

    def _go(self) -> None:
        """Frees its place, once."""
        if self._timer is not None:
            self._timer.cancel()
        self._hall.speaks(self)
        if self._key is not None:
            self._hall.leave(self._key)
            self._key = None

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        known = len(self._head)
        self._head += data
        end = self._head.find(b"\r\n\r\n", max(0, known - 3))
        if end < 0 and len(self._head) <= HEAD_LIMIT_BYTES:
            return
        if not 0 <= end <= HEAD_LIMIT_BYTES:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"a head has at most {HEAD_LIMIT_BYTES} bytes",
            )
            return
        head = bytes(self._head[:end])
        if not is_upgrade(head):
            self._hand_to_http()
        elif head_fits(head):
            self._go()
            self._hand_over(self._make_websocket())
        else:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"at most {HEAD_LINES} lines of at most {HEAD_LINE_BYTES} bytes are expected",
            )

    def _hand_to_http(self) -> None:
        """The place stays taken until that connection ends."""
        assert self._timer is not None
        assert self._key is not None
        self._timer.cancel()
        self._hall.speaks(self)
        self._hand_over(self._make_http(partial(self._hall.leave, self._key)))

    def _hand_over(self, protocol: asyncio.Protocol) -> None:
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(bytes(self._head))

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._transport.write(plain(status, message).serialize())
        self._go()
        self._transport.close()


FULL = "this server has no place for another connection now"
UPGRADE = re.compile(rb"\r\n[ \t]*upgrade[ \t]*:[^\r]*websocket", re.IGNORECASE)


def is_upgrade(head: bytes) -> bool:
    """Whether a request head asks for a WebSocket (RFC 6455, section 4.1)."""
    return UPGRADE.search(head) is not None


def head_fits(head: bytes) -> bool:
    """Whether `websockets` reads it all: what is beyond its limits it would refuse without our
    headers.
    """
    lines = head.split(b"\r\n", HEAD_LINES)
    return len(lines) <= HEAD_LINES and all(len(line) <= HEAD_LINE_BYTES for line in lines)


def origin_allowed(origin: str | None, host: str | None, names: tuple[str, ...]) -> bool:
    """Whether a browser page of that origin may talk to us: only our own pages, under a name that
    is surely ours.

    Not every Host that equals the Origin is ours: a foreign name that resolves to this machine (DNS
    rebinding) is equal, too. So it must be an IP address, localhost, *.local, or a configured name.
    Programs that are no browsers send no Origin.
    """
    if origin is None:
        return True
    if host is None:
        return False
    scheme, separator, authority = origin.lower().partition("://")
    if scheme not in ("http", "https") or not separator or authority != host.lower():
        return False
    return host_allowed(host, names)


def host_allowed(host: str, names: tuple[str, ...]) -> bool:
    """Whether the Host header names this machine in a way that no foreign page can."""
    bare = host.lower()
    bare = (
        bare[: bare.index("]") + 1]
        if bare.startswith("[") and "]" in bare
        else bare.rsplit(":", 1)[0]
    )
    if (
        bare == "localhost"
        or bare.endswith((".local", ".localhost"))
        or bare in (name.lower() for name in names)
    ):
        return True
    try:
        ipaddress.ip_address(bare.strip("[]"))
    except ValueError:
        return False
    return True


@asynccontextmanager
async def listen(
    settings: Settings,
    runner: web.AppRunner,
    http: HttpConnections,
    handler: Handler,
    admit: Callable[[ServerConnection], Response | None],
    left: Callable[[ServerConnection], None],
    drain: Callable[[], Awaitable[None]],
) -> AsyncIterator[Server]:
    """Serves both until the block ends; then nobody new is let in, `drain` sees to the connections,
    and what is left is closed with 1012. CannotListen if that cannot be.

    A handshake that could be one is shown to `admit`, which lets it in or says what to answer;
    `left` is called when any connection for a WebSocket is gone, whether it became one or not.
    """

    hall = Hall(settings.max_http, parse_proxies(settings.proxies))

    def check(connection: ServerConnection, request: Request) -> Response | None:
        return refusal(request.path, request.headers, settings.names) or admit(connection)

    def door(protocol: Any, server: Any, **options: Any) -> Door:
        make_websocket = partial(_Connection, left, protocol, server, **options)
        return Door(
            hall,
            cast(Callable[[], asyncio.Protocol], make_websocket),
            http.make,
            settings.silence_s,
        )

    try:
        server = await serve(
            handler, settings.host, settings.port,
            create_connection=cast(Any, door), process_request=check, process_response=_dress, compression=None,
            close_timeout=CLOSE_S, ping_interval=None, max_size=MAX_FRAME_BYTES, max_queue=64, server_header=None,
        )  # fmt: skip
    except OSError as error:
        where = f"cannot listen on {settings.host} port {settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"{where}: another program uses it") from error
        raise CannotListen(f"{where}: {error.strerror or error}") from error
    try:
        yield server
    finally:
        server.server.close()
        await drain()
        server.close(code=Close.RESTARTING, reason="the server is restarting")
        # From Python 3.12 on a server waits for all its connections, idle HTTP ones and half heads
        # among them.
        hall.clear()
        await runner.cleanup()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S + 0.5):
                await server.wait_closed()
        # The closing handshake has a time limit, but not the sending of what a slow reader has not
        # read before it.
        for connection in tuple(server.all_connections):
            connection.transport.abort()
        await server.wait_closed()


class _Connection(ServerConnection):
    """Says when it is gone."""

    def __init__(
        self, left: Callable[[ServerConnection], None], *arguments: Any, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._left = left

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._left(self)


def refusal(path: str, headers: Headers, names: tuple[str, ...]) -> Response | None:
    """The HTTP answer to a handshake that may not become a WebSocket; None lets it in."""
    if path.partition("?")[0] != WS_PATH:
        return plain(HTTPStatus.NOT_FOUND, f"the WebSocket is at {WS_PATH}")
    if "Content-Encoding" in headers:
        return plain(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request without Content-Encoding is expected"
        )
    origins, hosts = headers.get_all("Origin"), headers.get_all("Host")
    if len(origins) > 1 or len(hosts) > 1:
        return plain(HTTPStatus.BAD_REQUEST, "a request has one Host and at most one Origin")
    if not origin_allowed(origins[0] if origins else None, hosts[0] if hosts else None, names):
        return plain(
            HTTPStatus.FORBIDDEN,
            "this page may not connect here (Origin); set PLYROOM_NAMES to the server's host name",
        )
    return None


def _dress(connection: ServerConnection, request: Request, response: Response) -> None:
    """Every answer to a handshake carries our headers, `websockets`' own refusals too."""
    for name, value in SECURITY_HEADERS.items():
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS and name not in response.headers:
            response.headers[name] = value


def plain(status: HTTPStatus, message: str, retry_s: int | None = None) -> Response:
    """An answer in plain text to a handshake; `retry_s` says when to try again."""
    body = f"{message}\n".encode()
    headers = Headers(
        SECURITY_HEADERS
        | {
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
    )
    if retry_s is not None:
        headers["Retry-After"] = str(retry_s)
    return Response(status.value, status.phrase, headers, body)
