"""Rules with a fault: a test is believed once it has found some that were planted on purpose."""

from pathlib import Path
from types import ModuleType
from typing import cast

from engine.game import Game, Rules
from engine.games.registry import load_game


def planted(game_id: str, right: str, wrong: str) -> Game:
    """The game with one piece of its file's text replaced; its rules run uncompiled only."""
    file = Path(str(getattr(load_game(game_id).rules, "__file__", "")))
    source = file.read_text("utf-8")
    assert source.count(right) == 1, f"{file.name} has changed: plant this fault anew: {right}"
    module = ModuleType(f"planted_{file.stem}")
    exec(compile(source.replace(right, wrong), f"planted {file.name}", "exec"), vars(module))
    return Game(cast(Rules, module), "planted")
