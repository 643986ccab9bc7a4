"""One fresh code cache for the whole run and its workers: some tests need games that were never
compiled.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

os.environ["PLYROOM_CACHE"] = os.environ[
    "PLYROOM_TEST_CACHE"
]  # before anything imports the compiler

from engine.rules.registry import load_game
from engine.search.driver import Searcher


@pytest.fixture(scope="session")
def searcher_of() -> Callable[[str], Searcher]:
    """The one searcher of each game in this process."""
    return cache(lambda game_id: Searcher(load_game(game_id)))


@pytest.fixture
def plug_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], Path]]:
    """Installs a game for a test, as another distribution would: gives its file. Worker processes
    see it too.
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
        registry.forget()
        return file

    yield install
    registry.forget()
