"""Positions of connect four, and their results from the solver and from the book."""

import random
from functools import cache

from engine.game import Position
from engine.rules.registry import load_game
from engine.search.driver import Control
from engine.search.job import Limit
from engine.solvers.base import Solution
from engine.solvers.connect_four import ConnectFourSolver, make_solver
from engine.solvers.connect_four_book import Board, Book, has_four, is_over
from engine.solvers.connect_four_results import LOST, RESULT_DISCS, result_of


@cache
def shared_solver() -> ConnectFourSolver:
    return make_solver(load_game("connect-four"))


def random_position(rng: random.Random, discs: int) -> Position:
    """Returns an unfinished position after `discs` random moves."""
    while True:
        position = load_game("connect-four").start()
        while position.moves() and int(position.state[1]).bit_count() < discs:
            position = position.play(rng.choice(position.moves()))
        if position.moves():
            return position


def board_of(position: Position) -> Board:
    """Returns the bitboards of a position."""
    mine, discs = position.state
    return int(mine), int(discs)


def solve_position(position: Position, solver: ConnectFourSolver | None = None) -> Solution:
    """Returns the solution of a position, without a limit."""
    solution = (solver or shared_solver()).solve(position, Limit(), Control())
    assert solution is not None
    return solution


def mirrored(position: Position) -> Position:
    """Returns the mirror image of a position."""
    rows = position.text().split("/")
    return position.game.position("/".join(row[::-1] for row in rows))


def score_of(after: Position) -> int:
    """Returns the score of the move that led to `after`, for the side that made it."""
    outcome = after.outcome()
    if outcome is None:
        return -solve_position(after).score
    discs = int(after.state[1]).bit_count()
    return 0 if outcome.winner is None else 22 - (discs + 1) // 2


def book_of_the_game() -> Book:
    return shared_solver().book


def book_result(board: Board) -> int:
    """Returns the result in the book."""
    entry = book_of_the_game().find(board)
    assert entry is not None
    return result_of(entry.score)


def book_result_or_none(board: Board) -> int | None:
    """Returns the result in the book, or None if the board has too many discs."""
    return book_result(board) if board[1].bit_count() <= RESULT_DISCS else None


def searched_result(board: Board) -> int:
    """Returns the result of a search without the book."""
    if is_over(board):
        return LOST if has_four(board[0] ^ board[1]) else 0
    solver, control = shared_solver(), Control()
    solver._clear_table()
    solver._start_search(Limit(), control)
    return result_of(solver._score(board, -1, 1, control))
