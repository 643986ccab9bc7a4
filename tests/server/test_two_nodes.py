"""Two hubs over one store and a bad bus give a clean history."""

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
from server.store.sql import open_sqlite
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
#: Time after which a client that has not caught up never will.
HANGS_S = 60.0

QUICK = {
    "poll_s": 3600.0, "heartbeat_s": 0.2, "messages_per_s": 1e6, "messages_burst": 10**6,
    "rooms_burst": 10**6,
    "ai_pace_ms": 1, "ai_duel_pace_ms": 1, "room_idle_s": 1.0, **limits.NO_LIMITS,
}  # fmt: skip


@dataclass
class Crowd:
    """The result of a run."""

    history: History
    rooms: list[str]
    healed: bool

    def count(self, t: str, direction: str = "in", **fields: object) -> int:
        """The number of messages of a type that the players sent or received."""
        return sum(
            one.direction == direction and one.client != READER and one.message.get("t") == t
            and all(one.message.get(name) == value for name, value in fields.items())
            for one in self.history.entries
        )  # fmt: skip


async def hesitant(job: Job) -> str:
    """An engine that takes a moment, so that nodes can die during a search."""
    await asyncio.sleep(0.005)
    return await first_legal(job)


@asynccontextmanager
async def nodes(
    world: FakeServer, urls: list[str], names: list[str]
) -> AsyncIterator[list[AsyncExitStack]]:
    """Starts a node for each name; its exit stack ends it."""
    async with AsyncExitStack() as everything:
        stacks = [await everything.enter_async_context(AsyncExitStack()) for _ in names]
        for number, (stack, name) in enumerate(zip(stacks, names, strict=True)):
            urls[number] = await start(world, stack, name)
        yield stacks


async def start(world: FakeServer, stack: AsyncExitStack, name: str) -> str:
    """Starts a node; returns its WebSocket's address."""
    node = await stack.enter_async_context(serve(world, name, **QUICK))
    return f"ws://{node.host}/ws"


async def play(
    commands: int,
    seed: int = 1,
    store: Store | None = None,
    world: FakeServer | None = None,
    restart: bool = True,
    healed_s: float = HANGS_S,
) -> Crowd:
    """Plays four clients with a number of commands each over two nodes; one node dies half-way and
    comes back.
    """
    world = world or FakeServer(store=store)
    bus = FaultyBus(seed, faults=0.2)
    world.bus, world.engines.answer = bus, hesitant
    history, urls = History(), ["", ""]
    clients = [LoadClient(name, urls, history, seed) for name in NAMES]
    async with nodes(world, urls, ["n1", "n2"]) as stacks:
        rooms = await make_rooms(clients)
        playing = [asyncio.create_task(client.play(commands)) for client in clients]
        if restart:
            while min(client.commands for client in clients) < commands // 2 and not any(
                one.done() for one in playing
            ):
                await asyncio.sleep(0.02)
            await stacks[1].aclose()
            urls[1] = await start(world, stacks[1], "n2 again")
        await asyncio.gather(*playing)
        bus.faults = 0.0
        healed = await heals(history, clients, healed_s)
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        async with AsyncExitStack() as stack:
            await read_everything(await start(world, stack, "n3"), rooms, history)
    return Crowd(history, rooms, healed)


async def make_rooms(clients: list[LoadClient]) -> list[str]:
    """Makes two rooms for each pair of clients and one against the AI for each client; every client
    follows all of them on both nodes.
    """
    made: list[str] = []
    people: list[tuple[LoadClient, LoadClient | None]] = [
        *((one, other) for one in clients for other in clients if one is not other),
        *((one, None) for one in clients),
    ]  # fmt: skip
    for number, (host, guest) in enumerate(people):
        game, options = GAMES[number % len(GAMES)]
        second = {"who": "open"} if guest else {"who": "ai", "level": 1}
        create = {
            "t": "create",
            "id": host.new_id(),
            "game": game,
            "options": options,
            "seats": [{"who": "me"}, second],
        }
        answer = await insist(host, number % 2, create)
        made.append(answer["room"])
        if guest is not None:
            await insist(
                guest,
                1 - number % 2,
                {"t": "sit", "id": guest.new_id(), "room": made[-1], "seat": 1},
            )
    for client in clients:
        client.rooms = made
        for number in range(len(client.links)):
            link = await client.link(number)
            await asyncio.gather(*(client.join(link, room, 0) for room in made))
    return made


async def insist(client: LoadClient, number: int, message: Message) -> Message:
    """Repeats a command until it is acknowledged."""
    while True:
        answer = await (await client.link(number)).ask(message)
        if answer is not None and answer["t"] == "ack":
            return answer


async def heals(history: History, clients: list[LoadClient], within_s: float) -> bool:
    """Whether every connection catches up in time once the bus works again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await everybody_at_the_tail(history, clients)
            return True
    return False


async def everybody_at_the_tail(history: History, clients: list[LoadClient]) -> None:
    while True:
        heads = Counter[str]()
        for one in history.entries:
            if one.direction == "in" and one.message["t"] in ("event", "joined", "snapshot"):
                heads[one.message["room"]] = max(heads[one.message["room"]], one.message["v"])
        if not any(client.behind(heads) for client in clients):
            return
        await asyncio.sleep(0.1)


class ManyStores(FakeServer):
    """A fake server in which each node has its own store over one database."""

    def __init__(self, *stores: Store) -> None:
        super().__init__(store=stores[0])
        self._stores = itertools.cycle(stores)

    def ports(self, node: str, **changes: Any) -> Ports:
        return super().ports(node, **{"store": next(self._stores), **changes})


@pytest.mark.parametrize(
    ("backend", "commands"),
    [
        ("memory", 400), ("unreliable", 300), ("sqlite", 1000), ("postgres", 150),
        pytest.param("postgres", 1000, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)  # fmt: skip
async def test_four_clients_with_a_thousand_commands_each(
    backend: str, commands: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Moves, repeated commands, broken connections, clients that change nodes, a
    lossy bus and the death of a node give a clean history. The same holds over a store that fails
    at times, sometimes after it has written, and when each node has its own connections to
    PostgreSQL.
    """
    async with AsyncExitStack() as stack:
        store: Store | None = None
        world: FakeServer | None = None
        if backend == "sqlite":
            store = await stack.enter_async_context(open_sqlite(new_database(tmp_path)))
        elif backend == "unreliable":
            store = UnreliableStore(1, 0.05)
        elif backend == "postgres":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = postgres.url(await stack.enter_async_context(postgres.database()))
            world = ManyStores(
                *[await stack.enter_async_context(open_postgres(url)) for _ in range(2)]
            )
        crowd = await play(commands, store=store, world=world)
    assert check(crowd.history) == []
    assert crowd.healed, "I7: all are at the tail"
    # The run must have been eventful. A short one may never meet the rarest kind.
    assert crowd.count("ack") > 2 * commands
    assert crowd.count("error") > commands // 2
    assert crowd.count("event", kind="finished") > commands
    assert (crowd.count("error", code="store.retry") > 10) == (backend == "unreliable")
    messages = [one.message for one in crowd.history.entries]
    kinds = {message["kind"] for message in messages if message.get("t") == "event"}
    assert kinds >= {"moved", "finished", "started", "said", "hidden", "offered"}
    assert commands < 300 or "declined" in kinds
