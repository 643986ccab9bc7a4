"""Finds or starts the server for a command, and connects to it with the stored token."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from client.address import Address
from client.errors import WrongToken
from client.program import program

if TYPE_CHECKING:
    from client.connection import Connection
    from client.tokens import GuestTokens
    from server.protocol.messages import Notification

#: Time for which a lost connection to the server that this command started is retried, in seconds.
#: It is short, because nothing restarts that server.
OWN_SERVER_RECONNECT_LIMIT_S = 5

#: Time for which a lost connection is retried without a terminal, in seconds; on a terminal there
#: is no limit.
RECONNECT_LIMIT_S = 120


class Server(NamedTuple):
    """A server for a command: whether it is the user's own, and whether this command started it.

    `data` is the folder of the user's own server; None if that keeps nothing.
    """

    address: Address
    is_own: bool = False
    is_started: bool = False
    data: Path | None = None


@asynccontextmanager
async def find_server(
    url: Address | None, data: Path | None, report: Callable[[str], None] | None = None
) -> AsyncIterator[Server]:
    """Yields the server at `url`; without one that which uses the data folder, or else runs one on
    this machine. Without a folder too, that server keeps nothing. `report` says in place of
    standard error that a server starts.
    """
    if url is not None:
        yield Server(url)
        return
    from client.own_server import own_server, server_of_folder

    def on_start() -> None:
        starting = "Starting a server on this machine …"
        if report is not None:
            report(starting)
        elif sys.stderr.isatty():
            click.echo(starting, err=True)

    if data is None:
        on_start()
        async with own_server(None) as address:
            yield Server(address, is_own=True, is_started=True)
        return
    async with server_of_folder(data, on_start) as (address, is_started):
        yield Server(address, True, is_started, data)


@asynccontextmanager
async def connect_as_guest(
    server: Server,
    name: str | None,
    room: str | None = None,
    report: Callable[[str], None] | None = None,
) -> "AsyncIterator[Connection]":
    """Yields a connection as the guest whose token is stored for this server.

    When there is no token, or the server does not know it, the server creates a new guest; in the
    second case a message says so. `room` is the room that the command will follow, if it is known.
    `report` takes the messages in place of standard error.
    """
    import asyncio

    from client.connection import State, connect
    from client.terminal import names, words
    from client.terminal.output import standard_output

    is_patient = True
    if report is None:  # a full screen takes the standard streams while it runs
        output = standard_output()
        report, is_patient = output.report, output.interactive
    is_down = False

    def on_state(state: State) -> None:
        nonlocal is_down
        if state is State.CONNECTED:
            if is_down:
                report("Connected again.")
            is_down = False
        else:
            is_down = True
            problem = (
                "The server restarts" if state is State.RESTARTING else "The connection is lost"
            )
            report(f"{problem}; trying again …")

    def on_notification(notification: "Notification") -> None:
        if notification.text:
            command = f"{program()} join {server.address.room_url(notification.room)}"
            report(f"{words.quoted(notification.text)} {command}")

    tokens = await asyncio.to_thread(guest_tokens, server.address, name, server.is_own, server.data)
    limit_s = None if is_patient else RECONNECT_LIMIT_S
    if server.is_started:
        limit_s = OWN_SERVER_RECONNECT_LIMIT_S

    def connect_with(token: str | None) -> "AbstractAsyncContextManager[Connection]":
        guest_name = name or (names.OWN_NAME if server.is_started else None)
        return connect(
            str(server.address), token, guest_name, room=room, reconnect_limit_s=limit_s,
            on_state=on_state, on_notification=on_notification,
        )  # fmt: skip

    async with AsyncExitStack() as stack:
        for token in tokens.known:
            with suppress(WrongToken):
                connection = await stack.enter_async_context(connect_with(token))
                break
        else:
            connection = await stack.enter_async_context(connect_with(None))
            if tokens.known:
                report(
                    "Your earlier guest was not found on this server."
                    f" You are a new guest now: {words.quoted(connection.name)}."
                )
        if connection.token is not None:
            with suppress(OSError):
                tokens.keep(connection.token)
        yield connection


def guest_tokens(
    address: Address, name: str | None, is_own_server: bool, data: Path | None
) -> "GuestTokens":
    """The stored tokens of the user's guest with this name at a server.

    A server that this command starts keeps no guest without a data folder. Raises Unreachable,
    Refused and ProtocolMismatch.
    """
    from client.api import fetch_installation
    from client.tokens import GuestTokens, TokenFile, installation_key, state_folder

    file = TokenFile(state_folder() / "tokens.json")
    if is_own_server and data is None:
        return GuestTokens(file, None, None, name)
    # Earlier versions kept the tokens under the address, or under the folder of an own server.
    old_key = str(address) if not is_own_server or data is None else f"data:{data.absolute()}"
    installation = fetch_installation(address)
    if installation is None:
        return GuestTokens(file, old_key, None, name)
    return GuestTokens(file, installation_key(installation, address), old_key, name)
