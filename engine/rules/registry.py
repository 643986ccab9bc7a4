"""The registry of games: the built-in games, then those that other distributions register."""

import importlib
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from engine.game import Game, Rules, UnknownGame
from engine.rules.digest import rules_digest
from engine.rules.parts import modules_of

#: The entry point group in which other distributions register games.
ENTRY_POINT_GROUP = "plyroom.games"
#: The folder of the built-in games.
GAMES = Path(__file__).resolve().parent.parent / "games"
#: The modules of the built-in games, by id. A new file in GAMES is a new game.
BUILT_IN = {
    name.replace("_", "-"): f"engine.games.{name}"
    for name in sorted(path.stem for path in GAMES.glob("*.py"))
    if name != "__init__"
}


def game_ids() -> list[str]:
    """Returns the ids of all games, the built-in ones first."""
    return [
        *BUILT_IN,
        *(entry.name for entry in _plugged_in().values() if entry.name not in BUILT_IN),
    ]


@cache
def load_game(game_id: str) -> Game:
    """Returns the game with an id; raises UnknownGame, which names the available games.

    A process reads a rules file once.
    """
    if game_id in BUILT_IN:
        module = import_module(BUILT_IN[game_id])
    elif game_id in _plugged_in():
        module = _plugged_in()[game_id].load()
    else:
        raise UnknownGame(f"there is no game {game_id[:40]!r}; there are: {', '.join(game_ids())}")
    return Game(cast(Rules, module), rules_digest(module))


def clear() -> None:
    """Clears the registry, so that a test or tool can install a game while it runs.

    The next `load_game` reads the rules files of other distributions again.
    """
    for entry in _plugged_in().values():
        module = sys.modules.pop(entry.module, None)
        for part in modules_of(module) if module else ():
            sys.modules.pop(part.__name__, None)
    importlib.invalidate_caches()
    load_game.cache_clear()
    _plugged_in.cache_clear()


@cache
def _plugged_in() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
