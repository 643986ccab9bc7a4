"""python -m engine.solve GAME: the exact result of a position, when both sides play their best.

A game with a solver of its own is solved by that, any other one by the general search, if it comes
to the end of all lines within the limits.
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
    Around,
    BookSolver,
    Problem,
    ProblemError,
    Solution,
    Solver,
    TableSolver,
    named_solver,
)

BOOK_PLIES = 10
MOST_BOOK_PLIES = 16
#: How long a position may take by default.
SECONDS = 60.0
#: What an argument is of use for; a position is solved where nothing else is asked for.
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
    """What solving a file of positions gave: means a position; `wrong` and `open` are line numbers,
    open ones had no result within the limits.
    """

    positions: int
    checked: int
    wrong: list[int]
    open: list[int]
    mean_us: float
    mean_nodes: float


def solver_of(game: Game) -> Solver:
    """The game's own solver, or the general search as one."""
    from engine.solvers.general import SearchSolver

    return named_solver(game) or SearchSolver(game)


def timed(solver: Solver, seconds: float) -> Around:
    """A computation that is ended after so many seconds."""

    return lambda: expiring(solver.expire, seconds)


def read_problem(solver: Solver, text: str, options: Mapping[str, str]) -> Problem:
    """The position of a text; ProblemError or another GameError says why it cannot be solved."""
    problem = solver.problem(text, options)
    if not problem.position.moves():
        raise ProblemError(f"{text[:80]!r}: the match is over there, nothing is left to solve")
    return problem


def read_suite(solver: Solver, path: Path, options: Mapping[str, str]) -> dict[int, Problem]:
    """The problems of a file by line number: one a line, empty lines and those that begin with #
    left out.
    """
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
    """Solves all, each within the seconds on average, and compares with the scores that are given."""
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
    """The best moves, and the line."""
    line, here = [], position
    for move in solution.line:
        line.append(here.format_move(move))
        here = here.play(move)
    return [position.format_move(move) for move in solution.best_moves], line


