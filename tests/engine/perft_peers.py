"""python -m tests.engine.perft_peers [GAME...]: perft speed of our rules and of other libraries.

Our rules and the other library count one after the other in the same run, each to a depth that
takes some tenths of a second. Both count the moves of the last ply without playing them. Seconds
are processor time, so that other work on the machine matters less.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import chess
import draughts
import pyspiel

from engine.compiler.native import compile_game
from engine.perft import perft
from engine.rules.registry import load_game


def open_spiel(name: str, depth: int) -> int:
    """Counts move sequences with OpenSpiel, in whose checkers each jump is a move."""

    def count(state: pyspiel.State, plies: int) -> int:
        if plies == 1 or state.is_terminal():
            return len(state.legal_actions())
        return sum(count(state.child(action), plies - 1) for action in state.legal_actions())

    return count(pyspiel.load_game(name).new_initial_state(), depth)


def pydraughts(variant: str, depth: int) -> int:
    """Counts move sequences with pydraughts."""

    def count(board: draughts.Board, plies: int) -> int:
        moves = board.legal_moves()
        if plies == 1:
            return len(moves)
        total = 0
        for move in moves:
            board.push(move)
            total += count(board, plies - 1)
            board.pop()
        return total

    return count(draughts.Board(variant=variant), depth)


def python_chess(variant: str, depth: int) -> int:
    """Counts move sequences with python-chess."""

    def count(board: chess.Board, plies: int) -> int:
        if plies == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += count(board, plies - 1)
            board.pop()
        return total

    return count(chess.Board(), depth)


@dataclass(frozen=True)
class Row:
    """A measurement of our rules of a game and of the same game in another library, the peer.

    `target` is for our rules, in millions of move sequences a second. `variant` is the peer's name
    for the game. The two depths differ because the peer is slower.
    """

    game: str
    depth: int
    target: float | None
    peer: Callable[[str, int], int]
    variant: str
    peer_depth: int


#: The measurements.
ROWS = (
    Row("chess", 5, 40, python_chess, "chess", 4),
    Row("othello", 10, 250, open_spiel, "othello", 7),
    Row("draughts", 10, 50, open_spiel, "checkers", 7),
    Row("draughts", 10, 50, pydraughts, "english", 4),
    Row("international-draughts", 9, None, pydraughts, "standard", 3),
)


def rate(function: Callable[[], int]) -> float:
    """Returns millions of sequences per second of processor time."""
    started_s = time.process_time()
    return function() / (time.process_time() - started_s) / 1e6


def measure(row: Row, rounds: int) -> tuple[float, float]:
    """Returns the medians of our rate and the peer's."""
    native = compile_game(load_game(row.game))
    start = native.game.start()
    perft(native, start, 1)
    rates = [
        (
            rate(lambda: perft(native, start, row.depth)),
            rate(lambda: row.peer(row.variant, row.peer_depth)),
        )
        for _ in range(rounds)
    ]
    return median(ours for ours, _ in rates), median(theirs for _, theirs in rates)


def main() -> int:
    """Prints the table; returns 0 if all targets are reached, otherwise 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.perft_peers", description=__doc__)
    parser.add_argument("game", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    code = 0
    print(
        f"{'game':24} {'depth':>5} {'ours M/s':>9} {'target':>7}"
        f"  {'peer':14} {'depth':>5} {'M/s':>9} {'ratio':>9}"
    )
    for row in ROWS:
        if options.game and row.game not in options.game:
            continue
        ours, theirs = measure(row, options.rounds)
        code |= row.target is not None and ours < row.target
        print(
            f"{row.game:24} {row.depth:5} {ours:9.1f} {row.target or '':>7}"
            f"  {row.peer.__name__:14} {row.peer_depth:5} {theirs:9.4f} {ours / theirs:9,.0f}",
            flush=True,
        )
    return code


if __name__ == "__main__":
    sys.exit(main())
