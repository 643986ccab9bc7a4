"""The rooms of one node: opened when somebody needs them, put away when nobody does, woken when
they are due.
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

SWEEP_S = 5.0
#: A room that was just made keeps its place for so long (or as long as idle rooms stay, if that is
#: shorter), so that whoever made it can join it.
PROMISED_S = 10.0
#: So many sweeps are between two times that a room says who is there.
REFRESHES = 6
#: How often heads are compared with the store while the bus does not flow.
STALLED_POLL_S = 1.0
#: A node that has not been heard of for so long is not there.
SILENT_NODE_S = 4.0
#: So long after the database ended the last statement of a node that is gone, its rooms are looked
#: at once more.
GOODBYE_S = 1.0
#: How often due rooms are looked for while the heartbeat of a node that is gone runs out.
COMPARE_HEADS_S = 0.2

#: An answer of the store that took longer says little of its clock.
QUICK_MS = 200


class Hub:
    """The rooms of this node. Use `async with open_hub(ports) as hub`."""

    def __init__(self, ports: Ports, tasks: asyncio.TaskGroup) -> None:
        self.ports = ports
        self.lobby = Lobby(ports, self.runner)
        self._tasks = tasks
        self._runners: dict[str, RoomRunner] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._made: dict[str, Bucket] = {}
        self.limits = Limits(ports.settings)
        self._promised_s: dict[
            str, float
        ] = {}  # rooms that were just made, and until when they keep their place
        self._heard_s: dict[str, float] = {}  # the other nodes, by when they were last heard of
        self._doubted_s: dict[
            str, float
        ] = {}  # nodes that may commit what the bus does not bring, since when
        self._hasty_until_s = 0.0
        self._sweeps = 0
        self._expiry = Expiry(ports)
        self._lapsed: set[str] | None = set()
        self._gap_handlers = asyncio.Event()
        #: How far this node's clock is ahead of the store's; behind it, when negative.
        self.clock_ahead_ms = 0

    def __len__(self) -> int:
        """The rooms in memory."""
        return len(self._runners)

    def runner(self, room_id: str) -> RoomRunner | None:
        """The room's runner, if the room is open here."""
        return self._runners.get(room_id)

    def submit(self, room_id: str, request: Request, address: str = "") -> bool:
        """Hands a request, which came from that address, to its room, which answers it; False when
        it was refused at once.
        """
        try:
            runner = self._runners.get(room_id) or self._open(room_id, address)
        except LimitExceeded as limit:
            _refuse(request, limit.code, limit.message)
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
                self._promised_s.pop(room_id, None)

    async def create(self, actor: Actor, command: wire.Create, address: str = "") -> wire.Ack:
        """Makes a room, once for each (author, id), and keeps a place for it until its maker has
        joined; CommandRejected or StoreError says why there is none.
        """
        # Not the author's own key: that belongs to the author's commands in the new room, which may
        # have the same id.
        key = CommandKey(f"create {actor.identity}", command.id)
        now_ms = self.ports.now_ms()
        try:
            room, entries, events = self._first_events(actor, command, now_ms, address)
        except CommandRejected:
            # What was acknowledged once is acknowledged again, whatever the limits say by now.
            earlier = await self.ports.store.created_room(actor.identity, command.id)
            if earlier is None:
                raise
            return await self._made_before(earlier, key)
        append = Append(
            room=room.id, expected_v=0, events=entries, node=self.ports.node, due_ms=room.due_ms(), command=key,
            projections=projections(room, events, None),
        )  # fmt: skip
        new = NewRoom(
            append, room.game_id, room.visibility == "public", actor.identity, command.id, now_ms
        )
        try:
            await self.ports.store.mark_sat(actor.identity)
            earlier = await self.ports.store.create_room(new)
        except BaseException:
            self.limits.places.free(room.id)
            raise
        if earlier is not None:
            self.limits.places.free(room.id)
            return await self._made_before(earlier, key)
        self._promised_s[room.id] = asyncio.get_running_loop().time() + PROMISED_S
        self._open(room.id, address, room)
        self.lobby.changed(room.id)
        if room.has_ai:
            self.ports.engines.expect(room.game_id)
        return wire.Ack(command.id, room.v, room.id)

    async def _made_before(self, room: str, key: CommandKey) -> wire.Ack:
        made = await self.ports.store.find_command(room, key)
        return wire.Ack(key.id, made[1] if made else None, room)

    def _first_events(
        self, actor: Actor, command: wire.Create, now_ms: int, address: str
    ) -> tuple[Room, tuple[StoredEvent, ...], list[wire.RoomEvent]]:
        try:
            game = self.ports.find_game(command.game)
            events = rules.create(actor, command, game, self.ports.new_id)
        except UnknownGame as error:
            raise CommandRejected(Code.GAME_UNKNOWN, str(error)) from error
        except CommandRejected:
            raise
        except (
            Exception
        ) as fault:  # GameFault, or whatever a plug-in's file raises while it is imported
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
        self.limits.places.take(room.id, address)
        return room, tuple(entries), events

    def _limit(self, identity: str) -> None:
        settings = self.ports.settings
        now_s = self.ports.now_ms() / 1000
        bucket = self._made.get(identity)
        if bucket is None:
            bucket = self._made[identity] = Bucket(
                settings.rooms_per_minute / 60, settings.rooms_burst, now_s
            )
        if not bucket.take(now_s):
            retry_s = max(1, math.ceil(bucket.wait_s()))
            raise LimitExceeded(
                Code.RATE_EXCEEDED, f"at most {settings.rooms_per_minute:g} rooms a minute", retry_s
            )

    # --- opening and closing rooms ---

    def _make_place(self, address: str) -> None:
        """Puts idle rooms away if need be; LimitExceeded when there is no place for a room all the
        same.
        """
        places = self.limits.places
        if places.is_full():
            self._clear(self._runners)
        elif places.is_full_for(address):
            self._clear(places.of(address))
        places.check(address, math.ceil(self.ports.settings.room_idle_s))

    def _open(self, room_id: str, address: str, known: Room | None = None) -> RoomRunner:
        """The room's runner; LimitExceeded when there is no place for the room, and it has none
        yet.
        """
        if room_id in self._runners:
            return self._runners[room_id]
        if room_id not in self.limits.places:
            self._make_place(address)
            self.limits.places.take(room_id, address)
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
                self._let_go(runner.room_id)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._tasks.create_task(work, name=name)

    def put_idle_away(self, after_s: float) -> None:
        """Lets rooms leave memory that nobody has needed for so long."""
        now_ms = self.ports.now_ms()
        for room_id, runner in tuple(self._runners.items()):
            # Since later than now: the clock was set back.
            needed_lately = now_ms - after_s * 1000 < runner.idle_since_ms <= now_ms
            if runner.idle and not needed_lately:
                self._let_go(room_id).cancel()

    def _clear(self, rooms: Iterable[str]) -> None:
        """Lets those of the rooms leave memory that nobody needs now, but for those that are
        promised a place.
        """
        now_s = asyncio.get_running_loop().time()
        for room_id in tuple(rooms):
            runner = self._runners.get(room_id)
            if runner is not None and runner.idle and self._promised_s.get(room_id, now_s) <= now_s:
                self._let_go(room_id).cancel()

    def _let_go(self, room_id: str) -> "asyncio.Task[None]":
        """The room has no place in memory any more; returns the task that ran it."""
        self.limits.places.free(room_id)
        self._promised_s.pop(room_id, None)
        del self._runners[room_id]
        return self._running.pop(room_id)

    # --- what happens by itself ---

    async def beat(self) -> None:
        """Says that this node is alive, and compares its clock with the store's."""
        before_ms = self.ports.now_ms()
        theirs_ms = await self.ports.store.heartbeat(
            self.ports.node, int(3000 * self.ports.settings.heartbeat_s)
        )
        after_ms = self.ports.now_ms()
        if after_ms - before_ms <= QUICK_MS:  # a slow answer tells the time too vaguely
            self.clock_ahead_ms = (before_ms + after_ms) // 2 - theirs_ms

    async def take_due_rooms(self, all_nodes: bool) -> int:
        """Takes over the rooms whose wake-up has come and whose node is gone; returns how many."""
        rooms = await self.ports.store.due_rooms(self.ports.now_ms(), self.ports.node, all_nodes)
        for room_id in rooms:
            with suppress(LimitExceeded):
                self._open(room_id, "").submit(TakeOver())
        return len(rooms)

    async def take_all_due_rooms(self) -> None:
        """Takes over what is due, whatever node had it: at the start of one that is alone, and
        beside it, for however many they are players need not wait for them.
        """
        while True:
            try:
                while await self.take_due_rooms(all_nodes=True):
                    pass
                return
            except StoreError as error:
                log.warning("store unavailable", duty="due rooms", error=str(error))
                await asyncio.sleep(self.ports.settings.heartbeat_s)

    async def look_at_heads(self, rooms: set[str] | None = None) -> None:
        """Compares open rooms (None: all) with the store, in case the bus has lost a message."""
        looked_at = self._runners if rooms is None else rooms & self._runners.keys()
        heads = await self.ports.store.heads(list(looked_at))
        for room_id, head in heads.items():
            runner = self._runners.get(room_id)
            if runner is not None and runner.room is not None and runner.room.v < head:
                runner.submit(Resync())

    async def every(self, period_s: float, name: str) -> None:
        """Runs one of the hub's duties now and again, until cancelled; a store that fails is tried
        again next time.
        """
        while True:
            try:
                match name:
                    case "heartbeat":
                        self.ports.bus.publish(Heartbeat(self.ports.node))
                        self._forget_silent_nodes()
                        await self.beat()
                        if not self.ports.settings.alone:
                            await self.take_due_rooms(all_nodes=False)
                            await self._compare_nodes()
                    case "sweep":
                        self.put_idle_away(self.ports.settings.room_idle_s)
                        self._refresh_presence()
                        now_s = self.ports.now_ms() / 1000
                        self._made = {
                            one: bucket
                            for one, bucket in self._made.items()
                            if not bucket.full(now_s)
                        }
            except StoreError as error:
                log.warning("store unavailable", duty=name, error=str(error))
            hasty = name == "heartbeat" and asyncio.get_running_loop().time() < self._hasty_until_s
            await asyncio.sleep(min(period_s, COMPARE_HEADS_S) if hasty else period_s)

    async def expire(self) -> None:
        """Lets go for good what nobody has seen for long, a page at a time, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look_for_old()
            except StoreError as error:
                log.warning("store unavailable", duty="expiry", error=str(error))

    async def look_for_old(self) -> None:
        """One look of the expiry; StoreError when the store fails."""
        played_none = [
            one.room_id
            for one in self._runners.values()
            if one.room is not None and one.room.match is None
        ]
        self.lobby.gone(await self._expiry.look(played_none, self.clock_ahead_ms))

    # --- the other nodes ---

    def on_node(self, message: NodeMessage) -> None:
        """What another node says of itself, or the bus of it."""
        node = message.node
        if node == self.ports.node:
            return
        if isinstance(message, NodeDown):
            self._forget_node(node)
            self._hasty_until_s = (
                asyncio.get_running_loop().time() + 4 * self.ports.settings.heartbeat_s
            )
            return
        if node not in self._heard_s:
            for runner in self._runners.values():
                runner.say_who_is_here(asks=True)
        self._heard_s[node] = asyncio.get_running_loop().time()
        match message:
            case LobbyChanged():
                self.lobby.heard(message)
            case MessagesLost():
                self.on_gap(None)
            case Heartbeat():
                pass

    def _forget_node(self, node: str) -> None:
        self._heard_s.pop(node, None)
        for runner in self._runners.values():
            runner.node_gone(node)
        self._doubt(node)

    def _doubt(self, node: str) -> None:
        """What that node committed last may not have been told: heads are compared at once, and
        every second until it can commit nothing more, or is heard of.
        """
        log.info("node in doubt", of=node)
        self._doubted_s[node] = asyncio.get_running_loop().time()
        self._lapsed = None
        self._gap_handlers.set()

    async def _compare_nodes(self) -> None:
        """Doubts the nodes that live by the store's word and that the bus does not bring, and no
        longer those that are heard of, or whose heartbeat has run out; each for as long at least as
        the database may go on with a statement of a node that is gone.
        """
        alive = await self.ports.store.alive_nodes()
        unheard = alive - self._heard_s.keys() - {self.ports.node}
        for node in unheard - self._doubted_s.keys():
            self._doubt(node)
        before_s = (
            asyncio.get_running_loop().time() - self.ports.settings.database_statement_s - GOODBYE_S
        )
        for node, since_s in tuple(self._doubted_s.items()):
            if since_s < before_s and node not in unheard:
                del self._doubted_s[node]

    def _forget_silent_nodes(self) -> None:
        """Of a node that was killed there may be nothing but its silence; without a bus everybody
        is silent.
        """
        now_s = asyncio.get_running_loop().time()
        if not self.ports.bus.flows:
            self._heard_s = dict.fromkeys(self._heard_s, now_s)
        for node, last_heard_s in tuple(self._heard_s.items()):
            if last_heard_s < now_s - SILENT_NODE_S:
                self._forget_node(node)

    def _refresh_presence(self) -> None:
        """Says again who is here, in every sixth room each time: what was lost on the bus is not
        lost for ever.
        """
        self._sweeps += 1
        now_s = asyncio.get_running_loop().time()
        for number, runner in enumerate(self._runners.values()):
            for node in runner.nodes_here:
                self._heard_s.setdefault(node, now_s)
            if self._heard_s and number % REFRESHES == self._sweeps % REFRESHES:
                runner.say_who_is_here()

    def on_gap(self, rooms: frozenset[str] | None) -> None:
        """The bus may have missed messages about these rooms, or all."""
        self._lapsed = None if rooms is None or self._lapsed is None else self._lapsed | rooms
        for room_id in self._runners if rooms is None else rooms:
            if runner := self._runners.get(room_id):
                runner.say_who_is_here(asks=True)
        self._gap_handlers.set()

    async def watch_heads(self) -> None:
        """Looks at the heads of rooms that the bus is in doubt of at once, and at all of them now
        and then: every second while nothing flows, while a node is in doubt, or after the store
        failed.
        """
        rooms: set[str] | None = None
        while True:
            failed = False
            try:
                await self.look_at_heads(rooms)
            except StoreError as error:
                log.warning("store unavailable", duty="poll", error=str(error))
                failed = True
            rooms = await self._doubtful_rooms(failed)

    async def _doubtful_rooms(self, failed: bool) -> set[str] | None:
        """Waits until heads must be compared; returns the rooms (None: all)."""
        poll_s = self.ports.settings.poll_s
        unsure = failed or bool(self._doubted_s) or not self.ports.bus.flows
        with suppress(TimeoutError):
            async with asyncio.timeout(min(poll_s, STALLED_POLL_S) if unsure else poll_s):
                await self._gap_handlers.wait()
        called = self._gap_handlers.is_set()
        if not (called or unsure):
            self.ports.metrics.polls += 1
        rooms = self._lapsed if called and not failed else None
        self._lapsed = set()
        self._gap_handlers.clear()
        return rooms


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
        deaf = (ports.bus.listen(hub.on_node), ports.bus.on_gap(hub.on_gap))
        try:
            await hub.beat()
            if settings.alone:
                duties.append(tasks.create_task(hub.take_all_due_rooms(), name="hub due rooms"))
            for name, period_s in (("heartbeat", settings.heartbeat_s), ("sweep", SWEEP_S)):
                duties.append(tasks.create_task(hub.every(period_s, name), name=f"hub {name}"))
            duties.append(tasks.create_task(hub.watch_heads(), name="hub poll"))
            duties.append(tasks.create_task(hub.expire(), name="hub expiry"))
            duties.append(tasks.create_task(hub.lobby.run(), name="lobby"))
            yield hub
        except Exception as error:
            failure = error  # raised below as itself: a task group would wrap it
        finally:
            for unsubscribe in deaf:
                unsubscribe()
            for task in [*duties, *hub._running.values()]:
                task.cancel()
            ports.bus.publish(NodeDown(ports.node))
    if not ports.settings.alone:
        with suppress(StoreError):
            await ports.store.heartbeat(
                ports.node, -1
            )  # other nodes need not wait to take over what was due here
    if failure is not None:
        raise failure


def _refuse(request: Request, code: Code, message: str) -> None:
    if request.follower is not None:
        error = wire.Error(request.command.id, code, message)
        request.follower.send(text_frame(format_message(error)))
