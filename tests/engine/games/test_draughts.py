"""Draughts: rules compared with OpenSpiel and pydraughts; draws, position texts and clicks."""

import random
from collections.abc import Iterator
from itertools import chain, combinations, product

import draughts
import numpy as np
import pyspiel
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

#: Our letters by OpenSpiel's; in both, the side that moves first is at the bottom.
PIECES = {"o": "b", "8": "B", "+": "w", "*": "W"}


def position_of(text: str) -> Position:
    """Returns the position with this text."""
    return load_game("draughts").position(text)


def after(position: Position, *tokens: str) -> Position:
    """Returns the position after these moves."""
    for token in tokens:
        position = position.play(position.parse_move(token))
    return position


# --- OpenSpiel: all rules but the draws (its draw is 40 plies without a capture)


def number(cell: str) -> int:
    """Returns our number of OpenSpiel's square, such as a1."""
    return 4 * (int(cell[1]) - 1) + 4 - (ord(cell[0]) - ord("a")) // 2


def referee_pieces(state: pyspiel.State) -> dict[str, str]:
    """Returns OpenSpiel's pieces by our squares."""
    rows = [line for line in str(state).splitlines() if line[:1].isdigit() and len(line) == 9]
    cells = {f"{chr(97 + i)}{row[0]}": piece for row in rows for i, piece in enumerate(row[1:])}
    return {str(number(cell)): PIECES[piece] for cell, piece in cells.items() if piece in PIECES}


def referee_turns(
    state: pyspiel.State, path: tuple[int, ...] = ()
) -> Iterator[tuple[str, pyspiel.State]]:
    """Yields the token of each move and the state after it; OpenSpiel plays jumps one by one."""
    for action in state.legal_actions():
        words = state.action_to_string(action)
        start, end = number(words[:2]), number(words[2:4])
        child = state.child(action)
        squares = (*(path or (start,)), end)
        if not child.is_terminal() and child.current_player() == state.current_player():
            yield from referee_turns(child, squares)
        else:
            sign = "x" if abs(ord(words[0]) - ord(words[2])) == 2 else "-"
            yield sign.join(map(str, squares)), child


def compare(game: Game, matches: int, seed: int) -> dict[str, int]:
    """Compares random matches with OpenSpiel; returns the counts of the kinds of positions."""
    rng = random.Random(seed)
    counts = {"positions": 0, "with kings": 0, "long captures": 0, "wins": 0}
    for _ in range(matches):
        position = game.start()
        referee = pyspiel.load_game("checkers").new_initial_state()
        while not referee.is_terminal():
            turns = dict(referee_turns(referee))
            assert sorted(position.tokens()) == sorted(turns), position.text()
            assert position.turn == referee.current_player(), position.text()
            assert position.view().pieces == referee_pieces(referee), position.text()
            counts["positions"] += 1
            counts["with kings"] += "K" in position.text()
            counts["long captures"] += any(token.count("x") > 1 for token in turns)
            token = rng.choice(sorted(turns))
            played = position.play(position.parse_move(token))
            # Without its past: OpenSpiel does not count repetitions.
            position = Position(game, played.options, played.state)
            referee = turns[token]
        if referee.returns()[0]:
            counts["wins"] += 1
            outcome = position.outcome()
            assert outcome is not None, position.text()
            assert outcome.winner == int(referee.returns()[0] < 0), position.text()
    return counts


def test_rules_match_openspiel() -> None:
    """On 10,000 random positions, moves, boards, sides and losses equal those of OpenSpiel."""
    counts = compare(load_game("draughts"), matches=190, seed=1)
    assert counts["positions"] >= 10_000
    assert counts["with kings"] >= 3_000
    assert counts["long captures"] >= 400
    assert counts["wins"] >= 50


