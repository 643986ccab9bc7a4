"""Runs one room on one node: one task that decides, commits, evolves and sends, in that order.

Any node may run any room, and the store arbitrates: when the head is not where an append expects
it, the runner reads the newer events and decides again. The runner acknowledges and sends nothing
before it is committed.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

import structlog

from engine.game import GameFault
from server.bus.base import Ephemeral, EventsAppended, PresenceReport, RoomMessage
from server.ports import Follower, Ports, Spawn
from server.protocol import messages as wire
from server.protocol.codec import HIDDEN_BODY, event_frame, format_message, parse_event_body
from server.protocol.codes import Code
from server.protocol.frames import text_frame
from server.rooms import chat, rules, views
from server.rooms.model import (
    AI_IDENTITY,
    Actor,
    AiFailure,
    AiMove,
    Command,
    CommandRejected,
    ForcedPass,
    Room,
)
from server.runtime.board_frames import turn_frame, view_frame
from server.runtime.expiry import mark_opened, mark_seated
from server.runtime.followers import Followers
from server.runtime.mailbox import Full, Mailbox
from server.runtime.projections import log_entry, projections
from server.runtime.requests import Request, Resync, TakeOver, command_id, refuse, reply
from server.seats import ai
from server.store.base import (
    SPECTATORS,
    Append,
    CommandKey,
    Conflict,
    Duplicate,
    StoredEvent,
    StoreError,
)

log = structlog.get_logger()

#: Mailbox capacity, in requests.
MAILBOX_CAPACITY = 256

#: Attempts to commit a command, in case other nodes win the compare-and-set on the room's head.
TRIES = 5

#: Newest command keys that a runner remembers. The store has all of them.
MAX_KEYS = 256

#: Newest events that a runner keeps for clients that reconnect. The store has all of them.
TAIL = 64

#: Events in one page read from the store.
PAGE = 1000

#: A client that is more than this many events behind receives a snapshot instead of the events.
RESUME_LIMIT = 500

#: Delay after a store failure before the room resyncs, in seconds.
RESYNC_S = 1.0

#: Commands that only add or remove a follower, and make no events.
FOLLOW_COMMANDS = (wire.Join, wire.Leave)

#: The first bytes of log entries that change the board.
BOARD_EVENTS = (b'{"kind":"moved"', b'{"kind":"started"', b'{"kind":"finished"')
#: The first bytes of log entries that change who holds a seat.
SEAT_EVENTS = (b'{"kind":"seat_taken"', b'{"kind":"seat_left"', b'{"kind":"started"')


class NoSuchRoom(Exception):
    """The store has no room with that id."""


class RoomRunner:
    """Runs one room.

    `run` is its task; the other public methods return at once and must be called in the event loop.
    """

    __slots__ = (
        "_ai_task",
        "_followers",
        "_is_behind",
        "_is_busy",
        "_is_responsible",
        "_keys",
        "_mailbox",
        "_on_change",
        "_ports",
        "_readiness_task",
        "_resync_timer",
        "_room",
        "_spawn",
        "_tail",
        "_thinking_frame",
        "idle_since_ms",
        "room_id",
    )  # fmt: skip

    def __init__(
        self,
        room_id: str,
        ports: Ports,
        spawn: Spawn,
        on_change: Callable[[str], None],
        room: Room | None = None,
    ) -> None:
        self.room_id = room_id
        self.idle_since_ms = ports.now_ms()
        self._ports = ports
        self._spawn = spawn
        self._on_change = on_change
        self._room: Room | None = room
        self._followers = Followers(room_id, ports, lambda: self._room, on_change)
        self._mailbox: Mailbox[Request | EventsAppended | TakeOver | Resync] = Mailbox(
            MAILBOX_CAPACITY
        )
        #: The versions at which the newest commands were committed.
        self._keys: dict[CommandKey, int] = {}
        self._tail: list[StoredEvent] = []
        #: Whether this node must make the AI's moves and the forced passes.
        self._is_responsible = room is not None
        #: Whether the store may have events that this runner has not seen.
        self._is_behind = False
        #: Whether the runner is serving a mailbox item.
        self._is_busy = False
        #: The key and the task of the AI's search or forced pass.
        self._ai_task: tuple[str, asyncio.Task[None]] | None = None
        self._readiness_task: asyncio.Task[None] | None = None
        #: The last `thinking` frame since the last move, for clients that join later.
        self._thinking_frame = b""
        self._resync_timer: asyncio.TimerHandle | None = None

    # --- called by the hub ---

    @property
    def room(self) -> Room | None:
        """The room as this node last saw it; None until it is loaded."""
        return self._room

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
            or self._ai_task
            or self._resync_timer
            or len(self._mailbox)
        )

    def submit(self, request: Request | TakeOver | Resync) -> bool:
        """Puts a request into the mailbox. Returns False when the mailbox is full."""
        try:
            self._mailbox.put(request, beyond_limit=isinstance(request, TakeOver))
        except Full:
            self._is_behind = self._is_behind or isinstance(request, Resync)
            return False
        return True

    def receive(self, message: RoomMessage) -> None:
        """Handles a bus message about this room from another node."""
        if message.node == self._ports.node:
            return
        match message:
            case EventsAppended():
                if not self._try_put(message):
                    self._is_behind = True
            case Ephemeral(frame=frame):
                self._thinking_frame = frame
                self._followers.send_ephemeral_to_all(frame)
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
            if self._resync_timer is not None:
                self._resync_timer.cancel()
            for task in (
                self._ai_task[1] if self._ai_task is not None else None,
                self._readiness_task,
            ):
                if task is not None:
                    task.cancel()
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
                if self._room is None:
                    await self._load()
                self._update_search()
                return True
            except NoSuchRoom:
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

    async def _load(self) -> None:
        """Reads the room's whole log. Raises NoSuchRoom if there is none."""
        head = await self._ports.store.head(self.room_id)
        if head is None:
            raise NoSuchRoom(self.room_id)
        events: list[StoredEvent] = []
        while page := await self._ports.store.events(self.room_id, len(events), PAGE):
            events += page
            if len(page) < PAGE:
                break
        if not await mark_opened(self._ports, self.room_id, head, events):
            raise NoSuchRoom(self.room_id)
        self._apply(events)
        self._is_responsible = head.node == self._ports.node

    def _apply(self, events: list[StoredEvent]) -> None:
        """Applies these events to the room."""
        decoded = [parse_event_body(event.body) for event in events]
        for event, wire_event in zip(events, decoded, strict=True):
            if self._room is None:
                self._room = rules.initial_room(
                    self.room_id, wire_event, event.at_ms, self._ports.find_game
                )
            else:
                self._room = rules.evolve(self._room, wire_event, event.at_ms)
        self._extend_tail(events)

    def _extend_tail(self, events: list[StoredEvent]) -> None:
        """Adds these events to the tail, which is for clients that reconnect; drops the oldest."""
        self._tail += events
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    async def _catch_up(self) -> None:
        """Reads, applies and sends the events that the store has and this runner has not seen.

        Another node appended them and is then responsible for the room. Or this node did, but the
        store failed before it confirmed the append. In that case no other node has seen them, so
        the runner publishes them on the bus.
        """
        while page := await self._ports.store.events(self.room_id, self._loaded.v, PAGE):
            head = await self._ports.store.head(self.room_id)
            # Nothing below awaits or fails before the events are sent: events that were applied but
            # not sent would leave the followers with a gap.
            self._apply(page)
            self._is_responsible = head is not None and head.node == self._ports.node
            self._send_events(page)
            if self._is_responsible:  # a node that is further behind reads the log
                self._ports.bus.publish(
                    EventsAppended(self.room_id, self._ports.node, tuple(page[-TAIL:]))
                )
            if len(page) < PAGE:
                break
        self._is_behind = False

    # --- serving ---

    async def _serve(self, item: Request | EventsAppended | TakeOver | Resync) -> None:
        """Serves one mailbox item. A bug in the server makes that item fail, not the room."""
        try:
            if self._is_behind:
                await self._catch_up()
            match item:
                case Request(command=wire.Move()):  # first, since most requests are moves
                    await self._serve_command(item)
                case Request(command=wire.Join() as join, follower=follower):
                    assert follower is not None, "a join has a connection"
                    await self._join(join, follower)
                case Request(command=wire.Leave(id=key), follower=follower):
                    assert follower is not None, "a leave has a connection"
                    self.forget(follower)
                    follower.send(text_frame(format_message(wire.Ack(key, None))))
                case Request(command=AiMove() | AiFailure() | ForcedPass() as answer):
                    if self._ai_task is not None and self._ai_task[0].startswith(
                        ai.search_key_prefix(answer.match, answer.digest)
                    ):
                        self._ai_task = None
                    await self._serve_command(item)
                case Request():
                    await self._serve_command(item)
                case EventsAppended():
                    await self._on_events_appended(item)
                case TakeOver():
                    self._is_responsible = True
                    await self._catch_up()
                case Resync():
                    await self._catch_up()
            if self._loaded.offers:
                await self._answer_draw_offer()
            self._update_search()
        except StoreError as error:
            self._is_behind = True
            self._resync_later()
            self._ports.metrics.store_failures += 1
            log.warning(
                "store unavailable", room=self.room_id, command=command_id(item), error=str(error)
            )
            refuse(item, Code.STORE_RETRY, "the store does not answer; send the same command again")
        except Exception:
            self._is_behind = True
            self._ports.metrics.faults += 1
            log.exception(
                "room request failed",
                room=self.room_id,
                request=type(item).__name__,
                command=command_id(item),
            )
            refuse(item, Code.SERVER_FAULT, "the server failed on this command; its log says why")

    def _resync_later(self) -> None:
        """Schedules a resync in RESYNC_S, when the store may answer again."""
        if self._resync_timer is None:
            self._resync_timer = asyncio.get_running_loop().call_later(
                RESYNC_S, self._submit_resync
            )

    def _submit_resync(self) -> None:
        self._resync_timer = None
        self.submit(Resync())

    async def _on_events_appended(self, message: EventsAppended) -> None:
        """Applies and sends the events that another node appended."""
        room = self._loaded
        self._ports.metrics.bus_lag_s.observe(
            max(0, self._ports.now_ms() - message.events[-1].at_ms) / 1000
        )
        if message.events[-1].v <= room.v:
            return
        if message.events[0].v != room.v + 1:
            await self._catch_up()
            return
        self._apply(list(message.events))
        self._is_responsible = False
        self._send_events(list(message.events))

    async def _serve_command(self, request: Request) -> None:
        """Serves a command and answers it exactly once.

        The answer is an ack after the commit, an ack for an earlier commit with the same key, or an
        error.
        """
        command = request.command
        assert not isinstance(command, FOLLOW_COMMANDS), "joining and leaving make no events"
        key = CommandKey(request.actor.identity, command.id)
        has_checked = False
        for _ in range(TRIES):
            if key in self._keys:
                self._ports.metrics.repeated += 1
                reply(request, wire.Ack(command.id, self._keys[key]))
                return
            try:
                events = self._decide(request.actor, command)
            except CommandRejected as rejection:
                if not has_checked and await self._catch_up_if_behind(key):
                    has_checked = True
                    continue
                if isinstance(command, AiMove) and rejection.code in (
                    Code.MOVE_ILLEGAL,
                    Code.MOVE_MALFORMED,
                ):
                    log.error(
                        "AI answered an illegal move", room=self.room_id, game=self._loaded.game_id
                    )
                    command = command.to_failure("its engine answered an illegal move")
                    continue
                self._ports.metrics.rejected += 1
                log.debug("refused", room=self.room_id, command=command.id, code=rejection.code)
                reply(request, wire.Error(command.id, rejection.code, rejection.message))
                return
            except GameFault as fault:
                self._ports.metrics.faults += 1
                log.error(
                    "game fault", room=self.room_id, command=command.id,
                    game=self._loaded.game_id, fault=str(fault), exc_info=True,
                )  # fmt: skip
                if isinstance(command, AiMove):
                    command = command.to_failure("the rules of this game failed on its move")
                    continue
                reply(
                    request,
                    wire.Error(
                        command.id, Code.GAME_FAULT, "the rules of this game failed on that command"
                    ),
                )
                return
            try:
                await self._append(events, key, request)
                return
            except Conflict:
                self._ports.metrics.conflicts += 1
                await self._catch_up()
                has_checked = False  # another node may have committed this very command
            except Duplicate as duplicate:
                self._ports.metrics.repeated += 1
                self._remember(key, duplicate.last_v)
                await self._catch_up()
        reply(
            request,
            wire.Error(
                command.id,
                Code.ROOM_BUSY,
                "other nodes changed the room first several times; send it again",
            ),
        )

    def _decide(self, actor: Actor, command: Command) -> list[wire.RoomEvent]:
        """The events that a command produces in the current state.

        Raises CommandRejected or GameFault when there are none.
        """
        if isinstance(command, wire.Chat):
            limits = self._ports.settings.limit_chat, self._ports.settings.limit_chat_room
            chat.check_pace(self._loaded, actor.identity, self._ports.now_ms(), *limits)
        return rules.decide(self._loaded, actor, command, self._ports.new_id)

    async def _catch_up_if_behind(self, key: CommandKey) -> bool:
        """Catches up if the store is ahead of this runner, which has just rejected a command.

        Returns whether it was ahead, so that the command must be decided again.
        """
        head = await self._ports.store.head(self.room_id)
        is_behind = head is not None and head.v > self._loaded.v
        if is_behind:
            await self._catch_up()
        # This query comes after that of the head, so it finds a commit between the two.
        versions = await self._ports.store.find_command(self.room_id, key)
        if versions is not None:
            self._remember(key, versions[1])
            if versions[1] > self._loaded.v:
                await self._catch_up()
        return is_behind or versions is not None

    async def _append(
        self, events: list[wire.RoomEvent], key: CommandKey, request: Request
    ) -> None:
        """Commits the events of a command with its key, then applies, sends and publishes them."""
        before = self._loaded
        await mark_seated(self._ports, events)
        at_ms = max(self._ports.now_ms(), before.changed_ms)
        after = before
        entries: list[StoredEvent] = []
        for event in events:
            after = rules.evolve(after, event, at_ms)
            entries.append(log_entry(after, event, at_ms))
        metrics = self._ports.metrics
        self._ports.reached("before_append")
        begun_s = time.perf_counter()
        await self._ports.store.append(
            Append(
                room=self.room_id, expected_v=before.v, events=tuple(entries),
                node=self._ports.node, due_ms=after.due_ms(), command=key,
                projections=projections(after, events, request.thought),
            )
        )  # fmt: skip
        self._ports.reached("after_append")
        metrics.append_s.observe(time.perf_counter() - begun_s)
        metrics.commands += 1
        metrics.moves += isinstance(events[0], wire.Moved)
        log.debug("committed", room=self.room_id, command=key.id, v=after.v)
        self._room = after
        self._extend_tail(entries)
        self._is_responsible = True
        self._remember(key, after.v)
        self._send_events(entries, request)
        self._ports.bus.publish(EventsAppended(self.room_id, self._ports.node, tuple(entries)))

    def _remember(self, key: CommandKey, v: int) -> None:
        """Remembers the version at which a command was committed."""
        self._keys[key] = v
        if len(self._keys) > MAX_KEYS:
            del self._keys[next(iter(self._keys))]

    # --- sending ---

    def _send_events(self, events: list[StoredEvent], request: Request | None = None) -> None:
        """Sends committed events to every follower, and the ack to the sender of the request.

        With a change of the board it also sends the board, and the legal moves to the player to
        move.
        """
        room = self._loaded
        has_board_change = has_seat_change = False
        for event in events:
            has_board_change = has_board_change or event.body.startswith(BOARD_EVENTS)
            has_seat_change = has_seat_change or event.body.startswith(SEAT_EVENTS)
        if has_seat_change:
            self._followers.on_seats_changed(room)
            if room.has_ai:
                self._ports.engines.expect(room.game_id)
        board = view_frame(room) if has_board_change else b""
        frames = {
            is_player: self._event_frames(events, is_player) + board
            for is_player in {is_player for _, is_player in self._followers}
        }
        moves, player_to_move = turn_frame(room) if has_board_change else (b"", None)
        sender = request.follower if request is not None else None
        ack = b""
        if request is not None and sender is not None:
            ack = text_frame(format_message(wire.Ack(request.command.id, room.v)))
        for follower, is_player in self._followers:
            data = frames[is_player]
            if player_to_move is not None and follower.identity == player_to_move:
                data += moves
            if follower is sender:
                ack += data
            else:
                follower.send(data)
        if sender is not None:
            self._ports.reached("before_ack")
            sender.send(ack)
        if has_board_change:
            self._thinking_frame = b""
        if has_board_change or has_seat_change:
            self._on_change(self.room_id)

    def _event_frames(self, events: list[StoredEvent], is_player: bool) -> bytes:
        """The events as frames for players or for spectators."""
        return b"".join(
            text_frame(
                event_frame(
                    self.room_id, event.v, event.at_ms,
                    HIDDEN_BODY if is_player and event.audience == SPECTATORS else event.body,
                )
            )
            for event in events
        )  # fmt: skip

    async def _join(self, join: wire.Join, follower: Follower) -> None:
        """Adds a follower and sends it the events that it lacks, or a snapshot."""
        is_same_epoch = join.epoch is None or join.epoch == self._ports.store.epoch
        if join.since > self._loaded.v and is_same_epoch:
            await self._catch_up()
        room = self._loaded
        seat = room.seat_of(follower.identity)
        is_player = seat is not None
        may_resume = (
            is_same_epoch and 0 < join.since <= room.v and room.v - join.since <= RESUME_LIMIT
        )
        missed = await self._events_since(join.since) if may_resume else []
        if follower.closed:
            return
        joined = wire.Joined(
            room=room.id, v=room.v, epoch=self._ports.store.epoch,
            description=views.description(room), seat=seat, frozen=room.frozen,
        )  # fmt: skip
        moves, player_to_move = turn_frame(room)
        parts = [
            text_frame(format_message(wire.Ack(join.id, None))),
            text_frame(format_message(joined)),
            b"" if may_resume else text_frame(format_message(views.snapshot(room, is_player))),
            self._event_frames(missed, is_player),
            view_frame(room),
            moves if player_to_move == follower.identity else b"",
            self._thinking_frame,
        ]
        self._followers.add(follower, is_player)
        follower.send(b"".join(parts) + self._followers.presence_at_join(follower, room))
        self._followers.schedule_presence()

    async def _events_since(self, v: int) -> list[StoredEvent]:
        """The events after version `v`, from memory or from the store."""
        room = self._loaded
        if v == room.v:
            return []
        if self._tail and self._tail[0].v <= v + 1:
            return [event for event in self._tail if event.v > v]
        return [
            event for event in await self._ports.store.events(self.room_id, v) if event.v <= room.v
        ]

    # --- the AI's turn ---

    def _update_search(self) -> None:
        """Starts the AI's search or forced pass that is due; cancels one that is no longer due."""
        room = self._loaded
        seat = room.ai_to_move() if self._is_responsible else None
        forced_pass = room.forced_pass() if self._is_responsible else None
        match = room.match if seat is not None or forced_pass is not None else None
        due_key = (
            None if match is None else f"{ai.search_key_prefix(match.id, match.digest)}{match.ply}"
        )
        if self._ai_task is not None and self._ai_task[0] != due_key:
            self._ai_task[1].cancel()
            self._ai_task = None
        if self._ai_task is None and due_key is not None:
            if forced_pass is not None:
                self._ai_task = (
                    due_key,
                    self._spawn(self._play_pass(room, forced_pass), f"pass {self.room_id}"),
                )
            elif seat is not None:
                self._ai_task = (
                    due_key,
                    self._spawn(self._find_ai_move(room, seat), f"ai {self.room_id}"),
                )

    async def _answer_draw_offer(self) -> None:
        """Answers an offer of a draw for an AI seat, using the analysis of its last move."""
        room = self._loaded
        seat = room.ai_to_answer_draw() if self._is_responsible else None
        if seat is None or room.match is None:
            return
        try:
            thoughts = await self._ports.store.thoughts(room.match.id)
            command = ai.answer_draw_offer(room, room.match, seat, thoughts)
            await self._serve_command(Request(Actor(AI_IDENTITY, "AI"), command))
        except StoreError as error:  # the offer itself has been acknowledged already
            self._is_behind = True
            self._resync_later()
            log.warning("store unavailable", room=self.room_id, error=str(error))

    async def _play_pass(self, room: Room, forced_pass: ForcedPass) -> None:
        """Plays the forced pass after a pause in which people can see the position."""
        pause_ms = self._ports.settings.forced_pass_ms
        left_ms = room.changed_ms + pause_ms - self._ports.now_ms()
        if left_ms > 0:
            await asyncio.sleep(min(left_ms, pause_ms) / 1000)
        self._mailbox.put(Request(Actor(AI_IDENTITY, "server"), forced_pass), beyond_limit=True)

    async def _find_ai_move(self, room: Room, seat: int) -> None:
        """Searches for the AI seat's move and puts its command into the mailbox."""
        assert room.match is not None, "an AI moves in a match"
        was_uncompiled = self._ports.engines.warm_percent(room.game_id) < 100
        try:
            command, thought = await ai.find_move(
                self._ports, room, room.match, seat, self._send_ephemeral
            )
        except Exception:
            log.exception("AI seat failed", room=self.room_id, game=room.game_id)
            key = ai.command_id(room.match, room.v)
            command, thought = (
                AiFailure(key, room.match.id, seat, room.match.digest, "its engine failed"),
                None,
            )
        if isinstance(command, AiFailure):
            log.error(
                "AI gives no move", room=self.room_id, game=room.game_id, reason=command.reason
            )
        # The match waits for this request, and there is at most one at a time. So it may exceed the
        # mailbox's capacity.
        self._mailbox.put(
            Request(Actor(AI_IDENTITY, "AI"), command, None, thought), beyond_limit=True
        )
        was_uncompiled = was_uncompiled or b'"ready":' in self._thinking_frame
        if self._readiness_task is not None:
            # The readiness task has not yet sent its last frame.
            was_uncompiled = was_uncompiled or not self._readiness_task.done()
            self._readiness_task.cancel()
        if not was_uncompiled:
            return
        reports = ai.report_readiness(self._ports, room, room.match, seat, self._send_ephemeral)
        self._readiness_task = self._spawn(reports, f"readiness {self.room_id}")

    def _send_ephemeral(self, frame: bytes) -> None:
        """Sends a frame to the followers on all nodes, and keeps it for clients that join later."""
        self._thinking_frame = frame
        self._followers.send_ephemeral_to_all(frame)
        self._ports.bus.publish(Ephemeral(self.room_id, self._ports.node, frame))

    # --- helpers ---

    @property
    def _loaded(self) -> Room:
        """The room, once it is loaded."""
        assert self._room is not None, "the runner loads the room before it serves the mailbox"
        return self._room

    def _try_put(self, item: EventsAppended) -> bool:
        """Puts bus events into the mailbox. Returns False when it is full."""
        try:
            self._mailbox.put(item)
        except Full:
            return False
        return True

    def _refuse_all(self, code: Code, message: str) -> bool:
        """Refuses every waiting request. Returns whether a TakeOver was among them."""
        has_take_over = False
        while (item := self._mailbox.take()) is not None:
            has_take_over = has_take_over or isinstance(item, TakeOver)
            refuse(item, code, message)
        return has_take_over
