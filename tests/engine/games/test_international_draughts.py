"""International draughts: rules compared with pydraughts; draws, position texts and clicks."""

import random

import draughts
import numpy as np
import pytest

from engine.game import (
    Game,
    GameFault,
    IllegalMove,
    MalformedMove,
    Outcome,
    Position,
    PositionError,
)
from engine.rules.registry import load_game
from tests.engine.games.planted import planted

#: A move as origin, target and the captured squares.
Squares = tuple[int, int, frozenset[int]]


def position_of(text: str) -> Position:
    """Returns the position with this text."""
    return load_game("international-draughts").position(text)


def after(position: Position, *tokens: str) -> Position:
    """Returns the position after these moves."""
    for token in tokens:
        position = position.play(position.parse_move(token))
    return position


def our_moves(position: Position) -> set[Squares]:
    """Returns our moves as origin, target and captured squares."""
    clicks = position.move_views()
    assert len({(click.path[0], click.path[-1], click.affects) for click in clicks}) == len(
        clicks
    ), position.text()
    return {
        (int(click.path[0]), int(click.path[-1]), frozenset(map(int, click.affects)))
        for click in clicks
    }


def text_without_counts(position: Position) -> str:
    """Returns the position text without the counts, for pydraughts."""
    return position.text().rpartition(":")[0]


def token_of(move: draughts.Move) -> str:
    """Returns our token of a move of pydraughts."""
    return ("x" if move.has_captures else "-").join(map(str, move.steps_move))


def compare(position: Position, rng: random.Random) -> None:
    """Compares the moves of a position and a successor, or the outcome if there is no move."""
    board = draughts.Board(variant="standard", fen=text_without_counts(position))
    theirs = board.legal_moves()
    assert our_moves(position) == {
        (m.steps_move[0], m.steps_move[-1], frozenset(m.captures)) for m in theirs
    }, position.text()
    if not theirs:
        outcome = position.outcome()
        assert outcome is not None
        assert outcome.winner == 1 - position.turn
        return
    move = rng.choice(theirs)
    board.push(move)
    child = position.play(position.parse_move(token_of(move)))
    assert sorted(text_without_counts(child)) == sorted(board.fen), (
        position.text(),
        token_of(move),
    )
    assert position.game.position(child.text()) == child, (position.text(), token_of(move))


def compare_matches(game: Game, matches: int, seed: int, interval: int) -> int:
    """Compares about every `interval`-th position of random matches; returns their number."""
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position = game.start()
        while moves := position.moves():
            if rng.randrange(interval) == 0:
                compare(position, rng)
                compared += 1
            position = position.play(rng.choice(moves))
        outcome = position.outcome()
        if outcome is not None and outcome.winner is not None:
            compare(position, rng)
    return compared


def random_position(game: Game, rng: random.Random) -> Position:
    """Returns a random position with kings and scattered pieces, where captures are long."""
    squares = rng.sample(range(1, 51), rng.randint(6, 16))
    lists: tuple[list[str], list[str]] = ([], [])
    for i, square in enumerate(squares):
        side = int(i % 5 > 1)
        crowned = square <= 5 if side == 0 else square > 45
        lists[side].append(f"K{square}" if crowned or rng.random() < 0.3 else f"{square}")
    return game.position(f"W:W{','.join(lists[0])}:B{','.join(lists[1])}:H0")


#: A position with a capture that returns to its origin by two paths.
CLOSED_PATH = "W:W28:B22,12,13,23:H0"


def compare_positions(game: Game, count: int, seed: int) -> int:
    """Compares random positions with kings; returns the number with captures of several pieces."""
    rng = random.Random(seed)
    compare(game.position(CLOSED_PATH), rng)
    long_capture_count = 0
    for _ in range(count):
        position = random_position(game, rng)
        compare(position, rng)
        long_capture_count += any(len(captured) > 1 for *_, captured in our_moves(position))
    return long_capture_count


