"""Hex: rules compared with OpenSpiel, with and without the swap; evaluation, texts and clicks."""

import random

import pyspiel
import pytest

from engine.conformance.native import cached_data
from engine.game import Game, Outcome, Position, PositionError
from engine.games.hex import STEP
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: An empty board.
ROWS = ["..........."] * 11


def hex_position(text: str, swap: str = "yes") -> Position:
    """Returns the position with this text."""
    return load_game("hex").position(text, {"swap": swap})


def with_stones(cells: dict[str, str], rest: str) -> str:
    """Returns a position text with stones on the given cells."""
    rows = [
        "".join(cells.get(f"{column}{row + 1}", ".") for column in "abcdefghijk")
        for row in range(11)
    ]
    return f"{'/'.join(rows)} {rest}"


def compare(game: Game, matches: int, seed: int, swap: bool) -> int:
    """Compares random matches with OpenSpiel; returns the number of positions.

    OpenSpiel's swap puts the stone elsewhere, so no match plays the swap, and the comparison checks
    only that it is a legal move.
    """
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position = game.start({"swap": "yes" if swap else "no"})
        referee = pyspiel.load_game("hex", {"board_size": 11, "swap": False}).new_initial_state()
        moves = list(range(121))
        while not referee.is_terminal():
            assert sorted(set(position.moves()) - {121}) == referee.legal_actions(), position.text()
            assert (121 in position.moves()) == (swap and len(moves) == 120), position.text()
            compared += 1
            move = rng.choice(moves)
            moves.remove(move)
            position = position.play(move)
            referee.apply_action(move)
            assert position.turn == len(moves) % 2 ^ 1
        outcome = position.outcome()
        assert outcome is not None, position.text()
        assert referee.returns() == ([1, -1] if outcome.winner == 0 else [-1, 1]), position.text()
    return compared


@pytest.mark.parametrize("swap", [True, False])
def test_rules_match_openspiel(swap: bool) -> None:
    """On 5,000 random positions, moves, sides and results equal those of OpenSpiel."""
    assert compare(load_game("hex"), matches=55, seed=1, swap=swap) >= 5_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "a, b, c = shift_up(inner, 1), shift_up(outer, 10), shift_up(p, 11)\n"
            "    d, e, f = shift_down(outer, 1)",
            "PLANTED",
        ),
        (
            "a = join_to_edge((s[2], s[3]), stone, adjacent, first, stones)",
            "a = join_to_edge((s[2], s[3]), stone, adjacent, second, stones)",
        ),
        (
            "        | (adjacent[1] & joined[1])\n",
            "",
        ),
        ("if n == SWAP - 1 and s[12] == (ONE | SWAP_RULE):", "if n == SWAP - 1:"),
        (
            "        if larger == connected:\n            return connected\n",
            "        return larger\n",
        ),
    ],
    ids=["around the edge", "wrong edge", "half of the neighbours", "always swap", "one step only"],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    if wrong == "PLANTED":
        wrong = right.replace("up(inner, 1)", "up(p, 1)")
    game = planted("hex", right, wrong)
    with pytest.raises((AssertionError, ValueError)):
        assert [compare(game, matches=40, seed=3, swap=swap) for swap in (True, False)]


def mirrored(text: str) -> str:
    """Returns the same position for the other side, with the board transposed."""
    rows, side, swap = text.translate(str.maketrans("RB", "BR")).split()
    columns = ["".join(column) for column in zip(*rows.split("/"), strict=True)]
    return f"{'/'.join(columns)} {'blue' if side == 'red' else 'red'} {swap}"


def rotated(text: str) -> str:
    """Returns the position rotated by 180 degrees."""
    rows, rest = text.split(" ", 1)
    return f"{rows[::-1]} {rest}"


def value(position: Position) -> int:
    """Returns the evaluation of a position for the side to move."""
    return int(position.game.rules.evaluate(position.state, cached_data(position.game)))


def random_positions(seed: int, matches: int) -> list[Position]:
    """Returns the unfinished positions of some random matches."""
    rng = random.Random(seed)
    positions = []
    for _ in range(matches):
        position = load_game("hex").start()
        while moves := position.moves():
            positions.append(position)
            position = position.play(rng.choice(moves))
    return positions


