"""Two players in a room of a fake server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from server.commands import AiSeat, MySeat, OpenSeat
from server.ids import RoomId
from server.runtime.node.hub import Hub
from tests.support.fake_server import Client, FakeServer

ME, OPEN, AI1 = MySeat(), OpenSeat(), AiSeat(level=1)


@asynccontextmanager
async def playing(
    game: str = "tic-tac-toe", fake: FakeServer | None = None
) -> AsyncIterator[tuple[FakeServer, Hub, RoomId, Client, Client]]:
    """Opens a hub with a match of Ada against Ben, who follow the room, before the first move."""
    fake = fake or FakeServer()
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(game)
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        yield fake, hub, room, ada, ben
