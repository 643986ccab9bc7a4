"""Two nodes over one store and a lossy bus: the clients' history breaks no invariant."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.search.job import Job
from server.deploy.postgres import Postgres
from server.limits import by_address as limits
from server.ports import Ports
from server.store.base import Store
from server.store.postgres import open_postgres
from server.store.sqlite import open_sqlite
from tests.oracle.history import READER, History, Message, check
from tests.support.fake_server import FakeServer, FaultyBus, UnreliableStore, first_legal
from tests.support.load import LoadClient, read_everything
from tests.support.log_entries import new_database
from tests.support.node import serve

NAMES = ["ada", "ben", "cyd", "dan"]
GAMES = [
    ("sticks", {"rows": "1-2-3"}),
    ("tic-tac-toe", {}),
    ("connect-four", {}),
    ("sticks", {"rows": "1-3-5-7"}),
]
#: The clocks of the rooms in turn; five, so that each game has each of them.
CLOCKS = (None, "600+5", "60d5", "3/30b2:10+3x5", None)
#: The time limit for clients to catch up, in seconds.
CATCH_UP_S = 60.0

#: Settings of the nodes: short times, rare polls and no limits.
QUICK = {
    "poll_s": 3600.0, "heartbeat_s": 0.2, "messages_per_s": 1e6, "messages_burst": 10**6,
    "rooms_burst": 10**6,
    "ai_pace_ms": 1, "ai_duel_pace_ms": 1, "room_idle_s": 1.0, **limits.NO_LIMITS,
}  # fmt: skip


@dataclass
class RunResult:
    """The history of a run, its rooms, and whether all clients caught up in time."""

    history: History
    rooms: list[str]
    caught_up: bool

    def count(self, message_type: str, direction: str = "in", **fields: object) -> int:
        """Returns the number of messages of a type that the players sent or received."""
        return sum(
            entry.direction == direction and entry.client != READER
            and entry.message.get("t") == message_type
            and all(entry.message.get(name) == value for name, value in fields.items())
            for entry in self.history.entries
        )  # fmt: skip


async def slow_first_legal(job: Job) -> str:
    """Returns the first legal move after a delay, so that nodes can die during a search."""
    await asyncio.sleep(0.005)
    return await first_legal(job)


@asynccontextmanager
async def nodes(
    fake: FakeServer, urls: list[str], names: list[str]
) -> AsyncIterator[list[AsyncExitStack]]:
    """Starts a node for each name and sets its URL; yields the exit stacks that end the nodes."""
    async with AsyncExitStack() as all_nodes:
        stacks = [await all_nodes.enter_async_context(AsyncExitStack()) for _ in names]
        for number, (stack, name) in enumerate(zip(stacks, names, strict=True)):
            urls[number] = await start(fake, stack, name)
        yield stacks


async def start(fake: FakeServer, stack: AsyncExitStack, name: str) -> str:
    """Starts a node; returns the URL of its WebSocket."""
    node = await stack.enter_async_context(serve(fake, name, **QUICK))
    return f"ws://{node.host}/ws"


async def play(
    commands: int,
    seed: int = 1,
    store: Store | None = None,
    fake: FakeServer | None = None,
    restart: bool = True,
    catch_up_s: float = CATCH_UP_S,
) -> RunResult:
    """Plays four clients with `commands` commands each on two nodes.

    With `restart`, one node is stopped after half of the commands and started again.
    """
    fake = fake or FakeServer(store=store)
    bus = FaultyBus(seed, fault_rate=0.2)
    fake.bus, fake.engines.answer = bus, slow_first_legal
    history, urls = History(), ["", ""]
    clients = [LoadClient(name, urls, history, seed) for name in NAMES]
    async with nodes(fake, urls, ["n1", "n2"]) as stacks:
        rooms = await make_rooms(clients)
        playing = [asyncio.create_task(client.play(commands)) for client in clients]
        if restart:
            while min(client.command_count for client in clients) < commands // 2 and not any(
                task.done() for task in playing
            ):
                await asyncio.sleep(0.02)
            await stacks[1].aclose()
            urls[1] = await start(fake, stacks[1], "n2 again")
        await asyncio.gather(*playing)
        bus.fault_rate = 0.0
        caught_up = await catches_up(history, clients, catch_up_s)
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        async with AsyncExitStack() as stack:
            await read_everything(await start(fake, stack, "n3"), rooms, history)
    return RunResult(history, rooms, caught_up)


async def make_rooms(clients: list[LoadClient], half: bool = False) -> list[str]:
    """Creates two rooms for each pair of clients, and one against the AI for each client; half of
    them, one for each pair and two against the AI, with `half`.

    Every client follows all rooms on both nodes. Returns the rooms' ids.
    """
    rooms: list[str] = []
    pairs: list[tuple[LoadClient, LoadClient | None]] = [
        *((host, guest) for host in clients for guest in clients if host is not guest),
        *((host, None) for host in clients),
    ]  # fmt: skip
    for number, (host, guest) in enumerate(pairs[::2] if half else pairs):
        game, options = GAMES[number % len(GAMES)]
        second = {"who": "open"} if guest else {"who": "ai", "level": 1}
        create = {
            "t": "create",
            "id": host.new_id(),
            "game": game,
            "options": options,
            "seats": [{"who": "me"}, second],
        }
        if (clock := CLOCKS[number % len(CLOCKS)]) is not None:
            create["clock"] = clock
        answer = await repeat_until_acked(host, number % 2, create)
        rooms.append(answer["room"])
        if guest is not None:
            await repeat_until_acked(
                guest,
                1 - number % 2,
                {"t": "sit", "id": guest.new_id(), "room": rooms[-1], "seat": 1},
            )
    for client in clients:
        client.rooms = rooms
        for number in range(len(client.links)):
            link = await client.link(number)
            await asyncio.gather(*(client.join(link, room, 0) for room in rooms))
    return rooms


async def repeat_until_acked(client: LoadClient, number: int, message: Message) -> Message:
    """Sends a command again until it is acknowledged; returns the ack."""
    while True:
        answer = await (await client.link(number)).ask(message)
        if answer is not None and answer["t"] == "ack":
            return answer
        await asyncio.sleep(client.pause_s)


async def catches_up(history: History, clients: list[LoadClient], within_s: float) -> bool:
    """Returns whether every connection receives the last event of each room in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await until_all_caught_up(history, clients)
            return True
    return False