def test_evaluation_is_the_same_for_both_sides() -> None:
    """A mirrored position has the same value; rotation may change it by two steps.

    The two regions of a distance grow alternately, and the one from the first edge starts.
    """
    for position in random_positions(seed=4, matches=4)[::3]:
        text = position.text()
        assert abs(value(hex_position(rotated(text))) - value(position)) <= 2 * STEP, text
        if "B" in text:
            assert value(hex_position(mirrored(text))) == value(position), text


def test_a_bridge_counts_as_connected() -> None:
    """Two stones with two common empty neighbours are nearly as good as a chain."""
    bridge = value(
        hex_position(with_stones({"f5": "R", "e7": "R", "a1": "B", "k11": "B"}, "red swap"))
    )
    broken = value(
        hex_position(with_stones({"f5": "R", "e7": "R", "e6": "B", "f6": "B"}, "red swap"))
    )
    apart = value(
        hex_position(with_stones({"f5": "R", "k7": "R", "a1": "B", "k11": "B"}, "red swap"))
    )
    assert bridge > apart
    assert bridge > broken + STEP


def test_swap() -> None:
    """The swap mirrors Red's stone into a blue one; it is a button at Blue's first move."""
    position = load_game("hex").start()
    assert "swap" not in position.tokens()
    position = position.play(position.parse_move("c2"))
    assert len(position.tokens()) == 121
    click = next(click for click in position.move_views() if click.id == "swap")
    assert (click.path, click.ghost) == (("swap",), ("b3", "B"))
    swapped = position.play(position.parse_move("swap"))
    assert swapped.view().pieces == {"b3": "B"}
    assert (swapped.turn, swapped.view().last, swapped.view().marks["last"]) == (
        0,
        ("swap",),
        ("b3",),
    )
    assert len(swapped.tokens()) == 120
    after = swapped.play(swapped.parse_move("c2"))
    assert "swap" not in after.tokens()
    assert hex_position(after.text()) == after
    assert position.game.board(position.options).targets == {"swap": ()}
    assert position.game.board({"swap": "no"}).targets == {}


@pytest.mark.parametrize("winner", [0, 1])
def test_a_straight_chain_wins(winner: int) -> None:
    """A chain from edge to edge wins with any last stone, and the view marks the chain."""
    columns = "abcdefghijk"
    chain = (
        [f"f{row}" for row in range(1, 12)] if winner == 0 else [f"{column}6" for column in columns]
    )
    spare = (
        [f"b{row}" for row in range(1, 12)] if winner == 0 else [f"{column}2" for column in columns]
    )
    last = random.Random(7).choice(chain)
    order = [cell for cell in chain if cell != last] + [last]
    stones = dict.fromkeys(order[:-1], "RB"[winner]) | dict.fromkeys(
        spare[: 10 + winner], "BR"[winner]
    )
    position = hex_position(with_stones(stones, f"{('red', 'blue')[winner]} no-swap"), "no")
    ended = position.play(position.parse_move(last))
    assert ended.outcome() == Outcome(winner, f"{('Red', 'Blue')[winner]} has joined both edges")
    assert set(ended.view().marks["win"]) == set(chain)
    assert hex_position(ended.text(), "no").outcome() == ended.outcome()


@pytest.mark.parametrize(
    "text",
    [
        "/".join(ROWS) + " red",
        "/".join(ROWS[1:]) + " red swap",
        "/".join(ROWS) + " blue swap",
        "/".join(ROWS) + " red no-swap",
        with_stones({"a1": "R"}, "red swap"),
        with_stones({"a1": "R", "b1": "R"}, "blue swap"),
        with_stones({"a1": "B", "b1": "B"}, "red swap"),
        with_stones(
            {f"c{i}": "R" for i in range(1, 12)} | {f"d{i}": "B" for i in range(1, 12)}, "red swap"
        ),
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text with stones out of turn, an earlier win or another option is refused."""
    with pytest.raises(PositionError):
        hex_position(text)
