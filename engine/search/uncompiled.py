"""Decides how jobs are answered before a game's machine code is compiled, when its search runs
uncompiled (`engine.compiler.interpreted`).

The low levels are played in full: they visit the same nodes and choose the same move. Any other
level, and a persona that searches ahead, answers with the deepest depth that it completes in
WARMING_MS, and marks the answer as `Info.warming`. A table, not a measured speed, decides which
levels are played in full, so they are the same on every machine.
"""

from engine.game import Game
from engine.search.job import Job
from engine.search.levels import level_of

#: The time for a level that is not played in full, in milliseconds.
WARMING_MS = 1000
#: Levels up to this one are played in full in every game.
LOW_LEVELS = 2
#: Levels with at most this many nodes are played in full too: they take about a second
#: (docs/notes/measurements.md).
FULL_NODES = {
    "breakthrough": 3_000,
    "chess": 1_100,
    "connect-four": 5_500,
    "dots-and-boxes": 800,
    "draughts": 5_000,
    "hex": 800,
    "international-draughts": 4_000,
    "kalah": 6_000,
    "nine-mens-morris": 4_500,
    "othello": 3_000,
    "sticks": 1_100,
    "tic-tac-toe": 100,
}

#: The processor time that compiling a game's search takes, in seconds: for a progress bar.
CPU_S = {
    "breakthrough": 5.6,
    "chess": 9.1,
    "connect-four": 3.7,
    "dots-and-boxes": 4.5,
    "draughts": 5.0,
    "gomoku": 6.3,
    "hex": 4.4,
    "international-draughts": 5.3,
    "kalah": 4.0,
    "nine-mens-morris": 4.8,
    "othello": 4.1,
    "sticks": 4.0,
    "tic-tac-toe": 3.0,
}
#: The same for a game that is not in the table.
OTHER_CPU_S = 6.0
#: The highest percentage reported before compilation is complete.
MAX_PERCENT = 99


def plays_in_full(game: Game, job: Job) -> bool:
    """True if the uncompiled search gives the same answer to this job as the compiled one."""
    if job.persona is not None:
        return job.persona == "random"
    if job.level is None:
        return False
    if job.level <= LOW_LEVELS and job.level < game.levels:
        return True
    nodes = level_of(game, job.level).limit.nodes
    return nodes is not None and nodes <= FULL_NODES.get(game.id, 0)


def may_answer_uncompiled(job: Job) -> bool:
    """True if a job may be answered uncompiled.

    A job with its own limit waits for the compiled search, which can keep its depth or nodes. So
    does one that is not live, because uncompiled code stops too late for a live search.
    """
    return job.use == "live" and (job.level is not None or job.persona is not None)


def percent(game_id: str, cpu_s: float) -> int:
    """The progress of compiling a game's search after this much processor time, in percent."""
    return max(0, min(MAX_PERCENT, int(100 * cpu_s / CPU_S.get(game_id, OTHER_CPU_S))))
