"""Search hooks and evaluations of both draughts games, compared with plain code on squares."""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.game import Game, Position
from engine.rules.data import load_data, number_files
from engine.rules.registry import load_game

#: Both draughts games.
GAMES = ("draughts", "international-draughts")


def positions(game: Game, seed: int, matches: int) -> list[Position]:
    """Returns the unfinished positions of some random matches."""
    rng = random.Random(seed)
    unfinished = []
    for _ in range(matches):
        position = game.start()
        while moves := position.moves():
            unfinished.append(position)
            position = position.play(rng.choice(moves))
    return unfinished


def promotes(position: Position, move: int) -> bool:
    """Returns whether a move makes a king and captures nothing."""
    after = position.play(move).state
    before = position.state
    kings = bin(int(after[1] & after[2])).count("1") - bin(int(before[0] & before[2])).count("1")
    return kings == 1 and after[0] == before[1]


@pytest.mark.parametrize("game_id", GAMES)
def test_hooks_match_the_moves(game_id: str) -> None:
    """A position is unstable if its moves are captures; otherwise its promotions are tactical.

    Only captures and promotions have a positive rank.
    """
    game = load_game(game_id)
    rules: Any = game.module
    buffer = [0] * int(rules.MAX_MOVES)
    unstable_count = promotion_count = 0
    for position in positions(game, seed=3, matches=20):
        moves = position.moves()
        is_capture = "x" in position.format_move(moves[0])
        promoting = [move for move in moves if promotes(position, move)]
        assert bool(rules.unstable(position.state)) == is_capture, position.text()
        tactical = buffer[: rules.tactical(position.state, buffer)]
        assert sorted(tactical) == sorted([] if is_capture else promoting), position.text()
        ranked = [move for move in moves if rules.rank(position.state, move) > 0]
        assert ranked == (moves if is_capture else promoting), position.text()
        unstable_count += is_capture
        promotion_count += len(promoting)
    assert unstable_count > 100
    assert promotion_count > 20


@pytest.mark.parametrize("game_id", GAMES)
def test_evaluation_is_the_same_for_both_sides(game_id: str) -> None:
    """A position rotated by 180 degrees with the colours swapped has the same value."""
    game = load_game(game_id)
    rules: Any = game.module
    numbers = random_numbers(game, seed=4)
    rotated = rules.evaluation.reversed_board
    for position in positions(game, seed=4, matches=5):
        mine, other, kings, last = position.state
        swapped = (rotated(mine), rotated(other), rotated(kings), last ^ np.uint64(1))
        assert rules.evaluate(swapped, numbers) == rules.evaluate(position.state, numbers), (
            position.text()
        )


def random_numbers(game: Game, seed: int) -> Any:
    """Returns random weights in place of those of the evaluation."""
    numbers = load_data(game).copy()
    rng = np.random.default_rng(seed)
    for file in number_files(game):
        for row in file.rows:
            if row.name != "tables":
                numbers[row.first : row.first + len(row.numbers)] = rng.integers(
                    -99, 100, len(row.numbers)
                )
    return numbers


# --- the evaluation of international draughts, by squares


#: Row and column, from 0, counted from a side's home row.
Square = tuple[int, int]


def sides(position: Position) -> list[dict[Square, str]]:
    """Returns the pieces of the side to move and of the opponent, by the former's squares."""
    view = position.view().pieces
    both: list[dict[Square, str]] = [{}, {}]
    for name, piece in view.items():
        row, x = divmod(int(name) - 1, 5)
        column = 2 * x + 1 - row % 2
        square = (row, column) if position.turn == 1 else (9 - row, 9 - column)
        both["wb".index(piece.lower()) ^ position.turn][square] = (
            "man" if piece.islower() else "king"
        )
    return both


def rotate_board(pieces: dict[Square, str]) -> dict[Square, str]:
    """Returns the pieces on the board rotated by 180 degrees."""
    return {(9 - row, 9 - column): piece for (row, column), piece in pieces.items()}


def men(pieces: dict[Square, str]) -> set[Square]:
    """Returns the squares of the men."""
    return {square for square, piece in pieces.items() if piece == "man"}


def number_of(row: int, column: int) -> int:
    """Returns the number of a square from its row and column."""
    return 5 * row + column // 2


def bits_of_rows(squares: Iterable[Square], pair: int) -> int:
    """Returns the set of the squares in a pair of rows as ten bits."""
    return sum(
        1 << number_of(row, column) - 10 * pair for row, column in squares if row // 2 == pair
    )


