"""python -m tests.engine.search_peers: times whole searches, ours and those of other libraries.

Both do the same task in the same run: they compute the value of the start to a fixed depth, with an
evaluation of 0 at the horizon. The values must have the same sign, also in random positions. `ours`
is the engine's search with exact depth, by iterative deepening from an empty table. `at once` is
one call of the kernel without deepening, like the peer's single call. `plain` is that call without
any feature and with the moves in the peer's order: an alpha-beta like the peer's, which shows the
effect of compiled bitboards alone.

Seconds are processor time, medians of alternating rounds. OpenSpiel's Python package contains its
C++ alpha-beta but does not export it: `--open-spiel DIR` calls it through a small library, which
needs g++ and the headers of the same version's sources (pip download --no-binary, unpacked). easyAI
is not a dependency of this project and is measured if it is installed. If a peer cannot run, our
search is compared with the peer's published time.
"""

import argparse
import ctypes
import importlib.util
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Protocol, cast

import numpy as np
import pyspiel

from engine.bench import rows as bench_rows
from engine.bench.search import as_json
from engine.game import Game, Position, Rules
from engine.rules.digest import rules_digest
from engine.rules.registry import BUILT_IN
from engine.search.driver import Control, Searcher, Table
from engine.search.features import BASIC
from engine.search.job import Limit
from engine.search.work import Settings, Work

#: A position as the moves that lead to it.
Moves = tuple[int, ...]
#: The number of random positions, besides the start, whose values are compared.
CHECKED_POSITIONS = 12
#: The number of our searches in a round; their median is the round's time.
OUR_SEARCHES = 15
#: The flags with which OpenSpiel's C++ is compiled.
FLAGS = ("-std=c++17", "-O3", "-DNDEBUG", "-w", "-shared", "-fPIC")


class Missing(Exception):
    """The peer cannot be measured here; the message says what is missing."""


class Peer(Protocol):
    """Another library's search of one game."""

    def values(self, positions: list[Moves], depth: int) -> list[float]:
        """Returns the values of positions for the side to move; only their signs are compared."""

    def seconds(self, depth: int) -> float:
        """Returns the processor time of a search of the start, in seconds."""


class OpenSpiel:
    """OpenSpiel's C++ alpha-beta on its connect four.

    This class compiles a small C++ library that calls it in OpenSpiel's Python package.
    """

    def __init__(self, source: Path | None, folder: Path) -> None:
        if source is None:
            raise Missing("--open-spiel DIR names no headers")
        compiler = shutil.which("g++")
        if compiler is None:
            raise Missing("there is no g++")
        package = str(pyspiel.__file__)
        library = folder / "open_spiel_alpha_beta.so"
        headers = [
            source,
            source / "open_spiel" / "abseil-cpp",
            source / "open_spiel" / "json" / "include",
        ]
        command = [compiler, *FLAGS, "-o", str(library)]
        command += [f"-I{path}" for path in headers]
        command += [str(Path(__file__).with_name("open_spiel_alpha_beta.cc"))]
        subprocess.run(command, check=True, timeout=300)
        ctypes.CDLL(package, ctypes.RTLD_GLOBAL)
        self._search = ctypes.CDLL(str(library)).open_spiel_alpha_beta
        self._search.restype = ctypes.c_double
        self.leaves = ctypes.c_long()

    def _value(self, moves: Moves, depth: int) -> float:
        return float(
            self._search("".join(map(str, moves)).encode(), depth, ctypes.byref(self.leaves))
        )

    def values(self, positions: list[Moves], depth: int) -> list[float]:
        return [self._value(moves, depth) for moves in positions]

    def seconds(self, depth: int) -> float:
        return processor_time(lambda: self._value((), depth))


