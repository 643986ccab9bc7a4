"""Which games there are: the built-in files, then those that other distributions offer by entry point."""

import hashlib
import importlib
import importlib.util
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import cast

from engine.game import Game, GameFault, Rules, UnknownGame
from engine.parts import files_of

ENTRY_POINT_GROUP = "plyroom.games"
ENGINE = Path(__file__).resolve().parent.parent
COMMON = (
    "jit.py",
    "lanes.py",
    "game.py",
    "overflow.py",
    "data.py",
    "parts.py",
    "native.py",
    "native_lanes.py",
    "search/layout.py",
    "search/hooks.py",
    "search/entries.py",
    "search/steps.py",
    "search/reference.py",
    "search/kernel.py",
)
BUILT_IN = {
    name.replace("_", "-"): f"engine.games.{name}"
    for name in sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    if name not in ("__init__", "registry")
}
"""The files beside this one: each is the game of its name. A file is all that a game takes."""


def game_ids() -> list[str]:
    """The ids of all games, the built-in ones first."""
    return [*BUILT_IN, *(entry.name for entry in _plugged_in().values() if entry.name not in BUILT_IN)]


@cache
def load_game(game_id: str) -> Game:
    """The game of that id; UnknownGame names those that there are. Its rules file is read once a process."""
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


def rules_digest(module: ModuleType) -> str:
    """16 hex digits over everything that decides how a game plays and searches:
    its files, its DATA, its solver, the engine around it. GameFault when one of them cannot be read.
    """
    folder = Path(str(module.__file__)).parent
    files = [Path(str(file.__file__)) for file in reversed(files_of(module))]
    data = [folder / name for name in module.DATA]
    paths = [*files, *data, *_solver_files(module), *(ENGINE / name for name in COMMON)]
    total = hashlib.blake2b(digest_size=8)
    for path in paths:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise GameFault(f"{path}, a file of {module.NAME}, cannot be read: {error.strerror}") from error
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()


def _solver_files(module: ModuleType) -> list[Path]:
    """The files of the solver that a game names, found without importing it: `name.py` and `name_*.py` beside it."""
    name = getattr(module, "SOLVER", "")
    if not name:
        return []
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise GameFault(f"there is no module {name!r}, which {module.NAME} names as its solver")
    file = Path(spec.origin)
    return [file, *sorted(file.parent.glob(f"{file.stem}_*.py"))]


@cache
def _plugged_in() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
