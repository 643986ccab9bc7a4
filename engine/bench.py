"""python -m engine.bench: the search's node signature, and its speed beside the same search written in C.

With --deepen GAME: how soon the search of a game comes to each depth from the start.

The signature is the number of nodes of a fixed set of searches: a change that should not change the search keeps it,
any other one says why it does not. The C program is compiled here, where there is a gcc, and run in turn with ours,
in this process and on the same memory; both must visit exactly the same nodes.
"""

import argparse
import ctypes
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from engine.arguments import count
from engine.game import GameError, Position
from engine.games.registry import load_game
from engine.native import Memory
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.search.report import Report

SOURCE = Path(__file__).with_name("bench_connect_four.c")
TABLE_BITS = 20
MOST_TABLE_BITS = 28
WANTED = 0.8
"""Our nodes per second are to be at least this share of C's."""


@dataclass(frozen=True)
class Case:
    """One search of the bench: the moves to its position, and how deep it goes."""

    game: str
    moves: str
    depth: int
    options: tuple[tuple[str, str], ...] = ()

    def position(self) -> Position:
        position = load_game(self.game).start(dict(self.options))
        for token in self.moves.split():
            position = position.play(position.parse_move(token))
        return position


CASES = (
    Case("connect-four", "", 14),
    Case("connect-four", "d d d d d", 14),
    Case("connect-four", "c d d e c e", 14),
    Case("connect-four", "d c c d e b f g a b", 15),
    Case("connect-four", "a g b f d e e d d a g b", 16),
    Case("tic-tac-toe", "", 9),
    Case("tic-tac-toe", "b1", 8),
    Case("sticks", "", 10, (("rows", "1-3-5-7"),)),
    Case("sticks", "", 8, (("rows", "3-4-5-6"),)),
)


def node_counts(techniques: int = layout.ALL, table_bits: int = TABLE_BITS) -> dict[str, int]:
    """The signature: nodes by game, each search with an empty table."""
    searchers: dict[str, Searcher] = {}
    counts: dict[str, int] = {}
    for case in CASES:
        searcher = searchers.setdefault(case.game, Searcher(load_game(case.game)))
        report = searcher.search(
            case.position(), Limit(depth=case.depth), Table(table_bits), Control(), techniques=techniques
        )
        counts[case.game] = counts.get(case.game, 0) + report.nodes
    return counts


def ablation(table_bits: int, out: Callable[[str], None]) -> None:
    """The nodes of connect four's searches with one technique left out at a time: of all, and of those that keep the
    tree (where fewer nodes do the same work).
    """
    out(f"{f'without, table 2**{table_bits}':22} {'all techniques':>16} {'the same tree':>16}")
    for name, bit in {"nothing": 0, **layout.TECHNIQUE}.items():
        counts = [
            node_counts(techniques & ~bit, table_bits)["connect-four"] for techniques in (layout.ALL, layout.SOUND)
        ]
        out(f"{name:22} {counts[0]:16,} {counts[1]:16,}")


Root = Callable[[Position, int, Any, Any, Any], int]


def our_root(searcher: Searcher) -> Root:
    function = searcher.native.function("root")

    def root(position: Position, depth: int, work: Any, table: Any, control: Any) -> int:
        state = tuple(int(word) for word in position.state)
        return int(function(state, depth, 0, Memory(work), Memory(table), Memory(control), searcher.native.data))

    return root