class EasyAI:
    """easyAI's Negamax on one of its games, whose cells are numbered from `first`."""

    def __init__(self, module: str, name: str, first: int) -> None:
        try:
            self._package = import_module("easyAI")
        except ImportError as error:
            raise Missing(f"{error.name} is not installed") from error
        self._rules = getattr(import_module(f"easyAI.games.{module}"), name)
        self._first = first

    def _value(self, moves: Moves, depth: int) -> float:
        search = self._package.Negamax(depth)
        player = self._package.AI_Player(search)
        game = self._rules([player, player])
        for move in moves:
            game.make_move(move + self._first)
            game.switch_player()
        search(game)
        return float(search.alpha)

    def values(self, positions: list[Moves], depth: int) -> list[float]:
        return [self._value(moves, depth) for moves in positions]

    def seconds(self, depth: int) -> float:
        return processor_time(lambda: self._value((), depth))


class OurSearch:
    """Our search of a game whose evaluation is 0 everywhere.

    With `in_order` the moves are in ascending order.
    """

    def __init__(self, game_id: str, folder: Path, in_order: bool) -> None:
        self.game = game_without_evaluation(game_id, folder, in_order)
        self._searcher = Searcher(self.game)
        self._searcher.prepare()
        self._table, self._control = Table(16 if game_id == "connect-four" else 12), Control()
        self._work = Work(int(self.game.rules.MAX_MOVES))

    def position(self, moves: Moves) -> Position:
        position = self.game.start()
        for move in moves:
            position = position.play(move)
        return position

    def value(self, position: Position, depth: int) -> int:
        """Returns the value by the engine's usual search, from an empty table."""
        self._table.memory.array.fill(np.uint64(0))
        limit = Limit(depth=depth)
        report = self._searcher.search(
            position, limit, self._table, self._control, exact_depth=True, features=BASIC
        )
        return report.score

    def at_once(self, position: Position, depth: int, features: int) -> tuple[int, int]:
        """Returns the value by one call of the kernel, and the number of leaves at the horizon."""
        self._table.memory.array.fill(np.uint64(0))
        self._work.begin(
            position, position.moves(), self._table.bits, 0, Settings(0, 1, True, features, 0)
        )
        memories = (
            self._work.memory,
            self._table.memory,
            self._control.memory,
            self._searcher.native.data,
        )
        state = tuple(int(word) for word in position.state)
        score = self._searcher.native.function("root")(state, depth, 0, *memories)
        return int(score), self._work.horizons


def game_without_evaluation(game_id: str, folder: Path, in_order: bool) -> Game:
    """Returns a game whose evaluation is 0, from a copy of its rules file with changed lines."""
    source = Path(str(import_module(BUILT_IN[game_id]).__file__)).read_text("utf-8")
    head, name, rest = source.partition("def evaluate(s: State, data: Any) -> int:\n")
    source = head + name + "    return 0\n" + rest[rest.index("\n\n\n") :]
    source = "\n".join(
        "" if line.startswith(("SOLVER = ", "DISABLED = ")) else line for line in source.split("\n")
    )
    source = "\n".join(
        "DATA = ()" if line.startswith("DATA = ") else line for line in source.split("\n")
    )
    if in_order:
        source = source.replace("ORDER = (3, 2, 4, 1, 5, 0, 6)", "ORDER = (0, 1, 2, 3, 4, 5, 6)")
        assert game_id != "connect-four" or "ORDER = (0" in source
    module_name = f"no_evaluation_{game_id.replace('-', '_')}_{'in_order' if in_order else 'usual'}"
    file = folder / f"{module_name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    return Game(cast(Rules, module), rules_digest(module))


@dataclass(frozen=True)
class Row:
    """A search to a depth, and its peer with the published time.

    The values are compared at `checked_depth`; `target` is the speed-up to reach.
    """

    game: str
    depth: int
    checked_depth: int
    peer: str
    published_ms: float
    make: Callable[[argparse.Namespace, Path], Peer]
    target: float
    rounds: int
    also_plain: bool = False

    @property
    def task(self) -> str:
        return f"{self.game}, depth {self.depth}, evaluation 0"


