"""The rules files that README.md and the tutorial quote are those of the repository."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_complete_game_of_the_tutorial_is_the_game() -> None:
    """The complete file that docs/tutorial/add-a-game.md shows is the file that is played."""
    page = (ROOT / "docs/tutorial/add-a-game.md").read_text()
    shown = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    assert shown.group(1) == (ROOT / "engine/games/tic_tac_toe.py").read_text()


def test_the_lines_in_the_readme_are_of_the_game() -> None:
    """The lines of a rules file that the README shows are in that file."""
    shown = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert shown.group(1) in (ROOT / "engine/games/tic_tac_toe.py").read_text()
