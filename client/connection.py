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
from enum import Enum
from itertools import chain
from typing import assert_never

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
from client.messages import (
    LoggedEvent,
    Refusal,
    RoomMessage,
    ServerMessage,
    UnreadableFrame,
    format_client_message,
    parse_server_message,
)
from client.outbox import Outbox
from client.pending import PendingCommands
from client.readers import RETRY_CODES, FollowedRooms, LobbyReaders
from client.timing import Timing
from client.transport import Dial, Socket, SocketClosed, dial
from server.protocol.codes import Close, Code
from server.protocol.messages import (
    MAX_FRAME_BYTES,
    PROTOCOL,
    Ack,
    Create,
    Hello,
    Joined,
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

#: Maximum number of attempts at the first connection when the server closes sockets before the
#: welcome.
MAX_FIRST_ATTEMPTS = 3
#: The counter of attempts stops here, so that 2 ** attempts stays small.
MAX_BACKOFF_ATTEMPTS = 16


class State(Enum):
    """The state of the connection; the connection calls `on_state` whenever it changes."""

    CONNECTED = "connected"
    LOST = "lost"
    RESTARTING = "restarting"


#: The commands that `Connection.command` sends.
Command = RoomCommand | Create | WatchLobby


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
        self._outbox = Outbox()
        self._pending = PendingCommands(self._outbox, timing, jitter)
        self._rooms = FollowedRooms(self._outbox, timing, jitter, new_id)
        self._lobby = LobbyReaders(self._outbox, new_id)
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
            async with asyncio.timeout(timeout_s):
                return await self._pending.send(message.id, frame)
        except TimeoutError as error:
            raise Unanswered(
                f"no answer within {timeout_s:g} s; the server may have executed the command"
            ) from error

    def follow(self, room: str) -> AsyncGenerator[RoomMessage, None]:
        """Yields the messages about a room, beginning with `joined` and `snapshot`.

        Raises Refused when the server refuses the join. A reader that falls too far behind receives
        a new snapshot instead of the messages that it missed.
        """
        return self._rooms.follow(room)

    def lobby(self) -> AsyncGenerator[Lobby, None]:
        """Yields the list of public rooms, then its changes; a reconnect yields the whole list."""
        return self._lobby.read()

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
            if self._outbox.is_open:
                self._outbox.close()
                self._on_state(state)
                lost_at_s = self._loop.time()
                attempts = 0 if lost_at_s - opened_at_s >= self._timing.stable_s else attempts
            limit_s = self._reconnect_limit_s
            if limit_s is not None and self._loop.time() - lost_at_s >= limit_s:
                raise error
            await asyncio.sleep(self._timing.backoff_s(attempts, self._jitter()))
            attempts = min(attempts + 1, MAX_BACKOFF_ATTEMPTS)

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
            self._open_outbox()
            self._on_state(State.CONNECTED)
            if not self._first_welcome.done():
                self._first_welcome.set_result(None)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._outbox.write(socket), name="plyroom writer")
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
            self._rooms.require_snapshots()

    def _open_outbox(self) -> None:
        """Begins with the joins of the followed rooms, then the unanswered commands."""
        self._outbox.open(
            chain(self._rooms.joins(), self._lobby.watches(), self._pending.frames_to_resend())
        )
        self._last_received_s = self._loop.time()

    async def _keep_alive(self) -> None:
        """Sends pings; raises SocketClosed when the server is silent or a command unanswered."""
        while True:
            await asyncio.sleep(self._timing.ping_s)
            if self._loop.time() - self._last_received_s >= self._timing.silence_s:
                raise SocketClosed(1006, "silence")
            if self._pending.has_overdue():
                raise SocketClosed(1006, "no answer")
            self._outbox.post(format_client_message(Ping()))

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
                self._pending.acknowledge(message)
            case Refusal():
                if not self._pending.refuse(message):
                    self._rooms.refuse(message)
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
                self._rooms.deliver(message)
            case Lobby():
                self._lobby.deliver(message)
            case Welcome() | Pong():
                pass
            case _:
                assert_never(message)

    def _fail(self, failure: PlyroomError) -> None:
        """Raises the failure in every call that waits, and in every later call."""
        self._outbox.fail(failure)
        if not self._first_welcome.done():
            self._first_welcome.set_exception(failure)
        self._pending.fail(failure)
        self._rooms.fail(failure)
        self._lobby.fail(failure)


def _main_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a socket's tasks; a PlyroomError takes precedence over SocketClosed.

    Any other exception is a bug; the group is then returned unchanged.
    """
    expected, unexpected = group.split((PlyroomError, SocketClosed))
    if expected is None or unexpected is not None:
        return group
    return min(expected.exceptions, key=lambda error: isinstance(error, SocketClosed))
