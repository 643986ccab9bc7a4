"""A bare relay between two sockets: the lower bound for the cost of a move."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from server.bench.pairs import Meter, Pair
from server.bench.players import connect


async def relay(ready: Callable[[int], None]) -> None:
    """Serves a relay that forwards and acknowledges each message of a pair, and does no more."""
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.exceptions import ConnectionClosed

    encode, decode = msgspec.json.encode, msgspec.json.decode
    pairs: dict[str, list[ServerConnection]] = {}

    async def forward(
        message: dict[str, Any], socket: ServerConnection, pair: list[ServerConnection]
    ) -> None:
        if message["t"] == "move":
            await socket.send(encode({"t": "ack", "id": message["id"], "v": 1}), text=True)
            event = {"t": "event", "kind": "moved", "ply": message["ply"], "move": message["move"]}
        else:
            event = {"t": "event", "kind": "offered" if socket is pair[0] else "started"}
        frame = encode(event)
        for connection in pair:
            await connection.send(frame, text=True)

    async def handler(socket: ServerConnection) -> None:
        pair = pairs.setdefault(decode(await socket.recv())["join"], [])
        pair.append(socket)
        with contextlib.suppress(ConnectionClosed):
            while True:
                await forward(decode(await socket.recv()), socket, pair)

    async with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        ready(next(iter(server.sockets)).getsockname()[1])
        await asyncio.get_running_loop().create_future()


async def make_relay_pair(port: int, meter: Meter, number: int) -> Pair:
    """Makes two connections that exchange messages through the relay."""
    players = (await connect(port), await connect(port))
    for player in players:
        player.send(f'{{"join":"r{number}"}}'.encode())
    return Pair(f"r{number}", players, meter)
