"""A rules file with old names is refused, and the message has the new names."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.game import RENAMED, GameFault
from engine.games import tic_tac_toe
from engine.rules.registry import load_game

#: The rules of tic-tac-toe under the name "earlier".
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"earlier"')
#: A function that installs a game with this id and source, such as the fixture `plug_in`.
Install = Callable[[str, str], Path]


@pytest.mark.parametrize("old", [name for name in RENAMED if name.islower() and name != "stuck"])
def test_an_old_hook_is_refused(plug_in: Install, old: str) -> None:
    """A game with an old hook does not load, and the message gives the hook's new name."""
    plug_in("earlier", f"{SOURCE}\n\n@rule\ndef {old}(s: State) -> int:\n    return 0\n")
    with pytest.raises(GameFault, match=f"{old} is called {RENAMED[old]} now"):
        load_game("earlier")


def test_old_names_of_every_rules_file(plug_in: Install) -> None:
    """`stuck` and `GOES_ON`, which every old rules file has, are refused with the new names."""
    plug_in("earlier", SOURCE.replace("no_moves_result", "stuck"))
    with pytest.raises(GameFault, match="stuck is called no_moves_result now"):
        load_game("earlier")
    plug_in("earlier", SOURCE.replace("ONGOING", "GOES_ON"))
    with pytest.raises(ImportError, match="GOES_ON is called ONGOING now"):
        load_game("earlier")


def test_an_old_constant_is_refused(plug_in: Install) -> None:
    """The old names of `DISABLED` and `TOP_LEVEL_TIME_MS` are refused with the new ones."""
    plug_in("earlier", f'{SOURCE}\nWITHOUT = ("lmr",)\n')
    with pytest.raises(GameFault, match="WITHOUT is called DISABLED now"):
        load_game("earlier")
    plug_in("earlier", f"{SOURCE}\nPATIENCE_MS = 3000\n")
    with pytest.raises(GameFault, match="PATIENCE_MS is called TOP_LEVEL_TIME_MS now"):
        load_game("earlier")


def test_a_variable_is_not_a_hook(plug_in: Install) -> None:
    """A variable may have the name of an old hook."""
    plug_in("earlier", f"{SOURCE}\nforced = 3\n")
    assert load_game("earlier").title == "Tic-tac-toe"
