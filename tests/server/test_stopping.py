"""The shutdown of a node: it closes its port first, and does not wait long for clients."""

import asyncio
from contextlib import AsyncExitStack
from typing import cast

import pytest

from server.identity.credentials import Credentials
from server.net.connection import Connection
from server.net.listener import CLOSE_TIMEOUT_S
from server.net.session import Session, Sessions
from server.protocol.codes import Close
from tests.support.fake_server import FakeServer, virtual
from tests.support.node import serve

#: The drain time of the shipped configuration, in seconds.
DRAIN_S = 1.0
#: The time limit for closing all sessions, in seconds. The whole shutdown may take 4 s.
CLOSE_LIMIT_S = 3.5


class FakeSocket:
    """A connection that answers a close after a delay, or never."""

    def __init__(self, answers_after_s: float | None) -> None:
        self.transport = self
        self.protocol = None
        self.aborted_s: float | None = None
        self.closed_s: float | None = None
        self.code = 0
        self._answers_after_s = answers_after_s

    async def close(self, code: int, reason: str) -> None:
        self.code = code
        await asyncio.sleep(1e9 if self._answers_after_s is None else self._answers_after_s)
        self.closed_s = asyncio.get_running_loop().time()

    def abort(self) -> None:
        self.aborted_s = asyncio.get_running_loop().time()


@pytest.mark.parametrize("silent_count", [0, 1, 10])
@virtual
async def test_sessions_that_do_not_answer_their_close_are_aborted(silent_count: int) -> None:
    """Shutdown closes all sessions in time, for any number of clients that do not answer.

    Sessions that answer are closed without an abort; the others are aborted.
    """
    async with FakeServer().hub() as hub:
        sessions = Sessions(hub)
        sockets = [FakeSocket(0.05) for _ in range(20)] + [
            FakeSocket(None) for _ in range(silent_count)
        ]
        sessions._open = {
            Session(cast(Connection, fake_socket), hub, Credentials(), "192.0.2.1")
            for fake_socket in sockets
        }
        started_s = asyncio.get_running_loop().time()
        await sessions.drain(DRAIN_S)
        duration_s = asyncio.get_running_loop().time() - started_s
    assert duration_s <= (CLOSE_LIMIT_S if silent_count else DRAIN_S + 0.1)
    assert {fake_socket.code for fake_socket in sockets} == {Close.RESTARTING}
    assert [fake_socket.aborted_s is None for fake_socket in sockets] == [True] * 20 + [
        False
    ] * silent_count
    assert all(
        (fake_socket.closed_s is not None) == (fake_socket.aborted_s is None)
        for fake_socket in sockets
    )
    assert CLOSE_TIMEOUT_S + DRAIN_S <= CLOSE_LIMIT_S


async def test_the_port_is_closed_before_the_first_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The port is closed before the first session, so that clients reconnect to another node."""
    events: list[str] = []
    drain = Sessions.drain

    async def try_to_connect(self: Sessions, over_s: float) -> None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            events.append("refused")
        else:
            writer.close()
            events.append("accepted")
        await drain(self, over_s)
        events.append("drained")

    monkeypatch.setattr(Sessions, "drain", try_to_connect)
    async with AsyncExitStack() as guests, AsyncExitStack() as nodes:
        node = await nodes.enter_async_context(serve())
        port = node.running.port
        guest = await guests.enter_async_context(node.guest())
        leaving = asyncio.create_task(guest.wait_closed())
        await nodes.aclose()
        assert (await leaving)[0] == Close.RESTARTING
    assert events == ["refused", "drained"]
