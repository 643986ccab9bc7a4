"""python -m engine.bench: the search's node signature, and its speed beside the same search in C.

With --deepen GAME: the time and nodes that the search of a game needs for each depth from the
start.

The signature is the node count of a fixed set of searches. A change that is not meant to alter the
search keeps the signature; any other change states why it differs. If gcc is installed, the C
program is compiled and the two run alternately, in this process and on the same memory. Both must
visit exactly the same nodes.
"""

import argparse
import ctypes
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import numpy as np

from engine.command_line import between, count
from engine.compiler.intrinsics import Memory
from engine.game import GameError, Position
from engine.rules.registry import load_game
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import ALL, BASIC, FEATURE, SOUND
from engine.search.job import Limit
from engine.search.report import Report

#: The source of the C program.
SOURCE = Path(__file__).with_name("connect_four.c")
#: Default size of the table, as a power of two of entries.
TABLE_BITS = 20
#: Maximum of --table-bits.
MAX_TABLE_BITS = 28
#: The target: our nodes per second as a share of the C program's.
TARGET_RATIO = 0.8


@dataclass(frozen=True)
class Case:
    """One search of the bench: the moves that lead to its position, and its depth."""

    game: str
    moves: str
    depth: int
    options: tuple[tuple[str, str], ...] = ()

    def position(self) -> Position:
        position = load_game(self.game).start(dict(self.options))
        for token in self.moves.split():
            position = position.play(position.parse_move(token))
        return position


#: The searches of the signature.
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


def node_counts(features: int = ALL, table_bits: int = TABLE_BITS) -> dict[str, int]:
    """The signature: nodes by game, where each search starts with an empty table."""
    searchers: dict[str, Searcher] = {}
    counts: dict[str, int] = {}
    for case in CASES:
        searcher = searchers.setdefault(case.game, Searcher(load_game(case.game)))
        report = searcher.search(
            case.position(),
            Limit(depth=case.depth),
            Table(table_bits),
            Control(),
            features=features,
        )
        counts[case.game] = counts.get(case.game, 0) + report.nodes
    return counts


def ablation(table_bits: int) -> dict[str, tuple[int, int]]:
    """The nodes of the connect four searches with one feature disabled at a time.

    The first count is with all other features. The second is with only the sound features, which do
    not change the tree, so that fewer nodes do the same work.
    """

    def nodes(features: int) -> int:
        return node_counts(features, table_bits)["connect-four"]

    return {
        name: (nodes(ALL & ~bit), nodes(SOUND & ~bit))
        for name, bit in {"nothing": 0, **FEATURE}.items()
    }


#: Searches a position to a depth on the given work memory, table and control block.
Root = Callable[[Position, int, Any, Any, Any], int]


def our_root(searcher: Searcher) -> Root:
    """Our compiled root search."""
    function = searcher.native.function("root")

    def root(position: Position, depth: int, work: Any, table: Any, control: Any) -> int:
        state = tuple(int(word) for word in position.state)
        return int(
            function(
                state, depth, 0, Memory(work), Memory(table), Memory(control), searcher.native.data
            )
        )

    return root