def c_root(folder: Path) -> Root | None:
    """The same search by gcc; None where there is no gcc."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "connect_four.so"
    command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True, timeout=120)
    function = ctypes.CDLL(str(library)).root
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_uint64] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 3

    def root(position: Position, depth: int, work: Any, table: Any, control: Any) -> int:
        mine, discs = (int(word) for word in position.state)
        return int(function(mine, discs, depth, 0, work.ctypes.data, table.ctypes.data, control.ctypes.data))

    return root


@dataclass(frozen=True)
class Lap:
    """One run over the connect four cases."""

    nodes: tuple[int, ...]
    scores: tuple[int, ...]
    seconds: float

    @property
    def speed(self) -> float:
        return sum(self.nodes) / self.seconds


def lap(root: Root, cases: list[tuple[Position, int]], work: Any, table: Any, control: Any) -> Lap:
    """Deepens each case from depth 1 on, as the driver does, with an empty table."""
    nodes, scores, seconds = [], [], 0.0
    for position, depth in cases:
        work.fill(0)
        table.fill(0)
        control.fill(0)
        work[layout.KILLERS : layout.HISTORY] = -1
        work[layout.TECHNIQUES] = layout.BASIC
        work[layout.NODE_LIMIT] = 1 << 62
        work[layout.TABLE_SHIFT] = 64 - TABLE_BITS
        order = position.moves()
        work[layout.ROOT_COUNT] = count = len(order)
        at = layout.root_offset(position.game.rules.MAX_MOVES)
        begun = time.perf_counter()
        for deeper in range(1, depth + 1):
            work[at : at + count] = order
            score = root(position, deeper, work, table, control)
            found = work[at + position.game.rules.MAX_MOVES :][:count].tolist()
            order = [move for _, move in sorted(zip(found, order, strict=True), key=lambda pair: -pair[0])]
        seconds += time.perf_counter() - begun
        nodes.append(int(work[layout.NODES]))
        scores.append(score)
    return Lap(tuple(nodes), tuple(scores), seconds)


def compare(rounds: int, out: Callable[[str], None]) -> float | None:
    """Runs ours and C's in turn, prints the table and returns the median ratio; None without gcc."""
    searcher = Searcher(load_game("connect-four"))
    cases = [(case.position(), case.depth) for case in CASES if case.game == "connect-four"]
    work = np.zeros(layout.work_words(searcher.game.rules.MAX_MOVES), np.int64)
    memories = work, np.zeros(2 << TABLE_BITS, np.uint64), np.zeros(layout.CONTROL_WORDS, np.int64)
    ours = our_root(searcher)
    with tempfile.TemporaryDirectory() as folder:
        peer = c_root(Path(folder))
        lap(ours, cases[:1], *memories)
        laps = [(lap(ours, cases, *memories), lap(peer, cases, *memories) if peer else None) for _ in range(rounds)]
    mine = median(one.speed for one, _ in laps)
    out(f"{'connect-four search':32} {'median nodes/s':>16} {'best':>14}")
    out(f"{'ours':32} {mine:16,.0f} {max(one.speed for one, _ in laps):14,.0f}")
    if peer is None:
        out("no gcc here: nothing to compare with")
        return None
    theirs = [other for _, other in laps if other is not None]
    out(
        f"{'C, gcc -O3 -march=native':32} {median(one.speed for one in theirs):16,.0f}"
        f" {max(one.speed for one in theirs):14,.0f}"
    )
    if any((one.nodes, one.scores) != (other.nodes, other.scores) for one, other in laps if other is not None):
        raise AssertionError("the C program does not visit the same nodes: it no longer follows the kernel")
    ratio = median(one.speed / other.speed for one, other in laps if other is not None)
    reached = "yes" if ratio >= WANTED else "no"
    out(
        f"ratio, median of {rounds} interleaved rounds: {ratio:.2f} (wanted {WANTED:.2f}, reached: {reached});"
        f" the same {sum(laps[0][0].nodes):,} nodes"
    )
    return ratio


DEEPEN_BITS = 22
"""The table of `deepen`: 64 MiB."""


def deepen(game_id: str, depth: int, rounds: int, out: Callable[[str], None]) -> None:
    """Searches from the start with an empty table, without the game's solver, and prints for each depth the nodes (the
    same in all rounds) and the medians of the processor's seconds since the begin and of the nodes a second.
    """
    searcher = Searcher(load_game(game_id))
    runs: list[list[Report]] = []
    for _ in range(rounds + 1):  # the first one warms up
        found: list[Report] = []
        start = searcher.game.start()
        limit, table = Limit(depth=depth), Table(DEEPEN_BITS)
        searcher.search(start, limit, table, Control(), on_depth=found.append, clock=time.process_time)
        runs.append(found)
    out(f"{game_id:>5} {'nodes':>16} {'seconds':>10} {'nodes/s':>14}")
    for laps in zip(*runs[1:], strict=True):
        seconds = median(report.seconds for report in laps)
        out(f"{laps[0].depth:5} {laps[0].nodes:16,} {seconds:10.3f} {laps[0].nodes / seconds:14,.0f}")


def main(arguments: list[str] | None = None) -> int:
    """0 when the wanted ratio is reached or cannot be measured, else 1."""
    parser = argparse.ArgumentParser(prog="python -m engine.bench", description=__doc__)
    parser.add_argument("--rounds", type=count, default=9)
    parser.add_argument("--ablation", action="store_true", help="nodes with one technique left out at a time, no more")
    parser.add_argument(
        "--table-bits", type=count, default=TABLE_BITS, help=f"of the ablation's table, up to {MOST_TABLE_BITS}"
    )
    parser.add_argument("--deepen", metavar="GAME", help="the search of a game from the start to each --depth, no more")
    parser.add_argument("--depth", type=count, default=12, help="of --deepen")
    asked = parser.parse_args(arguments)
    if asked.table_bits > MOST_TABLE_BITS:
        parser.error(f"--table-bits is {MOST_TABLE_BITS} at most, not {asked.table_bits}")
    if asked.deepen:
        try:
            deepen(asked.deepen, asked.depth, asked.rounds, print)
        except GameError as error:
            parser.error(str(error))
        return 0
    if asked.ablation:
        ablation(asked.table_bits, print)
        return 0
    print(f"{platform.machine()}, Python {platform.python_version()}, numba {sys.modules['numba'].__version__}")
    print(f"{'signature, in nodes':22} {'all techniques':>16} {'basic':>16}")
    basic = node_counts(layout.BASIC)
    for game_id, nodes in node_counts(layout.ALL).items():
        print(f"{game_id:22} {nodes:16,} {basic[game_id]:16,}")
    ratio = compare(asked.rounds, print)
    return 0 if ratio is None or ratio >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
