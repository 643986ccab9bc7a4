"""Clients that play on a cluster during faults, and the history of their messages."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from server.deploy.cluster.running import Cluster, Member
from tests.oracle.history import Direction, History, Message, check
from tests.server.test_two_nodes import catches_up, make_rooms
from tests.support.load import LoadClient, read_everything

#: The time limit for clients to catch up or to make progress, in seconds; only a failing test
#: reaches it.
CATCH_UP_S = 60.0
#: The names of the clients of one load.
NAMES = ["ada", "ben", "cyd", "dan"]
#: The number of acknowledged commands after which the cluster counts as working again.
RECOVERED_ACKS = 25
#: The number of commands of each client in a chapter. A chapter has its own rooms, and its history
#: is checked.
CHAPTER_COMMANDS = 300
#: The same number for clients that pause, and their pause in seconds. They play in half of the
#: rooms, so that they soon play while faults occur.
SLOW_CHAPTER_COMMANDS, PAUSE_S = 25, 0.1
#: The types of messages that the checker does not need; they would fill the memory.
UNCHECKED = {"view", "thinking", "presence", "pong"}
#: The time limit for a connection, in seconds: a node may be restarting on a busy machine.
CONNECT_S = 300.0


class Recording(History):
    """A history that counts acknowledged moves and stores only the messages that are checked."""

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


class ClusterLoad:
    """Four clients that play on a cluster; `moves` counts their acknowledged moves."""

    def __init__(
        self, cluster: Cluster, seed: int, answer_timeout_s: float | None = None, slow: bool = False
    ) -> None:
        self.cluster = cluster
        self.rng = random.Random(seed)
        self._seed = seed
        self._urls = [f"{url.replace('http', 'ws', 1)}/ws" for url in cluster.urls]
        self._history = Recording()
        self._earlier_moves = self._earlier_acks = 0
        self._chapters = 0
        self._answer_timeout_s = answer_timeout_s
        self._slow = slow
        self._pause_s = PAUSE_S if slow else 0.0
        self._chapter_commands = SLOW_CHAPTER_COMMANDS if slow else CHAPTER_COMMANDS
        self._checking_s = 0.0
        #: The longest wait in `wait_for_progress`, in seconds.
        self.longest_wait_s = 0.0

    @property
    def moves(self) -> int:
        return self._earlier_moves + self._history.moves

    @property
    def acks(self) -> int:
        """The number of acknowledged commands of all kinds."""
        return self._earlier_acks + self._history.acks

    async def play(self, faults_are_over: Callable[[], bool]) -> None:
        """Plays one chapter; raises AssertionError with the checker's findings.

        Once the faults are over, every client must catch up.
        """
        self._chapters += 1
        self._earlier_moves, self._earlier_acks = self.moves, self.acks
        self._history = Recording()
        seed = f"{self._seed}, chapter {self._chapters}"
        clients = [
            LoadClient(
                name, self._urls, self._history, self._seed * 1000 + self._chapters, CONNECT_S,
                self._answer_timeout_s, self._pause_s
            )
            for name in NAMES
        ]  # fmt: skip
        rooms = await make_rooms(clients, half=self._slow)
        await asyncio.gather(
            *(client.play(client.command_count + self._chapter_commands) for client in clients)
        )
        if faults_are_over():
            assert await catches_up(self._history, clients, CATCH_UP_S), (
                f"seed {seed}: I7: not at the tail {CATCH_UP_S:g} s later"
            )
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        await self._read(rooms)
        begun_s = time.perf_counter()
        findings = await asyncio.to_thread(check, self._history)  # the other loads continue
        self._checking_s += time.perf_counter() - begun_s
        assert findings == [], "\n".join([f"seed {seed}", *findings[:20]])

    async def play_while(
        self, needs_moves: Callable[[], bool], faults_are_over: Callable[[], bool]
    ) -> None:
        """Plays one chapter after another as long as `needs_moves` is true."""
        while needs_moves():
            await self.play(faults_are_over)

    async def wait_for_progress(self) -> None:
        """Waits until RECOVERED_ACKS more commands are acknowledged.

        Records the longest wait, without the time of the checks.
        """
        loop = asyncio.get_running_loop()
        before, begun_s = self.acks, loop.time() - self._checking_s
        async with asyncio.timeout(CATCH_UP_S):
            while self.acks < before + RECOVERED_ACKS:
                await asyncio.sleep(0.05)
        self.longest_wait_s = max(self.longest_wait_s, loop.time() - self._checking_s - begun_s)

    async def _read(self, rooms: list[str]) -> None:
        """Reads each room to its end on a random node.

        A scout first joins at the highest v that any client has seen, so that a lagging node reads
        the store.
        """
        url = self.rng.choice(self._urls)
        highest = Counter[str]()
        for entry in self._history.entries:
            if entry.direction == "in" and entry.message["t"] == "event":
                room, v = entry.message["room"], entry.message["v"]
                highest[room] = max(highest[room], v)
        scout = LoadClient("scout", [url], self._history, 0)
        link = await scout.link(0)
        for room in rooms:
            await scout.join(link, room, highest[room])
        await link.close()
        await read_everything(url, rooms, self._history)


#: A function that injects faults into a cluster while clients play on it.
Faults = Callable[[ClusterLoad], Coroutine[Any, Any, None]]


async def play_during(
    cluster: Cluster,
    faults: Faults,
    moves: int,
    seed: int,
    load_count: int = 1,
    answer_timeout_s: float | None = None,
    slow: bool = False,
) -> None:
    """Runs loads until the faults are over and `moves` moves are acknowledged.

    The first load plays during the faults, the other `load_count` - 1 after them. The clients of a
    `slow` load pause, so that a short test takes little CPU time while it waits for the faults.
    """
    loads = [
        ClusterLoad(cluster, seed + 1000 * number, answer_timeout_s, slow)
        for number in range(load_count)
    ]
    async with asyncio.TaskGroup() as tasks:
        fault_task = tasks.create_task(faults(loads[0]))

        def needs_moves() -> bool:
            return not fault_task.done() or sum(load.moves for load in loads) < moves

        tasks.create_task(loads[0].play_while(needs_moves, fault_task.done))
        await fault_task
        for load in loads[1:]:
            tasks.create_task(load.play_while(needs_moves, fault_task.done))
    played, longest_wait_s = sum(load.moves for load in loads), loads[0].longest_wait_s
    print(
        f"seed {seed}: {played} moves acknowledged, none lost;"
        f" longest wait for progress {longest_wait_s:.1f} s"
    )


async def kill_at_failpoint(
    member: Member, place: str, rng: random.Random, kills: int, latest: int
) -> None:
    """Makes a node die at a failpoint `kills` times, in one of its first `latest` passes there, and
    restarts it each time.

    A start may fail because the database is busy; that does not count.
    """
    deaths = 0
    for _ in range(2 * kills):
        await member.kill()
        await member.launch(failpoint=f"{place}:{rng.randint(1, latest)}")
        deaths += await member.wait(120) == -signal.SIGKILL
        if deaths == kills:
            break
    assert deaths == kills, f"{member.name} died at {place} only {deaths} times"
    await member.start()
