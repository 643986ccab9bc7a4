"""DATA: the words that a game's rules receive. test_edited_rules.py edits them under a pool."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compiler.native import compile_game
from engine.conformance.checks import NATIVE_CHECKS
from engine.game import GameFault
from engine.games import tic_tac_toe
from engine.rules import registry
from engine.rules.data import load_data
from engine.rules.registry import load_game
from engine.search.job import RulesChanged

#: The evaluation of tic-tac-toe.
EVALUATE = "def evaluate(s: State, data: Any) -> int:\n    return {}\n"
#: Tic-tac-toe with two DATA files and an evaluation that sums their words.
SOURCE = (
    Path(tic_tac_toe.__file__)
    .read_text("utf-8")
    .replace('"tic-tac-toe"', '"with-data"')
    .replace("DATA = ()", 'DATA = ("planted-one.bin", "planted-two.bin")')
    .replace(
        EVALUATE.format(0), EVALUATE.format("data[0] + 2 * data[1] + 3 * data[2] + 4 * data[3]")
    )
)
#: Nine bytes: one word, and the lowest byte of another.
FIRST_FILE = struct.pack("<qB", -7, 5)
#: Two words.
SECOND_FILE = struct.pack("<qq", 1 << 40, 11)
#: The evaluation of these words.
SUM = -7 + 2 * 5 + 3 * (1 << 40) + 4 * 11

#: A function that installs a game with this id and source, such as the fixture `plug_in`.
Install = Callable[[str, str], Path]


@pytest.fixture
def data_file(plug_in: Install) -> Path:
    """Returns the first data file of a game whose evaluation is computed from its DATA."""
    folder = plug_in("with-data", SOURCE).parent
    (folder / "planted-two.bin").write_bytes(SECOND_FILE)
    first = folder / "planted-one.bin"
    first.write_bytes(FIRST_FILE)
    return first


def evaluations() -> tuple[int, int]:
    """Returns the evaluation of the start, uncompiled and compiled."""
    game = load_game("with-data")
    native = compile_game(game)
    state = game.start().state
    plain = game.rules.evaluate(state, load_data(game))
    return int(plain), int(
        native.function("rule_evaluate")(tuple(int(word) for word in state), native.data)
    )


@pytest.mark.usefixtures("data_file")
def test_words_of_all_files() -> None:
    """DATA is signed little-endian words, and each file is padded to whole words."""
    assert load_data(load_game("with-data")).tolist() == [-7, 5, 1 << 40, 11]
    assert evaluations() == (SUM, SUM)


def test_the_digest_covers_every_byte(data_file: Path) -> None:
    """Each changed byte of a data file changes the digest; a missing file raises GameFault."""
    digests = []
    for content in (FIRST_FILE, FIRST_FILE[:-1] + b"\6", FIRST_FILE[:-1], FIRST_FILE):
        data_file.write_bytes(content)
        registry.clear()
        digests.append(load_game("with-data").digest)
    assert len(set(digests)) == 3
    assert digests[0] == digests[3]
    data_file.unlink()
    registry.clear()
    with pytest.raises(
        GameFault, match=r"planted-one\.bin, a file of with-data, cannot be read: No such file"
    ):
        load_game("with-data")


def test_changed_data_is_not_mixed_with_loaded_rules(data_file: Path) -> None:
    """Compiled code is cached per version of the data; data edited after loading is refused."""
    assert evaluations() == (SUM, SUM)
    data_file.write_bytes(struct.pack("<qB", 93, 5))
    with pytest.raises(RulesChanged, match="with-data have changed since they were loaded"):
        compile_game(load_game("with-data"))
    registry.clear()
    assert evaluations() == (SUM + 100, SUM + 100)


@pytest.mark.usefixtures("data_file")
def test_the_kit_compares_evaluations_with_data() -> None:
    """The conformance kit gives the compiled and the uncompiled evaluation the same data."""
    NATIVE_CHECKS["compiled rules"](load_game("with-data"))
