"""Breakthrough: rules compared with OpenSpiel; endings, races, position texts and views."""

import random
from collections.abc import Callable

import pyspiel
import pytest

from engine.conformance.native import cached_data
from engine.game import Game, Outcome, Position, PositionError
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from tests.engine.games.planted import planted

#: The start of a match.
START = "BBBBBBBB/BBBBBBBB/......../......../......../......../WWWWWWWW/WWWWWWWW white"


def referee_moves(referee: pyspiel.State) -> dict[str, int]:
    """Returns OpenSpiel's legal actions by our tokens.

    OpenSpiel marks a capture with an asterisk; its Black moves first, from the top.
    """
    return {
        flip_rows(referee.action_to_string(action).rstrip("*")): action
        for action in referee.legal_actions()
    }


def flip_rows(squares: str) -> str:
    """Returns the squares of a move with the board turned upside down."""
    return "".join(str(9 - int(c)) if c.isdigit() else c for c in squares)


def compare(game: Game, matches: int, seed: int) -> int:
    """Compares random matches with OpenSpiel; returns the number of positions."""
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position, referee = game.start(), pyspiel.load_game("breakthrough").new_initial_state()
        while not referee.is_terminal():
            moves = referee_moves(referee)
            assert sorted(position.tokens()) == sorted(moves), position.text()
            assert position.turn == referee.current_player(), position.text()
            compared += 1
            token = rng.choice(sorted(moves))
            position = position.play(position.parse_move(token))
            referee.apply_action(moves[token])
        outcome = position.outcome()
        assert outcome is not None, position.text()
        assert referee.returns() == ([1, -1] if outcome.winner == 0 else [-1, 1]), position.text()
    return compared


def test_rules_match_openspiel() -> None:
    """On 10,000 random positions, moves, sides and results equal those of OpenSpiel."""
    assert compare(load_game("breakthrough"), matches=175, seed=1) >= 10_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("NOT_H = U(0x7F7F7F7F7F7F7F7F)", "NOT_H = U(0xFFFFFFFFFFFFFFFF)"),
        (
            "n = add_moves(ahead & empty, steps[0], side, buf, n)",
            "n = add_moves(ahead & ~mine, steps[0], side, buf, n)",
        ),
        ("return LOST if s[0] & ROW_8 or", "return LOST if s[0] & (ROW_8 << U(1)) or"),
        (
            "return (s[0] ^ (start | to), s[1] & ~to, ONE)",
            "return (s[0] ^ (start | to), s[1], ONE)",
        ),
        (
            "(s[1] & NOT_A) >> U(9), (s[1] & NOT_H) >> U(7)\n",
            "(s[1] & NOT_H) >> U(9), (s[1] & NOT_A) >> U(7)\n",
        ),
    ],
    ids=[
        "around the edge",
        "straight captures",
        "a corner does not count",
        "the captured man stays",
        "black around the edge",
    ],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    with pytest.raises((AssertionError, ValueError)):
        compare(planted("breakthrough", right, wrong), matches=40, seed=3)


def upside_down(text: str) -> str:
    """Returns the position text with the colours swapped and the board upside down."""
    rows, side = text.split()
    swapped = rows.translate(str.maketrans("WB", "BW")).split("/")
    return f"{'/'.join(swapped[::-1])} {'black' if side == 'white' else 'white'}"


def random_positions(seed: int, matches: int) -> list[Position]:
    """Returns the unfinished positions of some random matches."""
    rng = random.Random(seed)
    positions = []
    for _ in range(matches):
        position = load_game("breakthrough").start()
        while moves := position.moves():
            positions.append(position)
            position = position.play(rng.choice(moves))
    return positions


def value(position: Position) -> int:
    """Returns the evaluation of a position for the side to move."""
    return int(position.game.rules.evaluate(position.state, cached_data(position.game)))


def test_evaluation_is_the_same_for_both_colours() -> None:
    """A position has the same value with the colours swapped and the board upside down."""
    for position in random_positions(seed=4, matches=15):
        other = position.game.position(upside_down(position.text()))
        assert value(position) == value(other), position.text()


def test_a_decided_race_is_won(searcher_of: Callable[[str], Searcher]) -> None:
    """If the evaluation counts a race as won, a search of the race's length finds the win."""
    decided = [
        position
        for position in random_positions(seed=5, matches=60)
        if abs(value(position)) > 14_000
    ]
    chosen = random.Random(6).sample(decided, 8)
    for position in chosen:
        moves_left = 15_000 - abs(value(position))
        limit = Limit(depth=2 * moves_left, nodes=3_000_000)
        report = searcher_of("breakthrough").search(position, limit, Table(18), Control())
        assert report.score * value(position) > 0, position.text()
        assert abs(report.score) > 14_000, position.text()
    assert any(value(position) < 0 for position in chosen)


@pytest.mark.parametrize(
    ("text", "move", "expected"),
    [
        (
            "......../W......./......../......../......../......../B......./........ white",
            "a7b8",
            (0, "through"),
        ),
        (
            "......../W......./......../......../......../......../B......./........ black",
            "a2a1",
            (1, "through"),
        ),
        (
            "......../......../......../...B..../....W.../......../......../........ white",
            "e4d5",
            (0, "captured"),
        ),
    ],
)
def test_endings(text: str, move: str, expected: tuple[int, str]) -> None:
    """Reaching the far row wins for either side, and so does capturing the last man."""
    position = load_game("breakthrough").position(text)
    ended = position.play(position.parse_move(move))
    outcome = ended.outcome()
    assert isinstance(outcome, Outcome)
    assert (outcome.winner, expected[1] in outcome.reason) == (expected[0], True)
    assert ended.view().turn is None


@pytest.mark.parametrize(
    "text",
    [
        START.removesuffix(" white"),
        START.replace("white", "red"),
        START.replace("........", "WWWWWWWW", 1),
        "W......./......../......../......../......../......../B......./........ white",
        "......../......../......../......../......../......../B......./........ black",
        "W......./......../......../......../......../......../......../B....... white",
        "......../......../......../......../......../......../......../........ white",
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text without a valid side, with too many men, an earlier win or no men is refused."""
    with pytest.raises(PositionError):
        load_game("breakthrough").position(text)


def test_clicks() -> None:
    """A move is two clicks, and a capture also names the captured man's square."""
    position = load_game("breakthrough").position(START)
    position = position.play(position.parse_move("a2b3"))
    assert position.text().endswith("black")
    captures = load_game("breakthrough").position(
        "......../......../......../...B..../....W.../......../......../........ white"
    )
    clicks = {click.id: click for click in captures.move_views()}
    assert set(clicks) == {"e4d5", "e4e5", "e4f5"}
    assert clicks["e4d5"].path == ("e4", "d5")
    assert (clicks["e4d5"].affects, clicks["e4e5"].affects) == (("d5",), ())