def region_index(mine: set[Square], other: set[Square], pair: int, left: int) -> int:
    """Returns the men on the squares left and left + 1 of four rows as a number in base three."""
    squares = [
        (row, 2 * x + 1 - row % 2)
        for row in range(2 * pair, 2 * pair + 4)
        for x in (left, left + 1)
    ]
    return sum(
        3**i * (1 if square in mine else 2 if square in other else 0)
        for i, square in enumerate(squares)
    )


def terms_of_side(
    rows: dict[str, list[int]], mine: dict[Square, str], other: dict[Square, str]
) -> tuple[int, int, int]:
    """Returns one side's terms for the full board, for the empty board, and for both."""
    free = (
        {(r, c) for r in range(10) for c in range(10) if (r + c) % 2 == 1}
        - mine.keys()
        - other.keys()
    )
    own, kings = men(mine), mine.keys() - men(mine)
    first = sum(rows["men_first"][1024 * pair + bits_of_rows(own, pair)] for pair in range(5))
    last = sum(rows["men_last"][1024 * pair + bits_of_rows(own, pair)] for pair in range(5))
    for side in (-1, 1):  # a square that two men can reach counts twice
        moves = len({(row + 1, column + side) for row, column in own} & free)
        first += moves * rows["mobility_first"][0]
        last += moves * rows["mobility_last"][0]
    first += len(kings) * rows["king_first"][0]
    last += len(kings) * rows["king_last"][0]
    always = sum(row + column == 9 for row, column in kings) * rows["diagonal_king"][0]
    always += rows["only_kings"][0] if kings and not other.keys() - men(other) else 0
    for pair in range(2):
        for left in range(4):
            index = region_index(own, men(other), pair, left)
            always += rows["region"][6561 * (4 * pair + left) + index]
    wing = abs(sum((column // 2 < 2) - (column // 2 > 2) for _, column in own))
    return first, last, always + rows["balance"][wing]


def threats(mine: dict[Square, str], other: dict[Square, str]) -> int:
    """Returns the number of pieces that can capture an adjacent piece."""
    count = 0
    for row, column in mine:
        jumps = [
            (row + a, column + b, row + 2 * a, column + 2 * b) for a in (-1, 1) for b in (-1, 1)
        ]
        count += any(
            (r1, c1) in other
            and 0 <= r2 < 10
            and 0 <= c2 < 10
            and (r2, c2) not in mine
            and (r2, c2) not in other
            for r1, c1, r2, c2 in jumps
        )
    return count


def plain_evaluation(position: Position, rows: dict[str, list[int]]) -> int:
    """Returns the evaluation of international draughts, computed from squares."""
    mine, other = sides(position)
    ours = terms_of_side(rows, mine, other)
    theirs = terms_of_side(rows, rotate_board(other), rotate_board(mine))
    first, last, always = (a - b for a, b in zip(ours, theirs, strict=True))
    first += threats(other, mine) * rows["threat_first"][0] + rows["turn_first"][0]
    last += threats(other, mine) * rows["threat_last"][0] + rows["turn_last"][0]
    if "x" in position.format_move(position.moves()[0]):
        always += rows["to_capture"][0]
    count = len(mine) + len(other)
    value = always + (first * count + last * (40 - count)) // 40
    for side, opponent in ((mine, other), (other, mine)):
        if list(opponent.values()) == ["king"] and len(side) <= 3 and "king" in side.values():
            return value // 10
    return value


def test_international_draughts_by_squares() -> None:
    """With random weights the evaluation equals the plain one, compiled and uncompiled."""
    game = load_game("international-draughts")
    rules: Any = game.module
    numbers = random_numbers(game, seed=5)
    rows: dict[str, list[int]] = {}
    for row in number_files(game)[0].rows:  # a long row comes in parts
        rows.setdefault(row.name, []).extend(numbers[row.first :][: len(row.numbers)].tolist())
    compiled = compile_game(game).function("rule_evaluate")
    positions_with_kings = 0
    for position in positions(game, seed=5, matches=6):
        expected = plain_evaluation(position, rows)
        with np.errstate(over="ignore"):
            assert int(rules.evaluate(position.state, numbers)) == expected, position.text()
        assert compiled(tuple(int(word) for word in position.state), Memory(numbers)) == expected, (
            position.text()
        )
        positions_with_kings += bool(position.state[2])
    assert positions_with_kings > 50
