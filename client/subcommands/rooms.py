"""`plyroom rooms`: lists the public rooms of a server."""

from typing import TYPE_CHECKING

import click

from client.address import Address
from client.program import program
from client.subcommands.connecting import Server, connect_as_guest
from client.subcommands.options import as_option, json_option, url_option
from client.subcommands.running import run_to_end

if TYPE_CHECKING:
    from server.protocol.messages import RoomSummary

#: The states of rooms in the order of the list.
STATES = ("open", "playing", "finished")


@click.command()
@url_option
@as_option
@json_option
def rooms(url: Address | None, name: str | None, as_json: bool) -> None:
    """List the public rooms of a server: who plays, and where a seat is free."""
    from client.own_server import usual_server

    address = url or usual_server()

    async def run() -> None:
        import msgspec

        async with connect_as_guest(Server(address), name) as connection:
            listed = (await anext(connection.lobby())).rooms
            server_ms = connection.server_ms()
        for room in sorted(listed, key=lambda room: STATES.index(room.state)):
            click.echo(
                msgspec.json.encode(room) if as_json else summary_text(room, address, server_ms)
            )
        if not listed and not as_json:
            click.echo("No public room is open.")

    run_to_end(run())


def summary_text(room: "RoomSummary", address: Address, server_ms: int) -> str:
    """A room in two lines: its game and players, and the command that enters it. `server_ms` is the
    server's time, for the clocks of a running match.
    """
    from client.terminal import clocks, words

    players = " against ".join(
        words.quoted(seat.name) if seat else "a free seat" for seat in room.seats
    )
    state = {"open": "open", "playing": room.length or "playing", "finished": "over"}[room.state]
    if times := clocks.times_text(room.times, server_ms):
        state = f"{state}, {times}"
    watching = f", {room.watching} watching" if room.watching else ""
    command = "join" if room.state == "open" else "watch"
    options = words.options_text(room.options, room.options_text) + words.clock_suffix(room.clock)
    return (
        f"{room.title}{options}: {players} ({state}{watching})\n"
        f"    {program()} {command} {address.room_url(room.room)}"
    )
