"""Runs one room on one node: one task that decides, commits, evolves and sends, in that order.

Any node may run any room, and the store arbitrates: when an append finds that the head has moved,
the runner reads the newer events and decides again. Nothing is acknowledged or shown before it is
committed.
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
from server.runtime.expiry import note_opened, note_seated
from server.runtime.followers import Followers
from server.runtime.mailbox import Full, Mailbox
from server.runtime.projections import projections, stored
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

#: Retries after losing the compare-and-set on the room's head.
TRIES = 5

#: Command keys that a runner remembers. The store has them all.
KEYS = 256

#: Newest events that a runner keeps for clients that reconnect. The store has them all.
TAIL = 64

#: Events in one page read from the store.
PAGE = 1000

#: A client that is more than this many events behind receives a snapshot instead of the events.
RESUME_LIMIT = 500

#: Delay after a store failure before the room resyncs, in seconds.
RESYNC_S = 1.0

#: Commands that concern following and change nothing in the room.
FOLLOWING = (wire.Join, wire.Leave)

#: The first bytes of log entries that change the board.
BOARD = (b'{"kind":"moved"', b'{"kind":"started"', b'{"kind":"finished"')
#: The first bytes of log entries that change who sits where.
SEATING = (b'{"kind":"seat_taken"', b'{"kind":"seat_left"', b'{"kind":"started"')


class RoomGone(Exception):
    """There is no such room."""


class RoomRunner:
    """Runs one room.

    `run` is its task; the other public methods return at once and must be called in the event loop.
    """

    __slots__ = (
        "_ai",
        "_busy",
        "_changed",
        "_followers",
        "_is_behind",
        "_keys",
        "_mailbox",
        "_ports",
        "_readiness",
        "_responsible",
        "_resync_timer",
        "_room",
        "_spawn",
        "_tail",
        "_thinking",
        "idle_since_ms",
        "room_id",
    )  # fmt: skip

    def __init__(
        self,
        room_id: str,
        ports: Ports,
        spawn: Spawn,
        changed: Callable[[str], None],
        known: Room | None = None,
    ) -> None:
        self.room_id = room_id
        self.idle_since_ms = ports.now_ms()
        self._ports = ports
        self._spawn = spawn
        self._changed = changed
        self._room: Room | None = known
        self._followers = Followers(room_id, ports, lambda: self._room, changed)
        self._mailbox: Mailbox[Request | EventsAppended | TakeOver | Resync] = Mailbox(
            MAILBOX_CAPACITY
        )
        self._keys: dict[CommandKey, int] = {}
        self._tail: list[StoredEvent] = []
        self._responsible = known is not None
        self._is_behind = False
        self._busy = False
        self._ai: tuple[str, asyncio.Task[None]] | None = None
        self._readiness: asyncio.Task[None] | None = None
        self._thinking = b""
        self._resync_timer: asyncio.TimerHandle | None = None

    # --- what the hub calls ---

    @property
    def room(self) -> Room | None:
        """The room as last seen here; None until it is loaded."""
        return self._room

    @property
    def watching(self) -> int:
        """The number of followers without a seat, on all nodes."""
        return self._followers.watching

    @property
    def nodes_here(self) -> Iterable[str]:
        """The other nodes that have reported presence in this room."""
        return self._followers.nodes

    @property
    def idle(self) -> bool:
        """Whether the room can be closed: it has no follower here and nothing to do."""
        return not (
            len(self._followers)
            or self._busy
            or self._ai
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
        """Handles a bus message of another node about this room."""
        if message.node == self._ports.node:
            return
        match message:
            case EventsAppended():
                if not self._try_put(message):
                    self._is_behind = True
            case Ephemeral(frame=frame):
                self._thinking = frame
                self._followers.send_ephemeral_to_all(frame)
            case PresenceReport():
                self._followers.on_presence(message)

    def node_gone(self, node: str) -> None:
        """Drops the presence that a node reported before it went down."""
        self._followers.node_gone(node)

    def publish_presence(self, asks: bool = False) -> None:
        """Reports this node's followers again, in case the other nodes missed it."""
        self._followers.publish_presence(asks)

    def forget(self, follower: Follower) -> None:
        """Removes the follower of a connection that has closed."""
        if self._followers.remove(follower):
            self.idle_since_ms = self._ports.now_ms()

    async def run(self) -> None:
        """Serves the mailbox until cancelled.

        Returns when the room does not exist or cannot be read.
        """
        unsubscribe = self._ports.bus.subscribe(self.room_id, self.receive)
        try:
            if not await self._opened():
                return
            while True:
                item = await self._mailbox.get()
                self._busy = True
                await self._serve(item)
                self._busy = False
                self.idle_since_ms = self._ports.now_ms()
        finally:
            unsubscribe()
            self._followers.close()
            if self._resync_timer is not None:
                self._resync_timer.cancel()
            for task in (self._ai[1] if self._ai is not None else None, self._readiness):
                if task is not None:
                    task.cancel()
            self._refuse_all(Code.ROOM_BUSY, "this server is closing the room; send it again")

    # --- loading and catching up ---

    async def _opened(self) -> bool:
        """Loads the room.

        Returns False, after refusing every waiting request, when it does not exist or cannot be
        read.
        """
        due = False
        while True:
            try:
                if self._room is None:
                    await self._load()
                self._update_search()
                return True
            except RoomGone:
                self._refuse_all(Code.ROOM_UNKNOWN, "there is no such room")
            except StoreError as error:
                log.warning("store unavailable", room=self.room_id, error=str(error))
                message = "the store does not answer; send the same command again"
                due = self._refuse_all(Code.STORE_RETRY, message) or due
                if due:  # no client retries a TakeOver
                    await asyncio.sleep(RESYNC_S)
                    continue
            except Exception:
                log.exception("room cannot be read", room=self.room_id)
                self._refuse_all(
                    Code.SERVER_FAULT, "the room cannot be read; the server's log says why"
                )
            return False

    async def _load(self) -> None:
        """Reads the room's whole log. Raises RoomGone when there is none."""
        head = await self._ports.store.head(self.room_id)
        if head is None:
            raise RoomGone(self.room_id)
        events: list[StoredEvent] = []
        while page := await self._ports.store.events(self.room_id, len(events), PAGE):
            events += page
            if len(page) < PAGE:
                break
        if not await note_opened(self._ports, self.room_id, head, events):
            raise RoomGone(self.room_id)
        self._apply(events)
        self._responsible = head.node == self._ports.node

    def _apply(self, events: list[StoredEvent]) -> None:
        """Applies these events to the room."""
        happened = [parse_event_body(event.body) for event in events]
        for event, what in zip(events, happened, strict=True):
            if self._room is None:
                self._room = rules.first(self.room_id, what, event.at_ms, self._ports.find_game)
            else:
                self._room = rules.evolve(self._room, what, event.at_ms)
        self._keep(events)

    def _keep(self, events: list[StoredEvent]) -> None:
        """Keeps the newest events in memory for clients that reconnect."""
        self._tail += events
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    async def _catch_up(self) -> None:
        """Reads, applies and sends the events that the store has and this runner has not seen.

        They come from another node, which is then responsible for what follows, or from this one
        when the store failed before it confirmed the append. No other node has seen the latter, so
        they are published on the bus.
        """
        while page := await self._ports.store.events(self.room_id, self._loaded.v, PAGE):
            head = await self._ports.store.head(self.room_id)
            # Nothing below awaits or fails before the events are sent: events that were applied but
            # not sent would leave the followers with a gap.
            self._apply(page)
            self._responsible = head is not None and head.node == self._ports.node
            self._tell(page)
            if self._responsible:  # a node that is further behind reads the log
                self._ports.bus.publish(
                    EventsAppended(self.room_id, self._ports.node, tuple(page[-TAIL:]))
                )
            if len(page) < PAGE:
                break
        self._is_behind = False

    # --- serving ---

    async def _serve(self, item: Request | EventsAppended | TakeOver | Resync) -> None:
        """Serves one mailbox item. A bug in the server fails that item, not the room."""
        try:
            if self._is_behind:
                await self._catch_up()
            match item:
                case Request(command=wire.Move()):
                    await self._command(item)
                case Request(command=wire.Join() as join, follower=follower):
                    assert follower is not None, "nobody joins without a connection"
                    await self._join(join, follower)
                case Request(command=wire.Leave(id=key), follower=follower):
                    assert follower is not None, "nobody leaves without a connection"
                    self.forget(follower)
                    follower.send(text_frame(format_message(wire.Ack(key, None))))
                case Request(command=AiMove() | AiFailure() | ForcedPass() as answer):
                    if self._ai is not None and self._ai[0].startswith(
                        ai.question(answer.match, answer.digest)
                    ):
                        self._ai = None
                    await self._command(item)
                case Request():
                    await self._command(item)
                case EventsAppended():
                    await self._on_events_appended(item)
                case TakeOver():
                    self._responsible = True
                    await self._catch_up()
                case Resync():
                    await self._catch_up()
            if self._loaded.offers:
                await self._answer_offer()
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
        """Schedules a resync, for when the store may answer again."""
        if self._resync_timer is None:
            self._resync_timer = asyncio.get_running_loop().call_later(RESYNC_S, self._resync)

    def _resync(self) -> None:
        self._resync_timer = None
        self.submit(Resync())

    async def _on_events_appended(self, grown: EventsAppended) -> None:
        """Applies and sends the events that another node appended."""
        room = self._loaded
        self._ports.metrics.bus_lag_s.observe(
            max(0, self._ports.now_ms() - grown.events[-1].at_ms) / 1000
        )
        if grown.events[-1].v <= room.v:
            return
        if grown.events[0].v != room.v + 1:
            await self._catch_up()
            return
        self._apply(list(grown.events))
        self._responsible = False
        self._tell(list(grown.events))

    async def _command(self, request: Request) -> None:
        """Answers a command exactly once.

        The answer is an ack after the commit, the ack of an earlier commit of the same key, or an
        error.
        """
        command = request.command
        assert not isinstance(command, FOLLOWING), "those change nothing"
        key = CommandKey(request.actor.identity, command.id)
        checked = False
        for _ in range(TRIES):
            if key in self._keys:
                self._ports.metrics.repeated += 1
                reply(request, wire.Ack(command.id, self._keys[key]))
                return
            try:
                events = self._decide(request.actor, command)
            except CommandRejected as rejection:
                if not checked and await self._was_behind(key):
                    checked = True
                    continue
                if isinstance(command, AiMove) and rejection.code in (
                    Code.MOVE_ILLEGAL,
                    Code.MOVE_MALFORMED,
                ):
                    log.error(
                        "AI answered an illegal move", room=self.room_id, game=self._loaded.game_id
                    )
                    command = command.failed("its engine answered a move that is not legal")
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
                    command = command.failed("the rules of this game failed on its move")
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
                checked = False  # another node may have committed this very command
            except Duplicate as made:
                self._ports.metrics.repeated += 1
                self._remember(key, made.last_v)
                await self._catch_up()
        reply(
            request,
            wire.Error(command.id, Code.ROOM_BUSY, "too many others were faster; send it again"),
        )

    def _decide(self, actor: Actor, command: Command) -> list[wire.RoomEvent]:
        """The events that a command produces in the current state.

        Raises CommandRejected or GameFault when there are none.
        """
        if isinstance(command, wire.Chat):
            limits = self._ports.settings.limit_chat, self._ports.settings.limit_chat_room
            chat.check_pace(self._loaded, actor.identity, self._ports.now_ms(), *limits)
        return rules.decide(self._loaded, actor, command, self._ports.new_id)

    async def _was_behind(self, key: CommandKey) -> bool:
        """Whether the store was ahead of this runner when it rejected the command.

        Catches up if so.
        """
        head = await self._ports.store.head(self.room_id)
        behind = head is not None and head.v > self._loaded.v
        if behind:
            await self._catch_up()
        # This lookup comes after the head's, so it finds what was committed between the two.
        made = await self._ports.store.find_command(self.room_id, key)
        if made is not None:
            self._remember(key, made[1])
            if made[1] > self._loaded.v:
                await self._catch_up()
        return behind or made is not None

    async def _append(
        self, events: list[wire.RoomEvent], key: CommandKey, request: Request
    ) -> None:
        """Commits the events of a command with its key, then applies, sends and publishes them."""
        before = self._loaded
        await note_seated(self._ports, events)
        at_ms = max(self._ports.now_ms(), before.changed_ms)
        after = before
        entries: list[StoredEvent] = []
        for event in events:
            after = rules.evolve(after, event, at_ms)
            entries.append(stored(after, event, at_ms))
        metrics = self._ports.metrics
        self._ports.reached("before_append")
        begun = time.perf_counter()
        await self._ports.store.append(
            Append(
                room=self.room_id, expected_v=before.v, events=tuple(entries),
                node=self._ports.node, due_ms=after.due_ms(), command=key,
                projections=projections(after, events, request.thought),
            )
        )  # fmt: skip
        self._ports.reached("after_append")
        metrics.append_s.observe(time.perf_counter() - begun)
        metrics.commands += 1
        metrics.moves += isinstance(events[0], wire.Moved)
        log.debug("committed", room=self.room_id, command=key.id, v=after.v)
        self._room = after
        self._keep(entries)
        self._responsible = True
        self._remember(key, after.v)
        self._tell(entries, request)
        self._ports.bus.publish(EventsAppended(self.room_id, self._ports.node, tuple(entries)))

    def _remember(self, key: CommandKey, v: int) -> None:
        """Remembers the version at which a command was committed."""
        self._keys[key] = v
        if len(self._keys) > KEYS:
            del self._keys[next(iter(self._keys))]

    # --- sending ---

    def _tell(self, events: list[StoredEvent], request: Request | None = None) -> None:
        """Sends committed events to every follower.

        The new board, the legal moves for the player to move, and the ack go with them.
        """
        room = self._loaded
        moved = seating = False
        for event in events:
            moved = moved or event.body.startswith(BOARD)
            seating = seating or event.body.startswith(SEATING)
        if seating:
            self._followers.seats_changed(room)
            if room.has_ai:
                self._ports.engines.expect(room.game_id)
        board = view_frame(room) if moved else b""
        frames = {
            player: self._frames(events, player) + board
            for player in {player for _, player in self._followers}
        }
        moves, mover = turn_frame(room) if moved else (b"", None)
        asker = request.follower if request is not None else None
        ack = b""
        if request is not None and asker is not None:
            ack = text_frame(format_message(wire.Ack(request.command.id, room.v)))
        for follower, player in self._followers:
            data = frames[player]
            if mover is not None and follower.identity == mover:
                data += moves
            if follower is asker:
                ack += data
            else:
                follower.send(data)
        if asker is not None:
            self._ports.reached("before_ack")
            asker.send(ack)
        if moved:
            self._thinking = b""
        if moved or seating:
            self._changed(self.room_id)

    def _frames(self, events: list[StoredEvent], player: bool) -> bytes:
        """The events as frames for players or for spectators."""
        return b"".join(
            text_frame(
                event_frame(
                    self.room_id, event.v, event.at_ms,
                    HIDDEN_BODY if player and event.audience == SPECTATORS else event.body,
                )
            )
            for event in events
        )  # fmt: skip

    async def _join(self, join: wire.Join, follower: Follower) -> None:
        """Adds a follower and sends what it lacks, as events or as a snapshot."""
        same_epoch = join.epoch is None or join.epoch == self._ports.store.epoch
        if join.since > self._loaded.v and same_epoch:
            await self._catch_up()
        room = self._loaded
        seat = room.seat_of(follower.identity)
        player = seat is not None
        resume = same_epoch and 0 < join.since <= room.v and room.v - join.since <= RESUME_LIMIT
        missed = await self._since(join.since) if resume else []
        if follower.closed:
            return
        joined = wire.Joined(
            room=room.id, v=room.v, epoch=self._ports.store.epoch,
            description=views.description(room), seat=seat, frozen=room.frozen,
        )  # fmt: skip
        moves, mover = turn_frame(room)
        parts = [
            text_frame(format_message(wire.Ack(join.id, None))),
            text_frame(format_message(joined)),
            b"" if resume else text_frame(format_message(views.snapshot(room, player))),
            self._frames(missed, player),
            view_frame(room),
            moves if mover == follower.identity else b"",
            self._thinking,
        ]
        self._followers.add(follower, player)
        follower.send(b"".join(parts) + self._followers.presence_at_join(follower, room))
        self._followers.presence_changed()

    async def _since(self, v: int) -> list[StoredEvent]:
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
        """Starts the search or the forced pass that is due, and cancels one that no longer is."""
        room = self._loaded
        seat = room.ai_to_move() if self._responsible else None
        forced = room.forced_pass() if self._responsible else None
        match = room.match if seat is not None or forced is not None else None
        wanted = None if match is None else f"{ai.question(match.id, match.digest)}{match.ply}"
        if self._ai is not None and self._ai[0] != wanted:
            self._ai[1].cancel()
            self._ai = None
        if self._ai is None and wanted is not None:
            if forced is not None:
                self._ai = (wanted, self._spawn(self._pass(room, forced), f"pass {self.room_id}"))
            elif seat is not None:
                self._ai = (wanted, self._spawn(self._answer(room, seat), f"ai {self.room_id}"))

    async def _answer_offer(self) -> None:
        """Answers an offer of a draw for an AI seat, from the analysis of its last move."""
        room = self._loaded
        seat = room.ai_offered_draw() if self._responsible else None
        if seat is None or room.match is None:
            return
        try:
            thoughts = await self._ports.store.thoughts(room.match.id)
            reply = ai.reply(room, room.match, seat, thoughts)
            await self._command(Request(Actor(AI_IDENTITY, "AI"), reply))
        except StoreError as error:  # the offer itself has been acknowledged already
            self._is_behind = True
            self._resync_later()
            log.warning("store unavailable", room=self.room_id, error=str(error))

    async def _pass(self, room: Room, forced: ForcedPass) -> None:
        """Plays the forced pass after a pause in which people can see the position."""
        pause_ms = self._ports.settings.forced_pass_ms
        left_ms = room.changed_ms + pause_ms - self._ports.now_ms()
        if left_ms > 0:
            await asyncio.sleep(min(left_ms, pause_ms) / 1000)
        self._mailbox.put(Request(Actor(AI_IDENTITY, "server"), forced), beyond_limit=True)

    async def _answer(self, room: Room, seat: int) -> None:
        """Searches for the AI seat and puts its answer into the mailbox."""
        assert room.match is not None, "an AI moves in a match"
        was_cold = self._ports.engines.warm_percent(room.game_id) < 100
        try:
            command, thought = await ai.answer(
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
        # There is at most one such request at a time and a match waits for it, so it may exceed the
        # limit.
        self._mailbox.put(
            Request(Actor(AI_IDENTITY, "AI"), command, None, thought), beyond_limit=True
        )
        was_cold = was_cold or b'"ready":' in self._thinking
        if self._readiness is not None:
            was_cold = was_cold or not self._readiness.done()  # its last frame is still to come
            self._readiness.cancel()
        if not was_cold:
            return
        reports = ai.tell_readiness(self._ports, room, room.match, seat, self._send_ephemeral)
        self._readiness = self._spawn(reports, f"readiness {self.room_id}")

    def _send_ephemeral(self, frame: bytes) -> None:
        """Sends a frame here and to the other nodes, and keeps it for clients that join later."""
        self._thinking = frame
        self._followers.send_ephemeral_to_all(frame)
        self._ports.bus.publish(Ephemeral(self.room_id, self._ports.node, frame))

    # --- helpers ---

    @property
    def _loaded(self) -> Room:
        """The room, once it is loaded."""
        assert self._room is not None, "the log is read before anything is served"
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
        due = False
        while (item := self._mailbox.take()) is not None:
            due = due or isinstance(item, TakeOver)
            refuse(item, code, message)
        return due
