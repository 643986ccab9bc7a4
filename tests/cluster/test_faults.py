"""Nodes, workers, the broker and the database die under a crowd, and no promise is broken.

The checker (tests/oracle/history.py) reads what the clients recorded, never the server's code. Its
findings come with the seeds.
"""

import asyncio
import signal
from functools import partial
from pathlib import Path

import pytest

from server.limits import by_address as limits
from server.process.failpoint import PLACES
from tests.cluster.running import cluster, faulty_connections
from tests.cluster.storm import Storm, fall_at, play_in
from tests.server.test_two_nodes import GAMES
from tests.support.fault_proxy import Toward

QUICK = {
    "heartbeat_s": 0.5, "poll_s": 3600.0, "messages_per_s": 1e6, "messages_burst": 10**6,
    "rooms_burst": 10**6,
    "ai_pace_ms": 1, "ai_duel_pace_ms": 1, "drain_s": 0.2, **limits.NO_LIMITS,
}  # fmt: skip

PLAYED = ",".join(sorted({game for game, _ in GAMES}))
#: Crowds that play concurrently, to make the required moves in time.
CROWDS = 4
#: Time that our clients wait for a message before they reconnect.
SILENCE_S = 9.0

pytestmark = pytest.mark.timeout(600)
long = [pytest.mark.long, pytest.mark.timeout(7200)]


@pytest.mark.parametrize(("kills", "moves"), [(4, 600), pytest.param(200, 100_000, marks=long)])
async def test_nodes_that_die_at_each_place(tmp_path: Path, kills: int, moves: int) -> None:
    """Three nodes die at the same time, again and again, each at its own failpoint of a
    command.
    """

    async def faults(storm: Storm) -> None:
        async with asyncio.TaskGroup() as tasks:
            for node, place in zip(storm.cluster.nodes, PLACES, strict=True):
                tasks.create_task(fall_at(node, place, storm.chance, kills))

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=PLAYED, forks=True
    ) as running:
        await play_in(running, faults, moves, seed=kills, crowds=CROWDS)


@pytest.mark.parametrize(("rounds", "asleep_s"), [(2, 4.0), pytest.param(20, 30.0, marks=long)])
async def test_nodes_killed_and_stopped(tmp_path: Path, rounds: int, asleep_s: float) -> None:
    """SIGKILL, and SIGSTOP for longer than a heartbeat: a node that resumes late never wins
    with stale data. Clients leave a silent node, as real ones do.
    """

    async def faults(storm: Storm) -> None:
        for n in range(rounds):
            one, other = storm.chance.sample(storm.cluster.nodes, 2)
            await one.kill()
            other.send_signal(signal.SIGSTOP)
            try:
                await one.start()
                await asyncio.sleep(asleep_s if n % 2 == 0 else 1.0)
            finally:
                other.send_signal(signal.SIGCONT)
            await one.ready()

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=PLAYED, forks=True
    ) as running:
        await play_in(running, faults, 500 * rounds, seed=rounds, gives_up_s=SILENCE_S)


@pytest.mark.parametrize(("kills", "asleep_s"), [(3, 3.0), pytest.param(50, 60.0, marks=long)])
async def test_workers_and_broker(tmp_path: Path, kills: int, asleep_s: float) -> None:
    """R10, R12: workers are killed; the broker is killed and restarted, and frozen for a while:
    play on the same node continues, AI seats move once a turn, and no client misses anything.
    """

    async def faults(storm: Storm) -> None:
        for n in range(kills):
            worker = storm.chance.choice(storm.cluster.workers)
            worker.signal_all(signal.SIGKILL)
            await worker.wait()
            await worker.start()
            if n == kills // 3:
                await storm.cluster.mosquitto.kill()
                await asyncio.sleep(1)
                await storm.cluster.mosquitto.start()
            await asyncio.sleep(0.3)
        storm.cluster.mosquitto.send_signal(signal.SIGSTOP)
        before = storm.moves
        await asyncio.sleep(asleep_s)
        storm.cluster.mosquitto.send_signal(signal.SIGCONT)
        assert storm.moves > before, "nodes go on without the broker"

    async with cluster(
        tmp_path, nodes=3, workers=2, settings=QUICK, games=PLAYED, forks=True
    ) as running:
        await play_in(running, faults, 20 * kills, seed=kills)


@pytest.mark.parametrize("rounds", [1, pytest.param(15, marks=long)])
async def test_the_database_dies(tmp_path: Path, rounds: int) -> None:
    """PostgreSQL is restarted, stopped at once and killed: clients are asked to repeat their
    commands, and all rooms settle.
    """

    async def faults(storm: Storm) -> None:
        postgres = storm.cluster.postgres
        for _ in range(rounds):
            for end in (postgres.stop, partial(postgres.stop, "immediate"), postgres.kill):
                end()
                await asyncio.sleep(storm.chance.random())
                await asyncio.to_thread(postgres.start)
                await storm.goes_on()

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=PLAYED, forks=True
    ) as running:
        await play_in(running, faults, 500 * rounds, seed=rounds)


@pytest.mark.parametrize("cuts", [6, pytest.param(500, marks=long)])
async def test_connections_that_break_and_duplicate(tmp_path: Path, cuts: int) -> None:
    """R6, R11: connections to the database are cut after any number of bytes, also within a commit
    and before its answer, while every fifth message of the broker comes twice and every fifth out
    of order.
    """

    async def faults(storm: Storm) -> None:
        database = storm.cluster.connections.database
        assert database is not None
        for _ in range(cuts):
            toward = storm.chance.choice([Toward.SERVER, Toward.CLIENT])
            async with asyncio.timeout(30):
                await database.cut_after(toward, storm.chance.randrange(1, 20_000)).wait()
            await asyncio.sleep(storm.chance.random())

    async with cluster(
        tmp_path,
        nodes=3,
        workers=1,
        settings=QUICK,
        connections=faulty_connections,
        games=PLAYED,
        forks=True,
    ) as running:
        await play_in(running, faults, 20 * cuts, seed=cuts)