def as_dict(solver: Solver, position: Position, solution: Solution) -> dict[str, object]:
    """A solution for a program to read."""
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
    """A solution for people."""
    signs = {"exact": "", "lower": ">= ", "upper": "<= "}
    best, line = moves_as_tokens(position, solution)
    moves = ", ".join(
        f"{position.format_move(m.move)} {signs[m.bound]}{m.score:+d}" for m in solution.moves
    )
    return "\n".join(
        [
            f"position    {position.text()}",
            f"score       {signs[solution.bound]}{solution.score:+d}, {solver.describe(solution)} for the side to move",
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
        epilog="Exit codes: 0 solved, 1 not solved within the limits or a score is wrong, 2 for a bad argument.",
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
        help="solve one position a line, check the scores that are beside them",
    )
    what.add_argument(
        "--make-tables",
        action="store_true",
        help="make the game's endgame tables anew, and keep them",
    )
    what.add_argument("--make-book", action="store_true", help="make the game's opening book anew")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    solving = parser.add_argument_group("positions")
    solving.add_argument(
        "--option", type=option, action="append", metavar="NAME=VALUE", help="an option of the game"
    )
    solving.add_argument("--seconds", type=positive, help=f"a position, {SECONDS:g} by default")
    solving.add_argument("--nodes", type=count, help="at most so many nodes a position")
    tables = parser.add_argument_group("endgame tables")
    tables.add_argument(
        "--pieces", type=count, help="up to so many pieces, as many as there can be by default"
    )
    book = parser.add_argument_group("opening book")
    book.add_argument("--plies", type=count_or_none, help=f"of the book, {BOOK_PLIES} by default")
    book.add_argument(
        "--work",
        type=Path,
        metavar="F",
        help="what is done of the book; a run that was cut goes on there",
    )
    book.add_argument(
        "--out", type=Path, metavar="F", help="the book's file; the one beside the game by default"
    )
    return parser


def asked_on(line: list[str] | None) -> argparse.Namespace:
    """What is asked for on a command line; it ends the program where arguments do not go together."""
    made = parser()
    asked = made.parse_args(line)
    task = next(
        (name for name in ("file", "make_tables", "make_book") if getattr(asked, name)), "position"
    )
    for name, tasks in BELONGS_TO.items():
        if getattr(asked, name) is not None and task not in tasks:
            made.error(f"argument --{name}: not with --{task.replace('_', '-')}")
    asked.option = dict(asked.option or ())
    asked.seconds = asked.seconds or SECONDS
    return asked


def make_tables(game: Game, asked: argparse.Namespace) -> int:
    """Makes the endgame tables of a game that has some, and shows how far it is."""
    solver = named_solver(game)
    if not isinstance(solver, TableSolver):
        raise GameError(f"{game.title} has no endgame tables")
    begun = time.perf_counter()
    pieces = solver.most_pieces if asked.pieces is None else asked.pieces
    if not 2 <= pieces <= solver.most_pieces:
        raise GameError(
            f"the tables of {game.title} go up to 2 to {solver.most_pieces} pieces, not {pieces}"
        )
    counts = solver.make_tables(pieces, show_progress)
    end_progress()
    told = {"pieces": pieces, **counts, "seconds": round(time.perf_counter() - begun, 1)}
    if asked.json:
        print(msgspec.json.encode(told).decode())
    else:
        print("\n".join(f"{name:11} {number:,}" for name, number in told.items()))
    return 0


def make_book(game: Game, asked: argparse.Namespace) -> int:
    """Makes the opening book of a game that has one; a run that was cut goes on where it was."""
    solver = named_solver(game)
    if not isinstance(solver, BookSolver):
        raise GameError(f"{game.title} has no opening book")
    plies = BOOK_PLIES if asked.plies is None else asked.plies
    if plies > MOST_BOOK_PLIES:
        raise GameError(f"a book has 0 to {MOST_BOOK_PLIES} plies, not {plies}")
    if asked.out is None and not game.rules.DATA:
        raise GameError(f"{game.title} names no DATA file for its book: say --out")
    out = asked.out or Path(str(getattr(game.rules, "__file__", ""))).parent / game.rules.DATA[0]
    work = asked.work or out.with_suffix(".work")
    if not out.parent.is_dir() or out.is_dir():
        raise GameError(
            f"{out}: no file can be written there"
        )  # told before the work, not after it
    begun = time.perf_counter()
    solver.prepare()
    try:
        content = solver.make_book(plies, work, show_book_progress)
    except UnicodeDecodeError:
        raise GameError(f"{work} is not the work on a book") from None
    end_progress()
    out.write_bytes(content)
    seconds = time.perf_counter() - begun
    if asked.json:
        told = {
            "file": str(out),
            "bytes": len(content),
            "plies": plies,
            "seconds": round(seconds, 1),
        }
        print(msgspec.json.encode(told).decode())
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
    """Writes over the last line of a terminal, and nothing into a file."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    if sys.stderr.isatty():
        print(file=sys.stderr)


def solve_one(solver: Solver, asked: argparse.Namespace) -> int:
    """Solves the position that was asked for and prints what it is worth."""
    from engine.search.driver import Control

    if asked.position is not None:
        position = read_problem(solver, asked.position, asked.option).position
    else:
        position = solver.game.start(asked.option)
    limit = Limit(nodes=asked.nodes)
    solution = solver.solve(position, limit, Control(), around=timed(solver, asked.seconds))
    if solution is None:
        print(f"solve: {why_not_solved(solver, position, asked)}", file=sys.stderr)
        return 1
    if asked.json:
        print(msgspec.json.encode(as_dict(solver, position, solution)).decode())
    else:
        print(as_text(solver, position, solution))
    return 0


def why_not_solved(solver: Solver, position: Position, asked: argparse.Namespace) -> str:
    if isinstance(solver, TableSolver) and not solver.reaches(position, None):
        return f"the endgame tables of {solver.game.title} do not tell this position and all that it leads to"
    nodes = f" and {asked.nodes:,} nodes" if asked.nodes else ""
    return f"not solved within {asked.seconds:g} s{nodes}"


def solve_file(solver: Solver, asked: argparse.Namespace) -> int:
    """Solves a file and prints means."""
    problems = read_suite(solver, asked.file, asked.option)
    suite = solve_suite(solver, problems, Limit(nodes=asked.nodes), asked.seconds)
    print(msgspec.json.encode(asdict(suite)).decode() if asked.json else suite_as_text(suite))
    return 1 if suite.wrong or suite.open else 0


def answer(asked: argparse.Namespace) -> int:
    """Does what was asked for; the exit code."""
    game = load_game(asked.game)
    if asked.make_tables:
        return make_tables(game, asked)
    if asked.make_book:
        return make_book(game, asked)
    solver = solver_of(game)
    solver.prepare()
    return solve_file(solver, asked) if asked.file is not None else solve_one(solver, asked)


def main(arguments: list[str] | None = None) -> int:
    asked = asked_on(arguments)
    code = 1
    try:
        code = answer(asked)
        sys.stdout.flush()
    except (GameError, GameFault) as error:
        print(f"solve: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"solve: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
