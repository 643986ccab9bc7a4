"""Commands that the server itself gives to a room, without a connection (`Hub.command`)."""

import pytest

from server.commands import Chat, Resign
from server.ids import IdentityId, RoomId
from server.protocol.codes import Code
from server.rooms.model import Actor
from server.runtime.log import Accepted, Rejected
from tests.support.fake_server import Client, FakeServer, Fault, virtual

BOT = Actor(IdentityId("bot"), "Bot")


def chat(key: str, text: str = "hello") -> Chat:
    return Chat(id=key, text=text)


@virtual
async def test_a_repeated_command_has_the_same_outcome() -> None:
    """A repeated command is accepted with the v of the first time; followers see one event."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        first = await hub.command(room, BOT, chat("1"))
        assert isinstance(first, Accepted)
        assert first.is_new
        event = await ada.event("said")
        assert (event["v"], event["text"]) == (first.v, "hello")
        again = await hub.command(room, BOT, chat("1"))
        assert again == Accepted(first.v, is_new=False)


@virtual
async def test_a_refusal_is_an_outcome() -> None:
    """A refused command, an unknown room and a failing store give a code and a message."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        refused = await hub.command(room, BOT, Resign(id="1"))
        assert isinstance(refused, Rejected)
        assert (refused.code, bool(refused.message)) == (Code.SEAT_NONE, True)
        unknown = await hub.command(RoomId("nowhere"), BOT, chat("1"))
        assert isinstance(unknown, Rejected)
        assert unknown.code == Code.ROOM_UNKNOWN
        fake.store.fail("append", Fault())
        failed = await hub.command(room, BOT, chat("2"))
        assert isinstance(failed, Rejected)
        assert failed.code == Code.STORE_RETRY
        assert isinstance(await hub.command(room, BOT, chat("2")), Accepted)


@virtual
async def test_a_room_that_is_not_in_memory_is_opened() -> None:
    """A command opens a room that is not in memory, on any node."""
    fake = FakeServer()
    async with fake.hub() as hub:
        room = await Client(hub, "ada").create()
    async with fake.hub("n2") as other:
        assert other.runner(room) is None
        assert isinstance(await other.command(room, BOT, chat("1")), Accepted)


@virtual
async def test_a_full_mailbox_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a room's mailbox is full the outcome is ROOM_BUSY."""
    fake = FakeServer()
    async with fake.hub() as hub:
        room = await Client(hub, "ada").create()
        with monkeypatch.context() as patch:
            patch.setattr("server.runtime.room.room_runner.RoomRunner.submit", lambda *_: False)
            busy = await hub.command(room, BOT, chat("1"))
        assert isinstance(busy, Rejected)
        assert busy.code == Code.ROOM_BUSY
