"""Shows a room in line mode, for the commands that play or watch."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from client.address import Address
from client.program import program
from client.subcommands.connecting import Server
from client.subcommands.options import NO_DATA, typed
from client.subcommands.running import CommandFailed

if TYPE_CHECKING:
    from client.api import Invitation
    from client.connection import Connection
    from client.model import Model


@dataclass(frozen=True, slots=True)
class Showing:
    """How a command shows a room: without boards if `brief`, with letters if `is_ascii`. With `sit`
    the user takes a free seat, with an `invitation` they are told how to invite an opponent. At the
    end the text that `text_at_end` makes of the model is printed. `place_text` was printed before,
    which the full screen covers.
    """

    text_at_end: "Callable[[Model], str]"
    brief: bool = False
    is_ascii: bool = False
    sit: bool = False
    invitation: "Invitation | None" = None
    place_text: str = ""


async def run_line_mode(
    connection: "Connection", address: Address, room: str, showing: Showing
) -> None:
    """Runs line mode in a room to its end, also after Ctrl-C."""
    import asyncio

    from client.api import Reading, fetch_reading
    from client.terminal.keyboard import Lines
    from client.terminal.line import InputEnded, LineMode
    from client.terminal.output import standard_output

    async def read_move(match: str, ply: int, text: str) -> Reading:
        return await asyncio.to_thread(fetch_reading, address, match, ply, text)

    output = standard_output(showing.is_ascii)
    mode = LineMode(
        connection,
        address,
        room,
        Lines(sys.stdin.fileno()),
        output,
        sit=showing.sit,
        brief=showing.brief,
        invitation=showing.invitation,
        read_move=read_move,
    )
    try:
        await mode.run()
    except InputEnded as ended:
        end = "the match was over" if mode.model.running else "a match began"
        raise CommandFailed(f"the input ended before {end}") from ended
    finally:
        output.end_prompt()
        if text := showing.text_at_end(mode.model):
            output.report(text)


def closing_text(server: Server, name: str | None) -> "Callable[[Model], str]":
    """Returns the `text_at_end` that tells how to go on with the match, or how to replay it.

    `name` is the name that the user has chosen for this command.
    """
    import shlex

    kept = "" if server.data is None else f" --data {typed(server.data)}"
    as_name = "" if name is None else f" --name {shlex.quote(name)}"
    plyroom = program()

    def text(model: "Model") -> str:
        if server.is_own and server.data is None:
            return "" if model.match is None else f"The match is not kept (--data {NO_DATA})."
        match = model.match
        if match is not None and not model.running:
            where = f"{match.id}{kept}" if kept else f"{server.address}/match/{match.id}"
            return f"Analysis: {plyroom} analyse {where}\nReplay: {plyroom} replay {where}"
        room = f"{model.room}{kept}" if kept else server.address.room_url(model.room)
        if model.my_seat is None:
            verb = "join" if kept else "watch"
            return "" if match is None else f"The match goes on:\n  {plyroom} {verb} {room}"
        state = "The match has not begun" if match is None else "The match is not over"
        return f"{state}. To go on:\n  {plyroom} join {room}{as_name}"

    return text
