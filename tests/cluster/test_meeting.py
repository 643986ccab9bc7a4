"""The players of a room meet on one node behind the proxy, and lose nothing when nodes die."""

import asyncio
import re
from pathlib import Path

import pytest
from aiohttp import ClientError, ClientSession
from playwright.async_api import WebSocket

from server.bench.cluster import wait_for_all_nodes
from server.deploy.cluster.running import DATABASE, Cluster, cluster
from server.limits import by_address as limits
from tests.oracle.journal import Journal, read_postgres_logs
from tests.support.browser import open_chromium
from tests.support.browsers import DESKTOP, Person, people
from tests.support.players import LONG_STICKS, two_people

#: The number of rooms, each with two players.
ROOMS = 6
#: Settings of the nodes: quick heartbeats, no limits.
SETTINGS = {
    "heartbeat_s": 0.5, "messages_per_s": 1e6, "messages_burst": 10**6, "rooms_burst": 10**6,
    **limits.NO_LIMITS,
}  # fmt: skip
#: The time limit for all players to meet, in seconds; only a test that fails reaches it.
MEET_S = 120.0
#: The number of commands that are acknowledged between two faults.
ACKS = 60


async def gauge_values(running: Cluster, name: str) -> list[float]:
    """Returns the value of a gauge on each node."""
    values = []
    async with ClientSession() as http:
        for port in running.metrics_ports:
            answer = await http.get(f"http://127.0.0.1:{port}/metrics")
            sample = re.search(rf"^plyroom_{name} (\S+)$", await answer.text(), re.MULTILINE)
            assert sample is not None
            values.append(float(sample[1]))
    return values


async def until_all_have_met(running: Cluster) -> None:
    """Waits until each room is in memory on one node only, and each player has one socket."""
    async with asyncio.timeout(MEET_S):
        while True:
            try:
                rooms = sum(await gauge_values(running, "rooms"))
                sockets = sum(await gauge_values(running, "connections"))
            except ClientError:  # a node is starting
                rooms = sockets = 0
            if (rooms, sockets) == (ROOMS, 2 * ROOMS):
                return
            await asyncio.sleep(0.2)


async def play_while_nodes_die(running: Cluster, kills: int) -> None:
    """Plays in all rooms until that many nodes have died; checks the logs."""
    journal, stop = Journal(), asyncio.Event()
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
        stop.set()
    logs = await read_postgres_logs(running.postgres, DATABASE)
    assert len(logs) == ROOMS
    assert journal.violations(logs) == []


def record_sockets(person: Person, first_closed: asyncio.Event) -> list[WebSocket]:
    """Returns a list of the page's sockets, in order; sets the event when the first one closes."""
    sockets: list[WebSocket] = []

    def record(socket: WebSocket) -> None:
        if not sockets:
            socket.on("close", lambda _: first_closed.set())
        sockets.append(socket)

    person.page.on("websocket", record)
    return sockets


async def play_in_browsers(running: Cluster, ada: Person, bob: Person) -> None:
    """Plays a move on the page that created the room, which the other page shows; checks which
    sockets both have opened.
    """
    first_closed = asyncio.Event()
    of_ada = record_sockets(ada, first_closed)
    await ada.create("Tic-tac-toe", "A friend", side="begins")
    async with asyncio.timeout(60):
        await first_closed.wait()
    await bob.page.goto("about:blank")  # his first page may still open its socket
    of_bob = record_sockets(bob, asyncio.Event())
    await bob.page.goto(ada.page.url)
    await bob.button("Sit here").click()
    await ada.wait_for_turn()
    await ada.play("b2")
    await bob.wait_for_turn()
    room = ada.page.url.rpartition("/")[2]
    address = f"{running.url.replace('http', 'ws', 1)}/ws"
    assert [socket.url for socket in of_ada] == [address, f"{address}?room={room}"]
    assert [socket.url for socket in of_bob] == [f"{address}?room={room}"]
    assert not of_ada[1].is_closed()


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [1, pytest.param(40, marks=pytest.mark.long)])
async def test_players_meet_on_one_node(tmp_path: Path, kills: int) -> None:
    """Each room is on one node, with one socket for each player. When nodes die, no acknowledged
    command is lost or doubled, and each client sees every event once and in order.

    The page that creates a room changes to a socket of the room; a page that is opened by its
    link has only that socket. Moves reach both.
    """
    async with cluster(tmp_path, nodes=3, workers=0, settings=SETTINGS, forks=True) as running:
        await wait_for_all_nodes(running)
        await play_while_nodes_die(running, kills)
        await wait_for_all_nodes(running)
        async with (
            open_chromium() as chromium,
            people(chromium, running.url, DESKTOP, DESKTOP) as (ada, bob),
        ):
            await play_in_browsers(running, ada, bob)
