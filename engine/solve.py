"""python -m engine.solve GAME: the exact result of a position under best play.

A game with its own solver uses that solver. Any other game uses the general search, which gives a
result if it reaches the end of all lines within the limits.
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import msgspec

from engine.command_line import count, count_or_none, option, positive
from engine.deadline import expiring
from engine.game import Game, GameError, GameFault, Position
from engine.rules.registry import load_game
from engine.search.job import Limit
from engine.solvers.base import (
    BookSolver,
    Problem,
    ProblemError,
    Solution,
    Solver,
    TableSolver,
    Timer,
    named_solver,
)

#: Plies of an opening book by default.
BOOK_PLIES = 10
#: Maximum number of plies of an opening book.
MOST_BOOK_PLIES = 16
#: The time limit of a position by default, in seconds.
SECONDS = 60.0
#: The tasks that each argument belongs to; "position" is the default task.
BELONGS_TO = {
    "seconds": ("position", "file"),
    "nodes": ("position", "file"),
    "option": ("position", "file"),
    "pieces": ("make_tables",),
    "plies": ("make_book",),
    "work": ("make_book",),
    "out": ("make_book",),
}


@dataclass(frozen=True)
class Suite:
    """The results of a file of positions, with means for one position.

    `wrong` and `open` are line numbers; open positions had no result within the limits.
    """

    positions: int
    checked: int
    wrong: list[int]
    open: list[int]
    mean_us: float
    mean_nodes: float


def solver_of(game: Game) -> Solver:
    """The game's own solver, or else the general search as a solver."""
    from engine.solvers.general import SearchSolver

    return named_solver(game) or SearchSolver(game)


def timed(solver: Solver, seconds: float) -> Timer:
    """The context of a computation that expires after this many seconds."""

    return lambda: expiring(solver.expire, seconds)


def read_problem(solver: Solver, text: str, options: Mapping[str, str]) -> Problem:
    """The problem that a text states; ProblemError or another GameError says why it is none."""
    problem = solver.problem(text, options)
    if not problem.position.moves():
        raise ProblemError(f"{text[:80]!r}: the match is over there, nothing is left to solve")
    return problem


