"""The mapping between the protocol's messages and a room's commands."""

import msgspec
import pytest

from server.protocol import messages as wire
from server.protocol.commands import format_command, format_create, parse_command, parse_create
from server.rooms import commands
from server.rooms.commands import AiMove, Command
from tests.support.wire_samples import CLIENT

ROOM_MESSAGES = [message for message in CLIENT if isinstance(message, wire.RoomCommand)]
COMMANDS = [m for m in ROOM_MESSAGES if not isinstance(m, wire.Join | wire.Leave)]
#: The commands that only the server gives to a room.
OWN = {"AiMove", "AiFailure", "AiReply", "BotLine", "Rename", "Tick"}


@pytest.mark.parametrize("message", COMMANDS, ids=lambda message: type(message).__name__)
def test_a_message_and_its_command_are_equivalent(message: wire.RoomCommand) -> None:
    """The command has the message's type name and fields except the room, and maps back to it."""
    command = parse_command(message)
    assert type(command) is getattr(commands, type(message).__name__)
    fields = msgspec.structs.asdict(message)
    assert {"room": fields.pop("room"), **msgspec.structs.asdict(command)} == {
        "room": message.room,
        **fields,
    }
    assert format_command(message.room, command) == message


def test_every_command_of_clients_has_a_message() -> None:
    """Every type of command has a client message or is one of the server's own."""
    kinds = {kind.__name__ for kind in Command.__subclasses__()}
    assert kinds == {type(message).__name__ for message in COMMANDS} | OWN


@pytest.mark.parametrize(
    "seats",
    [
        (wire.MySeat(), wire.OpenSeat()),
        (wire.AiSeat(3), wire.AiSeat(persona="swindler")),
        (wire.OpenSeat(), wire.MySeat()),
    ],
)
def test_create_maps_to_its_command_and_back(seats: tuple[wire.MySeat, ...]) -> None:
    """A `create` message and its command have the same fields and seats."""
    message = wire.Create(
        id="c", game="sticks", options={"rows": "1-2"}, visibility="unlisted", seats=seats
    )
    command = parse_create(message)
    assert (command.id, command.game, command.options) == ("c", "sticks", {"rows": "1-2"})
    assert command.visibility == "unlisted"
    assert [type(seat).__name__ for seat in command.seats] == [
        type(seat).__name__ for seat in seats
    ]
    assert format_create(command) == message


def test_the_defaults_of_create_are_the_same() -> None:
    """A `create` without optional fields maps to the command without optional fields."""
    message = wire.Create(id="c", game="sticks")
    assert parse_create(message) == commands.Create("c", "sticks")


@pytest.mark.parametrize("message", [m for m in ROOM_MESSAGES if m not in COMMANDS])
def test_following_is_not_a_command(message: wire.RoomCommand) -> None:
    """`join` and `leave` concern the connection and map to no command."""
    with pytest.raises(KeyError):
        parse_command(message)


def test_the_servers_own_commands_have_no_message() -> None:
    """A command that only the server gives maps to no message."""
    with pytest.raises(KeyError):
        format_command("r", AiMove("ai:m:1", "m", 0, "d", "a1"))
