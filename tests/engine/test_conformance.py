"""Every game passes the conformance kit, and the kit finds planted faults."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from itertools import accumulate, chain, cycle
from pathlib import Path
from textwrap import dedent

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from engine.conformance import native, playouts
from engine.conformance.checks import (
    CHECKS,
    NATIVE_CHECKS,
    TIMED_CHECKS,
    ConformanceError,
    checks_of,
)
from engine.conformance.draws import check_repetition_ends
from engine.conformance.run import run_check, run_checks
from engine.conformance.views import MAX_TRIES, check_budget
from engine.game import GameFault, Position
from engine.games import tic_tac_toe
from engine.rules.registry import game_ids, load_game, production_ids
from engine.view import BoardView, Border, Grid, Kind, PositionView, Site, Sites
from tests.support.compiled import compiled
from tests.support.documented import PAGE, documented_files

#: The rules of tic-tac-toe under the name "planted".
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')


@pytest.mark.parametrize("game_id", game_ids())
def test_every_game_passes(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules, views, texts, compiled code and search of each game fulfil the contract `Rules`, in a
    fifth of the positions that the kit's command plays.
    """
    monkeypatch.setattr(playouts, "TOTAL_PLIES", 360)
    monkeypatch.setattr(native, "MOVE_POSITIONS", 80)
    monkeypatch.setattr(native, "MAX_SEARCH_LEAVES", 12_000)
    check_game(game_id)


@pytest.mark.long
@pytest.mark.parametrize("game_id", game_ids())
def test_every_game_passes_the_whole_kit(game_id: str) -> None:
    """Each game passes with the kit's own numbers of positions."""
    check_game(game_id)


def check_game(game_id: str) -> None:
    """Runs the kit on a game in this process."""
    game = load_game(game_id)
    if game_id in production_ids():
        compiled(game)
    for check in checks_of(game).values():
        check(game)


def test_a_teaching_game_has_no_checks_of_compiled_code() -> None:
    """A game with SEARCH = "teach" must pass all checks but those of compiled code."""
    assert set(CHECKS) - set(checks_of(load_game("coin-friends"))) == {"style"}
    assert not set(NATIVE_CHECKS) & set(checks_of(load_game("coin-friends")))
    assert {*CHECKS, *NATIVE_CHECKS} == set(checks_of(load_game("sticks")))


#: Check, source text, faulty text.
FAULTS = [
    ("moves", "return CELLS[m]", 'return CELLS[m][0] + "1"'),
    ("moves", "return CELLS[m]", 'return CELLS[m] + " "'),
    (
        "states and ends",
        "return (s[1], s[0] | (ONE << U(m)))",
        "return (s[1], int(s[0] | (ONE << U(m))))",
    ),
    ("states and ends", "return 0\n", "return 30_000\n"),
    ("texts", "for bit in BITS])", "for bit in BITS[:8]]) + '.'"),
    (
        "texts",
        "if crosses.bit_count() == noughts.bit_count() else",
        "if crosses.bit_count() > 2 else",
    ),
    (
        "bad texts",
        "return CELLS.index(text)",
        "return {cell: i for i, cell in enumerate(CELLS)}[text]",
    ),
    ("keys", "return (s[0] | (s[1] << U(9))) + ONE", "return (s[0] | s[1]) + ONE"),
    ("keys", "return (s[0] | (s[1] << U(9))) + ONE", "return s[0] | (s[1] << U(9))"),
    ("views", "path=(CELLS[m],)", 'path=("d1",)'),
    ("views", "path=(CELLS[m],)", 'path=("a1",)'),
    ("views", 'cell: "X" if', 'cell + "x": "X" if'),
    ("views", 'pieces, None, f"', 'pieces, side, f"'),
    (
        "compiled rules",
        "buf[n] = lsb(empty)",
        "buf[n] = lsb(empty) + (n > 7 and type(n) is not int)",
    ),
]


