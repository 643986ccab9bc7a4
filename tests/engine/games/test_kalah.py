"""Kalah: rules compared with an independent referee, which OpenSpiel confirms; endings, texts and
views.
"""

import random

import pyspiel
import pytest

from engine.game import Game, Outcome, PositionError
from engine.rules.registry import load_game
from tests.engine.games.planted import planted
from tests.oracle.kalah import Kalah

#: The start of a match.
START = "4-4-4-4-4-4/0 4-4-4-4-4-4/0 south"


def pit_of(token: str) -> int:
    """Returns the referee's pit of a house: a1 to f1 are 0 to 5, f2 to a2 are 7 to 12."""
    column = "abcdef".index(token[0])
    return column if token[1] == "1" else 12 - column


def text_of(referee: Kalah) -> str:
    """Returns the referee's position as our text."""
    south, north = (
        "-".join(map(str, referee.pits[7 * player : 7 * player + 6])) for player in (0, 1)
    )
    side = ("south", "north")[referee.player]
    return f"{south}/{referee.pits[6]} {north}/{referee.pits[13]} {side}"


def compare(game: Game, matches: int, seed: int) -> int:
    """Compares random matches with the referee; returns the number of positions."""
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position, referee = game.start(), Kalah()
        while not referee.is_over():
            assert position.text() == text_of(referee)
            moves = {pit_of(token): token for token in position.tokens()}
            assert sorted(moves) == referee.legal(), position.text()
            compared += 1
            pit = rng.choice(referee.legal())
            position = position.play(position.parse_move(moves[pit]))
            referee = referee.play(pit)
        lead = referee.pits[6] - referee.pits[13]
        winner = None if lead == 0 else int(lead < 0)
        outcome = position.outcome()
        assert outcome is not None, position.text()
        assert outcome.winner == winner, position.text()
    return compared


def test_rules_match_the_referee() -> None:
    """On 10,000 random positions, pits, moves, sides and results equal those of the referee."""
    assert compare(load_game("kalah"), matches=300, seed=1) >= 10_000


def test_openspiel_confirms_the_referee() -> None:
    """With `takes_empty=False` the referee's rules are those of OpenSpiel's mancala."""
    rng = random.Random(2)
    for _ in range(100):
        referee = Kalah(takes_empty=False)
        mancala = pyspiel.load_game("mancala").new_initial_state()
        while not mancala.is_terminal():
            # OpenSpiel's pit 0 is the second player's store; each of our pits has the next number.
            assert mancala.legal_actions() == [pit + 1 for pit in referee.legal()]
            assert mancala.current_player() == referee.player
            pit = rng.choice(referee.legal())
            referee = referee.play(pit)
            mancala.apply_action(pit + 1)
        assert referee.is_over()
        lead = referee.pits[6] - referee.pits[13]
        assert mancala.returns()[0] == (lead > 0) - (lead < 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("next_turn = mover if last == HOUSES else mover ^ NORTH", "next_turn = mover ^ NORTH"),
        ("captured = 1 + seeds_in", "captured = seeds_in"),
        ("if last < HOUSES and seeds_in(own, last) == 1:", "if last < 0:"),
        ("opposite = HOUSES - 1 - last", "opposite = last"),
        ("        if pit == RING:\n", "        if pit == RING + 1:\n"),
        ("if own & ALL_HOUSES == NONE or opposing", "if own & ALL_HOUSES == NONE and opposing"),
    ],
    ids=[
        "no extra turn",
        "the last seed stays out of the store",
        "no capture",
        "the house below is captured",
        "the opponent's store gets seeds",
        "the match goes on until both sides are empty",
    ],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    with pytest.raises((AssertionError, ValueError, PositionError, OverflowError)):
        compare(planted("kalah", right, wrong), matches=30, seed=3)


def test_a_last_seed_in_an_empty_house_is_captured() -> None:
    """A last seed in the mover's own empty house is captured, with any seeds opposite."""
    game = load_game("kalah")
    empty = game.position("1-0-4-4-4-4/8 4-4-4-4-0-4/3 south")
    assert empty.advance("a1")[1].text() == "0-0-4-4-4-4/9 4-4-4-4-0-4/3 north"
    full = game.position("1-0-4-4-4-4/7 4-4-4-4-4-0/4 south")
    assert full.advance("a1")[1].text() == "0-0-4-4-4-4/12 4-4-4-4-0-0/4 north"


def test_a_last_seed_in_the_store_keeps_the_turn() -> None:
    """A move that ends in the store leaves the same side to move, and the view says so."""
    after = load_game("kalah").start().advance("c1")[1]
    assert (after.turn, after.view().turn, after.view().text) == (0, 0, "South to move again")


def test_the_last_seeds_go_to_their_side() -> None:
    """When a side has no seeds in its houses, the other side's seeds go into its own store."""
    position = load_game("kalah").position("0-0-0-0-0-1/23 3-0-0-0-0-2/19 south")
    _, after, outcome = position.advance("f1")
    assert after.text() == "0-0-0-0-0-0/24 0-0-0-0-0-0/24 south"
    assert outcome == Outcome(None, "the houses of one side are empty", (24, 24))


@pytest.mark.parametrize(
    "text",
    [
        START.removesuffix(" south"),
        START.replace("/0 south", "/1 south"),
        START.replace("south", "west"),
        "0-0-0-0-0-0/24 4-4-4-4-4-4/0 south",
        START.replace("4-4", "4", 1),
        START.replace("4-", "99-", 1),
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text with wrong seeds or houses, an unknown side or an earlier end is refused."""
    with pytest.raises(PositionError):
        load_game("kalah").position(text)
