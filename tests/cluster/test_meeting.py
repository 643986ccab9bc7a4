"""The players of a room meet on one node behind the proxy, also after nodes have died."""

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession

from server.deploy.cluster.running import DATABASE, Cluster, cluster
from server.limits import by_address as limits
from tests.oracle.journal import Journal, read_postgres_logs
from tests.support.players import LONG_STICKS, two_people

#: Rooms, each with two players.
ROOMS = 6
#: Settings of the nodes: quick heartbeats, no limits.
SETTINGS = {
    "heartbeat_s": 0.5, "messages_per_s": 1e6, "messages_burst": 10**6, "rooms_burst": 10**6,
    **limits.NO_LIMITS,
}  # fmt: skip
#: Longest time until all players have met, in seconds; only a test that fails needs it.
MEET_S = 120.0
#: Commands that are acknowledged between two faults.
ACKS = 60


async def gauge(running: Cluster, name: str) -> list[float]:
    """A gauge of each node."""
    values = []
    async with ClientSession() as http:
        for port in running.metrics_ports:
            answer = await http.get(f"http://127.0.0.1:{port}/metrics")
            found = re.search(rf"^plyroom_{name} (\S+)$", await answer.text(), re.MULTILINE)
            assert found is not None
            values.append(float(found[1]))
    return values


async def until_all_have_met(running: Cluster) -> None:
    """Waits until each room is in memory on one node only, and each player has one socket."""
    async with asyncio.timeout(MEET_S):
        while True:
            try:
                rooms = sum(await gauge(running, "rooms"))
                sockets = sum(await gauge(running, "connections"))
            except ClientError:  # a node is starting
                rooms = sockets = 0
            if (rooms, sockets) == (ROOMS, 2 * ROOMS):
                return
            await asyncio.sleep(0.2)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.long)])
async def test_players_meet_on_one_node(tmp_path: Path, kills: int) -> None:
    """Each room is on one node, with one socket for each player. Nodes die while players change
    their sockets: no acknowledged command is lost or doubled, each client sees every event once and
    in order, and the players meet again.
    """
    journal, stop = Journal(), asyncio.Event()
    async with cluster(tmp_path, nodes=3, workers=0, settings=SETTINGS, forks=True) as running:
        async with asyncio.TaskGroup() as playing:
            for number in range(ROOMS):
                match = two_people(running.url, "sticks", LONG_STICKS, journal, 2 * number, stop)
                playing.create_task(match)
            await until_all_have_met(running)
            for kill in range(kills):
                node = running.nodes[kill % len(running.nodes)]
                await node.kill()
                await journal.wait_for_acks(ACKS)
                await node.start()
                await journal.wait_for_acks(ACKS)
            await until_all_have_met(running)
            stop.set()
        logs = await read_postgres_logs(running.postgres, DATABASE)
        assert len(logs) == ROOMS
        assert journal.violations(logs) == []
