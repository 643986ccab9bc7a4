"""The commands of the room for the words `sit`, `stand` and `ai`. This module does no I/O."""

import msgspec

from client.model import Model
from client.terminal import words
from client.terminal.commands import CommandName
from server.commands import AddAi, ClientCommand, RemoveAi, Sit, Stand

#: The error message for an `ai` with an unknown argument.
AI_USAGE = "type ai and a level (ai 3) or a persona (ai average), or ai off"


def seat_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the room's command for a word about seats, or the reason why there is none.

    `argument` of `sit` is the name of a side; of `ai` a level, a persona or "off".
    """
    if name is CommandName.STAND:
        return Stand(id=command_id)
    if name is CommandName.SIT:
        seat = _free_seat(model, argument)
        return seat if isinstance(seat, str) else Sit(id=command_id, seat=seat)
    if argument.lower() in ("off", "remove"):
        return _remove_ai(model, command_id)
    return _add_ai(argument.lower(), model, command_id)


def _free_seat(model: Model, side: str = "") -> int | str:
    """The free seat of a side, or the first one; the reason if there is none."""
    free = [seat for seat, occupant in enumerate(model.seats) if occupant is None]
    if not free:
        return "Both seats are taken."
    names = {seat: words.side_name(words.board_of(model), seat) for seat in free}
    if not side:
        return free[0]
    matching = [seat for seat, name in names.items() if name.lower() == side.lower()]
    return matching[0] if matching else f"There is no free seat {side}; free: {_listed(names)}."


def _listed(names: dict[int, str]) -> str:
    return ", ".join(names.values())


def _add_ai(argument: str, model: Model, command_id: str) -> AddAi | str:
    seat = _free_seat(model)
    if isinstance(seat, str):
        return seat
    command = {"t": "add_ai", "id": command_id, "seat": seat}
    chosen = {"level": int(argument)} if argument.isdecimal() else {"persona": argument}
    try:
        return msgspec.convert(command | chosen, AddAi)
    except msgspec.ValidationError:
        return AI_USAGE


def _remove_ai(model: Model, command_id: str) -> RemoveAi | str:
    held = [seat for seat, each in enumerate(model.seats) if each and each.kind == "ai"]
    if not held:
        return "No AI has a seat here."
    return RemoveAi(id=command_id, seat=held[-1])
