"""Low-level WebSockets, for clients that send invalid frames or do not read."""

import asyncio
import os
import secrets
import socket
import struct
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from server.protocol.codec import format_message
from server.protocol.messages import PROTOCOL, ClientFrame, Hello

#: Opcodes (RFC 6455, section 5.2).
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
#: Close codes that no frame carries (RFC 6455, section 7.4.1).
CLOSE_WITHOUT_CODE, NO_CLOSE_FRAME = 1005, 1006


def frame(
    payload: bytes,
    opcode: int = TEXT,
    *,
    fin: bool = True,
    rsv: int = 0,
    mask: bool = True,
    length: int | None = None,
) -> bytes:
    """Returns a client's frame (RFC 6455, section 5.2), valid by default.

    `length` is written into its head instead of the length of the payload.
    """
    size = len(payload) if length is None else length
    head = bytes([fin << 7 | rsv << 4 | opcode])
    if size < 126:
        head += bytes([mask << 7 | size])
    elif size < 65536:
        head += struct.pack("!BH", mask << 7 | 126, size)
    else:
        head += struct.pack("!BQ", mask << 7 | 127, size)
    if not mask:
        return head + payload
    key = os.urandom(4)
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(
        (key * (len(payload) // 4 + 1))[: len(payload)], "big"
    )
    return head + key + masked.to_bytes(len(payload), "big")


def handshake(host: str, *headers: str, path: str = "/ws") -> bytes:
    """Returns a client's opening handshake; `headers` are added to the required ones."""
    key = b64encode(secrets.token_bytes(16)).decode()
    lines = [
        f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *headers,
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


class RawSocket:
    """A TCP connection, with or without a WebSocket on it. It reads only on request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def upgrade(self, *headers: str, name: str | None = None) -> str:
        """Sends the opening handshake, to the host `name` if given; returns the status line."""
        host, port = self.writer.get_extra_info("peername")[:2]
        self.writer.write(handshake(f"{name or host}:{port}", *headers))
        answer = await self.reader.readuntil(b"\r\n\r\n")
        return answer.split(b"\r\n")[0].decode()

    async def hello(self, token: str | None = None) -> dict[str, Any]:
        """Does the handshake and sends hello; returns the welcome."""
        assert " 101 " in await self.upgrade()
        self.send_message(Hello(protocol=PROTOCOL, token=token))
        return await self.message()

    def send_message(self, message: ClientFrame) -> None:
        self.writer.write(frame(format_message(message)))

    async def message(self) -> dict[str, Any]:
        """Returns the object in the next text frame."""
        while True:
            opcode, payload = await self.frame()
            if opcode == TEXT:
                message = msgspec.json.decode(payload)
                assert isinstance(message, dict)
                return message
            assert opcode != CLOSE, payload

    async def frame(self) -> tuple[int, bytes]:
        """Returns the opcode and the payload of the server's next frame.

        Raises IncompleteReadError or ConnectionError at the end of the connection.
        """
        head = await self.reader.readexactly(2)
        size = head[1] & 127
        if size == 126:
            size = int.from_bytes(await self.reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await self.reader.readexactly(8), "big")
        return head[0] & 15, await self.reader.readexactly(size)

    async def wait_closed(self) -> int:
        """Reads to the end of the connection; returns the close code or NO_CLOSE_FRAME."""
        code = NO_CLOSE_FRAME
        try:
            while True:
                opcode, payload = await self.frame()
                if opcode == CLOSE:
                    code = int.from_bytes(payload[:2], "big") if payload else CLOSE_WITHOUT_CODE
        except (asyncio.IncompleteReadError, ConnectionError):
            return code

    def abort(self) -> None:
        """Drops the connection without a close frame."""
        self.writer.transport.abort()


@asynccontextmanager
async def raw_socket(
    port: int, host: str = "127.0.0.1", receive_buffer: int | None = None
) -> AsyncIterator[RawSocket]:
    """Opens a connection, which is aborted at the end.

    A small `receive_buffer`, in bytes, limits the unread data that the connection can hold.
    """
    loop = asyncio.get_running_loop()
    raw = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    raw.setblocking(False)
    if receive_buffer is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    await loop.sock_connect(raw, (host, port))
    reader, writer = await asyncio.open_connection(
        sock=raw, limit=4096 if receive_buffer else 2**22
    )
    try:
        yield RawSocket(reader, writer)
    finally:
        writer.transport.abort()
