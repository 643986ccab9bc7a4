"""Shows rooms, the lobby and replays on the whole terminal; a room also in line mode."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from client.address import Address
from client.subcommands.line_mode import Showing, run_line_mode

if TYPE_CHECKING:
    from client.analyses import AnalysisReport
    from client.api import MatchRecord
    from client.connection import Connection
    from client.errors import PlyroomError
    from client.terminal.replay import Views

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
    connection: "Connection", address: Address, room: str, showing: Showing, *, plain: bool
) -> None:
    """Shows a room to its end. Without boards, and with `plain`, it is line mode."""
    if showing.brief or not fills_terminal(plain):
        await run_line_mode(connection, address, room, showing)
        return
    from client.terminal.output import count_colours, standard_output
    from client.tui.app import PlyroomApp, run_app
    from client.tui.requests import Requests
    from client.tui.room import RoomScreen, Visit

    output = standard_output(showing.is_ascii)
    requests = Requests(address, connection.token)
    visit = Visit(
        connection, address, room, showing.sit, showing.invitation, requests, showing.place_text
    )
    screen = RoomScreen(
        visit,
        count_colours(sys.stdout),
        not output.has_figures,
        lambda error: app.fail(error),
        lambda is_taken: app.take_mouse(is_taken),
    )
    app = PlyroomApp(lambda: screen)
    try:
        await run_app(app, connection)
    finally:
        if text := showing.text_at_end(screen.model):
            output.report(text)


async def show_lobby(
    url: Address | None, data: Path | None, name: str | None, is_ascii: bool
) -> None:
    """Shows the lobby of the server at `url` to its end; without one, asks for a server first."""
    import asyncio
    from contextlib import asynccontextmanager

    from client.own_server import servers_here
    from client.subcommands.connecting import connect_as_guest, find_server
    from client.terminal.output import count_colours, standard_output
    from client.tui.app import PlyroomApp, run_app
    from client.tui.lobby import LobbyScreen, Place, StartScreen
    from client.tui.requests import Requests
    from client.tui.visits import Visits

    colours, has_figures = count_colours(sys.stdout), standard_output(is_ascii).has_figures

    def place_at(
        address: Address, connection: "Connection", on_failure: "Callable[[PlyroomError], None]"
    ) -> Place:
        requests = Requests(address, connection.token)
        return Place(
            connection,
            requests,
            colours,
            not has_figures,
            on_failure,
            lambda is_taken: app.take_mouse(is_taken),
        )

    if url is not None:
        async with (
            find_server(url, data) as server,
            connect_as_guest(server, name) as connection,
        ):
            place = place_at(server.address, connection, lambda error: app.fail(error))
            app = PlyroomApp(lambda: LobbyScreen(place))
            await run_app(app, connection)
        return

    @asynccontextmanager
    async def connect(chosen: Address | None) -> AsyncIterator[tuple[Address, "Connection"]]:
        async with (
            find_server(chosen, data, start.show_problem) as server,
            connect_as_guest(server, name, report=start.show_problem) as connection,
        ):
            yield server.address, connection

    running = await asyncio.to_thread(servers_here)
    start = StartScreen(lambda chosen, room: visits.enter(chosen, room), running)
    app = PlyroomApp(lambda: start)
    visits = Visits(app, start, connect, place_at)
    try:
        await run_app(app)
    finally:
        await visits.close()


async def show_replay(
    record: "MatchRecord",
    views: "Views",
    address: Address,
    ply: int,
    report: "AnalysisReport | None",
    is_ascii: bool,
) -> None:
    """Shows a match that was played on the whole terminal, to its end."""
    from client.terminal.output import count_colours, standard_output
    from client.tui.app import PlyroomApp, run_app
    from client.tui.replay import ReplayScreen
    from client.tui.requests import Requests

    has_figures = standard_output(is_ascii).has_figures
    colours = count_colours(sys.stdout)

    def screen() -> ReplayScreen:
        return ReplayScreen(
            record, views, Requests(address, None), colours, not has_figures, ply, None, report
        )

    await run_app(PlyroomApp(screen))
