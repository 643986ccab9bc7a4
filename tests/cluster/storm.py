"""A crowd that plays on a cluster during faults, and the history that the checker reads."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from tests.cluster.running import Cluster, Member
from tests.oracle.history import Direction, History, Message, check
from tests.server.test_two_nodes import catches_up, make_rooms
from tests.support.load import LoadClient, read_everything

#: Time after which a client that has not caught up never will.
HANGS_S = 60.0
NAMES = ["ada", "ben", "cyd", "dan"]
#: Acknowledged commands that show that the cluster works again after a fault.
ONGOING = 50
#: Commands of each client per chapter; after it the history is checked, and a new chapter starts in
#: new rooms.
CHAPTER = 300
#: Messages that the checker does not need and that would fill the memory.
UNCHECKED = {"view", "thinking", "presence", "pong"}
#: Time within which a node that was stopped and then killed is back, on a busy machine too.
LINKED_S = 300.0


class Recording(History):
    """A history that counts acknowledged moves and keeps only what the checker reads."""

    def __init__(self) -> None:
        super().__init__()
        self.moves = self.acks = 0
        self._sent: set[str] = set()

    def add(
        self,
        at_s: float,
        client: str,
        session: int,
        direction: Direction,
        message: Message | None = None,
    ) -> None:
        kind = message["t"] if message else ""
        if kind in UNCHECKED:
            return
        super().add(at_s, client, session, direction, message)
        if message and direction == "out" and kind == "move":
            self._sent.add(message["id"])
        elif message and kind == "ack" and message["id"] in self._sent:
            self._sent.discard(message["id"])
            self.moves += 1
        if message and kind == "ack":
            self.acks += 1


class Storm:
    """A cluster, its crowd, and the faults that happen to it; `moves` counts the crowd's
    acknowledged moves.
    """

    def __init__(self, cluster: Cluster, seed: int, gives_up_s: float | None = None) -> None:
        self.cluster = cluster
        self.chance = random.Random(seed)
        self._seed = seed
        self._urls = [f"{url.replace('http', 'ws', 1)}/ws" for url in cluster.urls]
        self._history = Recording()
        self._earlier = self._earlier_acks = 0
        self._chapters = 0
        self._gives_up_s = gives_up_s
        self._judged_s = 0.0
        #: The longest wait in `goes_on`, in seconds.
        self.slowest_s = 0.0

    @property
    def moves(self) -> int:
        return self._earlier + self._history.moves

    @property
    def acks(self) -> int:
        """The number of acknowledged commands of all kinds."""
        return self._earlier_acks + self._history.acks

    async def play(self, is_over: Callable[[], bool]) -> None:
        """Plays one chapter; AssertionError with the checker's findings. After the faults, every
        client must catch up.
        """
        self._chapters += 1
        self._earlier, self._earlier_acks, self._history = self.moves, self.acks, Recording()
        seed = f"{self._seed}, chapter {self._chapters}"
        clients = [
            LoadClient(
                name, self._urls, self._history, self._seed * 1000 + self._chapters, LINKED_S,
                self._gives_up_s
            )
            for name in NAMES
        ]  # fmt: skip
        rooms = await make_rooms(clients)
        await asyncio.gather(*(client.play(client.commands + CHAPTER) for client in clients))
        if is_over():
            assert await catches_up(self._history, clients, HANGS_S), (
                f"seed {seed}: I7: not at the tail {HANGS_S:g} s later"
            )
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        await self._read(rooms)
        begun_s = time.perf_counter()
        found = await asyncio.to_thread(check, self._history)  # other crowds play meanwhile
        self._judged_s += time.perf_counter() - begun_s
        assert found == [], "\n".join([f"seed {seed}", *found[:20]])

    async def play_while(self, goes_on: Callable[[], bool], is_over: Callable[[], bool]) -> None:
        """Plays chapter after chapter."""
        while goes_on():
            await self.play(is_over)

    async def goes_on(self) -> None:
        """Waits until more commands are acknowledged; records the time that it took beside the
        checker's work.
        """
        loop = asyncio.get_running_loop()
        before, begun_s = self.acks, loop.time() - self._judged_s
        async with asyncio.timeout(HANGS_S):
            while self.acks < before + ONGOING:
                await asyncio.sleep(0.05)
        self.slowest_s = max(self.slowest_s, loop.time() - self._judged_s - begun_s)

    async def _read(self, rooms: list[str]) -> None:
        """Reads each room to its end on any node; a scout tells a lagging node how far the others
        have seen the rooms.
        """
        url = self.chance.choice(self._urls)
        highest = Counter[str]()
        for one in self._history.entries:
            if one.direction == "in" and one.message["t"] == "event":
                highest[one.message["room"]] = max(highest[one.message["room"]], one.message["v"])
        scout = LoadClient("scout", [url], self._history, 0)
        link = await scout.link(0)
        for room in rooms:
            await scout.join(link, room, highest[room])
        await link.close()
        await read_everything(url, rooms, self._history)


Faults = Callable[[Storm], Coroutine[Any, Any, None]]


async def play_in(
    cluster: Cluster,
    faults: Faults,
    moves: int,
    seed: int,
    crowds: int = 1,
    gives_up_s: float | None = None,
) -> None:
    """Lets a crowd play until the faults are over and enough moves are acknowledged; then
    independent clients join in.
    """
    storms = [Storm(cluster, seed + 1000 * number, gives_up_s) for number in range(crowds)]
    async with asyncio.TaskGroup() as tasks:
        running_faults = tasks.create_task(faults(storms[0]))

        def is_short() -> bool:
            return not running_faults.done() or sum(storm.moves for storm in storms) < moves

        tasks.create_task(storms[0].play_while(is_short, running_faults.done))
        await running_faults
        for storm in storms[1:]:
            tasks.create_task(storm.play_while(is_short, running_faults.done))
    played, slowest_s = sum(storm.moves for storm in storms), storms[0].slowest_s
    print(f"seed {seed}: {played} moves acknowledged, all kept; slowest to go on {slowest_s:.1f} s")


async def fall_at(member: Member, place: str, chance: random.Random, kills: int) -> None:
    """Lets a node die at a failpoint again and again, and restarts it each time, also when a busy
    database kept it from starting.
    """
    fallen = 0
    for _ in range(2 * kills):
        await member.kill()
        await member.launch(failpoint=f"{place}:{chance.randrange(1, 40)}")
        fallen += await member.wait(120) == -signal.SIGKILL
        if fallen == kills:
            break
    assert fallen == kills, f"{member.name} came to {place} only {fallen} times"
    await member.start()
