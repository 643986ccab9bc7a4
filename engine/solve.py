"""python -m engine.solve GAME: the exact result of a position under best play.

A game with its own solver uses that solver. Any other game uses the general search, which solves a
position if it reaches the end of every line within the limits.
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

from engine.command_line import count, count_or_zero, option, positive
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
    load_solver,
)

#: Default length of an opening book, in plies.
DEFAULT_BOOK_PLIES = 10
#: Maximum length of an opening book, in plies.
MAX_BOOK_PLIES = 16
#: Default time limit for a position, in seconds.
DEFAULT_SECONDS = 60.0
#: The tasks in which each argument may be given; "position" is the default task.
TASKS_OF_ARGUMENT = {
    "seconds": ("position", "file"),
    "nodes": ("position", "file"),
    "option": ("position", "file"),
    "pieces": ("make_tables",),
    "plies": ("make_book",),
    "work": ("make_book",),
    "out": ("make_book",),
}


@dataclass(frozen=True)
class SuiteResult:
    """The results of a file of positions, with the mean time and nodes of a position.

    `wrong` and `open` hold line numbers; an open position was not solved within the limits.
    """

    positions: int
    checked: int
    wrong: list[int]
    open: list[int]
    mean_us: float
    mean_nodes: float


def solver_of(game: Game) -> Solver:
    """Returns the game's own solver, or the general search if it has none."""
    from engine.solvers.general import SearchSolver

    return load_solver(game) or SearchSolver(game)


def timer_for(solver: Solver, seconds: float) -> Timer:
    """Returns a timer that stops the solver after this many seconds."""
    return lambda: expiring(solver.expire, seconds)


def read_problem(solver: Solver, text: str, options: Mapping[str, str]) -> Problem:
    """Parses a problem; raises ProblemError or another GameError if there is nothing to solve."""
    problem = solver.problem(text, options)
    if not problem.position.moves():
        raise ProblemError(f"{text[:80]!r}: the match is already over, there is nothing to solve")
    return problem


def read_suite(solver: Solver, path: Path, options: Mapping[str, str]) -> dict[int, Problem]:
    """Reads the problems of a file, by line number; skips empty lines and # comments."""
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
) -> SuiteResult:
    """Solves all problems within `seconds` each on average, and compares them with known scores."""
    from engine.search.driver import Control

    positions = [problem.position for problem in problems.values()]
    timer = timer_for(solver, seconds * len(positions))
    batch = solver.solve_batch(positions, limit, Control(), timer=timer)
    scored = list(zip(problems.items(), batch.scores, strict=True))
    return SuiteResult(
        positions=len(positions),
        checked=sum(p.score is not None for p in problems.values()),
        wrong=[n for (n, p), score in scored if None not in (p.score, score) and p.score != score],
        open=[n for (n, _), score in scored if score is None],
        mean_us=batch.seconds / len(positions) * 1e6,
        mean_nodes=fmean(batch.nodes),
    )


def moves_as_tokens(position: Position, solution: Solution) -> tuple[list[str], list[str]]:
    """Returns the best moves and the line of a solution, as tokens."""
    line, current = [], position
    for move in solution.line:
        line.append(current.format_move(move))
        current = current.play(move)
    return [position.format_move(move) for move in solution.best_moves], line


def as_dict(solver: Solver, position: Position, solution: Solution) -> dict[str, object]:
    """Returns a solution as the fields of the JSON output."""
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
    """Formats a solution as text."""
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


def suite_as_text(suite: SuiteResult) -> str:
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


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.solve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 solved, 1 not solved within the limits or a score is wrong, "
        "2 for a bad argument.",
    )
    parser.add_argument("game")
    task = parser.add_mutually_exclusive_group()
    task.add_argument(
        "--position", metavar="TEXT", help="the position to solve; the start of the game by default"
    )
    task.add_argument(
        "--file",
        metavar="F",
        type=Path,
        help="solve a position on each line and check the scores beside them",
    )
    task.add_argument(
        "--make-tables",
        action="store_true",
        help="compute and store the game's endgame tables",
    )
    task.add_argument("--make-book", action="store_true", help="compute the game's opening book")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    solving = parser.add_argument_group("positions")
    solving.add_argument(
        "--option", type=option, action="append", metavar="NAME=VALUE", help="an option of the game"
    )
    solving.add_argument(
        "--seconds",
        type=positive,
        help=f"time limit for a position, {DEFAULT_SECONDS:g} by default",
    )
    solving.add_argument("--nodes", type=count, help="node limit for a position")
    tables = parser.add_argument_group("endgame tables")
    tables.add_argument(
        "--pieces",
        type=count,
        help="maximum pieces on the board, by default the most that the solver supports",
    )
    book = parser.add_argument_group("opening book")
    book.add_argument(
        "--plies", type=count_or_zero, help=f"length of the book, {DEFAULT_BOOK_PLIES} by default"
    )
    book.add_argument(
        "--work",
        type=Path,
        metavar="F",
        help="file with the state of the work, from which an interrupted run continues",
    )
    book.add_argument(
        "--out", type=Path, metavar="F", help="file of the book, by default the one beside the game"
    )
    return parser


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Parses a command line; exits with code 2 if its arguments do not belong together."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    task = next(
        (name for name in ("file", "make_tables", "make_book") if getattr(args, name)), "position"
    )
    for name, tasks in TASKS_OF_ARGUMENT.items():
        if getattr(args, name) is not None and task not in tasks:
            wrong_task = f"not with --{task.replace('_', '-')}"
            only_task = f"only with --{tasks[0].replace('_', '-')}"
            parser.error(f"argument --{name}: {wrong_task if 'position' in tasks else only_task}")
    args.option = dict(args.option or ())
    args.seconds = args.seconds or DEFAULT_SECONDS
    return args


