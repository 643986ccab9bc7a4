"""The commands of the room for the words `mute-all` and `unmute-all`. This module does no I/O."""

from client.model import Model
from client.terminal import names
from client.terminal.commands import CommandName
from server.commands import ClientCommand, Mute, Unmute


def mute_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command that mutes or unmutes a person for everyone, or an error in words.

    `argument` is the person's name, with a mark if several have it: "Ada (2)".
    """
    if not argument:
        return f"Add a name, for example: {name.value} Ada"
    if name is CommandName.UNMUTE_ALL:
        muted = {each.name.casefold(): each.identity for each in model.muted}
        identity = muted.get(argument.casefold())
    else:
        identity = names.find(model, argument)
    if identity is None:
        return f"Nobody here has the name {argument!r}."
    kind = Mute if name is CommandName.MUTE_ALL else Unmute
    return kind(id=command_id, identity=identity)
