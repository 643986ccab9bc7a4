"""A connection to a server that reconnects by itself: for terminals, bots and tests.

    async with connect("http://127.0.0.1:8000", name="Ada") as c:
        room = (await c.command(Create(id=c.new_id(), game="tic-tac-toe"))).room
        async for message in c.follow(room): ...

The connection sends a command again, with the same id, after every reconnect and while the server
is busy, until the server answers. The server executes a command at most once. The events of a
followed room arrive once each, in order and without a gap; where events are missing, a new snapshot
comes first. The connection drops a socket that is silent for 9 s. In a cluster, a connection that
follows one room changes to a socket of that room (`/ws?room=ID`), so that the clients of a room
meet on one node. Tests control the time through the event loop, and randomness and the network
through arguments.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum
from itertools import chain
from typing import assert_never

from client.address import Address, parse_address
from client.errors import PlyroomError, Refused, Replaced, Unanswered, Unreachable
from client.following import Subscription
from client.handshake import WelcomedSocket, join_room, open_socket, receive
from client.messages import (
    LoggedEvent,
    Refusal,
    RoomMessage,
    ServerMessage,
    format_client_message,
)
from client.outbox import Outbox
from client.pending import PendingCommands
from client.readers import FollowedRooms, LobbyReaders
from client.timing import ServerTime, Timing
from client.transport import Dial, Socket, SocketClosed, dial
from server.commands import Create
from server.protocol.codes import Close, Code
from server.protocol.messages import (
    MAX_FRAME_BYTES,
    PROTOCOL,
    Ack,
    Answer,
    CommandFrame,
    Hello,
    Joined,
    Lobby,
    May,
    Notification,
    Ping,
    Pong,
    Presence,
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


class _Renamed(SocketClosed):
    """The connection gives its socket up, because a new one has the guest's new name."""


class State(Enum):
    """The state of the connection; the connection calls `on_state` whenever it changes."""

    CONNECTED = "connected"
    LOST = "lost"
    RESTARTING = "restarting"


#: The commands that `Connection.command` sends.
Command = CommandFrame | Create | WatchLobby


