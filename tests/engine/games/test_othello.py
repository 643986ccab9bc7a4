"""Othello: rules compared with OpenSpiel; passes, endings, position texts and views."""

import random

import numpy as np
import pyspiel
import pytest

from engine.game import Game, Outcome, Position, PositionError
from engine.games.othello import EXTRAS, phase_of
from engine.jit import U
from engine.rules.data import load_data
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: A board without discs.
EMPTY = "-" * 64


def board_text(cells: dict[str, str], side: str) -> str:
    """Returns a position text with the given cells and the four discs in the middle."""
    squares = {"d4": "O", "e5": "O", "d5": "X", "e4": "X", **cells}
    order = (f"{column}{row}" for row in "12345678" for column in "abcdefgh")
    return "".join(squares.get(cell, "-") for cell in order) + " " + side


def othello_position(cells: dict[str, str], side: str) -> Position:
    """Returns the position with these cells and the four discs in the middle."""
    return load_game("othello").position(board_text(cells, side))


def referee_text(state: pyspiel.State, side: int) -> str:
    """Returns OpenSpiel's position as our text."""
    rows = [line.split()[1:9] for line in str(state).splitlines() if line[:1].isdigit()]
    return "".join("".join(row) for row in rows).upper() + " " + "XO"[side]


def compare(game: Game, matches: int, seed: int) -> int:
    """Compares random matches with OpenSpiel; returns the number of positions."""
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position = game.start()
        referee = pyspiel.load_game("othello").new_initial_state()
        while not referee.is_terminal():
            moves = position.moves()
            assert sorted(moves) == referee.legal_actions(), position.text()
            assert position.turn == referee.current_player(), position.text()
            assert position.text() == referee_text(referee, position.turn)
            assert position.outcome() is None
            compared += 1
            move = rng.choice(moves)
            position = position.play(move)
            referee.apply_action(move)
        assert not position.moves()
        outcome = position.outcome()
        assert outcome is not None
        black, white = referee.returns()
        assert outcome.winner == (None if black == white else int(black < white)), position.text()
    return compared


def test_rules_match_openspiel() -> None:
    """On 10,000 random positions, moves, passes, boards, sides and results equal OpenSpiel's."""
    assert compare(load_game("othello"), matches=175, seed=1) >= 10_000


