"""Gomoku: rules compared with OpenSpiel and with text patterns; threats, texts and views."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest

from engine.conformance.native import cached_data
from engine.game import Game, Outcome, Position, PositionError
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from tests.engine.games.planted import planted

#: The number of rows, and of columns, of the board.
SIZE = 15
#: Patterns of a winning row by the option `win`.
WIN_PATTERNS = {"five-or-more": r"B{5,}|W{5,}", "exactly-five": r"(?<!B)B{5}(?!B)|(?<!W)W{5}(?!W)"}


def gomoku_position(text: str, win: str = "five-or-more") -> Position:
    """Returns the position with this text."""
    return load_game("gomoku").position(text, {"win": win})


def with_stones(black: str, white: str, rest: str = "black five-or-more") -> str:
    """Returns a position text with stones on the given cells."""
    stones = dict.fromkeys(black.split(), "B") | dict.fromkeys(white.split(), "W")
    rows = [
        "".join(stones.get(f"{chr(97 + x)}{y}", ".") for x in range(SIZE))
        for y in range(SIZE, 0, -1)
    ]
    return f"{'/'.join(rows)} {rest}"


def lines(rows: list[str]) -> Iterator[str]:
    """Yields the rows, columns and diagonals as texts."""
    yield from rows
    yield from ("".join(row[x] for row in rows) for x in range(SIZE))
    for board in (rows, rows[::-1]):
        for shift in range(-SIZE + 1, SIZE):
            yield "".join(board[y][y + shift] for y in range(SIZE) if 0 <= y + shift < SIZE)


def has_winning_row(text: str, win: str) -> bool:
    """Returns whether the text of a position has a winning row."""
    rows = text.split(" ")[0].split("/")
    return any(re.search(WIN_PATTERNS[win], line) for line in lines(rows))


def cell_number(move: int) -> int:
    """Returns OpenSpiel's number of the cell of a move."""
    return move // 16 * SIZE + move % 16


def compare(game: Game, matches: int, seed: int, win: str) -> int:
    """Compares moves and results of random matches; returns the number of positions.

    The reference is OpenSpiel, or the text patterns with the option `exactly-five`.
    """
    rng = random.Random(seed)
    compared = 0
    for match in range(matches):
        position, referee = (
            game.start({"win": win}),
            pyspiel.load_game("gomoku").new_initial_state(),
        )
        rank = {cell: rng.random() * (1 + match % 3 * (cell % SIZE)) for cell in range(SIZE * SIZE)}
        free = sorted(rank, key=lambda cell: rank[cell])
        while True:
            moves = position.moves()
            if win == "five-or-more":
                assert (not moves) == referee.is_terminal(), position.text()
                assert not moves or sorted(map(cell_number, moves)) == referee.legal_actions(), (
                    position.text()
                )
            else:
                assert (not moves) == (has_winning_row(position.text(), win) or not free), (
                    position.text()
                )
                assert not moves or sorted(map(cell_number, moves)) == sorted(free), position.text()
            if not moves:
                break
            compared += 1
            cell = free.pop(rng.randrange(min(4, len(free))))
            position = position.play(next(move for move in moves if cell_number(move) == cell))
            if win == "five-or-more":
                referee.apply_action(cell)
        outcome = position.outcome()
        assert outcome is not None
        assert outcome.winner == (
            1 - position.turn if has_winning_row(position.text(), win) else None
        ), position.text()
        if win == "five-or-more":
            black = referee.returns()[0]
            assert outcome.winner == {1: 0, -1: 1, 0: None}[black], position.text()
    return compared


