"""Nodes, workers, the broker and the database die under load, and no invariant is broken.

The checker (tests/oracle/history.py) reads the messages that the clients recorded. Its findings
contain the seed of the run.
"""

import asyncio
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from engine.rules.registry import load_game
from server.deploy.cluster.plan import ROOT
from server.deploy.cluster.running import cluster
from server.limits import by_address as limits
from server.process.failpoint import PLACES
from tests.server.test_two_nodes import GAMES
from tests.support.cluster_load import (
    CATCH_UP_S,
    ClusterLoad,
    Faults,
    kill_at_failpoint,
    play_during,
)
from tests.support.compiled import is_cached
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

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("compiled_games")]
long = [pytest.mark.long, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module")
def compiled_games() -> None:
    """Compiles the games of the load: a worker that is killed would lose what it has compiled."""
    games = [game for game in GAME_IDS.split(",") if not is_cached(load_game(game))]
    program = (
        "import sys; from tests.support.compiled import compile_games; compile_games(sys.argv[1:])"
    )
    if games:
        subprocess.run([sys.executable, "-c", program, *games], cwd=ROOT, check=True)


def deaths_at_failpoints(kills: int, latest: int = 39) -> Faults:
    """Three nodes die again and again, each at its own failpoint, in its first `latest` passes."""

    async def faults(load: ClusterLoad) -> None:
        async with asyncio.TaskGroup() as tasks:
            for node, place in zip(load.cluster.nodes, PLACES, strict=True):
                tasks.create_task(kill_at_failpoint(node, place, load.rng, kills, latest))

    return faults


def kills_and_freezes(rounds: int, frozen_s: float) -> Faults:
    """Nodes are killed, or frozen for longer than a heartbeat."""

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

    return faults


def deaths_of_workers_and_broker(kills: int, frozen_s: float) -> Faults:
    """Workers and the broker die or freeze; matches on each node continue without the broker."""

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
        async with asyncio.timeout(CATCH_UP_S):  # nodes continue without the broker
            while load.moves == before:
                await asyncio.sleep(0.05)
        load.cluster.mosquitto.send_signal(signal.SIGCONT)

    return faults


def deaths_of_the_database(rounds: int) -> Faults:
    """PostgreSQL is stopped in fast and in immediate mode, and killed."""

    async def faults(load: ClusterLoad) -> None:
        postgres = load.cluster.postgres
        for _ in range(rounds):
            for end in (postgres.stop, partial(postgres.stop, "immediate"), postgres.kill):
                end()
                await asyncio.sleep(load.rng.random())
                await asyncio.to_thread(postgres.start)
                await load.wait_for_progress()

    return faults


async def test_nodes_workers_the_broker_and_the_database_die(tmp_path: Path) -> None:
    """Few faults of each kind in turn, on one cluster, which is slow to start."""
    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        for seed, (faults, moves, answer_timeout_s) in enumerate(
            (
                (deaths_of_the_database(1), 25, None),
                (deaths_at_failpoints(1, latest=12), 25, None),
                (kills_and_freezes(1, 4.0), 25, ANSWER_TIMEOUT_S),
                (deaths_of_workers_and_broker(1, 3.0), 25, None),
            ),
            start=1,
        ):
            await play_during(
                running, faults, moves, seed, answer_timeout_s=answer_timeout_s, slow=True
            )


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_nodes_that_die_at_each_failpoint(tmp_path: Path) -> None:
    """Three nodes die again and again, each at its own failpoint, and no invariant is broken."""
    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        faults = deaths_at_failpoints(200)
        await play_during(running, faults, 100_000, seed=200, load_count=LOADS)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_nodes_are_killed_and_frozen(tmp_path: Path) -> None:
    """Nodes are killed, or frozen for longer than a heartbeat; a late node commits no stale data.

    Clients leave a silent node, as real clients do.
    """
    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        faults = kills_and_freezes(20, 30.0)
        await play_during(running, faults, 10_000, seed=20, answer_timeout_s=ANSWER_TIMEOUT_S)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_workers_and_the_broker_die(tmp_path: Path) -> None:
    """While workers and the broker die or freeze, matches on each node continue.

    AI seats move once a turn, and no client misses an event.
    """
    async with cluster(
        tmp_path, nodes=3, workers=2, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        await play_during(running, deaths_of_workers_and_broker(50, 60.0), 1000, seed=50)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_the_database_dies(tmp_path: Path) -> None:
    """PostgreSQL is stopped in fast and in immediate mode, and killed.

    After each restart clients repeat their commands, and all rooms catch up.
    """
    async with cluster(
        tmp_path, nodes=3, workers=1, settings=QUICK, games=GAME_IDS, forks=True
    ) as running:
        await play_during(running, deaths_of_the_database(15), 7500, seed=15)


@pytest.mark.parametrize(("cuts", "moves"), [(4, 25), pytest.param(500, 10_000, marks=long)])
async def test_connections_that_break_and_duplicate(tmp_path: Path, cuts: int, moves: int) -> None:
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
        await play_during(running, faults, moves, seed=cuts, slow=cuts == 4)
