"""The server's port: `websockets` serves WebSocket connections, aiohttp serves every other request.

A small asyncio protocol reads the head of a connection's first request, then hands the transport to
one of them and takes no further part.
"""

import asyncio
import errno
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.protocol import State

from server.address import (
    DEFAULT_PORTS,
    Proxies,
    limit_key,
    parse_address,
    parse_host,
    parse_proxies,
)
from server.net.connection import Connection
from server.process.network import bind_sockets, browser_names
from server.protocol.codes import Close
from server.protocol.messages import MAX_FRAME_BYTES
from server.settings import Settings
from server.web.connection import HEAD_LIMIT_BYTES, HttpConnections
from server.web.headers import SECURITY_HEADERS

#: Maximum number of lines in a handshake's head, within the limit of `websockets`.
HEAD_LINES = 128
#: Maximum length of a line in a handshake's head, in bytes, within the limit of `websockets`.
HEAD_LINE_BYTES = 8190
#: The path of the WebSocket.
WS_PATH = "/ws"
#: Time limit for a client's answer to a closing handshake, in seconds.
CLOSE_TIMEOUT_S = 2.0

Handler = Callable[[Connection], Awaitable[None]]


class CannotListen(Exception):
    """The server cannot listen on the address, for example because another machine has it."""


class PortTaken(CannotListen):
    """Another program listens on the port."""


class ConnectionSlots:
    """Limits the connections that are not WebSockets: HTTP connections, and those whose first
    request is not complete.

    At the limit, a new connection replaces the oldest one whose first request is not complete. One
    address may have half of the slots, unless it is a trusted proxy.
    """

    def __init__(self, limit: int, proxies: Proxies) -> None:
        self._limit = limit
        self._proxies = proxies
        self._counts: Counter[str] = Counter()
        self._total = 0
        #: The connections whose first request is not complete, oldest first.
        self._incomplete: dict[ProtocolDetector, None] = {}

    def enter(self, detector: "ProtocolDetector", peer: str | None) -> str | None:
        """Takes a slot for a new connection; returns the key that frees it, or None if no slot is
        free.
        """
        address = parse_address(peer or "")
        is_proxy = address is not None and self._proxies.trusts(address)
        key = "" if address is None or is_proxy else limit_key(address)
        if key and self._counts[key] >= max(1, self._limit // 2):
            return None
        if self._total >= self._limit:
            if not self._incomplete:
                return None
            next(iter(self._incomplete)).abort()
        self._counts[key] += 1
        self._total += 1
        self._incomplete[detector] = None
        return key

    def mark_complete(self, detector: "ProtocolDetector") -> None:
        """Records that the first request is complete: a new connection cannot replace this one."""
        self._incomplete.pop(detector, None)

    def leave(self, key: str) -> None:
        """Frees a slot."""
        self._total -= 1
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]

    def abort_incomplete(self) -> None:
        """Aborts the connections whose first request is not complete."""
        for detector in tuple(self._incomplete):
            detector.abort()