@pytest.mark.long
def test_rules_match_openspiel_on_many_positions() -> None:
    """On 200,000 random positions, moves, boards and results equal those of OpenSpiel."""
    assert compare(load_game("othello"), matches=3_500, seed=2) >= 200_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("end = ((o | ~ray) + ONE) & ray & p", "end = ((o | ~ray) + ONE) & ray"),
        ("msb((ray & ~o) | ONE)", "msb((ray & p) | ONE)"),
        (
            "if n == 0 and mobility(s[1], s[0]) != ZERO:",
            "if mobility(s[1], s[0]) != ZERO and n < 3:",
        ),
        ("if n == 0 and mobility(s[1], s[0]) != ZERO:", "if n == 0:"),
        ("    inner = o & INNER\n", "    inner = o\n"),
        (
            "    up |= pairs & (up << twice)\n    down |= pairs_down & (down >> twice)\n    return",
            "    return",
        ),
        ("return WON if lead > 0 else LOST", "return LOST if lead > 0 else WON"),
        ("return (s[1], s[0], s[2] ^ ONE)", "return (s[1], s[0], s[2])"),
        ("((-1, 0), (1, -1), (0, -1), (-1, -1))", "((-1, 0), (1, -1), (0, -1), (-1, 0))"),
    ],
    ids=[
        "flips off the board",
        "flips past a gap",
        "pass while one can move",
        "both sides pass for ever",
        "rows around the edge",
        "rows too short",
        "fewest discs win",
        "pass keeps the side",
        "a direction missing",
    ],
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails with one wrong line."""
    with np.errstate(over="ignore"), pytest.raises(AssertionError):
        compare(planted("othello", right, wrong), matches=175, seed=1)


def test_pass() -> None:
    """A side that cannot place a disc has one move, the pass, which is a button."""
    position = othello_position({"d4": "X", "e5": "X", "a1": "X", "b1": "O", "c1": "-"}, "O")
    assert position.tokens() == ["pass"]
    assert position.view().text == "White to pass, 5 to 1"
    (click,) = position.move_views()
    assert click.path == ("pass",)
    assert position.game.board(position.options).targets == {"pass": ()}
    after = position.play(position.parse_move("pass"))
    assert after.tokens() == ["c1"]
    assert after.view().last == ("pass",)
    assert after.view().marks == {"last": ("pass",)}
    end = after.play(after.parse_move("c1"))
    assert end.outcome() == Outcome(0, "neither side can move", (64, 0))
    assert end.view().text == "Black wins, 64 to 0, 57 empty cells included"


def whole_board(white: int) -> str:
    """Returns a full board with this number of white discs."""
    return "O" * white + "X" * (64 - white)


@pytest.mark.parametrize(
    ("white", "winner", "text"), [(32, None, "Draw, 32 to 32"), (33, 1, "White wins, 31 to 33")]
)
def test_full_board(white: int, winner: int | None, text: str) -> None:
    """A full board ends the match by the number of discs, whichever side is to move."""
    for side in "XO":
        position = load_game("othello").position(f"{whole_board(white)} {side}")
        outcome = position.outcome()
        assert outcome is not None
        assert outcome.winner == winner
        assert position.view().text == text
        assert position.view().turn is None


@pytest.mark.parametrize(
    ("cells", "points", "text"),
    [
        ("X" * 40 + "-" * 8 + "O" * 16, (48, 16), "Black wins, 48 to 16, 8 empty cells included"),
        ("X" * 8 + "-" * 8 + "O" * 48, (8, 56), "White wins, 8 to 56, 8 empty cells included"),
        ("X" * 63 + "-", (64, 0), "Black wins, 64 to 0, 1 empty cell included"),
        ("O" * 40 + "-" * 24, (0, 64), "White wins, 0 to 64, 24 empty cells included"),
        ("X" * 36 + "O" * 28, (36, 28), "Black wins, 36 to 28"),
    ],
)
def test_empty_cells_count_for_the_winner(cells: str, points: tuple[int, int], text: str) -> None:
    """The points of a result are 64 in all, in the view and in the outcome, for either side to
    move.
    """
    for side in "XO":
        position = load_game("othello").position(f"{cells} {side}")
        outcome = position.outcome()
        assert outcome is not None
        assert outcome.points == points
        assert position.view().text == text


def test_the_points_of_random_matches() -> None:
    """The points are 64 in all, the lead is that of the discs and of all empty cells, and the
    result is that of the discs.
    """
    game, rng, with_empty = load_game("othello"), random.Random(7), 0
    for _ in range(30):
        position = game.start()
        while (outcome := position.outcome()) is None:
            position = position.play(rng.choice(position.moves()))
        assert outcome.points is not None
        black, white = outcome.points
        assert black + white == 64
        lead = sum({"X": 1, "O": -1}.get(kind, 0) for kind in position.view().pieces.values())
        empty = 64 - len(position.view().pieces)
        with_empty += empty > 0
        assert black - white == lead + empty * ((lead > 0) - (lead < 0))
        assert outcome.winner == (None if lead == 0 else int(lead < 0))
    assert with_empty


def test_the_sides_share_the_empty_cells_of_a_draw() -> None:
    """Equal discs are 32 to 32, whatever is empty."""
    game = load_game("othello")
    assert game.points((U(0x00FF), U(0xFF00), U(0))) == (32, 32)


def test_previews() -> None:
    """A move shows its new disc and the discs that it turns over."""
    clicks = {click.id: click for click in load_game("othello").start().move_views()}
    assert set(clicks) == {"d3", "c4", "f5", "e6"}
    assert clicks["d3"].affects == ("d4",)
    assert clicks["d3"].ghost == ("d3", "X")


@pytest.mark.parametrize(
    "bad",
    [
        f"{EMPTY} X",
        board_text({}, "X")[:-1],
        board_text({}, "x"),
        board_text({}, "X") + " ",
        board_text({"e4": "-"}, "X"),
        board_text({"a1": "."}, "X"),
        board_text({}, "X").replace(" ", "-"),
    ],
)
def test_bad_positions(bad: str) -> None:
    """A text without the middle discs, without a side or with other characters is refused."""
    with pytest.raises(PositionError):
        load_game("othello").position(bad)


def test_evaluation_is_symmetric() -> None:
    """The values for the two sides cancel, except for rounding and the bonus for the move."""
    rng = random.Random(5)
    rules = load_game("othello").rules
    data = load_data(load_game("othello"))
    for _ in range(10):
        position = load_game("othello").start()
        while moves := position.moves():
            position = position.play(rng.choice(moves))
            mine, other, side = position.state
            with np.errstate(over="ignore"):
                values = (
                    rules.evaluate((mine, other, side), data),
                    rules.evaluate((other, mine, side), data),
                )
            empty = position.text()[:64].count("-")
            extras = data[EXTRAS + 4 * phase_of(empty) :][:4]
            move_bonus = extras[0] + (extras[3] if empty % 2 else -extras[3])
            assert abs(sum(values) - 2 * move_bonus / 8) <= 2, position.text()


def test_evaluation_of_corners() -> None:
    """A disc in a corner adds value; a disc diagonally next to an empty corner costs value."""
    with np.errstate(over="ignore"):
        rules, data = load_game("othello").rules, load_data(load_game("othello"))
        plain, corner, risky = (
            rules.evaluate(othello_position(cells, "X").state, data)
            for cells in ({}, {"a1": "X"}, {"b2": "X"})
        )
    assert corner > plain > risky
