"""Every game passes the kit; and the kit finds what it is there for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.conformance import CHECKS, NATIVE_CHECKS, ConformanceError
from engine.game import GameFault
from engine.games import tic_tac_toe
from engine.games.registry import game_ids, load_game

SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')


@pytest.mark.parametrize("check", [*CHECKS, *NATIVE_CHECKS])
@pytest.mark.parametrize("game_id", game_ids())
def test_every_game_passes(game_id: str, check: str) -> None:
    """Perft, views, texts, compiled rules and search of each game keep the promises of `Rules`."""
    {**CHECKS, **NATIVE_CHECKS}[check](load_game(game_id))


FAULTS = [
    ("moves", "return CELLS[m]", 'return CELLS[m][0] + "1"'),
    ("moves", "return CELLS[m]", 'return CELLS[m] + " "'),
    ("states and ends", "return (s[1], s[0] | (ONE << U(m)))", "return (s[1], int(s[0] | (ONE << U(m))))"),
    ("states and ends", "return 0\n", "return 30_000\n"),
    ("texts", "for bit in BITS])", "for bit in BITS[:8]]) + '.'"),
    ("texts", "if crosses.bit_count() == noughts.bit_count() else", "if crosses.bit_count() > 2 else"),
    ("bad texts", "return CELLS.index(text)", "return {cell: i for i, cell in enumerate(CELLS)}[text]"),
    ("keys", "return (s[0] | (s[1] << U(9))) + ONE", "return (s[0] | s[1]) + ONE"),
    ("keys", "return (s[0] | (s[1] << U(9))) + ONE", "return s[0] | (s[1] << U(9))"),
    ("views", "path=(CELLS[m],)", 'path=("d1",)'),
    ("views", "path=(CELLS[m],)", 'path=("a1",)'),
    ("views", 'cell: "X" if', 'cell + "x": "X" if'),
    ("views", "PositionView(pieces, None, f", "PositionView(pieces, side, f"),
    ("compiled rules", "buf[n] = lsb(empty)", "buf[n] = lsb(empty) + (n > 7 and type(n) is not int)"),
]


@pytest.mark.parametrize(("check", "right", "wrong"), FAULTS)
def test_the_kit_finds_a_planted_fault(plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str) -> None:
    """A game with one wrong line does not pass the check that is there for it."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    with pytest.raises((ConformanceError, GameFault)):
        {**CHECKS, **NATIVE_CHECKS}[check](load_game("planted"))


def test_a_wrong_float_is_found(plug_in: Callable[[str, str], Path]) -> None:
    """An accumulator that starts as a signed 0 turns into a float next to a board, and the audit says where."""
    wrong = "    total = 0\n    if s[0] & ONE:\n        total = s[0]\n    return int(total) * 0\n"
    plug_in("planted", SOURCE.replace("    return 0\n", wrong))
    with pytest.raises(ConformanceError, match="evaluate"):
        NATIVE_CHECKS["no floats"](load_game("planted"))


def test_missing_names_are_told(plug_in: Callable[[str, str], Path]) -> None:
    """A rules file without a hook is refused by name when it is loaded."""
    plug_in("planted", SOURCE.replace("def stuck(", "def stuck_too("))
    with pytest.raises(GameFault, match="stuck"):
        load_game("planted")
