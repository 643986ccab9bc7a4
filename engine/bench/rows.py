"""The rows of `engine.bench.table`: each compares the engine with its peers in one task.

Seconds are processor time. A peer either runs here, interleaved with our program, or has a
published figure. A published figure comes from a similar machine but not from this run, so the
ratio is only a guide.
"""

import resource
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from engine.bench import search as bench
from engine.game import Position
from engine.match.description import parse_description
from engine.match.play import PlayerFailed, Situation
from engine.match.uci import UciPlayer
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.solve import read_suite, solver_of, timer_for
from engine.solvers.base import Problem, ProblemError, Solver, TableSolver


class Peer(msgspec.Struct, frozen=True):
    """The figure of another program for a task, in the row's unit."""

    name: str
    value: float
    is_published: bool = True


class Row(msgspec.Struct, frozen=True):
    """A task with our median, the peers' figures and the target.

    The target `wanted` is a minimum if the unit is a rate, else a maximum; None if there is none.
    `is_right`: whether the task reproduced every known result.
    """

    task: str
    unit: str
    ours: float
    peers: tuple[Peer, ...] = ()
    wanted: float | None = None
    is_right: bool = True
    note: str = ""

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    @property
    def reached(self) -> bool | None:
        """Whether the results are right and reach the target; None if right without a target."""
        if self.wanted is None:
            return None if self.is_right else False
        return self.is_right and (
            self.ours >= self.wanted if self.is_rate else self.ours <= self.wanted
        )

    def ratio(self, peer: Peer) -> float:
        """How many times better our figure is than the peer's; above 1 ours is better."""
        return self.ours / peer.value if self.is_rate else peer.value / self.ours


class LeftOut(msgspec.Struct, frozen=True):
    """A task, or a peer of a task, that could not be measured here."""

    task: str
    why: str


class Missing(Exception):
    """The task cannot be measured here; the message says what is missing."""


# --- connect four

#: The name of each collection, its target and the published figure of the best C++ solver, both in
#: microseconds per position, and a note on that figure.
CONNECT_FOUR_FILES = (
    ("end-easy", 2 * 4.7, 4.7, ""),
    ("middle-easy", 30.7, 30.7, ", 449 nodes"),
    ("begin-easy", 194.0, 194.0, ", 3,295 nodes"),
)

#: The C program, as the table names it.
C_PROGRAM = "the same search in C, gcc -O3"
#: Why the rows that compare with the C program are left out.
NO_COMPILER = "there is no gcc to compile the C program"


def measure_connect_four_file(suites: Path, number: int, rounds: int) -> Row:
    """Solves positions with known scores in one call, from an empty table and without the book."""
    name, target_us, published_us, published_note = CONNECT_FOUR_FILES[number]
    solver, problems = load_suite(suites / f"connect4-{name}.txt", "connect-four")
    positions = [problem.position for problem in problems]
    solver.solve_batch(positions[:1], Limit(), Control())
    batches = [solver.solve_batch(positions, Limit(), Control()) for _ in range(rounds)]
    known = [problem.score for problem in problems]
    ours_us = median(batch.seconds for batch in batches) / len(positions) * 1e6
    mean_nodes = sum(batches[0].nodes) / len(positions)
    return Row(
        f"connect four, solving {name}",
        "us",
        ours_us,
        (Peer(f"best C++ solver{published_note}", published_us),),
        target_us,
        all(list(batch.scores) == known for batch in batches),
        f"mean of {len(positions)} positions, {mean_nodes:,.1f} nodes",
    )


def measure_alpha_beta(depth: int, rounds: int) -> Row:
    """Times iterative deepening from the start to a depth, for our search and the one in C."""
    comparison = bench.compare(rounds, (bench.Case("connect-four", "", depth),))
    if comparison.ratio is None:
        raise Missing(NO_COMPILER)
    peer_ms = median(lap.seconds for lap in comparison.peers) * 1e3
    note = f"{sum(comparison.ours[0].nodes):,} nodes on both sides"
    return Row(
        f"connect four, alpha-beta to depth {depth}",
        "ms",
        peer_ms / comparison.ratio,
        (Peer(C_PROGRAM, peer_ms, False),),
        peer_ms / bench.TARGET_RATIO,
        note=note,
    )


