"""The one port: `websockets` owns WebSocket connections, aiohttp owns every other request.

A small protocol reads the head of a connection's first request and hands the connection over; after that it costs
nothing.
"""

import asyncio
import errno
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, cast

from aiohttp import web
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from server.codes import Close
from server.protocol import MAX_FRAME_BYTES
from server.settings import Settings

HEAD_LIMIT_BYTES = 32 * 1024
WS_PATH = "/ws"
CLOSE_S = 2.0
"""How long a client has to answer the closing of its connection."""

Handler = Callable[[ServerConnection], Awaitable[None]]


class CannotListen(Exception):
    """The address is none of this machine's, or not ours to use; the message says which."""


class PortTaken(CannotListen):
    """Another program listens on that port."""


class Door(asyncio.Protocol):
    """Reads up to the end of the first request's head, then hands the transport to whoever it is for.

    A head that is not there after `silence_s` ends the connection.
    """

    def __init__(
        self,
        make_websocket: Callable[[], asyncio.Protocol],
        make_http: Callable[[], asyncio.Protocol],
        silence_s: float,
        waiting: "set[Door]",
    ) -> None:
        self._make_websocket = make_websocket
        self._make_http = make_http
        self._silence_s = silence_s
        self._waiting = waiting
        self._head = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._waiting.add(self)
        self._timer = asyncio.get_running_loop().call_later(self._silence_s, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()

    def abort(self) -> None:
        """Ends a connection whose first request has not come yet."""
        self._transport.abort()

    def _leave(self) -> None:
        self._timer.cancel()
        self._waiting.discard(self)

    def data_received(self, data: bytes) -> None:
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            if len(self._head) > HEAD_LIMIT_BYTES:
                self._transport.abort()
            return
        self._leave()
        make = self._make_websocket if is_upgrade(bytes(self._head[:end])) else self._make_http
        protocol = make()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(bytes(self._head))


def is_upgrade(head: bytes) -> bool:
    """Whether a request head asks for a WebSocket (RFC 6455, section 4.1)."""
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip() == b"upgrade" and b"websocket" in value:
            return True
    return False


def origin_allowed(origin: str | None, host: str | None, names: tuple[str, ...]) -> bool:
    """Whether a browser page of that origin may talk to us: only our own pages, under a name that is surely ours.

    Not every Host that equals the Origin is ours: a foreign name that resolves to this machine (DNS rebinding) is
    equal, too. So it must be an IP address, localhost, *.local, or a configured name. Programs that are no browsers
    send no Origin.
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
    bare = bare[: bare.index("]") + 1] if bare.startswith("[") and "]" in bare else bare.rsplit(":", 1)[0]
    if bare == "localhost" or bare.endswith((".local", ".localhost")) or bare in (name.lower() for name in names):
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
    handler: Handler,
    admit: Callable[[ServerConnection], Response | None],
    left: Callable[[ServerConnection], None],
    drain: Callable[[], Awaitable[None]],
) -> AsyncIterator[Server]:
    """Serves both until the block ends; then nobody new is let in, `drain` sees to the connections, and what is left
    is closed with 1012. CannotListen if that cannot be.

    A handshake that could be one is shown to `admit`, which lets it in or says what to answer; `left` is called when
    any connection for a WebSocket is gone, whether it became one or not.
    """

    waiting: set[Door] = set()

    def check(connection: ServerConnection, request: Request) -> Response | None:
        return refusal(request.path, request.headers, settings.names) or admit(connection)

    def door(protocol: Any, server: Any, **options: Any) -> Door:
        make_websocket = partial(_Connection, left, protocol, server, **options)
        make_http = cast(Callable[[], asyncio.Protocol], runner.server)
        return Door(cast(Callable[[], asyncio.Protocol], make_websocket), make_http, settings.silence_s, waiting)

    try:
        server = await serve(
            handler, settings.host, settings.port,
            create_connection=cast(Any, door), process_request=check, compression=None,
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
        # From Python 3.12 on a server waits for all its connections, idle HTTP ones and half heads among them.
        for one in tuple(waiting):
            one.abort()
        await runner.cleanup()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S + 0.5):
                await server.wait_closed()
        # The closing handshake has a time limit, but not the sending of what a slow reader has not read before it.
        for connection in tuple(server.all_connections):
            connection.transport.abort()
        await server.wait_closed()


class _Connection(ServerConnection):
    """Says when it is gone."""

    def __init__(self, left: Callable[[ServerConnection], None], *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._left = left

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._left(self)


def refusal(path: str, headers: Headers, names: tuple[str, ...]) -> Response | None:
    """The HTTP answer to a handshake that may not become a WebSocket; None lets it in."""
    if path.partition("?")[0] != WS_PATH:
        return plain(HTTPStatus.NOT_FOUND, f"the WebSocket is at {WS_PATH}")
    origins, hosts = headers.get_all("Origin"), headers.get_all("Host")
    if len(origins) > 1 or len(hosts) > 1:
        return plain(HTTPStatus.BAD_REQUEST, "a request has one Host and at most one Origin")
    if not origin_allowed(origins[0] if origins else None, hosts[0] if hosts else None, names):
        return plain(
            HTTPStatus.FORBIDDEN, "this page may not connect here (Origin); set PLYROOM_NAMES to the server's host name"
        )
    return None


def plain(status: HTTPStatus, message: str, retry_s: int | None = None) -> Response:
    """An answer in plain text to a handshake; `retry_s` says when to try again."""
    body = f"{message}\n".encode()
    headers = Headers(
        {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    )
    if retry_s is not None:
        headers["Retry-After"] = str(retry_s)
    return Response(status.value, status.phrase, headers, body)
