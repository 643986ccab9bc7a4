"""Searches by strategies: in the processes of this node, or by workers whose adverts list them.

Strategies of other packages are not trusted: `server.seats.answers` checks their choices.
"""

from collections.abc import Callable
from typing import Protocol

from engine.dispatch.dispatcher import QueueFull
from engine.game import Game
from engine.search.job import Info, Job, Load, Result
from engine.strategies import reasons
from engine.strategies.contract import StrategyFailed
from server.ports import Engines, EngineUnavailable, OnInfo
from server.seats.answers import Checker, ImpossibleAnswer, position_of


class Strategies(Protocol):
    """Runs strategies: implemented by `engine.strategy_pool`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies that run here."""

    def load(self) -> Load:
        """How busy the processes are."""

    async def search(self, job: Job, on_info: OnInfo) -> Result:
        """Returns the choice of the job's strategy.

        Raises StrategyFailed with a reason for players, RulesChanged or QueueFull.
        """


class StrategyEngines:
    """Implements `server.ports.Engines`: runs strategies, and passes other jobs to `engines`.

    If `has_workers`, a job by a strategy that does not run here goes to `engines` too.
    """

    def __init__(
        self,
        engines: Engines,
        strategies: Strategies,
        find_game: Callable[[str], Game],
        *,
        has_workers: bool = False,
    ) -> None:
        self._engines = engines
        self._strategies = strategies
        self._find_game = find_game
        self._has_workers = has_workers

    def is_warm(self, game_id: str) -> bool:
        return self._engines.is_warm(game_id)

    def warm_percent(self, game_id: str) -> int:
        return self._engines.warm_percent(game_id)

    def expect(self, game_id: str) -> None:
        self._engines.expect(game_id)

    def load(self) -> Load:
        searches, strategies = self._engines.load(), self._strategies.load()
        return Load(
            searches.running + strategies.running, searches.waiting + strategies.waiting,
            searches.workers, searches.other_rules, searches.background,
        )  # fmt: skip

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        is_here = job.strategy in self._strategies.names
        if job.strategy is None or (self._has_workers and not is_here):
            return await self._engines.search(job, on_info, time_ms)
        if not is_here:
            raise StrategyFailed(reasons.MISSING)
        checker = Checker(position_of(job, self._find_game(job.game)))

        def report(info: Info) -> None:
            on_info(checker.check_info(info))

        try:
            return checker.check_result(await self._strategies.search(job, report))
        except QueueFull as error:
            raise EngineUnavailable(str(error)) from error
        except ImpossibleAnswer as error:
            raise StrategyFailed(reasons.ILLEGAL) from error