def measure_node_speed(rounds: int) -> Row:
    """Measures nodes per second in the bench's connect four cases, ours and the search in C."""
    comparison = bench.compare(rounds)
    if comparison.ratio is None:
        raise Missing(NO_COMPILER)
    peer_speed = median(lap.speed for lap in comparison.peers) / 1e6
    ours = peer_speed * comparison.ratio  # the ratio is the median of interleaved pairs
    note = f"{sum(comparison.ours[0].nodes):,} nodes on both sides"
    return Row(
        "connect four, search",
        "Mn/s",
        ours,
        (Peer(C_PROGRAM, peer_speed, False),),
        bench.TARGET_RATIO * peer_speed,
        note=note,
    )


# --- othello

#: The number of the first position in FFO_FILE.
FFO_FIRST = 40
#: The file of the FFO positions 40 to 59.
FFO_FILE = "othello-ffo-40-59.obf"


def measure_ffo(suites: Path, first: int, last: int, rounds: int, seconds: float) -> Row:
    """Solves positions of the FFO suite exactly, each from an empty table, and sums their times.

    Raises Missing if a position takes more than `seconds` on average.
    """
    solver, problems = load_suite(suites / FFO_FILE, "othello")
    chosen = problems[first - FFO_FIRST : last - FFO_FIRST + 1]
    if len(chosen) != last - first + 1:
        raise Missing(f"{FFO_FILE} has no number {last}")
    laps, nodes = [], 0
    for _ in range(rounds):
        start_s = time.process_time()
        batch = solver.solve_batch(
            [problem.position for problem in chosen],
            Limit(),
            Control(),
            timer=timer_for(solver, seconds * len(chosen)),
        )
        laps.append(time.process_time() - start_s)
        if None in batch.scores:
            raise Missing(f"not solved within {seconds:g} s a position")
        is_right = list(batch.scores) == [problem.score for problem in chosen]
        nodes = sum(batch.nodes)
    published = (
        ("Edax with weights", 5.0),
        ("Edax without weights", 13.1),
        ("plain C", 15.3),
        ("Egaroucid", 16.4),
    )
    has_published = (first, last) == (40, 44)
    return Row(
        f"othello, FFO {first}-{last}" if last > first else f"othello, FFO {first}",
        "s",
        median(laps),
        tuple(Peer(name, value) for name, value in published) if has_published else (),
        15.0 if has_published else None,
        is_right,
        f"{nodes / 1e6:,.1f} M nodes, {len(chosen)} positions",
    )


# --- draughts and chess


def measure_draughts(depth: int, rounds: int) -> list[Row]:
    """Searches from the start with an empty table, without endgame tables."""
    depths = bench.deepen("draughts", depth, rounds)
    last, shallower = depths[-1], depths[min(16, depth) - 1]
    return [
        Row(
            f"draughts, to depth {shallower.depth}", "s", shallower.seconds, (Peer("GuiNN", 0.37),)
        ),
        Row(
            f"draughts, to depth {depth}",
            "s",
            last.seconds,
            (Peer("GuiNN", 2.4),),
            2.0,
            note=f"{last.nodes:,} nodes",
        ),
        Row(
            f"draughts, search to depth {depth}",
            "Mn/s",
            last.nodes / last.seconds / 1e6,
            (Peer("simplech", 4.8), Peer("GuiNN", 3.4)),
            6.0,
        ),
    ]


def measure_draughts_tables() -> Row:
    """Times how long it takes to regenerate all endgame tables and to store them."""
    solver = solver_of(load_game("draughts"))
    assert isinstance(solver, TableSolver)
    start_s = time.process_time()
    counts = solver.make_tables(solver.max_pieces, lambda done, total: None)
    seconds = time.process_time() - start_s
    note = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    return Row("draughts, tables of 4 pieces", "s", seconds, (Peer("C", 19.0),), 60.0, note=note)