def c_root(folder: Path) -> Root | None:
    """The C program's root search, compiled by gcc; None if gcc is not installed."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "connect_four.so"
    command = [
        compiler,
        "-O3",
        "-march=native",
        "-shared",
        "-fPIC",
        "-o",
        str(library),
        str(SOURCE),
    ]
    subprocess.run(command, check=True, timeout=120)
    function = ctypes.CDLL(str(library)).root
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_uint64] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 3

    def root(position: Position, depth: int, work: Any, table: Any, control: Any) -> int:
        mine, discs = (int(word) for word in position.state)
        return int(
            function(
                mine, discs, depth, 0, work.ctypes.data, table.ctypes.data, control.ctypes.data
            )
        )

    return root


@dataclass(frozen=True)
class Lap:
    """One run over the connect four cases; `seconds` are processor time."""

    nodes: tuple[int, ...]
    scores: tuple[int, ...]
    seconds: float

    @property
    def speed(self) -> float:
        return sum(self.nodes) / self.seconds


def run_lap(
    root: Root, cases: list[tuple[Position, int]], work: Any, table: Any, control: Any
) -> Lap:
    """Searches each case by iterative deepening, as the driver does, with an empty table."""
    nodes, scores, seconds = [], [], 0.0
    for position, depth in cases:
        work.fill(0)
        table.fill(0)
        control.fill(0)
        work[layout.KILLERS : layout.HISTORY] = -1
        work[layout.FEATURES] = BASIC
        work[layout.NODE_LIMIT] = 1 << 62
        work[layout.TABLE_SHIFT] = 64 - TABLE_BITS
        order = position.moves()
        work[layout.ROOT_COUNT] = move_count = len(order)
        at = layout.root_offset(position.game.rules.MAX_MOVES)
        start_s = time.thread_time()
        for deeper in range(1, depth + 1):
            work[at : at + move_count] = order
            score = root(position, deeper, work, table, control)
            values = work[at + position.game.rules.MAX_MOVES :][:move_count].tolist()
            order = [
                move
                for _, move in sorted(zip(values, order, strict=True), key=lambda pair: -pair[0])
            ]
        seconds += time.thread_time() - start_s
        nodes.append(int(work[layout.NODES]))
        scores.append(score)
    return Lap(tuple(nodes), tuple(scores), seconds)


@dataclass(frozen=True)
class Comparison:
    """Interleaved laps of our search and of the C program; `peers` is empty without gcc."""

    ours: tuple[Lap, ...]
    peers: tuple[Lap, ...]

    @property
    def ratio(self) -> float | None:
        """The median ratio of our speed to that of C; None without gcc."""
        pairs = zip(self.ours, self.peers, strict=False)
        return median(ours.speed / peer.speed for ours, peer in pairs) if self.peers else None


def compare(rounds: int, cases: Sequence[Case] = CASES) -> Comparison:
    """Runs our search and the C program in turn over the connect four cases.

    Raises AssertionError if their nodes or scores differ.
    """
    searcher = Searcher(load_game("connect-four"))
    searches = [(case.position(), case.depth) for case in cases if case.game == "connect-four"]
    work = np.zeros(layout.work_words(searcher.game.rules.MAX_MOVES), np.int64)
    memories = work, np.zeros(2 << TABLE_BITS, np.uint64), np.zeros(layout.CONTROL_WORDS, np.int64)
    ours = our_root(searcher)
    with tempfile.TemporaryDirectory() as folder:
        peer = c_root(Path(folder))
        run_lap(ours, searches[:1], *memories)
        laps = [
            (
                run_lap(ours, searches, *memories),
                run_lap(peer, searches, *memories) if peer else None,
            )
            for _ in range(rounds)
        ]
    if any(
        peer_lap and (our_lap.nodes, our_lap.scores) != (peer_lap.nodes, peer_lap.scores)
        for our_lap, peer_lap in laps
    ):
        raise AssertionError(
            "the C program does not visit the same nodes: it no longer follows the kernel"
        )
    return Comparison(
        tuple(our_lap for our_lap, _ in laps),
        tuple(peer_lap for _, peer_lap in laps if peer_lap is not None),
    )


def speed_dict(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON values; speeds are medians in nodes per second."""
    return {
        "nodes": sum(comparison.ours[0].nodes),
        "nodes_per_second": round(median(lap.speed for lap in comparison.ours)),
        "c_nodes_per_second": round(median(lap.speed for lap in comparison.peers))
        if comparison.peers
        else None,
        "ratio": comparison.ratio,
        "wanted": TARGET_RATIO,
        "reached": None if comparison.ratio is None else comparison.ratio >= TARGET_RATIO,
    }


def speed_text(comparison: Comparison) -> str:
    lines = [f"{'connect-four search':32} {'median nodes/s':>16} {'best':>14}"]
    for name, laps in ("ours", comparison.ours), ("C, gcc -O3 -march=native", comparison.peers):
        if laps:
            speeds = [lap.speed for lap in laps]
            lines.append(f"{name:32} {median(speeds):16,.0f} {max(speeds):14,.0f}")
    if comparison.ratio is None:
        return "\n".join([*lines, "there is no gcc: nothing to compare with"])
    reached = "yes" if comparison.ratio >= TARGET_RATIO else "no"
    lines.append(
        f"ratio, median of {len(comparison.ours)} interleaved rounds: {comparison.ratio:.2f}"
        f" (wanted {TARGET_RATIO:.2f}, reached: {reached});"
        f" the same {sum(comparison.ours[0].nodes):,} nodes"
    )
    return "\n".join(lines)