def test_rules_match_pydraughts() -> None:
    """On 250 random positions, moves, boards and losses equal those of pydraughts."""
    game = load_game("international-draughts")
    assert compare_matches(game, matches=8, seed=1, interval=10) >= 50
    assert compare_positions(game, 200, seed=1) >= 50


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rules_match_pydraughts_on_many_positions() -> None:
    """On 10,000 random positions, moves, boards and losses equal those of pydraughts."""
    game = load_game("international-draughts")
    compared = compare_matches(game, matches=40, seed=2, interval=1)
    compare_positions(game, max(0, 10_000 - compared), seed=2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    if pieces == 0 or pieces < listed // FOUND:", "    if pieces == 0:"),
        ("        if over & other & ~captured:", "        if over & other:"),
        (
            "        while is_king and over & free:",
            "        while is_king and over & (free | captured):",
        ),
        (
            "        if direction == skipped:",
            "        if direction == skipped or (not is_king and direction > 1):",
        ),
        (
            "land, start, next_skipped, is_king, other",
            "land, start, next_skipped, bool(is_king or land & FIRST_ROW), other",
        ),
        ("        while is_king and over & free:", "        while False:"),
        ("                land = beyond\n", "                land = ZERO\n"),
        ("direction if beyond & free else -1", "direction"),
        (
            "    n = all_captures(s, buf)\n    if n > 0:\n        return n\n",
            "    n = all_captures(s, buf)\n",
        ),
        ("        if buf[i] == move:\n            return listed\n", "        pass\n"),
        ("end & (LAST_ROW if side else FIRST_ROW)", "end & (FIRST_ROW if side else LAST_ROW)"),
        ("    kings = s[2] & ~(start | captured)", "    kings = s[2] & ~start"),
        ("s[1], free | square, ZERO, listed, buf)", "s[1], free, ZERO, listed, buf)"),
    ],
    ids=[
        "any number of pieces",
        "a piece is jumped over twice",
        "captured pieces do not block",
        "men capture forward only",
        "a man is crowned during a capture",
        "kings move one square",
        "kings land right behind the victim",
        "kings never capture twice in a line",
        "a capture is not compulsory",
        "the same capture twice",
        "the wrong row crowns",
        "captured kings stay kings",
        "the square of origin stays occupied",
    ],
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails with one wrong line."""
    with np.errstate(over="ignore"), pytest.raises((AssertionError, GameFault)):
        compare_positions(planted("international-draughts", right, wrong), 200, seed=1)


# --- draws, texts and clicks


def test_25_moves_of_kings_are_a_draw() -> None:
    """25 moves each by kings draw; a capture or a man's move resets the count."""
    end = after(position_of("W:WK46,K47,K48,K49:BK3:H49"), "46-41")
    assert end.outcome() == Outcome(None, "25 king moves each without a capture")
    assert end.view().text == "Draw"
    assert after(position_of("W:WK46,K47,K48,31:BK3:H49"), "31-27").outcome() is None


def test_16_moves_against_a_single_king_are_a_draw() -> None:
    """The count starts when the king is alone, and includes men's moves and captures."""
    two_kings = after(position_of("B:WK46,K47,K48:BK3,K29:H0"), "3-8")
    assert two_kings.text() == "W:WK46,K47,K48:BK8,K29:H1"
    alone = after(position_of("W:WK42,K47,K48:BK3,K29:H7"), "42x24")
    assert alone.text() == "B:WK24,K47,K48:BK3:H0"
    assert after(alone, "3-8").text() == "W:WK24,K47,K48:BK8:H1,1,0"
    drawn = after(position_of("W:WK46,K47,31:BK3:H5,31,0"), "31-27")
    assert drawn.outcome() == Outcome(None, "16 moves each against a single king")
    captured = after(position_of("B:WK6,K48,K14:BK3:H5,30,0"), "3x20")
    assert captured.text() == "W:WK6,K48:BK20:H0,31,0"
    assert after(captured, "6-11").outcome() == Outcome(None, "16 moves each against a single king")


