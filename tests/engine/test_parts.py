"""Games of several files: shared names, one digest over all files, and no other imports."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from engine.compiler.native import compile_game
from engine.game import GameFault
from engine.games import tic_tac_toe
from engine.rules import registry
from engine.rules.parts import modules_of, namespace_of
from engine.rules.registry import game_ids, load_game
from engine.rules.style import style_faults

#: The second file of the planted game.
PART = """
import numpy as np
from engine.game import State
from engine.jit import U, popcount, rule

WORDS = 2
SEVEN = 7


@rule
def counted(s: State) -> int:
    return SEVEN * popcount(s[0])
"""
#: Tic-tac-toe with an evaluation from the second file.
SOURCE = (
    Path(tic_tac_toe.__file__)
    .read_text("utf-8")
    .replace('"tic-tac-toe"', '"planted"')
    .replace(
        "from engine.jit", "import planted_part\nfrom planted_part import counted\nfrom engine.jit"
    )
    .replace("DATA = ()", "DATA = ()\nPARTS = (planted_part,)")
    .replace("data: Any) -> int:\n    return 0\n", "data: Any) -> int:\n    return counted(s)\n")
)

#: A function that installs a game with this id and source, such as the fixture `plug_in`.
Install = Callable[[str, str], Path]


@pytest.fixture
def part(plug_in: Install) -> Path:
    """Returns the second file of a game of two files."""
    part = plug_in("planted", SOURCE).with_name("planted_part.py")
    part.write_text(PART)
    registry.clear()
    return part


def module_of(game_id: str) -> ModuleType:
    module = load_game(game_id).module
    assert isinstance(module, ModuleType)
    return module


@pytest.mark.usefixtures("part")
def test_rules_of_a_part_are_compiled() -> None:
    """Compiled rules call those of a part as if all were in one file."""
    native = compile_game(load_game("planted"))
    assert native.function("rule_evaluate")((7, 0), native.data) == 21
    assert style_faults(module_of("planted")) == []


def test_the_digest_covers_parts(part: Path) -> None:
    """Any changed byte of a part changes the digest."""
    before = load_game("planted").digest
    part.write_text(PART + "\n")
    registry.clear()
    assert load_game("planted").digest != before


def test_style_faults_name_their_file(part: Path) -> None:
    """The style check covers each part, and a fault names its file."""
    part.write_text(PART.replace("popcount(s[0])", "popcount(s[0] & 3)"))
    registry.clear()
    (fault,) = style_faults(module_of("planted"))
    assert (fault.file, "number 3" in fault.what) == (str(part), True)


def test_names_have_one_meaning_in_all_parts(part: Path) -> None:
    """A name with different values in two files is refused before the game is compiled."""
    part.write_text(PART.replace("SEVEN", "ONE"))
    registry.clear()
    with pytest.raises(
        GameFault, match="counted in planted_part: ONE has another value in another file"
    ):
        compile_game(load_game("planted"))


def test_a_file_outside_parts_is_refused(part: Path) -> None:
    """A rule from a file outside PARTS is a fault, because the digest would not cover it."""
    file = part.with_name("plugged_planted.py")
    file.write_text(SOURCE.replace("PARTS = (planted_part,)", ""))
    registry.clear()
    faults = [fault.what for fault in style_faults(module_of("planted"))]
    assert faults == ["the file of counted, planted_part, is not in this game's digest"]


@pytest.mark.parametrize("game_id", game_ids())
def test_every_game_lists_its_parts(game_id: str) -> None:
    """In every game a file that is missing in PARTS is a fault."""
    module = module_of(game_id)
    parts = modules_of(module)[:-1]
    assert namespace_of(module)["NAME"] == game_id
    for i, part in enumerate(parts):
        shorter = ModuleType(module.__name__)
        shorter.__dict__.update(vars(module), PARTS=(*parts[:i], *parts[i + 1 :]))
        assert any(
            f"{part.__name__}, is not in" in fault.what for fault in style_faults(shorter)
        ), part.__name__