#: A hook `notation` to insert into the rules.
NOTATION = "def notation(s: State, m: int) -> str:\n    return {}\n\n\ndef turn("
#: A hook `claim` to insert.
CLAIM = "def claim(s: State) -> str | None:\n    return {}\n\n\ndef turn("
#: A hook `drawn` to insert.
DRAWN_RULE = "@rule\ndef drawn(s: State) -> int:\n    return {}\n\n\ndef turn("
#: A hook `count` to insert, with a wrong result.
COUNT = (
    "@rule\ndef count(s: State, buf: Any) -> int:\n"
    "    return 9 - lsb(s[0] | s[1] | U(512))\n\n\ndef turn("
)
#: A hook `points` to insert.
POINTS = "def points(s: State) -> tuple[int, int] | None:\n    return {}\n\n\ndef turn("
#: A hook `can_win` to insert.
CAN_WIN = "def can_win(s: State, seat: int) -> bool:\n    return {}\n\n\ndef turn("
#: Hooks `repetition` and `reversible` to insert.
REPETITION = (
    "@rule\ndef repetition(s: State) -> np.uint64:\n    return {}\n\n\n"
    "@rule\ndef reversible(s: State) -> int:\n    return {}\n\n\ndef turn("
)
#: The message about a side that keeps its turn.
TURN_MESSAGE = (
    r"play passes the turn to the other side \(if a side continues its turn, all of its steps are"
)
#: Check, source text, faulty text, message.
MESSAGES = [
    ("style", "empty - ONE", "empty - 1",
     r"plugged_planted\.py:\d+: the number 1 next to a word.*U\(\.\.\.\)"),
    ("style", "@rule\ndef no_moves_result", "def no_moves_result",
     r"\.py:\d+: the hook no_moves_result is not marked; write @rule"),
    ("declarations", 'RULES = """', 'RULES = """Play!"""\nOLD = """', "100 to 8000 characters"),
    ("declarations", "MAX_MOVES = 9", "MAX_MOVES = 70_000", "1 to 65535"),
    ("declarations", "MAX_MOVES = 9", "MAX_MOVES = 8", "write MAX_MOVES = 9 or more"),
    ("moves", "MAX_MOVES = 9", "MAX_MOVES = 8", "write MAX_MOVES = 9 or more"),
    ("moves", "return CELLS[m]", 'return CELLS[m] + ";"', r"letters, digits and signs of @=\+"),
    ("moves", "return CELLS[m]", 'return "1-0"[: 3 * (m == 4)] or CELLS[m]', "no result of a game"),
    ("notation", "def turn(", NOTATION.format("CELLS[m][0]"), "no two moves share a notation"),
    ("notation", "def turn(", NOTATION.format("CELLS[m].upper()"), "is read back"),
    ("notation", "def turn(", NOTATION.format("'' if m == 0 else CELLS[m]"), "1 to 32 printable"),
    ("claims", "def turn(", CLAIM.format("''"), "a short line"),
    ("claims", "def turn(", CLAIM.format("'two\\nlines'"), "a short line"),
    ("points", "def turn(", POINTS.format("(1, 10**10)"), "within a billion"),
    ("points", "def turn(", POINTS.format("(1, 2, 3)"), "a pair, one for each seat"),
    ("can win", "def turn(", CAN_WIN.format("seat == 0"), "a seat that went on to win can win"),
    ("can win", "def turn(", CAN_WIN.format("1"), "can_win is True or False"),
    ("draws", 'NUMBERING = "ply"', 'CAN_BE_DRAWN = False\nNUMBERING = "ply"',
     "no match is a draw if CAN_BE_DRAWN is False"),
    ("declarations", '("noughts-and-crosses",)', '("Noughts",)', "lower case words"),
    ("declarations", '("noughts-and-crosses",)', '("chess",)', "no game's id"),
    ("draws", "def turn(", DRAWN_RULE.format("2"), "drawn is 0 or 1"),
    ("repetition", "def turn(", REPETITION.format("key(s)", "9"), "at most the number of plies"),
    ("repetition", "def turn(", REPETITION.format("U(1)", "0"), "does not repeat across"),
    ("repetition", "def turn(", REPETITION.format("(s[0] | s[1]) + ONE", "0"),
     "equal repetition keys"),
    ("views", "path=(CELLS[m],)", "path=('a1',)", "differ in their choice"),
    ("views", "path=(CELLS[m],)", "path=('a1', 'b2')[: 2 - (m == 1)]", "a prefix of another's"),
    ("views", "text=CELLS[m], ghost", "text='', ghost", "a label"),
    ("views", "path=(CELLS[m],)", "path=('pass', CELLS[m])", "clicks are on the board"),
    ("views", "PositionView(pieces, side, f", "PositionView(pieces, np.bool_(side), f",
     r"turn is a numpy\.bool_?; write int\(\.\.\.\) for a number"),
    ("views", "PositionView(pieces, side, f", "PositionView(pieces, side + 0.5, f",
     r"Expected `int \| null`, got `float` - at `\$\.turn`"),
    ("views", "text=CELLS[m], ghost", "text=np.str_(CELLS[m]), ghost",
     r"text is a numpy\.str_; write str\(\.\.\.\)"),
    ("views", 'to move", {"last": last_path}', 'to move", {"last": list(last_path)}',
     r"marks\['last'\] is a list; write tuple\(\.\.\.\)"),
    ("turns", "return int(s[0] | s[1]).bit_count() & 1",
     "return min(int(s[0] | s[1]).bit_count(), 1)", TURN_MESSAGE),
    ("moves", "return (s[1], s[0] | (ONE << U(m)))", "return (s[1], s[0] | (ONE << U(m)), ONE)",
     "for each of WORDS"),
    ("compiled rules", "def turn(", COUNT, "count is the number of moves"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "right", "wrong"), FAULTS)
