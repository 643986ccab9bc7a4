"""The search of a game without a compiler: the kernel's source runs as plain Python.

`interpret_game` does for plain Python what `engine.compiler.native.compile_game` does for machine
code: it copies the functions of a template (the kernel, by default) and puts a game's rules in
place of the stubs. The source is the same, so the search visits the same nodes and returns the
same score and move, about a thousand times slower. A game is played this way until its machine code
is compiled. This module does not import numba.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from engine.compiler.inlining import template_functions
from engine.game import Game
from engine.rules.contract import HOOKS, OPTIONAL_HOOKS
from engine.rules.data import load_data
from engine.rules.digest import rules_digest
from engine.rules.overflow import wrapping
from engine.rules.parts import namespace_of
from engine.search import kernel
from engine.search.job import RulesChanged

#: The hooks whose second argument is memory.
MEMORY_HOOKS = ("moves", "evaluate", "count", "tactical", "evasions", "probe")

#: Nodes from one poll to the next, fewer than in compiled code because this search is slow. It does
#: not change the node count.
POLL_NODES = 16


class BoundTemplate(Protocol):
    """A template bound to a game, compiled or not."""

    @property
    def data(self) -> Any:
        """The memory with the game's DATA."""

    def function(self, name: str) -> Callable[..., Any]:
        """The function of that name."""


class Array:
    """Memory for the uncompiled search: an array, where compiled code takes a `Memory`."""

    def __init__(self, array: Any) -> None:
        self.array = array


@dataclass(frozen=True)
class InterpretedGame:
    """The template bound to one game. Its functions are called like compiled ones."""

    game: Game
    data: Array
    _functions: Mapping[str, FunctionType]

    def function(self, name: str) -> Callable[..., Any]:
        """The function of that name. It takes words as int, and memory as `Memory` or `Array`."""
        function = self._functions[name]

        def call(state: tuple[int, ...], *arguments: Any) -> Any:
            words = tuple(np.uint64(word) for word in state)
            with wrapping():
                return function(words, *(_unwrapped(argument) for argument in arguments))

        return call


def _unwrapped(argument: Any) -> Any:
    """The argument in plain Python: memory becomes a view whose items are Python numbers."""
    array = getattr(argument, "array", None)
    return argument if array is None else memoryview(array)


def _with_array(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that gets its memory as an array, as the rules that the server calls do, so that
    64-bit numbers wrap.
    """

    def call(s: Any, memory: Any) -> Any:
        return rule(s, np.frombuffer(memory, np.int64))

    return call


def interpret_game(game: Game, template: ModuleType = kernel) -> InterpretedGame:
    """The search bound to a game's rules, ready at once.

    Raises GameFault when its DATA cannot be read, RulesChanged when its files have changed since
    they were loaded.
    """
    parts = (*getattr(template, "PARTS", ()), template)
    names = namespace_of(game.module)  # type: ignore[arg-type]
    namespace = {name: value for part in parts for name, value in vars(part).items()}
    hooks = {name: names[name] for name in (*HOOKS, *OPTIONAL_HOOKS) if name in names}
    if game.rules.EXTRA_TURNS:
        hooks["turn"] = names["turn"]
    hooks.update({name: _with_array(hooks[name]) for name in MEMORY_HOOKS if name in hooks})
    namespace.update(hooks, MAX_MOVES=int(game.rules.MAX_MOVES), POLL_NODES=POLL_NODES)
    namespace.update(
        REPEATS=int(game.rules.counts_repetitions),
        HAS_TACTICAL=int("tactical" in names),
        HAS_UNSTABLE=int("unstable" in names),
        HAS_PROBE=int("probe" in names),
        MARGIN=game.rules.MARGIN,
        EXTRA_TURNS=int(game.rules.EXTRA_TURNS),
    )  # fmt: skip
    functions = {
        name: FunctionType(f.__code__, namespace, name, f.__defaults__)
        for name, f in template_functions(template).items()
        if name not in hooks
    }
    namespace.update(functions)
    data = Array(load_data(game))
    _check_unchanged(game)
    return InterpretedGame(game, data, functions)


def _check_unchanged(game: Game) -> None:
    """Raises RulesChanged if the files changed between reading the rules and reading the data."""
    if isinstance(game.module, ModuleType) and (digest := rules_digest(game.module)) != game.digest:
        raise RulesChanged(
            f"the files of {game.id} have changed since they were loaded: "
            f"{game.digest} became {digest}"
        )
