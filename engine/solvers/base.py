"""The solver protocol: a solver finds the exact result of a position.

A game's rules file names the module of its solver, `SOLVER = "engine.solvers.connect_four"`; the
module has a function `make_solver(game)`. A solver is compiled code, so only the search worker and
`engine.solve` import it. The digest of the game's rules covers the module and the files beside it
whose names begin with its name (`connect_four_kernel.py`).
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
    """A text is not a position to solve; the message says what is expected."""


#: The bound of a score for the other side.
OPPOSITE: Mapping[Bound, Bound] = {"exact": "exact", "lower": "upper", "upper": "lower"}
#: An `engine.search.driver.Control`. Importing it here would load the compiler.
Control = Any


@dataclass(frozen=True, slots=True)
class SolvedMove:
    """The result of one move, for the side that makes it.

    `score` is in the game's own units, `value` in the search's units, with MATE as the highest
    value. `bound` says whether both are exact or bounds. `lead` is the final lead in the game's
    points, where the game has points and the lead is exact.
    """

    move: int
    score: int
    value: int
    bound: Bound = "exact"
    lead: int | None = None

    @property
    def is_proven(self) -> bool:
        """Whether it is known who wins with this move."""
        value, bound = self.value, self.bound
        is_decided = (value > 0 and bound == "lower") or (value < 0 and bound == "upper")
        return bound == "exact" or is_decided


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of a position for the side to move.

    `moves` has the best move first, `line` is the known part of the principal variation, `depth` is
    the depth of the search in plies. `score` and `value` are exact unless `bound` says that they
    are bounds: a solver may know only who wins.
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
        """The moves that are proven to reach the best score and value."""
        best = self.score, self.value
        return tuple(
            m.move for m in self.moves if (m.score, m.value) == best and m.bound != "upper"
        )


@dataclass(frozen=True, slots=True)
class Problem:
    """A position to solve, and its score if that is known."""

    position: Position
    score: int | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The scores of many positions, their node counts, and the total time.

    A score is None if a limit was reached first.
    """

    scores: tuple[int | None, ...]
    nodes: tuple[int, ...]
    seconds: float


#: Returns a context manager for a computation. With a time limit it starts a timer that calls
#: `expire`.
Timer = Callable[[], AbstractContextManager[None]]


class Solver(Protocol):
    """The exact solver of one game, used by one thread; another thread may call `expire`."""

    game: Game

    def prepare(self) -> None:
        """Compiles the solver or loads it from the cache, then loads its data."""

    def expire(self) -> None:
        """Stops the running computation; another thread may call it."""

    def can_solve(self, position: Position, time_ms: int | None) -> bool:
        """True if the solver is expected to solve the position in `time_ms` (None: no limit)."""

    def solve(
        self, position: Position, limit: Limit, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the result, or None if a limit was reached first.

        Raises Cancelled if the control block says so. The position must have a move. The caller
        enforces the time limit: its `timer` calls `expire`.
        """

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        timer: Timer = nullcontext,
    ) -> BatchResult:
        """Returns the scores of many positions, without moves.

        `limit.nodes` is the limit for each position.
        """

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """Parses a problem, in the notations that position collections use.

        Raises ProblemError or another GameError if the text is not a position.
        """

    def describe(self, solution: Solution) -> str:
        """Returns the result in words, such as "a win in 5 plies"."""


@runtime_checkable
class StudySolver(Solver, Protocol):
    """A solver that hints and analyses ask, as `SOLVER_NODES` of its game says."""

    def study(
        self, position: Position, nodes: int, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the result and the moves whose result is proven, or None if it is out of reach.

        It spends at most `nodes` nodes on the result, and at most as many again on each of the
        distance, the other moves, and the line. It starts from an empty table, so that its answer
        depends on nothing but the arguments. A bound may leave the distance open, but not who wins.
        Raises Cancelled if the control block says so. The position must have a move.
        """


@runtime_checkable
class TableSolver(Solver, Protocol):
    """A solver with endgame tables, which its `prepare` loads, or generates if they are missing."""

    #: Maximum number of pieces on the board in the tables.
    max_pieces: int

    @property
    def data(self) -> Any:
        """The words of DATA and of the tables, for the rule `probe`; None before `prepare`."""

    def make_tables(self, pieces: int, progress: Callable[[int, int], None]) -> dict[str, int]:
        """Generates and stores the tables of up to `pieces` pieces.

        Returns figures of the tables by name, such as `wins`. `progress` receives the number of
        entries done and the total.
        """


@runtime_checkable
class BookSolver(Solver, Protocol):
    """A solver with an opening book, the first DATA file of its game."""

    def make_book(self, plies: int, work: Path, progress: Callable[[int, int, int], None]) -> bytes:
        """Returns the content of a book file with positions up to `plies` plies from the start.

        The file `work` records finished positions, so that a later run skips them. `progress`
        receives the plies of the positions being solved, the number done and the total.
        """


def load_solver(game: Game) -> Solver | None:
    """Loads the solver that a game's rules name, None without one.

    Raises GameFault if loading fails, or if the game has SOLVER_NODES and its solver no `study`.
    """
    name = game.rules.SOLVER
    if not name:
        return None
    try:
        solver: Solver = import_module(name).make_solver(game)
    except (ImportError, AttributeError) as error:
        raise GameFault(f"the solver {name!r} of {game.id} cannot be loaded: {error}") from error
    if game.rules.SOLVER_NODES and not isinstance(solver, StudySolver):
        raise GameFault(f"{game.id} has SOLVER_NODES, so its solver {name!r} needs `study`")
    return solver