def test_the_kit_finds_a_planted_fault(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str
) -> None:
    """A game with one wrong line fails the check that covers it."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    with pytest.raises((ConformanceError, GameFault)):
        {**CHECKS, **NATIVE_CHECKS}[check](load_game("planted"))


@pytest.mark.parametrize(("check", "right", "wrong", "message"), MESSAGES)
def test_the_kit_explains_a_planted_fault(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str, message: str
) -> None:
    """The message says what is wrong and how to fix it."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    with pytest.raises(ConformanceError, match=message):
        {**CHECKS, **NATIVE_CHECKS}[check](load_game("planted"))


def test_the_recipe_for_extra_turns_passes_the_kit(plug_in: Callable[[str, str], Path]) -> None:
    """The page's game, with its recipe and a move that keeps the turn: the view has the seat as the
    compiled rule returns it.
    """
    page = PAGE.read_text("utf-8")
    recipe = re.search(r"^    EXTRA_TURNS = True\n(?:    .*\n|\n)+", page, re.MULTILINE)
    assert recipe is not None
    source = documented_files()["pong_hau_ki.py"]
    for right, wrong in (
        ("def turn(s: State) -> int:\n    return int(s[2])\n", dedent(recipe[0])),
        ("LEVELS = 2\n", 'LEVELS = 2\nNUMBERING = "ply"\n'),
        ("(s[0] ^ step, s[1], ONE)", "(s[0] ^ step, s[1], ONE ^ (free_point(s) >> U(2) & ONE))"),
    ):
        assert right in source
        source = source.replace(right, wrong)
    plug_in("pong-hau-ki", source)
    game = load_game("pong-hau-ki")
    seat: object = game.rules.turn(game.start().state)
    assert isinstance(seat, np.int64)
    for check in CHECKS.values():
        check(game)


def test_views_keep_plain_numbers() -> None:
    """Rules may put the numbers of numpy into views; encoders, and clients, get Python's."""
    view = PositionView({}, np.int64(1), "x", hands={"R": np.uint64(3)})  # type: ignore[arg-type, dict-item]
    board = BoardView(
        Sites(
            (Site("a", np.float64(1.5), np.int32(2)),),  # type: ignore[arg-type]
            borders=(Border(np.int64(0), ("a",)),),  # type: ignore[arg-type]
        ),
        {"R": Kind("red", np.int8(1), angle=np.int16(90), count=np.uint8(4))},  # type: ignore[arg-type]
        (),
    )
    grid = Grid(np.int64(2), np.int64(3))  # type: ignore[arg-type]
    for value in (view, board, grid, replace(view, turn=np.int64(0))):
        decoded = msgspec.json.decode(msgspec.json.encode(value), type=type(value))
        assert decoded == value
    assert type(view.turn) is type(view.hands["R"]) is type(grid.cols) is int


def test_the_budget_uses_the_shortest_try() -> None:
    """The budget fails only if every try takes at least 5 ms of processor time."""
    game = load_game("tic-tac-toe")
    over_budget = pytest.raises(ConformanceError, match="less than 5 ms")
    for tries_ms, expected in (
        ([4.9], nullcontext()),
        ([9.0] * (MAX_TRIES - 1) + [4.9], nullcontext()),
        ([9.0] * MAX_TRIES, over_budget),
    ):
        steps_s = chain.from_iterable((0, try_ms / 1000) for try_ms in cycle(tries_ms))
        with expected:
            check_budget(game, accumulate(steps_s).__next__)


def test_timed_checks_run_only_in_the_command() -> None:
    """The tests run no check that depends on the speed of the machine."""
    assert "budget" in TIMED_CHECKS
    assert not TIMED_CHECKS.keys() & (CHECKS.keys() | NATIVE_CHECKS.keys())


