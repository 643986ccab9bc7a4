"""A rules file for an earlier version is told the names of today."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.game import RENAMED, GameFault
from engine.games import tic_tac_toe
from engine.rules.registry import load_game

SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"earlier"')
Install = Callable[[str, str], Path]


@pytest.mark.parametrize("old", [name for name in RENAMED if name.islower() and name != "stuck"])
def test_an_old_hook_is_told_its_new_name(plug_in: Install, old: str) -> None:
    """The game does not load, and the message says what to write instead."""
    plug_in("earlier", f"{SOURCE}\n\n@rule\ndef {old}(s: State) -> int:\n    return 0\n")
    with pytest.raises(GameFault, match=f"{old} is called {RENAMED[old]} now"):
        load_game("earlier")


def test_names_that_every_game_had(plug_in: Install) -> None:
    """The rule for a side without moves, and the constant for a match that goes on."""
    plug_in("earlier", SOURCE.replace("no_moves_result", "stuck"))
    with pytest.raises(GameFault, match="stuck is called no_moves_result now"):
        load_game("earlier")
    plug_in("earlier", SOURCE.replace("ONGOING", "GOES_ON"))
    with pytest.raises(ImportError, match="GOES_ON is called ONGOING now"):
        load_game("earlier")


def test_an_old_constant_is_told_its_new_name(plug_in: Install) -> None:
    """The features that a game's search leaves out."""
    plug_in("earlier", f'{SOURCE}\nWITHOUT = ("lmr",)\n')
    with pytest.raises(GameFault, match="WITHOUT is called DISABLED now"):
        load_game("earlier")


def test_a_name_of_ones_own_is_no_rule(plug_in: Install) -> None:
    """A plain function or variable may be called like an old rule."""
    plug_in("earlier", f"{SOURCE}\nforced = 3\n")
    assert load_game("earlier").title == "Tic-tac-toe"