def test_5_moves_of_two_against_a_single_king_are_a_draw() -> None:
    """Five moves each draw with at most two pieces, one of them a king, against a single king."""
    assert after(position_of("W:WK46,K47:BK3:H8,8,8"), "46-41").outcome() is None
    assert after(position_of("W:WK46,31:BK3:H8,9,9"), "31-27").outcome() == Outcome(
        None, "5 moves each against a single king"
    )
    assert after(position_of("W:WK46:BK3:H9,9,9"), "46-41").outcome() == Outcome(
        None, "5 moves each against a single king"
    )


def test_a_blocked_side_loses_even_at_the_draw_count() -> None:
    """A side without a move loses even when a draw count is reached."""
    assert position_of("W:W46:B41,37:H50").outcome() == Outcome(1, "no move is left")
    assert position_of("W:W:B41:H50").outcome() == Outcome(1, "no piece is left")


def test_third_repetition_is_a_draw() -> None:
    """The third occurrence of a position with the same side to move ends the match."""
    position = position_of("W:WK50,K49,31:BK1:H0")
    cycle = ("50-44", "1-7", "44-50", "7-1")
    assert after(position, *cycle).outcome() is None
    assert after(position, *cycle, *cycle).outcome() == Outcome(None, "the same position 3 times")


def test_the_largest_capture_is_compulsory() -> None:
    """A capture of three pieces excludes smaller ones, and a king counts as one piece."""
    position = position_of("W:W28,K46:B22,12,13,K37:H0")
    assert position.tokens() == ["28x17x8x19"]
    assert set(position.move_views()[0].affects) == {"22", "12", "13"}
    assert [position.notation(move) for move in position.moves()] == ["28x19"]
    assert position.format_move(position.parse_move("28x19")) == "28x17x8x19"
    assert after(position, "28x19").text() == "B:W19,K46:BK37:H0"


def test_a_man_that_passes_the_last_row_stays_a_man() -> None:
    """A man becomes a king only if its move ends on the last row."""
    position = position_of("W:W12:B8,9,K40:H0")
    assert position.tokens() == ["12x3x14"]
    assert after(position, "12x3x14").text() == "B:W14:BK40:H0"
    assert after(position_of("W:W12:B8,K40:H0"), "12x3").text() == "B:WK3:BK40:H0"


def test_paths_of_one_capture_are_one_move() -> None:
    """A king may have several paths for one capture; each of them is parsed as the same move."""
    position = position_of("W:WK46:B37,19,10:H0")
    tokens = position.tokens()
    assert len(tokens) == 1
    assert {
        position.parse_move(path) for path in ("46x28x14x5", "46x23x14x5", "46x32x14x5", "46x5")
    } == {position.parse_move(tokens[0])}


@pytest.mark.parametrize("token", ["51-46", "0-4", "32_28", "32-28-23", "x1", "1x", "1", "1-05"])
def test_malformed_moves(token: str) -> None:
    """A text that is not a draughts move is malformed."""
    with pytest.raises(MalformedMove):
        load_game("international-draughts").start().parse_move(token)


@pytest.mark.parametrize("token", ["32-27-", "32-23", "32x23", "19-23", "32x14x5", "1-50"])
def test_illegal_moves(token: str) -> None:
    """A well-formed move that does not fit the position is illegal."""
    with pytest.raises(MalformedMove if token.endswith("-") else IllegalMove):
        load_game("international-draughts").start().parse_move(token)


@pytest.mark.parametrize(
    "bad",
    [
        "W:W32:B51:H0",
        "W:W32:B32:H0",
        "W:W32,32:B1:H0",
        "W:W1:B5:H0",
        "W:W32:B50:H0",
        "W:W32:B1",
        "W:W32:B1:H51",
        "W:W32:B1:H0,1",
        "W:W32:B1:H0,33,0",
        "X:W32:B1:H0",
        "W:W32,:B1:H0",
        "W:W20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40:B1:H0",
    ],
)
def test_bad_positions(bad: str) -> None:
    """A text with a repeated square, a man on its last row or wrong counts is refused."""
    with pytest.raises(PositionError):
        load_game("international-draughts").position(bad)
