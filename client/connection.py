"""A connection to a server that survives cuts: for terminals, bots and tests.

    async with connect("http://127.0.0.1:8000", name="Ada") as c:
        room = (await c.command(Create(id=c.new_id(), game="tic-tac-toe"))).room
        async for message in c.follow(room): ...

The connection sends a command again, with the same id, after every cut and while the server is
busy, until the server answers. The server executes a command at most once. The events of a followed
room arrive once each, in order and without a gap; where some are missing, a fresh snapshot comes
first. The connection gives up a socket that is silent for 9 s. It takes time from the event loop;
randomness and the network are arguments.
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
from client.following import Following, Verdict
from client.messages import (
    EPHEMERAL,
    Happened,
    Refusal,
    RoomMessage,
    ServerMessage,
    UnreadableFrame,
    format_client_message,
    parse_server_message,
)
from client.transport import Cut, Dial, Socket, dial
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

#: Commands without an answer at a time; further commands wait.
MAX_IN_FLIGHT = 64
#: Messages that wait for a reader; a reader further behind receives a snapshot.
MAX_QUEUED = 1024
#: Rooms that a connection follows at a time.
MAX_ROOMS = 100
#: Attempts at a first connection that is cut before the welcome.
MAX_FIRST_ATTEMPTS = 3

#: Codes of join refusals that a later attempt can overcome.
JOIN_AGAIN = frozenset({Code.STORE_RETRY, Code.ROOM_BUSY, Code.RATE_EXCEEDED, Code.SERVER_FAULT})


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits and intervals, in seconds.

    A socket that stays open for `steady_s` resets the back-off. The connection repeats a command
    for `busy_s` on one socket while the server is busy or has lost its store.
    """

    ping_s: float = 2.5
    silence_s: float = 9
    answer_s: float = 12
    welcome_s: float = 5
    retry_s: float = 1
    retry_max_s: float = 4
    steady_s: float = 10
    busy_s: float = 60


class State(Enum):
    """The state of the connection; `on_state` is called whenever it changes."""

    CONNECTED = "connected"
    LOST = "lost"
    RESTARTING = "restarting"


Command = RoomCommand | Create | WatchLobby


@dataclass(slots=True)
class _Pending:
    """A command without an answer; `busy_since_s` is when the server first said that it is busy."""

    frame: str
    answer: "asyncio.Future[Ack]"
    sent_s: float
    sent: int = 1
    busy_since_s: float | None = None

    def sent_now(self, now_s: float) -> None:
        """Records that the command is sent once more."""
        self.sent_s = now_s
        self.sent += 1

    def is_temporary(self, code: str, now_s: float, busy_s: float) -> bool:
        """Whether the refusal is temporary, so that only sending again can settle the command.

        The caller receives a first "too fast": the server executed nothing.
        """
        if code not in (Code.STORE_RETRY, Code.ROOM_BUSY) and (
            code != Code.RATE_EXCEEDED or self.sent == 1
        ):
            return False
        if self.busy_since_s is None:
            self.busy_since_s = now_s
        return now_s - self.busy_since_s < busy_s