def read_suite(solver: Solver, path: Path, options: Mapping[str, str]) -> dict[int, Problem]:
    """The problems of a file by line number; empty lines and # comments are left out."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error
    problems = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            problems[number] = read_problem(solver, line.strip(), options)
        except GameError as error:
            raise ProblemError(f"{path}, line {number}: {error}") from error
    if not problems:
        raise ProblemError(f"{path} has no positions")
    return problems


def solve_suite(
    solver: Solver, problems: dict[int, Problem], limit: Limit, seconds: float
) -> Suite:
    """Solves all problems, in `seconds` each on average, and compares them with known scores."""
    from engine.search.driver import Control

    positions = [problem.position for problem in problems.values()]
    around = timed(solver, seconds * len(positions))
    batch = solver.solve_batch(positions, limit, Control(), around=around)
    found = list(zip(problems.items(), batch.scores, strict=True))
    return Suite(
        positions=len(positions),
        checked=sum(p.score is not None for p in problems.values()),
        wrong=[n for (n, p), score in found if None not in (p.score, score) and p.score != score],
        open=[n for (n, _), score in found if score is None],
        mean_us=batch.seconds / len(positions) * 1e6,
        mean_nodes=fmean(batch.nodes),
    )


def moves_as_tokens(position: Position, solution: Solution) -> tuple[list[str], list[str]]:
    """The best moves and the line of a solution, in tokens."""
    line, here = [], position
    for move in solution.line:
        line.append(here.format_move(move))
        here = here.play(move)
    return [position.format_move(move) for move in solution.best_moves], line


def as_dict(solver: Solver, position: Position, solution: Solution) -> dict[str, object]:
    """A solution as the fields of the JSON output."""
    best, line = moves_as_tokens(position, solution)
    return {
        "game": solver.game.id,
        "position": position.text(),
        "score": solution.score,
        "bound": solution.bound,
        "result": solver.describe(solution),
        "best_moves": best,
        "moves": {
            position.format_move(m.move): {"score": m.score, "bound": m.bound, "value": m.value}
            for m in solution.moves
        },
        "line": line,
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 6),
    }


def as_text(solver: Solver, position: Position, solution: Solution) -> str:
    """A solution as text for people."""
    signs = {"exact": "", "lower": ">= ", "upper": "<= "}
    best, line = moves_as_tokens(position, solution)
    moves = ", ".join(
        f"{position.format_move(m.move)} {signs[m.bound]}{m.score:+d}" for m in solution.moves
    )
    return "\n".join(
        [
            f"position    {position.text()}",
            f"score       {signs[solution.bound]}{solution.score:+d}, "
            f"{solver.describe(solution)} for the side to move",
            f"best moves  {', '.join(best)}",
            f"all moves   {moves}",
            f"line        {' '.join(line)}",
            f"nodes       {solution.nodes:,}",
            f"seconds     {solution.seconds:.6f}",
        ]
    )


def suite_as_text(suite: Suite) -> str:
    lines = [
        f"positions   {suite.positions}, {suite.checked} with a known score",
        f"wrong       {len(suite.wrong)}"
        + (f", lines {', '.join(map(str, suite.wrong))}" if suite.wrong else ""),
        f"mean time   {suite.mean_us:,.2f} us a position",
        f"mean nodes  {suite.mean_nodes:,.1f}",
    ]
    if suite.open:
        lines.insert(2, f"unsolved    {len(suite.open)}, lines {', '.join(map(str, suite.open))}")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.solve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 solved, 1 not solved within the limits or a score is wrong, "
        "2 for a bad argument.",
    )
    parser.add_argument("game")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--position", metavar="TEXT", help="the position to solve; the start of the game by default"
    )
    what.add_argument(
        "--file",
        metavar="F",
        type=Path,
        help="solve a position on each line and check the scores beside them",
    )
    what.add_argument(
        "--make-tables",
        action="store_true",
        help="make and store the game's endgame tables",
    )
    what.add_argument("--make-book", action="store_true", help="make the game's opening book")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    solving = parser.add_argument_group("positions")
    solving.add_argument(
        "--option", type=option, action="append", metavar="NAME=VALUE", help="an option of the game"
    )
    solving.add_argument("--seconds", type=positive, help=f"a position, {SECONDS:g} by default")
    solving.add_argument("--nodes", type=count, help="the most nodes for a position")
    tables = parser.add_argument_group("endgame tables")
    tables.add_argument(
        "--pieces", type=count, help="the most pieces, by default as many as the solver can"
    )
    book = parser.add_argument_group("opening book")
    book.add_argument("--plies", type=count_or_none, help=f"of the book, {BOOK_PLIES} by default")
    book.add_argument(
        "--work",
        type=Path,
        metavar="F",
        help="the state of the work; an interrupted run continues from it",
    )
    book.add_argument(
        "--out", type=Path, metavar="F", help="the book's file; the one beside the game by default"
    )
    return parser


def parse_arguments(line: list[str] | None) -> argparse.Namespace:
    """The arguments of a command line; exits if some do not belong together."""
    made = parser()
    args = made.parse_args(line)
    task = next(
        (name for name in ("file", "make_tables", "make_book") if getattr(args, name)), "position"
    )
    for name, tasks in BELONGS_TO.items():
        if getattr(args, name) is not None and task not in tasks:
            made.error(f"argument --{name}: not with --{task.replace('_', '-')}")
    args.option = dict(args.option or ())
    args.seconds = args.seconds or SECONDS
    return args


def make_tables(game: Game, args: argparse.Namespace) -> int:
    """Makes the endgame tables of a game that has some, and shows the progress."""
    solver = named_solver(game)
    if not isinstance(solver, TableSolver):
        raise GameError(f"{game.title} has no endgame tables")
    begun = time.perf_counter()
    pieces = solver.most_pieces if args.pieces is None else args.pieces
    if not 2 <= pieces <= solver.most_pieces:
        raise GameError(
            f"the tables of {game.title} go up to 2 to {solver.most_pieces} pieces, not {pieces}"
        )
    counts = solver.make_tables(pieces, show_progress)
    end_progress()
    summary = {"pieces": pieces, **counts, "seconds": round(time.perf_counter() - begun, 1)}
    if args.json:
        print(msgspec.json.encode(summary).decode())
    else:
        print("\n".join(f"{name:11} {number:,}" for name, number in summary.items()))
    return 0


def make_book(game: Game, args: argparse.Namespace) -> int:
    """Makes the opening book of a game that has one; an interrupted run continues from its work."""
    solver = named_solver(game)
    if not isinstance(solver, BookSolver):
        raise GameError(f"{game.title} has no opening book")
    plies = BOOK_PLIES if args.plies is None else args.plies
    if plies > MOST_BOOK_PLIES:
        raise GameError(f"a book has 0 to {MOST_BOOK_PLIES} plies, not {plies}")
    if args.out is None and not game.rules.DATA:
        raise GameError(f"{game.title} names no DATA file for its book: say --out")
    out = args.out or Path(str(getattr(game.module, "__file__", ""))).parent / game.rules.DATA[0]
    work = args.work or out.with_suffix(".work")
    if not out.parent.is_dir() or out.is_dir():  # checked before the work, not after it
        raise GameError(f"{out}: no file can be written there")
    begun = time.perf_counter()
    solver.prepare()
    try:
        content = solver.make_book(plies, work, show_book_progress)
    except UnicodeDecodeError:
        raise GameError(f"{work} is not the work on a book") from None
    end_progress()
    out.write_bytes(content)
    seconds = time.perf_counter() - begun
    if args.json:
        summary = {
            "file": str(out),
            "bytes": len(content),
            "plies": plies,
            "seconds": round(seconds, 1),
        }
        print(msgspec.json.encode(summary).decode())
    else:
        print(f"{out}: {len(content):,} bytes, {plies} plies, {seconds:.1f} s")
    return 0


def show_book_progress(plies: int, done: int, total: int) -> None:
    filled = 30 * done // max(1, total)
    bar = "#" * filled + "." * (30 - filled)
    progress(f"{plies:2} plies [{bar}] {done:,} of {total:,} ")
    if done == total:
        end_progress()


def show_progress(done: int, total: int) -> None:
    progress(f"{done:,} of {total:,} entries ({done / total:.0%})")


def progress(text: str) -> None:
    """Overwrites the last line of a terminal; writes nothing into a file."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


