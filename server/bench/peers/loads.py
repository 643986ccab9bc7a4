"""The loads on a peer: what its moves, matches, spectators and idle connections cost."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from server.bench.figures import percentile
from server.bench.peers.play import DRAWN_CELLS, Pace, Pair, Peer, Spectator
from server.bench.processes import Process, cpu_seconds, resident_bytes

#: Number of pairs, spectators or idle clients that connect concurrently.
CONNECT_BATCH = 20
#: Length of the warm-up before a measurement, in seconds.
WARM_S = 1.0
#: Time for a server to finish its pending work, in seconds.
SETTLE_S = 1.0
#: Mean pause before each move that spectators watch, in seconds: 5 moves a second.
WATCHED_PAUSE_S = 0.2
#: Matches that the spectators watch.
WATCHED_MATCHES = 3
#: Pairs that play before the memory of matches is measured.
WARM_PAIRS = 20

#: The numbers of the pairs. Matches are named after them, so no number is used twice: a peer may
#: still have the matches of earlier pairs.
PAIR_NUMBERS = itertools.count()

#: The figures of a load by their names; the unit is the last word of a name.
Figures = dict[str, float]
#: A load on a peer's server.
Load = Callable[[Peer, Process], Awaitable[Figures]]


@asynccontextmanager
async def opened_pairs(
    peer: Peer, process: Process, pace: Pace, count: int
) -> AsyncIterator[list[Pair]]:
    """Connects `count` pairs and starts their first matches; the pace holds their moves."""
    pairs = [peer.make_pair(next(PAIR_NUMBERS), pace) for _ in range(count)]
    for start in range(0, count, CONNECT_BATCH):
        await asyncio.gather(
            *(pair.open(process.port) for pair in pairs[start : start + CONNECT_BATCH])
        )
    await pace.wait_for_held(count)
    try:
        yield pairs
    finally:
        pace.close()
        for pair in pairs:
            pair.close()


async def open_spectators(
    peer: Peer, process: Process, count: int, on_board: Callable[[int], None]
) -> list[Spectator]:
    """Connects `count` spectators, which follow no match yet."""
    opened = [peer.make_spectator(on_board) for _ in range(count)]
    for start in range(0, count, CONNECT_BATCH):
        await asyncio.gather(
            *(spectator.open(process.port) for spectator in opened[start : start + CONNECT_BATCH])
        )
    return opened


def moves(pairs: int, pause_s: float | None, seconds: float) -> Load:
    """Lets pairs repeat a match, as fast as they are answered or with a pause before each move."""

    async def measure(peer: Peer, process: Process) -> Figures:
        pace = Pace(pause_s)
        async with opened_pairs(peer, process, pace, pairs):
            pace.release()
            await asyncio.sleep(WARM_S)
            pace.latencies_ms.clear()
            before, cpu_s, begun_s = pace.moves, cpu_seconds(process.pid), time.perf_counter()
            await asyncio.sleep(seconds)
            played, took_s = pace.moves - before, time.perf_counter() - begun_s
            return {
                "CPU a move, us": (cpu_seconds(process.pid) - cpu_s) / max(1, played) * 1e6,
                "moves a second": played / took_s,
                "p50, ms": percentile(pace.latencies_ms, 0.5),
                "p99, ms": percentile(pace.latencies_ms, 0.99),
            }

    return measure


def memory(matches: int) -> Load:
    """Opens live matches with both players connected and one move played."""

    async def measure(peer: Peer, process: Process) -> Figures:
        warm = Pace()
        async with opened_pairs(peer, process, warm, WARM_PAIRS):
            warm.release()
            await asyncio.sleep(WARM_S)
        await asyncio.sleep(peer.match_retention_s + SETTLE_S)
        before_bytes = resident_bytes(process.pid)
        pace = Pace()
        async with opened_pairs(peer, process, pace, matches):
            pace.release()
            pace.close()  # no pair plays a second move
            await asyncio.sleep(2 * SETTLE_S)
            grown_bytes = resident_bytes(process.pid) - before_bytes
        return {"memory a match, KB": grown_bytes / matches / 1024}

    return measure


def spectators(count: int) -> Load:
    """Lets a pair play a few matches that spectators watch.

    Each match is measured from its first move to its last, without its start.
    """

    async def measure(peer: Peer, process: Process) -> Figures:
        watched = WatchedMatches(count)
        pace = Pace(WATCHED_PAUSE_S)
        async with opened_pairs(peer, process, pace, 1) as (pair,):
            watchers = await open_spectators(peer, process, count, watched.on_board)
            pair.on_finished = watched.on_finished
            cpu_s = 0.0
            for number in range(WATCHED_MATCHES):
                if number:
                    pace.hold()
                    pair.start_next_match()
                    await pace.wait_for_held(1)
                for start in range(0, count, CONNECT_BATCH):
                    await asyncio.gather(
                        *(
                            watcher.follow(pair)
                            for watcher in watchers[start : start + CONNECT_BATCH]
                        )
                    )
                await asyncio.sleep(SETTLE_S)
                cpu_s -= cpu_seconds(process.pid)
                await watched.play(pair, pace)
                cpu_s += cpu_seconds(process.pid)
            for watcher in watchers:
                watcher.close()
        played = WATCHED_MATCHES * len(DRAWN_CELLS)
        return {
            "CPU a move, us": cpu_s / played * 1e6,
            "CPU a move and spectator, us": cpu_s / played / count * 1e6,
            "last spectator, p50, ms": percentile(watched.last_ms, 0.5),
            "last spectator, p99, ms": percentile(watched.last_ms, 0.99),
        }

    return measure


class WatchedMatches:
    """Measures when the last spectator has received each move."""

    def __init__(self, spectator_count: int) -> None:
        self.last_ms: list[float] = []
        self._spectator_count = spectator_count
        self._received: dict[int, int] = {}
        self._sent_s: dict[int, float] = {}
        self._finished = asyncio.Event()
        self._complete = asyncio.Event()

    async def play(self, pair: Pair, pace: Pace) -> None:
        """Plays the pair's match; returns when all spectators have received the last move."""
        self._received.clear()
        self._finished.clear()
        self._complete.clear()
        send_move = pair.send_move

        def send_timed(player: int, ply: int, cell: int) -> None:
            self._sent_s[ply + 1] = time.perf_counter()
            send_move(player, ply, cell)

        pair.send_move = send_timed  # type: ignore[method-assign]
        pace.release()
        await self._finished.wait()
        await self._complete.wait()
        pair.send_move = send_move  # type: ignore[method-assign]

    def on_finished(self) -> None:
        self._finished.set()

    def on_board(self, moves: int) -> None:
        """Counts a spectator that has received a board with that many moves."""
        received = self._received[moves] = self._received.get(moves, 0) + 1
        if received == self._spectator_count:
            self.last_ms.append((time.perf_counter() - self._sent_s[moves]) * 1000)
            if moves == len(DRAWN_CELLS):
                self._complete.set()


