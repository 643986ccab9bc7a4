"""What a solver is: it finds the exact result of a position, where the general search only guesses.

A game's rules file names its solver by a string, `SOLVER = "engine.solvers.connect_four"`: a module
with a function `make_solver(game)`. Only whoever solves imports it (a search worker,
`engine.solve`), for a solver is compiled code. Its file, and those beside it whose names begin like
its own (`connect_four_kernel.py`), belong to the digest of the game's rules.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from engine.game import Game, GameError, GameFault, Position
from engine.search.job import Bound, Limit


class ProblemError(GameError):
    """The text is not a position to solve; the message says what was expected."""


#: An `engine.search.driver.Control`: not imported here, for that would load the compiler.
Control = Any


@dataclass(frozen=True, slots=True)
class SolvedMove:
    """What is known of one move, for the side that makes it: `score` in the game's own terms,
    `value` in the search's units (MATE at the top). Both are exact, or limits of what the move is
    worth, as `bound` says.
    """

    move: int
    score: int
    value: int
    bound: Bound = "exact"


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a position for the side to move: `moves` the best one first, `line` the play to
    the end as far as it is known, `depth` the plies that were looked ahead.

    `score` and `value` are exact unless `bound` says that they are a limit: a solver may only know
    who wins.
    """

    score: int
    value: int
    moves: tuple[SolvedMove, ...]
    line: tuple[int, ...]
    depth: int
    nodes: int
    seconds: float
    bound: Bound = "exact"

    @property
    def best_moves(self) -> tuple[int, ...]:
        """The moves that are known to reach the score, as soon."""
        best = self.score, self.value
        return tuple(
            m.move for m in self.moves if (m.score, m.value) == best and m.bound != "upper"
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """A position to solve, and the score that it is known to have."""

    position: Position
    score: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The scores of many positions, None where a limit came first, the nodes of each, and the time
    for all.
    """

    scores: tuple[int | None, ...]
    nodes: tuple[int, ...]
    seconds: float


#: A context for the time of a computation: whoever has a time limit enters a timer there that calls
#: `expire`.
Around = Callable[[], AbstractContextManager[None]]


class Solver(Protocol):
    """The exact solver of one game. It serves one thread; meanwhile another one may call `expire`."""

    game: Game

    def prepare(self) -> None:
        """Compiles the solver or loads it from the cache, and loads its data."""

    def expire(self) -> None:
        """Ends what is running without a result; may be called from another thread."""

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """Is the position one that is surely solved in this time? None is no limit of time."""

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        """The exact result, or None when a limit came first; Cancelled when the control block says
        so.

        The position has a move. The caller sees to the time limit: it calls `expire`, from within
        `around`.
        """

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Around = nullcontext,
    ) -> Batch:
        """The scores of many positions and nothing else, so sooner; `limit.nodes` is for each of
        them.
        """

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """The position that a text names, in any form that collections of positions use;
        ProblemError or another GameError when it names none.
        """

    def describe(self, solution: Solution) -> str:
        """The result in words: "a win in 5 plies"."""


@runtime_checkable
class TableSolver(Solver, Protocol):
    """A solver with endgame tables, which its `prepare` loads, or makes where they are not there."""

    #: The tables go up to so many pieces.
    most_pieces: int

    @property
    def data(self) -> Any:
        """The words that the game's rule `probe` reads: its DATA and the tables; None before
        `prepare`.
        """

    def make_tables(self, pieces: int, tell: Callable[[int, int], None]) -> dict[str, int]:
        """Makes the tables up to so many pieces anew and keeps them; what is in them, by name.

        `tell` takes how many entries are made, and of how many.
        """


@runtime_checkable
class BookSolver(Solver, Protocol):
    """A solver with an opening book, the first DATA file of its game."""

    def make_book(self, plies: int, work: Path, tell: Callable[[int, int, int], None]) -> bytes:
        """The file of a book of the positions up to so many plies from the start.

        `work` is a file that keeps what is done, so that another run goes on there. `tell` takes
        the plies of the positions that are solved now, how many of them are done, and of how many.
        """


def named_solver(game: Game) -> Solver | None:
    """The solver that a game's rules name; None where they name none. GameFault when it cannot be
    had.
    """
    name = str(getattr(game.rules, "SOLVER", ""))
    if not name:
        return None
    try:
        solver: Solver = import_module(name).make_solver(game)
    except (ImportError, AttributeError) as error:
        raise GameFault(f"the solver {name!r} of {game.id} cannot be had: {error}") from error
    return solver