#: The measurements.
ROWS = (
    Row(
        "connect-four",
        12,
        8,
        "OpenSpiel, C++",
        740,
        lambda options, folder: OpenSpiel(options.open_spiel, folder),
        50,
        5,
        True,
    ),
    Row(
        "tic-tac-toe",
        9,
        9,
        "easyAI",
        35,
        lambda options, folder: EasyAI("TicTacToe", "TicTacToe", 1),
        500,
        5,
    ),
    Row(
        "connect-four",
        6,
        4,
        "easyAI",
        210,
        lambda options, folder: EasyAI("ConnectFour", "ConnectFour", 0),
        500,
        5,
    ),
)


def positions_of(game: Game, count: int) -> list[Moves]:
    """Returns the start and `count` random positions, the same ones in every run.

    Most of them have a forced win nearby.
    """
    rng = random.Random(3)
    positions: list[Moves] = [()]
    while len(positions) <= count:
        position, moves = game.start(), list[int]()
        for _ in range(rng.randrange(3, 6) if game.rules.MAX_MOVES == 9 else rng.randrange(8, 18)):
            if position.moves():
                moves.append(rng.choice(position.moves()))
                position = position.play(moves[-1])
        if position.moves():
            positions.append(tuple(moves))
    return positions


def check(row: Row, ours: OurSearch, plain: OurSearch, peer: Peer) -> int:
    """Returns the number of decided positions; raises AssertionError if the signs differ."""
    positions = positions_of(ours.game, CHECKED_POSITIONS)
    peer_values = peer.values(positions, row.checked_depth)
    for moves, value in zip(positions, peer_values, strict=True):
        our_value = ours.value(ours.position(moves), row.checked_depth)
        single_calls = [
            ours.at_once(ours.position(moves), row.checked_depth, BASIC)[0],
            plain.at_once(plain.position(moves), row.checked_depth, 0)[0],
        ]
        assert all(np.sign(value) == np.sign(score) for score in (our_value, *single_calls)), (
            row.peer,
            moves,
            value,
            our_value,
            single_calls,
        )
    return sum(value != 0 for value in peer_values)


def processor_time(search: Callable[[], object]) -> float:
    """Returns the processor time of a search, in seconds."""
    started_s = time.thread_time()
    search()
    return time.thread_time() - started_s


@dataclass(frozen=True)
class Measurement:
    """The medians of our search (driver, at once, plain) and of the peer's.

    `leaves` is the count of our plain search. If the peer cannot run, `peer_s` is None and
    `missing_reason` has the reason.
    """

    driver_s: float
    at_once_s: float
    plain_s: float
    leaves: int
    peer_s: float | None
    peer_leaves: int = 0
    missing_reason: str = ""


def measure(row: Row, options: argparse.Namespace, folder: Path) -> Measurement:
    """Compares the values, then measures both sides in alternating rounds."""
    peer, missing_reason = None, ""
    try:
        peer = row.make(options, folder)
    except Missing as missing:
        missing_reason = str(missing)
    ours, plain = OurSearch(row.game, folder, False), OurSearch(row.game, folder, True)
    if peer is not None:
        decided = check(row, ours, plain, peer)
        assert decided > 1, "undecided positions alone would prove little"
    start, plain_start = ours.position(()), plain.position(())
    searches: tuple[Callable[[], object], ...] = (
        lambda: ours.value(start, row.depth),
        lambda: ours.at_once(start, row.depth, BASIC),
        lambda: plain.at_once(plain_start, row.depth, 0),
    )
    our_times_s, peer_times_s = [], []
    for _ in range(row.rounds):
        our_times_s.append(
            [median(processor_time(search) for _ in range(OUR_SEARCHES)) for search in searches]
        )
        if peer is not None:
            peer_times_s.append(peer.seconds(row.depth))
    leaves = plain.at_once(plain_start, row.depth, 0)[1]
    peer_leaves = peer.leaves.value if isinstance(peer, OpenSpiel) else 0
    driver_s, at_once_s, plain_s = (median(column) for column in zip(*our_times_s, strict=True))
    return Measurement(
        driver_s,
        at_once_s,
        plain_s,
        leaves,
        median(peer_times_s) if peer_times_s else None,
        peer_leaves,
        missing_reason,
    )


