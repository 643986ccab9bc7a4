"""Games with a planted fault, which show that a test can fail."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from engine.game import Game, Rules
from engine.rules.parts import modules_of
from engine.rules.registry import load_game


def planted(game_id: str, right: str, wrong: str) -> Game:
    """Returns the game with one piece of its source text replaced; its rules cannot be compiled."""
    rules: Any = load_game(game_id).module
    files = modules_of(rules)
    sources = {file: Path(str(file.__file__)).read_text("utf-8") for file in files}
    count = sum(source.count(right) for source in sources.values())
    assert count == 1, f"the source of {game_id} has this text {count} times, not once: {right}"
    try:
        for file, source in sources.items():  # parts come before the files that import from them
            module = ModuleType(file.__name__)
            module.__file__ = file.__file__  # the DATA files are in its folder
            _install(file.__name__, module)
            exec(
                compile(source.replace(right, wrong), f"planted {file.__name__}", "exec"),
                vars(module),
            )
    finally:
        for file in files:
            _install(file.__name__, file)
    return Game(cast(Rules, module), "planted")


def _install(name: str, module: ModuleType) -> None:
    """Makes imports of `name` return the module."""
    package, _, leaf = name.rpartition(".")
    sys.modules[name] = module
    setattr(sys.modules[package], leaf, module)
