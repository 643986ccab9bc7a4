"""The interface of a WebSocket that the connection uses, and its implementation.

The interface is small, so that tests can put a scripted socket in its place.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket_connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    WebSocketException,
)

from client.address import parse_address
from client.errors import Unreachable

#: The largest frame that the client accepts from the server, in bytes.
MAX_SERVER_FRAME_BYTES = 4 * 2**20
#: Time limit of the opening handshake, in seconds.
OPEN_TIMEOUT_S = 5
#: Time limit of the closing handshake, in seconds.
CLOSE_TIMEOUT_S = 1


class SocketClosed(Exception):
    """The socket is closed; `code` is the close code (1006: without a close frame)."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(f"closed with {code} {reason}".strip())
        self.code = code
        self.reason = reason


class Socket(Protocol):
    """Sends and receives frames; both methods raise SocketClosed once the socket is closed."""

    async def send(self, frame: str) -> None:
        """Sends a text frame; waits while the send buffer is full."""

    async def receive(self) -> bytes:
        """Returns the next frame."""


#: A function that opens a socket to a URL and closes it at the end; raises Unreachable.
Dial = Callable[[str], AbstractAsyncContextManager[Socket]]


class _WebSocket:
    """A `Socket` over the websockets library."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frame: str) -> None:
        try:
            await self._connection.send(frame)
        except ConnectionClosed as closed:
            raise _socket_closed(closed) from closed

    async def receive(self) -> bytes:
        try:
            return await self._connection.recv(decode=False)
        except ConnectionClosed as closed:
            raise _socket_closed(closed) from closed


def _socket_closed(closed: ConnectionClosed) -> SocketClosed:
    return SocketClosed(closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else SocketClosed(1006)


@asynccontextmanager
async def dial(url: str) -> AsyncIterator[Socket]:
    """Opens a WebSocket to ws://… or wss://…; raises Unreachable when that fails.

    The library's pings are off, because `client.connection` sends pings of its own.
    """
    shown = url.partition("?")[0]
    connecting = websocket_connect(
        url,
        proxy=None if parse_address(url).is_local else True,
        compression=None,
        open_timeout=OPEN_TIMEOUT_S,
        close_timeout=CLOSE_TIMEOUT_S,
        ping_interval=None,
        max_size=MAX_SERVER_FRAME_BYTES,
    )
    try:
        connection = await connecting
    except InvalidStatus as error:
        retry_s = error.response.headers.get("Retry-After", "a few")
        raise Unreachable(_refusal_text(shown, error.response.status_code, retry_s)) from error
    except (InvalidHandshake, EOFError) as error:
        raise Unreachable(f"the server at {shown} is not a Plyroom server: {error}") from error
    except TimeoutError as error:
        raise Unreachable(f"{shown} did not answer within {OPEN_TIMEOUT_S} s") from error
    except (OSError, WebSocketException) as error:
        raise Unreachable.at(shown, error) from error
    async with connection:
        yield _WebSocket(connection)


def _refusal_text(url: str, status: int, retry_s: str) -> str:
    if status == 429:
        return (
            f"the server at {url} accepts no more connections from your address; "
            f"try again in {retry_s} s"
        )
    if status == 503:
        return f"the server at {url} is starting, stopping or full; try again"
    return f"the server at {url} is not a Plyroom server, or refuses the connection (HTTP {status})"
