"""A connection to a server that reconnects by itself: for terminals, bots and tests.

    async with connect("http://127.0.0.1:8000", name="Ada") as c:
        room = (await c.command(Create(id=c.new_id(), game="tic-tac-toe"))).room
        async for message in c.follow(room): ...

The connection sends a command again, with the same id, after every reconnect and while the server
is busy, until the server answers. The server executes a command at most once. The events of a
followed room arrive once each, in order and without a gap; where events are missing, a new snapshot
comes first. The connection drops a socket that is silent for 9 s. Tests control the time through
the event loop, and randomness and the network through arguments.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, assert_never

from client.address import parse_address
from client.errors import (
    PlyroomError,
    ProtocolMismatch,
    Refused,
    Replaced,
    Unanswered,
    Unreachable,
    WrongToken,
)
from client.following import Subscription, Verdict
from client.messages import (
    EPHEMERAL,
    LoggedEvent,
    Refusal,
    RoomMessage,
    ServerMessage,
    UnreadableFrame,
    format_client_message,
    parse_server_message,
)
from client.transport import Dial, Socket, SocketClosed, dial
from server.protocol.codes import Close, Code
from server.protocol.messages import (
    MAX_FRAME_BYTES,
    PROTOCOL,
    Ack,
    Create,
    Hello,
    Joined,
    Leave,
    Lobby,
    May,
    Ping,
    Pong,
    Presence,
    RoomCommand,
    Snapshot,
    Thinking,
    Turn,
    View,
    WatchLobby,
    Welcome,
)

#: The most commands without an answer; further commands wait.
MAX_IN_FLIGHT = 64
#: The most messages that wait for a reader. When more arrive, the reader receives a snapshot.
MAX_QUEUED_MESSAGES = 1024
#: The most rooms that a connection follows at the same time.
MAX_ROOMS = 100
#: The most attempts at the first connection when the server closes sockets before the welcome.
MAX_FIRST_ATTEMPTS = 3
#: The counter of attempts stops here, so that 2 ** attempts stays small.
MAX_BACKOFF_ATTEMPTS = 16

#: Codes of a refused hello or join that may succeed later.
RETRY_CODES = frozenset({Code.STORE_RETRY, Code.ROOM_BUSY, Code.RATE_EXCEEDED, Code.SERVER_FAULT})


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits and intervals, in seconds."""

    #: The interval between pings.
    ping_s: float = 2.5
    #: The connection drops a socket that receives nothing for this long.
    silence_s: float = 9
    #: The connection drops a socket on which a command stays unanswered for this long.
    answer_s: float = 12
    #: The limit for the server's welcome.
    welcome_s: float = 5
    #: The longest first delay before a retry; this limit doubles with each attempt.
    retry_s: float = 1
    #: The longest delay before any retry.
    retry_max_s: float = 4
    #: A socket that stays open for this long resets the back-off.
    stable_s: float = 10
    #: The connection repeats a command for this long while the server is busy or cannot use its
    #: database. A new socket starts this time again.
    busy_s: float = 60


class State(Enum):
    """The state of the connection; the connection calls `on_state` whenever it changes."""

    CONNECTED = "connected"
    LOST = "lost"
    RESTARTING = "restarting"


#: The commands that `Connection.command` sends.
Command = RoomCommand | Create | WatchLobby


@dataclass(slots=True)
class _PendingCommand:
    """A command without an answer.

    `sent_at_s` is when it was last sent, `sent_count` how often. `busy_since_s` is when the server
    first refused it as busy on the current socket.
    """

    frame: str
    answer: "asyncio.Future[Ack]"
    sent_at_s: float
    sent_count: int = 1
    busy_since_s: float | None = None

    def record_sent(self, now_s: float) -> None:
        """Records that the command is sent once more."""
        self.sent_at_s = now_s
        self.sent_count += 1

    def should_retry(self, code: str, now_s: float, busy_s: float) -> bool:
        """Whether the refusal is temporary, so that the connection sends the command again.

        A `rate.exceeded` for the first attempt is final: the server executed nothing, and the
        caller can decide.
        """
        if code not in (Code.STORE_RETRY, Code.ROOM_BUSY) and (
            code != Code.RATE_EXCEEDED or self.sent_count == 1
        ):
            return False
        if self.busy_since_s is None:
            self.busy_since_s = now_s
        return now_s - self.busy_since_s < busy_s


