"""Requests to the search and its answers: plain data that crosses pipes between processes."""

import math
from typing import Literal, get_args

from msgspec import Struct

#: What a score means: the true value, or a lower or upper bound of it.
Bound = Literal["exact", "lower", "upper"]
Persona = Literal["average", "swindler", "random"]
#: The ways of playing other than levels: see `engine.search.persona`.
PERSONAS: tuple[Persona, ...] = get_args(Persona)

#: The capability of a program that can search several lines, as named in `Job.needs`.
LINES = "lines"
#: The capability of a program that can search the position after a null move.
NULL_MOVE = "null-move"

#: What a search is for, which is its class: an AI's move (live), a person who waits for an answer
#: (ask), or the analysis of a match (study).
Use = Literal["live", "ask", "study"]
#: The classes of searches, the most urgent first. Only a match between AIs waits for one of a later
#: class: see RANKS.
USES: tuple[Use, ...] = get_args(Use)
#: The order of live searches: for a person who waits for the move, in a match between AIs, and in
#: such a match that nobody follows.
Priority = Literal[0, 1, 2]
#: The number of priorities.
PRIORITIES = len(get_args(Priority))
#: The ranks of searches, the first one to be served first: a class, and a `Job.priority`. A person
#: who waits for an answer comes before the matches that AIs play among themselves.
RANKS: tuple[tuple[Use, Priority], ...] = (
    ("live", 0), ("ask", 0), ("live", 1), ("live", 2), ("study", 0),
)  # fmt: skip
#: The class of live searches, and the classes whose searches they may preempt.
LIVE, BACKGROUND = USES[:1], USES[1:]
#: The classes whose searches leave no place for one of this class, as far as they fill the places.
RIVALS: dict[Use, tuple[Use, ...]] = {"live": LIVE, "ask": ("ask",), "study": BACKGROUND}

#: The greatest depth of a strategy's search, in plies.
MAX_STRATEGY_DEPTH = 30

#: The greatest numbers of depths in a report: of a move's exact scores, and of the best moves.
MAX_EXACT_DEPTHS, MAX_DEPTHS = 24, 32
#: The longest line of a `DepthBest` or a `RootMove`, in moves.
MAX_LINE_MOVES = 5
#: The greatest number of moves for which a job may request exact scores.
MAX_JOB_LINES = 5

#: A won position scores MATE minus the plies to its end; evaluations stay far below.
MATE = 30_000


