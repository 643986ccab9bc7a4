"""The command of the room for the word `allow-help`. This module does no I/O."""

from typing import get_args

from client.model import Model
from client.terminal.commands import CommandName
from server.commands import ClientCommand, Configure, ThinkingSetting

#: Who may see the AI's thinking, from everyone to nobody.
SETTINGS: tuple[ThinkingSetting, ...] = get_args(ThinkingSetting)


def help_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command that lets the bot help two people with positions, or no longer.

    `argument` is "on" or "off"; for any other the text says what the room's setting is.
    """
    if argument not in ("on", "off"):
        now = "may help" if model.has_help else "does not help"
        return f"type allow-help on or allow-help off; now the bot {now} people who play each other"
    thinking = next((each for each in SETTINGS if each == model.thinking_setting), SETTINGS[-1])
    return Configure(id=command_id, thinking=thinking, help=argument == "on")