@pytest.mark.long
@pytest.mark.timeout(600)
def test_rules_match_openspiel_on_many_positions() -> None:
    """On 100,000 random positions, moves, boards, sides and losses equal those of OpenSpiel."""
    assert compare(load_game("draughts"), matches=2_000, seed=2)["positions"] >= 100_000


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "    if capturing:\n        return all_captures(s, capturing, buf)\n"
            "    free = BOARD & ~(s[0] | s[1])\n"
            "    down, up = downward(s), upward(s)\n    n =",
            "    free = BOARD & ~(s[0] | s[1])\n    down, up = downward(s), upward(s)\n    n =",
        ),
        (
            "    square = ONE << U(bit)\n    count_before = n\n",
            "    square = ONE << U(bit)\n    count_before = n\n"
            "    directions = 3 if square & (FIRST_ROW | LAST_ROW) else directions\n",
        ),
        (
            "n = captures(bit + 8, start, path * 4, other ^ over,",
            "n = captures(bit + 8, start, path * 4, other,",
        ),
        ("    if n == count_before and path > 1:", "    if path > 1:"),
        ("free | square, 3, buf, n)", "free, 3, buf, n)"),
        ("free | square, 3, buf, n)", "free | square, directions, buf, n)"),
        ("BOARD = U(TWO_ROWS |", "BOARD = U(1 << 8 | TWO_ROWS |"),
        ("    if was_king or end &", "    if end &"),
        ("    kings = s[2] & ~(start | captured)", "    kings = s[2] & ~start"),
        ("    return ONGOING if s[0] else LOST", "    return ONGOING if s[0] else 1"),
        (
            "def no_moves_result(s: State) -> int:\n    return LOST",
            "def no_moves_result(s: State) -> int:\n    return 3",
        ),
    ],
    ids=[
        "a capture is not compulsory",
        "a new king continues its capture",
        "a piece is jumped over twice",
        "a capture may stop early",
        "the square of origin stays occupied",
        "kings capture forward only",
        "a square beside the board",
        "a king becomes a man when it moves",
        "captured kings stay in the set of kings",
        "a side without pieces wins",
        "a blocked side draws",
    ],
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails with one wrong line."""
    with np.errstate(over="ignore"), pytest.raises((AssertionError, GameFault)):
        compare(planted("draughts", right, wrong), matches=190, seed=1)


# --- pydraughts: it is slow, so only a sample; it also has the short notation of captures


def compare_sample(matches: int, seed: int, interval: int) -> int:
    """Compares moves and notation of about every `interval`-th position of random matches.

    Returns the number of positions compared.
    """
    rng = random.Random(seed)
    compared = 0
    for _ in range(matches):
        position = load_game("draughts").start()
        while moves := position.moves():
            if rng.randrange(interval) == 0:
                compared += 1
                board = draughts.Board(variant="english", fen=position.text().rpartition(":")[0])
                theirs = {
                    ("x" if m.has_captures else "-").join(map(str, m.steps_move))
                    for m in board.legal_moves()
                }
                assert set(position.tokens()) == theirs, position.text()
                assert {position.notation(move) for move in moves} >= {
                    m.pdn_move for m in board.legal_moves() if not m.ambiguous
                }, position.text()
            position = position.play(rng.choice(moves))
    return compared


def test_rules_match_pydraughts() -> None:
    """On 100 random positions the moves and their notation equal those of pydraughts."""
    assert compare_sample(matches=20, seed=3, interval=14) >= 100


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_rules_match_pydraughts_on_many_positions() -> None:
    """On 10,000 random positions the moves and their notation equal those of pydraughts."""
    assert compare_sample(matches=200, seed=4, interval=1) >= 10_000


# --- draws, texts and clicks


def test_forty_moves_without_progress_are_a_draw() -> None:
    """After 80 plies by kings the match is drawn; a capture or a man's move resets the count."""
    quiet = position_of("B:WK32:BK1:H79")
    assert quiet.outcome() is None
    end = after(quiet, "1-6")
    assert end.outcome() == Outcome(None, "40 moves each without a capture or a man's move")
    assert end.view().text == "Draw"
    assert after(position_of("B:WK32,28:B1:H79"), "1-5").text() == "W:W28,K32:B5:H0"
    assert after(position_of("B:WK32,6:BK1:H79"), "1x10").text() == "W:WK32:BK10:H0"


def test_a_blocked_side_loses_even_at_the_fortieth_move() -> None:
    """A side without a move loses even when the draw count is reached."""
    assert position_of("B:W9,14:B5:H80").outcome() == Outcome(1, "no move is left")
    assert position_of("B:W9:B:H80").outcome() == Outcome(1, "no piece is left")
    assert position_of("B:W9:B5,1:H80").outcome() == Outcome(
        None, "40 moves each without a capture or a man's move"
    )


