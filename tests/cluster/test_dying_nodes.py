"""What a node committed last reaches the followers on another node, though it told nobody: with the
poll set to an hour only the news of its death, or what it finds itself when it goes on, can bring
it.
"""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from websockets.asyncio.client import connect

from tests.cluster.running import DATABASE, Cluster, Member, cluster
from tests.support.node import Socket

UNPOLLED = {"poll_s": 3600.0}
#: After so long a node gives up what it has asked of the database; it is not taken for gone yet.
FROZEN_S = 3.2
#: The database ends a statement that waits for a lock after a second.
IN_FLIGHT_S = 0.5

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True, slots=True)
class Table:
    """Ada has a seat and is on the first node, Ben has the other and is on the second one; Ada is
    to move.
    """

    running: Cluster
    room: str
    ada: Socket
    ben: Socket

    @property
    def dying(self) -> Member:
        return self.running.nodes[0]

    async def move(self) -> None:
        """Ada moves; whether she hears of it is left open."""
        await self.ada.send({"t": "move", "id": "m", "room": self.room, "ply": 0, "move": "b2"})

    async def arrives(self, v: int = 5) -> None:
        """Ben hears of it; and it was not the poll."""
        assert (await self.ben.expect("event", kind="moved"))["v"] == v
        assert await polls(self.running, 1) == 0


@asynccontextmanager
async def table(running: Cluster, failpoint: str = "") -> AsyncIterator[Table]:
    """At a new table, after a new start of the first node."""
    await running.nodes[0].kill()
    await running.nodes[0].start(failpoint=failpoint)
    async with AsyncExitStack() as stack:
        ada, ben = [
            Socket(
                await stack.enter_async_context(
                    connect(f"{url.replace('http', 'ws', 1)}/ws", proxy=None)
                )
            )
            for url in running.urls
        ]
        await ada.hello()
        await ben.hello()
        room = (
            await ada.ack("create", game="tic-tac-toe", seats=[{"who": "me"}, {"who": "open"}])
        )["room"]
        await ben.ack("join", room=room)
        await ben.ack("sit", room=room, seat=1)
        yield Table(running, room, ada, ben)


async def polls(running: Cluster, n: int) -> float:
    """How often that node compared heads though nothing had called for it."""
    async with ClientSession() as http:
        answer = await http.get(f"http://127.0.0.1:{running.metrics_ports[n]}/metrics")
        found = re.search(r"^plyroom_polls_total (\S+)$", await answer.text(), re.MULTILINE)
    assert found is not None
    return float(found[1])


@asynccontextmanager
async def held_up(one: Table) -> AsyncIterator[None]:
    """Ada's move is under way in the database, which cannot commit it before the block ends."""
    async with (
        one.running.postgres.session(DATABASE) as watch,
        one.running.postgres.session(DATABASE) as session,
        session.transaction(),
    ):
        await session.execute("SELECT 1 FROM rooms WHERE id = $1 FOR UPDATE", one.room)
        await one.move()
        waits = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1"
        )
        while not await watch.fetchval(waits, DATABASE):
            await asyncio.sleep(0.01)
        yield


async def committed(one: Table, watch: Any) -> None:
    """Returns when the move is in the log."""
    async with asyncio.timeout(60):
        while await watch.fetchval("SELECT head FROM rooms WHERE id = $1", one.room) != 5:
            await asyncio.sleep(0.01)


async def dies_at(running: Cluster, place: str) -> None:
    """R1: the failpoints between the commit and its message."""
    async with table(running, f"{place}:1") as one:
        await one.move()
        assert await one.dying.wait() == -signal.SIGKILL
        await one.arrives()


async def dies_before_the_commit(running: Cluster) -> None:
    """The broker has told of the death when the statement, which was under way, is carried out."""
    async with table(running) as one, AsyncExitStack() as stack:
        await stack.enter_async_context(held_up(one))
        await one.dying.kill()
        await asyncio.sleep(IN_FLIGHT_S)
        assert not [m for m in one.ben.messages if m.get("kind") == "moved"]
        await stack.aclose()
        await one.arrives()


async def is_frozen(running: Cluster) -> None:
    """SIGSTOP with a commit under way, for 3 s: when the node goes on it hears of it late, or finds
    it in the log, and tells the others.
    """
    async with table(running) as one:
        async with held_up(one):
            one.dying.send_signal(signal.SIGSTOP)
        async with running.postgres.session(DATABASE) as watch:
            await committed(one, watch)
        await asyncio.sleep(FROZEN_S)
        one.dying.send_signal(signal.SIGCONT)
        await one.arrives()
        assert await polls(running, 0) == 0


async def test_what_a_node_committed_last_reaches_the_others(tmp_path: Path) -> None:
    """R1, I7: it dies at either failpoint between its commit and its message, or before the
    database has carried out what it asked for, or is frozen meanwhile. One cluster for all of it,
    for starting one takes longer.
    """
    async with cluster(tmp_path, nodes=2, workers=0, settings=UNPOLLED, forks=True) as running:
        for place in ("after_append", "before_ack"):
            await dies_at(running, place)
        await dies_before_the_commit(running)
        await is_frozen(running)