#: A rule that never returns.
ENDLESS = "    n = 0\n    while n >= 0:\n        n = 0\n    empty = "
#: A rule that sleeps.
ASLEEP = "    if s[1]:\n        import time\n\n        time.sleep(10_000)\n    return (s[0]"
#: A rule that kills its process.
KILLED = "    if s[1]:\n        import os\n\n        os.kill(os.getpid(), 9)\n    return (s[0]"
#: A rule that exits.
EXITED = "    if s[1]:\n        raise SystemExit(3)\n    return (s[0]"
#: The source text that these rules replace.
KEY_TEXT = "    return (s[0] | (s[1] << U(9)"
#: A check that calls the faulty rule, and one that does not.
KEYS_AND_DECLARATIONS = {"keys": CHECKS["keys"], "declarations": CHECKS["declarations"]}


def line_number(file: Path, text: str) -> int:
    """Returns the number of the line with this text."""
    return file.read_text().splitlines().index(text) + 1


def test_a_rule_that_never_returns_is_reported(
    plug_in: Callable[[str, str], Path],
) -> None:
    """A rule that never returns is reported after a few seconds, and the other checks run."""
    right = "    n = 0\n    empty = "
    assert right in SOURCE
    file = plug_in("planted", SOURCE.replace(right, ENDLESS))
    messages = dict(run_checks("planted", {"moves": CHECKS["moves"], "style": CHECKS["style"]}))
    line = line_number(file, "    while n >= 0:")
    match = re.fullmatch(
        r"moves \(plugged_planted\.py:(\d+)\) does not return: "
        r"2 s .* in one call, with state \(0, 0\)",
        messages["moves"] or "",
    )
    assert match, messages
    assert line <= int(match[1]) <= line + 1
    assert messages["style"] is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (ASLEEP, r"key \(plugged_planted\.py:\d+\) does not return: the check was ended after 5 s"),
        (KILLED, r"its process died of SIGKILL: .* look for an overrun of buf or data"),
        (EXITED, r"its process ended by itself, with code 3: .*"),
    ],
)
def test_a_process_that_hangs_or_dies_is_reported(
    plug_in: Callable[[str, str], Path], wrong: str, message: str
) -> None:
    """A check whose process hangs or dies is reported, and the next one runs in a new process."""
    assert KEY_TEXT in SOURCE
    plug_in("planted", SOURCE.replace(KEY_TEXT, wrong + KEY_TEXT.removeprefix("    return (s[0]")))
    messages = dict(run_checks("planted", KEYS_AND_DECLARATIONS, check_s=5))
    assert re.fullmatch(message, messages["keys"] or ""), messages
    assert messages["declarations"] is None


#: Check, source text, faulty text, message.
OVERRUNS = [
    ("draws", "def turn(", DRAWN_RULE.format("int(s[3])"),
     r"drawn \(.*:\d+\) raised IndexError: .*MAX_MOVES = 9.*WORDS = 2 .*"),
    ("keys", "return (s[0] | (s[1] << U(9))) + ONE", "return s[2]",
     r"key \(.*:\d+\) raised IndexError: .*WORDS = 2 words: .*"),
    ("views", "text=CELLS[m], ghost", "text=1 // 0, ghost",
     r"move_view \(.*:\d+\) raised ZeroDivisionError: [^;]*"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "right", "wrong", "message"), OVERRUNS)
def test_an_error_of_the_rules_is_one_line(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str, message: str
) -> None:
    """An error of the rules is reported in one line with its function and line number.

    If an index was too large the line also has the sizes.
    """
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    report = run_check(load_game("planted"), CHECKS[check])
    assert re.fullmatch(message, report or "", re.DOTALL), report


@pytest.mark.parametrize(
    ("right", "wrong", "fix"),
    [
        ("MAX_MOVES = 9", "MAX_MOVES = 8", "write MAX_MOVES = 9 or more"),
        (
            "| (ONE << U(m)))",
            "| (ONE << U(m)), ONE)",
            "play returns 3: return one for each of WORDS",
        ),
    ],
)
def test_all_checks_run_after_an_overrun(
    plug_in: Callable[[str, str], Path],
    capfd: pytest.CaptureFixture[str],
    right: str,
    wrong: str,
    fix: str,
) -> None:
    """If a buffer is too small or a state too long, all checks run without a traceback."""
    assert right in SOURCE
    plug_in("planted", SOURCE.replace(right, wrong))
    messages = dict(run_checks("planted", CHECKS))
    assert messages.keys() == CHECKS.keys()
    assert fix in (messages["moves"] or "")
    assert "Traceback" not in "".join(capfd.readouterr())