def test_third_repetition_is_a_draw() -> None:
    """The third occurrence of a position with the same side to move ends the match."""
    position = position_of("B:WK32:BK1:H0")
    cycle = ("1-6", "32-28", "6-1", "28-32")
    assert after(position, *cycle).outcome() is None
    assert after(position, *cycle, *cycle).outcome() == Outcome(None, "the same position 3 times")


def test_captures_by_two_paths() -> None:
    """Two paths between the same squares are two moves; a king may return to its origin."""
    two_paths = position_of("W:W22:B17,18,9,10:H0")
    assert sorted(two_paths.tokens()) == ["22x13x6", "22x15x6"]
    assert [two_paths.notation(move) for move in two_paths.moves()] == two_paths.tokens()
    with pytest.raises(MalformedMove):
        two_paths.parse_move("22x6")
    closed_path = position_of("B:W6,7,14,15:BK2:H0")
    assert sorted(closed_path.tokens()) == ["2x11x18x9x2", "2x9x18x11x2"]
    assert after(closed_path, "2x9x18x11x2").text() == "W:W:BK2:H0"
    for click in closed_path.move_views():
        assert click.path == tuple(click.id.split("x"))
        assert set(click.affects) == {"6", "7", "14", "15"}


def test_short_captures_are_parsed() -> None:
    """The first and the last square are enough to name a capture if only one has both."""
    position = position_of("B:W6,7,14,15:BK1:H0")
    assert sorted(position.tokens()) == ["1x10x17", "1x10x19", "1x10x3"]
    assert position.format_move(position.parse_move("1x17")) == "1x10x17"
    assert after(position, "1x10x19").view().played == "1x19"


@pytest.mark.parametrize("token", ["33-37", "0-4", "1_5", "1-5-9", "x1", "1x", "1", "1-05"])
def test_malformed_moves(token: str) -> None:
    """A text that is not a draughts move is malformed."""
    with pytest.raises(MalformedMove):
        load_game("draughts").start().parse_move(token)


@pytest.mark.parametrize("token", ["1-5", "12-8", "9x18", "9-13-", "9x17", "1-32", "21-17"])
def test_illegal_moves(token: str) -> None:
    """A well-formed move that does not fit the position is illegal."""
    with pytest.raises((IllegalMove, MalformedMove)) as caught:
        load_game("draughts").start().parse_move(token)
    assert (caught.type is MalformedMove) == token.endswith("-")


@pytest.mark.parametrize(
    "bad",
    [
        "B:W32:B33:H0",
        "B:W32:B32:H0",
        "B:W32,32:B1:H0",
        "B:W1:B5:H0",
        "B:W5:B32:H0",
        "B:W32:B1",
        "B:W32:B1:H81",
        "X:W32:B1:H0",
        "B:W32,:B1:H0",
        "B:WKK32:B1:H0",
        "B:W20,21,22,23,24,25,26,27,28,29,30,31,32:B1:H0",
    ],
)
def test_bad_positions(bad: str) -> None:
    """A text with a repeated square, a man on its last row or a wrong count is refused."""
    with pytest.raises(PositionError):
        load_game("draughts").position(bad)


def count_captures(
    square: tuple[int, int], used: frozenset[tuple[int, int]], blocked: frozenset[tuple[int, int]]
) -> int:
    """Returns an upper bound on the captures of a king that may not land on the blocked squares.

    Every square that it jumps over is assumed to hold a victim, and every other square to be free.
    """
    count = 0
    for down, right in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        over = square[0] + down, square[1] + right
        end = over[0] + down, over[1] + right
        if end in SQUARES - blocked and over not in used:
            count += count_captures(end, used | {over}, blocked)
    return count or int(bool(used))


#: Row and column of the dark squares.
SQUARES = frozenset((row, column) for row in range(8) for column in range(8) if (row + column) % 2)


def test_max_moves_covers_every_position() -> None:
    """MAX_MOVES has room for the captures of any kings in each group of eight squares."""
    total = 0
    for rows, part in product(range(2), repeat=2):
        group = [
            square
            for square in SQUARES
            if square[0] % 2 == rows and (square[0] // 2 + square[1] // 2) % 2 == part
        ]
        placements = chain.from_iterable(combinations(group, count) for count in range(1, 9))
        total += max(
            sum(count_captures(king, frozenset(), frozenset(kings) - {king}) for king in kings)
            for kings in placements
        )
    assert total == load_game("draughts").rules.MAX_MOVES