async def until_all_caught_up(history: History, clients: list[LoadClient]) -> None:
    while True:
        heads = Counter[str]()
        for entry in history.entries:
            if entry.direction == "in" and entry.message["t"] in ("event", "joined", "snapshot"):
                heads[entry.message["room"]] = max(heads[entry.message["room"]], entry.message["v"])
        if not any(client.lagging_rooms(heads) for client in clients):
            return
        await asyncio.sleep(0.1)


class ManyStores(FakeServer):
    """A fake server whose nodes have stores of their own over one database."""

    def __init__(self, *stores: Store) -> None:
        super().__init__(store=stores[0])
        self._stores = itertools.cycle(stores)

    def ports(self, node: str, **changes: Any) -> Ports:
        return super().ports(node, **{"store": next(self._stores), **changes})


@pytest.mark.parametrize(
    ("backend", "commands"),
    [
        ("memory", 100), ("unreliable", 60), ("sqlite", 60), ("postgres", 60),
        pytest.param("memory", 1000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
        pytest.param("unreliable", 1000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
        pytest.param("sqlite", 1000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
        pytest.param("postgres", 1000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)  # fmt: skip
async def test_four_clients_on_two_nodes(
    backend: str, commands: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Repeated commands, broken connections, a lossy bus and a node's restart break no invariant.

    Clients also change nodes. The same holds with a store that fails at random, even after a write,
    and with separate connections to PostgreSQL for each node.
    """
    async with AsyncExitStack() as stack:
        store: Store | None = None
        fake: FakeServer | None = None
        if backend == "sqlite":
            store = await stack.enter_async_context(open_sqlite(new_database(tmp_path)))
        elif backend == "unreliable":
            store = UnreliableStore(1, 0.05)
        elif backend == "postgres":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = postgres.url(await stack.enter_async_context(postgres.database()))
            fake = ManyStores(
                *[await stack.enter_async_context(open_postgres(url)) for _ in range(2)]
            )
        result = await play(commands, store=store, fake=fake)
    assert check(result.history) == []
    assert result.caught_up, "I7: all clients catch up"
    # Checks that the run covered enough. A short run may not contain the rarest event kind.
    assert result.count("ack") > 2 * commands
    assert result.count("error") > commands // 2
    assert result.count("event", kind="finished") > commands
    assert (result.count("error", code="store.retry") > 10) == (backend == "unreliable")
    messages = [entry.message for entry in result.history.entries]
    kinds = {message["kind"] for message in messages if message.get("t") == "event"}
    assert kinds >= {"moved", "finished", "started", "said", "offered"}
    assert commands < 300 or kinds >= {"hidden", "declined"}