class _FollowedRoom:
    """A followed room: its position in the log, and the messages that wait for the reader."""

    __slots__ = ("queue", "subscription")

    def __init__(self, room: str) -> None:
        self.subscription = Subscription(room)
        self.queue: asyncio.Queue[RoomMessage | PlyroomError] = asyncio.Queue(MAX_QUEUED_MESSAGES)

    def end(self, error: PlyroomError) -> None:
        """Queues an error that ends the reader; if the queue is full, it replaces the messages."""
        if self.queue.full():
            _clear(self.queue)
        self.queue.put_nowait(error)


@asynccontextmanager
async def connect(
    url: str,
    token: str | None = None,
    name: str | None = None,
    *,
    timing: Timing | None = None,
    reconnect_limit_s: float | None = None,
    on_state: Callable[[State], None] | None = None,
    dial: Dial = dial,
    jitter: Callable[[], float] = random.random,
    new_id: Callable[[], str] = lambda: secrets.token_hex(8),
) -> "AsyncIterator[Connection]":
    """Yields a connection that the server has welcomed.

    Raises Unreachable, WrongToken, ProtocolMismatch or Refused (the name) when the first connection
    fails. Later the connection reconnects in the background. It gives up after `reconnect_limit_s`
    without a server (None: never); from then on every call raises Unreachable.
    """
    connection = Connection(
        parse_address(url).websocket_url,
        token,
        name,
        timing or Timing(),
        reconnect_limit_s,
        on_state,
        dial,
        jitter,
        new_id,
    )
    running = asyncio.create_task(connection._run(), name="plyroom connection")
    try:
        await connection._first_welcome
        yield connection
    finally:
        connection._is_closing = True
        running.cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            running.result()  # raises the exception if a bug ended the task


