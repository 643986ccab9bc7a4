"""`plyroom watch`: shows a room, as text or as lines of JSON."""

import click

from client.address import Address
from client.subcommands.connecting import Server, connect_as_guest
from client.subcommands.full_screen import show_room
from client.subcommands.line_mode import Showing, closing_text
from client.subcommands.options import (
    json_option,
    locate,
    room_options,
    url_option,
)
from client.subcommands.running import run_to_end


@click.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@json_option
@room_options
def watch(
    room: str,
    url: Address | None,
    name: str | None,
    brief: bool,
    as_json: bool,
    is_ascii: bool,
    plain: bool,
) -> None:
    """Watch a room.

    In a pipe the command ends with the match.
    """
    from client.terminal.line import print_messages
    from client.terminal.output import standard_output

    address, room_id = locate(room, url)
    server = Server(address)

    async def run() -> None:
        async with connect_as_guest(server, name, room_id) as connection:
            if as_json:
                await print_messages(connection, room_id, standard_output())
            else:
                showing = Showing(closing_text(server, name), brief, is_ascii)
                await show_room(connection, address, room_id, showing, plain=plain)

    run_to_end(run(), address)
