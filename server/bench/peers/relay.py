"""The lower bound: a relay over the same WebSocket library and event loop, with the rules of
tic-tac-toe and no storage. It checks each move and sends it to both players.
"""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.json import Decoder, encode

from server.bench.peers.play import Pair, Spectator
from server.bench.players import connect

#: The lines of three cells.
LINES = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
)  # fmt: skip
#: The seat of a spectator.
NO_SEAT = -1


class Join(Struct, tag_field="t", tag="join"):
    """Enters a match and takes a seat; a new name makes a new match."""

    match: str
    seat: int


class Move(Struct, tag_field="t", tag="move"):
    """Plays a move."""

    ply: int
    cell: int


class Joined(Struct, tag_field="t", tag="joined"):
    """A player or spectator has entered."""

    match: str
    seat: int


class Moved(Struct, tag_field="t", tag="moved"):
    """A move was played; `moves` counts them."""

    match: str
    moves: int
    cell: int
    is_won: bool


class Match:
    """A match and the connections in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cells = [NO_SEAT] * 9
        self.moves = 0
        self.connections: set[object] = set()

    def play(self, seat: int, move: Move) -> Moved | None:
        """Plays a move; returns None if it is illegal."""
        is_legal = move.ply == self.moves and self.moves % 2 == seat and 0 <= move.cell < 9
        if not is_legal or self.cells[move.cell] != NO_SEAT:
            return None
        self.cells[move.cell] = seat
        self.moves += 1
        is_won = any(all(self.cells[cell] == seat for cell in line) for line in LINES)
        return Moved(self.name, self.moves, move.cell, is_won)


async def serve_relay(ready: Callable[[int], None]) -> None:
    """Serves the relay until it is cancelled; calls `ready` with its port."""
    from websockets.asyncio.server import ServerConnection, broadcast, serve
    from websockets.exceptions import ConnectionClosed

    decode = Decoder(Join | Move).decode
    matches: dict[str, Match] = {}

    def leave(match: Match | None, socket: ServerConnection) -> None:
        if match is not None:
            match.connections.discard(socket)
            if not match.connections:
                matches.pop(match.name, None)

    def send(match: Match, message: Joined | Moved) -> None:
        broadcast(match.connections, encode(message), text=True)  # type: ignore[arg-type]

    async def handler(socket: ServerConnection) -> None:
        match: Match | None = None
        seat = NO_SEAT
        try:
            async for frame in socket:
                message = decode(frame)
                if isinstance(message, Join):
                    leave(match, socket)
                    match = matches.setdefault(message.match, Match(message.match))
                    seat = message.seat
                    match.connections.add(socket)
                    joined = Joined(match.name, seat)
                    if seat == NO_SEAT:
                        await socket.send(encode(joined), text=True)
                    else:
                        send(match, joined)
                elif match is not None and (moved := match.play(seat, message)) is not None:
                    send(match, moved)
                else:
                    await socket.send('{"t":"error"}')
        except ConnectionClosed:
            pass
        finally:
            leave(match, socket)

    async with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        ready(next(iter(server.sockets)).getsockname()[1])
        await asyncio.get_running_loop().create_future()


def run_relay() -> None:
    """Runs the relay and prints its address."""
    import uvloop

    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve_relay(lambda port: print(f"http://127.0.0.1:{port}/", flush=True)))


def moves_in(text: bytes) -> int | None:
    """The number of moves in a `moved` message; None for any other message."""
    if not text.startswith(b'{"t":"moved"'):
        return None
    return int(text.partition(b'"moves":')[2].partition(b",")[0])


class RelayPair(Pair):
    """A pair on the relay: each match has a name of its own."""

    matches = 0

    @property
    def match(self) -> str:
        return f"m{self.number}-{self.matches}"

    async def open(self, port: int) -> None:
        self.players = (await connect(port), await connect(port))
        for number, player in enumerate(self.players):
            player.on_text = partial(self._on_text, number)
        self.start_next_match()

    def start_next_match(self) -> None:
        self.matches += 1
        self._join(0)

    def _join(self, player: int) -> None:
        self.players[player].send(encode(Join(self.match, player)))

    def send_move(self, player: int, ply: int, cell: int) -> None:
        self.players[player].send(b'{"t":"move","ply":%d,"cell":%d}' % (ply, cell))

    def _on_text(self, player: int, text: bytes) -> None:
        moves = moves_in(text)
        if moves is not None:
            self.on_board(player, moves)
        elif text.startswith(b'{"t":"error"'):
            raise RuntimeError("the relay refused a move")
        elif player == 0 and text.endswith(b'"seat":0}'):
            self._join(1)
        elif player == 1 and text.endswith(b'"seat":1}'):
            self.on_started()


class RelaySpectator(Spectator):
    """A spectator on the relay."""

    async def open(self, port: int) -> None:
        self.player = await connect(port)

    async def follow(self, pair: Pair) -> None:
        assert isinstance(pair, RelayPair)
        joined = asyncio.get_running_loop().create_future()

        def on_text(text: bytes) -> None:
            moves = moves_in(text)
            if moves is not None:
                self.on_board(moves)
            elif not joined.done():
                joined.set_result(None)

        self.player.on_text = on_text
        self.player.send(encode(Join(pair.match, NO_SEAT)))
        await joined


if __name__ == "__main__":
    run_relay()
