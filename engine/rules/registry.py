"""Which games there are: the built-in files, then those that other distributions offer by entry
point.
"""

import importlib
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from engine.game import Game, Rules, UnknownGame
from engine.rules.digest import rules_digest
from engine.rules.parts import files_of

ENTRY_POINT_GROUP = "plyroom.games"
GAMES = Path(__file__).resolve().parent.parent / "games"
#: The files of `engine/games`: each is the game of its name. A file is all that a game takes.
BUILT_IN = {
    name.replace("_", "-"): f"engine.games.{name}"
    for name in sorted(path.stem for path in GAMES.glob("*.py"))
    if name != "__init__"
}


def game_ids() -> list[str]:
    """The ids of all games, the built-in ones first."""
    return [
        *BUILT_IN,
        *(entry.name for entry in _plugged_in().values() if entry.name not in BUILT_IN),
    ]


@cache
def load_game(game_id: str) -> Game:
    """The game of that id; UnknownGame names those that there are. Its rules file is read once a
    process.
    """
    if game_id in BUILT_IN:
        module = import_module(BUILT_IN[game_id])
    elif game_id in _plugged_in():
        module = _plugged_in()[game_id].load()
    else:
        raise UnknownGame(f"there is no game {game_id[:40]!r}; there are: {', '.join(game_ids())}")
    return Game(cast(Rules, module), rules_digest(module))


def forget() -> None:
    """Looks for games anew at the next call; for tests and tools that install one while they run."""
    for entry in _plugged_in().values():
        module = sys.modules.pop(entry.module, None)
        for part in files_of(module) if module else ():
            sys.modules.pop(part.__name__, None)
    importlib.invalidate_caches()
    load_game.cache_clear()
    _plugged_in.cache_clear()


@cache
def _plugged_in() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
