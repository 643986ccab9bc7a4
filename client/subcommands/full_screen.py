"""Shows a room on the whole terminal, or in line mode where that is wanted or needed."""

import os
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

import click

from client.address import Address
from client.subcommands.line_mode import run_line_mode

if TYPE_CHECKING:
    from client.connection import Connection
    from client.model import Model

#: How to get the full screen where Textual is missing.
ADVICE = "For the full screen: pip install 'plyroom[tui]'. Without it, and with --plain: lines."


def fills_terminal(
    plain: bool,
    environ: Mapping[str, str] = os.environ,
    streams: tuple[TextIO, ...] | None = None,
    has_textual: Callable[[], bool] = lambda: find_spec("textual") is not None,
) -> bool:
    """Whether a command fills the terminal: all standard streams are one that can, Textual is
    installed, and nobody asked for plain lines.

    Where only Textual is missing, a line on standard error says how to get it.
    """
    streams = streams or (sys.stdin, sys.stdout, sys.stderr)
    if plain or environ.get("PLYROOM_PLAIN") == "1":
        return False
    if environ.get("TERM", "dumb") == "dumb" or not all(each.isatty() for each in streams):
        return False
    if not has_textual():
        click.echo(ADVICE, err=True)
        return False
    return True


async def show_room(
    connection: "Connection",
    address: Address,
    room: str,
    *,
    plain: bool,
    brief: bool,
    is_ascii: bool = False,
    sit: bool = False,
    invite: bool = False,
    text_at_end: "Callable[[Model], str]",
) -> None:
    """Shows a room to its end, then prints `text_at_end`. Without boards it is line mode."""
    if brief or not fills_terminal(plain):
        await run_line_mode(
            connection,
            address,
            room,
            brief=brief,
            is_ascii=is_ascii,
            sit=sit,
            invite=invite,
            text_at_end=text_at_end,
        )
        return
    import asyncio

    from client.api import Reading, fetch_reading
    from client.terminal.output import count_colours, standard_output
    from client.tui.app import PlyroomApp, run_app
    from client.tui.room import RoomScreen, Visit

    async def read_move(match: str, ply: int, text: str) -> Reading:
        return await asyncio.to_thread(fetch_reading, address, match, ply, text)

    output = standard_output(is_ascii)
    visit = Visit(connection, address, room, sit, invite, read_move)
    screen = RoomScreen(
        visit, count_colours(sys.stdout), not output.has_figures, lambda error: app.fail(error)
    )
    app = PlyroomApp(lambda: screen)
    try:
        await run_app(app, connection)
    finally:
        if text := text_at_end(screen.model):
            output.report(text)
