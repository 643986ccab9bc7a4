"""Decides whether the pool searches a job compiled or uncompiled, or lets it wait or fail.

Search workers compile only a game that they have repeatedly missed in the cache.
"""

from collections import Counter

from engine.game import Game
from engine.pool.slot import WorkerSlot
from engine.pool.warmer import CompilesTooLong, Warmer
from engine.search.job import Job, RulesChanged, SearchError
from engine.search.report import asks_solver
from engine.search.uncompiled import may_answer_uncompiled

#: How often the warmer recompiles a game that a worker has missed in the cache. After one more miss
#: the workers may compile it themselves.
MISSES_BEFORE_COMPILING = 1
#: Seconds for which a game is searched uncompiled after a worker found its files locked.
LOCKED_S = 0.5


class Readiness:
    """Tells whether a job's search is compiled, from the warmer's states and the cache misses."""

    def __init__(self, warmer: Warmer) -> None:
        self._warmer = warmer
        self._cache_misses: Counter[str] = Counter()
        self._locked_until_s: dict[str, float] = {}

    def request(self, job: Job, game: Game) -> None:
        """Requests the compilation of every step that would improve the job's answer."""
        self._warmer.request(job.game)
        if job.persona not in (None, "random"):
            self._warmer.request(job.game, "persona")
        elif asks_solver(job, game):
            self._warmer.request(job.game, "solver")

    def error(self, job: Job) -> SearchError | None:
        """The error with which the job must fail, because its game cannot be compiled.

        A job that may be answered uncompiled fails only for an error in the rules: not while
        compiling pauses or because it takes too long, and not if the game's files have been edited,
        for a worker that loaded the old rules may still search them.
        """
        error = self._warmer.error(job.game)
        is_playable = isinstance(error, RulesChanged | CompilesTooLong)
        if self._warmer.state(job.game) == "failed" and not is_playable:
            return error
        return None if may_answer_uncompiled(job) else error

    def is_searchable(self, job: Job, now_s: float) -> bool:
        """Whether the job can be searched now; if not, it waits for the compiled search.

        A hint or an analysis that asks the solver waits for the solver too, so that its answer does
        not depend on what happens to be compiled; but not once the solver has paused.
        """
        if may_answer_uncompiled(job):
            return True
        needs_solver = bool(job.solver_nodes) and not self._warmer.has_paused(job.game, "solver")
        is_solver_settled = not needs_solver or self._warmer.is_settled(job.game, "solver")
        return self._is_loadable(job, now_s) and is_solver_settled

    def is_uncompiled_at(self, slot: WorkerSlot, job: Job, now_s: float) -> bool:
        """Whether this worker searches the job uncompiled.

        That includes a worker whose rules are older than the files: it cannot load the compiled
        search.
        """
        if not self._is_compiled(job):
            return True
        if not slot.has_loaded(job.game) and not self._is_loadable(job, now_s):
            return True
        return job.game in slot.only_uncompiled and may_answer_uncompiled(job)

    def fall_back_to_uncompiled(self, slot: WorkerSlot, job: Job) -> bool:
        """Makes a worker with older rules search the job's game uncompiled from now on.

        Returns False if the worker searched this job uncompiled already, or the job needs the
        compiled search.
        """
        if slot.is_uncompiled or not may_answer_uncompiled(job):
            return False
        slot.only_uncompiled.add(job.game)
        return True

    def on_not_compiled(self, game_id: str) -> None:
        """Recompiles a game that the cache has lost; until then jobs are searched uncompiled.

        If the workers miss it again, because they share no cache folder, they compile it
        themselves.
        """
        self._cache_misses[game_id] += 1
        if not self.may_compile(game_id) and self._warmer.state(game_id) == "warm":
            self._warmer.forget(game_id)

    def on_locked(self, game_id: str, now_s: float) -> float:
        """Has a game searched uncompiled for a moment, because another process has locked its
        files. Returns the loop time in seconds at which workers try to load it again.
        """
        self._locked_until_s[game_id] = now_s + LOCKED_S
        return now_s + LOCKED_S

    def may_compile(self, game_id: str) -> bool:
        """Whether the workers may compile the game themselves."""
        return self._cache_misses[game_id] > MISSES_BEFORE_COMPILING

    def _is_loadable(self, job: Job, now_s: float) -> bool:
        """Whether the job's code is compiled and, as far as is known, not locked."""
        return self._is_compiled(job) and self._locked_until_s.get(job.game, now_s) <= now_s

    def _is_compiled(self, job: Job) -> bool:
        if self._warmer.state(job.game) != "warm":
            return False
        if job.persona is None:
            return True
        error = self._warmer.error(job.game, "persona")
        is_settled = self._warmer.is_settled(job.game, "persona")
        return is_settled and not isinstance(error, CompilesTooLong)