class _Room:
    """A followed room: its position in the log and the messages not yet taken by its reader."""

    __slots__ = ("following", "queue")

    def __init__(self, room: str) -> None:
        self.following = Following(room)
        self.queue: asyncio.Queue[RoomMessage | PlyroomError] = asyncio.Queue(MAX_QUEUED)

    def end(self, error: PlyroomError) -> None:
        """Ends the reader with this error after the queued messages, or instead of a full queue."""
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
    patience_s: float | None = None,
    on_state: Callable[[State], None] | None = None,
    dial: Dial = dial,
    jitter: Callable[[], float] = random.random,
    new_id: Callable[[], str] = lambda: secrets.token_hex(8),
) -> "AsyncIterator[Connection]":
    """Yields a connection that the server has welcomed.

    Raises Unreachable, WrongToken, ProtocolMismatch or Refused (the name) when the first connection
    fails. Later cuts are repaired in the background, each for at most `patience_s` (None: for
    ever); after that every call raises Unreachable.
    """
    connection = Connection(
        parse_address(url).socket,
        token,
        name,
        timing or Timing(),
        patience_s,
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
        connection._closing = True
        running.cancel()
        await asyncio.wait({running})
        if not running.cancelled():
            running.result()  # raises what a defect of ours raised


class Connection:
    """A connection that `connect` makes, runs and ends."""

    def __init__(
        self,
        url: str,
        token: str | None,
        name: str | None,
        timing: Timing,
        patience_s: float | None,
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
        self._patience_s = patience_s
        self._on_state = on_state or (lambda state: None)
        self._dial = dial
        self._jitter = jitter
        self._loop = asyncio.get_running_loop()
        self._first_welcome: asyncio.Future[None] = self._loop.create_future()
        self._failure: PlyroomError | None = None
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._pending: dict[str, _Pending] = {}
        self._rooms: dict[str, _Room] = {}
        self._lobbies: list[asyncio.Queue[Lobby | PlyroomError]] = []
        self._outbox: asyncio.Queue[str] | None = None
        self._last_received_s = 0.0
        self._closing = False

    # --- the public interface

    async def command(self, message: Command, timeout_s: float | None = None) -> Ack:
        """Sends a command until the server answers it, and returns the answer.

        Raises Refused when the server refuses, or is busy for a minute, and Unanswered after
        `timeout_s`.
        """
        frame = format_client_message(message)
        if len(frame.encode()) > MAX_FRAME_BYTES:
            raise Refused(Code.FRAME_TOO_BIG, f"a message has at most {MAX_FRAME_BYTES} bytes")
        try:
            async with asyncio.timeout(timeout_s), self._in_flight:
                return await self._answer(message.id, frame)
        except TimeoutError as error:
            raise Unanswered(
                f"no answer within {timeout_s:g} s; the server may have executed the command"
            ) from error

    async def _answer(self, command_id: str, frame: str) -> Ack:
        self._raise_failure()
        if command_id in self._pending:
            raise ValueError(f"a command with the id {command_id} is already in flight")
        pending = self._pending[command_id] = _Pending(
            frame, self._loop.create_future(), self._loop.time()
        )
        self._post(frame)
        try:
            while True:
                try:
                    return await pending.answer
                except Refused as refused:
                    if not pending.is_temporary(
                        refused.code, self._loop.time(), self._timing.busy_s
                    ):
                        raise
                await asyncio.sleep(self._delay_s(pending.sent))
                pending.answer = self._loop.create_future()
                pending.sent_now(self._loop.time())
                self._post(frame)
        finally:
            del self._pending[command_id]

    async def follow(self, room: str) -> AsyncGenerator[RoomMessage, None]:
        """Yields everything that happens in a room, beginning with `joined` and `snapshot`.

        Raises Refused when there is no such room. A reader that falls too far behind receives a
        fresh snapshot in place of what it missed.
        """
        if room in self._rooms:
            raise ValueError(f"the room {room} is followed already")
        if len(self._rooms) >= MAX_ROOMS:
            raise ValueError(f"a connection follows at most {MAX_ROOMS} rooms")
        self._raise_failure()
        followed = self._rooms[room] = _Room(room)
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
        """Yields the list of public rooms, then its changes; a cut repeats the full list."""
        self._raise_failure()
        queue: asyncio.Queue[Lobby | PlyroomError] = asyncio.Queue(MAX_QUEUED)
        self._lobbies.append(queue)
        self._post(format_client_message(WatchLobby(id=self.new_id())))
        try:
            while True:
                message = await queue.get()
                if isinstance(message, PlyroomError):
                    raise message
                yield message
        finally:
            self._lobbies.remove(queue)
            if not self._lobbies:
                self._post(format_client_message(WatchLobby(id=self.new_id(), on=False)))

    # --- the life of the connection

    async def _run(self) -> None:
        """Runs one socket after another until reconnecting is hopeless; reports the failure."""
        failure: PlyroomError = PlyroomError("the connection was closed")
        try:
            await self._reconnect_for_ever()
        except PlyroomError as error:
            failure = error
        finally:
            self._fail(failure)

    async def _reconnect_for_ever(self) -> None:
        tries = 0
        lost_s = self._loop.time()
        while True:
            opened_s = self._loop.time()
            try:
                await self._one_socket()
            except Cut as cut:
                if cut.code == Close.REPLACED:
                    raise Replaced("another connection of the same identity took over") from cut
                reason: PlyroomError = Unreachable(f"the connection to {self._url} was cut ({cut})")
                state = State.RESTARTING if cut.code == Close.RESTARTING else State.LOST
                if not self._welcomed and tries + 1 >= MAX_FIRST_ATTEMPTS:
                    raise reason from cut
            except Unreachable as error:
                if not self._welcomed:
                    raise
                reason, state = error, State.LOST
            if (
                self._closing
            ):  # A task group that is cancelled at the moment of a cut raises the cut only.
                return
            if self._outbox is not None:
                self._outbox = None
                self._on_state(state)
                lost_s = self._loop.time()
                tries = 0 if lost_s - opened_s >= self._timing.steady_s else tries
            if self._patience_s is not None and self._loop.time() - lost_s >= self._patience_s:
                raise reason
            await asyncio.sleep(self._delay_s(tries))
            tries = min(tries + 1, 16)

    def _delay_s(self, tries: int) -> float:
        """The time to wait after `tries` attempts: exponential back-off with full jitter."""
        return self._jitter() * min(self._timing.retry_s * 2.0**tries, self._timing.retry_max_s)

    @property
    def _welcomed(self) -> bool:
        return self._first_welcome.done()

    async def _one_socket(self) -> None:
        """Runs one socket from dialling to the cut, which it raises."""
        async with self._dial(self._url) as socket:
            try:
                async with asyncio.timeout(self._timing.welcome_s):
                    await self._greet(socket)
            except TimeoutError as error:
                raise Cut(1006, "no welcome") from error
            outbox = self._outbox = self._resumed()
            self._on_state(State.CONNECTED)
            if not self._first_welcome.done():
                self._first_welcome.set_result(None)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._write(socket, outbox), name="plyroom writer")
                    tasks.create_task(self._keep_alive(), name="plyroom keep-alive")
                    await self._read(socket)
            except BaseExceptionGroup as group:
                raise _reason(group) from group

    async def _greet(self, socket: Socket) -> None:
        """Exchanges hello and welcome."""
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
                case Refusal(code=code, message=message) if self._welcomed and code in JOIN_AGAIN:
                    raise Cut(Close.TOO_SLOW, message)
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
                room.following.start_anew()

    def _resumed(self) -> "asyncio.Queue[str]":
        """A new socket's outbox: joins of the followed rooms, then the unanswered commands."""
        outbox: asyncio.Queue[str] = (
            asyncio.Queue()
        )  # bounded by MAX_ROOMS, MAX_IN_FLIGHT and one ping at a time
        for room in self._rooms.values():
            outbox.put_nowait(self._join_frame(room))
        if self._lobbies:
            outbox.put_nowait(format_client_message(WatchLobby(id=self.new_id())))
        for pending in self._pending.values():
            pending.sent_now(self._loop.time())
            pending.busy_since_s = None
            outbox.put_nowait(pending.frame)
        self._last_received_s = self._loop.time()
        return outbox

    async def _write(self, socket: Socket, outbox: "asyncio.Queue[str]") -> None:
        while True:
            await socket.send(await outbox.get())

    async def _keep_alive(self) -> None:
        """Sends pings, and raises Cut when the socket is silent or a command stays unanswered."""
        while True:
            await asyncio.sleep(self._timing.ping_s)
            now = self._loop.time()
            if now - self._last_received_s >= self._timing.silence_s:
                raise Cut(1006, "silence")
            if any(self._is_overdue(pending, now) for pending in self._pending.values()):
                raise Cut(1006, "no answer")
            self._post(format_client_message(Ping()))

    def _is_overdue(self, pending: _Pending, now_s: float) -> bool:
        return not pending.answer.done() and now_s - pending.sent_s >= self._timing.answer_s

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
                self._answered(message.id, message)
            case Refusal():
                self._refused(message)
            case Joined() | Snapshot() | Happened() | View() | Turn() | Thinking() | Presence():
                if room := self._rooms.get(message.room):
                    self._deliver(room, message)
            case Lobby():
                for queue in self._lobbies:
                    if not queue.full():
                        queue.put_nowait(message)
            case Welcome() | Pong():
                pass
            case _:
                assert_never(message)

    def _post(self, frame: str) -> None:
        """Sends on the current socket, if there is one; otherwise `_resumed` sends it later."""
        if self._outbox is not None:
            self._outbox.put_nowait(frame)

    def _fail(self, failure: PlyroomError) -> None:
        """Ends everything that waits with the failure."""
        self._failure = failure
        self._outbox = None
        if not self._first_welcome.done():
            self._first_welcome.set_exception(failure)
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(failure)
        for room in self._rooms.values():
            room.end(failure)
        for queue in self._lobbies:
            _clear(queue)
            queue.put_nowait(failure)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    # --- answers

    def _answered(self, command_id: str, ack: Ack) -> None:
        if (pending := self._pending.get(command_id)) and not pending.answer.done():
            pending.answer.set_result(ack)

    def _refused(self, refusal: Refusal) -> None:
        if (pending := self._pending.get(refusal.id or "")) and not pending.answer.done():
            pending.answer.set_exception(Refused(refusal.code, refusal.message))
            return
        for room in self._rooms.values():
            if refusal.id is not None and room.following.join_id == refusal.id:
                self._join_refused(room, refusal)

    # --- rooms

    def _join(self, room: _Room) -> None:
        if self._outbox is not None:
            self._post(self._join_frame(room))

    def _join_frame(self, room: _Room) -> str:
        return format_client_message(room.following.join(self.new_id()))

    def _join_refused(self, room: _Room, refusal: Refusal) -> None:
        """Joins again later when the server is busy; any other refusal ends the subscription."""
        if refusal.code not in JOIN_AGAIN:
            room.end(Refused(refusal.code, refusal.message))
            return

        def again() -> None:
            if (
                self._rooms.get(room.following.room) is room
                and room.following.join_id == refusal.id
            ):
                self._join(room)

        self._loop.call_later(self._timing.retry_s * (0.5 + self._jitter()), again)

    def _deliver(self, room: _Room, message: RoomMessage) -> None:
        """Queues a message for the reader, unless it must be dropped; joins from 0 after a gap."""
        match room.following.judge(message):
            case Verdict.PASS:
                self._enqueue(room, message)
            case Verdict.GAP:
                self._join(room)
            case Verdict.DROP:
                pass

    def _enqueue(self, room: _Room, message: RoomMessage) -> None:
        if isinstance(message, EPHEMERAL) and room.queue.qsize() >= MAX_QUEUED // 2:
            return
        if room.queue.full():
            _clear(room.queue)
            room.following.start_anew()
            self._join(room)
            return
        room.queue.put_nowait(message)


def _clear(queue: "asyncio.Queue[Any]") -> None:
    while not queue.empty():
        queue.get_nowait()


def _reason(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Why a socket's tasks ended: a typed error is preferred to a cut.

    Anything else is a defect of ours and stays the group that it is.
    """
    mine, others = group.split((PlyroomError, Cut))
    if mine is None or others is not None:
        return group
    leaves = sorted(mine.exceptions, key=lambda error: isinstance(error, Cut))
    return leaves[0]
