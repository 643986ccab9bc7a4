"""Measures single unit costs: connections, spectators, the lobby, searches, the disk."""

import asyncio
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from engine.pool.pool import Pool
from engine.rules.registry import load_game
from engine.search.job import Info, Job
from server.bench.capacity import costs
from server.bench.capacity.machine import quantiles_of
from server.bench.cluster import connected_pairs, fresh_cluster, measure_load
from server.bench.pairs import Meter
from server.bench.players import Player, RequestClient, connect
from server.bench.processes import resident_bytes
from server.bench.usage import process_tree, used_by
from server.bus.base import LobbyChanged
from server.bus.broker import Broker
from server.bus.codec import LOBBY_BATCH, Codec
from server.bus.link import open_link
from server.deploy.cluster.plan import ROOT, Service
from server.deploy.cluster.running import Cluster, Member
from server.deploy.mosquitto import mosquitto
from server.events import Occupant
from server.ports import Ports, random_id
from server.protocol import messages as wire
from server.runtime.lobby import Lobby
from server.seats.remote import RemoteEngines

#: Interval of the clients' pings, in seconds.
PING_S = 2.5
#: The games whose AI moves are measured.
GAMES = ("connect-four", "othello", "chess")
#: Positions searched for each game and level.
POSITIONS = 4


# --- connections ----------------------------------------------------------------------------------


async def idle_connections(count: int, seconds: float) -> costs.Idle:
    """The cost of one guest who only sends pings, the mean over `count` of them."""
    async with fresh_cluster(1) as running:
        before = _resident(running)
        baseline = await measure_load(running, Meter(None), [], seconds, warm_s=1.0)
        players = [await _guest(running.port, number) for number in range(count)]
        grown = [after - then for after, then in zip(_resident(running), before, strict=True)]
        pinging = asyncio.create_task(_ping(players))
        pinged = await measure_load(running, Meter(None), [], seconds, warm_s=PING_S)
        pinging.cancel()
        for player in players:
            player.transport.abort()

    def cpu_s_per_minute(kind: str) -> float:
        return (pinged.used[kind].cpu_s - baseline.used[kind].cpu_s) / seconds * 60 / count

    return costs.Idle(
        cpu_s_per_minute("node"), cpu_s_per_minute("proxy"), grown[0] / count, grown[1] / count
    )


def _resident(running: Cluster) -> tuple[int, int]:
    return resident_bytes(running.nodes[0].pid), sum(
        resident_bytes(pid) for pid in process_tree(running.proxy.pid)
    )


async def _guest(port: int, number: int) -> Player:
    client = RequestClient(await connect(port))
    await client.request("welcome", t="hello", protocol=wire.PROTOCOL, name=f"guest {number}")
    client.player.on_text = lambda text: None
    return client.player


async def _ping(players: list[Player]) -> None:
    """Pings from each player every PING_S, evenly spread."""
    gap_s = PING_S / len(players)
    at_s = asyncio.get_running_loop().time()
    while True:
        for player in players:
            at_s += gap_s
            await asyncio.sleep(max(0.0, at_s - asyncio.get_running_loop().time()))
            player.send(b'{"t":"ping"}')


async def live_match(count: int) -> costs.Match:
    """The node's memory per match after one move."""
    async with fresh_cluster(1) as running:
        before = resident_bytes(running.nodes[0].pid)
        meter = Meter(None)
        async with connected_pairs(running, meter, count) as pairs:
            for pair in pairs:
                pair.move()
            meter.close()  # no pair plays a second move
            await asyncio.sleep(2.0)
            return costs.Match((resident_bytes(running.nodes[0].pid) - before) / count)


async def spectators(count: int, seconds: float) -> costs.Spectator:
    """The cost that one more spectator of a room adds to a move."""
    received = moves = 0

    def count_bytes(text: bytes) -> None:
        nonlocal received, moves
        received += len(text)
        moves += b'"kind":"moved"' in text

    async with fresh_cluster(1) as running:
        meter = Meter(20.0)
        async with connected_pairs(running, meter, 1) as pairs:
            alone = await measure_load(running, meter, pairs, seconds)
            watchers = []
            for number in range(count):
                player = await _guest(running.port, number)
                await RequestClient(player).request(
                    "joined", t="join", id="join", room=pairs[0].room
                )
                player.on_text = count_bytes
                watchers.append(player)
            await asyncio.sleep(0.5)
            received = moves = 0
            pinging = asyncio.create_task(_ping(watchers))
            watched = await measure_load(running, meter, [], seconds, warm_s=1.0)
            pinging.cancel()
            for player in watchers:
                player.transport.abort()
    deliveries = watched.commands * count

    def cpu_s_per_delivery(kind: str) -> float:
        return (
            watched.used[kind].cpu_s - alone.used[kind].cpu_s * watched.commands / alone.commands
        ) / deliveries

    return costs.Spectator(
        cpu_s_per_delivery("node"), cpu_s_per_delivery("proxy"), received / max(1, moves)
    )


# --- the lobby ------------------------------------------------------------------------------------


