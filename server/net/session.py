"""A client's session over one WebSocket: authenticates it, reads commands, sends messages."""

import asyncio
import math
import struct
import time
from collections.abc import Callable

import structlog
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close as CloseFrame
from websockets.frames import Frame, Opcode
from websockets.protocol import State

from server.codes import Code
from server.commands import Create
from server.identity.authentication import authenticate
from server.identity.credentials import Credentials
from server.ids import NOBODY, IdentityId, RoomId
from server.limits.rate import Bucket
from server.net.connection import Connection
from server.net.listener import CLOSE_TIMEOUT_S
from server.protocol import messages as wire
from server.protocol.codec import ProtocolError, parse_message
from server.protocol.codes import Close
from server.protocol.outbound import Batch, Outbound
from server.rooms.model import Actor, CommandRejected
from server.runtime.node.hub import Hub
from server.runtime.requests import Request
from server.store.base import StoreError, batched, day_of

log = structlog.get_logger()

#: Unsent bytes beyond which a connection misses ephemeral messages.
MAX_UNSENT_EPHEMERAL_BYTES = 64 * 1024
#: Unsent bytes beyond which a connection is closed; the client may reconnect.
MAX_UNSENT_BYTES = 256 * 1024
#: Time limit for the client's hello, in seconds.
HELLO_TIMEOUT_S = 10.0
#: Maximum number of rooms that one connection may follow.
MAX_ROOMS = 100
#: The messages whose service never waits.
AT_ONCE = (wire.CommandFrame, wire.Join, wire.Leave, wire.Ping)
#: Number of messages beyond the rate limit after which the connection is closed.
MAX_EXCESS = 1000


