"""A server that follows a script, one coroutine per connection.

It runs in memory (on virtual time) or behind a real WebSocket. A script reads like a transcript:
`await link.hello()`, `await link.expect("move")`, `await link.send(...)`, `raise Close(1012)`. When
it returns, the connection is cut without a close frame.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection, serve

from client.connection import Connection, connect
from client.errors import Unreachable
from client.messages import LoggedEvent, RoomMessage
from client.transport import Dial, Socket, SocketClosed
from server.commands import Chat
from server.protocol.messages import CommandFrame

Message = dict[str, Any]


class Link:
    """One connection, seen from the server."""

    def __init__(
        self, receive: Callable[[], Awaitable[str]], send: Callable[[str], Awaitable[None]]
    ) -> None:
        self._receive = receive
        self._send = send
        self.seen: list[Message] = []
        #: The server's time, in ms since 1970.
        self.now_ms: Callable[[], int] = int

    async def receive(self) -> Message:
        """Returns the next message that is not a ping."""
        while True:
            message: Message = json.loads(await self._receive())
            if message["t"] != "ping":
                self.seen.append(message)
                return message
            await self.send({"t": "pong", "at": self.now_ms()})

    async def expect(self, t: str) -> Message:
        """Returns the next message, which must be of this type."""
        message = await self.receive()
        assert message["t"] == t, f"expected {t}, got {message}"
        return message

    async def send(self, message: Message | str) -> None:
        await self._send(message if isinstance(message, str) else json.dumps(message))

    async def hello(
        self, epoch: str = "e1", token: str | None = "secret", **fields: object
    ) -> Message:
        """Receives hello and answers with a welcome that has these fields too."""
        hello = await self.expect("hello")
        await self.send(welcome(epoch, token) | {"at": self.now_ms()} | fields)
        return hello

    async def ack(self, command: Message, v: int | None = None) -> None:
        await self.send({"t": "ack", "id": command["id"], "v": v})

    async def refuse(self, command: Message, code: str) -> None:
        await self.send({"t": "error", "id": command["id"], "code": code, "message": f"no: {code}"})

    async def joined(self, v: int = 0, epoch: str = "e1", snapshot: bool = True) -> Message:
        """Receives join and answers with joined and, unless switched off, a snapshot."""
        join = await self.expect("join")
        await self.ack(join)
        await self.send(joined(join["room"], v, epoch))
        if snapshot:
            await self.send(snapshot_at(join["room"], v))
        return join

    async def idle(self, seconds: float | None = None) -> None:
        """Answers pings until the client disconnects, or for `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    await self.receive()


def welcome(epoch: str = "e1", token: str | None = "secret") -> Message:
    return {
        "t": "welcome",
        "protocol": 1,
        "identity": "i1",
        "name": "Ada",
        "epoch": epoch,
        "at": 0,
        **({"token": token} if token else {}),
    }


def joined(room: str, v: int, epoch: str = "e1") -> Message:
    view = {"board": {"kind": "grid", "cols": 3, "rows": 3}, "kinds": {}, "seats": []}
    description = {
        "game": "tic-tac-toe",
        "title": "Tic-tac-toe",
        "options": {},
        "visibility": "public",
        "host": "i1",
        "created_ms": 0,
        "levels": 4,
        "view": view,
    }
    return {"t": "joined", "room": room, "v": v, "epoch": epoch, "description": description}


def snapshot_at(room: str, v: int) -> Message:
    return {"t": "snapshot", "room": room, "v": v, "seats": [None, None], "match": None}


def said(room: str, v: int) -> Message:
    """Returns a chat event, recognisable by its v."""
    who = {"identity": "i2", "name": "Bob"}
    return {
        "t": "event",
        "room": room,
        "v": v,
        "at": v * 1000,
        "kind": "said",
        "text": f"line {v}",
        **who,
    }


Script = Callable[[Link], Awaitable[None]]


class Close(Exception):
    """Raised in a script: the server closes with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Backend(Protocol):
    """Runs the n-th script on the n-th connection, and refuses further connections."""

    def __call__(self, *scripts: Script, **settings: Any) -> Any: ...


class MemorySocket:
    """The client's end of an in-memory connection."""

    def __init__(self) -> None:
        self.to_client: asyncio.Queue[str | SocketClosed] = asyncio.Queue()
        self.to_server: asyncio.Queue[str] = asyncio.Queue()
        self._socket_closed: SocketClosed | None = None

    async def send(self, frame: str) -> None:
        if self._socket_closed:
            raise self._socket_closed
        self.to_server.put_nowait(frame)

    async def receive(self) -> bytes:
        item = self._socket_closed or await self.to_client.get()
        if isinstance(item, SocketClosed):
            self._socket_closed = item
            raise item
        return item.encode()


def memory_dial(scripts: list[Script]) -> Dial:
    """Returns a dial whose n-th connection runs the n-th script."""
    remaining = iter(scripts)

    @asynccontextmanager
    async def dial(url: str) -> AsyncIterator[Socket]:
        script = next(remaining, None)
        if script is None:
            raise Unreachable("no script is left")
        socket = MemorySocket()

        async def send(frame: str) -> None:
            socket.to_client.put_nowait(frame)

        async def play() -> None:
            code = 1006
            try:
                await script(Link(socket.to_server.get, send))
            except Close as close:
                code = close.code
            finally:
                socket.to_client.put_nowait(SocketClosed(code))

        playing = asyncio.create_task(play())
        try:
            yield socket
        finally:
            playing.cancel()
            await asyncio.wait([playing])
            if not playing.cancelled():
                playing.result()

    return dial


@asynccontextmanager
async def memory(*scripts: Script, **settings: Any) -> AsyncIterator[Connection]:
    """Yields a connection to scripts in memory."""
    defaults: dict[str, Any] = {"dial": memory_dial(list(scripts)), "jitter": lambda: 1.0}
    async with connect("http://script", **(defaults | settings)) as c:
        yield c


@asynccontextmanager
async def websocket(*scripts: Script, **settings: Any) -> AsyncIterator[Connection]:
    """Yields a connection to scripts behind a real WebSocket on this machine."""
    remaining = iter(scripts)
    failures: list[BaseException] = []

    async def handle(socket: ServerConnection) -> None:
        script = next(remaining, None)
        code = 1006
        try:
            if script is not None:
                await script(Link(lambda: socket.recv(decode=True), socket.send))
        except Close as close:
            code = close.code
        except AssertionError as error:
            failures.append(error)
        if code == 1006:
            socket.transport.abort()
        else:
            await socket.close(code)

    async with serve(handle, "127.0.0.1", 0, compression=None, close_timeout=1) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        defaults: dict[str, Any] = {"jitter": lambda: 0.0}
        async with connect(f"http://127.0.0.1:{port}", **(defaults | settings)) as c:
            yield c
    if failures:
        raise failures[0]


def chat(c: Connection, text: str = "hi") -> CommandFrame:
    return CommandFrame("r", Chat(id=c.new_id(), text=text))


def summarize(messages: list[RoomMessage]) -> list[object]:
    """Returns the v of each event, and the name of the type of each other message."""
    return [m.v if isinstance(m, LoggedEvent) else type(m).__name__ for m in messages]


async def take(messages: AsyncIterator[RoomMessage], count: int) -> list[RoomMessage]:
    return [await anext(messages) for _ in range(count)]


async def greet(link: Link) -> None:
    """A script that greets the client and then only answers pings."""
    await link.hello()
    await link.idle()


async def silent(link: Link) -> None:
    """A script that never sends anything."""
    await asyncio.Event().wait()
