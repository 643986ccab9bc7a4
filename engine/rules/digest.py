"""The digest of a game's rules: equal digests mean the same play and the same search, byte for
byte.

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
from engine.rules.parts import files_of

#: The folder of the package `engine`.
PACKAGE = Path(__file__).resolve().parents[1]
#: The search and its compilers. The modules that they import count too, except WITHOUT_EFFECT.
SEARCH = ("engine.search.kernel", "engine.compiler.native", "engine.compiler.native_lanes")
#: Modules that change neither a move nor a score: where code is cached, which rules are refused,
#: what crosses the pipe, how a board is drawn.
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
    """16 hex digits over everything that decides how a game plays and searches; see `digest_files`.

    Raises GameFault when a file cannot be read.
    """
    total = hashlib.blake2b(digest_size=8)
    for path in digest_files(module):
        content = _content(path, module)
        total.update(len(content).to_bytes(8, "big"))
        total.update(content)
    return total.hexdigest()


def digest_files(module: ModuleType) -> list[Path]:
    """The files that make up a digest: the game's own, its DATA, its solver, the search and its
    compilers, and what all of these import of the engine.
    """
    folder = Path(str(module.__file__)).parent
    own = [Path(str(file.__file__)) for file in reversed(files_of(module))]
    data = [folder / name for name in module.DATA]
    imported = {
        name for path in own for name in _imports(_content(path, module).decode("utf-8", "replace"))
    }
    return [*own, *data, *_solver_files(module), *_engine_files((*SEARCH, *sorted(imported)))]


def _content(path: Path, module: ModuleType) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GameFault(
            f"{path}, a file of {module.NAME}, cannot be read: {error.strerror}"
        ) from error


@cache
def _engine_files(names: tuple[str, ...]) -> list[Path]:
    """The files of these modules and of all modules that they import, sorted."""
    found: set[str] = set()
    wanted = [name for name in names if not name.startswith("engine.games.")]
    while wanted:
        name = wanted.pop()
        if name not in found and name not in WITHOUT_EFFECT:
            found.add(name)
            wanted += _imports(_file(name).read_text("utf-8"))
    return [_file(name) for name in sorted(found)]


def _imports(source: str) -> list[str]:
    """The engine's modules that a source imports at its top level."""
    names: list[str] = []
    for package, imported in IMPORT.findall(source):
        parts = re.findall(r"\w+", re.sub(r"#.*| as \w+", "", imported))
        modules = [f"{package}.{part}" for part in parts if _file(f"{package}.{part}").exists()]
        names += modules if _file(package).name == "__init__.py" else [package]
    return names


def _file(name: str) -> Path:
    """The file of an engine module, whether it exists or not."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _solver_files(module: ModuleType) -> list[Path]:
    """The files of a game's solver, found without importing it: `name.py`, and `name_*.py` beside
    it.
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
