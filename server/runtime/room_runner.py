"""Runs one room on one node: one task that decides, commits, evolves and sends, in that order.

Any node may run any room, and the store arbitrates: when the head is not where an append expects
it, the log reads the newer events and decides again. The runner acknowledges and sends nothing
before it is committed.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import structlog

from server.bus.base import Ephemeral, EventsAppended, PresenceReport, RoomMessage
from server.ports import Follower, Ports, Spawn
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.protocol.outbound import Outbound
from server.rooms.model import Command, Room
from server.runtime.ai_seat import AiSeat
from server.runtime.expiry import mark_opened, mark_seated
from server.runtime.feed import Feed, changes_board, changes_seats
from server.runtime.followers import Followers
from server.runtime.log import TAIL, Accepted, Cause, Committed, EventLog, LogMissing, Machine
from server.runtime.mailbox import Full, Mailbox
from server.runtime.requests import Request, Resync, TakeOver, command_id, refuse, reply
from server.store.base import StoreError

log = structlog.get_logger()

#: Mailbox capacity, in requests.
MAILBOX_CAPACITY = 256

#: A client that is more than this many events behind receives a snapshot instead of the events.
RESUME_LIMIT = 500

#: Delay after a store failure before the room resyncs, in seconds.
RESYNC_S = 1.0

RoomCommit = Committed[Room, wire.RoomEvent]


class RoomRunner:
    """Runs one room.

    `run` is its task; the other public methods return at once and must be called in the event loop.
    `observers` are called after every commit, and must not fail.
    """

    __slots__ = (
        "_ai",
        "_feed",
        "_followers",
        "_is_busy",
        "_log",
        "_mailbox",
        "_on_change",
        "_ports",
        "_resync_timer",
        "_serving",
        "idle_since_ms",
        "room_id",
    )  # fmt: skip

    def __init__(
        self,
        room_id: str,
        ports: Ports,
        machine: Machine[Room, Command, wire.RoomEvent],
        spawn: Spawn,
        on_change: Callable[[str], None],
        room: Room | None = None,
    ) -> None:
        self.room_id = room_id
        self.idle_since_ms = ports.now_ms()
        self._ports = ports
        self._on_change = on_change
        self._log = EventLog(
            room_id, machine, ports, self._on_commit, self._before_append, known=room
        )
        self._followers = Followers(room_id, ports, lambda: self._log.seen, on_change)
        self._feed = Feed(room_id, ports, self._followers, lambda: self._log.seen)
        self._ai = AiSeat(ports, spawn, self._feed, self._submit_own, self._on_store_failure)
        self._mailbox: Mailbox[Request | EventsAppended | TakeOver | Resync] = Mailbox(
            MAILBOX_CAPACITY
        )
        #: The request whose command is being decided, if any.
        self._serving: Request | None = None
        self._is_busy = False
        self._resync_timer: asyncio.TimerHandle | None = None

    # --- called by the hub ---

    @property
    def room(self) -> Room | None:
        """The room as this node last saw it; None until it is loaded."""
        return self._log.seen

    @property
    def watching(self) -> int:
        """The number of followers without a seat, on all nodes."""
        return self._followers.watching

    @property
    def reporting_nodes(self) -> Iterable[str]:
        """The other nodes that have reported presence in this room."""
        return self._followers.reporting_nodes

    @property
    def is_idle(self) -> bool:
        """Whether the room can be closed: it has no follower on this node and no work."""
        return not (
            len(self._followers)
            or self._is_busy
            or self._ai.is_busy
            or self._resync_timer
            or len(self._mailbox)
        )

    def submit(self, request: Request | TakeOver | Resync) -> bool:
        """Puts a request into the mailbox. Returns False when the mailbox is full."""
        try:
            self._mailbox.put(request, beyond_limit=isinstance(request, TakeOver))
        except Full:
            self._log.is_behind = self._log.is_behind or isinstance(request, Resync)
            return False
        return True

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
                self._followers.on_presence(message)

    def on_node_down(self, node: str) -> None:
        """Drops the presence that a node reported before it went down."""
        self._followers.on_node_down(node)

    def publish_presence(self, asks: bool = False) -> None:
        """Reports this node's followers again, in case the other nodes missed the last report."""
        self._followers.publish_presence(asks)

    def forget(self, follower: Follower) -> None:
        """Removes a follower that leaves the room or whose connection has closed."""
        if self._followers.remove(follower):
            self._feed.forget(follower)
            self.idle_since_ms = self._ports.now_ms()

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
                self.idle_since_ms = self._ports.now_ms()
        finally:
            unsubscribe()
            self._followers.close()
            self._feed.close()
            if self._resync_timer is not None:
                self._resync_timer.cancel()
            self._ai.close()
            self._refuse_all(Code.ROOM_BUSY, "this server is closing the room; send it again")

    # --- loading and catching up ---

    async def _load_or_refuse(self) -> bool:
        """Loads the room and returns True.

        When the room does not exist or cannot be read, refuses every waiting request and returns
        False.
        """
        has_take_over = False
        while True:
            try:
                if self._log.seen is None:
                    head = await self._log.load()
                    if not await mark_opened(self._ports, self._log.state, head):
                        raise LogMissing(self.room_id)
                self._ai.update(self._log.state, self._log.is_responsible)
                return True
            except LogMissing:
                self._refuse_all(Code.ROOM_UNKNOWN, "there is no such room")
            except StoreError as error:
                log.warning("store unavailable", room=self.room_id, error=str(error))
                message = "the store does not answer; send the same command again"
                has_take_over = self._refuse_all(Code.STORE_RETRY, message) or has_take_over
                if has_take_over:  # no client retries a TakeOver
                    await asyncio.sleep(RESYNC_S)
                    continue
            except Exception:
                log.exception("room cannot be read", room=self.room_id)
                self._refuse_all(
                    Code.SERVER_FAULT, "the room cannot be read; the server's log says why"
                )
            return False

    # --- serving ---

    async def _serve(self, item: Request | EventsAppended | TakeOver | Resync) -> None:
        """Serves one mailbox item. A bug in the server makes that item fail, not the room."""
        try:
            if self._log.is_behind:
                await self._log.catch_up()
            match item:
                case Request(command=wire.Join() as join, follower=follower):
                    assert follower is not None, "a join has a connection"
                    await self._join(join, follower)
                case Request(command=wire.Leave(id=key), follower=follower):
                    assert follower is not None, "a leave has a connection"
                    self.forget(follower)
                    follower.send(Outbound(wire.Ack(key, None)))
                case Request():
                    self._ai.on_command(item.command)
                    await self._serve_command(item)
                case EventsAppended(events=entries):
                    lag_ms = max(0, self._ports.now_ms() - entries[-1].at_ms)
                    self._ports.metrics.bus_lag_s.observe(lag_ms / 1000)
                    await self._log.receive(entries)
                case TakeOver():
                    self._log.is_responsible = True
                    await self._log.catch_up()
                case Resync():
                    await self._log.catch_up()
            self._ai.update(self._log.state, self._log.is_responsible)
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

    async def _serve_command(self, request: Request) -> None:
        """Serves a command and answers it exactly once.

        The ack of a command that is committed now goes out together with its events.
        """
        assert not isinstance(request.command, wire.Join | wire.Leave), "those make no events"
        self._serving = request
        try:
            outcome = await self._log.execute(
                request.actor, request.command, request.received_ms, request.thought
            )
        finally:
            self._serving = None
        is_sent = isinstance(outcome, Accepted) and outcome.is_new and request.follower is not None
        if not is_sent:
            reply(request, outcome)

    async def _join(self, join: wire.Join, follower: Follower) -> None:
        """Adds a follower and sends it the events that it lacks, or a snapshot."""
        is_same_epoch = join.epoch is None or join.epoch == self._ports.store.epoch
        if join.since > self._log.state.v and is_same_epoch:
            await self._log.catch_up()
        room = self._log.state
        may_resume = (
            is_same_epoch and 0 < join.since <= room.v and room.v - join.since <= RESUME_LIMIT
        )
        missed = await self._log.since(join.since) if may_resume else None
        if not follower.closed:
            self._feed.send_joined(join, follower, room, missed)

    async def _before_append(self, events: Sequence[wire.RoomEvent]) -> None:
        await mark_seated(self._ports, events)

    def _on_commit(self, committed: RoomCommit) -> None:
        """Hands committed events to the followers, the engines, the lobby and the other nodes."""
        request = self._serving if committed.cause is Cause.COMMITTED else None
        events, room = committed.events, committed.after
        has_seat_change = changes_seats(events)
        if has_seat_change and room.has_ai:
            self._ports.engines.expect(room.game_id)
        if request is None:
            self._feed.send_events(committed)
        else:
            self._ports.metrics.moves += isinstance(events[0], wire.Moved)
            self._feed.send_events(committed, request.follower, request.command.id)
        if has_seat_change or changes_board(events):
            self._on_change(self.room_id)
        if self._log.is_responsible:
            # When the store failed before it confirmed an append, no other node has seen its
            # events. A node that is further behind than these reads the log.
            entries = tuple(entry.stored for entry in committed.entries[-TAIL:])
            self._ports.bus.publish(EventsAppended(self.room_id, self._ports.node, entries))

    def _submit_own(self, request: Request) -> None:
        """Puts a command of the server into the mailbox.

        There is at most one of a kind at a time and the match waits for it, so it may exceed the
        mailbox's capacity.
        """
        self._mailbox.put(request, beyond_limit=True)

    def _on_store_failure(self) -> None:
        """Reads the log again before anything else, and in RESYNC_S at the latest."""
        self._log.is_behind = True
        self._resync_later()

    def _resync_later(self) -> None:
        """Schedules a resync in RESYNC_S, when the store may answer again."""
        if self._resync_timer is None:
            self._resync_timer = asyncio.get_running_loop().call_later(
                RESYNC_S, self._submit_resync
            )

    def _submit_resync(self) -> None:
        self._resync_timer = None
        self.submit(Resync())

    def _refuse_all(self, code: Code, message: str) -> bool:
        """Refuses every waiting request. Returns whether a TakeOver was among them."""
        has_take_over = False
        while (item := self._mailbox.take()) is not None:
            has_take_over = has_take_over or isinstance(item, TakeOver)
            refuse(item, code, message)
        return has_take_over
