"""The chat commands by name: the built-in ones, then those that other distributions register."""

import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType

import structlog

from server.bot.api import ChatCommand
from server.rooms.model import QuestionKind, Room, Viewer

log = structlog.get_logger()

#: The entry point group in which other distributions register chat commands.
ENTRY_POINT_GROUP = "plyroom.chat"
#: The modules of the built-in commands, in the order of the list of commands.
BUILT_IN = (
    "server.bot.commands.positions",
    "server.bot.commands.basics",
    "server.bot.commands.actions",
    "server.bot.commands.learning",
)
#: The names that a command may have.
NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")


def find_command(name: str) -> ChatCommand | None:
    """Returns the command with a name, or None."""
    return all_commands().get(name)


def nearest_command(name: str) -> str:
    """Returns the name of the most similar command; `help` if no name is similar."""
    matches = get_close_matches(name, all_commands(), n=1, cutoff=0.5)
    return matches[0] if matches else "help"


def kind_of_question(room: Room, viewer: Viewer, name: str) -> QuestionKind:
    """Returns the kind of a question by its command.

    It is private unless the answer would be public now. It is cheap if the command asks for no
    search and reads none; so is a question that no command answers.
    """
    command = find_command(name)
    if command is None:
        return QuestionKind(private=True, cheap=True)
    is_cheap = command.cost == 0 and not command.needs_thoughts
    try:
        is_public = command.when(room, viewer) is None and command.is_public(room)
    except Exception:  # a plug-in's condition may raise anything
        log.exception("condition of a chat command failed", command=name)
        is_public = False
    return QuestionKind(private=not is_public, cheap=is_cheap)


@cache
def all_commands() -> MappingProxyType[str, ChatCommand]:
    """Returns all commands by name, the built-in ones first."""
    built_in = {
        each.name: each
        for module in BUILT_IN
        for each in vars(import_module(module)).values()
        if isinstance(each, ChatCommand)
    }
    return MappingProxyType(built_in | _plugged_in(built_in))


def clear() -> None:
    """Clears the registry, so that a test can install a command while it runs."""
    all_commands.cache_clear()


def _plugged_in(built_in: dict[str, ChatCommand]) -> dict[str, ChatCommand]:
    """Returns the commands of other distributions, except those that cannot be loaded."""
    commands: dict[str, ChatCommand] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            each = entry.load()
        except Exception as error:  # a plug-in's module may raise anything
            log.warning("chat command cannot be loaded", entry=entry.value, error=str(error))
            continue
        if not isinstance(each, ChatCommand) or not NAME.fullmatch(each.name):
            log.warning("not a chat command", entry=entry.value)
        elif each.name in built_in or each.name in commands:
            log.warning("the name of a chat command is taken", entry=entry.value, name=each.name)
        else:
            commands[each.name] = each
    return commands
