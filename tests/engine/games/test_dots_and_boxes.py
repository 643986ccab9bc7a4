"""Dots and boxes: rules compared with OpenSpiel; endings, texts and views."""

import random

import pyspiel
import pytest

from engine.game import Game, Outcome, PositionError
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: The letters of the columns.
LETTERS = "abcdef"


def action_of(size: int, token: str) -> int:
    """Returns OpenSpiel's action of a line: horizontal lines come first, then vertical ones.

    Its rows are numbered from the top, ours from the bottom: it has the same board upside down.
    """
    col, row = LETTERS.index(token[0]), int(token[1]) - 1
    if token[1] == token[3]:
        return row * size + col
    return size * (size + 1) + row * (size + 1) + col


def compare(game: Game, size: int, matches: int, seed: int) -> int:
    """Compares random matches with OpenSpiel; returns the number of positions."""
    rng = random.Random(seed)
    referee_game = pyspiel.load_game("dots_and_boxes", {"num_rows": size, "num_cols": size})
    compared = 0
    for _ in range(matches):
        position, referee = game.start({"size": str(size)}), referee_game.new_initial_state()
        while not referee.is_terminal():
            moves = {action_of(size, token): token for token in position.tokens()}
            assert sorted(moves) == referee.legal_actions(), position.text()
            assert position.turn == referee.current_player(), position.text()
            compared += 1
            action = rng.choice(sorted(moves))
            position = position.play(position.parse_move(moves[action]))
            referee.apply_action(action)
        outcome = position.outcome()
        assert outcome is not None
        lead = referee.returns()[0]
        assert outcome.winner == (None if lead == 0 else int(lead < 0)), position.text()
    return compared


@pytest.mark.parametrize("size", [3, 4, 5])
def test_rules_match_openspiel(size: int) -> None:
    """On thousands of random positions, lines, sides and results equal those of OpenSpiel."""
    assert compare(load_game("dots-and-boxes"), size, matches=60, seed=size) >= 60 * 24


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("        return (lines, s[1] ^ SECOND)\n", "        return (lines, s[1])\n"),
        (
            "return (lines, s[1] | (closed << U(BOX_BITS * side)))",
            "return (lines, (s[1] ^ SECOND) | (closed << U(BOX_BITS * side)))",
        ),
        ("closed << U(BOX_BITS * side)", "closed"),
        ("    for i in range(2):\n        box = BESIDE[size, m, i]\n        if box >= 0 and",
         "    for i in range(1):\n        box = BESIDE[size, m, i]\n        if box >= 0 and"),
    ],
    ids=[
        "every move keeps the turn", "no move keeps the turn", "all boxes are red",
        "one box a line",
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    with pytest.raises((AssertionError, ValueError)):
        compare(planted("dots-and-boxes", right, wrong), 3, matches=30, seed=3)


def test_a_line_may_close_two_boxes() -> None:
    """A line between two boxes that have three lines each closes both and keeps the turn."""
    game = load_game("dots-and-boxes")
    position = game.start()
    closing = "b1b2"
    for token in ("a1b1", "b1c1", "a2b2", "b2c2", "a1a2", "c1c2"):
        position = position.advance(token)[1]
    side = position.turn
    after = position.advance(closing)[1]
    assert after.turn == side
    kinds = after.view().pieces
    assert kinds["a1b2"] == kinds["b1c2"] == "rb"[side]
    assert after.view().text == f"{('Red', 'Blue')[side]} to move again, 2 : 0"


def test_the_side_with_more_boxes_wins() -> None:
    """When the last line is drawn, the side with more boxes wins, and the reason counts them."""
    game = load_game("dots-and-boxes")
    position = game.position("fffffe .rrrrbbbb red")
    token, after, outcome = position.advance("a1b1")
    assert (token, after.turn) == ("a1b1", 0)
    assert outcome == Outcome(0, "all boxes are closed", (5, 4))
    assert after.view().text == "Red wins, 5 : 4"


@pytest.mark.parametrize(
    "text",
    [
        "0 ......... ",
        "0 ........ red",
        "0 r........ red",
        "1000000 ......... red",
        "ffffff ......... red",
        "0 ......... green",
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text with unknown lines, or with owners that do not fit the lines, is refused."""
    with pytest.raises(PositionError):
        load_game("dots-and-boxes").position(text)
