"""Every game passes the kit; and the kit finds what it is there for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.conformance import CHECKS, NATIVE_CHECKS, ConformanceError
from engine.conformance_draws import check_repetition_ends
from engine.game import GameFault, Position
from engine.games import tic_tac_toe
from engine.games.registry import game_ids, load_game
from tests.documented import documented_files

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


NOTED = "def notation(s: State, m: int) -> str:\n    return {}\n\n\ndef turn("
CLAIMED = "def claim(s: State) -> str | None:\n    return {}\n\n\ndef turn("
DRAWN_RULE = "@rule\ndef drawn(s: State) -> int:\n    return {}\n\n\ndef turn("
COUNTED = "@rule\ndef count(s: State, buf: Any) -> int:\n    return 9 - lsb(s[0] | s[1] | U(512))\n\n\ndef turn("
REPEATED = (
    "@rule\ndef repetition(s: State) -> np.uint64:\n    return {}\n\n\n"
    "@rule\ndef reversible(s: State) -> int:\n    return {}\n\n\ndef turn("
)
SLOW = "    crosses, noughts = _sides(s)\n    sum(range(4_000_000))\n    pieces"
TOLD = [
    ("style", "empty - ONE", "empty - 1", r"plugged_planted\.py:\d+: the number 1 next to a word.*U\(\.\.\.\)"),
    ("style", "@rule\ndef stuck", "def stuck", r"\.py:\d+: the hook stuck is not marked; write @rule"),
    ("declarations", 'RULES = """', 'RULES = """Play!"""\nOLD = """', "100 to 8000 characters"),
    ("declarations", "MAX_MOVES = 9", "MAX_MOVES = 70_000", "1 to 65535"),
    ("declarations", "MAX_MOVES = 9", "MAX_MOVES = 8", "write MAX_MOVES = 9 or more"),
    ("moves", "MAX_MOVES = 9", "MAX_MOVES = 8", "write MAX_MOVES = 9 or more"),
    ("notation", "def turn(", NOTED.format("CELLS[m][0]"), "no two moves are written alike"),
    ("notation", "def turn(", NOTED.format("CELLS[m].upper()"), "is read back"),
    ("notation", "def turn(", NOTED.format("'' if m == 0 else CELLS[m]"), "a few characters"),
    ("claims", "def turn(", CLAIMED.format("''"), "a short line"),
    ("claims", "def turn(", CLAIMED.format("'two\\nlines'"), "a short line"),
    ("draws", "def turn(", DRAWN_RULE.format("2"), "drawn is 0 or 1"),
    ("repetition", "def turn(", REPEATED.format("key(s)", "9"), "no more than the plies"),
    ("repetition", "def turn(", REPEATED.format("U(1)", "0"), "does not come again"),
    ("repetition", "def turn(", REPEATED.format("(s[0] | s[1]) + ONE", "0"), "the same position to play"),
    ("views", "path=(CELLS[m],)", "path=('a1',)", "differ in their choice"),
    ("views", "path=(CELLS[m],)", "path=('a1', 'b2')[: 2 - (m == 1)]", "begin another's"),
    ("views", "text=CELLS[m], ghost", "text='', ghost", "a label"),
    ("views", "path=(CELLS[m],)", "path=('pass', CELLS[m])", "clicks are on the board"),
    ("budget", "    crosses, noughts = _sides(s)\n    pieces", SLOW, "5 ms"),
    ("compiled rules", "def turn(", COUNTED, "count is the number of moves"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "right", "wrong"), FAULTS)
def test_the_kit_finds_a_planted_fault(plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str) -> None:
    """A game with one wrong line does not pass the check that is there for it."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    with pytest.raises((ConformanceError, GameFault)):
        {**CHECKS, **NATIVE_CHECKS}[check](load_game("planted"))


@pytest.mark.parametrize(("check", "right", "wrong", "message"), TOLD)
def test_the_kit_tells_a_planted_fault(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str, message: str
) -> None:
    """The message says what is wrong, and what to do about it."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    with pytest.raises(ConformanceError, match=message):
        {**CHECKS, **NATIVE_CHECKS}[check](load_game("planted"))


BUTTON = {
    'board=Grid(cols=3, rows=3, style="plain", labels=False)': None,
    'style="plain", labels=False),': "style=\"plain\", labels=False), targets={'centre': ()},",
    "path=(CELLS[m],)": "path=(CELLS[m],) if m != 4 else ('centre',)",
}


def test_a_target_without_cells_is_a_button(plug_in: Callable[[str, str], Path]) -> None:
    """It is the one click of a move; in a longer path it is refused."""
    source = SOURCE
    for right, wrong in BUTTON.items():
        assert right in source
        source = source.replace(right, wrong or right)
    plug_in("planted", source)
    CHECKS["views"](load_game("planted"))
    plug_in("planted", source.replace("('centre',)", "('centre', 'b2')"))
    with pytest.raises(ConformanceError, match="the one click"):
        CHECKS["views"](load_game("planted"))


PAGE_GAME = documented_files()["pong_hau_ki.py"]
STUCK_DRAWN = "@rule\ndef drawn(s: State) -> int:\n    return 1 if movable(s) == NONE else 0\n\n\n"


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        ("repetition", "return EVERY_POSITION", "return 0", "does not come again"),
        ("repetition", "return EVERY_POSITION", "return 9", "or 512 for all"),
        ("draws", "@rule\ndef stuck", STUCK_DRAWN + "@rule\ndef stuck", "look for a move first"),
        ("views", "(POINTS[m], _free(s)), f", "(_free(s),), f", "differ in their choice"),
    ],
)
def test_a_fault_of_a_game_to_and_fro(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str, message: str
) -> None:
    """The game of docs/add-a-game.md, in which any position can come again, with one wrong line."""
    assert right in PAGE_GAME
    plug_in("pong-hau-ki", PAGE_GAME.replace(right, wrong))
    with pytest.raises(ConformanceError, match=message):
        CHECKS[check](load_game("pong-hau-ki"))


@pytest.mark.parametrize("declared", ["REPETITION = 3", "CLAIM_REPETITION = 3"])
def test_repetitions_that_do_not_count_are_found(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, declared: str
) -> None:
    """A shuffle to and fro is driven until the match must end, or a draw may be claimed."""
    plug_in("pong-hau-ki", PAGE_GAME.replace("\nREPETITION = 3", f"\n{declared}"))
    CHECKS["repetition"](load_game("pong-hau-ki"))
    monkeypatch.setattr(Position, "_occurrences", lambda self: 1)
    with pytest.raises(ConformanceError, match="the declared occurrence"):
        check_repetition_ends(load_game("pong-hau-ki"))


def test_a_wrong_float_is_found(plug_in: Callable[[str, str], Path]) -> None:
    """An accumulator that starts as a signed 0 turns into a float next to a board, and the audit says where."""
    wrong = "    total = 0\n    if s[0] & ONE:\n        total = s[0]\n    return int(total) * 0\n"
    plug_in("planted", SOURCE.replace("    return 0\n", wrong))
    with pytest.raises(ConformanceError, match=r"plugged_planted.py:\d+: total in evaluate"):
        NATIVE_CHECKS["no floats"](load_game("planted"))


def test_missing_names_are_told(plug_in: Callable[[str, str], Path]) -> None:
    """A rules file without a hook is refused by name when it is loaded."""
    plug_in("planted", SOURCE.replace("def stuck(", "def stuck_too("))
    with pytest.raises(GameFault, match="stuck"):
        load_game("planted")
