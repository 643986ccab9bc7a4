"""The digest of a game's rules: with equal digests, two processes generate the same moves and
search to the same scores.

Servers and workers compare digests before they work together, and compiled code is cached under its
digest.
"""

import hashlib
import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from engine.game import GameFault
from engine.rules.parts import modules_of

#: The folder of the package `engine`.
PACKAGE = Path(__file__).resolve().parents[1]
#: The search and its compilers; the modules that they import count too, except WITHOUT_EFFECT.
SEARCH = ("engine.search.kernel", "engine.compiler.native", "engine.compiler.native_lanes")
#: Modules that change neither a move nor a score: the code cache, the digest itself, the style
#: check, the pool's jobs and the board view.
WITHOUT_EFFECT = {
    "engine.compiler.code_cache",
    "engine.rules.digest",
    "engine.rules.style",
    "engine.search.job",
    "engine.view",
}
#: An import of the engine at the beginning of a line.
IMPORT = re.compile(
    r"^(?:from|import) (engine[\w.]*)(?: import (\([^)]*\)|[^\n(]*))?", re.MULTILINE
)


def rules_digest(module: ModuleType) -> str:
    """Returns 16 hex digits, the hash of the files that `digest_files` lists.

    Raises GameFault when a file cannot be read.
    """
    hasher = hashlib.blake2b(digest_size=8)
    for path in digest_files(module):
        content = _read(path, module)
        hasher.update(len(content).to_bytes(8, "big"))
        hasher.update(content)
    return hasher.hexdigest()


def digest_files(module: ModuleType) -> list[Path]:
    """Returns the files that a digest covers: the game's own, its DATA, its solver, the search and
    its compilers, and the engine modules that any of these import.
    """
    folder = Path(str(module.__file__)).parent
    own_files = [Path(str(file.__file__)) for file in reversed(modules_of(module))]
    data_files = [folder / name for name in module.DATA]
    imported = {
        name
        for path in own_files
        for name in _imported_modules(_read(path, module).decode("utf-8", "replace"))
    }
    return [
        *own_files,
        *data_files,
        *_solver_files(module),
        *_engine_files((*SEARCH, *sorted(imported))),
    ]


def _read(path: Path, module: ModuleType) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GameFault(
            f"{path}, a file of {module.NAME}, cannot be read: {error.strerror}"
        ) from error


@cache
def _engine_files(names: tuple[str, ...]) -> list[Path]:
    """Returns the files of these modules and of all modules that they import, sorted."""
    reached: set[str] = set()
    waiting = [name for name in names if not name.startswith("engine.games.")]
    while waiting:
        name = waiting.pop()
        if name not in reached and name not in WITHOUT_EFFECT:
            reached.add(name)
            waiting += _imported_modules(_module_path(name).read_text("utf-8"))
    return [_module_path(name) for name in sorted(reached)]


def _imported_modules(source: str) -> list[str]:
    """Returns the engine's modules that a source imports at its top level."""
    names: list[str] = []
    for package, imported in IMPORT.findall(source):
        parts = re.findall(r"\w+", re.sub(r"#.*| as \w+", "", imported))
        modules = [
            f"{package}.{part}" for part in parts if _module_path(f"{package}.{part}").exists()
        ]
        names += modules if _module_path(package).name == "__init__.py" else [package]
    return names


def _module_path(name: str) -> Path:
    """Returns the path of an engine module, which need not exist."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _solver_files(module: ModuleType) -> list[Path]:
    """Returns the files of a game's solver, `name.py` and `name_*.py` beside it, without importing
    them.
    """
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
