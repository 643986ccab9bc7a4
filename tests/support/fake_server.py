"""Fakes for hubs and rooms: a store that fails on command, scripted engines, clients in memory.

Time is the event loop's: on virtual time (see `virtual`) a test of minutes takes milliseconds.
"""

import asyncio
import functools
import itertools
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar, cast

from engine.game import Game
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Load, Result, RootMove
from server.bot.registry import kind_of_question
from server.bus.base import (
    Bus,
    BusCounters,
    BusMessage,
    GapHandler,
    Heartbeat,
    MessagesLost,
    NodeHandler,
    RoomHandler,
)
from server.bus.local import LocalBus
from server.commands import Chat, ChatTo, ClientCommand, Create, Move, Sit
from server.ids import IdentityId, NodeId, RoomId
from server.limits import by_address as limits
from server.ports import NoStudies, OnInfo, Ports, Studies
from server.protocol import messages as wire
from server.protocol.outbound import Batch, Outbound
from server.rooms.model import Actor
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.runtime.requests import Request
from server.seats.background import BackgroundSearches
from server.settings import Settings
from server.store.base import Condition, Store, StoreUnavailable
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import run_virtual

P = ParamSpec("P")
T = TypeVar("T")
Message = dict[str, Any]
#: The time of the fake server at the start of a loop, in ms since 1970.
START_MS = 1_700_000_000_000
COMMAND_IDS = itertools.count(1)


