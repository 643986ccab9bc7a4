"""Decides how jobs are answered before a game's machine code is compiled, when its search runs
uncompiled (`engine.compiler.interpreted`).

The low levels are played in full: they visit the same nodes and choose the same move. Any other
level, and a persona that searches ahead, answers with the deepest depth that it completes in
WARMING_MS, and marks the answer as `Info.warming`. The game's measured file, not the speed of this
machine, decides which levels are played in full, so they are the same on every machine.
"""

from engine.game import Game
from engine.rules.measured import Measured, measured_of
from engine.rules.registry import load_game
from engine.search.job import Job
from engine.search.levels import level_of

#: The time for a level that is not played in full, in milliseconds.
WARMING_MS = 1000
#: Levels up to this one are played in full in every game.
LOW_LEVELS = 2
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
    return nodes is not None and nodes <= measured_of(game).full_nodes


def may_answer_uncompiled(job: Job) -> bool:
    """True if a job may be answered uncompiled.

    A job with its own limit waits for the compiled search, which can keep its depth or nodes. So
    does one that is not live, because uncompiled code stops too late for a live search.
    """
    return job.use == "live" and (job.level is not None or job.persona is not None)


def percent(game_id: str, cpu_s: float) -> int:
    """The progress of compiling a game's search after this much processor time, in percent."""
    try:
        measured = measured_of(load_game(game_id))
    except Exception:  # a plug-in's file may raise anything while it is imported
        measured = Measured()
    return max(0, min(MAX_PERCENT, int(100 * cpu_s / measured.compile_cpu_s)))
