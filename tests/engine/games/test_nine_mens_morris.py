"""Nine men's morris: rules compared with OpenSpiel; draws, options, texts, views, symmetry."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pyspiel
import pytest

from engine.conformance.native import cached_data
from engine.game import Game, Outcome, Position, PositionError
from engine.games.nine_mens_morris import POINTS
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: The id of the game.
GAME = "nine-mens-morris"


def position_of(text: str, flying: str = "yes") -> Position:
    """Returns the position with this text."""
    return load_game(GAME).position(text, {"flying": flying})


def referee_moves(referee: pyspiel.State) -> dict[str, tuple[int, ...]]:
    """Returns OpenSpiel's legal moves by our tokens; its captures are separate actions."""
    moves: dict[str, tuple[int, ...]] = {}
    for action in referee.legal_actions():
        start, to = (None, action) if action < 24 else divmod(action - 24, 24)
        token = POINTS[to] if start is None else f"{POINTS[start]}-{POINTS[to]}"
        after = referee.child(action)
        if "Capture" not in str(after):
            moves[token] = (action,)
            continue
        # OpenSpiel ends a match after 200 turns, even before a capture; `compare` stops sooner.
        for victim in after.legal_actions():
            moves[f"{token}x{POINTS[victim]}"] = (action, victim)
    return moves


def referee_men(referee: pyspiel.State) -> tuple[str, str]:
    """Returns OpenSpiel's points in our order, and the men in hand."""
    board, _, words = str(referee).partition("Current player")
    hands = re.search(r"Men to deploy: (\d) (\d)", words)
    assert hands is not None
    return re.sub(r"[^WB.]", "", board), f"{hands[1]}-{hands[2]}"


def compare(game: Game, matches: int, seed: int) -> int:
    """Compares random matches with OpenSpiel; returns the number of positions.

    OpenSpiel draws a match after 200 turns; our draws are by repetition and by fifty moves each
    without a mill. The comparison ignores our draws and stops before OpenSpiel's.
    """
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position, referee = game.start(), pyspiel.load_game("nine_mens_morris").new_initial_state()
        for _ in range(190):
            if referee.is_terminal():
                outcome = position.outcome()
                assert outcome is not None, position.text()
                assert referee.returns() == ([1, -1] if outcome.winner == 0 else [-1, 1]), (
                    position.text()
                )
                break
            moves = referee_moves(referee)
            assert sorted(position.tokens()) == sorted(moves), position.text()
            points, _, hands, *_ = position.text().replace("/", "").split()
            assert (points, hands) == referee_men(referee)
            assert position.turn == referee.current_player(), position.text()
            compared += 1
            # Captures are preferred so that matches reach three men.
            captures = [token for token in moves if "x" in token]
            token = rng.choice(sorted(captures if captures and rng.random() < 0.7 else moves))
            position = game.position(position.play(position.parse_move(token)).text())
            if position.text().split()[3] > "8":  # the count of plies: our draw rule must not apply
                position = game.position(re.sub(r" \d+ (flying)", r" 1 \1", position.text()))
            for action in moves[token]:
                referee.apply_action(action)
    return compared


def test_rules_match_openspiel() -> None:
    """On 10,000 random positions, moves, men, hands, sides and results equal those of OpenSpiel."""
    assert compare(load_game(GAME), matches=230, seed=1) >= 10_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("return free if free else men", "return free"),
        ("            free &= ~line\n", "            free &= ~NONE\n"),
        ("if popcount(s[0]) == 3 and", "if popcount(s[0]) == 4 and"),
        ("(8, 12, 17), (5, 13, 20)", "(5, 12, 17), (8, 13, 20)"),
        (
            "mills = mill_points(s[0] ^ (ONE << U(start))) & targets",
            "mills = mill_points(s[0]) & targets",
        ),
        ("np.int64(s[2] & HAND) < 3", "np.int64(s[2] & HAND) < 4"),
    ],
    ids=[
        "men in mills are never captured",
        "men in mills are captured first",
        "flying with four",
        "wrong lines",
        "a man's own origin completes a mill",
        "three men lose",
    ],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    with pytest.raises((AssertionError, ValueError, IndexError)):
        compare(planted(GAME, right, wrong), matches=60, seed=3)


def symmetries() -> Iterator[list[int]]:
    """Yields the 16 symmetries of the points: rotations, reflections, swapped rings."""
    places = {(ord(name[0]) - 100, int(name[1]) - 4): i for i, name in enumerate(POINTS)}
    for swap_rings in (False, True):
        for flip in (1, -1):
            for turns in range(4):
                image = []
                for x, y in places:
                    ring = max(abs(x), abs(y))
                    scale = (4 - ring) / ring if swap_rings else 1
                    a, b = round(x * scale) * flip, round(y * scale)
                    for _ in range(turns):
                        a, b = -b, a
                    image.append(places[a, b])
                yield image


def value(position: Position) -> int:
    """Returns the evaluation of a position for the side to move."""
    return int(position.game.rules.evaluate(position.state, cached_data(position.game)))


def random_positions(seed: int, matches: int) -> list[Position]:
    """Returns the unfinished positions of some random matches."""
    rng = random.Random(seed)
    positions = []
    for _ in range(matches):
        position = load_game(GAME).start()
        while moves := position.moves():
            positions.append(position)
            position = position.play(rng.choice(moves))
    return positions


