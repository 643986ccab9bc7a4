"""Runs one room on one node: one task that decides, commits, evolves and sends, in that order.

Any node may run any room, and the store arbitrates: if another node has moved the head, the append
fails, and the log reads the newer events and decides again. The runner acknowledges and sends only
what is committed.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import structlog

from server.bus.base import Ephemeral, EventsAppended, PageClosed, PresenceReport, RoomMessage
from server.codes import Code
from server.commands import Chat, Command, Hint, Hold, Rename, Tick
from server.events import RoomEvent
from server.ids import RoomId
from server.limits.by_address import CommandLimits
from server.ports import Follower, Ports, Spawn
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms.model import SERVER, Actor, Room
from server.runtime.followers.bus_flow import BusFlow
from server.runtime.followers.connections import Connections
from server.runtime.followers.feed import Feed
from server.runtime.followers.permission_feed import PermissionFeed
from server.runtime.followers.presence import Presence
from server.runtime.log import (
    TAIL,
    Accepted,
    Cause,
    EventLog,
    LogMissing,
    Machine,
    Rejected,
)
from server.runtime.observers import Observers, RoomCommit
from server.runtime.requests import (
    Outage,
    Request,
    Resync,
    Review,
    TakeOver,
    Wake,
    command_id,
    refuse,
    reply,
    settle_limits,
)
from server.runtime.room.ai_seat import AiTasks
from server.runtime.room.expiry import mark_opened, mark_seated
from server.runtime.timer import RoomTimer
from server.store.base import Rescheduled, RoomVersion, StoreError

log = structlog.get_logger()

#: Mailbox capacity, in requests.
MAILBOX_CAPACITY = 256

#: Maximum number of missed events that a client receives at a join; beyond it, a snapshot.
RESUME_LIMIT = 500

#: Delay after a store failure before the room resyncs, in seconds.
RESYNC_S = 1.0

#: An item of the mailbox.
Item = Request | EventsAppended | TakeOver | Outage | Resync | Review | Wake

T = TypeVar("T")


class Full(Exception):
    """The mailbox is at its limit."""


class Mailbox(Generic[T]):
    """A first-in, first-out queue of up to `limit` items. Only one task may call `get`.

    Every open room has one, so it is small: a quarter of the memory of an asyncio.Queue.
    """

    __slots__ = ("_items", "_limit", "_loop", "_waiter")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: list[T] = []
        self._waiter: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: T, beyond_limit: bool = False) -> None:
        """Adds an item. Raises Full at the limit, unless `beyond_limit`."""
        if len(self._items) >= self._limit and not beyond_limit:
            raise Full
        self._items.append(item)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def get(self) -> T:
        """Waits for the next item and removes it."""
        while not self._items:
            if self._loop is None:
                # Kept, since the lookup makes a system call in Python 3.11.
                self._loop = asyncio.get_running_loop()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._items.pop(0)

    def take(self) -> T | None:
        """Removes and returns the next item, or returns None if there is none."""
        return self._items.pop(0) if self._items else None


class RoomRunner:
    """Runs one room.

    `run` is its task; the other public methods do not wait and must be called in the event loop.
    `observers` are called after every commit.
    """

    __slots__ = (
        "__weakref__",
        "_ai",
        "_command_limits",
        "_earlier_node",
        "_feed",
        "_is_busy",
        "_log",
        "_mailbox",
        "_observers",
        "_permissions",
        "_ports",
        "_refused_tick_v",
        "_serving",
        "_timer",
        "cleared",
        "followers",
        "idle_since_ms",
        "presence",
        "room_id",
    )  # fmt: skip

    def __init__(
        self,
        room_id: RoomId,
        ports: Ports,
        machine: Machine[Room, Command, RoomEvent],
        spawn: Spawn,
        observers: Observers,
        flow: BusFlow,
        connections: Connections,
        on_presence_change: Callable[[RoomId], None],
        command_limits: CommandLimits,
        room: Room | None = None,
    ) -> None:
        self.room_id = room_id
        self._command_limits = command_limits
        self.idle_since_ms = ports.uptime_ms()
        self._ports = ports
        self._observers = observers
        self._log = EventLog(
            room_id, machine, ports, self._on_commit, self._before_append, state=room
        )
        # One bound method for all saves memory: a node may have 10,000 rooms.
        submit_own = self._submit_own
        self.presence = Presence(
            room_id, ports, flow, connections, self._log.get_state, on_presence_change
        )
        self.followers = self.presence.followers
        self._log.find_absence = self.presence.absences.find
        self._permissions = PermissionFeed(
            ports, self.followers, self._log.find_absence, submit_own
        )
        self.presence.on_absence_change = self._permissions.on_absence_change
        self._feed = Feed(room_id, ports, self.presence, self._permissions, self._log.get_state)
        self._ai = AiTasks(ports, spawn, self._feed, submit_own, self._on_store_failure)
        self._mailbox: Mailbox[Item] = Mailbox(MAILBOX_CAPACITY)
        self._timer = RoomTimer(submit_own)
        #: The players, at most four, whose connections outside the room show nothing of it. Only
        #: `Notifications` of this node reads and writes it; it is here to end with the room.
        self.cleared: tuple[str, ...] = ()
        #: The request whose command is being decided, if any.
        self._serving: Request | None = None
        self._is_busy = False
        #: The version at which the rules refused a tick, which is not repeated.
        self._refused_tick_v = 0
        #: The node from which this one has taken the open room over, until `_hold_after_outage` has
        #: decided whether a clock stood.
        self._earlier_node: str | None = None

    # --- called by the hub ---

    @property
    def room(self) -> Room | None:
        """The newest state of the room on this node; None until it is loaded."""
        return self._log.get_state()

    @property
    def is_idle(self) -> bool:
        """Whether the room can be closed: it has no follower on this node and no work."""
        return not (
            len(self.followers)
            or self._is_busy
            or self._ai.is_busy
            or self._timer.is_soon
            or len(self._mailbox)
        )

    @property
    def is_timed(self) -> bool:
        """Whether a player's clock is running."""
        room = self._log.get_state()
        return room is not None and room.flag_ms() is not None

    @property
    def timed_by(self) -> str:
        """The other node that is responsible for the clock that is running; "" for none."""
        node = self._log.responsible
        return node if node != self._ports.node and self.is_timed else ""

    def postponed(self, before_ms: int) -> Rescheduled | None:
        """The wake-up time of the room, if this node must do the due work and none is due by then.

        The store may have an earlier time (EARLY_BOUND in server/store/base.py).
        """
        due_ms = self._log.due_ms
        if self._is_busy or due_ms is None or due_ms <= before_ms:
            return None
        return Rescheduled(self.room_id, self._log.state.v, due_ms)

    def submit(self, request: Request | TakeOver | Outage | Resync | Review) -> bool:
        """Puts a request into the mailbox. Returns False if the mailbox is full."""
        try:
            self._mailbox.put(request, beyond_limit=isinstance(request, TakeOver | Review))
        except Full:
            self._log.is_behind = self._log.is_behind or isinstance(request, Resync)
            return False
        return True

    def wake(self, earlier_node: str | None = None) -> RoomVersion | None:
        """Starts the work that is due. The store has recorded this node as the responsible one;
        after a takeover, `earlier_node` was before.

        Returns the room's version if this node can never do that work, because it lacks the game's
        rules or its program is too old; otherwise None.
        """
        room = self._log.get_state()
        if room is None:
            return None  # `run` starts the work after it has loaded the room
        if earlier_node is not None or not self._log.is_responsible:
            self.submit(TakeOver(self._log.responsible if earlier_node is None else earlier_node))
            return None
        if not self._is_busy:  # otherwise the work is started after the item that is being served
            self._start_due_work()
        if self._log.state.frozen is Code.GAME_HUNG:
            return None  # the rule would hang on the next node as well
        return RoomVersion(self.room_id, room.v) if self._log.due_ms is None else None

    def receive(self, message: RoomMessage) -> None:
        """Handles a bus message about this room from another node."""
        if message.node == self._ports.node:
            return
        match message:
            case EventsAppended():
                try:
                    self._mailbox.put(message)
                except Full:
                    self._log.is_behind = True
            case Ephemeral(thinking=thinking):
                self._feed.receive_thinking(thinking)
            case PresenceReport():
                self.presence.receive_report(message)
            case PageClosed():
                self.presence.receive_page_closed(message)

    def forget(self, follower: Follower, has_closed_page: bool = False) -> None:
        """Removes a follower that leaves the room or whose connection has closed.

        `has_closed_page` says that the connection ended because the person closed the page.
        """
        if self.followers.remove(follower):
            self._permissions.forget(follower)
            self.idle_since_ms = self._ports.uptime_ms()
            if has_closed_page:
                self.presence.on_page_closed(follower.identity)

    async def run(self) -> None:
        """Serves the mailbox until cancelled.

        Returns at once when the room does not exist or cannot be read.
        """
        unsubscribe = self._ports.bus.subscribe(self.room_id, self.receive)
        try:
            if not await self._load_or_refuse():
                return
            while True:
                item = await self._mailbox.get()
                self._is_busy = True
                await self._serve(item)
                self._is_busy = False
                if not isinstance(item, EventsAppended):  # events of another node keep no room open
                    self.idle_since_ms = self._ports.uptime_ms()
        finally:
            unsubscribe()
            self.presence.close()
            self._timer.cancel()
            self._ai.close()
            self._refuse_all(Code.ROOM_BUSY, "this server is closing the room; send it again")

    # --- loading and catching up ---

    async def _load_or_refuse(self) -> bool:
        """Loads the room and returns True.

        When the room does not exist or cannot be read, refuses every waiting request and returns
        False.
        """
        try:
            if self._log.get_state() is None:
                head = await self._log.load()
                if not await mark_opened(self._ports, self._log.state, head):
                    raise LogMissing(self.room_id)
                await self._hold_after_outage(
                    head.node if head.taken_from is None else head.taken_from
                )
            self._start_due_work()
            return True
        except LogMissing:
            self._refuse_all(Code.ROOM_UNKNOWN, "there is no such room")
        except StoreError as error:
            log.warning("store unavailable", room=self.room_id, error=str(error))
            self._refuse_all(
                Code.STORE_RETRY, "the store does not answer; send the same command again"
            )
        except Exception:
            log.exception("room cannot be read", room=self.room_id)
            self._refuse_all(
                Code.SERVER_FAULT, "the room cannot be read; the server's log says why"
            )
        return False

    # --- serving ---

    async def _serve(self, item: Item) -> None:
        """Serves one mailbox item. A bug in the server makes that item fail, not the room."""
        try:
            if self._log.is_behind:
                await self._log.catch_up()
            if self._earlier_node is not None:  # the store failed when a takeover was served
                await self._hold_after_outage(self._earlier_node)
            match item:
                case Request():
                    await self._serve_request(item)
                case EventsAppended(events=entries):
                    lag_ms = max(0, self._ports.now_ms() - entries[-1].at_ms)
                    self._ports.metrics.bus_lag_s.observe(lag_ms / 1000)
                    await self._log.receive(item.node, entries)
                case Wake(tick_ms=tick_ms, change_ms=change_ms):
                    if change_ms is not None:
                        self._permissions.send_due_changes(self._log.state, change_ms)
                    if tick_ms is not None:
                        await self._tick(tick_ms)
                case TakeOver(earlier_node=earlier_node):
                    self._earlier_node = earlier_node
                    self._log.take_over()
                    await self._log.catch_up()
                    await self._hold_after_outage(earlier_node)
                case Outage(node=node):
                    if self._log.responsible == node:
                        await self._hold_after_outage(node)
                case Resync():
                    await self._log.catch_up()
                case Review():
                    pass  # `_start_due_work` does it, as after any other item
            self._start_due_work()
        except StoreError as error:
            self._on_store_failure()
            self._ports.metrics.store_failures += 1
            log.warning(
                "store unavailable", room=self.room_id, command=command_id(item), error=str(error)
            )
            refuse(item, Code.STORE_RETRY, "the store does not answer; send the same command again")
        except Exception:
            self._log.is_behind = True
            self._ports.metrics.faults += 1
            log.exception(
                "room request failed",
                room=self.room_id,
                request=type(item).__name__,
                command=command_id(item),
            )
            refuse(item, Code.SERVER_FAULT, "the server failed on this command; its log says why")

    async def _serve_request(self, request: Request) -> None:
        """Serves a request and answers it exactly once.

        The feed has sent the ack of a newly committed command together with its events.
        """
        command, follower = request.command, request.follower
        if isinstance(command, wire.Join):
            assert follower is not None, "a join has a connection"
            await self._join(command, follower, request.actor)
            return
        if isinstance(command, wire.Leave):
            assert follower is not None, "a leave has a connection"
            self.forget(follower)
            follower.send(Outbound(wire.Ack(command.id, None)))
            return
        if isinstance(command, Chat) and follower is not None and follower not in self.followers:
            # The eye of the room counts who reads it: nobody speaks there unseen.
            refuse(request, Code.CHAT_OUTSIDE, "join the room before you write there")
            return
        self._ai.on_command(command)
        self._serving = request
        try:
            outcome = await self._log.execute(
                request.actor, command, request.received_ms, request.thought
            )
        finally:
            self._serving = None
        makes_events = isinstance(outcome, Accepted) and outcome.is_new
        if not makes_events:
            now_s = self._ports.uptime_ms() / 1000
            settle_limits(self._command_limits, self.room_id, request, outcome, now_s)
        is_answered = makes_events and follower is not None
        if isinstance(command, Hint) and isinstance(outcome, Accepted) and follower is not None:
            follower.send(Outbound(wire.Ack(command.id, None)))
            self._observers.on_hint(self._log.state, follower, command)
        elif not is_answered:
            reply(request, outcome)

    async def _hold_after_outage(self, node: str) -> None:
        """Lets the clock of the match stand from the last heartbeat of the node that was
        responsible until now, if that node is dead. Ends the takeover.

        A sole node needs not wait until the heartbeat of the one before has expired. Raises
        StoreError; the store then still has the takeover, and the next try repeats it.
        """
        match = self._log.state.running_match
        if match is not None and self.is_timed and node != self._ports.node:
            nodes, is_held = self._ports.store.nodes, False
            beat = await nodes.last_beat(node)
            if beat is not None and (not beat.is_alive or self._ports.settings.is_sole_node):
                hold = Hold(f"hold:{match.id}:{beat.at_ms}", match.id, beat.at_ms, "outage")
                outcome = await self._log.execute(SERVER, hold, self._ports.now_ms())
                is_held = isinstance(outcome, Accepted) and outcome.is_new
            if is_held:
                log.info("clock stood still", room=self.room_id, earlier_node=node)
            elif self._log.is_responsible:
                await nodes.end_takeover(self._ports.node, self.room_id)
        self._earlier_node = None

    async def _tick(self, at_ms: int) -> None:
        """Commits the events that are due by `at_ms`, unless another node is responsible.

        It waits for the commands that arrived in time and that the store did not answer.
        """
        deadline_ms, v = self._tick_ms(self._log.due_ms), self._log.state.v
        if deadline_ms is None or at_ms < deadline_ms or self._retry_wait_ms():
            return
        tick = Tick(f"tick:{v}", at_ms)
        now_ms = self._ports.now_ms()
        outcome = await self._log.execute(SERVER, tick, now_ms, not_before_ms=deadline_ms)
        if isinstance(outcome, Rejected):
            self._refused_tick_v = v
            log.error("tick refused", room=self.room_id, v=v, reason=outcome.message)

    async def _join(self, join: wire.Join, follower: Follower, actor: Actor) -> None:
        """Adds a follower and sends it the events that it missed, or a snapshot.

        A player who has another name than the seat shows gives the seat that name.
        """
        is_same_epoch = join.epoch is None or join.epoch == self._ports.store.epoch
        if join.since > self._log.state.v and is_same_epoch:
            await self._log.catch_up()
        await self._update_seat_name(actor)
        room = self._log.state
        may_resume = (
            is_same_epoch and 0 < join.since <= room.v and room.v - join.since <= RESUME_LIMIT
        )
        missed = await self._log.since(join.since) if may_resume else None
        if not follower.closed:
            self._feed.send_joined(join, follower, room, missed)

    async def _update_seat_name(self, actor: Actor) -> None:
        """Gives the seat of an actor the name that the identity has in the store.

        It reads the store only if the actor's name and that of the seat differ: a connection that
        was opened before the player changed the name still has the old one. Raises StoreError.
        """
        shown_name = self._log.state.player_name(actor.identity)
        if shown_name in (None, actor.name):
            return
        identity = await self._ports.store.identities.find(actor.identity)
        if identity is not None and identity.name != shown_name:
            rename = Rename(f"rename:{self._log.state.v}", identity.id, identity.name)
            await self._log.execute(SERVER, rename, self._ports.now_ms())

    async def _before_append(self, events: Sequence[RoomEvent]) -> None:
        await mark_seated(self._ports, events)

    def _on_commit(self, committed: RoomCommit) -> None:
        """Passes committed events to the followers, the node's observers and the other nodes."""
        request = self._serving if committed.cause is Cause.COMMITTED else None
        if request is None:
            self._feed.send_events(committed)
        else:
            self._feed.send_events(committed, request.follower, request.command.id)
        self._observers.on_commit(committed)
        if self._log.is_responsible:
            # If the store failed before it confirmed an append, no other node has its events yet.
            # A node that lacks events before these entries reads the log.
            entries = committed.entries[-TAIL:]
            self._ports.bus.publish(EventsAppended(self.room_id, self._ports.node, entries))

    # --- due work ---

    def _start_due_work(self) -> None:
        """Starts the work that is due now, and sets the timer for the next due time.

        First it freezes the room if a rule of its game has hung since, and tells the followers.
        """
        if self._log.review():
            self._feed.repeat_joined(self._log.state)
        room, due_ms = self._log.state, self._log.due_ms
        # An AI's work is due at once, and a deadline after the last event.
        if self._ai.is_busy or (due_ms is not None and due_ms <= room.changed_ms):
            self._ai.update(room, self._log.is_responsible)
        tick_ms = self._tick_ms(due_ms)
        change_ms = self._permissions.next_change_ms
        if tick_ms is not None:
            # If the clock was set back, the last event is in the future, and the wait starts then.
            wait_ms = tick_ms - max(self._ports.now_ms(), room.changed_ms)
            if (retry_ms := self._retry_wait_ms()) > wait_ms:
                wait_ms = retry_ms
            self._set_timer(Wake(tick_ms=tick_ms), wait_ms)
        if change_ms is not None:  # the earlier of both wins, and sets the other when it fires
            self._set_timer(Wake(change_ms=change_ms), change_ms - self._ports.uptime_ms())
        if tick_ms is None and change_ms is None:
            self._timer.cancel()

    def _set_timer(self, wake: Wake, wait_ms: int) -> None:
        self._timer.set(wake, max(0, wait_ms) / 1000)

    def _retry_wait_ms(self) -> int:
        """The time for which a command may still come again that had no answer; 0 for none."""
        end_ms = self._log.retries_end_ms
        return 0 if end_ms is None else max(0, end_ms - self._ports.uptime_ms())

    def _tick_ms(self, due_ms: int | None) -> int | None:
        """Returns the time of the next tick where the log is due at `due_ms` on this node; None for
        never, or if the rules refused it.
        """
        room = self._log.state
        if due_ms is None or room.v == self._refused_tick_v:
            return None
        # A time after the last event is that of a tick; what is due at once may be other work.
        return due_ms if due_ms > room.changed_ms else self._log.next_deadline_ms

    def _submit_own(self, item: Request | Wake) -> None:
        """Puts a command of the server, or a wake-up, into the mailbox.

        There is at most one of each type at a time and the match waits for it, so it may exceed the
        mailbox's capacity.
        """
        self._mailbox.put(item, beyond_limit=True)

    def _on_store_failure(self) -> None:
        """Makes the runner read the log before its next item, and within RESYNC_S."""
        self._log.is_behind = True
        self._timer.set(Wake(), RESYNC_S)

    def _refuse_all(self, code: Code, message: str) -> None:
        """Refuses every waiting request."""
        while (item := self._mailbox.take()) is not None:
            refuse(item, code, message)
