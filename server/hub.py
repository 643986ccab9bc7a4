"""The rooms of one node: opened when somebody needs them, put away when nobody does, woken when they are due."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from engine.game import UnknownGame
from server import protocol as wire
from server.bus.base import Beat, Gone, Listed, Missed, NodeMessage
from server.codec import format_message
from server.codes import Code
from server.frames import text_frame
from server.lobby import Lobby
from server.ports import Follower, Ports
from server.projections import projections, stored
from server.rate import Bucket
from server.requests import Look, Request, TakeOver
from server.room import rules
from server.room.model import Author, CommandRejected, Room
from server.runner import RoomRunner
from server.store.base import Append, CommandKey, NewRoom, StoredEvent, StoreError

log = structlog.get_logger()

SWEEP_S = 5.0
REFRESHES = 6
"""So many sweeps are between two times that a room says who is there."""
STALLED_POLL_S = 1.0
"""How often heads are compared with the store while the bus does not flow."""
SILENT_NODE_S = 4.0
"""A node that has not been heard of for so long is not there."""
HASTE_S = 0.2
"""How often due rooms are looked for while the heartbeat of a node that is gone runs out."""

QUICK_MS = 200
"""An answer of the store that took longer says little of its clock."""


class Hub:
    """The rooms of this node. Use `async with open_hub(ports) as hub`."""

    def __init__(self, ports: Ports, tasks: asyncio.TaskGroup) -> None:
        self.ports = ports
        self.lobby = Lobby(ports, self.runner)
        self._tasks = tasks
        self._runners: dict[str, RoomRunner] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._made: dict[str, Bucket] = {}
        self._heard_s: dict[str, float] = {}  # the other nodes, by when they were last heard of
        self._hasty_until_s = 0.0
        self._sweeps = 0
        self._lapsed: set[str] | None = set()
        self._lapse = asyncio.Event()
        self.clock_ahead_ms = 0
        """How far this node's clock is ahead of the store's; behind it, when negative."""

    def __len__(self) -> int:
        """The rooms in memory."""
        return len(self._runners)

    def runner(self, room_id: str) -> RoomRunner | None:
        """The room's runner, if the room is open here."""
        return self._runners.get(room_id)

    def submit(self, room_id: str, request: Request) -> bool:
        """Hands a request to its room, which answers it; False when it was refused at once."""
        runner = self._runners.get(room_id) or self._open(room_id)
        if runner is None:
            _refuse(request, Code.ROOM_LIMIT, "this server has no place for another room now; try later")
            return False
        if not runner.submit(request):
            _refuse(request, Code.ROOM_BUSY, "too many commands wait for this room; send it again")
            return False
        return True

    def forget(self, follower: Follower, rooms: set[str]) -> None:
        """A connection is gone, from these rooms and the lobby."""
        self.lobby.leave(follower)
        for room_id in rooms:
            if runner := self._runners.get(room_id):
                runner.forget(follower)

    async def create(self, author: Author, command: wire.Create) -> wire.Ack:
        """Makes a room, once for each (author, id); CommandRejected or StoreError says why there is none."""
        # Not the author's own key: that belongs to the author's commands in the new room, which may have the same id.
        key = CommandKey(f"create {author.identity}", command.id)
        now_ms = self.ports.now_ms()
        try:
            room, entries, events = self._first_events(author, command, now_ms)
        except CommandRejected:
            # What was acknowledged once is acknowledged again, whatever the limits say by now.
            earlier = await self.ports.store.created_room(author.identity, command.id)
            if earlier is None:
                raise
            return await self._made_before(earlier, key)
        append = Append(
            room=room.id, expected_v=0, events=entries, node=self.ports.node, due_ms=room.due_ms(), command=key,
            projections=projections(room, events, None),
        )  # fmt: skip
        new = NewRoom(append, room.game_id, room.visibility == "public", author.identity, command.id, now_ms)
        earlier = await self.ports.store.create_room(new)
        if earlier is not None:
            return await self._made_before(earlier, key)
        self._open(room.id, room)
        self.lobby.changed(room.id)
        if room.has_ai:
            self.ports.engines.expect(room.game_id)
        return wire.Ack(command.id, room.v, room.id)

    async def _made_before(self, room: str, key: CommandKey) -> wire.Ack:
        made = await self.ports.store.find_command(room, key)
        return wire.Ack(key.id, made[1] if made else None, room)

    def _first_events(
        self, author: Author, command: wire.Create, now_ms: int
    ) -> tuple[Room, tuple[StoredEvent, ...], list[wire.RoomEvent]]:
        try:
            game = self.ports.find_game(command.game)
            events = rules.create(author, command, game, self.ports.new_id)
        except UnknownGame as error:
            raise CommandRejected(Code.GAME_UNKNOWN, str(error)) from error
        except CommandRejected:
            raise
        except Exception as fault:  # GameFault, or whatever a plug-in's file raises while it is imported
            log.error("game fault", game=command.game, fault=str(fault), exc_info=True)
            raise CommandRejected(Code.GAME_FAULT, "the rules of this game failed at the start") from fault
        self._limit(author.identity)
        room = rules.first(self.ports.new_id(), events[0], now_ms, self.ports.find_game)
        entries = [stored(room, events[0], now_ms)]
        for event in events[1:]:
            room = rules.evolve(room, event, now_ms)
            entries.append(stored(room, event, now_ms))
        return room, tuple(entries), events

    def _limit(self, identity: str) -> None:
        settings = self.ports.settings
        now_s = self.ports.now_ms() / 1000
        bucket = self._made.get(identity)
        if bucket is None:
            bucket = self._made[identity] = Bucket(settings.rooms_per_minute / 60, settings.rooms_burst, now_s)
        if not bucket.take(now_s):
            raise CommandRejected(Code.RATE_EXCEEDED, f"at most {settings.rooms_per_minute:g} rooms a minute")

    # --- opening and closing rooms ---

    def _open(self, room_id: str, known: Room | None = None) -> RoomRunner | None:
        if room_id in self._runners:
            return self._runners[room_id]
        if len(self._runners) >= self.ports.settings.max_rooms:
            self.put_idle_away(0)
            if len(self._runners) >= self.ports.settings.max_rooms:
                return None
        runner = RoomRunner(room_id, self.ports, self._spawn, self.lobby.changed, known)
        self._runners[room_id] = runner
        self._running[room_id] = self._spawn(self._run(runner), f"room {room_id}")
        return runner

    async def _run(self, runner: RoomRunner) -> None:
        try:
            await runner.run()
        except Exception:
            log.exception("room failed", room=runner.room_id)
        finally:
            if self._runners.get(runner.room_id) is runner:
                del self._runners[runner.room_id]
                del self._running[runner.room_id]

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(work, name=name)

    def put_idle_away(self, after_s: float) -> None:
        """Lets rooms leave memory that nobody has needed for so long."""
        before_ms = self.ports.now_ms() - after_s * 1000
        for room_id, runner in tuple(self._runners.items()):
            if runner.idle and runner.idle_since_ms <= before_ms:
                del self._runners[room_id]
                self._running.pop(room_id).cancel()

    # --- what happens by itself ---

    async def beat(self) -> None:
        """Says that this node is alive, and compares its clock with the store's."""
        before_ms = self.ports.now_ms()
        theirs_ms = await self.ports.store.heartbeat(self.ports.node, int(3000 * self.ports.settings.heartbeat_s))
        after_ms = self.ports.now_ms()
        if after_ms - before_ms <= QUICK_MS:  # a slow answer tells the time too vaguely
            self.clock_ahead_ms = (before_ms + after_ms) // 2 - theirs_ms

    async def take_due_rooms(self, all_nodes: bool) -> int:
        """Takes over the rooms whose wake-up has come and whose node is gone; returns how many."""
        rooms = await self.ports.store.due_rooms(self.ports.now_ms(), self.ports.node, all_nodes)
        for room_id in rooms:
            if runner := self._open(room_id):
                runner.submit(TakeOver())
        return len(rooms)

    async def look_at_heads(self, rooms: set[str] | None = None) -> None:
        """Compares open rooms (None: all) with the store, in case the bus has lost a message."""
        looked_at = self._runners if rooms is None else rooms & self._runners.keys()
        heads = await self.ports.store.heads(list(looked_at))
        for room_id, head in heads.items():
            runner = self._runners.get(room_id)
            if runner is not None and runner.room is not None and runner.room.v < head:
                runner.submit(Look())

    async def every(self, period_s: float, name: str) -> None:
        """Runs one of the hub's duties now and again, until cancelled; a store that fails is tried again next time."""
        while True:
            try:
                match name:
                    case "heartbeat":
                        self.ports.bus.publish(Beat(self.ports.node))
                        self._forget_silent_nodes()
                        await self.beat()
                        if not self.ports.settings.alone:
                            await self.take_due_rooms(all_nodes=False)
                    case "sweep":
                        self.put_idle_away(self.ports.settings.room_idle_s)
                        self._refresh_presence()
                        now_s = self.ports.now_ms() / 1000
                        self._made = {one: bucket for one, bucket in self._made.items() if not bucket.full(now_s)}
            except StoreError as error:
                log.warning("store unavailable", duty=name, error=str(error))
            hasty = name == "heartbeat" and asyncio.get_running_loop().time() < self._hasty_until_s
            await asyncio.sleep(min(period_s, HASTE_S) if hasty else period_s)

    # --- the other nodes ---

    def on_node(self, message: NodeMessage) -> None:
        """What another node says of itself, or the bus of it."""
        node = message.node
        if node == self.ports.node:
            return
        if isinstance(message, Gone):
            self._forget_node(node)
            self._hasty_until_s = asyncio.get_running_loop().time() + 4 * self.ports.settings.heartbeat_s
            return
        if node not in self._heard_s:
            for runner in self._runners.values():
                runner.say_who_is_here(asks=True)
        self._heard_s[node] = asyncio.get_running_loop().time()
        match message:
            case Listed():
                self.lobby.heard(message)
            case Missed():
                self.on_lapse(None)
            case Beat():
                pass

    def _forget_node(self, node: str) -> None:
        self._heard_s.pop(node, None)
        for runner in self._runners.values():
            runner.node_gone(node)

    def _forget_silent_nodes(self) -> None:
        """Of a node that was killed there may be nothing but its silence; without a bus everybody is silent."""
        now_s = asyncio.get_running_loop().time()
        if not self.ports.bus.flows:
            self._heard_s = dict.fromkeys(self._heard_s, now_s)
        for node, heard_s in tuple(self._heard_s.items()):
            if heard_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    def _refresh_presence(self) -> None:
        """Says again who is here, in every sixth room each time: what was lost on the bus is not lost for ever."""
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._runners.values()):
            for node in runner.nodes_here:
                self._heard_s.setdefault(node, now_s)
            if self._heard_s and number % REFRESHES == self._sweeps % REFRESHES:
                runner.say_who_is_here()

    def on_lapse(self, rooms: frozenset[str] | None) -> None:
        """The bus may have missed messages about these rooms, or all."""
        self._lapsed = None if rooms is None or self._lapsed is None else self._lapsed | rooms
        for room_id in self._runners if rooms is None else rooms:
            if runner := self._runners.get(room_id):
                runner.say_who_is_here(asks=True)
        self._lapse.set()

    async def watch_heads(self) -> None:
        """Looks at the heads of rooms that the bus is in doubt of at once, and at all of them now and then: every
        second while nothing flows.
        """
        lapsed: set[str] | None = None
        while True:
            try:
                await self.look_at_heads(lapsed)
            except StoreError as error:
                log.warning("store unavailable", duty="poll", error=str(error))
            period_s = self.ports.settings.poll_s if self.ports.bus.flows else STALLED_POLL_S
            with suppress(TimeoutError):
                async with asyncio.timeout(min(period_s, self.ports.settings.poll_s)):
                    await self._lapse.wait()
            lapsed = self._lapsed if self._lapse.is_set() else None
            self._lapsed = set()
            self._lapse.clear()


