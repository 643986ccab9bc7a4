"""python -m engine.perft GAME DEPTH: counts the move sequences of each length up to a depth, for
comparison with published tables.
"""

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from engine.command_line import count, option
from engine.compiler.intrinsics import Memory
from engine.compiler.native import NativeGame, compile_game
from engine.game import Game, GameError, Position
from engine.rules.registry import load_game
from engine.search import layout


def perft(native: NativeGame, position: Position, depth: int) -> int:
    """Counts the move sequences of `depth` plies; ValueError for a depth beyond the search's stack.

    A sequence that ends the match earlier is not counted.
    """
    if not 0 <= depth < layout.MAX_PLY:
        raise ValueError(f"a depth is 0 to {layout.MAX_PLY - 1}")
    work = Memory(np.zeros(layout.work_words(int(native.game.rules.MAX_MOVES)), np.int64))
    state = tuple(int(word) for word in position.state)
    return int(native.function("perft")(state, depth, 0, work))


def count_uncompiled(position: Position, depth: int) -> int:
    """Counts the move sequences of `depth` plies, as `perft` does, with the uncompiled rules."""
    if depth == 0:
        return 1
    return sum(count_uncompiled(position.play(move), depth - 1) for move in position.moves())


def counter_of(game: Game) -> Callable[[Position, int], int]:
    """Returns the function that counts a game's move sequences, compiled if the game can be."""
    if game.rules.SEARCH == "teach":
        return count_uncompiled
    native = compile_game(game)
    native.function("perft")
    return partial(perft, native)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.perft", description=__doc__)
    parser.add_argument("game")
    parser.add_argument("depth", type=count)
    parser.add_argument(
        "--position", help="start from this position instead of the start of the game"
    )
    parser.add_argument("--option", type=option, action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args(arguments)
    try:
        game = load_game(args.game)
        options = dict(args.option)
        position = (
            game.start(options) if args.position is None else game.position(args.position, options)
        )
        count_at = counter_of(game)
        for depth in range(1, args.depth + 1):
            start_s = time.perf_counter()
            sequences = count_at(position, depth)
            print(f"{depth:3} {sequences:20,} {time.perf_counter() - start_s:9.3f} s")
    except (GameError, ValueError) as error:
        print(f"perft: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
