"""A room's bot in a test: its commands run in the event loop, and a client asks it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from server.bot.api import Reply
from server.bot.bot import Bot, open_bot
from server.bot.calls import Calls
from server.commands import AiSeat, MySeat
from server.runtime.node.hub import Hub
from tests.support.fake_server import Client, Message

#: The seats of a room of one person, who begins, against an AI.
AGAINST_AI = (MySeat(), AiSeat(level=2))


async def call_in_loop(call: Callable[[], Reply]) -> Reply:
    """Calls a command in the event loop: virtual time has no threads."""
    return call()


@asynccontextmanager
async def bot_of(hub: Hub) -> AsyncIterator[Bot]:
    """Runs the bot of a node."""
    async with open_bot(hub, Calls(call_in_loop)) as bot:
        yield bot


async def ask(client: Client, room: str, text: str) -> int:
    """Writes a line that must be accepted; returns its v."""
    v = await client.ack(client.chat(room, text))
    assert v is not None
    return v


async def private_answer(client: Client, room: str, text: str) -> Message:
    """Asks a question and returns the bot's private answer."""
    v = await ask(client, room, text)
    return await client.until(lambda m: m["t"] == "answer" and m["v"] == v)


def bot_lines(client: Client) -> list[Message]:
    """The bot's lines of chat that the client has received."""
    return [m for m in client.events() if m["kind"] == "said" and m.get("by") == "bot"]
