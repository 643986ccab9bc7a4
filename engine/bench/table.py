"""python -m engine.bench.table: the engine's figures beside those of its peers, with targets.

The files of positions are not part of this project: --suites names the folder that has
connect4-end-easy.txt, connect4-middle-easy.txt, connect4-begin-easy.txt and othello-ffo-40-59.obf.
If a file, compiler or program is missing, a line names the task that was left out, and the table is
incomplete.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from engine.bench import rows as bench_rows
from engine.bench import search as bench
from engine.bench.rows import LeftOut, Missing, Row
from engine.command_line import count, positive
from engine.game import GameError
from engine.search import features

#: The number of runs that each median is taken over.
ROUNDS = {"files": 31, "speed": 9, "alpha-beta": 15, "othello": 3, "draughts": 5, "chess": 3}
#: Nodes that our search spends on each chess position.
CHESS_NODES = 4_000_000
#: Milliseconds that a UCI program spends on each chess position.
MOVETIME_MS = 1500
#: Default time limit of a hard position of --long, in seconds.
LONG_SECONDS = 600.0
#: Why the table leaves out the rows of other programs without --add.
NOT_ADDED = "no --add names the JSON of tests.engine.search_peers"


class Added(msgspec.Struct, frozen=True):
    """The rows that another command has measured, as it prints them in JSON."""

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()


#: What a task yields: a row of the table, or the reason why it is left out.
Entry = Row | LeftOut
#: The name of a task, and the function that measures it.
Task = tuple[str, Callable[[], Iterable[Entry]]]


def tasks(args: argparse.Namespace, added: list[Entry]) -> Iterator[Task]:
    """The tasks by name, in the order of the table, with the added rows in their place."""

    def rounds_of(name: str) -> int:
        return int(args.rounds or ROUNDS[name])

    def solve_file(number: int) -> list[Row]:
        return [bench_rows.measure_connect_four_file(_folder(args), number, rounds_of("files"))]

    def solve_ffo(first: int, last: int, rounds: int, seconds: float) -> list[Row]:
        return [bench_rows.measure_ffo(_folder(args), first, last, rounds, seconds)]

    def chess() -> list[Entry]:
        row, left_out = bench_rows.measure_chess(
            CHESS_NODES, rounds_of("chess"), MOVETIME_MS, bench_rows.PROGRAMS
        )
        return [row, *left_out]

    for number, (name, *_) in enumerate(bench_rows.CONNECT_FOUR_FILES):
        yield f"connect four, solving {name}", partial(solve_file, number)
    yield "connect four, search", lambda: [bench_rows.measure_node_speed(rounds_of("speed"))]
    yield (
        "connect four, alpha-beta",
        lambda: [bench_rows.measure_alpha_beta(12, rounds_of("alpha-beta"))],
    )
    yield "beside OpenSpiel and easyAI", lambda: added
    yield "othello, FFO 40-44", partial(solve_ffo, 40, 44, rounds_of("othello"), LONG_SECONDS)
    yield "draughts, search", lambda: bench_rows.measure_draughts(20, rounds_of("draughts"))
    yield "chess, search", chess
    if args.long:
        yield "draughts, tables", lambda: [bench_rows.measure_draughts_tables()]
        yield "othello, FFO 45-49", partial(solve_ffo, 45, 49, 1, args.seconds)
        for number in range(50, 60):
            yield f"othello, FFO {number}", partial(solve_ffo, number, number, 1, args.seconds)


def _folder(args: argparse.Namespace) -> Path:
    if args.suites is None:
        raise Missing("--suites names no folder with its file")
    return Path(args.suites)


def read_added(paths: list[str]) -> list[Entry]:
    """The rows of other commands' JSON, read from files or, for "-", from the standard input.

    A file that cannot be read or has no rows becomes a `LeftOut`.
    """
    entries: list[Entry] = [] if paths else [LeftOut("beside OpenSpiel and easyAI", NOT_ADDED)]
    for path in paths:
        try:
            content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
            added = msgspec.json.decode(content, type=Added)
        except OSError as error:
            entries.append(LeftOut(f"--add {path}", f"it cannot be read: {error.strerror}"))
        except msgspec.DecodeError as error:
            entries.append(LeftOut(f"--add {path}", f"it has no rows: {error}"))
        else:
            entries += [*added.rows, *added.left_out]
    return entries


def measure_tasks(args: argparse.Namespace, added: list[Entry]) -> Iterator[Entry]:
    """Measures the selected tasks and yields their entries one by one."""
    for name, measure in tasks(args, added):
        if args.only and not any(words in name for words in args.only):
            continue
        try:
            yield from measure()
        except (Missing, GameError) as error:
            yield LeftOut(name, str(error))


# --- the context of the figures


def measuring_context() -> dict[str, Any]:
    """The context of the figures: processor, versions, commit and the machine's load average."""
    return {
        "machine": f"{os.cpu_count()} cores, {_processor()}",
        "python": platform.python_version(),
        "numba": sys.modules["numba"].__version__,
        "commit": _commit(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """The commit of the checkout that holds this file, and whether it has changes."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=30
        ).stdout.strip()

    try:
        return git("rev-parse", "--short", "HEAD") + (
            " with changes" if git("status", "--porcelain", "-uno") else ""
        )
    except (OSError, subprocess.SubprocessError):
        return "not a checkout"


# --- printing


def figure(number: float, unit: str = "") -> str:
    """A figure with three significant digits or more, and its unit."""
    digits = 0 if number >= 100 else 1 if number >= 10 else 2 if number >= 1 else 3
    return f"{number:,.{digits}f} {unit}".rstrip()


#: The column heads of the table.
HEAD = ("task", "ours", "peer (* as published)", "peer's", "ratio", "wanted", "reached")
#: The widths of the columns, in characters.
WIDTHS = (48, 11, 34, 10, 7, 10, 7)


def format_cells(cells: Iterable[str]) -> str:
    return (
        "| "
        + " | ".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True))
        + " |"
    )


def format_row(row: Row) -> Iterator[str]:
    """The lines of a row: the task with its first peer, then the other peers and the note."""
    reached = {True: "yes", False: "**no**", None: ""}[row.reached]
    wanted = "" if row.wanted is None else figure(row.wanted, row.unit)
    head = [row.task, figure(row.ours, row.unit)]
    if not row.is_right:
        reached = "**wrong**"
    tail = [wanted, reached]
    for peer in row.peers:
        name = peer.name + ("*" if peer.is_published else "")
        yield format_cells(
            [*head, name, figure(peer.value, row.unit), figure(row.ratio(peer)), *tail]
        )
        head = tail = ["", ""]
    if not row.peers:
        yield format_cells([*head, "", "", "", *tail])
    if row.note:
        yield f"  {row.note}"


def as_dict(row: Row) -> dict[str, Any]:
    """A row as JSON values with its ratios and verdict; `engine.bench.table --add` reads it too."""
    peers = [{**msgspec.to_builtins(peer), "ratio": row.ratio(peer)} for peer in row.peers]
    return {**msgspec.to_builtins(row), "peers": peers, "reached": row.reached}


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.bench.table", description=__doc__)
    parser.add_argument(
        "--suites", metavar="DIR", type=Path, help="the folder with the files of positions"
    )
    parser.add_argument(
        "--add",
        metavar="FILE",
        action="append",
        default=[],
        help="rows of another command's JSON; - is the standard input",
    )
    parser.add_argument(
        "--only",
        metavar="WORDS",
        action="append",
        default=[],
        help="only tasks whose name has these words",
    )
    parser.add_argument(
        "--rounds", type=count, help="runs that each median is taken over (by default 3 to 31)"
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="also FFO 45 to 59 and the tables of draughts, which may take hours",
    )
    parser.add_argument(
        "--seconds",
        type=positive,
        default=LONG_SECONDS,
        help=f"seconds that a position from FFO 45 on may take ({LONG_SECONDS:g})",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; returns 1 if a known result was not reproduced, else 0.

    A task that misses its target is marked in the table and does not change the exit code.
    """
    args = make_parser().parse_args(arguments)
    # Reading waits for a command that pipes its JSON, so that it does not disturb our measurements.
    added = read_added(args.add)
    context = measuring_context()
    signature = {"all": bench.node_counts(features.ALL), "basic": bench.node_counts(features.BASIC)}
    if not args.json:
        print(
            f"{context['machine']}, Python {context['python']}, numba {context['numba']},"
            f" load {context['load']}"
        )
        print(
            f"commit {context['commit']}",
            bench.signature_text(signature["all"], signature["basic"]),
            "",
            sep="\n",
        )
        print(
            format_cells(HEAD), format_cells("-" * width for width in WIDTHS), sep="\n", flush=True
        )
    rows, left_out = [], []
    for entry in measure_tasks(args, added):
        if isinstance(entry, LeftOut):
            left_out.append(entry)
        else:
            rows.append(entry)
            if not args.json:
                print(*format_row(entry), sep="\n", flush=True)
    if args.json:
        table = {
            **context,
            "signature": signature,
            "rows": [as_dict(row) for row in rows],
            "left_out": left_out,
        }
        print(bench.as_json({**table, "is_complete": not left_out}))
    else:
        print(*(f"left out: {entry.task}: {entry.why}" for entry in left_out), sep="\n")
        end = f"{len(left_out)} left out: the table is incomplete" if left_out else "complete"
        print(f"{len(rows)} rows, {end}")
    return 0 if all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
