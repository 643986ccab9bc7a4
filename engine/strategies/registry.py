"""The strategies by name: the built-in ones, then those that other distributions register."""

import re
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from engine.strategies.contract import Strategy, UnknownStrategy
from engine.strategies.names import BUILT_IN

#: The entry point group in which other distributions register strategies.
ENTRY_POINT_GROUP = "plyroom.strategies"
#: The names that a strategy may have.
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def strategy_names() -> list[str]:
    """Returns the names of all strategies, the built-in ones first; it loads none of them."""
    return [*BUILT_IN, *_plugged_in()]


def load_strategy(name: str) -> Strategy:
    """Returns the strategy with a name; raises UnknownStrategy, and what its module raises.

    A class becomes an object's method `choose`. The server does not call this: strategies run in
    processes of their own.
    """
    if name in BUILT_IN:
        built_in: Strategy = import_module("engine.strategies.built_in").STRATEGIES[name]
        return built_in
    if name not in _plugged_in():
        names = ", ".join(strategy_names())
        raise UnknownStrategy(f"there is no strategy {name[:40]!r}; there are: {names}")
    loaded = _plugged_in()[name].load()
    strategy: Strategy = loaded().choose if isinstance(loaded, type) else loaded
    return strategy


def clear() -> None:
    """Clears the registry, so that a test can install a strategy while it runs."""
    _plugged_in.cache_clear()


@cache
def _plugged_in() -> dict[str, EntryPoint]:
    return {
        entry.name: entry
        for entry in entry_points(group=ENTRY_POINT_GROUP)
        if entry.name not in BUILT_IN and NAME.fullmatch(entry.name)
    }