class ProtocolDetector(asyncio.Protocol):
    """Reads the head of the first request, then hands the transport to the WebSocket or HTTP
    protocol.

    A connection without a complete head after `silence_s` is aborted; a head that is too big is
    refused (431).
    """

    def __init__(
        self,
        slots: ConnectionSlots,
        make_websocket: Callable[[], asyncio.Protocol],
        make_http: Callable[[Callable[[], None]], asyncio.Protocol],
        silence_s: float,
    ) -> None:
        self._slots = slots
        self._make_websocket = make_websocket
        self._make_http = make_http
        self._silence_s = silence_s
        self._head = bytearray()
        self._key: str | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self._key = self._slots.enter(self, peer[0] if isinstance(peer, tuple) else None)
        if self._key is None:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, FULL_MESSAGE)
            return
        self._timer = asyncio.get_running_loop().call_later(self._silence_s, self.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._release()

    def abort(self) -> None:
        """Aborts a connection whose first request is not complete."""
        self._release()
        self._transport.abort()

    def _release(self) -> None:
        """Frees the connection's slot, once."""
        if self._timer is not None:
            self._timer.cancel()
        self._slots.mark_complete(self)
        if self._key is not None:
            self._slots.leave(self._key)
            self._key = None

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        old_length = len(self._head)
        self._head += data
        end = self._head.find(b"\r\n\r\n", max(0, old_length - 3))
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
        elif is_head_within_limits(head):
            self._release()
            self._hand_over(self._make_websocket())
        else:
            self._refuse(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"at most {HEAD_LINES} lines of at most {HEAD_LINE_BYTES} bytes are expected",
            )

    def _hand_to_http(self) -> None:
        """Hands the transport to HTTP. The connection holds its slot until it ends."""
        assert self._timer is not None
        assert self._key is not None
        self._timer.cancel()
        self._slots.mark_complete(self)
        self._hand_over(self._make_http(partial(self._slots.leave, self._key)))

    def _hand_over(self, protocol: asyncio.Protocol) -> None:
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(bytes(self._head))

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._transport.write(plain_response(status, message).serialize())
        self._release()
        self._transport.close()


#: The message of the refusal when no slot is free.
FULL_MESSAGE = "this server has reached its limit of connections"
#: An Upgrade header for a WebSocket, in a request's head.
UPGRADE = re.compile(rb"\r\n[ \t]*upgrade[ \t]*:[^\r]*websocket", re.IGNORECASE)


def is_upgrade(head: bytes) -> bool:
    """Whether a request head asks for a WebSocket (RFC 6455, section 4.1)."""
    return UPGRADE.search(head) is not None


def is_head_within_limits(head: bytes) -> bool:
    """Whether `websockets` accepts the head; its own refusal would bypass `_add_headers`."""
    lines = head.split(b"\r\n", HEAD_LINES)
    return len(lines) <= HEAD_LINES and all(len(line) <= HEAD_LINE_BYTES for line in lines)


#: Domains of private networks, in which nobody can register a name: mDNS (RFC 6762), this machine
#: (RFC 6761), home networks (RFC 8375), private use (ICANN, 2024), the usual domain of routers.
#: fritz.box is the manufacturer's since 2024, and its routers answer for it. No other public domain
#: belongs here, however usual: strangers may buy names in it.
PRIVATE_DOMAINS = ("local", "localhost", "home.arpa", "internal", "lan", "fritz.box")


def is_origin_allowed(origin: str | None, host: str | None, names: tuple[str, ...]) -> bool:
    """Whether a browser page with this origin may connect: only pages of this server may.

    Equal Host and Origin headers are not enough: with DNS rebinding, a foreign name resolves to
    this machine. So the name must also be one of `is_host_allowed`. Programs other than browsers
    send no Origin.
    """
    if origin is None:
        return True
    scheme, separator, authority = origin.lower().partition("://")
    page, server = parse_host(authority), parse_host(host or "")
    if page is None or server is None or scheme not in DEFAULT_PORTS or not separator:
        return False
    port = DEFAULT_PORTS[scheme]
    is_own = page.name == server.name and (page.port or port) == (server.port or port)
    return is_own and is_host_allowed(host or "", names)


def is_host_allowed(host: str, names: tuple[str, ...]) -> bool:
    """Whether the name in the Host header cannot belong to a foreign site.

    It is an address, a name without a dot, a name in one of PRIVATE_DOMAINS, or one of `names`, in
    which `*.example.org` stands for the names below example.org.
    """
    parsed = parse_host(host)
    if parsed is None:
        return False
    name = parsed.name
    if parsed.is_address or "." not in name:
        return True
    if any(name == domain or name.endswith(f".{domain}") for domain in PRIVATE_DOMAINS):
        return True
    return any(
        name.endswith(known[1:]) if known.startswith("*.") else name == known
        for known in (each.lower().removesuffix(".") for each in names)
    )


@asynccontextmanager
async def listen(
    settings: Settings,
    runner: web.AppRunner,
    http: HttpConnections,
    handler: Handler,
    admit: Callable[[ServerConnection], Response | None],
    on_disconnect: Callable[[ServerConnection], None],
    drain: Callable[[], Awaitable[None]],
) -> AsyncIterator[tuple[int, tuple[str, ...]]]:
    """Serves WebSockets and HTTP until the block ends. Then it accepts no more connections, calls
    `drain` to close the sessions, and closes the remaining connections with 1012. It yields the
    port and the addresses on which it listens.

    `admit` decides on each valid handshake: it returns None to accept it, or the HTTP answer that
    refuses it. It is not asked about a connection that has ended. `on_disconnect` is called when a
    connection that asked for a WebSocket ends, even if its handshake was refused. Raises
    CannotListen.
    """

    slots = ConnectionSlots(settings.max_http, parse_proxies(settings.proxies))

    names = browser_names(settings.names)

    def check_handshake(connection: ServerConnection, request: Request) -> Response | None:
        if connection.state is State.CLOSED:
            # The client may have left before this task ran, so `on_disconnect` was called already.
            # Admitted now, it would hold its place for good. No answer is sent.
            return plain_response(HTTPStatus.BAD_REQUEST, "the client closed the connection")
        return handshake_refusal(request.path, request.headers, names) or admit(connection)

    def make_detector(protocol: Any, server: Any, **options: Any) -> ProtocolDetector:
        make_websocket = partial(Connection, on_disconnect, protocol, server, **options)
        return ProtocolDetector(
            slots,
            cast(Callable[[], asyncio.Protocol], make_websocket),
            http.make,
            settings.silence_s,
        )

    try:
        bound = await asyncio.to_thread(bind_sockets, settings.host, settings.port)
    except OSError as error:
        failure = f"cannot listen on {settings.host} port {settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"{failure}: another program uses it") from error
        raise CannotListen(f"{failure}: {error.strerror or error}") from error
    servers = [
        await serve(
            cast(Any, handler), sock=each,
            create_connection=cast(Any, make_detector), process_request=check_handshake,
            process_response=_add_headers, compression=None, close_timeout=CLOSE_TIMEOUT_S,
            ping_interval=None, max_size=MAX_FRAME_BYTES, max_queue=64, server_header=None,
        )
        for each in bound
    ]  # fmt: skip
    try:
        yield bound[0].getsockname()[1], tuple(each.getsockname()[0] for each in bound)
    finally:
        for server in servers:
            server.server.close()
        await drain()
        for server in servers:
            server.close(code=Close.RESTARTING, reason="the server is restarting")
        # From Python 3.12 on, wait_closed() waits for all connections, including idle HTTP ones and
        # those without a complete head.
        slots.abort_incomplete()
        await runner.cleanup()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S + 0.5):
                await _all_closed(servers)
        # The closing handshake has a time limit, but sending the remaining data to a slow reader
        # has none.
        for server in servers:
            for connection in tuple(server.all_connections):
                connection.transport.abort()
        await _all_closed(servers)