class Connection:
    """A connection to a server; `connect` creates, runs and closes it.

    `identity`, `name`, `token` and `epoch` are those of the server's last welcome. `new_id` makes
    the ids of commands.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        name: str | None,
        timing: Timing,
        reconnect_limit_s: float | None,
        on_state: Callable[[State], None] | None,
        dial: Dial,
        jitter: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self.identity = ""
        self.name = name or ""
        self.token = token
        self.epoch = ""
        self.new_id = new_id
        self._url = url
        self._wanted_name = name
        self._timing = timing
        self._reconnect_limit_s = reconnect_limit_s
        self._on_state = on_state or (lambda state: None)
        self._dial = dial
        self._jitter = jitter
        self._loop = asyncio.get_running_loop()
        self._first_welcome: asyncio.Future[None] = self._loop.create_future()
        self._failure: PlyroomError | None = None
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._pending: dict[str, _PendingCommand] = {}
        self._rooms: dict[str, _FollowedRoom] = {}
        self._lobby_queues: list[asyncio.Queue[Lobby | PlyroomError]] = []
        self._outbox: asyncio.Queue[str] | None = None
        self._last_received_s = 0.0
        self._is_closing = False

    # --- the public interface

    async def command(self, message: Command, timeout_s: float | None = None) -> Ack:
        """Sends a command until the server answers it, and returns the answer.

        Raises Refused when the server refuses the command or is busy for a minute, and Unanswered
        after `timeout_s`.
        """
        frame = format_client_message(message)
        if len(frame.encode()) > MAX_FRAME_BYTES:
            raise Refused(Code.FRAME_TOO_BIG, f"a message has at most {MAX_FRAME_BYTES} bytes")
        try:
            async with asyncio.timeout(timeout_s), self._in_flight:
                return await self._send_until_answered(message.id, frame)
        except TimeoutError as error:
            raise Unanswered(
                f"no answer within {timeout_s:g} s; the server may have executed the command"
            ) from error

    async def _send_until_answered(self, command_id: str, frame: str) -> Ack:
        self._raise_failure()
        if command_id in self._pending:
            raise ValueError(f"a command with the id {command_id} is already in flight")
        pending = self._pending[command_id] = _PendingCommand(
            frame, self._loop.create_future(), self._loop.time()
        )
        self._post(frame)
        try:
            while True:
                try:
                    return await pending.answer
                except Refused as refused:
                    if not pending.should_retry(
                        refused.code, self._loop.time(), self._timing.busy_s
                    ):
                        raise
                await asyncio.sleep(self._delay_s(pending.sent_count))
                pending.answer = self._loop.create_future()
                pending.record_sent(self._loop.time())
                self._post(frame)
        finally:
            del self._pending[command_id]

    async def follow(self, room: str) -> AsyncGenerator[RoomMessage, None]:
        """Yields the messages about a room, beginning with `joined` and `snapshot`.

        Raises Refused when the server refuses the join. A reader that falls too far behind receives
        a new snapshot instead of the messages that it missed.
        """
        if room in self._rooms:
            raise ValueError(f"the room {room} is followed already")
        if len(self._rooms) >= MAX_ROOMS:
            raise ValueError(f"a connection follows at most {MAX_ROOMS} rooms")
        self._raise_failure()
        followed = self._rooms[room] = _FollowedRoom(room)
        self._join(followed)
        try:
            while True:
                message = await followed.queue.get()
                if isinstance(message, PlyroomError):
                    raise message
                yield message
        finally:
            del self._rooms[room]
            self._post(format_client_message(Leave(id=self.new_id(), room=room)))

    async def lobby(self) -> AsyncGenerator[Lobby, None]:
        """Yields the list of public rooms, then its changes; a reconnect yields the whole list."""
        self._raise_failure()
        queue: asyncio.Queue[Lobby | PlyroomError] = asyncio.Queue(MAX_QUEUED_MESSAGES)
        self._lobby_queues.append(queue)
        self._post(format_client_message(WatchLobby(id=self.new_id())))
        try:
            while True:
                message = await queue.get()
                if isinstance(message, PlyroomError):
                    raise message
                yield message
        finally:
            self._lobby_queues.remove(queue)
            if not self._lobby_queues:
                self._post(format_client_message(WatchLobby(id=self.new_id(), on=False)))

    # --- connecting and reconnecting

    async def _run(self) -> None:
        """Connects and reconnects until an error is final, and reports it to all waiting calls."""
        failure: PlyroomError = PlyroomError("the connection was closed")
        try:
            await self._reconnect_until_failure()
        except PlyroomError as error:
            failure = error
        finally:
            self._fail(failure)

    async def _reconnect_until_failure(self) -> None:
        attempts = 0
        lost_at_s = self._loop.time()
        while True:
            opened_at_s = self._loop.time()
            try:
                await self._run_socket()
            except SocketClosed as closed:
                if closed.code == Close.REPLACED:
                    raise Replaced("another connection of the same identity took over") from closed
                error: PlyroomError = Unreachable(
                    f"the connection to {self._url} was cut ({closed})"
                )
                state = State.RESTARTING if closed.code == Close.RESTARTING else State.LOST
                if not self._was_welcomed and attempts + 1 >= MAX_FIRST_ATTEMPTS:
                    raise error from closed
            except Unreachable as unreachable:
                if not self._was_welcomed:
                    raise
                error, state = unreachable, State.LOST
            # A task group that is cancelled while the socket closes raises SocketClosed instead of
            # CancelledError.
            if self._is_closing:
                return
            if self._outbox is not None:
                self._outbox = None
                self._on_state(state)
                lost_at_s = self._loop.time()
                attempts = 0 if lost_at_s - opened_at_s >= self._timing.stable_s else attempts
            limit_s = self._reconnect_limit_s
            if limit_s is not None and self._loop.time() - lost_at_s >= limit_s:
                raise error
            await asyncio.sleep(self._delay_s(attempts))
            attempts = min(attempts + 1, MAX_BACKOFF_ATTEMPTS)

    def _delay_s(self, attempts: int) -> float:
        """Seconds to wait after that many attempts: exponential back-off with full jitter."""
        return self._jitter() * min(self._timing.retry_s * 2.0**attempts, self._timing.retry_max_s)

    @property
    def _was_welcomed(self) -> bool:
        return self._first_welcome.done()

    async def _run_socket(self) -> None:
        """Opens a socket and runs it until it closes; always raises the reason."""
        async with self._dial(self._url) as socket:
            try:
                async with asyncio.timeout(self._timing.welcome_s):
                    await self._exchange_hello(socket)
            except TimeoutError as error:
                raise SocketClosed(1006, "no welcome") from error
            outbox = self._outbox = self._new_outbox()
            self._on_state(State.CONNECTED)
            if not self._first_welcome.done():
                self._first_welcome.set_result(None)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._write(socket, outbox), name="plyroom writer")
                    tasks.create_task(self._keep_alive(), name="plyroom keep-alive")
                    await self._read(socket)
            except BaseExceptionGroup as group:
                raise _main_error(group) from group

    async def _exchange_hello(self, socket: Socket) -> None:
        """Sends hello and waits for the welcome."""
        await socket.send(
            format_client_message(
                Hello(protocol=PROTOCOL, token=self.token, name=self._wanted_name)
            )
        )
        while True:
            match await self._receive(socket):
                case Welcome() as welcome:
                    break
                case Refusal(code=Code.TOKEN_UNKNOWN, message=message):
                    raise WrongToken(message)
                case Refusal(code=Code.PROTOCOL_UNSUPPORTED, message=message):
                    raise ProtocolMismatch(message)
                # A server that is busy after a restart: try again later.
                case Refusal(code=code, message=message) if (
                    self._was_welcomed and code in RETRY_CODES
                ):
                    raise SocketClosed(Close.TOO_SLOW, message)
                case Refusal(code=code, message=message):
                    raise Refused(code, message)
                case _:
                    continue
        if welcome.protocol != PROTOCOL:
            raise ProtocolMismatch(
                f"the server speaks protocol {welcome.protocol}, this client {PROTOCOL}"
            )
        self.identity, self.name = welcome.identity, welcome.name
        self.token = welcome.token or self.token
        if self.epoch != welcome.epoch:
            self.epoch = welcome.epoch
            for room in self._rooms.values():
                room.subscription.require_snapshot()

    def _new_outbox(self) -> "asyncio.Queue[str]":
        """A new socket's outbox: joins of the followed rooms, then the unanswered commands."""
        # MAX_ROOMS and MAX_IN_FLIGHT limit its length.
        outbox: asyncio.Queue[str] = asyncio.Queue()
        for room in self._rooms.values():
            outbox.put_nowait(self._join_frame(room))
        if self._lobby_queues:
            outbox.put_nowait(format_client_message(WatchLobby(id=self.new_id())))
        for pending in self._pending.values():
            pending.record_sent(self._loop.time())
            pending.busy_since_s = None
            outbox.put_nowait(pending.frame)
        self._last_received_s = self._loop.time()
        return outbox

    async def _write(self, socket: Socket, outbox: "asyncio.Queue[str]") -> None:
        while True:
            await socket.send(await outbox.get())

    async def _keep_alive(self) -> None:
        """Sends pings; raises SocketClosed when the server is silent or a command unanswered."""
        while True:
            await asyncio.sleep(self._timing.ping_s)
            now_s = self._loop.time()
            if now_s - self._last_received_s >= self._timing.silence_s:
                raise SocketClosed(1006, "silence")
            if any(self._is_overdue(pending, now_s) for pending in self._pending.values()):
                raise SocketClosed(1006, "no answer")
            self._post(format_client_message(Ping()))

    def _is_overdue(self, pending: _PendingCommand, now_s: float) -> bool:
        return not pending.answer.done() and now_s - pending.sent_at_s >= self._timing.answer_s

    async def _read(self, socket: Socket) -> None:
        while True:
            message = await self._receive(socket)
            if message is not None:
                self._dispatch(message)

    async def _receive(self, socket: Socket) -> ServerMessage | None:
        try:
            frame = await socket.receive()
            self._last_received_s = self._loop.time()
            return parse_server_message(frame)
        except UnreadableFrame as error:
            raise ProtocolMismatch(str(error)) from error

    def _dispatch(self, message: ServerMessage) -> None:
        match message:
            case Ack():
                self._on_ack(message)
            case Refusal():
                self._on_refusal(message)
            case (
                Joined()
                | May()
                | Snapshot()
                | LoggedEvent()
                | View()
                | Turn()
                | Thinking()
                | Presence()
            ):
                if room := self._rooms.get(message.room):
                    self._deliver(room, message)
            case Lobby():
                for queue in self._lobby_queues:
                    if not queue.full():
                        queue.put_nowait(message)
            case Welcome() | Pong():
                pass
            case _:
                assert_never(message)

    def _post(self, frame: str) -> None:
        """Queues a frame for the current socket.

        Without a socket it does nothing: `_new_outbox` sends all open joins and commands later.
        """
        if self._outbox is not None:
            self._outbox.put_nowait(frame)

    def _fail(self, failure: PlyroomError) -> None:
        """Raises the failure in every call that waits, and in every later call."""
        self._failure = failure
        self._outbox = None
        if not self._first_welcome.done():
            self._first_welcome.set_exception(failure)
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(failure)
        for room in self._rooms.values():
            room.end(failure)
        for queue in self._lobby_queues:
            _clear(queue)
            queue.put_nowait(failure)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # --- answers

    def _on_ack(self, ack: Ack) -> None:
        if (pending := self._pending.get(ack.id)) and not pending.answer.done():
            pending.answer.set_result(ack)

    def _on_refusal(self, refusal: Refusal) -> None:
        if (pending := self._pending.get(refusal.id or "")) and not pending.answer.done():
            pending.answer.set_exception(Refused(refusal.code, refusal.message))
            return
        for room in self._rooms.values():
            if refusal.id is not None and room.subscription.join_id == refusal.id:
                self._on_join_refused(room, refusal)

    # --- rooms

    def _join(self, room: _FollowedRoom) -> None:
        if self._outbox is not None:
            self._post(self._join_frame(room))

    def _join_frame(self, room: _FollowedRoom) -> str:
        return format_client_message(room.subscription.join(self.new_id()))

    def _on_join_refused(self, room: _FollowedRoom, refusal: Refusal) -> None:
        """Joins again later when the server is busy; any other refusal ends the subscription."""
        if refusal.code not in RETRY_CODES:
            room.end(Refused(refusal.code, refusal.message))
            return

        def rejoin() -> None:
            if (
                self._rooms.get(room.subscription.room) is room
                and room.subscription.join_id == refusal.id
            ):
                self._join(room)

        self._loop.call_later(self._timing.retry_s * (0.5 + self._jitter()), rejoin)

    def _deliver(self, room: _FollowedRoom, message: RoomMessage) -> None:
        """Queues a message for the reader, drops it, or joins again after a gap."""
        match room.subscription.check(message):
            case Verdict.PASS:
                self._enqueue(room, message)
            case Verdict.GAP:
                self._join(room)
            case Verdict.DROP:
                pass

    def _enqueue(self, room: _FollowedRoom, message: RoomMessage) -> None:
        """Queues a message.

        Drops an ephemeral message when the queue is half full. Empties a full queue and joins
        the room from 0, so that the server sends a snapshot.
        """
        if isinstance(message, EPHEMERAL) and room.queue.qsize() >= MAX_QUEUED_MESSAGES // 2:
            return
        if room.queue.full():
            _clear(room.queue)
            room.subscription.require_snapshot()
            self._join(room)
            return
        room.queue.put_nowait(message)


def _clear(queue: "asyncio.Queue[Any]") -> None:
    while not queue.empty():
        queue.get_nowait()


def _main_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a socket's tasks; a PlyroomError takes precedence over SocketClosed.

    Any other exception is a bug; the group is then returned unchanged.
    """
    expected, unexpected = group.split((PlyroomError, SocketClosed))
    if expected is None or unexpected is not None:
        return group
    return min(expected.exceptions, key=lambda error: isinstance(error, SocketClosed))
