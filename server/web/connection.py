"""HTTP connections that check a request's head before they parse its body.

aiohttp decompresses and parses bodies while it reads, before any handler or middleware runs. So
HttpConnection refuses requests with a compressed body, a body of unknown length or one above the
route's limit as soon as their head arrives. It counts and discards the bytes after such a head. It
checks all requests of a connection, also when the client keeps it alive or pipelines requests.
"""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

import msgspec
import structlog
from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import _ErrInfo

from server.codes import Code
from server.web.headers import SECURITY_HEADERS

log = structlog.get_logger()

#: Bytes that aiohttp parses before the heads among them are checked. A network read returns up to
#: 64 times as many.
PIECE_BYTES = 4096
#: Longest head of a request, in bytes.
HEAD_LIMIT_BYTES = 32 * 1024
#: Time for which a refused request's body is still read, in seconds, so that the client sees the
#: refusal.
LINGER_S = 2.0
#: Longest body of a refused request that is still read, in bytes.
LINGER_BYTES = 2**20
#: The end of a chunked body without trailers.
LAST_CHUNK = b"0\r\n\r\n"

#: Returns the longest body for a method and a path, in bytes; 0 if the route accepts no body.
BodyLimit = Callable[[str, str], int]


class HeadRefused(Exception):
    """A request is refused because of its head; the message says what is expected."""

    def __init__(self, status: HTTPStatus, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code or f"http.{status}"


def check_head(message: RawRequestMessage, body_limit: BodyLimit) -> HeadRefused | None:
    """The refusal of a request with such a head; None if the request is admitted."""
    headers = message.headers
    if sum(len(name) + len(value) for name, value in message.raw_headers) > HEAD_LIMIT_BYTES:
        return HeadRefused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"a head of at most {HEAD_LIMIT_BYTES} bytes is expected",
        )
    if "Content-Encoding" in headers:
        return HeadRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a body without Content-Encoding is expected"
        )
    if "Transfer-Encoding" in headers:
        return HeadRefused(HTTPStatus.LENGTH_REQUIRED, "a body with a Content-Length is expected")
    limit = body_limit(message.method, message.url.path)
    if int(headers.get("Content-Length", "0")) > limit:
        expected = f"a body of at most {limit} bytes" if limit else "a request without a body"
        return HeadRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{expected} is expected")
    if headers.get("Expect", "100-continue").lower() != "100-continue":
        return HeadRefused(
            HTTPStatus.EXPECTATION_FAILED, "Expect: 100-continue or no Expect is expected"
        )
    if message.method == "CONNECT":
        return HeadRefused(HTTPStatus.METHOD_NOT_ALLOWED, "this server is not a proxy")
    if message.upgrade or headers.get("Upgrade", "").lower() == "websocket":
        # The first request decided that the connection is HTTP, so it cannot become a WebSocket.
        # After an upgrade, aiohttp would also read the input past this class.
        return HeadRefused(
            HTTPStatus.BAD_REQUEST, "open a new connection for the WebSocket", Code.UPGRADE_LATE
        )
    return None


def remaining_body_bytes(message: RawRequestMessage, payload: StreamReader) -> int | None:
    """The number of bytes of a body that the client has not sent yet; None if unknown."""
    if "Expect" in message.headers:
        return 0  # the client waits for 100 Continue and sends no body
    if "Transfer-Encoding" in message.headers:
        return None
    return int(message.headers.get("Content-Length", "0")) - payload.total_bytes


