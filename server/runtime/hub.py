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
from server.runtime.expiry import EXPIRY_STEP_S, Expiry
from server.runtime.lobby import Lobby
from server.runtime.projections import log_entry, projections
from server.runtime.requests import Request, Resync, TakeOver
from server.runtime.room_machine import RoomMachine
from server.runtime.room_runner import RoomRunner
from server.store.base import Append, CommandKey, NewRoom, StoredEvent, StoreError

log = structlog.get_logger()

#: Time between two sweeps over the open rooms, in seconds.
SWEEP_S = 5.0
#: Time for which a new room's place in memory is reserved for its creator to join, in seconds. A
#: shorter `room_idle_s` takes precedence.
RESERVED_S = 10.0
#: Sweeps between two presence reports of a room.
SWEEPS_PER_REFRESH = 6
#: Time between two comparisons of the heads with the store while the bus is stalled, in seconds.
STALLED_POLL_S = 1.0
#: Silence after which a node counts as down, in seconds.
SILENT_NODE_S = 4.0
#: Safety margin, in seconds: after the database's statement timeout and this margin, a node that
#: is down can commit nothing more.
COMMIT_MARGIN_S = 1.0
#: Time between two queries for due rooms after a node went down, until its heartbeat has expired,
#: in seconds.
DUE_ROOMS_RETRY_S = 0.2

#: Longest round trip to the store that is used to estimate its clock, in ms.
MAX_ROUND_TRIP_MS = 200


