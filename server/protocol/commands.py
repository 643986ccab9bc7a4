"""Maps the messages by which clients command a room to the room's commands, and back.

A message names its room, a command does not. `join` and `leave` are not commands: they concern the
connection, and the room does not change.
"""

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from msgspec.structs import asdict

from server.protocol import messages as wire
from server.rooms import commands
from server.rooms.commands import Command, SeatWish

#: Makes the command of each type of message.
_PARSERS: dict[type[wire.RoomCommand], Callable[[Any], Command]] = {
    wire.Move: lambda m: commands.Move(m.id, m.ply, m.move),
    wire.Chat: lambda m: commands.Chat(m.id, m.text, m.to),
    wire.Sit: lambda m: commands.Sit(m.id, m.seat),
    wire.Stand: lambda m: commands.Stand(m.id),
    wire.AddAi: lambda m: commands.AddAi(m.id, m.seat, m.level, m.persona),
    wire.RemoveAi: lambda m: commands.RemoveAi(m.id, m.seat),
    wire.Resign: lambda m: commands.Resign(m.id),
    wire.Abort: lambda m: commands.Abort(m.id),
    wire.Claim: lambda m: commands.Claim(m.id),
    wire.OfferDraw: lambda m: commands.OfferDraw(m.id),
    wire.Accept: lambda m: commands.Accept(m.id),
    wire.Rematch: lambda m: commands.Rematch(m.id),
    wire.Decline: lambda m: commands.Decline(m.id),
}


def parse_command(message: wire.RoomCommand) -> Command:
    """The command of a message that commands a room. Raises KeyError for `join` and `leave`."""
    return _PARSERS[type(message)](message)


#: The message of each type of command that clients may give.
_MESSAGES: dict[type[Command], type[wire.RoomCommand]] = {
    commands.Move: wire.Move,
    commands.Chat: wire.Chat,
    commands.Sit: wire.Sit,
    commands.Stand: wire.Stand,
    commands.AddAi: wire.AddAi,
    commands.RemoveAi: wire.RemoveAi,
    commands.Resign: wire.Resign,
    commands.Abort: wire.Abort,
    commands.Claim: wire.Claim,
    commands.OfferDraw: wire.OfferDraw,
    commands.Accept: wire.Accept,
    commands.Rematch: wire.Rematch,
    commands.Decline: wire.Decline,
}


def format_command(room: str, command: Command) -> wire.RoomCommand:
    """The message that gives this command to a room.

    Raises KeyError for the server's own commands.
    """
    return _MESSAGES[type(command)](room=room, **asdict(command))


#: The name of each type of command that clients may give: the type of its message.
_NAMES = {kind: str(message.__struct_config__.tag) for kind, message in _MESSAGES.items()}


def format_kinds(kinds: Iterable[type[Command]]) -> tuple[str, ...]:
    """The names of types of commands for clients. Raises KeyError for the server's own commands."""
    return tuple([_NAMES[kind] for kind in kinds])


def parse_create(message: wire.Create) -> commands.Create:
    """The command of a `create` message."""
    return commands.Create(
        message.id, message.game, message.options, message.visibility,
        tuple(_parse_seat(seat) for seat in message.seats),
    )  # fmt: skip


def format_create(command: commands.Create) -> wire.Create:
    """The message of a `create` command."""
    return wire.Create(
        id=command.id, game=command.game, options=command.options, visibility=command.visibility,
        seats=tuple(_format_seat(seat) for seat in command.seats),
    )  # fmt: skip


def _parse_seat(seat: wire.MySeat | wire.OpenSeat | wire.AiSeat) -> SeatWish:
    match seat:
        case wire.MySeat():
            return commands.MySeat()
        case wire.OpenSeat():
            return commands.OpenSeat()
        case wire.AiSeat(level=level, persona=persona):
            return commands.AiSeat(level, persona)
        case _:
            assert_never(seat)


def _format_seat(seat: SeatWish) -> wire.MySeat | wire.OpenSeat | wire.AiSeat:
    match seat:
        case commands.MySeat():
            return wire.MySeat()
        case commands.OpenSeat():
            return wire.OpenSeat()
        case commands.AiSeat(level=level, persona=persona):
            return wire.AiSeat(level, persona)
        case _:
            assert_never(seat)
