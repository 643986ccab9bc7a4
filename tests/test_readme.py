"""README.md and the tutorial quote rules files as they are in the repository."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_tutorial_quotes_the_whole_game() -> None:
    """docs/tutorial/add-a-game.md quotes engine/games/tic_tac_toe.py word for word."""
    page = (ROOT / "docs/tutorial/add-a-game.md").read_text()
    quoted = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert quoted is not None
    assert quoted.group(1) == (ROOT / "engine/games/tic_tac_toe.py").read_text()


def test_the_readme_quotes_lines_of_the_game() -> None:
    """README.md quotes consecutive lines of engine/games/tic_tac_toe.py."""
    quoted = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert quoted is not None
    assert quoted.group(1) in (ROOT / "engine/games/tic_tac_toe.py").read_text()
