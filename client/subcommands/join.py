"""`plyroom join`: sits down in a room and plays, or watches."""

from pathlib import Path

import click

from client.address import Address
from client.subcommands.connecting import connect_as_guest, find_server
from client.subcommands.full_screen import show_room
from client.subcommands.line_mode import Showing, closing_text
from client.subcommands.options import (
    data_option,
    locate,
    parse_link_argument,
    room_options,
    url_option,
)
from client.subcommands.running import run_to_end


@click.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@data_option
@room_options
def join(
    room: str,
    url: Address | None,
    data: Path | None,
    name: str | None,
    brief: bool,
    is_ascii: bool,
    plain: bool,
) -> None:
    """Sit down in a room, if a seat is free, and play; otherwise watch.

    With --data the room is one of your own matches: its server runs for as long as you play.
    """
    linked_server, room_id = parse_link_argument(room)
    address = linked_server or url
    if address is None and data is None:
        address, room_id = locate(room, url)

    async def run() -> None:
        async with (
            find_server(address, data) as server,
            connect_as_guest(server, name, room_id) as connection,
        ):
            showing = Showing(closing_text(server, name), brief, is_ascii, sit=True)
            await show_room(connection, server.address, room_id, showing, plain=plain)

    run_to_end(run(), address)