#: Changes that give the game a button.
BUTTON = {
    'board=Grid(cols=3, rows=3, style="plain")': None,
    'style="plain"),': "style=\"plain\"), targets={'centre': ()},",
    "path=(CELLS[m],)": "path=(CELLS[m],) if m != 4 else ('centre',)",
}


def test_a_target_without_cells_is_a_button(plug_in: Callable[[str, str], Path]) -> None:
    """A click on a button is a whole move; a button in a longer path is refused."""
    source = SOURCE
    for right, wrong in BUTTON.items():
        assert right in source
        source = source.replace(right, wrong or right)
    plug_in("planted", source)
    CHECKS["views"](load_game("planted"))
    for name in ("last", "win"):  # marks may be on cells and on labels of targets
        marked = source.replace(
            '"Draw", {"last": last_path}, last_path',
            f'"Draw", {{"{name}": ("centre",)}}, ("centre",)',
        )
        assert marked != source
        plug_in("planted", marked)
        CHECKS["views"](load_game("planted"))
        plug_in("planted", marked.replace('("centre",)', '("center",)', 1))
        with pytest.raises(ConformanceError, match="marks are on cells, or on labels of targets"):
            CHECKS["views"](load_game("planted"))
    plug_in("planted", source.replace("('centre',)", "('centre', 'b2')"))
    with pytest.raises(ConformanceError, match="the one click"):
        CHECKS["views"](load_game("planted"))


#: The game of docs/tutorial/add-a-game.md.
PAGE_GAME = documented_files()["pong_hau_ki.py"]
#: A hook `drawn` that contradicts `no_moves_result`.
DRAWN_WITHOUT_MOVES = (
    "@rule\ndef drawn(s: State) -> int:\n    return 1 if movable(s) == NONE else 0\n\n\n"
)


@pytest.mark.parametrize(
    ("check", "right", "wrong", "message"),
    [
        ("repetition", "return EVERY_POSITION", "return 0", "does not repeat across"),
        ("repetition", "return EVERY_POSITION", "return 9", "or 512 for all"),
        (
            "draws",
            "@rule\ndef no_moves_result",
            DRAWN_WITHOUT_MOVES + "@rule\ndef no_moves_result",
            "look for a move first",
        ),
        ("views", "(POINTS[m], _free(s)), f", "(_free(s),), f", "differ in their choice"),
    ],
)
def test_a_fault_of_a_game_with_repetitions(
    plug_in: Callable[[str, str], Path], check: str, right: str, wrong: str, message: str
) -> None:
    """The kit finds a fault in the tutorial's game, in which any position can repeat."""
    assert right in PAGE_GAME
    plug_in("pong-hau-ki", PAGE_GAME.replace(right, wrong))
    with pytest.raises(ConformanceError, match=message):
        CHECKS[check](load_game("pong-hau-ki"))


@pytest.mark.parametrize("declared", ["REPETITION = 3", "CLAIM_REPETITION = 3"])
def test_repetitions_that_do_not_count_are_found(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, declared: str
) -> None:
    """The check fails if a repeated position neither ends the match nor allows a claim."""
    plug_in("pong-hau-ki", PAGE_GAME.replace("\nREPETITION = 3", f"\n{declared}"))
    CHECKS["repetition"](load_game("pong-hau-ki"))
    monkeypatch.setattr(Position, "_occurrences", lambda self: 1)
    with pytest.raises(ConformanceError, match="the declared occurrence"):
        check_repetition_ends(load_game("pong-hau-ki"))


def test_a_wrong_float_is_found(plug_in: Callable[[str, str], Path]) -> None:
    """The audit names the line where a variable is a float because it mixes a number and a word."""
    wrong = "    total = 0\n    if s[0] & ONE:\n        total = s[0]\n    return int(total) * 0\n"
    plug_in("planted", SOURCE.replace("    return 0\n", wrong))
    with pytest.raises(ConformanceError, match=r"plugged_planted.py:\d+: total in evaluate"):
        NATIVE_CHECKS["no floats"](load_game("planted"))


def test_a_missing_hook_is_refused(plug_in: Callable[[str, str], Path]) -> None:
    """A rules file without a required hook is refused on loading, with the hook's name."""
    plug_in("planted", SOURCE.replace("def no_moves_result(", "def another_name("))
    with pytest.raises(GameFault, match="no_moves_result"):
        load_game("planted")
