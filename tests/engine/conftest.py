"""Fixtures for the engine's tests.

All processes share one code cache with earlier runs (tests/conftest.py): a test that needs a game
that was never compiled plants one with rules of its own.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

# This must precede the import of the compiler.
os.environ["PLYROOM_CACHE"] = os.environ["PLYROOM_TEST_CACHE"]

from engine.rules.registry import load_game
from engine.search.driver import Searcher
from tests.support.compiled import compiled


@pytest.fixture(scope="session")
def searcher_of() -> Callable[[str], Searcher]:
    """Returns a function from a game's id to its searcher; each game has one in this process."""
    return cache(lambda game_id: compiled(load_game(game_id)))


@pytest.fixture
def plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], Path]]:
    """Returns a function that installs a game as a separate distribution and returns its file.

    Worker processes find the game too.
    """
    from engine.rules import registry

    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    entries: list[str] = []

    def install(game_id: str, source: str) -> Path:
        module = f"plugged_{game_id.replace('-', '_')}"
        entries.append(f"{game_id} = {module}")
        info = folder / "plugged-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(["[plyroom.games]", *entries]) + "\n")
        file = folder / f"{module}.py"
        file.write_text(source)
        registry.clear()
        return file

    yield install
    registry.clear()