def idle(count: int, seconds: float) -> Load:
    """Opens connections that only keep themselves alive, as the peer's clients do."""

    async def measure(peer: Peer, process: Process) -> Figures:
        warm = await open_spectators(peer, process, WARM_PAIRS, lambda moves: None)
        for connection in warm:
            connection.close()
        await asyncio.sleep(SETTLE_S)
        before_bytes = resident_bytes(process.pid)
        connections = await open_spectators(peer, process, count, lambda moves: None)
        pinging = asyncio.create_task(_keep_alive(peer, connections), name="pings")
        await asyncio.sleep(SETTLE_S)
        cpu_s, begun_s = cpu_seconds(process.pid), time.perf_counter()
        await asyncio.sleep(seconds)
        cpu_s, took_s = cpu_seconds(process.pid) - cpu_s, time.perf_counter() - begun_s
        grown_bytes = resident_bytes(process.pid) - before_bytes
        pinging.cancel()
        for connection in connections:
            connection.close()
        return {
            "memory a connection, KB": grown_bytes / count / 1024,
            "CPU a connection and minute, ms": cpu_s * 1000 / count / (took_s / 60),
        }

    return measure


async def _keep_alive(peer: Peer, connections: list[Spectator]) -> None:
    """Sends the peer's ping on each connection, evenly over the interval, until cancelled."""
    if peer.ping is None:
        return
    frame, interval_s = peer.ping
    while True:
        begun_s = time.perf_counter()
        for number, connection in enumerate(connections, 1):
            connection.player.send(frame)
            ahead_s = interval_s * number / len(connections) - (time.perf_counter() - begun_s)
            if ahead_s > 0:
                await asyncio.sleep(ahead_s)
