"""The rooms of one node.

The hub opens a room when a request needs it, closes idle rooms, and takes over rooms whose wake-up
is due.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from engine.game import UnknownGame
from server.bus.base import Heartbeat, LobbyChanged, MessagesLost, NodeDown, NodeMessage
from server.limits.by_address import LimitExceeded, Limits
from server.limits.rate import Bucket
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.codes import Code
from server.protocol.frames import text_frame
from server.rooms import rules
from server.rooms.model import Actor, CommandRejected, Room
from server.runtime.expiry import LOOK_S, Expiry
from server.runtime.lobby import Lobby
from server.runtime.projections import projections, stored
from server.runtime.requests import Request, Resync, TakeOver
from server.runtime.room_runner import RoomRunner
from server.store.base import Append, CommandKey, NewRoom, StoredEvent, StoreError

log = structlog.get_logger()

#: Time between two sweeps over the open rooms, in seconds.
SWEEP_S = 5.0
#: Time for which a new room's place in memory is reserved for its creator to join, in seconds. A
#: shorter `room_idle_s` takes precedence.
RESERVED_S = 10.0
#: Sweeps between two presence reports of a room.
REFRESHES = 6
#: Time between two comparisons of the heads with the store while the bus is stalled, in seconds.
STALLED_POLL_S = 1.0
#: Silence after which a node counts as gone, in seconds.
SILENT_NODE_S = 4.0
#: Margin in seconds: a node that is gone can commit nothing more once the database's statement
#: timeout and this margin have passed.
GOODBYE_S = 1.0
#: Time between two searches for due rooms while the heartbeat of a node that is gone runs out, in
#: seconds.
DUE_ROOMS_RETRY_S = 0.2

#: A round trip to the store that takes longer is not used to estimate the store's clock, in ms.
QUICK_MS = 200


class Hub:
    """The rooms of this node. Use `async with open_hub(ports) as hub`."""

    def __init__(self, ports: Ports, tasks: asyncio.TaskGroup) -> None:
        self.ports = ports
        self.lobby = Lobby(ports, self.runner)
        self._tasks = tasks
        self._runners: dict[str, RoomRunner] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._create_buckets: dict[str, Bucket] = {}
        self.limits = Limits(ports.settings)
        #: New rooms, and the loop time until which the place of each is reserved.
        self._reserved_until_s: dict[str, float] = {}
        #: The other nodes, and the loop time of the last message from each.
        self._last_heard_s: dict[str, float] = {}
        #: Nodes that may commit events that the bus does not deliver, and since when.
        self._doubted_since_s: dict[str, float] = {}
        self._frequent_until_s = 0.0
        self._sweeps = 0
        self._expiry = Expiry(ports)
        self._gap_rooms: set[str] | None = set()
        self._gap_seen = asyncio.Event()
        #: How far this node's clock is ahead of the store's, in ms; negative when it is behind.
        self.clock_ahead_ms = 0

    def __len__(self) -> int:
        """The number of rooms in memory."""
        return len(self._runners)

    def runner(self, room_id: str) -> RoomRunner | None:
        """The room's runner, or None if the room is not open here."""
        return self._runners.get(room_id)

    def submit(self, room_id: str, request: Request, address: str = "") -> bool:
        """Hands a request from that address to its room, which answers it.

        Returns False when it was refused at once.
        """
        try:
            runner = self._runners.get(room_id) or self._open(room_id, address)
        except LimitExceeded as limit:
            _refuse(request, limit.code, limit.message)
            return False
        if not runner.submit(request):
            _refuse(
                request,
                Code.ROOM_BUSY,
                "too many commands are waiting for this room; send it again",
            )
            return False
        return True

    def forget(self, follower: Follower, rooms: set[str]) -> None:
        """Removes a closed connection from these rooms and from the lobby."""
        self.lobby.leave(follower)
        for room_id in rooms:
            if runner := self._runners.get(room_id):
                runner.forget(follower)
                self._reserved_until_s.pop(room_id, None)

    async def create(self, actor: Actor, command: wire.Create, address: str = "") -> wire.Ack:
        """Creates a room, once for each identity and command id.

        Its place is reserved until its creator has joined. Raises CommandRejected or StoreError
        when it creates no room.
        """
        # The prefix keeps this key apart from the actor's commands in the new room, one of which
        # may have the same id.
        key = CommandKey(f"create {actor.identity}", command.id)
        now_ms = self.ports.now_ms()
        try:
            room, entries, events = self._first_events(actor, command, now_ms, address)
        except CommandRejected:
            # A command that was acknowledged once is acknowledged again, whatever the limits say
            # now.
            earlier = await self.ports.store.created_room(actor.identity, command.id)
            if earlier is None:
                raise
            return await self._created_before(earlier, key)
        append = Append(
            room=room.id, expected_v=0, events=entries, node=self.ports.node,
            due_ms=room.due_ms(), command=key, projections=projections(room, events, None),
        )  # fmt: skip
        new = NewRoom(
            append, room.game_id, room.visibility == "public", actor.identity, command.id, now_ms
        )
        try:
            await self.ports.store.mark_sat(actor.identity)
            earlier = await self.ports.store.create_room(new)
        except BaseException:
            self.limits.room_slots.free(room.id)
            raise
        if earlier is not None:
            self.limits.room_slots.free(room.id)
            return await self._created_before(earlier, key)
        self._reserved_until_s[room.id] = asyncio.get_running_loop().time() + RESERVED_S
        self._open(room.id, address, room)
        self.lobby.changed(room.id)
        if room.has_ai:
            self.ports.engines.expect(room.game_id)
        return wire.Ack(command.id, room.v, room.id)

    async def _created_before(self, room: str, key: CommandKey) -> wire.Ack:
        """The ack of a room that this command created earlier."""
        made = await self.ports.store.find_command(room, key)
        return wire.Ack(key.id, made[1] if made else None, room)

    def _first_events(
        self, actor: Actor, command: wire.Create, now_ms: int, address: str
    ) -> tuple[Room, tuple[StoredEvent, ...], list[wire.RoomEvent]]:
        """The new room with its log entries and events, after checking every limit.

        Also takes a place in memory for the room.
        """
        try:
            game = self.ports.find_game(command.game)
            events = rules.create(actor, command, game, self.ports.new_id)
        except UnknownGame as error:
            raise CommandRejected(Code.GAME_UNKNOWN, str(error)) from error
        except CommandRejected:
            raise
        except Exception as fault:  # a plug-in's file may raise anything while it is imported
            log.error("game fault", game=command.game, fault=str(fault), exc_info=True)
            raise CommandRejected(
                Code.GAME_FAULT, "the rules of this game failed at the start"
            ) from fault
        self._make_place(address)
        self._limit(actor.identity)
        self.limits.rooms.take(address, now_ms / 1000)
        room = rules.first(self.ports.new_id(), events[0], now_ms, self.ports.find_game)
        entries = [stored(room, events[0], now_ms)]
        for event in events[1:]:
            room = rules.evolve(room, event, now_ms)
            entries.append(stored(room, event, now_ms))
        self.limits.room_slots.take(room.id, address)
        return room, tuple(entries), events

    def _limit(self, identity: str) -> None:
        """Takes a token for creating a room. Raises LimitExceeded if the identity has none."""
        settings = self.ports.settings
        now_s = self.ports.now_ms() / 1000
        bucket = self._create_buckets.get(identity)
        if bucket is None:
            bucket = self._create_buckets[identity] = Bucket(
                settings.rooms_per_minute / 60, settings.rooms_burst, now_s
            )
        if not bucket.take(now_s):
            retry_s = max(1, math.ceil(bucket.wait_s()))
            raise LimitExceeded(
                Code.RATE_EXCEEDED, f"at most {settings.rooms_per_minute:g} rooms a minute", retry_s
            )

    # --- opening and closing rooms ---

    def _make_place(self, address: str) -> None:
        """Closes idle rooms if there is no place for another one.

        Raises LimitExceeded if that is not enough.
        """
        room_slots = self.limits.room_slots
        if room_slots.is_full():
            self._clear(self._runners)
        elif room_slots.is_full_for(address):
            self._clear(room_slots.rooms_of(address))
        room_slots.check(address, math.ceil(self.ports.settings.room_idle_s))

    def _open(self, room_id: str, address: str, known: Room | None = None) -> RoomRunner:
        """The room's runner, started if need be.

        Raises LimitExceeded when there is no place for the room.
        """
        if room_id in self._runners:
            return self._runners[room_id]
        if room_id not in self.limits.room_slots:
            self._make_place(address)
            self.limits.room_slots.take(room_id, address)
        runner = RoomRunner(room_id, self.ports, self._spawn, self.lobby.changed, known)
        self._runners[room_id] = runner
        self._running[room_id] = self._spawn(self._run(runner), f"room {room_id}")
        return runner

    async def _run(self, runner: RoomRunner) -> None:
        """Runs a room and frees its place at the end."""
        try:
            await runner.run()
        except Exception:
            log.exception("room failed", room=runner.room_id)
        finally:
            if self._runners.get(runner.room_id) is runner:
                self._close(runner.room_id)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(work, name=name)

    def put_idle_away(self, after_s: float) -> None:
        """Closes the rooms that have been idle for `after_s` seconds."""
        now_ms = self.ports.now_ms()
        for room_id, runner in tuple(self._runners.items()):
            # A time in the future means that the clock was set back.
            needed_lately = now_ms - after_s * 1000 < runner.idle_since_ms <= now_ms
            if runner.idle and not needed_lately:
                self._close(room_id).cancel()

    def _clear(self, rooms: Iterable[str]) -> None:
        """Closes those of the rooms that are idle, except new ones whose place is reserved."""
        now_s = asyncio.get_running_loop().time()
        for room_id in tuple(rooms):
            runner = self._runners.get(room_id)
            if (
                runner is not None
                and runner.idle
                and self._reserved_until_s.get(room_id, now_s) <= now_s
            ):
                self._close(room_id).cancel()

    def _close(self, room_id: str) -> "asyncio.Task[None]":
        """Frees the room's place in memory and returns its task, which the caller cancels."""
        self.limits.room_slots.free(room_id)
        self._reserved_until_s.pop(room_id, None)
        del self._runners[room_id]
        return self._running.pop(room_id)

    # --- periodic duties ---

    async def beat(self) -> None:
        """Writes this node's heartbeat and compares its clock with the store's."""
        before_ms = self.ports.now_ms()
        theirs_ms = await self.ports.store.heartbeat(
            self.ports.node, int(3000 * self.ports.settings.heartbeat_s)
        )
        after_ms = self.ports.now_ms()
        if after_ms - before_ms <= QUICK_MS:  # a slow round trip is a poor estimate
            self.clock_ahead_ms = (before_ms + after_ms) // 2 - theirs_ms

    async def take_over_due_rooms(self, all_nodes: bool) -> int:
        """Takes over due rooms whose node is gone, or those of all nodes. Returns their number."""
        rooms = await self.ports.store.due_rooms(self.ports.now_ms(), self.ports.node, all_nodes)
        for room_id in rooms:
            with suppress(LimitExceeded):
                self._open(room_id, "").submit(TakeOver())
        return len(rooms)

    async def take_over_all_due_rooms(self) -> None:
        """Takes over every due room, whichever node had it.

        Runs in the background when a node that is alone starts, so players do not wait for it.
        """
        while True:
            try:
                while await self.take_over_due_rooms(all_nodes=True):
                    pass
                return
            except StoreError as error:
                log.warning("store unavailable", duty="due rooms", error=str(error))
                await asyncio.sleep(self.ports.settings.heartbeat_s)

    async def compare_heads(self, rooms: set[str] | None = None) -> None:
        """Compares open rooms (None: all of them) with the store, in case the bus lost events."""
        looked_at = self._runners if rooms is None else rooms & self._runners.keys()
        heads = await self.ports.store.heads(list(looked_at))
        for room_id, head in heads.items():
            runner = self._runners.get(room_id)
            if runner is not None and runner.room is not None and runner.room.v < head:
                runner.submit(Resync())

    async def every(self, period_s: float, name: str) -> None:
        """Runs one of the hub's duties periodically until cancelled.

        After a store failure it tries again the next time.
        """
        while True:
            try:
                match name:
                    case "heartbeat":
                        self.ports.bus.publish(Heartbeat(self.ports.node))
                        self._forget_silent_nodes()
                        await self.beat()
                        if not self.ports.settings.alone:
                            await self.take_over_due_rooms(all_nodes=False)
                            await self._compare_nodes()
                    case "sweep":
                        self.put_idle_away(self.ports.settings.room_idle_s)
                        self._refresh_presence()
                        now_s = self.ports.now_ms() / 1000
                        self._create_buckets = {
                            one: bucket
                            for one, bucket in self._create_buckets.items()
                            if not bucket.is_full(now_s)
                        }
            except StoreError as error:
                log.warning("store unavailable", duty=name, error=str(error))
            frequent = (
                name == "heartbeat" and asyncio.get_running_loop().time() < self._frequent_until_s
            )
            await asyncio.sleep(min(period_s, DUE_ROOMS_RETRY_S) if frequent else period_s)

    async def expire(self) -> None:
        """Deletes guests and rooms not seen for long, page by page, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.expire_once()
            except StoreError as error:
                log.warning("store unavailable", duty="expiry", error=str(error))

    async def expire_once(self) -> None:
        """Deletes one page of guests and rooms. Raises StoreError when the store fails."""
        played_none = [
            one.room_id
            for one in self._runners.values()
            if one.room is not None and one.room.match is None
        ]
        self.lobby.gone(await self._expiry.look(played_none, self.clock_ahead_ms))

    # --- the other nodes ---

    def on_node(self, message: NodeMessage) -> None:
        """Handles a message about another node, from that node or from the broker."""
        node = message.node
        if node == self.ports.node:
            return
        if isinstance(message, NodeDown):
            self._forget_node(node)
            self._frequent_until_s = (
                asyncio.get_running_loop().time() + 4 * self.ports.settings.heartbeat_s
            )
            return
        if node not in self._last_heard_s:
            for runner in self._runners.values():
                runner.publish_presence(asks=True)
        self._last_heard_s[node] = asyncio.get_running_loop().time()
        match message:
            case LobbyChanged():
                self.lobby.heard(message)
            case MessagesLost():
                self.on_gap(None)
            case Heartbeat():
                pass

    def _forget_node(self, node: str) -> None:
        """Drops a node that is gone."""
        self._last_heard_s.pop(node, None)
        for runner in self._runners.values():
            runner.node_gone(node)
        self._doubt(node)

    def _doubt(self, node: str) -> None:
        """Marks a node as doubtful: its last commits may not have been announced on the bus.

        The hub compares the heads at once and then every second, until the node can commit nothing
        more or is heard again.
        """
        log.info("node in doubt", of=node)
        self._doubted_since_s[node] = asyncio.get_running_loop().time()
        self._gap_rooms = None
        self._gap_seen.set()

    async def _compare_nodes(self) -> None:
        """Marks nodes doubtful that are alive in the store but silent on the bus; clears old marks.

        A mark stays at least as long as the database may still run a statement of a node that is
        gone. It is cleared when the node is heard again, or when its heartbeat has run out.
        """
        alive = await self.ports.store.alive_nodes()
        unheard = alive - self._last_heard_s.keys() - {self.ports.node}
        for node in unheard - self._doubted_since_s.keys():
            self._doubt(node)
        before_s = (
            asyncio.get_running_loop().time() - self.ports.settings.database_statement_s - GOODBYE_S
        )
        for node, since_s in tuple(self._doubted_since_s.items()):
            if since_s < before_s and node not in unheard:
                del self._doubted_since_s[node]

    def _forget_silent_nodes(self) -> None:
        """Drops nodes that have fallen silent: a killed node may leave nothing but silence.

        While the bus is down, silence means nothing.
        """
        now_s = asyncio.get_running_loop().time()
        if not self.ports.bus.is_up:
            self._last_heard_s = dict.fromkeys(self._last_heard_s, now_s)
        for node, last_heard_s in tuple(self._last_heard_s.items()):
            if last_heard_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    def _refresh_presence(self) -> None:
        """Reports presence again, for every sixth room each time, in case the bus lost a report."""
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._runners.values()):
            for node in runner.nodes_here:
                self._last_heard_s.setdefault(node, now_s)
            if self._last_heard_s and number % REFRESHES == self._sweeps % REFRESHES:
                runner.publish_presence()

    def on_gap(self, rooms: frozenset[str] | None) -> None:
        """Compares these rooms, or all (None), with the store: the bus may have lost messages."""
        self._gap_rooms = (
            None if rooms is None or self._gap_rooms is None else self._gap_rooms | rooms
        )
        for room_id in self._runners if rooms is None else rooms:
            if runner := self._runners.get(room_id):
                runner.publish_presence(asks=True)
        self._gap_seen.set()

    async def watch_heads(self) -> None:
        """Compares the heads of rooms with the store, after a gap and periodically.

        The period is `poll_s`, or a second while the bus is down, while a node is in doubt, or
        after the store failed.
        """
        rooms: set[str] | None = None
        while True:
            failed = False
            try:
                await self.compare_heads(rooms)
            except StoreError as error:
                log.warning("store unavailable", duty="poll", error=str(error))
                failed = True
            rooms = await self._doubtful_rooms(failed)

    async def _doubtful_rooms(self, failed: bool) -> set[str] | None:
        """Waits until heads must be compared. Returns the rooms (None: all of them)."""
        poll_s = self.ports.settings.poll_s
        unsure = failed or bool(self._doubted_since_s) or not self.ports.bus.is_up
        with suppress(TimeoutError):
            async with asyncio.timeout(min(poll_s, STALLED_POLL_S) if unsure else poll_s):
                await self._gap_seen.wait()
        called = self._gap_seen.is_set()
        if not (called or unsure):
            self.ports.metrics.polls += 1
        rooms = self._gap_rooms if called and not failed else None
        self._gap_rooms = set()
        self._gap_seen.clear()
        return rooms


@asynccontextmanager
async def open_hub(ports: Ports) -> AsyncIterator[Hub]:
    """Opens the hub and runs its tasks.

    At the end every room is cancelled, whatever it is doing: the log holds all that was committed.
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        hub = Hub(ports, tasks)
        settings = ports.settings
        duties: list[asyncio.Task[None]] = []
        unsubscribes = (ports.bus.listen(hub.on_node), ports.bus.on_gap(hub.on_gap))
        try:
            await hub.beat()
            if settings.alone:
                duties.append(
                    tasks.create_task(hub.take_over_all_due_rooms(), name="hub due rooms")
                )
            for name, period_s in (("heartbeat", settings.heartbeat_s), ("sweep", SWEEP_S)):
                duties.append(tasks.create_task(hub.every(period_s, name), name=f"hub {name}"))
            duties.append(tasks.create_task(hub.watch_heads(), name="hub poll"))
            duties.append(tasks.create_task(hub.expire(), name="hub expiry"))
            duties.append(tasks.create_task(hub.lobby.run(), name="lobby"))
            yield hub
        except Exception as error:
            failure = error  # raised below: a task group would wrap it in an ExceptionGroup
        finally:
            for unsubscribe in unsubscribes:
                unsubscribe()
            for task in [*duties, *hub._running.values()]:
                task.cancel()
            ports.bus.publish(NodeDown(ports.node))
    if not ports.settings.alone:
        with suppress(StoreError):
            # Other nodes may take over this node's due rooms at once.
            await ports.store.heartbeat(ports.node, -1)
    if failure is not None:
        raise failure


def _refuse(request: Request, code: Code, message: str) -> None:
    if request.follower is not None:
        error = wire.Error(request.command.id, code, message)
        request.follower.send(text_frame(format_message(error)))