def virtual(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs an async test on virtual time.

    An exception that nothing caught, in a timer or in a task that nothing awaits, fails it too.
    """

    async def main(*args: P.args, **kwargs: P.kwargs) -> None:
        uncaught: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: uncaught.append(context)
        )
        await test(*args, **kwargs)
        assert uncaught == []

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        run_virtual(main(*args, **kwargs))

    return run


def loop_ms() -> int:
    """Returns the fake server's time in milliseconds: START_MS plus the event loop's time."""
    return START_MS + int(asyncio.get_running_loop().time() * 1000)


# --- the store


@dataclass
class Fault:
    """A failure of one call, before its work or after it; the caller sees the same error."""

    after: bool = False
    error: Exception = field(default_factory=lambda: StoreUnavailable("a fault of the test"))


class FaultyStore:
    """A store in memory; a test can make its calls fail or wait. `calls` counts them.

    A call has the name of its method: "append" is `store.logs.append`.
    """

    def __init__(self, memory: MemoryStore | None = None) -> None:
        self.memory = memory or MemoryStore(loop_ms)
        self.epoch = self.memory.epoch
        self.installation = self.memory.installation
        self.logs = self._with_faults(self.memory.logs)
        self.projections = self._with_faults(self.memory.projections)
        self.nodes = self._with_faults(self.memory.nodes)
        self.analyses = self._with_faults(self.memory.analyses)
        self.identities = self._with_faults(self.memory.identities)
        self.expiry = self._with_faults(self.memory.expiry)
        self.faults: dict[str, list[Fault]] = {}
        self.down = False
        self.current_condition = Condition("ok")
        self.gates: dict[str, asyncio.Event] = {}
        self.waiting: dict[str, asyncio.Event] = {}
        self.calls: dict[str, int] = {}

    def _with_faults(self, part: T) -> T:
        return cast(T, _FaultyPart(part, self))

    def fail(self, call: str, *faults: Fault) -> None:
        """Makes the next calls of this name fail."""
        assert self._has_call(call), f"a store has no {call}"
        self.faults.setdefault(call, []).extend(faults or [Fault()])

    def hold(self, call: str) -> asyncio.Event:
        """Blocks calls of this name until the event is set; `waiting` is set by a blocked call."""
        assert self._has_call(call), f"a store has no {call}"
        self.waiting[call] = asyncio.Event()
        self.gates[call] = asyncio.Event()
        return self.gates[call]

    def _has_call(self, call: str) -> bool:
        return any(hasattr(part, call) for part in (self.memory, *vars(self.memory).values()))

    async def run(self, call: str, work: Coroutine[Any, Any, T]) -> T:
        """Does the work of a call, with the call's faults."""
        self.calls[call] = self.calls.get(call, 0) + 1
        fault = self.faults[call].pop(0) if self.faults.get(call) else None
        if self.down or (fault is not None and not fault.after):
            work.close()
            raise fault.error if fault is not None else StoreUnavailable("the store is down")
        if call in self.gates and not self.gates[call].is_set():
            self.waiting[call].set()
            try:
                await self.gates[call].wait()
            except asyncio.CancelledError:
                work.close()
                raise
        result = await work
        if fault is not None:
            raise fault.error
        return result

    async def bus_key(self) -> bytes:
        return await self.run("bus_key", self.memory.bus_key())

    async def check(self) -> None:
        await self.run("check", self.memory.check())

    def condition(self) -> Condition:
        return self.current_condition


class _FaultyPart:
    """A part of a store, whose calls run with the faults of a FaultyStore."""

    def __init__(self, part: object, store: FaultyStore) -> None:
        self._part = part
        self._store = store

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._store.run(name, getattr(self._part, name)(*args, **kwargs))

        return call


class UnreliableStore(FaultyStore):
    """A store that fails at random, from a seed: before its work or, with `after`, after it."""

    def __init__(self, seed: int, rate: float, after: bool = True) -> None:
        super().__init__()
        self._rng = random.Random(seed)
        self._rate = rate
        self._after = after

    async def run(self, call: str, work: Coroutine[Any, Any, T]) -> T:
        if call not in ("add_guest", "heartbeat") and self._rng.random() < self._rate:
            self.fail(call, Fault(after=self._after and self._rng.random() < 0.5))
        return await super().run(call, work)


# --- the bus


class FaultyBus:
    """A bus that loses, duplicates, delays and reorders messages at random, from a seed.

    `fault_rate` is the probability of each fault. As the bus over MQTT does, it reports with a
    node's next heartbeat that messages of that node were lost.
    """

    def __init__(self, seed: int = 0, fault_rate: float = 0.0, delay_s: float = 0.02) -> None:
        self._rng = random.Random(seed)
        self.fault_rate = fault_rate
        self._delay_s = delay_s
        self._inner = LocalBus()
        self._missed: set[str] = set()
        #: True drops every message.
        self.cut = False
        #: Whether the bus reports that messages flow.
        self.is_up = True

    def publish(self, message: BusMessage) -> None:
        if self.cut:
            return
        if self._rng.random() < self.fault_rate:
            self._missed.add(message.node)
            return
        if isinstance(message, Heartbeat) and message.node in self._missed:
            self._missed.remove(message.node)
            asyncio.get_running_loop().call_soon(self._inner.publish, MessagesLost(message.node))
        copies = 2 if self._rng.random() < self.fault_rate else 1
        for _ in range(copies):
            if self._rng.random() < self.fault_rate:
                delay_s = self._rng.random() * self._delay_s
                asyncio.get_running_loop().call_later(delay_s, self._inner.publish, message)
            else:
                asyncio.get_running_loop().call_soon(self._inner.publish, message)

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        return self._inner.subscribe(room, receive)

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        return self._inner.listen(receive)

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        return self._inner.on_gap(call)

    def counters(self) -> BusCounters:
        return self._inner.counters()


# --- the engines

Answer = Callable[[Job], Awaitable[str]]


async def first_legal(job: Job) -> str:
    """Answers with the first legal move, at once."""
    game = load_game(job.game)
    position = game.position(job.start, job.options)
    for token in job.moves:
        position = position.play(position.parse_move(token))
    return position.tokens()[0]


class ScriptedEngines:
    """Engines whose `answer` a test sets.

    `jobs` are the requested searches, `cancelled` the cancelled ones; `requested` is set at each
    request. `warm`, `percent` and `warming` are the state of the compilation that they report, and
    `expected` the announced games.
    """

    def __init__(self, answer: Answer = first_legal) -> None:
        self.answer = answer
        self.jobs: list[Job] = []
        self.cancelled: list[Job] = []
        self.requested = asyncio.Event()
        self.warm = True
        self.percent = 0
        self.warming = False
        self.expected: list[str] = []
        self.score = 0

    def is_warm(self, game_id: str) -> bool:
        return self.warm

    def warm_percent(self, game_id: str) -> int:
        return 100 if self.warm else self.percent

    def expect(self, game_id: str) -> None:
        self.expected.append(game_id)

    def load(self) -> Load:
        return Load(len(self.jobs), 0, 1)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.jobs.append(job)
        self.requested.set()
        try:
            move = await self.answer(job)
        except asyncio.CancelledError:
            self.cancelled.append(job)
            raise
        info = Info(1, self.score, 1, 1, 1, (move,), (RootMove(move, self.score),), self.warming)
        on_info(info)
        return Result(move, info)


# --- clients


class Inbox:
    """The messages that a client has received, in their order of arrival."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._received = asyncio.Event()

    def receive(self, *messages: Message) -> None:
        """Adds messages."""
        self.messages += messages
        self._received.set()

    async def until(self, wanted: Callable[[Message], bool], since: int = 0) -> Message:
        """Returns the first matching message from index `since` on; waits until there is one."""
        index = since
        async with asyncio.timeout(60):
            while True:
                while index < len(self.messages):
                    if wanted(self.messages[index]):
                        return self.messages[index]
                    index += 1
                self._received.clear()
                await self._received.wait()

    async def answer(self, key: str) -> Message:
        """Returns the first answer to a command; waits until there is one."""
        return await self.until(lambda m: m["t"] in ("ack", "error") and m["id"] == key)

    async def event(self, kind: str, since: int = 0) -> Message:
        """Returns the first event of this kind; waits until there is one."""
        return await self.until(lambda m: m["t"] == "event" and m["kind"] == kind, since)

    async def wait_for_v(self, v: int) -> None:
        """Waits for event v, or for a snapshot at or beyond it."""
        await self.until(lambda m: m["t"] in ("event", "snapshot") and m["v"] >= v)

    def events(self) -> list[Message]:
        """Returns the events in their order of arrival."""
        return [m for m in self.messages if m["t"] == "event"]

    def of(self, t: str) -> list[Message]:
        """Returns the messages of one type."""
        return [m for m in self.messages if m["t"] == t]

    def answers(self, key: str) -> list[Message]:
        """Returns all answers to a command."""
        return [m for m in self.messages if m["t"] in ("ack", "error") and m["id"] == key]


class Client(Inbox):
    """A client in memory, connected to a hub: a `server.ports.Follower`."""

    def __init__(self, hub: Hub, identity: str, name: str | None = None) -> None:
        super().__init__()
        self.actor = Actor(IdentityId(identity), name or identity.title())
        self.hub = hub
        self.closed = False
        self._rooms: set[RoomId] = set()

    @property
    def identity(self) -> IdentityId:
        return self.actor.identity

    def send(self, *messages: Outbound) -> None:
        self.receive(*[json.loads(message.payload()) for message in messages])

    def send_batch(self, batch: Batch) -> None:
        self.send(*batch.messages)

    def send_ephemeral(self, message: Outbound) -> None:
        self.send(message)

    def close(self, has_closed_page: bool = False) -> None:
        """Disconnects the client, by default without a word, as in a crash."""
        self.closed = True
        self.hub.forget(self, self._rooms, has_closed_page)

    # --- sending

    def send_command(self, command: wire.RoomFrame) -> None:
        """Sends a command to its room."""
        room_id = RoomId(command.room)
        self._rooms.add(room_id)
        inner = command.command if isinstance(command, wire.CommandFrame) else command
        request = Request(self.actor, inner, self, received_ms=self.hub.ports.now_ms())
        self.hub.submit(room_id, request)

    async def ask(self, command: wire.RoomFrame) -> Message:
        """Sends a command and waits for its answer."""
        self.send_command(command)
        return await self.answer(command.id)

    async def ack(self, command: wire.RoomFrame) -> int | None:
        """Sends a command that must be acknowledged; returns the v in the ack."""
        answer = await self.ask(command)
        assert answer["t"] == "ack", answer
        v: int | None = answer["v"]
        return v

    async def expect_refusal(self, command: wire.RoomFrame) -> str:
        """Sends a command that must be refused; returns the code."""
        answer = await self.ask(command)
        assert answer["t"] == "error", answer
        return str(answer["code"])

    async def create(
        self, game: str = "tic-tac-toe", key: str | None = None, **fields: Any
    ) -> RoomId:
        """Creates a room and returns its id."""
        command = Create(id=key or self.new_id(), game=game, **fields)
        ack = await self.hub.create(self.actor, command)
        assert isinstance(ack.room, str)
        return RoomId(ack.room)

    def new_id(self) -> str:
        return f"{self.identity}-{next(COMMAND_IDS)}"

    def join(self, room: str, since: int = 0, epoch: str | None = None) -> wire.Join:
        return wire.Join(id=self.new_id(), room=room, since=since, epoch=epoch)

    def leave(self, room: str) -> wire.Leave:
        return wire.Leave(id=self.new_id(), room=room)

    def sit(self, room: str, seat: int) -> wire.CommandFrame:
        return wire.CommandFrame(room, Sit(id=self.new_id(), seat=seat))

    def move(self, room: str, ply: int, move: str, key: str | None = None) -> wire.CommandFrame:
        return wire.CommandFrame(room, Move(id=key or self.new_id(), ply=ply, move=move))

    def chat(
        self, room: str, text: str, to: ChatTo = "room", key: str | None = None
    ) -> wire.CommandFrame:
        return wire.CommandFrame(room, Chat(id=key or self.new_id(), text=text, to=to))

    def plain(self, kind: Callable[[str], ClientCommand], room: str) -> wire.CommandFrame:
        """Returns a command of a kind that needs no fields of its own."""
        return wire.CommandFrame(room, kind(self.new_id()))


# --- the server


class FakeServer:
    """A store, a bus and engines, on which a test opens the hubs of nodes."""

    def __init__(
        self, find_game: Callable[[str], Game] = load_game, store: Store | None = None
    ) -> None:
        self.settings = Settings(sole_node=False, ai_pace_ms=0, ai_duel_pace_ms=0, workers=1)
        self.store = FaultyStore()
        self._store_override = store
        self.bus: Bus = FaultyBus()
        self.engines = ScriptedEngines()
        self.studies: Studies = NoStudies()
        self.find_game = find_game
        self._ids = itertools.count(1)

    def unlimited(self) -> "FakeServer":
        """Removes the limits on chat and addresses, for tests that only need many events."""
        self.settings = replace(self.settings, **limits.NO_LIMITS)
        return self

    def now_ms(self) -> int:
        return loop_ms()

    def uptime_ms(self) -> int:
        return loop_ms() - START_MS

    def new_id(self) -> str:
        return f"id{next(self._ids)}"

    def ports(self, node: str, **changes: Any) -> Ports:
        ports = Ports(
            node=NodeId(node),
            settings=self.settings,
            store=self._store_override or self.store,
            bus=self.bus,
            engines=self.engines,
            studies=self.studies,
            find_game=self.find_game,
            now_ms=self.now_ms,
            new_id=self.new_id,
            uptime_ms=self.uptime_ms,
            kind_of_question=kind_of_question,
        )
        ports = replace(ports, **changes)
        if "background" in changes:
            return ports
        background = BackgroundSearches(
            ports.engines, ports.settings, lambda: asyncio.get_running_loop().time()
        )
        return replace(ports, background=background)

    @asynccontextmanager
    async def hub(self, node: str = "n1", **changes: Any) -> AsyncIterator[Hub]:
        """Opens a node's hub."""
        async with open_hub(self.ports(node, **changes)) as hub:
            yield hub


async def run_ready_tasks() -> None:
    """Runs the tasks that can run now, without time passing."""
    for _ in range(100):
        await asyncio.sleep(0)
