"""A WebSocket client of a few lines, which leaves most of the machine to the server."""

import asyncio
import base64
import json
import os
from collections.abc import Callable
from typing import Any, cast


class Player(asyncio.Protocol):
    """A minimal WebSocket client: sends text frames with a zero mask and calls `on_text` for each
    text frame received.
    """

    def __init__(self, path: str = "/ws") -> None:
        self._path = path
        self.on_text: Callable[[bytes], None] = lambda text: None
        self.upgraded = asyncio.get_running_loop().create_future()
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        key = base64.b64encode(os.urandom(16)).decode()
        self.transport.write(
            f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if not self.upgraded.done():
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not buffer.startswith(b"HTTP/1.1 101"):
                self.upgraded.set_exception(ConnectionError(bytes(buffer[:end]).decode("latin-1")))
                return
            del buffer[: end + 4]
            self.upgraded.set_result(None)
        start = 0
        while True:
            if len(buffer) - start < 2:
                break
            length = buffer[start + 1]
            head = start + 2
            if length == 126:
                length = (
                    int.from_bytes(buffer[head : head + 2], "big")
                    if len(buffer) >= head + 2
                    else 1 << 30
                )
                head += 2
            if len(buffer) < head + length:
                break
            if buffer[start] == 0x81:
                self.on_text(bytes(buffer[head : head + length]))
            start = head + length
        del buffer[:start]

    def send(self, text: bytes) -> None:
        length = len(text)
        size = bytes((0x80 | length,)) if length < 126 else b"\xfe" + length.to_bytes(2, "big")
        if not self.transport.is_closing():
            self.transport.write(b"\x81" + size + b"\0\0\0\0" + text)


async def connect(port: int, path: str = "/ws") -> Player:
    """Connects a player and completes the handshake."""
    _, player = await asyncio.get_running_loop().create_connection(
        lambda: Player(path), "127.0.0.1", port
    )
    await player.upgraded
    return player


class RequestClient:
    """A player that waits for each reply; used only to set up rooms."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._texts: asyncio.Queue[bytes] = asyncio.Queue()
        player.on_text = self._texts.put_nowait

    async def request(self, until: str, **message: Any) -> dict[str, Any]:
        """Sends a message; returns the next reply of type `until`.

        Raises RuntimeError if the server refuses the message.
        """
        self.player.send(json.dumps(message).encode())
        while True:
            answer = await self.receive(30)
            if answer["t"] == "error":
                raise RuntimeError(f"{message} was refused: {answer}")
            if answer["t"] == until:
                return answer

    async def receive(self, within_s: float) -> dict[str, Any]:
        """Returns the next message; raises TimeoutError after `within_s`."""
        return cast(dict[str, Any], json.loads(await asyncio.wait_for(self._texts.get(), within_s)))