def solve_one(solver: Solver, args: argparse.Namespace) -> int:
    """Solves one position, by default the start, and prints the result; returns the exit code."""
    from engine.search.driver import Control

    if args.position is not None:
        position = read_problem(solver, args.position, args.option).position
    else:
        position = solver.game.start(args.option)
    limit = Limit(nodes=args.nodes)
    solution = solver.solve(position, limit, Control(), around=timed(solver, args.seconds))
    if solution is None:
        print(f"solve: {why_not_solved(solver, position, args)}", file=sys.stderr)
        return 1
    if args.json:
        print(msgspec.json.encode(as_dict(solver, position, solution)).decode())
    else:
        print(as_text(solver, position, solution))
    return 0


def why_not_solved(solver: Solver, position: Position, args: argparse.Namespace) -> str:
    if isinstance(solver, TableSolver) and not solver.reaches(position, None):
        return (
            f"the endgame tables of {solver.game.title} do not tell this position "
            "and all that it leads to"
        )
    nodes = f" and {args.nodes:,} nodes" if args.nodes else ""
    return f"not solved within {args.seconds:g} s{nodes}"


def solve_file(solver: Solver, args: argparse.Namespace) -> int:
    """Solves a file of positions and prints the means; returns the exit code."""
    problems = read_suite(solver, args.file, args.option)
    suite = solve_suite(solver, problems, Limit(nodes=args.nodes), args.seconds)
    print(msgspec.json.encode(asdict(suite)).decode() if args.json else suite_as_text(suite))
    return 1 if suite.wrong or suite.open else 0


def answer(args: argparse.Namespace) -> int:
    """Runs the task of a command line; returns the exit code."""
    game = load_game(args.game)
    if args.make_tables:
        return make_tables(game, args)
    if args.make_book:
        return make_book(game, args)
    solver = solver_of(game)
    solver.prepare()
    return solve_file(solver, args) if args.file is not None else solve_one(solver, args)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    code = 1
    try:
        code = answer(args)
        sys.stdout.flush()
    except (GameError, GameFault) as error:
        print(f"solve: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed its end early
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"solve: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
