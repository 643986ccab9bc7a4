"""Shows a room in line mode, for the commands that play or watch."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from client.address import Address
from client.subcommands.running import CommandFailed

if TYPE_CHECKING:
    from client.connection import Connection
    from client.model import Model


async def run_line_mode(
    connection: "Connection",
    address: Address,
    room: str,
    *,
    brief: bool,
    sit: bool = False,
    invite: bool = False,
    text_at_end: "Callable[[Model], str]",
) -> None:
    """Runs line mode in a room to its end, then prints `text_at_end`."""
    import asyncio

    from client.api import Reading, fetch_reading
    from client.terminal.keyboard import Lines
    from client.terminal.line import InputEnded, LineMode
    from client.terminal.output import standard_output

    async def read_move(match: str, ply: int, text: str) -> Reading:
        return await asyncio.to_thread(fetch_reading, address, match, ply, text)

    output = standard_output()
    mode = LineMode(
        connection,
        address,
        room,
        Lines(sys.stdin.fileno()),
        output,
        sit=sit,
        brief=brief,
        invite=invite,
        read_move=read_move,
    )
    try:
        await mode.run()
    except InputEnded as ended:
        end = "the match was over" if mode.model.running else "a match began"
        raise CommandFailed(f"the input ended before {end}") from ended
    finally:
        output.end_prompt()
        if mode.model.match is not None:
            output.report(text_at_end(mode.model))


def closing_text(
    address: Address, is_own_server: bool = False, data: Path | None = None
) -> "Callable[[Model], str]":
    """Returns the `text_at_end` that tells how to return to the match or to replay it."""

    def text(model: "Model") -> str:
        match = model.match.id if model.match else ""
        if is_own_server and data is None:
            return "The match is not saved (see --data)."
        if model.running:
            return (
                "The match is not over."
                if is_own_server
                else f"The match is not over: {address.room_url(model.room)}"
            )
        where = f"{match} --data {data}" if is_own_server else f"{address}/match/{match}"
        return f"Analysis: plyroom analyse {where}\nReplay: plyroom replay {where}"

    return text
