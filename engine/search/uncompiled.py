"""What a game plays like before its machine code is there: its search runs uncompiled
(`engine.compiler.interpreted`).

Its low levels are played in full: they visit the same nodes and choose the same move. Every other
level, and a persona that looks ahead, answers with the deepest look that it completes in LOOK_MS,
and says so: `Info.warming`. Which levels those are is a table and no measured speed, so that it is
the same on every machine.
"""

from engine.game import Game
from engine.search.job import Job
from engine.search.levels import level_of

#: The time for a level that is not played in full.
LOOK_MS = 1000
#: Levels up to this one are played in full in every game, …
LOW_LEVELS = 2
#: … and all that look at no more nodes than so many: about a second's work
#: (docs/notes/measurements.md).
FULL_NODES = {
    "breakthrough": 3_000,
    "chess": 1_100,
    "connect-four": 5_500,
    "draughts": 5_000,
    "hex": 800,
    "international-draughts": 4_000,
    "nine-mens-morris": 4_500,
    "othello": 3_000,
    "sticks": 1_100,
    "tic-tac-toe": 100,
}

#: The processor time, in seconds, that compiling the search of a game took, measured once: for a
#: progress bar.
CPU_S = {
    "breakthrough": 5.6,
    "chess": 9.1,
    "connect-four": 3.7,
    "draughts": 5.0,
    "gomoku": 6.3,
    "hex": 4.4,
    "international-draughts": 5.3,
    "nine-mens-morris": 4.8,
    "othello": 4.1,
    "sticks": 4.0,
    "tic-tac-toe": 3.0,
}
#: The same of a game that is not in the table.
OTHER_CPU_S = 6.0
#: What compiles is never told to be complete before it is.
MOST_PERCENT = 99


def plays_in_full(game: Game, job: Job) -> bool:
    """Does the uncompiled search give the answer of the compiled one to this job of a level or
    persona?
    """
    if job.persona is not None:
        return job.persona == "random"
    if job.level is None:
        return False
    if job.level <= LOW_LEVELS and job.level < game.levels:
        return True
    nodes = level_of(game, job.level).limit.nodes
    return nodes is not None and nodes <= FULL_NODES.get(game.id, 0)


def is_answered_cold(job: Job) -> bool:
    """May a job be answered uncompiled? One with a limit of its own waits: its depth or nodes are a
    promise.
    """
    return job.level is not None or job.persona is not None


def percent(game_id: str, cpu_s: float) -> int:
    """How far compiling a game's search is after so much processor time."""
    return max(0, min(MOST_PERCENT, int(100 * cpu_s / CPU_S.get(game_id, OTHER_CPU_S))))