def lobby() -> costs.Lobby:
    """The cost of a lobby entry for its sender and for a receiver whose lobby nobody watches."""
    seats = (Occupant("abcdefghijkm", "Ada"), Occupant("nopqrstuvwxy", "Ben"))
    rooms = tuple(
        wire.RoomSummary(
            room=random_id(), game="chess", title="Chess", options={}, seats=seats, state="playing",
            created_ms=1_700_000_000_000, ply=17, watching=3,
        )
        for _ in range(LOBBY_BATCH)
    )  # fmt: skip
    codec = Codec(b"k" * 32)
    # The receiver only stores entries; it uses neither ports nor rooms for that.
    receiver = Lobby(cast(Ports, None), lambda room: None)
    topic, payload, _ = codec.encode(LobbyChanged("node1", rooms))

    def receive() -> None:
        message = codec.decode(topic, payload)
        assert isinstance(message, LobbyChanged)
        receiver.on_lobby_changed(message)

    sending_s = _timed(lambda: codec.encode(LobbyChanged("node1", rooms))) / LOBBY_BATCH
    return costs.Lobby(sending_s, _timed(receive) / LOBBY_BATCH, len(payload) / LOBBY_BATCH)


def _timed(call: Callable[[], object], times: int = 300) -> float:
    """The median CPU time of a call, in seconds."""
    spent = []
    for _ in range(times):
        start_s = time.process_time()
        call()
        spent.append(time.process_time() - start_s)
    return statistics.median(spent)


# --- searches -------------------------------------------------------------------------------------


def positions(game_id: str) -> list[tuple[str, ...]]:
    """The starts of random matches, the same in each run."""
    game, rng = load_game(game_id), random.Random(game_id)
    starts: list[tuple[str, ...]] = []
    while len(starts) < POSITIONS:
        position = game.start()
        moves: list[str] = []
        for _ in range(12):
            tokens = position.tokens()
            if not tokens or position.outcome() is not None:
                break
            moves.append(rng.choice(tokens))
            position = position.play(position.parse_move(moves[-1]))
        if position.outcome() is None and position.tokens():
            starts.append(tuple(moves))
    return starts


def _job(game_id: str, moves: tuple[str, ...], level: int) -> Job:
    game = load_game(game_id)
    return Job(game_id, game.digest, {}, game.start().text(), moves, "room", level=level)


async def search_levels() -> dict[str, list[float]]:
    """Core-seconds of one AI move by level, the mean over some positions."""
    levels_s: dict[str, list[float]] = {}
    async with Pool(workers=1) as pool:
        for game_id in GAMES:
            await pool.warm(game_id)
            await pool.search(_job(game_id, positions(game_id)[0], 1))
            for level in range(1, load_game(game_id).levels + 1):
                before = used_by(process_tree(os.getpid())[1:])
                for moves in positions(game_id):
                    await pool.search(_job(game_id, moves, level))
                spent = used_by(process_tree(os.getpid())[1:]) - before
                levels_s.setdefault(game_id, []).append(spent.cpu_s / POSITIONS)
    return levels_s


async def search_costs(folder: Path, count: int = 200) -> costs.Search:
    """The cost of searches by level, and the extra cost of a search on a remote worker."""
    levels_s = await search_levels()
    async with mosquitto(folder) as broker:
        arguments = ["--games", "connect-four", "--cores", "1", "--name", "worker"]
        settings = {"PLYROOM_BUS": bus_url(broker.address)}
        command = [sys.executable, "-m", "server.worker", *arguments]
        worker = Member(Service("worker", command, settings), folder, None)
        await worker.start()
        try:
            async with open_link(broker.address, "server-1", "plyroom/1/nodes/server-1") as link:
                engines = RemoteEngines(link, "server-1", load_game, None)
                while not engines.is_warm("connect-four"):
                    await asyncio.sleep(0.05)
                job = _job("connect-four", positions("connect-four")[0], 1)
                pids = [os.getpid()], [worker.pid], [broker.pid]
                await engines.search(job, _ignore)
                before = [used_by(group) for group in pids]
                waits = []
                for _ in range(count):
                    start_s = time.perf_counter()
                    result = await engines.search(job, _ignore)
                    waits.append(time.perf_counter() - start_s - result.info.time_ms / 1000)
                    await asyncio.sleep(0.005)
                spent = [
                    (used_by(group) - then).cpu_s / count
                    for group, then in zip(pids, before, strict=True)
                ]
        finally:
            await worker.close()
    node_s, worker_s, broker_s = spent
    return costs.Search(levels_s, node_s, worker_s, broker_s, statistics.median(waits))


def bus_url(broker: Broker) -> str:
    """The setting PLYROOM_BUS of a worker of this broker."""
    user = f"{broker.user}:{broker.password}@" if broker.user else ""
    return f"mqtt://{user}{broker.host}:{broker.port}"


def _ignore(info: Info) -> None:
    """Drops the progress of these searches."""


# --- the machine ----------------------------------------------------------------------------------


def fsync_s(folder: Path, count: int = 400) -> costs.Quantiles:
    """The time of a durable 4 KiB write at intervals, as a server does it, in seconds."""
    times = []
    with (folder / "fsync").open("wb") as file:
        for _ in range(count):
            time.sleep(0.003)
            file.write(b"x" * 4096)
            start_s = time.perf_counter()
            file.flush()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start_s)
    return quantiles_of(times)


def machine_description() -> str:
    """A short description of the machine."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(
        (line.split(": ")[1] for line in lines if line.startswith("model name")),
        "unknown processor",
    )
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 1e6
    python = ".".join(map(str, sys.version_info[:3]))
    return (
        f"{os.cpu_count()} virtual cores of {model}, {memory:.0f} GB,"
        f" Linux, Python {python}, uvloop"
    )


def git_commit() -> str:
    """The commit that is checked out."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=7", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
