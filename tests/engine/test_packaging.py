"""Packaging: an installed program has the files that it needs, and nothing of the workshop."""

import asyncio
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from engine.rules.measured import measured_file
from engine.rules.registry import game_ids, load_game
from engine.teach.lessons.document import STORED_FILE
from tests.oracle.journal import Journal
from tests.support.players import person_and_ai
from tests.support.server_process import ServerProcess, assert_no_traceback
from tests.test_imports import imported_modules

#: The root of the repository.
ROOT = Path(__file__).parents[2]
#: The folder of the engine.
ENGINE = ROOT / "engine"
#: How setuptools makes the wheel.
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
#: The packages that the wheel leaves out, as patterns.
LEFT_OUT = SETUPTOOLS["packages"]["find"]["exclude"]
#: The packages whose modules are installed, but for LEFT_OUT.
PACKAGES = ("client", "engine", "migrations", "server")
#: What a wheel is built from.
SOURCES = (*PACKAGES, "pyproject.toml", "README.md", "LICENSE")
#: Imports every installed module but those that run at once, and prints how many they are.
IMPORT_ALL = """
import importlib, pkgutil, client, engine, migrations, server
names = [
    module.name
    for package in (client, engine, migrations, server)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(".__main__") and module.name != "migrations.env"
    and not module.name.startswith("migrations.versions.")
]
for name in names:
    importlib.import_module(name)
print(len(names), engine.__file__)
"""


@pytest.mark.parametrize("game_id", game_ids())
def test_data_files_are_packaged(game_id: str) -> None:
    """Each DATA file and measured file of a built-in game matches a pattern of package-data."""
    patterns = SETUPTOOLS["package-data"]["engine"]
    installed = {
        path for pattern in patterns for path in ENGINE.glob(pattern.replace("/**", "/**/*"))
    }
    rules: Any = load_game(game_id).module
    for name in getattr(rules, "DATA", ()):  # in the folder of the rules file
        assert Path(rules.__file__).parent / name in installed
    measured = measured_file(load_game(game_id))
    assert measured in installed or not (measured and measured.exists())
    assert ENGINE / "teach/lessons" / STORED_FILE in installed


def is_left_out(module: str) -> bool:
    """Whether the wheel leaves out a module, by the patterns of its package."""
    return any(fnmatch(module, pattern) for pattern in LEFT_OUT)


def test_nothing_that_is_installed_imports_the_workshop() -> None:
    """No installed module imports one that the wheel leaves out, not even within a function."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    left_out = {module for module in paths if is_left_out(module)}
    assert {module.rpartition(".")[0] for module in left_out} >= {
        "engine.bench", "engine.reference", "server.bench", "server.bench.peers", "server.deploy",
        "server.reference",
    }  # fmt: skip
    assert not {module for module in left_out if module.startswith(("client", "engine.tune"))}
    wrong = {
        module: imports
        for module, path in paths.items()
        if module not in left_out
        and (imports := {*filter(is_left_out, imported_modules(path.read_text("utf-8")))})
    }
    assert wrong == {}


def run(*command: str | Path, folder: Path) -> str:
    """Runs a command in a folder that is no checkout; returns what it printed."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Builds the wheel from a copy of the sources: setuptools packs what earlier builds left."""
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check")
    run(*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source, folder=folder)
    return next(folder.glob("plyroom-*.whl"))


def install(wheel: Path, folder: Path) -> Path:
    """Installs the wheel alone into a new environment; returns its Python.

    The environment finds the dependencies among the packages of the tests. The checkout that is
    installed there stays out: a path in a .pth file reads no further .pth files.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    packages = run(python, "-c", "import site; print(site.getsitepackages()[0])", folder=folder)
    Path(packages.strip(), "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, "--disable-pip-version-check", "--no-deps", "--no-index", wheel, folder=folder)
    return python


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="the environment's folders have other names")
async def test_an_installed_wheel_serves_and_plays(tmp_path: Path) -> None:
    """The wheel has no benchmark, deployment, page or result. Installed away from the checkout, all
    its modules can be imported, a server plays a match against its AI, and the tools of authors
    work, with a clear message where they would need a checkout's results.
    """
    wheel = build_wheel(tmp_path)
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    workshop = (
        "engine/bench/", "engine/match/results/", "engine/reference/",
        "server/bench/", "server/deploy/", "server/reference/", "tests/",
    )  # fmt: skip
    assert not [name for name in names if name.startswith(workshop)]
    assert {"engine/match/ladder.py", "engine/tune/__main__.py", "client/web/index.html"} <= {
        *names
    }
    python = install(wheel, tmp_path / "venv")
    count, place = run(python, "-c", IMPORT_ALL, folder=tmp_path).split()
    assert int(count) > 400
    assert Path(place).is_relative_to(tmp_path)
    assert "serve" in run(python.with_name("plyroom"), "--help", folder=tmp_path)

    server = ServerProcess(tmp_path / "data", workers=1)
    server.python, server.folder = str(python), tmp_path
    await server.start()
    try:
        only_one = asyncio.Event()
        only_one.set()
        model = await person_and_ai(server.url, "tic-tac-toe", {}, 1, Journal(), 1, only_one)
        assert model.match is not None
        assert model.match.over is not None
        assert await server.stop() == 0
    finally:
        if server.returncode is None:
            await server.kill()
    assert_no_traceback(server)

    ladder = (python, "-m", "engine.match.ladder", "tic-tac-toe", "--games", "2")
    printed = run(*ladder, "--top-nodes", "100", "--folder", tmp_path / "logs", folder=tmp_path)
    assert printed.splitlines()[0].startswith("tic-tac-toe  1-greedy:")
    refused = subprocess.run(ladder, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "name a folder for the logs, --folder" in refused.stderr
    tune = subprocess.run(
        (python, "-m", "engine.tune", "--help"), cwd=tmp_path, capture_output=True, text=True
    )
    assert tune.returncode == 0, tune.stderr