class Limit(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When a search stops: at the first limit reached, but never before depth 1 is complete.

    None means no limit. `clock_ms` is the time that the side to move has left for `moves_to_go`
    moves (None: for the rest of the match), and `increment_ms` is the time that it gains after each
    move: see `engine.search.timeman`. Raises ValueError for a depth or nodes below 1.
    """

    depth: int | None = None
    nodes: int | None = None
    time_ms: int | None = None
    clock_ms: int | None = None
    increment_ms: int = 0
    moves_to_go: int | None = None

    def __post_init__(self) -> None:
        for name, number in (("depth", self.depth), ("nodes", self.nodes)):
            if number is not None and number < 1:
                raise ValueError(f"a limit of {name} is 1 or more, not {number}")


class Job(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One search: a start position as text and the moves since, under the rules of this digest.

    A `level`, or a `persona`, sets the limit and chooses among the moves. Without either, `limit`
    applies and the best move is played. `seed` makes the random choices of the weaker levels
    repeatable. Jobs with the same `affinity` (a room) share a worker's table when they can.
    With a `strategy` that player chooses the move, with the limit's depth and time and an
    `evaluator`; only processes for strategies run it (`engine.strategy_pool`).
    `digest`, when given, is the digest of the position to search: a worker refuses the job if the
    moves lead to another position. `needs` names what a worker's program must be able to do beyond
    what every program can: a worker that does not know one of the names refuses the job.
    `priority` orders the live searches in a queue.
    `use` is the class of the search. A job of the classes ask and study is searched in isolation:
    with fixed nodes, its result depends on nothing but the job.
    `lines` is the number of best moves that get exact scores and lines (multi-PV), for a job with a
    `limit` of its own. Such a job needs the capability LINES.
    With `solver_nodes` above 0 a job that is not live asks the game's solver first, which has that
    many nodes for each part of its answer (`Solver.study`); what it proves is the answer.
    With `null_move` the position to search is that of `digest` with the other side to move
    (`engine.null_move`). Such a job needs the capability NULL_MOVE.
    """

    game: str
    rules: str
    options: dict[str, str]
    start: str
    moves: tuple[str, ...]
    affinity: str
    level: int | None = None
    persona: str | None = None
    limit: Limit = Limit()
    seed: int = 0
    digest: str = ""
    needs: tuple[str, ...] = ()
    strategy: str | None = None
    evaluator: str = ""
    use: Use = "live"
    lines: int = 1
    solver_nodes: int = 0
    null_move: bool = False
    priority: Priority = 0


class RootMove(Struct, frozen=True, omit_defaults=True):
    """The search's verdict on one move: the score for the side to move, in the evaluation's units
    (MATE minus plies for a forced win).

    `nodes` are the nodes that the search has spent on it. `exact` are the depths at which its score
    was exact, ascending, the last 24 of them: at the other depths the search only proved that the
    move is no better than the best one.
    `line` begins with the move, where the job requested the lines of several moves and the score is
    exact. `proven` says that a solver has proved who wins with the move, `lead` its final lead in
    the game's points, if that is known.
    """

    move: str
    score: int
    bound: Bound = "exact"
    nodes: int = 0
    exact: tuple[int, ...] = ()
    line: tuple[str, ...] = ()
    proven: bool = False
    lead: int | None = None


class DepthBest(Struct, frozen=True):
    """The best move of a depth, at the head of the line that the search expected, and its score.

    The last depth of a search may be incomplete.
    """

    depth: int
    score: int
    line: tuple[str, ...]


class Counts(Struct, frozen=True, omit_defaults=True):
    """How much a search has cut off above its horizon.

    - `cuts` counts the positions where a move refuted the opponent's last one, so that the
      remaining moves were cut off; at `first_cuts` of them it was the first move searched.
    - `table_hits` counts the positions that were found in the transposition table, `table_cuts`
      those of them whose stored value made a search unnecessary.

    All are 0 where nothing counts them: in answers of a solver, a persona or a strategy.
    """

    cuts: int = 0
    first_cuts: int = 0
    table_hits: int = 0
    table_cuts: int = 0


#: The counts of a search that has not begun, or that does not count.
NO_COUNTS = Counts()


class Info(Struct, frozen=True, omit_defaults=True):
    """The progress of a search, after a completed depth or during one; `pv` begins with the best
    move. `warming` means that the game is not compiled yet, so the search is less deep than its
    level. A strategy reports its `value`, in its own units, and its `log` as text. The persona
    `average` reports its value as text, because its scores are means over the opponent's replies.

    `depths` are the last 32 depths of the search.
    """

    depth: int
    score: int
    nodes: int
    nps: int
    time_ms: int
    pv: tuple[str, ...]
    moves: tuple[RootMove, ...] = ()
    warming: bool = False
    value: str = ""
    log: str = ""
    counts: Counts = NO_COUNTS
    depths: tuple[DepthBest, ...] = ()


class Result(Struct, frozen=True, omit_defaults=True):
    """The answer: the move to play and the last info. The move differs from the best one where a
    level chooses among near-equal moves.
    """

    move: str
    info: Info


class ClassLoad(Struct, frozen=True):
    """The searches of one class: running, waiting, and preempted since the start."""

    running: int = 0
    waiting: int = 0
    preempted: int = 0

    def __add__(self, other: "ClassLoad") -> "ClassLoad":
        return ClassLoad(
            self.running + other.running,
            self.waiting + other.waiting,
            self.preempted + other.preempted,
        )


class Load(Struct, frozen=True):
    """The load of a pool: searches running and waiting, and the workers that are ready.

    `other_rules` counts the games that remote workers offer with other rules than this server's.
    `background` has the share of the searches that are not live, by class.
    """

    running: int
    waiting: int
    workers: int
    other_rules: int = 0
    background: dict[Use, ClassLoad] = {}

    def of(self, use: Use) -> ClassLoad:
        """The searches of one class. A live search is never preempted."""
        if use != "live":
            return self.background.get(use, ClassLoad())
        others = sum(self.background.values(), ClassLoad())
        return ClassLoad(self.running - others.running, self.waiting - others.waiting)


class SearchError(Exception):
    """A search that gave no answer; the message says why."""


class RulesChanged(SearchError):
    """The worker's rules of that game are not those that the job names (`game.changed`)."""


class SearchFailed(SearchError):
    """The rules raised in the search, or it was lost."""


class SearchLost(SearchFailed):
    """Every worker that took the search died or hung, or none starts or has room. The machine may
    be the cause, and not the game: the same search may succeed later.
    """


class GameQuarantined(SearchFailed):
    """The game is refused: too many of its searches failed in a row, or one of its rules never
    returned. It lasts until the rules change, the process ends, or the quarantine is over in
    `left_s` seconds.
    """

    def __init__(self, message: str, left_s: float = math.inf) -> None:
        super().__init__(message)
        self.left_s = left_s