#: Size of the table of `deepen`, as a power of two of entries: 64 MiB.
DEEPEN_BITS = 22


@dataclass(frozen=True)
class Depth:
    """A completed depth, with the nodes and processor seconds since the search began."""

    depth: int
    nodes: int
    seconds: float


def deepen(game_id: str, depth: int, rounds: int) -> list[Depth]:
    """Searches a game from the start with an empty table and without the game's solver.

    Returns for each depth its nodes, the same in all rounds, and the median of its seconds.
    """
    searcher = Searcher(load_game(game_id))
    runs: list[list[Report]] = []
    for _ in range(rounds + 1):  # the first run warms up
        reports: list[Report] = []
        start = searcher.game.start()
        limit, table = Limit(depth=depth), Table(DEEPEN_BITS)
        searcher.search(
            start, limit, table, Control(), on_depth=reports.append, clock=time.process_time
        )
        runs.append(reports)
    by_depth = zip(*runs[1:], strict=True)
    return [
        Depth(reports[0].depth, reports[0].nodes, median(report.seconds for report in reports))
        for reports in by_depth
    ]


def ablation_text(args: argparse.Namespace) -> str:
    counts = ablation(args.table_bits)
    if args.json:
        return as_json(
            {name: {"all": full, "same_tree": sound} for name, (full, sound) in counts.items()}
        )
    head = f"{f'without, table 2**{args.table_bits}':22} {'all features':>16} {'the same tree':>16}"
    return "\n".join(
        [head, *(f"{name:22} {full:16,} {sound:16,}" for name, (full, sound) in counts.items())]
    )


def depths_text(args: argparse.Namespace) -> str:
    depths = deepen(args.deepen, args.depth, args.rounds)
    if args.json:
        return as_json({"game": args.deepen, "depths": [asdict(depth) for depth in depths]})
    head = f"{args.deepen:>5} {'nodes':>16} {'seconds':>10} {'nodes/s':>14}"
    rows = (
        f"{d.depth:5} {d.nodes:16,} {d.seconds:10.3f} {d.nodes / d.seconds:14,.0f}" for d in depths
    )
    return "\n".join([head, *rows])


def signature_text(full: dict[str, int], basic: dict[str, int]) -> str:
    head = f"{'signature, in nodes':22} {'all features':>16} {'basic':>16}"
    return "\n".join(
        [head, *(f"{name:22} {nodes:16,} {basic[name]:16,}" for name, nodes in full.items())]
    )


def as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def signature_and_speed(args: argparse.Namespace) -> int:
    """Prints signature and speed; returns 1 if the measured ratio misses the target, else 0."""
    versions = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numba": sys.modules["numba"].__version__,
    }
    full, basic = node_counts(ALL), node_counts(BASIC)
    if not args.json:
        print(f"{versions['machine']}, Python {versions['python']}, numba {versions['numba']}")
        print(signature_text(full, basic), flush=True)
    comparison = compare(args.rounds)
    signature = {"all": full, "basic": basic}
    print(
        as_json({**versions, "signature": signature, "speed": speed_dict(comparison)})
        if args.json
        else speed_text(comparison)
    )
    return 0 if comparison.ratio is None or comparison.ratio >= TARGET_RATIO else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.bench", description=__doc__)
    parser.add_argument(
        "--rounds", type=count, default=9, help="runs that each median is taken over (9)"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--ablation",
        action="store_true",
        help="only print the nodes with one feature disabled at a time",
    )
    mode.add_argument(
        "--deepen",
        metavar="GAME",
        help="only search a game from the start and print each depth up to --depth",
    )
    parser.add_argument(
        "--table-bits",
        type=between(1, MAX_TABLE_BITS),
        default=TABLE_BITS,
        help=f"size of the ablation's table, as a power of two of entries ({TABLE_BITS})",
    )
    parser.add_argument(
        "--depth", type=between(1, layout.MAX_PLY - 2), default=12, help="depth of --deepen (12)"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    args = parser.parse_args(arguments)
    if args.ablation:
        print(ablation_text(args))
    elif args.deepen is None:
        return signature_and_speed(args)
    else:
        try:
            print(depths_text(args))
        except GameError as error:
            parser.error(str(error))
    return 0