class HttpConnection(web.RequestHandler):
    """An HTTP connection that parses small pieces, and discards its input after a refusal."""

    __slots__ = (
        "_body_limit",
        "_discarded_bytes",
        "_last_bytes",
        "_on_close",
        "_previous_sweep",
        "_raw_transport",
        "_refused_body",
        "_remaining_bytes",
    )

    def __init__(
        self,
        server: web.Server,
        body_limit: BodyLimit,
        on_close: Callable[[], None],
        keepalive_s: float,
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=cast(logging.Logger, None),  # a line per request costs CPU
            auto_decompress=False,
            lingering_time=LINGER_S,
            keepalive_timeout=keepalive_s,
        )
        self._body_limit = body_limit
        self._on_close = on_close
        #: The body of the refused request, which the connection discards.
        self._refused_body: StreamReader | None = None
        self._remaining_bytes: int | None = None
        self._discarded_bytes = 0
        self._last_bytes = b""
        self._raw_transport: asyncio.Transport | None = None
        #: The numbers of requests, of unsent bytes, and of bytes of the answer that were sent, at
        #: the previous sweep.
        self._previous_sweep = (0, 0, 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._raw_transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._stop_lingering()
        self._on_close()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """Waits for the end of the current request, but not for a refused request's body."""
        self._stop_lingering()
        await super().shutdown(timeout)

    def data_received(self, data: bytes) -> None:
        """Parses incoming bytes up to the first refused request, and discards the rest."""
        start = 0
        while self._refused_body is None:
            parsed_count = len(self._messages)
            super().data_received(data[start : start + PIECE_BYTES])
            start += PIECE_BYTES
            self._refuse_first(parsed_count)
            if start >= len(data):
                break
        if self._refused_body is not None:
            self._discard(data[start:])

    def _refuse_first(self, parsed_count: int) -> None:
        """Replaces the first new request with a bad head by a refusal, the last response."""
        for index in range(parsed_count, len(self._messages)):
            message, payload = self._messages[index]
            if isinstance(message, _ErrInfo):
                continue
            refused = check_head(message, self._body_limit)
            if refused is not None:
                self._messages[index] = (_ErrInfo(refused.status, refused, str(refused)), payload)
                self._refused_body = payload
                self._remaining_bytes = remaining_body_bytes(message, payload)
                return

    def _discard(self, data: bytes) -> None:
        """Discards bytes of a refused request; stops lingering after its body or LINGER_BYTES."""
        self._discarded_bytes += len(data)
        self._last_bytes = (self._last_bytes + data[-len(LAST_CHUNK) :])[-len(LAST_CHUNK) :]
        is_complete = (
            self._last_bytes == LAST_CHUNK
            if self._remaining_bytes is None
            else self._discarded_bytes >= self._remaining_bytes
        )
        if is_complete or self._discarded_bytes > LINGER_BYTES:
            self._stop_lingering()

    def _stop_lingering(self) -> None:
        """Stops reading a refused body, by reporting its end to aiohttp."""
        if self._refused_body is not None and not self._refused_body.is_eof():
            self._refused_body.feed_eof()

    def abort_if_stuck(self) -> None:
        """Aborts the connection if unsent bytes wait, and its client has sent no request and read
        nothing since the previous call.
        """
        unsent_bytes = (
            self._raw_transport.get_write_buffer_size() if self._raw_transport is not None else 0
        )
        # A long answer, as of an export, refills the buffer as the client reads it.
        request = self._current_request
        read_bytes = 0 if request is None else request.writer.output_size - unsent_bytes
        request_count, before_bytes, before_read_bytes = self._previous_sweep
        if (
            self._raw_transport is not None
            and request_count == self._request_count
            and 0 < before_bytes <= unsent_bytes
            and read_bytes <= before_read_bytes
        ):
            self._raw_transport.abort()
        self._previous_sweep = (self._request_count, unsent_bytes, read_bytes)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The last response of a connection, after a bad head, malformed HTTP or a server error."""
        if request.writer.output_size > 0:
            raise ConnectionError("part of the response was sent already")
        code, text = f"http.{status}", "a whole HTTP/1.1 request with a smaller head is expected"
        if isinstance(exc, HeadRefused):
            code, text = exc.code, str(exc)
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request failed", path=request.path, exc_info=exc)
            code, text = Code.SERVER_FAULT, "the server failed on this request; its log says why"
        body = msgspec.json.encode({"code": code, "message": text})
        # aiohttp adds its own and Python's version unless Server is set.
        headers = {"Server": "Plyroom", "Connection": "close", "Cache-Control": "no-cache"}
        response = web.Response(
            body=body,
            status=status,
            content_type="application/json",
            headers=SECURITY_HEADERS | headers,
        )
        response.force_close()
        return response


class HttpConnections:
    """The HTTP connections of a port; aborts those whose clients do not read the responses."""

    def __init__(self, runner: web.AppRunner, body_limit: BodyLimit, silence_s: float) -> None:
        self._runner = runner
        self._body_limit = body_limit
        self._silence_s = silence_s
        self._open: set[HttpConnection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def make(self, on_close: Callable[[], None] = lambda: None) -> HttpConnection:
        """Makes the protocol of a new connection, which calls `on_close` when it closes."""
        server = self._runner.server
        assert server is not None, "the runner is set up"

        def on_connection_close() -> None:
            self._open.discard(connection)
            on_close()

        connection = HttpConnection(server, self._body_limit, on_connection_close, self._silence_s)
        self._open.add(connection)
        return connection

    def sweep(self) -> None:
        """Aborts the connections whose clients have read nothing since the previous sweep."""
        for connection in tuple(self._open):
            connection.abort_if_stuck()

    async def run(self) -> None:
        """Sweeps every `silence_s`: only this ends a connection whose client does not read."""
        while True:
            await asyncio.sleep(self._silence_s)
            self.sweep()
