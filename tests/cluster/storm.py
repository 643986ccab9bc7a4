"""A crowd that plays on a cluster while faults happen to it, and what they leave behind for the checker."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from tests.cluster.running import Cluster, Member
from tests.history import History, Message, Way, check
from tests.server.crowd import CrowdClient, read_everything
from tests.server.test_two_nodes import heals, make_rooms

HEALED_S = 10.0
NAMES = ["ada", "ben", "cyd", "dan"]
CHAPTER = 300
"""So many commands of each client; then the history so far is checked, and others begin in new rooms."""
UNCHECKED = {"view", "thinking", "presence", "pong"}
"""What the checker has no use for, and would fill the memory."""


class Recording(History):
    """A history that counts the moves that were acknowledged, and keeps what the checker reads."""

    def __init__(self) -> None:
        super().__init__()
        self.moves = 0
        self._sent: set[str] = set()

    def add(self, at_s: float, client: str, session: int, way: Way, message: Message | None = None) -> None:
        kind = message["t"] if message else ""
        if kind in UNCHECKED:
            return
        super().add(at_s, client, session, way, message)
        if message and way == "out" and kind == "move":
            self._sent.add(message["id"])
        elif message and kind == "ack" and message["id"] in self._sent:
            self._sent.discard(message["id"])
            self.moves += 1


class Storm:
    """A cluster, the crowd on it, and the faults that happen to it: `moves` counts the crowd's acknowledged moves."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self._seed = seed
        self._urls = [f"{url.replace('http', 'ws', 1)}/ws" for url in cluster.urls]
        self._history = Recording()
        self._earlier = 0
        self._chapters = 0

    @property
    def moves(self) -> int:
        return self._earlier + self._history.moves

    async def play(self, is_over: Callable[[], bool]) -> None:
        """One chapter; AssertionError with what the checker found. Once the faults are over all must be whole again."""
        self._chapters += 1
        self._earlier, self._history = self.moves, Recording()
        seed = f"{self._seed}, chapter {self._chapters}"
        clients = [CrowdClient(name, self._urls, self._history, self._seed * 1000 + self._chapters) for name in NAMES]
        rooms = await make_rooms(clients)
        await asyncio.gather(*(client.play(client.commands + CHAPTER) for client in clients))
        if is_over():
            assert await heals(self._history, clients, HEALED_S), (
                f"seed {seed}: I7: not at the tail {HEALED_S:g} s later"
            )
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        await self._read(rooms)
        found = check(self._history)
        assert found == [], "\n".join([f"seed {seed}", *found[:20]])

    async def _read(self, rooms: list[str]) -> None:
        """The last word, on any node: one that lags is told by a scout how far the others have seen the rooms."""
        url = self.chance.choice(self._urls)
        highest = Counter[str]()
        for one in self._history.entries:
            if one.way == "in" and one.message["t"] == "event":
                highest[one.message["room"]] = max(highest[one.message["room"]], one.message["v"])
        scout = CrowdClient("scout", [url], self._history, 0)
        link = await scout.link(0)
        for room in rooms:
            await scout.join(link, room, highest[room])
        await link.close()
        await read_everything(url, rooms, self._history)


Weather = Callable[[Storm], Coroutine[Any, Any, None]]


async def play_in(cluster: Cluster, weather: Weather, moves: int, seed: int) -> None:
    """The crowd plays until the weather is over and so many of its moves are acknowledged."""
    storm = Storm(cluster, seed)
    async with asyncio.TaskGroup() as tasks:
        blowing = tasks.create_task(weather(storm))
        while not blowing.done() or storm.moves < moves:
            await storm.play(blowing.done)
    print(f"seed {seed}: {storm.moves} moves acknowledged, all kept")


async def fall_at(member: Member, place: str, chance: random.Random, kills: int) -> None:
    """A node dies at a place, again and again, and is started anew each time."""
    for _ in range(kills):
        await member.kill()
        await member.start(failpoint=f"{place}:{chance.randrange(1, 40)}")
        assert await member.wait(120) == -9
    await member.start()