def make_tables(game: Game, args: argparse.Namespace) -> int:
    """Computes the endgame tables of a game and shows the progress; returns the exit code."""
    solver = load_solver(game)
    if not isinstance(solver, TableSolver):
        raise GameError(f"{game.title} has no endgame tables")
    start_s = time.perf_counter()
    pieces = solver.max_pieces if args.pieces is None else args.pieces
    if not 2 <= pieces <= solver.max_pieces:
        raise GameError(
            f"the tables of {game.title} are for 2 to {solver.max_pieces} pieces, not {pieces}"
        )
    counts = solver.make_tables(pieces, show_progress)
    end_line()
    summary = {"pieces": pieces, **counts, "seconds": round(time.perf_counter() - start_s, 1)}
    if args.json:
        print(msgspec.json.encode(summary).decode())
    else:
        print("\n".join(f"{name:11} {number:,}" for name, number in summary.items()))
    return 0


def make_book(game: Game, args: argparse.Namespace) -> int:
    """Computes a game's opening book, continuing an interrupted run; returns the exit code."""
    solver = load_solver(game)
    if not isinstance(solver, BookSolver):
        raise GameError(f"{game.title} has no opening book")
    plies = DEFAULT_BOOK_PLIES if args.plies is None else args.plies
    if plies > MAX_BOOK_PLIES:
        raise GameError(f"a book has 0 to {MAX_BOOK_PLIES} plies, not {plies}")
    if args.out is None and not game.rules.DATA:
        raise GameError(f"{game.title} has no DATA file for its book: give --out")
    out = args.out or Path(str(getattr(game.module, "__file__", ""))).parent / game.rules.DATA[0]
    work = args.work or out.with_suffix(".work")
    if not out.parent.is_dir() or out.is_dir():  # checked before the work, not after it
        raise GameError(f"{out}: cannot write a file there")
    start_s = time.perf_counter()
    solver.prepare()
    try:
        content = solver.make_book(plies, work, show_book_progress)
    except UnicodeDecodeError:
        raise GameError(f"{work} is not the state of an interrupted book") from None
    end_line()
    out.write_bytes(content)
    seconds = time.perf_counter() - start_s
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
    show_line(f"{plies:2} plies [{bar}] {done:,} of {total:,} ")
    if done == total:
        end_line()


def show_progress(done: int, total: int) -> None:
    show_line(f"{done:,} of {total:,} entries ({done / total:.0%})")


def show_line(text: str) -> None:
    """Overwrites the last line of the terminal; writes nothing if stderr is not a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)


def end_line() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


def solve_one(solver: Solver, args: argparse.Namespace) -> int:
    """Solves one position, by default the start, and prints the solution; returns the exit code."""
    from engine.search.driver import Control

    if args.position is not None:
        position = read_problem(solver, args.position, args.option).position
    else:
        position = solver.game.start(args.option)
    limit = Limit(nodes=args.nodes)
    solution = solver.solve(position, limit, Control(), timer=timer_for(solver, args.seconds))
    if solution is None:
        print(f"solve: {explain_failure(solver, position, args)}", file=sys.stderr)
        return 1
    if args.json:
        print(msgspec.json.encode(as_dict(solver, position, solution)).decode())
    else:
        print(as_text(solver, position, solution))
    return 0


def explain_failure(solver: Solver, position: Position, args: argparse.Namespace) -> str:
    if isinstance(solver, TableSolver) and not solver.can_solve(position, None):
        return (
            f"the endgame tables of {solver.game.title} do not cover this position, "
            "or not all positions that it leads to"
        )
    nodes = f" and {args.nodes:,} nodes" if args.nodes else ""
    return f"not solved within {args.seconds:g} s{nodes}"


def solve_file(solver: Solver, args: argparse.Namespace) -> int:
    """Solves a file of positions and prints a summary; returns the exit code."""
    problems = read_suite(solver, args.file, args.option)
    suite = solve_suite(solver, problems, Limit(nodes=args.nodes), args.seconds)
    print(msgspec.json.encode(asdict(suite)).decode() if args.json else suite_as_text(suite))
    return 1 if suite.wrong or suite.open else 0


def run_task(args: argparse.Namespace) -> int:
    """Runs the task that the command line names; returns the exit code."""
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
        code = run_task(args)
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
