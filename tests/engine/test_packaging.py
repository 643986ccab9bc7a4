"""The files that an installed program needs beside its modules."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.rules.registry import game_ids, load_game

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "engine"


@pytest.mark.parametrize("game_id", game_ids())
def test_the_files_of_a_game_are_installed_with_it(game_id: str) -> None:
    """Every DATA file of our games matches a pattern of package-data."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["engine"]
    installed = {
        path for pattern in patterns for path in ENGINE.glob(pattern.replace("/**", "/**/*"))
    }
    rules: Any = load_game(game_id).module
    for name in getattr(rules, "DATA", ()):  # beside the rules file
        assert Path(rules.__file__).parent / name in installed
