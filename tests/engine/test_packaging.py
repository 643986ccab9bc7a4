"""Packaging: an installed program has the files that it needs besides its modules."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.rules.registry import game_ids, load_game

#: The root of the repository.
ROOT = Path(__file__).parents[2]
#: The folder of the engine.
ENGINE = ROOT / "engine"


@pytest.mark.parametrize("game_id", game_ids())
def test_data_files_are_packaged(game_id: str) -> None:
    """Every DATA file of a built-in game matches a pattern of package-data."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["engine"]
    installed = {
        path for pattern in patterns for path in ENGINE.glob(pattern.replace("/**", "/**/*"))
    }
    rules: Any = load_game(game_id).module
    for name in getattr(rules, "DATA", ()):  # in the folder of the rules file
        assert Path(rules.__file__).parent / name in installed
