"""A node's last commit reaches the followers on another node, although it was not published.

The poll is set to an hour. So either the other node reads the log when the death is reported, or
the node publishes the commit when it resumes.
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

from server.deploy.cluster.running import DATABASE, Cluster, Member, cluster
from tests.support.node import Socket

#: A setting with which no poll runs during a test.
NO_POLL = {"poll_s": 3600.0}
#: The time for which a node is frozen, in seconds: its request to the database times out, but the
#: node does not yet count as dead.
FROZEN_S = 3.2
#: The time for which a statement waits in the database, in seconds; less than its lock timeout.
IN_FLIGHT_S = 0.5

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True, slots=True)
class TwoNodeMatch:
    """Ada plays on the first node against Ben on the second one; Ada is to move."""

    running: Cluster
    room: str
    ada: Socket
    ben: Socket

    @property
    def dying(self) -> Member:
        return self.running.nodes[0]

    async def move(self) -> None:
        """Sends Ada's move, without waiting for the ack."""
        await self.ada.send({"t": "move", "id": "m", "room": self.room, "ply": 0, "move": "b2"})

    async def expect_move(self, v: int = 5) -> None:
        """Waits until Ben receives the move; asserts that his node has not polled."""
        assert (await self.ben.expect("event", kind="moved"))["v"] == v
        assert await poll_count(self.running, 1) == 0


@asynccontextmanager
async def new_match(running: Cluster, failpoint: str = "") -> AsyncIterator[TwoNodeMatch]:
    """Restarts the first node and opens a new match."""
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
        yield TwoNodeMatch(running, room, ada, ben)


async def poll_count(running: Cluster, n: int) -> float:
    """Returns the number of routine polls of heads on a node."""
    async with ClientSession() as http:
        answer = await http.get(f"http://127.0.0.1:{running.metrics_ports[n]}/metrics")
        total = re.search(r"^plyroom_polls_total (\S+)$", await answer.text(), re.MULTILINE)
    assert total is not None
    return float(total[1])


@asynccontextmanager
async def hold_back_commit(match: TwoNodeMatch) -> AsyncIterator[None]:
    """Sends Ada's move; the database cannot commit it before the block ends."""
    async with (
        match.running.postgres.session(DATABASE) as watch,
        match.running.postgres.session(DATABASE) as session,
        session.transaction(),
    ):
        await session.execute("SELECT 1 FROM rooms WHERE id = $1 FOR UPDATE", match.room)
        await match.move()
        waits = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1"
        )
        while not await watch.fetchval(waits, DATABASE):
            await asyncio.sleep(0.01)
        yield


async def wait_for_commit(match: TwoNodeMatch, watch: Any) -> None:
    """Waits until the move is in the log."""
    async with asyncio.timeout(60):
        while await watch.fetchval("SELECT head FROM rooms WHERE id = $1", match.room) != 5:
            await asyncio.sleep(0.01)


async def check_death_at(running: Cluster, place: str) -> None:
    """Checks a node that dies at a failpoint between the commit and its message."""
    async with new_match(running, f"{place}:1") as match:
        await match.move()
        assert await match.dying.wait() == -signal.SIGKILL
        await match.expect_move()


async def check_death_before_the_commit(running: Cluster) -> None:
    """Checks a node that dies with a statement in flight.

    The database executes the statement after the broker has reported the death.
    """
    async with new_match(running) as match, AsyncExitStack() as stack:
        await stack.enter_async_context(hold_back_commit(match))
        await match.dying.kill()
        await asyncio.sleep(IN_FLIGHT_S)
        assert not [m for m in match.ben.messages if m.get("kind") == "moved"]
        await stack.aclose()
        await match.expect_move()


async def check_frozen_node(running: Cluster) -> None:
    """Checks a node that is stopped (SIGSTOP) for 3 s with a commit in flight.

    When it resumes it gets the late answer, or finds the events in the log, and publishes them.
    """
    async with new_match(running) as match:
        async with hold_back_commit(match):
            match.dying.send_signal(signal.SIGSTOP)
        async with running.postgres.session(DATABASE) as watch:
            await wait_for_commit(match, watch)
        await asyncio.sleep(FROZEN_S)
        match.dying.send_signal(signal.SIGCONT)
        await match.expect_move()
        assert await poll_count(running, 0) == 0


async def test_a_nodes_last_commit_reaches_the_others(tmp_path: Path) -> None:
    """I7: a node's last commit reaches the other node's followers.

    The node dies at a failpoint between commit and message, dies before the database executes its
    statement, or is frozen during the commit. All cases share one cluster, which is slow to start.
    """
    async with cluster(tmp_path, nodes=2, workers=0, settings=NO_POLL, forks=True) as running:
        for place in ("after_append", "before_ack"):
            await check_death_at(running, place)
        await check_death_before_the_commit(running)
        await check_frozen_node(running)
