"""A game of several files: its rules file and its PARTS, put together to one set of names."""

from types import FunctionType, ModuleType
from typing import Any

from engine import jit
from engine.game import GameFault


def files_of(module: ModuleType) -> tuple[ModuleType, ...]:
    """The modules that a game is made of, the parts in their order and its own file last."""
    return (*getattr(module, "PARTS", ()), module)


def marked(names: dict[str, Any]) -> dict[str, FunctionType]:
    """The rules among some names."""
    return {
        name: f for name, f in names.items() if isinstance(f, FunctionType) and hasattr(f, jit.RULE)
    }


def names_of(module: ModuleType) -> dict[str, Any]:
    """All names of a game's files. Compiled rules share them, so GameFault when one means two
    things to two rules.
    """
    names: dict[str, Any] = {}
    for file in files_of(module):
        names.update(vars(file))
    for rule in marked(names).values():
        for name in (rule.__name__, *rule.__code__.co_names):
            if name in names and rule.__globals__.get(name, names[name]) is not names[name]:
                raise GameFault(
                    f"{rule.__name__} in {rule.__module__}: {name} is another thing elsewhere in the game"
                )
    return names
