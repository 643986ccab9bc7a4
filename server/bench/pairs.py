"""Pairs that play tic-tac-toe as fast as the server answers, or at a fixed rate."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from server.bench.players import Player, RequestClient, connect
from server.bench.processes import cpu_seconds, cpu_seconds_with_children

#: The moves of a drawn tic-tac-toe match.
DRAWN_GAME = ("a1", "b1", "c1", "b2", "a2", "c2", "b3", "a3", "c3")

#: Number of pairs that connect concurrently.
CONNECT_BATCH = 25


@dataclass(frozen=True)
class Load:
    """The result of a measured load: moves, wall time, CPU seconds of server and database, and
    latencies in ms.
    """

    moves: int
    seconds: float
    cpu_s: float
    latencies_ms: list[float]
    database_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Moves a second."""
        return self.moves / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU time of the server for a move, in us."""
        return self.cpu_s / max(1, self.moves) * 1e6

    def percentile(self, share: float) -> float:
        """The latency that a share of the moves does not exceed, in ms."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Pair:
    """Two players in one room who repeat the same match. A player sends the next move once the
    previous one is acknowledged and has reached the opponent.
    """

    def __init__(self, room: str, players: tuple[Player, Player], meter: "Meter") -> None:
        self.room = room
        self.players = players
        self._meter = meter
        self._ply = 0
        self._first_mover = 0
        self._sent_s = 0.0
        self._commands = 0
        self._acked = self._delivered = False
        players[0].on_text = lambda text: self._on_text(0, text)
        players[1].on_text = lambda text: self._on_text(1, text)

    def _send(self, player: int, text: str) -> None:
        self._commands += 1
        self.players[player].send(
            f'{{"id":"{self._commands}","room":"{self.room}",{text}}}'.encode()
        )

    def move(self) -> None:
        """Sends the next move of the side to move."""
        self._acked = self._delivered = False
        self._sent_s = time.perf_counter()
        self._send(
            (self._ply + self._first_mover) & 1,
            f'"t":"move","ply":{self._ply},"move":"{DRAWN_GAME[self._ply]}"',
        )

    def _on_text(self, player: int, text: bytes) -> None:
        mover = (self._ply + self._first_mover) & 1
        if text.startswith(b'{"t":"ack"'):
            if player == mover and self._ply < len(DRAWN_GAME):
                self._meter.latencies_ms.append((time.perf_counter() - self._sent_s) * 1000)
                self._acked = True
                self._advance()
        elif text.startswith(b'{"t":"event"'):
            if player != mover and b'"kind":"moved"' in text and b'"ply":%d,' % self._ply in text:
                self._delivered = True
                self._advance()
            elif b'"kind":"offered"' in text and player == 1:
                self._send(1, '"t":"rematch"')
            elif b'"kind":"started"' in text and player == 1:
                self._ply, self._first_mover = 0, 1 - self._first_mover
                self._meter.schedule(self.move)
        elif text.startswith(b'{"t":"error"'):
            raise RuntimeError(f"the server refused: {text.decode()}")

    def _advance(self) -> None:
        if not (self._acked and self._delivered):
            return
        self._acked = self._delivered = False
        self._ply += 1
        self._meter.moves += 1
        if self._ply < len(DRAWN_GAME):
            self._meter.schedule(self.move)
        else:
            self._send(0, '"t":"rematch"')


class Meter:
    """Counts moves and schedules the next one of each pair: at once, or at a fixed rate over all
    pairs.
    """

    def __init__(self, per_s: float | None) -> None:
        self.moves = 0
        self.latencies_ms: list[float] = []
        self._per_s = per_s
        self._next_s = 0.0
        self._is_open = True

    def schedule(self, move: Callable[[], None]) -> None:
        if not self._is_open:
            return
        if self._per_s is None:
            move()
            return
        loop = asyncio.get_running_loop()
        self._next_s = max(self._next_s + 1 / self._per_s, loop.time())
        loop.call_at(self._next_s, move)

    def close(self) -> None:
        self._is_open = False


async def make_pair(port: int, meter: Meter, number: int) -> Pair:
    """Makes two guests and a room in which they start a match."""
    clients = [RequestClient(await connect(port)) for _ in range(2)]
    for n, client in enumerate(clients):
        await client.request("welcome", t="hello", protocol=1, name=f"p{number}-{n}")
    seats = [{"who": "me"}, {"who": "open"}]
    room = (
        await clients[0].request("ack", t="create", id="create", game="tic-tac-toe", seats=seats)
    )["room"]
    for client in clients:
        await client.request("joined", t="join", id="join", room=room)
    await clients[1].request("ack", t="sit", id="sit", room=room, seat=1)
    return Pair(room, (clients[0].player, clients[1].player), meter)


async def make_relay_pair(port: int, meter: Meter, number: int) -> Pair:
    """Makes two connections that exchange messages through the relay."""
    players = (await connect(port), await connect(port))
    for player in players:
        player.send(f'{{"join":"r{number}"}}'.encode())
    return Pair(f"r{number}", players, meter)


MakePair = Callable[[int, Meter, int], Awaitable[Pair]]


async def play(
    port: int,
    pid: int,
    make: MakePair,
    count: int,
    seconds: float,
    per_s: float | None,
    database: int | None = None,
) -> Load:
    """Lets `count` pairs play for `seconds` after a short warm-up, and measures them.

    `database` is the id of a process whose CPU time, with its children's, is measured too.
    """
    meter = Meter(per_s)
    pairs: list[Pair] = []
    for start in range(0, count, CONNECT_BATCH):
        pairs += await asyncio.gather(
            *(make(port, meter, n) for n in range(start, min(count, start + CONNECT_BATCH)))
        )
    await asyncio.sleep(0.3)
    for pair in pairs:
        meter.schedule(pair.move)
    await asyncio.sleep(seconds / 4)
    meter.latencies_ms.clear()
    database_s = cpu_seconds_with_children(database)
    moves, cpu_s, start_s = meter.moves, cpu_seconds(pid), time.perf_counter()
    await asyncio.sleep(seconds)
    load = Load(
        meter.moves - moves, time.perf_counter() - start_s, cpu_seconds(pid) - cpu_s,
        list(meter.latencies_ms), cpu_seconds_with_children(database) - database_s,
    )  # fmt: skip
    meter.close()
    for pair in pairs:
        for player in pair.players:
            player.transport.abort()
    return load