#: The positions of the chess row, in FEN: openings, middlegames and endgames.
CHESS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "2r3k1/1p3pp1/p3p2p/8/1P6/P3RN2/5PPP/2b3K1 b - - 3 30",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
)
#: Size of the table, as a power of two of entries: 16 MiB, the default of UCI programs.
CHESS_BITS = 20
#: Published figures, in millions of nodes per second.
CHESS_PUBLISHED = (("gnuchess", 2.1), ("toga2", 1.7), ("Stockfish 15.1", 0.8), ("sunfish", 0.018))
#: The UCI programs that run for comparison if they are installed.
PROGRAMS = ("stockfish", "toga2")


def measure_chess(
    nodes: int, rounds: int, movetime_ms: int, programs: Sequence[str]
) -> tuple[Row, list[LeftOut]]:
    """Measures nodes per second over the positions; returns also the programs that did not run.

    Our search spends `nodes` on each position, a UCI program `movetime_ms`.
    """
    searcher, table = Searcher(load_game("chess")), Table(CHESS_BITS)
    positions = [searcher.game.position(text) for text in CHESS]
    speeds = []
    for _ in range(rounds):
        reports = []
        for position in positions:
            table.memory.array.fill(0)
            reports.append(
                searcher.search(
                    position, Limit(nodes=nodes), table, Control(), clock=time.process_time
                )
            )
        speeds.append(
            sum(report.nodes for report in reports)
            / sum(report.seconds for report in reports)
            / 1e6
        )
    peers, left_out = [], []
    for name in programs:
        try:
            peers.append(Peer(name, measure_uci_speed(name, positions, movetime_ms) / 1e6, False))
        except Missing as missing:
            left_out.append(LeftOut(f"chess, search: {name} beside ours", str(missing)))
    peers += [Peer(name, value) for name, value in CHESS_PUBLISHED]
    return Row(
        f"chess, search, {nodes:,} nodes a position",
        "Mn/s",
        median(speeds),
        tuple(peers),
        2.5,
        note=f"{len(positions)} positions",
    ), left_out


def measure_uci_speed(name: str, positions: Sequence[Position], movetime_ms: int) -> float:
    """Returns the nodes per second of a UCI program, without the time that it takes to start."""
    command = shutil.which(name) or shutil.which(name, path="/usr/games")
    if command is None:
        raise Missing("it is not installed")

    def measure(chosen: Sequence[Position]) -> tuple[int, float]:
        before, nodes = children_seconds(), 0
        player = UciPlayer(parse_description(f"uci={command},time_ms={movetime_ms}"))
        try:
            for position in chosen:
                player.begin(position.turn)
                nodes += player.choose(Situation(position, (), position, 0)).nodes
        except PlayerFailed as error:
            raise Missing(str(error)) from error
        finally:
            player.close()
        return nodes, children_seconds() - before

    first_nodes, first_seconds = measure(positions[:1])
    nodes, seconds = measure(positions)
    if nodes <= first_nodes or seconds <= first_seconds:
        raise Missing("it reports no nodes")
    return (nodes - first_nodes) / (seconds - first_seconds)


def children_seconds() -> float:
    """Processor time in seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- files of positions


def load_suite(path: Path, game_id: str) -> tuple[Solver, list[Problem]]:
    """Returns the game's prepared solver and the problems of a file, all with a known score.

    Raises Missing if there is no such file, and ProblemError for a problem without a score.
    """
    if not path.is_file():
        raise Missing(f"there is no file {path}")
    solver = solver_of(load_game(game_id))
    problems = list(read_suite(solver, path, {}).values())
    if any(problem.score is None for problem in problems):
        raise ProblemError(f"{path} has positions without a score")
    solver.prepare()
    return solver, problems
