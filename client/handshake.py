"""Opens sockets that the server has welcomed, and joins a room on a second one."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass

from client.errors import ProtocolMismatch, Refused, WrongToken
from client.messages import (
    Refusal,
    ServerMessage,
    UnreadableFrame,
    format_client_message,
    parse_server_message,
)
from client.transport import Dial, Socket, SocketClosed
from server.protocol.codes import Close, Code
from server.protocol.messages import PROTOCOL, Ack, Hello, Join, Welcome

#: Codes of a refused hello or join that may succeed later.
RETRY_CODES = frozenset({Code.STORE_RETRY, Code.ROOM_BUSY, Code.RATE_EXCEEDED, Code.SERVER_FAULT})


@dataclass(frozen=True, slots=True)
class WelcomedSocket:
    """A socket that the server has welcomed; `room` is the room in its URL, or None."""

    socket: Socket
    welcome: Welcome
    room: str | None
    _resources: AsyncExitStack

    async def close(self) -> None:
        """Closes the socket with a closing handshake."""
        await self._resources.aclose()


async def open_socket(
    dial: Dial, url: str, room: str | None, hello: Hello, welcome_s: float, may_retry: bool
) -> WelcomedSocket:
    """Opens a socket, sends hello and waits at most `welcome_s` for the welcome.

    Raises Unreachable, SocketClosed, ProtocolMismatch, or WrongToken or Refused when the server
    refuses the hello. With `may_retry`, a refusal with one of RETRY_CODES raises SocketClosed
    instead, so that the caller tries again.
    """
    async with AsyncExitStack() as resources:
        socket = await resources.enter_async_context(dial(url))
        try:
            async with asyncio.timeout(welcome_s):
                await socket.send(format_client_message(hello))
                welcome = await _receive_welcome(socket, may_retry)
        except TimeoutError as error:
            raise SocketClosed(1006, "no welcome") from error
        if welcome.protocol != PROTOCOL:
            raise ProtocolMismatch(
                f"the server speaks protocol {welcome.protocol}, this plyroom {PROTOCOL}:"
                " the older of them needs an update"
            )
        return WelcomedSocket(socket, welcome, room, resources.pop_all())


async def _receive_welcome(socket: Socket, may_retry: bool) -> Welcome:
    while True:
        match await receive(socket):
            case Welcome() as welcome:
                return welcome
            case Refusal(code=Code.TOKEN_UNKNOWN, message=message):
                raise WrongToken(message)
            case Refusal(code=Code.PROTOCOL_UNSUPPORTED, message=message):
                raise ProtocolMismatch(message)
            # After a restart all clients reconnect at once, and the server is busy for a while.
            case Refusal(code=code, message=message) if may_retry and code in RETRY_CODES:
                raise SocketClosed(Close.TOO_SLOW, message)
            case Refusal(code=code, message=message):
                raise Refused(code, message)
            case _:
                continue


async def join_room(socket: Socket, join: Join, answer_s: float) -> None:
    """Joins a room; returns at the ack, before the messages that follow it.

    Raises Refused, or SocketClosed after `answer_s` without an answer.
    """
    try:
        async with asyncio.timeout(answer_s):
            await socket.send(format_client_message(join))
            while True:
                match await receive(socket):
                    case Ack(id=join.id):
                        return
                    case Refusal(id=join.id, code=code, message=message):
                        raise Refused(code, message)
                    case _:
                        continue
    except TimeoutError as error:
        raise SocketClosed(1006, "no answer") from error


async def receive(socket: Socket) -> ServerMessage | None:
    """Returns the next message, or None for an unknown type.

    Raises SocketClosed, or ProtocolMismatch for a frame that cannot be parsed.
    """
    try:
        return parse_server_message(await socket.receive())
    except UnreadableFrame as error:
        raise ProtocolMismatch(str(error)) from error