def test_sixteen_symmetries() -> None:
    """Symmetric positions have the same number of moves and the same value."""
    images = list(symmetries())
    assert len({tuple(image) for image in images}) == 16
    for position in random_positions(seed=4, matches=3)[::3]:
        board, rest = position.text().split(" ", 1)
        men = board.replace("/", "")
        for image in images:
            moved = [""] * 24
            for point, to in enumerate(image):
                moved[to] = men[point]
            rows = "/".join("".join(moved[i : i + 3]) for i in range(0, 24, 3))
            other = position_of(f"{rows} {rest}")
            assert len(other.moves()) == len(position.moves()), other.text()
            assert value(other) == value(position), other.text()


#: A position with three men on each side; the side, count of plies and flying are to be filled in.
THREE_EACH = "WW./.../.../..W/.../BB./.../..B {} 0-0 {} {}"


def test_tactical_moves_are_captures() -> None:
    """The tactical moves are the captures, and they have the highest ranks."""
    rules: Any = load_game(GAME).module
    capture_count = 0
    for position in random_positions(seed=6, matches=8):
        buffer = [0] * rules.MAX_MOVES
        tactical = buffer[: rules.tactical(position.state, buffer)]
        capturing = [move for move in position.moves() if "x" in position.format_move(move)]
        assert sorted(tactical) == sorted(capturing), position.text()
        ranks = {move: rules.rank(position.state, move) for move in position.moves()}
        quiet = [ranks[move] for move in ranks if move not in capturing]
        assert min((ranks[move] for move in capturing), default=99) > max(quiet, default=0)
        capture_count += len(capturing)
    assert capture_count > 100


def test_flying_is_an_option() -> None:
    """With three men left a man moves to any empty point; without flying only along the lines."""
    assert len(position_of(THREE_EACH.format("white", 5, "flying")).moves()) > 40
    walking = position_of(THREE_EACH.format("white", 5, "no-flying"), "no")
    assert set(walking.tokens()) == {"d7-g7", "d7-d6", "a7-a4", "c4-b4", "c4-c5"}
    with pytest.raises(PositionError):
        position_of(THREE_EACH.format("white", 5, "no-flying"))


def test_fifty_moves_each_without_a_mill_are_a_draw() -> None:
    """The hundredth ply without a mill draws, unless it leaves the other side without a move."""
    position = position_of(THREE_EACH.format("white", 98, "flying"))
    position = position.play(position.parse_move("d7-d6"))
    assert position.outcome() is None
    ended = position.play(position.parse_move("g1-g4"))
    assert ended.outcome() == Outcome(None, "fifty moves each without a mill")
    assert ended.view().text == "Draw"
    assert position_of(ended.text()).outcome() == ended.outcome()


def test_a_side_that_cannot_move_loses() -> None:
    """A side that cannot move loses, even when the draw count is reached."""
    for count in (7, 100):
        blocked = position_of(f"BWB/.../.../W../..W/.../.../BWB black 0-0 {count} flying")
        assert blocked.outcome() == Outcome(0, "no man can move")
        assert blocked.view().text == "White wins"


def test_third_repetition_is_a_draw() -> None:
    """The third occurrence of a position ends the match in a draw."""
    position = position_of("WW./..W/.../.W./.../BB./.B./..B white 0-0 0 flying")
    for token in ("a7-a4", "g1-g4", "a4-a7", "g4-g1") * 2:
        assert position.outcome() is None
        position = position.play(position.parse_move(token))
    assert position.outcome() == Outcome(None, "the same position 3 times")


def test_clicks_and_hands() -> None:
    """Placing, moving and capturing are clicks in order; the view shows the men in hand."""
    start = load_game(GAME).start()
    assert start.view().hands == {"W": 9, "B": 9}
    position = start
    for token in ("a7", "a1", "d7", "d1"):
        position = position.play(position.parse_move(token))
    clicks = {click.id: click.path for click in position.move_views()}
    assert {token: path for token, path in clicks.items() if token.startswith("g7")} == {
        "g7xa1": ("g7", "a1"),
        "g7xd1": ("g7", "d1"),
    }
    ended = position.play(position.parse_move("g7xd1"))
    assert ended.view().marks == {"last": ("g7",), "captured": ("d1",)}
    assert ended.view().hands == {"W": 6, "B": 7}


@pytest.mark.parametrize(
    "text",
    [
        "W../.../.../.../.../.../.../... white 9-9 0 flying",
        "W../.../.../.../.../.../.../... white 8-9 0 flying",
        "W../.../.../.../.../.../.../... black 8-9 3 flying",
        "WWW/WWW/WWW/W../.../.../.../BBB white 0-0 0 flying",
        "WW./.../.../.../.../.../.../BBB black 0-0 0 flying",
        "WWW/.../.../.../.../.../.../BBB black 0-0 101 flying",
        "WWW/.../.../.../.../.../.../BBB black 0-0 5 no-flying",
        "WWW/.../.../.../.../.../.../BBB green 0-0 5 flying",
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text with wrong hands, too many men, an earlier end or another option is refused."""
    with pytest.raises(PositionError):
        position_of(text)