class Session:
    """The session of one socket, a `server.ports.Follower`. `run` serves it until it closes."""

    __slots__ = (
        "_actor",
        "_address",
        "_bucket",
        "_closed",
        "_credentials",
        "_excess_messages",
        "_hub",
        "_protocol",
        "_rooms",
        "_socket",
        "_transport",
        "last_received_s",
    )  # fmt: skip

    def __init__(
        self, socket: Connection, hub: Hub, credentials: Credentials, address: str
    ) -> None:
        settings = hub.ports.settings
        self.last_received_s = time.monotonic()
        self._socket = socket
        self._transport = socket.transport
        self._protocol = socket.protocol
        self._hub = hub
        self._credentials = credentials
        self._address = address
        self._actor: Actor | None = None
        self._rooms: set[RoomId] = set()
        self._bucket = Bucket(
            settings.messages_per_s, settings.messages_burst, self.last_received_s
        )
        self._excess_messages = 0
        self._closed = False

    # --- the follower of a room ---

    @property
    def identity(self) -> IdentityId:
        return self._actor.identity if self._actor else NOBODY

    @property
    def closed(self) -> bool:
        # A transport that is closing, or half closed by a closing handshake, refuses writes; with
        # uvloop they raise.
        return (
            self._closed or self._protocol.state is not State.OPEN or self._transport.is_closing()
        )

    def send(self, *messages: Outbound) -> None:
        self.send_batch(Batch(messages))

    def send_batch(self, batch: Batch) -> None:
        if self.closed:
            return
        self._transport.write(frames_of(batch))
        if self._transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._hub.ports.metrics.evictions += 1
            log.info("slow reader cut off", identity=self.identity)
            self.close_at_once(Close.TOO_SLOW, "read faster")

    def send_ephemeral(self, message: Outbound) -> None:
        if self.closed:
            return
        if self._transport.get_write_buffer_size() <= MAX_UNSENT_EPHEMERAL_BYTES:
            self._transport.write(frame_of(message))
        else:
            self._hub.ports.metrics.skipped += 1

    async def close(self, code: int, reason: str) -> None:
        """Closes with a closing handshake; aborts the connection if the client does not answer."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._socket.close(code, reason)
        except TimeoutError:
            self._transport.abort()

    def close_at_once(self, code: int, reason: str) -> None:
        """Sends a close frame with the reason, then aborts the connection without waiting."""
        if self.closed:
            return
        self._closed = True
        frame = Frame(Opcode.CLOSE, CloseFrame(code, reason).serialize())
        self._transport.write(frame.serialize(mask=False))
        # Abort in the next iteration of the loop: uvloop writes at the end of the current one.
        asyncio.get_running_loop().call_soon(self._transport.abort)

    # --- messages of the client ---

    async def run(self) -> None:
        """Authenticates the client and serves its messages until the socket closes."""
        try:
            if await self._receive_hello():
                self._socket.reader = self
                self._socket.on_handled()
                async for frame in self._socket:
                    await self._on_frame(frame)
                    self._socket.on_handled()
        except ConnectionClosed:
            log.debug("connection closed", identity=self.identity)
        finally:
            self._closed = True
            closing = self._protocol.close_rcvd
            has_closed_page = closing is not None and closing.code == Close.PAGE_CLOSED
            self._hub.forget(self, self._rooms, has_closed_page)

    async def _receive_hello(self) -> bool:
        """Waits for the client's hello and answers it; returns whether it was accepted.

        If it was not, the client has received the reason and the socket is closed.
        """
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                frame = await self._socket.recv()
            message = _parse(frame)
            if not isinstance(message, wire.Hello):
                raise ProtocolError(Code.HELLO_EXPECTED, "the first message must be hello")
            if message.protocol != wire.PROTOCOL:
                raise ProtocolError(
                    Code.PROTOCOL_UNSUPPORTED, f"this server speaks protocol {wire.PROTOCOL}"
                )
            welcome = await self._authenticate(message)
        except TimeoutError:
            await self._socket.close(Close.POLICY, "say hello")
            return False
        except ProtocolError as error:
            self._send_error(error.command_id, error.code, error.message)
            await self._socket.close(Close.POLICY, error.code)
            return False
        except StoreError:
            self._send_error(None, Code.STORE_RETRY, "the store does not answer; connect again")
            await self._socket.close(Close.RESTARTING, "try again")
            return False
        self._reply(welcome)
        return True

    async def _authenticate(self, hello: wire.Hello) -> wire.Welcome:
        """Authenticates the hello's token or the handshake's credentials; returns the welcome.

        Raises ProtocolError if the token is unknown, or the name or the address is refused.
        """
        ports, limits = self._hub.ports, self._hub.limits
        credentials = self._credentials.with_token(hello.token)
        try:
            authenticated = await authenticate(
                ports, limits, credentials, self._address, hello.name
            )
        except CommandRejected as rejection:
            raise ProtocolError(rejection.code, rejection.message) from rejection
        self._actor = authenticated.actor
        if authenticated.is_renamed:
            await self._hub.rename(authenticated.actor.identity, self._address)
        # Nothing waits from here to the welcome, which is the first message.
        self._hub.connections.connect(self)
        return wire.Welcome(
            protocol=wire.PROTOCOL, identity=authenticated.actor.identity,
            name=authenticated.actor.name, epoch=ports.store.epoch, at=ports.now_ms(),
            token=authenticated.new_token, notice=authenticated.notice,
            nodes=self._hub.membership.node_count,
        )  # fmt: skip

    def serve_at_once(self, text: bytes) -> bool:
        """Serves a message and returns True, unless it is malformed or its service waits.

        Otherwise returns False, and `run` serves the message.
        """
        try:
            message = parse_message(text)
        except ProtocolError:
            return False
        actor = self._actor
        if actor is None or not isinstance(message, AT_ONCE):
            return False
        self.last_received_s = time.monotonic()
        if not self._check_rate_limit(message.id):
            return True
        if isinstance(message, wire.Ping):
            self._reply(wire.Pong(self._hub.ports.now_ms(), message.id))
        else:
            self._submit_room_command(actor, message)
        return True

    async def _on_frame(self, frame: str | bytes) -> None:
        """Serves one frame. Answers an invalid one with an error."""
        self.last_received_s = time.monotonic()
        try:
            message = _parse(frame)
        except ProtocolError as error:
            if self._check_rate_limit(error.command_id):
                self._send_error(error.command_id, error.code, error.message)
            return
        if self._check_rate_limit(message.id if not isinstance(message, wire.Hello) else None):
            await self._dispatch(message)

    def _check_rate_limit(self, command_id: str | None) -> bool:
        """Returns whether the rate limit allows a message; if not, sends an error or closes."""
        if self._bucket.take(self.last_received_s):
            return True
        self._excess_messages += 1
        if self._excess_messages > MAX_EXCESS:
            self.close_at_once(Close.POLICY, Code.RATE_EXCEEDED)
        else:
            wait_s = max(1, math.ceil(self._bucket.wait_s()))
            message = f"you send messages too fast; try again in {wait_s} s"
            self._send_error(command_id, Code.RATE_EXCEEDED, message)
        return False

    async def _dispatch(self, message: wire.ClientFrame) -> None:
        actor = self._actor
        assert actor is not None, "the client has sent hello"
        match message:
            case wire.CommandFrame() | wire.Join() | wire.Leave():
                self._submit_room_command(actor, message)
            case wire.Ping(id=command_id):
                self._reply(wire.Pong(self._hub.ports.now_ms(), command_id))
            case Create(id=command_id):
                await self._create(actor, message)
            case wire.WatchLobby(id=command_id, on=on):
                await self._watch_lobby(command_id, on)
            case wire.Hello():
                self._send_error(None, Code.HELLO_TWICE, "the client has already sent hello")

    def _submit_room_command(self, actor: Actor, message: wire.RoomFrame) -> None:
        # A call of RoomId would cost 0.1 us for each command.
        room_id: RoomId = message.room  # type: ignore[assignment]
        is_first_join = isinstance(message, wire.Join) and room_id not in self._rooms
        if is_first_join:
            if len(self._rooms) >= MAX_ROOMS:
                self._send_error(
                    message.id, Code.ROOM_LIMIT, f"one connection follows at most {MAX_ROOMS} rooms"
                )
                return
            self._rooms.add(room_id)
        command = message.command if isinstance(message, wire.CommandFrame) else message
        accepted = self._hub.submit(
            room_id,
            Request(
                actor, command, self,
                received_ms=self._hub.ports.now_ms(), address=self._address,
            ),
        )  # fmt: skip
        if (accepted and isinstance(message, wire.Leave)) or (is_first_join and not accepted):
            self._rooms.discard(room_id)

    async def _create(self, actor: Actor, message: Create) -> None:
        try:
            self._reply(await self._hub.create(actor, message, self._address))
        except CommandRejected as rejection:
            self._send_error(message.id, rejection.code, rejection.message)
        except StoreError:
            self._send_error(
                message.id,
                Code.STORE_RETRY,
                "the store does not answer; send the same command again",
            )

    async def _watch_lobby(self, command_id: str, on: bool) -> None:
        ack = wire.Ack(command_id, None)
        if not on:
            self._hub.lobby.leave(self)
            self._reply(ack)
            return
        try:
            await self._hub.lobby.watch(self, ack)
        except StoreError as error:
            log.warning("store unavailable", duty="lobby", error=str(error))
            self._send_error(
                command_id,
                Code.STORE_RETRY,
                "the store does not answer; send the same command again",
            )

    def _reply(self, message: wire.Outgoing) -> None:
        self.send(Outbound(message))

    def _send_error(self, command_id: str | None, code: Code, message: str) -> None:
        self._reply(wire.Error(command_id, code, message))


def _parse(frame: str | bytes) -> wire.ClientFrame:
    if isinstance(frame, bytes):
        raise ProtocolError(Code.FRAME_BINARY, "messages are text frames")
    return parse_message(frame)


class Sessions:
    """The open sessions of this node; `run` closes those that are silent for too long.

    `now_s` is the clock of `Session.last_received_s`.
    """

    def __init__(self, hub: Hub, now_s: Callable[[], float] = time.monotonic) -> None:
        self._hub = hub
        self._now_s = now_s
        self._open: set[Session] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def serve(self, socket: Connection, credentials: Credentials, address: str) -> None:
        """Serves one socket until it closes; `address` is the client's (see server/address.py)."""
        session = Session(socket, self._hub, credentials, address)
        self._open.add(session)
        try:
            await session.run()
        finally:
            self._open.discard(session)

    async def _mark_guests_seen(self, day: int) -> bool:
        """Marks all connected guests as seen on `day`. Returns False if the store fails."""
        identities = sorted({session.identity for session in self._open if session.identity})
        try:
            for batch in batched(identities):
                await self._hub.ports.store.expiry.mark_identities_seen(batch, day)
        except StoreError as error:
            log.warning("store unavailable", duty="presence", error=str(error))
            return False
        return True

    async def drain(self, over_s: float) -> None:
        """Closes all sessions, spread over `over_s` seconds, so that the clients do not all
        reconnect to the other nodes at once.
        """
        sessions = tuple(self._open)
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        async with asyncio.TaskGroup() as closing:
            for number, session in enumerate(sessions):
                close_s = start_s + over_s * number / len(sessions)
                await asyncio.sleep(max(0.0, close_s - loop.time()))
                closing.create_task(session.close(Close.RESTARTING, "the server is restarting"))

    async def run(self) -> None:
        """Closes silent connections, and marks guests as seen once a day, until cancelled.

        After a stall of this node every connection has the whole time anew: what it has sent since
        may be unread.
        """
        silence_s, clock = self._hub.ports.settings.silence_s, self._hub.listening
        stall_count, stalled_s = clock.stall_count, -math.inf
        marked_day = day_of(self._hub.ports.now_ms())
        while True:
            await asyncio.sleep(silence_s / 4)
            today = day_of(self._hub.ports.now_ms())
            if today != marked_day and await self._mark_guests_seen(today):
                marked_day = today
            now_s = self._now_s()
            clock.now_ms()
            if clock.stall_count != stall_count:
                stall_count, stalled_s = clock.stall_count, now_s
            silent_since_s = now_s - silence_s
            for session in tuple(self._open) if stalled_s < silent_since_s else ():
                if session.last_received_s < silent_since_s:
                    session.close_at_once(Close.POLICY, "silent")


def text_frame(payload: bytes) -> bytes:
    """Returns one complete text frame (RFC 6455, section 5.2) with a payload that is valid UTF-8.

    A server does not mask its frames, so the same bytes can go to every connection.
    """
    length = len(payload)
    if length < 126:
        return b"\x81" + bytes((length,)) + payload
    if length < 65536:
        return b"\x81\x7e" + struct.pack("!H", length) + payload
    return b"\x81\x7f" + struct.pack("!Q", length) + payload


def frame_of(outbound: Outbound) -> bytes:
    """Returns the message as one text frame, which is encoded once for all connections."""
    if (frame := outbound.frame) is None:
        frame = outbound.frame = text_frame(outbound.payload())
    return frame


def frames_of(batch: Batch) -> bytes:
    """Returns the messages as text frames, which are joined once for all connections."""
    if (frames := batch.frames) is None:
        frames = batch.frames = b"".join(map(frame_of, batch.messages))
    return frames
