"""Maps the messages by which clients command a room to the room's commands, and back.

A message names its room, a command does not. `join` and `leave` are not commands: they concern the
connection, and the room does not change.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, assert_never

from msgspec.structs import asdict

from server.protocol import messages as wire
from server.rooms import commands
from server.rooms.commands import Command, SeatWish
from server.rooms.permissions import Permission, SeeThinking

#: The type of command for each type of message; both have the same name.
_KINDS: dict[type[wire.RoomCommand], type[Command]] = {
    message: getattr(commands, message.__name__)
    for message in wire.ClientMessage.__args__
    if issubclass(message, wire.RoomCommand) and not issubclass(message, wire.Join | wire.Leave)
}
_MESSAGES = {kind: message for message, kind in _KINDS.items()}
#: The name of each permission for clients: for a command the type of its message.
_NAMES: dict[Permission, str] = {
    **{kind: str(message.__struct_config__.tag) for kind, message in _MESSAGES.items()},
    SeeThinking: "see_thinking",
}


def _parser(kind: type[Command]) -> Callable[[Any], Command]:
    """Returns a function that makes a command from its message, which has all of its fields."""
    fields = kind.__struct_fields__
    make: Callable[..., Command] = kind
    values = attrgetter(*fields)
    if len(fields) == 1:
        return lambda message: make(values(message))
    return lambda message: make(*values(message))


_PARSERS = {message: _parser(kind) for message, kind in _KINDS.items()}


def parse_command(message: wire.RoomCommand) -> Command:
    """The command of a message that commands a room. Raises KeyError for `join` and `leave`."""
    return _PARSERS[type(message)](message)


def format_command(room: str, command: Command) -> wire.RoomCommand:
    """The message that gives this command to a room.

    Raises KeyError for the server's own commands.
    """
    return _MESSAGES[type(command)](room=room, **asdict(command))


def format_permissions(permissions: Iterable[Permission]) -> tuple[str, ...]:
    """The names of permissions for clients. Raises KeyError for the server's own commands."""
    return tuple([_NAMES[permission] for permission in permissions])


def parse_create(message: wire.Create) -> commands.Create:
    """The command of a `create` message."""
    return commands.Create(
        message.id, message.game, message.options, message.visibility,
        tuple(_parse_seat(seat) for seat in message.seats),
        message.start, message.one_screen, message.takeback, message.thinking, message.help,
    )  # fmt: skip


def format_create(command: commands.Create) -> wire.Create:
    """The message of a `create` command."""
    return wire.Create(
        id=command.id, game=command.game, options=command.options, visibility=command.visibility,
        seats=tuple(_format_seat(seat) for seat in command.seats),
        start=command.start, one_screen=command.one_screen, takeback=command.takeback,
        thinking=command.thinking, help=command.help,
    )  # fmt: skip


def _parse_seat(seat: wire.MySeat | wire.OpenSeat | wire.AiSeat) -> SeatWish:
    match seat:
        case wire.MySeat():
            return commands.MySeat()
        case wire.OpenSeat():
            return commands.OpenSeat()
        case wire.AiSeat():
            return commands.AiSeat(**asdict(seat))
        case _:
            assert_never(seat)


def _format_seat(seat: SeatWish) -> wire.MySeat | wire.OpenSeat | wire.AiSeat:
    match seat:
        case commands.MySeat():
            return wire.MySeat()
        case commands.OpenSeat():
            return wire.OpenSeat()
        case commands.AiSeat():
            return wire.AiSeat(**asdict(seat))
        case _:
            assert_never(seat)