@asynccontextmanager
async def open_hub(ports: Ports) -> AsyncIterator[Hub]:
    """A hub with its tasks; at the end every room is let go of,
    in the middle of whatever it did (the log is the truth).
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        hub = Hub(ports, tasks)
        settings = ports.settings
        duties: list[asyncio.Task[None]] = []
        deaf = (ports.bus.listen(hub.on_node), ports.bus.on_lapse(hub.on_lapse))
        try:
            await hub.beat()
            if settings.alone:
                while await hub.take_due_rooms(all_nodes=True):
                    pass
            for name, period_s in (("heartbeat", settings.heartbeat_s), ("sweep", SWEEP_S)):
                duties.append(tasks.create_task(hub.every(period_s, name), name=f"hub {name}"))
            duties.append(tasks.create_task(hub.watch_heads(), name="hub poll"))
            duties.append(tasks.create_task(hub.lobby.run(), name="lobby"))
            yield hub
        except Exception as error:
            failure = error  # raised below as itself: a task group would wrap it
        finally:
            for unsubscribe in deaf:
                unsubscribe()
            for task in [*duties, *hub._running.values()]:
                task.cancel()
            ports.bus.publish(Gone(ports.node))
    if not ports.settings.alone:
        with suppress(StoreError):
            await ports.store.heartbeat(ports.node, -1)  # other nodes need not wait to take over what was due here
    if failure is not None:
        raise failure


def _refuse(request: Request, code: Code, message: str) -> None:
    if request.follower is not None:
        error = wire.Error(request.command.id, code, message)
        request.follower.send(text_frame(format_message(error)))
