"""`plyroom join`: sits down in a room and plays, or watches."""

import click

from client.address import Address
from client.subcommands.connecting import connect_as_guest
from client.subcommands.full_screen import show_room
from client.subcommands.line_mode import closing_text
from client.subcommands.options import as_option, brief_option, locate, plain_option, url_option
from client.subcommands.running import run_to_end


@click.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@as_option
@brief_option
@plain_option
def join(room: str, url: Address | None, name: str | None, brief: bool, plain: bool) -> None:
    """Sit down in a room, if a seat is free, and play; otherwise watch."""
    address, room_id = locate(room, url)

    async def run() -> None:
        async with connect_as_guest(address, name, room=room_id) as connection:
            await show_room(
                connection,
                address,
                room_id,
                plain=plain,
                brief=brief,
                sit=True,
                text_at_end=closing_text(address),
            )

    run_to_end(run())