class Hub:
    """The rooms of this node. Use `async with open_hub(ports) as hub`."""

    def __init__(self, ports: Ports, tasks: asyncio.TaskGroup) -> None:
        self.ports = ports
        self.lobby = Lobby(ports, self.runner)
        self._tasks = tasks
        self._runners: dict[str, RoomRunner] = {}
        #: The tasks of the runners, by room id.
        self._runner_tasks: dict[str, asyncio.Task[None]] = {}
        self._create_buckets: dict[str, Bucket] = {}
        self.limits = Limits(ports.settings)
        #: New rooms, and the loop time until which the place of each is reserved.
        self._reserved_until_s: dict[str, float] = {}
        #: The other nodes, and the loop time of the last message from each.
        self._last_heard_s: dict[str, float] = {}
        #: Nodes in doubt, which may commit events that the bus does not deliver, and the loop time
        #: since which they are in doubt.
        self._doubted_since_s: dict[str, float] = {}
        #: The loop time until which the hub queries due rooms every DUE_ROOMS_RETRY_S.
        self._frequent_until_s = 0.0
        self._sweeps = 0
        self._expiry = Expiry(ports)
        self._machine = RoomMachine(ports)
        #: The rooms whose bus messages may have been lost; None: all rooms.
        self._gap_rooms: set[str] | None = set()
        self._gap_noticed = asyncio.Event()
        #: How far this node's clock is ahead of the store's, in ms; negative when it is behind.
        self.clock_ahead_ms = 0

    def __len__(self) -> int:
        """The number of rooms in memory."""
        return len(self._runners)

    def runner(self, room_id: str) -> RoomRunner | None:
        """The room's runner, or None if the room is not open here."""
        return self._runners.get(room_id)

    def submit(self, room_id: str, request: Request, address: str = "") -> bool:
        """Puts a request from an address into the mailbox of its room, whose runner answers it.

        Returns False when the hub refused it at once.
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

        Its place is reserved for RESERVED_S, so that its creator can join. Raises
        CommandRejected or StoreError when it creates no room.
        """
        # The prefix keeps this key apart from the actor's commands in the new room, one of which
        # may have the same id.
        key = CommandKey(f"create {actor.identity}", command.id)
        now_ms = self.ports.now_ms()
        try:
            room, entries, events = self._prepare_room(actor, command, now_ms, address)
        except CommandRejected:
            # A command that was acknowledged once is acknowledged again, even if a limit would now
            # refuse it.
            earlier = await self.ports.store.created_room(actor.identity, command.id)
            if earlier is None:
                raise
            return await self._ack_earlier_room(earlier, key)
        append = Append(
            room=room.id, expected_v=0, events=entries, node=self.ports.node,
            due_ms=room.due_ms(), command=key, projections=projections(room, events, None),
        )  # fmt: skip
        new = NewRoom(
            append, room.game_id, room.visibility == "public", actor.identity, command.id, now_ms
        )
        try:
            await self.ports.store.mark_permanent(actor.identity)
            earlier = await self.ports.store.create_room(new)
        except BaseException:
            self.limits.room_slots.free(room.id)
            raise
        if earlier is not None:
            self.limits.room_slots.free(room.id)
            return await self._ack_earlier_room(earlier, key)
        self._reserved_until_s[room.id] = asyncio.get_running_loop().time() + RESERVED_S
        self._open(room.id, address, room)
        self.lobby.on_room_changed(room.id)
        if room.has_ai:
            self.ports.engines.expect(room.game_id)
        return wire.Ack(command.id, room.v, room.id)

    async def _ack_earlier_room(self, room: str, key: CommandKey) -> wire.Ack:
        """The ack for a room that an earlier attempt of this command created."""
        versions = await self.ports.store.find_command(room, key)
        return wire.Ack(key.id, versions[1] if versions else None, room)

    def _prepare_room(
        self, actor: Actor, command: wire.Create, now_ms: int, address: str
    ) -> tuple[Room, tuple[StoredEvent, ...], list[wire.RoomEvent]]:
        """Checks every limit and returns the new room with its log entries and events.

        Takes a place in memory for the room. Raises CommandRejected.
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
        self._take_create_token(actor.identity)
        self.limits.rooms.take(address, now_ms / 1000)
        room = rules.initial_room(self.ports.new_id(), events[0], now_ms, self.ports.find_game)
        entries = [log_entry(room, events[0], now_ms)]
        for event in events[1:]:
            room = rules.evolve(room, event, now_ms)
            entries.append(log_entry(room, event, now_ms))
        self.limits.room_slots.take(room.id, address)
        return room, tuple(entries), events

    def _take_create_token(self, identity: str) -> None:
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
        """Closes idle rooms if there is no place in memory for another one.

        Raises LimitExceeded if there is still none.
        """
        room_slots = self.limits.room_slots
        if room_slots.is_full():
            self._close_idle(self._runners)
        elif room_slots.is_full_for(address):
            self._close_idle(room_slots.rooms_of(address))
        room_slots.check(address, math.ceil(self.ports.settings.room_idle_s))

    def _open(self, room_id: str, address: str, room: Room | None = None) -> RoomRunner:
        """Returns the room's runner, and starts it if the room is not open.

        Raises LimitExceeded when there is no place for the room.
        """
        if room_id in self._runners:
            return self._runners[room_id]
        if room_id not in self.limits.room_slots:
            self._make_place(address)
            self.limits.room_slots.take(room_id, address)
        runner = RoomRunner(
            room_id, self.ports, self._machine, self._spawn, self.lobby.on_room_changed, room
        )
        self._runners[room_id] = runner
        self._runner_tasks[room_id] = self._spawn(self._run(runner), f"room {room_id}")
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

    def close_idle_rooms(self, after_s: float) -> None:
        """Closes the rooms that have been idle for `after_s` seconds."""
        now_ms = self.ports.now_ms()
        for room_id, runner in tuple(self._runners.items()):
            # A time in the future means that the clock was set back.
            was_needed_lately = now_ms - after_s * 1000 < runner.idle_since_ms <= now_ms
            if runner.is_idle and not was_needed_lately:
                self._close(room_id).cancel()

    def _close_idle(self, rooms: Iterable[str]) -> None:
        """Closes those of the rooms that are idle, except new ones whose place is reserved."""
        now_s = asyncio.get_running_loop().time()
        for room_id in tuple(rooms):
            runner = self._runners.get(room_id)
            if (
                runner is not None
                and runner.is_idle
                and self._reserved_until_s.get(room_id, now_s) <= now_s
            ):
                self._close(room_id).cancel()

    def _close(self, room_id: str) -> "asyncio.Task[None]":
        """Frees the room's place in memory and returns its task, which the caller cancels."""
        self.limits.room_slots.free(room_id)
        self._reserved_until_s.pop(room_id, None)
        del self._runners[room_id]
        return self._runner_tasks.pop(room_id)

    # --- periodic duties ---

    async def write_heartbeat(self) -> None:
        """Writes this node's heartbeat and compares its clock with the store's."""
        before_ms = self.ports.now_ms()
        store_ms = await self.ports.store.heartbeat(
            self.ports.node, int(3000 * self.ports.settings.heartbeat_s)
        )
        after_ms = self.ports.now_ms()
        if after_ms - before_ms <= MAX_ROUND_TRIP_MS:  # a slow round trip is a poor estimate
            self.clock_ahead_ms = (before_ms + after_ms) // 2 - store_ms

    async def take_over_due_rooms(self, all_nodes: bool) -> int:
        """Takes over due rooms of dead nodes, or of all nodes. Returns the number of rooms."""
        rooms = await self.ports.store.due_rooms(self.ports.now_ms(), self.ports.node, all_nodes)
        for room_id in rooms:
            with suppress(LimitExceeded):
                self._open(room_id, "").submit(TakeOver())
        return len(rooms)

    async def take_over_all_due_rooms(self) -> None:
        """Takes over the due rooms of all nodes.

        A sole node runs this in the background at its start, so that players need not wait for it.
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
        """Compares open rooms (None: all) with the store, in case the bus lost events."""
        compared = self._runners if rooms is None else rooms & self._runners.keys()
        heads = await self.ports.store.heads(list(compared))
        for room_id, head in heads.items():
            runner = self._runners.get(room_id)
            if runner is not None and runner.room is not None and runner.room.v < head:
                runner.submit(Resync())

    async def run_periodically(self, period_s: float, name: str) -> None:
        """Runs the duty `name`, heartbeat or sweep, periodically until cancelled.

        After a store failure it tries again in the next period.
        """
        while True:
            try:
                match name:
                    case "heartbeat":
                        self.ports.bus.publish(Heartbeat(self.ports.node))
                        self._forget_silent_nodes()
                        await self.write_heartbeat()
                        if not self.ports.settings.is_sole_node:
                            await self.take_over_due_rooms(all_nodes=False)
                            await self._check_silent_nodes()
                    case "sweep":
                        self.close_idle_rooms(self.ports.settings.room_idle_s)
                        self._refresh_presence()
                        now_s = self.ports.now_ms() / 1000
                        self._create_buckets = {
                            identity: bucket
                            for identity, bucket in self._create_buckets.items()
                            if not bucket.is_full(now_s)
                        }
            except StoreError as error:
                log.warning("store unavailable", duty=name, error=str(error))
            is_frequent = (
                name == "heartbeat" and asyncio.get_running_loop().time() < self._frequent_until_s
            )
            await asyncio.sleep(min(period_s, DUE_ROOMS_RETRY_S) if is_frequent else period_s)

    async def expire(self) -> None:
        """Deletes expired guests and rooms, page by page, until cancelled."""
        while True:
            await asyncio.sleep(EXPIRY_STEP_S)
            try:
                await self.expire_once()
            except StoreError as error:
                log.warning("store unavailable", duty="expiry", error=str(error))

    async def expire_once(self) -> None:
        """Scans one page of guests and rooms. Raises StoreError when the store fails."""
        rooms_without_match = [
            runner.room_id
            for runner in self._runners.values()
            if runner.room is not None and runner.room.match is None
        ]
        self.lobby.remove_rooms(
            await self._expiry.run_step(rooms_without_match, self.clock_ahead_ms)
        )

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
                self.lobby.on_lobby_changed(message)
            case MessagesLost():
                self.on_gap(None)
            case Heartbeat():
                pass

    def _forget_node(self, node: str) -> None:
        """Forgets a node that is down, and marks it as in doubt."""
        self._last_heard_s.pop(node, None)
        for runner in self._runners.values():
            runner.on_node_down(node)
        self._doubt(node)

    def _doubt(self, node: str) -> None:
        """Marks a node as in doubt: it may not have published its last commits on the bus.

        The hub compares the heads at once and then every second, until the node can commit nothing
        more or sends a message again.
        """
        log.info("node in doubt", of=node)
        self._doubted_since_s[node] = asyncio.get_running_loop().time()
        self._gap_rooms = None
        self._gap_noticed.set()

    async def _check_silent_nodes(self) -> None:
        """Marks nodes in doubt that are alive in the store but silent on the bus; ends old doubts.

        A node stays in doubt at least as long as the database may still run its last statement. The
        doubt then ends once the node sends a message or its heartbeat has expired.
        """
        alive = await self.ports.store.alive_nodes()
        silent = alive - self._last_heard_s.keys() - {self.ports.node}
        for node in silent - self._doubted_since_s.keys():
            self._doubt(node)
        before_s = (
            asyncio.get_running_loop().time()
            - self.ports.settings.database_statement_s
            - COMMIT_MARGIN_S
        )
        for node, since_s in tuple(self._doubted_since_s.items()):
            if since_s < before_s and node not in silent:
                del self._doubted_since_s[node]

    def _forget_silent_nodes(self) -> None:
        """Forgets nodes that are silent for SILENT_NODE_S: a killed node may send no NodeDown.

        While the bus is down, no node counts as silent.
        """
        now_s = asyncio.get_running_loop().time()
        if not self.ports.bus.is_up:
            self._last_heard_s = dict.fromkeys(self._last_heard_s, now_s)
        for node, last_heard_s in tuple(self._last_heard_s.items()):
            if last_heard_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    def _refresh_presence(self) -> None:
        """Reports the presence in every sixth room again, in case the bus lost a report."""
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._runners.values()):
            for node in runner.reporting_nodes:
                self._last_heard_s.setdefault(node, now_s)
            if (
                self._last_heard_s
                and number % SWEEPS_PER_REFRESH == self._sweeps % SWEEPS_PER_REFRESH
            ):
                runner.publish_presence()

    def on_gap(self, rooms: frozenset[str] | None) -> None:
        """Schedules a comparison of these rooms (None: all) with the store after lost messages."""
        self._gap_rooms = (
            None if rooms is None or self._gap_rooms is None else self._gap_rooms | rooms
        )
        for room_id in self._runners if rooms is None else rooms:
            if runner := self._runners.get(room_id):
                runner.publish_presence(asks=True)
        self._gap_noticed.set()

    async def watch_heads(self) -> None:
        """Compares the heads of rooms with the store, after a gap and periodically.

        The period is `poll_s`. It is STALLED_POLL_S while the bus is down, while a node is in
        doubt, and after the store failed.
        """
        rooms: set[str] | None = None
        while True:
            has_failed = False
            try:
                await self.compare_heads(rooms)
            except StoreError as error:
                log.warning("store unavailable", duty="poll", error=str(error))
                has_failed = True
            rooms = await self._wait_for_gap(has_failed)

    async def _wait_for_gap(self, has_failed: bool) -> set[str] | None:
        """Waits for a gap or the end of the period. Returns the rooms to compare (None: all)."""
        poll_s = self.ports.settings.poll_s
        is_unsure = has_failed or bool(self._doubted_since_s) or not self.ports.bus.is_up
        with suppress(TimeoutError):
            async with asyncio.timeout(min(poll_s, STALLED_POLL_S) if is_unsure else poll_s):
                await self._gap_noticed.wait()
        was_woken = self._gap_noticed.is_set()
        if not (was_woken or is_unsure):
            self.ports.metrics.polls += 1
        rooms = self._gap_rooms if was_woken and not has_failed else None
        self._gap_rooms = set()
        self._gap_noticed.clear()
        return rooms


@asynccontextmanager
async def open_hub(ports: Ports) -> AsyncIterator[Hub]:
    """Opens the hub and runs its tasks.

    At the end it cancels all rooms at once; nothing is lost, since the log holds all commits.
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        hub = Hub(ports, tasks)
        settings = ports.settings
        duties: list[asyncio.Task[None]] = []
        unsubscribe_all = (ports.bus.listen(hub.on_node), ports.bus.on_gap(hub.on_gap))
        try:
            await hub.write_heartbeat()
            if settings.is_sole_node:
                duties.append(
                    tasks.create_task(hub.take_over_all_due_rooms(), name="hub due rooms")
                )
            for name, period_s in (("heartbeat", settings.heartbeat_s), ("sweep", SWEEP_S)):
                duties.append(
                    tasks.create_task(hub.run_periodically(period_s, name), name=f"hub {name}")
                )
            duties.append(tasks.create_task(hub.watch_heads(), name="hub poll"))
            duties.append(tasks.create_task(hub.expire(), name="hub expiry"))
            duties.append(tasks.create_task(hub.lobby.run(), name="lobby"))
            yield hub
        except Exception as error:
            failure = error  # raised below: a task group would wrap it in an ExceptionGroup
        finally:
            for unsubscribe in unsubscribe_all:
                unsubscribe()
            for task in [*duties, *hub._runner_tasks.values()]:
                task.cancel()
            ports.bus.publish(NodeDown(ports.node))
    if not ports.settings.is_sole_node:
        with suppress(StoreError):
            # An expired heartbeat lets other nodes take over this node's due rooms at once.
            await ports.store.heartbeat(ports.node, -1)
    if failure is not None:
        raise failure


def _refuse(request: Request, code: Code, message: str) -> None:
    if request.follower is not None:
        error = wire.Error(request.command.id, code, message)
        request.follower.send(text_frame(format_message(error)))
