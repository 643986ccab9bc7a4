"""A game of several files: its rules file and its PARTS share one namespace."""

from types import FunctionType, ModuleType
from typing import Any

from engine import jit
from engine.game import GameFault


def modules_of(module: ModuleType) -> tuple[ModuleType, ...]:
    """Returns the modules of a game: its PARTS in order, then its rules file."""
    return (*getattr(module, "PARTS", ()), module)


def marked_functions(names: dict[str, Any]) -> dict[str, FunctionType]:
    """Returns the functions among these names that are marked with @rule."""
    return {
        name: f for name, f in names.items() if isinstance(f, FunctionType) and hasattr(f, jit.RULE)
    }


def namespace_of(module: ModuleType) -> dict[str, Any]:
    """Returns all names of a game's files, the namespace of its compiled rules.

    Raises GameFault if a name that a rule uses has another value in another file.
    """
    names: dict[str, Any] = {}
    for file in modules_of(module):
        names.update(vars(file))
    for rule in marked_functions(names).values():
        for name in (rule.__name__, *rule.__code__.co_names):
            if name in names and rule.__globals__.get(name, names[name]) is not names[name]:
                raise GameFault(
                    f"{rule.__name__} in {rule.__module__}: "
                    f"{name} has another value in another file of the game"
                )
    return names
