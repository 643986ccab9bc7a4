"""The import rules. The contracts themselves are in pyproject.toml, under [tool.importlinter]."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ["client", "engine", "migrations", "server", "tests"]
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

#: The mark of a module that can be run as a program.
PROGRAM = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)
#: A fake engine, a writer of test data, benchmarks against GPL packages or in a browser, and the
#: screenshots. No installed module may import them.
PROGRAMS_OF_TESTS = {
    "tests/engine/match/scripted_engine.py",
    "tests/engine/perft_peers.py",
    "tests/engine/search_peers.py",
    "tests/support/wire_files.py",
    "tests/system/page_loads.py",
    "tests/system/screenshots.py",
    "tests/system/search_steps.py",
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_imports_point_one_way() -> None:
    """No module imports against the layers, and the pure cores import nothing that does I/O."""
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = run(sys.executable, "-c", lint, "--no-logo")
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def import_nodes(source: str) -> list[ast.AST]:
    """Returns the imports of a source, also those within functions, and its calls.

    Only a source that has the word `import_module` is searched for calls: imports are statements,
    and most nodes of a source are within expressions.
    """
    kinds = (ast.Import, ast.ImportFrom, ast.Call)
    if "import_module" in source:
        return [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    found: list[ast.AST] = []
    ahead: list[ast.AST] = [ast.parse(source)]
    while ahead:
        node = ahead.pop()
        if isinstance(node, kinds):
            found.append(node)
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            ahead += inner if isinstance(inner, list) else ()
    return found


def forbidden_imports(source: str) -> Iterator[str]:
    """Yields relative imports, and imports of one of our packages as a whole."""
    for node in import_nodes(source):
        match node:
            case ast.Import(names=names):
                for name in names:
                    if name.name.partition(".")[0] in PACKAGES:
                        yield f"line {node.lineno}: import {name.name}"
            case ast.ImportFrom(level=level) if level:
                yield f"line {node.lineno}: a relative import"


def imported_modules(source: str) -> Iterator[str]:
    """Yields the modules that a source imports anywhere, and what it may import of a package.

    That includes the imports within functions, for type checkers only, and by `import_module`.
    """
    for node in import_nodes(source):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def circle_of(sources: dict[str, str]) -> list[str]:
    """Returns modules of which each is imported by the one before; [] if there is no circle."""
    imports = {
        module: {each for each in imported_modules(source) if each in sources and each != module}
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        modules: list[str] = error.args[1]
        return modules[::-1]
    return []


@pytest.mark.parametrize(
    "source",
    [
        "import engine.b",
        "from engine import b",
        "from engine.b import name",
        "def f():\n    from engine.b import name",
        "if TYPE_CHECKING:\n    from engine.b import name",
        'def f():\n    import_module("engine.b")',
        'def f():\n    importlib.import_module("engine.b")',
    ],
)
def test_a_circle_is_seen(source: str) -> None:
    """`circle_of` reports a circle, whatever the form of an import in it."""
    sources = {"engine.a": source, "engine.b": "import engine.c", "engine.c": "import engine.a"}
    assert set(circle_of(sources)) == {"engine.a", "engine.b", "engine.c"}
    assert circle_of(sources | {"engine.c": "import engine.d"}) == []


def imports_of_tests(source: str) -> list[int]:
    """Returns the lines that import from `tests`."""
    return [
        node.lineno
        for node in import_nodes(source)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests")
        or (
            isinstance(node, ast.Import)
            and any(name.name.split(".")[0] == "tests" for name in node.names)
        )
    ]


def test_all_modules_import_as_they_may() -> None:
    """Three promises about the imports of every module, in one reading of all sources.

    - Our own packages are never imported whole, as in `import engine`; `from engine.game import
      Game` and `from server.protocol import messages as wire` are right.
    - No module imports itself through others, not even within a function or for type checkers.
    - client, engine, migrations and server do not import `tests`, which the wheel leaves out.
    """
    sources = {path.relative_to(ROOT): path.read_text("utf-8") for path in SOURCES}
    forbidden = {str(path): list(forbidden_imports(source)) for path, source in sources.items()}
    assert {path: lines for path, lines in forbidden.items() if lines} == {}
    installed = {path: source for path, source in sources.items() if path.parts[0] != "tests"}
    modules = {".".join(path.with_suffix("").parts): source for path, source in installed.items()}
    assert circle_of(modules) == []
    tests = {str(path): imports_of_tests(source) for path, source in installed.items()}
    assert {path: lines for path, lines in tests.items() if lines} == {}


@pytest.mark.parametrize(
    "source", ["from tests.support.clock import until", "import tests.oracle as oracle"]
)
def test_an_import_of_the_tests_is_seen(source: str) -> None:
    """`imports_of_tests` reports both forms of an import."""
    assert imports_of_tests(f"def f():\n    {source}\n") == [2]


def test_tests_contains_no_other_programs() -> None:
    """Starters, benchmarks and models that a person runs are outside `tests`."""
    programs = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if path.name == "__main__.py" or PROGRAM.search(path.read_text("utf-8"))
    }
    assert programs == PROGRAMS_OF_TESTS


@pytest.mark.parametrize(
    "source", ["import engine", "import server.app as app", "from .model import apply"]
)
def test_a_forbidden_import_is_seen(source: str) -> None:
    """`forbidden_imports` reports whole packages and relative imports."""
    assert list(forbidden_imports(f"def f():\n    {source}\n"))


def test_packages_hold_a_docstring_and_nothing_else() -> None:
    """Importing a package runs nothing; its modules are imported by their own names."""
    for path in SOURCES:
        if path.name == "__init__.py":
            body = ast.parse(path.read_text("utf-8")).body
            docstring = (
                len(body) == 1
                and isinstance(body[0], ast.Expr)
                and isinstance(body[0].value, ast.Constant)
            )
            assert docstring, f"{path.relative_to(ROOT)} should be one docstring"


def test_a_start_loads_no_unneeded_module() -> None:
    """On SQLite a start imports no library for migrations, PostgreSQL, MQTT, metrics or colours.

    Importing the whole server loads neither numba nor llvmlite; only search workers do.
    The garbage collector is off during the start and on afterwards; rich can still be imported.
    """
    heavy = {
        "alembic",
        "asyncpg",
        "prometheus_client",
        "rich",
        "sqlalchemy.dialects.postgresql",
        "aiomqtt",
    }
    code = (
        "import gc, sys; from server import __main__, app;"
        " print(sorted({'numba', 'llvmlite'} & set(sys.modules)));"
        " from server.process import lean; app.load_games();"
        f" print(sorted({heavy!r} & set(sys.modules)), gc.isenabled());"
        " lean.enable_gc(); import rich.console;"
        " print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "[] False", "True True"]
