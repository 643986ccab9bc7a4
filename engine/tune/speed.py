"""Measures how fast a game's search is before it is compiled, and how long compiling it takes.

Both are processor times on this machine, for the game's measured file. They need not be exact: one
decides which levels are played in full uncompiled, the other moves a progress bar.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from engine.game import Game, Position
from engine.rules.registry import load_game
from engine.search.driver import SMALL_TABLE_BITS, Control, Searcher, Table, answer
from engine.search.job import Job, Limit
from engine.tune.errors import TuneError

#: Number of positions that are searched uncompiled.
POSITIONS = 12
#: Maximum number of random plies before a position.
MAX_PLIES = 24
#: The nodes of each search: few enough that it ends before the time of an uncompiled search.
NODES = 200
#: How many times slower than this machine another one may be that still takes about a second.
SLOWER = 3
#: The number of nodes is rounded down to a multiple of this.
ROUNDED_TO = 100


def full_nodes(game: Game) -> int:
    """Returns the number of nodes for which the game's uncompiled search takes about a second, on a
    machine that is SLOWER times slower than this one.

    It counts the nodes of completed depths only, so it is rather too low.
    """
    searcher = Searcher(game, compiled=False)
    searcher.prepare_search()
    nodes, begun_s = 0, time.process_time()
    for job in _jobs(game):
        nodes += answer(job, searcher, lambda: Table(SMALL_TABLE_BITS), Control()).info.nodes
    rate = nodes / (time.process_time() - begun_s) / SLOWER
    return max(1, int(rate / ROUNDED_TO)) * ROUNDED_TO


def _jobs(game: Game) -> Iterator[Job]:
    """Searches of positions after random plies; the same ones each time."""
    rng = random.Random(game.id)
    start = game.start()
    for _ in range(POSITIONS):
        position, tokens = start, list[str]()
        for _ in range(rng.randrange(MAX_PLIES)):
            token = rng.choice(position.tokens())
            after: Position = position.play(position.parse_move(token))
            if after.outcome() is not None:
                break
            position = after
            tokens.append(token)
        yield Job(
            game.id, game.digest, dict(start.options), start.text(), tuple(tokens), "tune",
            limit=Limit(nodes=NODES), digest=position.digest(),
        )  # fmt: skip


def compile_cpu_s(game: Game) -> float:
    """Returns the processor time that compiling the game's search takes, in seconds.

    A process with an empty code cache compiles it. Raises TuneError if it fails.
    """
    with TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "engine.tune.speed", game.id],
            env={**os.environ, "PLYROOM_CACHE": cache},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise TuneError(f"{game.id} cannot be compiled")
    return float(done.stdout)


def main(game_id: str) -> None:
    """Compiles a game's search and prints the processor time in seconds."""
    searcher = Searcher(load_game(game_id), with_solver=False)
    begun_s = time.process_time()
    searcher.prepare_search()
    print(round(time.process_time() - begun_s, 1))


if __name__ == "__main__":
    main(sys.argv[1])