@pytest.mark.parametrize(
    ("win", "matches"),
    [
        ("five-or-more", 12), ("exactly-five", 10),
        pytest.param("five-or-more", 90, marks=pytest.mark.long),
        pytest.param("exactly-five", 60, marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_rules_match_the_reference(win: str, matches: int) -> None:
    """On hundreds of random positions, moves, wins and winners equal those of the reference."""
    assert compare(load_game("gomoku"), matches, seed=1, win=win) >= matches * 67


#: Source text and faulty text.
FAULTS = [
    ("RISING, 15 + column - row", "RISING, 14 + column - row"),
    ("& (own >> U(3)) & (own >> U(4))\n", "& (own >> U(4)) & (own >> U(5))\n"),
    ("    if exact:\n        five &=", "    if exact and NONE:\n        five &="),
    ("    if exact:\n        five &=", "    if True:\n        five &="),
    (
        "    near = with_neighbours(near)\n",
        "    near = BOARD\n    empty = subtract(empty, CENTRE)\n",
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    FAULTS,
    ids=[
        "missing diagonal",
        "gap in a row",
        "six wins with exactly five",
        "six never wins",
        "missing moves",
    ],
)
def test_a_planted_fault_is_found(right: str, wrong: str) -> None:
    """The comparison fails when a rule is wrong."""
    game = planted("gomoku", right, wrong)
    with pytest.raises((AssertionError, ValueError, StopIteration, RuntimeError)):
        assert [compare(game, matches=60, seed=3, win=win) for win in WIN_PATTERNS]


def images(text: str) -> Iterator[str]:
    """Yields the eight symmetric images of a position text."""
    board, rest = text.split(" ", 1)
    rows = board.split("/")
    for _ in range(4):
        rows = ["".join(column) for column in zip(*rows[::-1], strict=True)]
        yield f"{'/'.join(rows)} {rest}"
        yield f"{'/'.join(row[::-1] for row in rows)} {rest}"


def value(position: Position) -> int:
    """Returns the evaluation of a position for the side to move."""
    with np.errstate(over="ignore"):
        return int(position.game.rules.evaluate(position.state, cached_data(position.game)))


def random_positions(seed: int, matches: int, win: str = "five-or-more") -> list[Position]:
    """Returns positions of random matches with stones crowded in the middle."""
    rng = random.Random(seed)
    positions = []
    for _ in range(matches):
        position = load_game("gomoku").start({"win": win})
        while moves := position.moves():
            positions.append(position)
            position = position.play(rng.choice(moves[: 2 + len(positions) % 7 * 4]))
    return positions


@pytest.mark.parametrize("win", WIN_PATTERNS)
def test_evaluation_has_eight_symmetries(win: str) -> None:
    """The symmetric images of a position have the same value."""
    rng = random.Random(4)
    for position in rng.sample(random_positions(seed=5, matches=12, win=win), 30):
        for image in images(position.text()):
            assert value(gomoku_position(image, win)) == value(position), image


def row_counts(text: str, own: str) -> list[int]:
    """Returns the counts of a side's rows, read from the text.

    The first four count rows of five cells with one to four stones and none of the opponent. The
    last two count rows of four cells between two empty cells, with two and three stones.
    """
    board = [line for line in lines(text.split(" ")[0].split("/")) if len(line) >= 5]
    fives = [line[i : i + 5] for line in board for i in range(len(line) - 4)]
    sixes = [line[i : i + 6] for line in board for i in range(len(line) - 5)]
    stones = [row.count(own) for row in fives if set(row) <= {own, "."}]
    open_rows = [
        row.count(own) for row in sixes if set(row) <= {own, "."} and row[0] == row[5] == "."
    ]
    return [stones.count(n) for n in (1, 2, 3, 4)] + [open_rows.count(n) for n in (2, 3)]


def state_counts(position: Position, side: int) -> list[int]:
    """Returns the counts of `row_counts` from the state."""
    rows = position.state[9 if position.turn == side else 10]
    open_rows = int(position.state[11]) >> (0 if position.turn == side else 32)
    return [int(rows) >> 16 * i & 0xFFFF for i in range(4)] + [
        open_rows >> 16 * i & 0xFFFF for i in range(2)
    ]


def new_row_counts(text: str, cell: int, own: str) -> list[int]:
    """Returns the number of rows of two to five stones, and of open threes, that a stone makes."""
    marked = text[:cell] + "*" + text[cell + 1 :]
    board = list(lines([marked[i : i + 15] for i in range(0, 225, 15)]))
    fives = [line[i : i + 5] for line in board for i in range(len(line) - 4)]
    sixes = [line[i : i + 6] for line in board for i in range(len(line) - 5)]
    stones = [row.count(own) + 1 for row in fives if "*" in row and set(row) <= {own, ".", "*"}]
    open_rows = [
        row
        for row in sixes
        if "*" in row and set(row) <= {own, ".", "*"} and row[0] == row[5] == "."
    ]
    return [stones.count(n) for n in (2, 3, 4, 5)] + [sum(row.count(own) == 2 for row in open_rows)]


def test_ranks() -> None:
    """Moves that win, make or stop a four or an open three come first; lone stones come last."""
    rules: Any = load_game("gomoku").module
    signs = {1: 0, 0: 0, -1: 0}
    for position in random.Random(8).sample(random_positions(seed=9, matches=12), 10):
        board, side = position.text().split(" ", 1)
        text = board.replace("/", "")
        own, other = "BW" if side.startswith("black") else "WB"
        for move in random.Random(3).sample(position.moves(), min(40, len(position.moves()))):
            cell = position.format_move(move)
            index = (15 - int(cell[1:])) * 15 + ord(cell[0]) - 97
            assert text[index] == "."
            ours, theirs = new_row_counts(text, index, own), new_row_counts(text, index, other)
            with np.errstate(over="ignore"):
                ranked = int(rules.rank(position.state, move))
            if ours[3] or ours[2] or theirs[2] or ours[4] or theirs[4]:
                assert ranked > 0, (position.text(), cell)
                assert (ranked == 1000) == bool(ours[3])
            else:
                assert ranked == (0 if ours[0] or theirs[0] or ours[1] or theirs[1] else -1), (
                    position.text(),
                    cell,
                )
            signs[(ranked > 0) - (ranked < 0)] += 1
    assert min(signs.values()) > 5, signs


def compare_counts(game: Game) -> None:
    """Compares the row counts of states and texts in random matches."""
    rng = random.Random(11)
    for match in range(6):
        position = game.start({"win": "exactly-five" if match % 2 else "five-or-more"})
        for ply in range(200):
            moves = position.moves()
            if not moves:
                break
            if ply % 9 == 8:
                for side, own in enumerate("BW"):
                    assert state_counts(position, side) == row_counts(position.text(), own), (
                        position.text()
                    )
                read = game.position(position.text(), dict(position.options))
                assert read == position, position.text()
            position = position.play(rng.choice(moves[: 2 + ply % 40] if match % 3 else moves))


def test_row_counts() -> None:
    """The row counts that `play` updates equal those of the text."""
    compare_counts(load_game("gomoku"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "usable = middle & (free >> U(4)) & FIVE_STARTS",
            "usable = middle & (free >> U(4)) & (FIVE_STARTS << ONE)",
        ),
        ("(empty >> U(5)) & SIX_STARTS", "(free >> U(5)) & SIX_STARTS"),
        (
            "count_rows(their_star, valid & ~(my_star | MIDDLE))",
            "count_rows(their_star, valid & ~my_star)",
        ),
        ("open_other | (open_mine << U(32))", "open_mine | (open_other << U(32))"),
        ("((ones & e) | (twos & ~e))", "((ones & e) | (twos & e))"),
    ],
    ids=["missing row", "occupied ends", "blocked rows", "swapped sides", "lost carry"],
)
def test_a_wrong_count_is_found(right: str, wrong: str) -> None:
    """The comparison of counts fails when a rule is wrong."""
    game = planted("gomoku", right, wrong)
    with pytest.raises(AssertionError):
        compare_counts(game)


@pytest.mark.parametrize("win", WIN_PATTERNS)
def test_a_win_in_one_is_evaluated(win: str) -> None:
    """The evaluation is a win exactly if there is a winning move; winning moves come first."""
    rng = random.Random(7)
    win_count = 0
    for position in rng.sample(random_positions(seed=7, matches=5, win=win), 12):
        winning = [move for move in position.moves() if position.play(move).outcome() is not None]
        assert (value(position) == 19_000) == bool(winning), position.text()
        assert sorted(position.moves()[: len(winning)]) == sorted(winning), position.text()
        win_count += bool(winning)
    assert 1 < win_count < 11


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_decided_position_is_won(seed: int, searcher_of: Callable[[str], Searcher]) -> None:
    """If the evaluation counts an open four or open three as a win, the search finds the win."""
    rng = random.Random(seed)
    decided = [
        position
        for position in random_positions(seed + 8, matches=40)
        if 18_000 < abs(value(position)) < 19_000
    ]
    for position in rng.sample(decided, 12):
        limit = Limit(depth=5, nodes=2_000_000)
        report = searcher_of("gomoku").search(position, limit, Table(16), Control())
        assert report.score * value(position) > 0, position.text()
        assert abs(report.score) > 29_000, position.text()


def test_six_in_a_row() -> None:
    """Six in a row win, except with `exactly-five`, where a five in another row still wins."""
    black, white = "a1 b1 c1 e1 f1", "a3 c5 e7 g9 i11"
    free = gomoku_position(with_stones(black, white))
    assert free.play(free.parse_move("d1")).outcome() == Outcome(0, "five in a row")
    exact = gomoku_position(with_stones(black, white, "black exactly-five"), "exactly-five")
    assert exact.play(exact.parse_move("d1")).outcome() is None
    both = with_stones(f"{black} d2 d3 d4 d5", f"{white} k2 l4 m6 n8", "black exactly-five")
    position = gomoku_position(both, "exactly-five")
    ended = position.play(position.parse_move("d1"))
    assert ended.outcome() == Outcome(0, "five in a row")
    assert set(ended.view().marks["win"]) == {"d1", "d2", "d3", "d4", "d5"}
    assert gomoku_position(ended.text(), "exactly-five").outcome() == ended.outcome()


def test_rows_do_not_wrap_around_an_edge() -> None:
    """Cells at opposite edges of the board are not adjacent."""
    for black in ("m1 n1 o1 a2", "a13 a14 a15 a1", "m3 n2 o1 a2", "n14 o15 a1 b2", "a2 b1 o3 n4"):
        position = gomoku_position(with_stones(black, "d5 e7 g8 i10"))
        assert abs(value(position)) < 1_000, black
        for cell in ("b2", "a2", "c3", "o2", "a3", "m13", "a12", "l1", "l4", "m5"):
            if cell in position.tokens():
                assert position.play(position.parse_move(cell)).outcome() is None, (black, cell)


@pytest.mark.parametrize(
    "text",
    [
        with_stones("h8", ""),
        with_stones("", "h8"),
        with_stones("", "", "white five-or-more"),
        with_stones("", "", "black exactly-five"),
        with_stones("", "", "red five-or-more"),
        with_stones("a1 b1 c1 d1 e1", "a3 c5 e7 g9 i11"),
        with_stones("", "").replace("./", "/", 1),
    ],
)
def test_impossible_positions(text: str) -> None:
    """A text with stones out of turn, an earlier win or another option is refused."""
    with pytest.raises(PositionError):
        gomoku_position(text)


def test_an_empty_board_is_the_start() -> None:
    """The text of an empty board with Black to move is the start."""
    assert gomoku_position(with_stones("", "")) == load_game("gomoku").start()


def test_a_full_board_is_a_draw() -> None:
    """A full board without a winning row is a draw."""
    rows = [("BBWW" * 5)[shift : shift + SIZE] for shift in (0, 2)]
    text = "/".join(rows[y % 2] for y in range(SIZE))
    assert text.count("B") - text.count("W") == 1
    position = gomoku_position(f"{text} white five-or-more")
    assert position.outcome() == Outcome(None, "the board is full")
    assert position.view().text == "Draw"
