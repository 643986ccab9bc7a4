"""HTTP connections that judge a request by its head, before a byte of its body costs anything.

aiohttp unpacks and parses bodies while it reads, before any handler or middleware. So what is not
served here is refused where the bytes arrive: compressed bodies, bodies of unknown length, and
those above the route's limit. From then on what the connection still sends is counted and thrown
away. All requests of a connection pass here, the kept-alive and the pipelined ones too.
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

from server.protocol.codes import Code
from server.web.headers import SECURITY_HEADERS

log = structlog.get_logger()

#: So much is parsed before heads are judged; a read from the network brings up to 64 times that.
PIECE_BYTES = 4096
HEAD_LIMIT_BYTES = 32 * 1024
#: How long a refused request's body is still read, so that the refusal arrives.
LINGER_S = 2.0
#: How much of it.
LINGER_BYTES = 2**20
LAST_CHUNK = b"0\r\n\r\n"

#: Most bytes of a body for a method and a path; 0: it takes none.
BodyLimit = Callable[[str, str], int]


class Refused(Exception):
    """A request that its head condemns: the status, the code, and what was expected."""

    def __init__(self, status: HTTPStatus, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code or f"http.{status}"


def check_head(message: RawRequestMessage, body_limit: BodyLimit) -> Refused | None:
    """Why a request is not read any further, by its head alone; None lets it in."""
    headers = message.headers
    if sum(len(name) + len(value) for name, value in message.raw_headers) > HEAD_LIMIT_BYTES:
        return Refused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"a head of at most {HEAD_LIMIT_BYTES} bytes is expected",
        )
    if "Content-Encoding" in headers:
        return Refused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a body without Content-Encoding is expected"
        )
    if "Transfer-Encoding" in headers:
        return Refused(HTTPStatus.LENGTH_REQUIRED, "a body with a Content-Length is expected")
    limit = body_limit(message.method, message.url.path)
    if int(headers.get("Content-Length", "0")) > limit:
        expected = f"a body of at most {limit} bytes" if limit else "a request without a body"
        return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{expected} is expected")
    if headers.get("Expect", "100-continue").lower() != "100-continue":
        return Refused(
            HTTPStatus.EXPECTATION_FAILED, "Expect: 100-continue or no Expect is expected"
        )
    if message.method == "CONNECT":
        return Refused(HTTPStatus.METHOD_NOT_ALLOWED, "this server is no proxy")
    if message.upgrade or headers.get("Upgrade", "").lower() == "websocket":
        # The connection was handed to HTTP by its first request and cannot be handed on any more;
        # and what follows such a request aiohttp would not read through us.
        return Refused(
            HTTPStatus.BAD_REQUEST, "open a new connection for the WebSocket", Code.UPGRADE_LATE
        )
    return None


def owed_bytes(message: RawRequestMessage, payload: StreamReader) -> int | None:
    """How much of a body is still to come; None if nobody knows."""
    if "Expect" in message.headers:
        return 0  # who waits for our leave does not send it now
    if "Transfer-Encoding" in message.headers:
        return None
    return int(message.headers.get("Content-Length", "0")) - payload.total_bytes


class HttpConnection(web.RequestHandler):
    """One HTTP connection. It parses a little at a time, and is deaf once it has refused a request."""

    __slots__ = (
        "_body_limit",
        "_dropped_bytes",
        "_last_look",
        "_left",
        "_owed_bytes",
        "_refused",
        "_seen",
        "_wire",
    )

    def __init__(
        self,
        server: web.Server,
        body_limit: BodyLimit,
        left: Callable[[], None],
        keepalive_s: float,
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=cast(
                logging.Logger, None
            ),  # nobody reads lines about requests, and each would cost
            auto_decompress=False,
            lingering_time=LINGER_S,
            keepalive_timeout=keepalive_s,
        )
        self._body_limit = body_limit
        self._left = left
        self._refused: StreamReader | None = None
        self._owed_bytes: int | None = None
        self._dropped_bytes = 0
        self._seen = b""
        self._wire: asyncio.Transport | None = None
        self._last_look = (0, 0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._wire = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._stop_lingering()
        self._left()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """Waits for the request that is being answered, and not for the rest of one that was
        refused.
        """
        self._stop_lingering()
        await super().shutdown(timeout)

    def data_received(self, data: bytes) -> None:
        """Parses what comes, up to the first request that is refused by its head."""
        start = 0
        while self._refused is None:
            known = len(self._messages)
            super().data_received(data[start : start + PIECE_BYTES])
            start += PIECE_BYTES
            self._judge(known)
            if start >= len(data):
                break
        if self._refused is not None:
            self._drop(data[start:])

    def _judge(self, known: int) -> None:
        """Puts a refusal in the place of the first new request that is refused; it is the last one
        to be answered.
        """
        for place in range(known, len(self._messages)):
            message, payload = self._messages[place]
            if isinstance(message, _ErrInfo):
                continue
            refused = check_head(message, self._body_limit)
            if refused is not None:
                self._messages[place] = (_ErrInfo(refused.status, refused, str(refused)), payload)
                self._refused = payload
                self._owed_bytes = owed_bytes(message, payload)
                return

    def _drop(self, data: bytes) -> None:
        """Throws away what belongs to a refused request. With the end of its body, or too much,
        lingering ends.
        """
        self._dropped_bytes += len(data)
        self._seen = (self._seen + data[-len(LAST_CHUNK) :])[-len(LAST_CHUNK) :]
        ended = (
            self._seen == LAST_CHUNK
            if self._owed_bytes is None
            else self._dropped_bytes >= self._owed_bytes
        )
        if ended or self._dropped_bytes > LINGER_BYTES:
            self._stop_lingering()

    def _stop_lingering(self) -> None:
        """Lets aiohttp believe that the refused body has ended."""
        if self._refused is not None and not self._refused.is_eof():
            self._refused.feed_eof()

    def abort_if_stuck(self) -> None:
        """Ends the connection if its client asked for nothing and took nothing since this was
        called before.
        """
        unsent_bytes = self._wire.get_write_buffer_size() if self._wire is not None else 0
        asked, before_bytes = self._last_look
        if (
            self._wire is not None
            and asked == self._request_count
            and 0 < before_bytes <= unsent_bytes
        ):
            self._wire.abort()
        self._last_look = (self._request_count, unsent_bytes)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The last answer of a connection: to what is refused by its head or is no HTTP, or after a
        mistake of ours.
        """
        if request.writer.output_size > 0:
            raise ConnectionError("part of an answer was sent already")
        code, text = f"http.{status}", "a whole HTTP/1.1 request with a smaller head is expected"
        if isinstance(exc, Refused):
            code, text = exc.code, str(exc)
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("request failed", path=request.path, exc_info=exc)
            code, text = Code.SERVER_FAULT, "the server made a mistake; it is in its log"
        body = msgspec.json.encode({"code": code, "message": text})
        # aiohttp names itself and Python where no name is given.
        named = {"Server": "Plyroom", "Connection": "close", "Cache-Control": "no-cache"}
        response = web.Response(
            body=body,
            status=status,
            content_type="application/json",
            headers=SECURITY_HEADERS | named,
        )
        response.force_close()
        return response


class HttpConnections:
    """Makes the connections of one port, and ends those that take nothing of what they asked for."""

    def __init__(self, runner: web.AppRunner, body_limit: BodyLimit, silence_s: float) -> None:
        self._runner = runner
        self._body_limit = body_limit
        self._silence_s = silence_s
        self._open: set[HttpConnection] = set()

    def __len__(self) -> int:
        return len(self._open)

    def make(self, left: Callable[[], None] = lambda: None) -> HttpConnection:
        """A connection for a new transport; it calls `left` when it has ended."""
        server = self._runner.server
        assert server is not None, "the runner is set up"

        def ended() -> None:
            self._open.discard(connection)
            left()

        connection = HttpConnection(server, self._body_limit, ended, self._silence_s)
        self._open.add(connection)
        return connection

    def sweep(self) -> None:
        """Aborts the connections that have taken nothing of what waits for them since the sweep
        before.
        """
        for connection in tuple(self._open):
            connection.abort_if_stuck()

    async def run(self) -> None:
        """Sweeps for ever: nobody else ends a connection whose client reads no more."""
        while True:
            await asyncio.sleep(self._silence_s)
            self.sweep()
