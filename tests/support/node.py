"""A whole node in this process, with real sockets and the store, bus and engines of a test."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http.cookies import SimpleCookie
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.app import RunningServer, open_node
from server.identity.credentials import cookie_name
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.web.client_files import client_folder
from tests.support.fake_server import FakeServer, Message

#: The time limit of a wait for a message, in seconds; only a test that hangs reaches it.
WAIT_S = 60.0


class Socket:
    """A client's WebSocket.

    `expect` reads messages in their order; `messages` holds all that were read.
    """

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.messages: list[Message] = []
        self.identity = ""
        self.token: str | None = None
        self._ids = 0

    async def send(self, message: wire.ClientFrame | Message | str | bytes) -> None:
        if isinstance(message, wire.ClientFrame):
            message = format_message(message).decode()
        elif isinstance(message, dict):
            message = json.dumps(message)
        await self.connection.send(message)

    async def receive(self) -> Message:
        """Returns the next message."""
        async with asyncio.timeout(WAIT_S):
            message: Message = json.loads(await self.connection.recv())
        self.messages.append(message)
        return message

    async def expect(self, t: str, **fields: Any) -> Message:
        """Returns the next message of this type with these fields."""
        while True:
            message = await self.receive()
            if message["t"] == t and all(
                message.get(name) == value for name, value in fields.items()
            ):
                return message

    async def hello(self, token: str | None = None, name: str | None = None) -> Message:
        """Sends hello and returns the welcome."""
        await self.send(wire.Hello(protocol=wire.PROTOCOL, token=token, name=name))
        welcome = await self.expect("welcome")
        self.identity, self.token = welcome["identity"], welcome.get("token")
        return welcome

    async def ask(self, t: str, **fields: Any) -> Message:
        """Sends a command and returns its answer."""
        self._ids += 1
        key = fields.pop("id", f"c{self._ids}")
        await self.send({"t": t, "id": key, **fields})
        while True:
            message = await self.receive()
            if message["t"] in ("ack", "error") and message["id"] == key:
                return message

    async def ack(self, t: str, **fields: Any) -> Message:
        """Sends a command that must be acknowledged; returns the ack."""
        answer = await self.ask(t, **fields)
        assert answer["t"] == "ack", answer
        return answer

    async def expect_refusal(self, t: str, **fields: Any) -> str:
        """Sends a command that must be refused; returns the code."""
        answer = await self.ask(t, **fields)
        assert answer["t"] == "error", answer
        return str(answer["code"])

    async def wait_closed(self) -> tuple[int, str]:
        """Waits until the server closes the connection; returns the code and the reason."""
        async with asyncio.timeout(WAIT_S):
            with contextlib.suppress(ConnectionClosed):
                while True:
                    self.messages.append(json.loads(await self.connection.recv()))
        assert self.connection.close_code is not None
        return self.connection.close_code, self.connection.close_reason or ""


@dataclass
class Response:
    """An HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes
    cookies: "SimpleCookie"

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Http:
    """One HTTP connection without a client library."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> None:
        self.reader = reader
        self.writer = writer
        self._host = host

    async def request(
        self,
        target: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Response:
        """Sends a request and returns its response."""
        sent = {"Host": self._host, **(headers or {})}
        if body:
            sent["Content-Length"] = str(len(body))
        lines = [
            f"{method} {target} HTTP/1.1",
            *(f"{name}: {value}" for name, value in sent.items()),
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return await self.response()

    async def response(self) -> Response:
        """Reads the next response."""
        async with asyncio.timeout(WAIT_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers: dict[str, str] = {}
            cookies: SimpleCookie = SimpleCookie()
            for line in lines:
                name, _, value = line.partition(": ")
                headers[name.lower()] = value
                if name.lower() == "set-cookie":
                    cookies.load(value)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Response(int(first.split()[1]), headers, body, cookies)

    async def read_to_end(self) -> bytes:
        """Returns all bytes that arrive until the server closes the connection."""
        async with asyncio.timeout(WAIT_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


class Node:
    """A running node, and clients for it."""

    def __init__(self, fake: FakeServer, running: RunningServer) -> None:
        self.fake = fake
        self.running = running
        self.hub = running.hub
        self.host = f"127.0.0.1:{running.port}"
        #: The name of the guest's cookie.
        self.cookie = cookie_name(fake.store.installation)

    @asynccontextmanager
    async def socket(
        self, headers: dict[str, str] | None = None, **options: Any
    ) -> AsyncIterator[Socket]:
        """Opens a WebSocket that has not sent hello yet."""
        async with connect(
            f"ws://{self.host}/ws",
            additional_headers=headers,
            compression=None,
            ping_interval=None,
            close_timeout=1,
            proxy=None,
            **options,
        ) as connection:
            yield Socket(connection)

    @asynccontextmanager
    async def guest(
        self, token: str | None = None, name: str | None = None
    ) -> AsyncIterator[Socket]:
        """Opens a WebSocket and exchanges hello and welcome."""
        async with self.socket() as socket:
            await socket.hello(token, name)
            yield socket

    @asynccontextmanager
    async def http(self, host: str | None = None) -> AsyncIterator[Http]:
        """Opens an HTTP connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.running.port)
        try:
            yield Http(reader, writer, host or self.host)
        finally:
            writer.close()

    async def get(self, target: str, **headers: str) -> Response:
        """Sends one GET on its own connection."""
        async with self.http() as http:
            return await http.request(target, headers=headers)


@asynccontextmanager
async def serve(
    fake: FakeServer | None = None, node: str = "n1", **settings: Any
) -> AsyncIterator[Node]:
    """Runs a node on the store, bus and engines of a `FakeServer`, with the test's settings."""
    fake = fake or FakeServer()
    fake.settings = replace(fake.settings, host="127.0.0.1", port=0, **settings)
    async with open_node(fake.ports(node), client_folder()) as running:
        yield Node(fake, running)