@asynccontextmanager
async def connect(
    url: str,
    token: str | None = None,
    name: str | None = None,
    *,
    room: str | None = None,
    timing: Timing | None = None,
    reconnect_limit_s: float | None = None,
    on_state: Callable[[State], None] | None = None,
    on_notification: Callable[[Notification], None] | None = None,
    dial: Dial = dial,
    jitter: Callable[[], float] = random.random,
    new_id: Callable[[], str] = lambda: secrets.token_hex(8),
) -> "AsyncIterator[Connection]":
    """Yields a connection that the server has welcomed.

    Raises Unreachable, WrongToken, ProtocolMismatch or Refused (the name) when the first connection
    fails. Later the connection reconnects in the background. It gives up after `reconnect_limit_s`
    without a server (None: never); from then on every call raises Unreachable.

    If it is known which room the connection will follow, pass it as `room`: in a cluster the first
    socket is then on the room's node. `on_notification` is called with what waits for the guest in
    rooms that none of the guest's connections follows.
    """
    connection = Connection(
        parse_address(url),
        token,
        name,
        room,
        timing or Timing(),
        reconnect_limit_s,
        on_state,
        on_notification,
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
    the ids of commands, and `on_state` is called when the state of the connection changes,
    `on_notification` with what waits in rooms that it does not follow.
    """

    def __init__(
        self,
        address: Address,
        token: str | None,
        name: str | None,
        room: str | None,
        timing: Timing,
        reconnect_limit_s: float | None,
        on_state: Callable[[State], None] | None,
        on_notification: Callable[[Notification], None] | None,
        dial: Dial,
        jitter: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self.identity = ""
        self.name = name or ""
        self.token = token
        self.epoch = ""
        self.new_id = new_id
        self._address = address
        self._wanted_name = name
        self._first_room = room
        self._timing = timing
        self._reconnect_limit_s = reconnect_limit_s
        self.on_state = on_state or (lambda state: None)
        self.on_notification = on_notification or (lambda notification: None)
        self._dial = dial
        self._jitter = jitter
        self._loop = asyncio.get_running_loop()
        self._first_welcome: asyncio.Future[None] = self._loop.create_future()
        self._outbox = Outbox()
        self._pending = PendingCommands(self._outbox, timing, jitter)
        self._rooms = FollowedRooms(self._outbox, timing, jitter, new_id)
        self._lobby = LobbyReaders(self._outbox, new_id)
        self._server_time = ServerTime()
        self._last_received_s = 0.0
        self._was_renamed = asyncio.Event()
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

    async def rename(self, name: str) -> str:
        """Gives the guest another name, and returns it as the server has it.

        The seats that the guest holds show it at once. What the connection sends later, such as
        chat, has the new name: it goes through a socket that replaces the current one. Raises
        Refused when the server refuses the name, and Unreachable when it does not answer.
        """
        try:
            opened = await self._open_socket(None, name)
        except SocketClosed as closed:
            raise Unreachable("the server does not answer now: try again later") from closed
        self._wanted_name = opened.welcome.name
        await opened.close()
        self._was_renamed.set()
        return opened.welcome.name

    def server_ms(self) -> int:
        """The server's time now, in ms since 1970, as far as its messages tell it."""
        return self._server_time.now_ms(self._loop.time())

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
            except _Renamed:
                self._outbox.close()
                if self._is_closing:
                    return
                continue
            except SocketClosed as closed:
                if closed.code == Close.REPLACED:
                    raise Replaced("another connection of the same identity took over") from closed
                error: PlyroomError = Unreachable(
                    f"the connection to {self._address.websocket_url} was cut ({closed})"
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
                self.on_state(state)
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
        """Opens a socket and runs it, then each socket that replaces it, until one closes.

        Never returns: raises SocketClosed or the error that ended the socket.
        """
        room = self._rooms.first if self._was_welcomed else self._first_room
        current = await self._open_socket(room)
        self._accept(current.welcome)
        self._open_outbox()
        self.on_state(State.CONNECTED)
        if not self._first_welcome.done():
            self._first_welcome.set_result(None)
        closing: set[asyncio.Task[None]] = set()
        try:
            while True:
                replacement = await self._run_until_replaced(current)
                task = asyncio.create_task(current.close(), name="plyroom closing socket")
                closing.add(task)
                task.add_done_callback(closing.discard)
                current = replacement
        finally:
            await current.close()
            if closing:
                await asyncio.wait(closing)

    async def _open_socket(self, room: str | None, new_name: str | None = None) -> WelcomedSocket:
        hello = Hello(protocol=PROTOCOL, token=self.token, name=new_name or self._wanted_name)
        url = self._address.websocket_url_for(room)
        may_retry = self._was_welcomed and new_name is None
        return await open_socket(
            self._dial, url, room, hello, self._timing.welcome_s, may_retry=may_retry
        )

    def _accept(self, welcome: Welcome) -> None:
        """Takes identity, token and epoch from the welcome of a new socket."""
        self.identity, self.name = welcome.identity, welcome.name
        self.token = welcome.token or self.token
        self._server_time.restart()
        self._server_time.observe(welcome.at, self._loop.time())
        if self.epoch != welcome.epoch:
            self.epoch = welcome.epoch
            self._rooms.require_snapshots()

    # --- the current socket, and the next one

    async def _run_until_replaced(self, current: WelcomedSocket) -> WelcomedSocket:
        """Runs a socket until a socket that has joined the followed room replaces it, and returns
        that one. If the socket closes first, raises the reason.
        """
        replacement: WelcomedSocket | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [
                    tasks.create_task(self._outbox.write(current.socket), name="plyroom writer"),
                    tasks.create_task(self._keep_alive(), name="plyroom keep-alive"),
                    tasks.create_task(self._read(current.socket), name="plyroom reader"),
                    tasks.create_task(_end_when(self._was_renamed), name="plyroom rename"),
                ]
                replacement = await self._wait_for_next_socket(current)
                for task in running:
                    task.cancel()
        except BaseExceptionGroup as group:
            if replacement is not None:
                await replacement.close()
            raise _main_error(group) from group
        assert replacement is not None, "the group ends without an error only with a replacement"
        return replacement

    async def _wait_for_next_socket(self, current: WelcomedSocket) -> WelcomedSocket:
        """Returns a socket for the only room that the connection follows, once it has joined there.

        Waits until the connection follows exactly one room, and not the one for which the current
        socket was opened. If the server has one node, it waits forever. After a failure the same
        room is not tried again: the current socket serves it too, with more work for the nodes.
        """
        if current.welcome.nodes < 2:
            await self._loop.create_future()
        tried = current.room
        while True:
            subscription = await self._rooms.wait_for_only_room(other_than=tried)
            tried = subscription.room
            replacement = await self._open_joined(subscription)
            if replacement is not None:
                return replacement

    async def _open_joined(self, subscription: Subscription) -> WelcomedSocket | None:
        """Opens a socket for the room and joins the room on it; returns None when that fails.

        After a success the outbox writes to the new socket.
        """
        try:
            opened = await self._open_socket(subscription.room)
        except (PlyroomError, SocketClosed):
            return None
        async with AsyncExitStack() as unused:
            unused.push_async_callback(opened.close)
            if (opened.welcome.identity, opened.welcome.epoch) != (self.identity, self.epoch):
                return None
            join = subscription.join_elsewhere(self.new_id())
            try:
                await join_room(opened.socket, join, self._timing.welcome_s)
            except (PlyroomError, SocketClosed):
                return None
            if not self._rooms.is_current(subscription):
                return None
            unused.pop_all()
        # From here on nothing waits: the next message comes from the new socket.
        self._open_outbox(subscription)
        return opened

    def _open_outbox(self, joined: Subscription | None = None) -> None:
        """Opens the outbox for a new socket, which begins with the joins of the followed rooms, the
        subscription to the lobby and the unanswered commands.

        `joined` is a room that the socket has joined already.
        """
        self._outbox.open(
            chain(
                self._rooms.join_frames(joined),
                self._lobby.watch_frames(),
                self._pending.frames_to_resend(),
            )
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
            message = await receive(socket)
            self._last_received_s = self._loop.time()
            if message is not None:
                self._dispatch(message)

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
                | Answer()
                | Presence()
            ):
                self._rooms.deliver(message)
            case Lobby():
                self._lobby.deliver(message)
            case Pong(at=at):
                self._server_time.observe(at, self._last_received_s)
            case Notification():
                self.on_notification(message)
            case Welcome():
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


async def _end_when(renamed: asyncio.Event) -> None:
    """Raises _Renamed when the guest has another name."""
    await renamed.wait()
    renamed.clear()
    raise _Renamed(1000, "renamed")


def _main_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a socket's tasks; a PlyroomError takes precedence over SocketClosed.

    Any other exception is a bug; the group is then returned unchanged.
    """
    expected, unexpected = group.split((PlyroomError, SocketClosed))
    if expected is None or unexpected is not None:
        return group
    return min(expected.exceptions, key=lambda error: isinstance(error, SocketClosed))