def as_rows(row: Row, measured: Measurement) -> list[bench_rows.Row]:
    """Returns the rows for `engine.bench.table`: `at once`, and `plain` if `also_plain` is set."""
    peer_ms = row.published_ms if measured.peer_s is None else measured.peer_s * 1e3
    peers = (bench_rows.Peer(row.peer, peer_ms, measured.peer_s is None),)
    target_ms = peer_ms / row.target
    note = (
        f"by the driver {measured.driver_s * 1e3:.3f} ms;"
        f" without table and order {measured.plain_s * 1e3:.3f} ms"
    )
    table_rows = [
        bench_rows.Row(row.task, "ms", measured.at_once_s * 1e3, peers, target_ms, note=note)
    ]
    if row.also_plain:
        note = f"without table and order, as the peer's; {measured.leaves:,} leaves"
        table_rows.append(
            bench_rows.Row(
                f"{row.game}, depth {row.depth}, plain",
                "ms",
                measured.plain_s * 1e3,
                peers,
                target_ms,
                note=note,
            )
        )
    return table_rows


def lines(row: Row, measured: Measurement) -> Iterator[str]:
    """Yields the lines of a measurement in the printed table."""
    (peer,) = as_rows(row, measured)[0].peers
    times = (measured.driver_s, measured.at_once_s, measured.plain_s)
    ratios = " ".join(f"{time * 1e3:9.3f} {peer.value / time / 1e3:7,.0f}" for time in times)
    name = row.peer + ("*" if peer.is_published else "")
    yield (
        f"{row.game + f', {row.depth}':17} {name:15} {peer.value:8.1f} {ratios}"
        f" {row.target:7.0f} {measured.leaves:13,}"
    )
    if measured.missing_reason:
        yield f"{'':17} * as published; it cannot run here: {measured.missing_reason}"
    if measured.peer_leaves and measured.peer_s is not None:
        rates = (
            measured.peer_leaves / measured.peer_s / 1e6,
            measured.leaves / measured.plain_s / 1e6,
        )
        yield (
            f"{'':17} leaves of the peer {measured.peer_leaves:,}: {rates[0]:.1f} M a second;"
            f" plain {rates[1]:.1f} M"
        )


#: The head of the printed table.
HEAD = (
    f"{'task, depth':17} {'peer':15} {'peer ms':>8} {'ours ms':>9} {'ratio':>7}"
    f" {'at once':>9} {'ratio':>7} {'plain':>9} {'ratio':>7} {'target':>7} {'plain leaves':>13}"
)


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; returns 0 if one call of the kernel reaches all targets, otherwise 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.engine.search_peers",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--open-spiel", type=Path, metavar="DIR", help="the unpacked sources of OpenSpiel's package"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one line of JSON for engine.bench.table --add"
    )
    options = parser.parse_args(arguments)
    rows: list[bench_rows.Row] = []
    left_out, is_reached = [], True
    if not options.json:
        print(HEAD)
    for row in ROWS:
        with tempfile.TemporaryDirectory() as name:
            measured = measure(row, options, Path(name))
        table_rows = as_rows(row, measured)
        rows += table_rows
        is_reached &= table_rows[0].reached is not False
        if measured.missing_reason:
            left_out.append(
                bench_rows.LeftOut(
                    f"{row.task}: {row.peer} in the same run", measured.missing_reason
                )
            )
        if not options.json:
            print(*lines(row, measured), sep="\n", flush=True)
    if options.json:
        print(as_json({"rows": rows, "left_out": left_out}))
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main())
