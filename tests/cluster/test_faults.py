"""Nodes, workers, the broker and the database die under load, and no invariant is broken.

The checker (tests/oracle/history.py) reads the messages that the clients recorded. Its findings
contain the seed of the run.
"""

import asyncio
import signal
from functools import partial
from pathlib import Path

import pytest

from server.deploy.cluster.running import cluster
from server.limits import by_address as limits
from server.process.failpoint import PLACES
from tests.server.test_two_nodes import GAMES
from tests.support.cluster_load import ClusterLoad, kill_at_failpoint, play_during
from tests.support.fault_proxy import Toward
from tests.support.faulty_connections import FaultyConnections, faulty_connections

#: Settings of the nodes: quick heartbeats, no polling, no limits, almost no pause before AI moves.
QUICK = {
    "heartbeat_s": 0.5, "poll_s": 3600.0, "messages_per_s": 1e6, "messages_burst": 10**6,
    "rooms_burst": 10**6,
    "ai_pace_ms": 1, "ai_duel_pace_ms": 1, "drain_s": 0.2, **limits.NO_LIMITS,
}  # fmt: skip

#: The ids of the games of the load, in the form of the workers' setting.
GAME_IDS = ",".join(sorted({game for game, _ in GAMES}))
#: The number of loads. All but the first start after the faults, so that the required number of
#: moves is reached in time.
LOADS = 4
#: The time without an answer after which clients reconnect, in seconds.
ANSWER_TIMEOUT_S = 9.0

pytestmark = pytest.mark.timeout(600)
long = [pytest.mark.long, pytest.mark.timeout(7200)]


@pytest.mark.parametrize(("kills", "moves"), [(2, 200), pytest.param(200, 100_000, marks=long)])
async def test_nodes_that_die_at_each_failpoint(tmp_path: Path, kills: int, moves: int) -> None:
    """Three nodes die again and again, each at its own failpoint, and no invariant is broken."""

    async def faults(load: ClusterLoad) -> None:
        async with asyncio.TaskGroup() as tasks:
            for node, place in zip(load.cluster.nodes, PLACES, strict=True):
                tasks.create_task(kill_at_failpoint(node, place, load.rng, kills))

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        await play_during(running, faults, moves, seed=kills, load_count=LOADS, slow=kills == 2)


@pytest.mark.parametrize(("rounds", "frozen_s"), [(2, 4.0), pytest.param(20, 30.0, marks=long)])
async def test_nodes_are_killed_and_frozen(tmp_path: Path, rounds: int, frozen_s: float) -> None:
    """Nodes are killed, or frozen for longer than a heartbeat; a late node commits no stale data.

    Clients leave a silent node, as real clients do.
    """

    async def faults(load: ClusterLoad) -> None:
        for n in range(rounds):
            killed, stopped = load.rng.sample(load.cluster.nodes, 2)
            await killed.kill()
            stopped.send_signal(signal.SIGSTOP)
            try:
                await killed.start()
                await asyncio.sleep(frozen_s if n % 2 == 0 else 1.0)
            finally:
                stopped.send_signal(signal.SIGCONT)
            await killed.wait_until_ready()

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        slow = rounds == 2
        moves = (50 if slow else 500) * rounds
        await play_during(
            running, faults, moves, rounds, answer_timeout_s=ANSWER_TIMEOUT_S, slow=slow
        )


@pytest.mark.parametrize(("kills", "frozen_s"), [(3, 3.0), pytest.param(50, 60.0, marks=long)])
async def test_workers_and_the_broker_die(tmp_path: Path, kills: int, frozen_s: float) -> None:
    """While workers and the broker die or freeze, matches on each node continue.

    AI seats move once a turn, and no client misses an event.
    """

    async def faults(load: ClusterLoad) -> None:
        for n in range(kills):
            worker = load.rng.choice(load.cluster.workers)
            worker.signal_all(signal.SIGKILL)
            await worker.wait()
            await worker.start()
            if n == kills // 3:
                await load.cluster.mosquitto.kill()
                await asyncio.sleep(1)
                await load.cluster.mosquitto.start()
            await asyncio.sleep(0.3)
        load.cluster.mosquitto.send_signal(signal.SIGSTOP)
        before = load.moves
        await asyncio.sleep(frozen_s)
        load.cluster.mosquitto.send_signal(signal.SIGCONT)
        assert load.moves > before, "nodes continue without the broker"

    async with cluster(
        tmp_path, nodes=3, workers=2, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        await play_during(running, faults, 20 * kills, seed=kills, slow=kills == 3)


@pytest.mark.parametrize("rounds", [1, pytest.param(15, marks=long)])
async def test_the_database_dies(tmp_path: Path, rounds: int) -> None:
    """PostgreSQL is stopped in fast and in immediate mode, and killed.

    After each restart clients repeat their commands, and all rooms catch up.
    """

    async def faults(load: ClusterLoad) -> None:
        postgres = load.cluster.postgres
        for _ in range(rounds):
            for end in (postgres.stop, partial(postgres.stop, "immediate"), postgres.kill):
                end()
                await asyncio.sleep(load.rng.random())
                await asyncio.to_thread(postgres.start)
                await load.wait_for_progress()

    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        slow = rounds == 1
        await play_during(running, faults, (50 if slow else 500) * rounds, rounds, slow=slow)


@pytest.mark.parametrize("cuts", [6, pytest.param(500, marks=long)])
async def test_connections_that_break_and_duplicate(tmp_path: Path, cuts: int) -> None:
    """No event is lost or repeated when database connections are cut and the broker is faulty.

    A cut may come after any byte, also within a commit or before its answer. A fifth of the
    broker's messages arrive twice, and messages arrive out of order.
    """

    async def faults(load: ClusterLoad) -> None:
        connections = load.cluster.connections
        assert isinstance(connections, FaultyConnections)
        for _ in range(cuts):
            toward = load.rng.choice([Toward.SERVER, Toward.CLIENT])
            async with asyncio.timeout(30):
                count = load.rng.randrange(1, 20_000)
                await connections.database.cut_after(toward, count).wait()
            await asyncio.sleep(load.rng.random())

    async with cluster(
        tmp_path,
        nodes=3,
        workers=1,
        settings=QUICK,
        connections=faulty_connections,
        games=GAME_IDS,
        forks=True,
    ) as running:
        await play_during(running, faults, 20 * cuts, seed=cuts, slow=cuts == 6)
