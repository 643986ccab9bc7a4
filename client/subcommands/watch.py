"""`plyroom watch`: shows a room, as text or as lines of JSON."""

import click

from client.address import Address
from client.subcommands.connecting import Server, connect_as_guest
from client.subcommands.full_screen import show_room
from client.subcommands.line_mode import closing_text
from client.subcommands.options import (
    as_option,
    ascii_option,
    brief_option,
    json_option,
    locate,
    plain_option,
    url_option,
)
from client.subcommands.running import run_to_end


@click.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@as_option
@brief_option
@json_option
@ascii_option
@plain_option
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
                await show_room(
                    connection,
                    address,
                    room_id,
                    plain=plain,
                    brief=brief,
                    is_ascii=is_ascii,
                    text_at_end=closing_text(server, name),
                )

    run_to_end(run())
