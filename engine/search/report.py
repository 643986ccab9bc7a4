"""Conversions from a job to a position and level, and from a search's numbers to tokens.

No compiled code is called here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.null_move import NoNullMove, null_move
from engine.search import layout
from engine.search.job import (
    MAX_LINE_MOVES,
    NO_COUNTS,
    Bound,
    Counts,
    Info,
    Job,
    Limit,
    Result,
    RootMove,
    RulesChanged,
    SearchFailed,
)
from engine.search.levels import TIME_MS, Level, choose, level_of
from engine.solvers.base import Solution

#: The bounds of scores by their number in the kernel.
BOUNDS: dict[int, Bound] = {layout.EXACT: "exact", layout.LOWER: "lower", layout.UPPER: "upper"}


@dataclass(frozen=True, slots=True)
class Report:
    """A completed depth. `moves` hold (move, score, bound), the best first; `solved` means that a
    deeper search has the same result.

    `lines` has for each of `moves` the line that begins with it, as far as it was recorded; it is
    empty for a move without an exact score. `move_nodes` has for each of them the nodes that one
    thread spent on it at this depth; it is empty when the depth is not complete.
    """

    depth: int
    score: int
    nodes: int
    seconds: float
    line: tuple[int, ...]
    moves: tuple[tuple[int, int, int], ...]
    solved: bool
    lines: tuple[tuple[int, ...], ...] = ()
    move_nodes: tuple[int, ...] = ()
    counts: Counts = NO_COUNTS


def level_of_job(job: Job, game: Game) -> Level:
    """The level of a job, or its own limit as a level.

    A persona has the time of a level and is repeatable. Raises SearchFailed if the game lacks the
    level.
    """
    if job.persona is not None:
        return Level(Limit(time_ms=TIME_MS), repeatable=True)
    if job.level is None:
        return Level(job.limit)
    try:
        return level_of(game, job.level)
    except ValueError as error:
        raise SearchFailed(f"{game.id}: {error}") from error


def asks_solver(job: Job, game: Game) -> bool:
    """Whether an answer to this job asks the game's solver: the top level, a live job without a
    level, and a hint or analysis that gives the solver nodes.
    """
    if not game.rules.SOLVER or job.persona is not None:
        return False
    if job.use != "live":
        return job.solver_nodes > 0
    return job.level is None or job.level == game.levels


def resolve(job: Job, game: Game) -> Position:
    """The position of a job; raises RulesChanged or SearchFailed if it cannot be searched here."""
    if job.rules != game.digest:
        raise RulesChanged(
            f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
        )
    try:
        position = game.position(job.start, job.options)
        for token in job.moves:
            position = position.play(position.parse_move(token))
    except (GameError, GameFault) as error:
        raise SearchFailed(f"the job cannot be searched: {error}") from error
    if job.digest and position.digest() != job.digest:
        raise SearchFailed("the moves of the job lead to a position with another digest")
    if not job.null_move:
        return position
    try:
        return null_move(position)
    except (NoNullMove, GameFault) as error:
        raise SearchFailed(f"the job has no null move: {error}") from error


def best_so_far(job: Job, game: Game, info: Info) -> Result:
    """The answer of a search that ended early: the move that the level chooses by the last info."""
    if job.level is None:
        return Result(info.pv[0], info)
    position = resolve(job, game).digest()
    level = level_of_job(job, game).at(job.seed, position)
    return Result(
        choose(info.moves, level.margin, job.seed, position).move if level.margin else info.pv[0],
        info,
    )


def line_tokens(position: Position, line: Sequence[int]) -> tuple[str, ...]:
    """A line of play in tokens, cut off before the first illegal move, which the table can suggest
    because two states may share a key.
    """
    tokens = []
    current = position
    for move in line:
        if move not in current.moves():
            break
        tokens.append(current.format_move(move))
        current = current.play(move)
    return tuple(tokens)


def to_info(position: Position, report: Report, with_lines: bool = False) -> Info:
    """A report as an Info, with its moves in tokens.

    With `with_lines`, moves with an exact score have their lines.
    """
    moves = tuple(
        RootMove(position.format_move(move), score, BOUNDS[bound])
        for move, score, bound in report.moves
    )
    if with_lines:
        moves = tuple(
            replace(move, line=line_tokens(position, line[:MAX_LINE_MOVES]))
            for move, line in zip(moves, report.lines, strict=True)
        )
    return Info(
        depth=report.depth,
        score=report.score,
        nodes=report.nodes,
        nps=nodes_per_second(report.nodes, report.seconds),
        time_ms=round(report.seconds * 1000),
        pv=line_tokens(position, report.line),
        moves=moves,
        counts=report.counts,
    )


def solved_info(position: Position, solution: Solution) -> Info:
    """A solution as an Info, with its moves in tokens and its scores in the search's units."""
    return Info(
        depth=solution.depth,
        score=solution.value,
        nodes=solution.nodes,
        nps=nodes_per_second(solution.nodes, solution.seconds),
        time_ms=round(solution.seconds * 1000),
        pv=line_tokens(position, solution.line),
        moves=tuple(
            RootMove(
                position.format_move(m.move), m.value, m.bound, proven=m.is_proven, lead=m.lead
            )
            for m in solution.moves
        ),
    )


def add_counts(counts: Sequence[Counts]) -> Counts:
    """The sums of the counts of several threads."""
    return Counts(
        sum(each.cuts for each in counts),
        sum(each.first_cuts for each in counts),
        sum(each.table_hits for each in counts),
        sum(each.table_cuts for each in counts),
    )


def nodes_per_second(nodes: int, seconds: float) -> int:
    return round(nodes / max(seconds, 1e-6))
