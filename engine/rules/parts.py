"""A game of several files: its rules file and its PARTS, joined to one set of names."""

from types import FunctionType, ModuleType
from typing import Any

from engine import jit
from engine.game import GameFault


def files_of(module: ModuleType) -> tuple[ModuleType, ...]:
    """The modules of a game: its PARTS in order, then its rules file."""
    return (*getattr(module, "PARTS", ()), module)


def marked(names: dict[str, Any]) -> dict[str, FunctionType]:
    """The functions among these names that are marked with @rule."""
    return {
        name: f for name, f in names.items() if isinstance(f, FunctionType) and hasattr(f, jit.RULE)
    }


def names_of(module: ModuleType) -> dict[str, Any]:
    """All names of a game's files.

    Compiled rules share the names; raises GameFault when a name has two meanings for two rules.
    """
    names: dict[str, Any] = {}
    for file in files_of(module):
        names.update(vars(file))
    for rule in marked(names).values():
        for name in (rule.__name__, *rule.__code__.co_names):
            if name in names and rule.__globals__.get(name, names[name]) is not names[name]:
                raise GameFault(
                    f"{rule.__name__} in {rule.__module__}: "
                    f"{name} is another thing elsewhere in the game"
                )
    return names
