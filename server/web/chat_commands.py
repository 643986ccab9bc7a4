"""The HTTP API for the chat commands, which the browser lists while a person types one."""

from aiohttp import web

from server.bot.registry import all_commands
from server.web.answers import json_answer


async def chat_commands(request: web.Request) -> web.Response:
    """Lists the commands of the room's bot, each with a few words about it."""
    entries = [{"name": each.name, "about": each.about} for each in all_commands().values()]
    return json_answer({"commands": entries})
