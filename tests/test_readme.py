"""The README matches the repository."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_game_in_the_readme_is_the_game() -> None:
    """The complete file that the README shows is the file of the game."""
    shown = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert shown.group(1) == (ROOT / "engine/games/tic_tac_toe.py").read_text()


def test_links_lead_somewhere() -> None:
    """Every relative link of the README names a file that exists."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text())
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing
