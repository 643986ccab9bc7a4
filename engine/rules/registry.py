"""The registry of games: the built-in games, then those that other distributions register."""

import importlib
import math
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from engine.game import Game, Rules, UnknownGame
from engine.rules.digest import rules_digest
from engine.rules.measured import measured_of
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


def production_ids() -> list[str]:
    """Returns the ids of the games that the production search plays, and with it the pool.

    A game that does not load is one of them, so that its user learns the reason.
    """
    return [game_id for game_id in game_ids() if not _is_for_teaching(game_id)]


def best_known_first(ids: Iterable[str]) -> list[str]:
    """Returns the ids with those of the best known games first, in the order of `well_known`.

    A game that does not load comes last.
    """

    def place(game_id: str) -> float:
        try:
            return measured_of(load_game(game_id)).well_known or math.inf
        except Exception:  # a plug-in's file may raise anything while it is imported
            return math.inf

    return sorted(ids, key=place)


@cache
def load_game(name: str) -> Game:
    """Returns the game with an id or an alias; raises UnknownGame, which names the available games.

    A process reads a rules file, and the measured file beside it, once.
    """
    if name in BUILT_IN:
        module = import_module(BUILT_IN[name])
    elif name in _plugged_in():
        module = _plugged_in()[name].load()
    elif game := _game_with_alias(name):
        return game
    else:
        raise UnknownGame(f"there is no game {name[:40]!r}; there are: {', '.join(game_ids())}")
    game = Game(cast(Rules, module), rules_digest(module))
    measured_of(game)  # a broken file fails here, not in the middle of a match
    return game


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


def _game_with_alias(name: str) -> Game | None:
    """The first game that has this alias, or None."""
    for game_id in (*BUILT_IN, *_plugged_in()):
        with suppress(Exception):  # a plug-in's file may raise anything while it is imported
            if name in load_game(game_id).rules.ALIASES:
                return load_game(game_id)
    return None


def _is_for_teaching(game_id: str) -> bool:
    try:
        return load_game(game_id).rules.SEARCH == "teach"
    except Exception:  # a plug-in's file may raise anything while it is imported
        return False