async def _all_closed(servers: Sequence[Server]) -> None:
    for server in servers:
        await server.wait_closed()


def handshake_refusal(path: str, headers: Headers, names: tuple[str, ...]) -> Response | None:
    """Returns the HTTP answer that refuses a handshake, or None to accept it."""
    if path.partition("?")[0] != WS_PATH:
        return plain_response(HTTPStatus.NOT_FOUND, f"the WebSocket is at {WS_PATH}")
    if "Content-Encoding" in headers:
        return plain_response(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request without Content-Encoding is expected"
        )
    origins, hosts = headers.get_all("Origin"), headers.get_all("Host")
    if len(origins) > 1 or len(hosts) > 1:
        return plain_response(
            HTTPStatus.BAD_REQUEST, "a request has one Host and at most one Origin"
        )
    if not is_origin_allowed(origins[0] if origins else None, hosts[0] if hosts else None, names):
        return plain_response(
            HTTPStatus.FORBIDDEN,
            "this page may not connect here (Origin): add the name in its address to PLYROOM_NAMES",
        )
    return None


def _add_headers(connection: ServerConnection, request: Request, response: Response) -> None:
    """Adds the security headers to each refused handshake, also to refusals of `websockets`."""
    for name, value in SECURITY_HEADERS.items():
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS and name not in response.headers:
            response.headers[name] = value


def plain_response(status: HTTPStatus, message: str, retry_s: int | None = None) -> Response:
    """Returns a plain-text answer to a handshake; `retry_s` is for the Retry-After header."""
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
