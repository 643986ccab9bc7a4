"""Decides the order in which games are compiled, one step of one game at a time.

First come the searches of the requested games, then their requested additions (a solver, the
personas), then requested steps whose processes have died or hung before, then the rest at idle
priority: the searches of all games before any solver. Personas are compiled on request only,
because few players use them. A request preempts a compilation that comes after it in this order,
except an addition in the same group. A step is settled when it is ready or has failed; a step that
the cache holds is settled at once.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.compiler import code_cache
from engine.pool.messages import Step
from engine.rules.registry import load_game
from engine.search.job import SearchError, SearchFailed

#: The steps that add to a game's search.
ADDITIONS: tuple[Step, ...] = ("solver", "persona")

WarmState = Literal["cold", "warming", "warm", "failed"]
#: The game's id and the step.
Key = tuple[str, Step]


@dataclass(slots=True)
class StepStatus:
    """The state of one step of a game."""

    state: WarmState = "cold"
    #: Why the step failed or, while it is cold, why it pauses until `retry_s`.
    error: SearchError | None = None
    #: The number of processes that have died or hung while they compiled the step.
    tries: int = 0
    cpu_ms: int = 0
    #: Loop time in seconds before which the step is not tried again.
    retry_s: float = -math.inf
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class CompileQueue:
    """The state of every step, and the order of those still to compile.

    `idle_games` are compiled without a request. The queue calls `on_change(game, state)` at each
    change of the state of a game's search, and `on_settled(game, step)` when a step is ready, has
    failed, or pauses.
    """

    def __init__(
        self,
        idle_games: Iterable[str],
        on_change: Callable[[str, WarmState], None],
        on_settled: Callable[[str, Step], None],
    ) -> None:
        self._on_change = on_change
        self._on_settled = on_settled
        self._statuses: dict[Key, StepStatus] = {}
        self._requested: list[Key] = []
        self._idle_games = list(idle_games)

    # --- requests

    def request(self, key: Key) -> bool:
        """Settles a step if the cache holds it, else queues it; returns whether it was queued."""
        if self.status(key).state != "cold" or self._settle_from_cache(key):
            return False
        if key not in self._requested:
            self._requested.append(key)
        return True

    def add_idle_game(self, game_id: str) -> bool:
        """Adds a game to compile without a request; returns whether it was new."""
        if self.state(game_id) != "cold" or game_id in self._idle_games:
            return False
        self._idle_games.append(game_id)
        return True

    def forget(self, game_id: str) -> list[Step]:
        """Makes a game cold again, because the cache has lost it.

        Returns the steps that were ready, failed or requested, which must be requested again.
        """
        known: list[Step] = [
            step
            for step in ("search", *ADDITIONS)
            if self.status((game_id, step)).state != "cold" or (game_id, step) in self._requested
        ]
        for step in ("search", *ADDITIONS):
            self._statuses.pop((game_id, step), None)
        self._on_change(game_id, "cold")
        return known

    # --- the order

    def preempts(self, key: Key, running: Key, is_idle: bool) -> bool:
        """Whether a requested step ends the running compilation, which may be an idle one."""
        is_more_urgent = self._urgency(key, is_idle=False) < self._urgency(running, is_idle=is_idle)
        return self._can_start(key) and is_more_urgent and running != key

    def next_step(self, now_s: float) -> tuple[Key, bool] | None:
        """The step to compile now, and whether at idle priority.

        It settles the steps before it that the cache holds, and leaves out postponed ones.
        """
        for key, is_idle in self._steps_in_order():
            if (
                self.status(key).state == "cold"
                and not self._settle_from_cache(key)
                and self.status(key).retry_s <= now_s
            ):
                return key, is_idle
        return None

    def next_request(self, now_s: float) -> Key | None:
        """The next requested step that is cold and not postponed."""
        return next(
            (
                key
                for key, is_idle in self._steps_in_order()
                if not is_idle
                and self.status(key).state == "cold"
                and self.status(key).retry_s <= now_s
            ),
            None,
        )

    def postpone(self, key: Key, until_s: float) -> None:
        """Makes a step cold again, to be tried again at loop time `until_s`; others come first."""
        self.status(key).retry_s = until_s
        self.set_state(key, "cold")

    def pause(self, key: Key, until_s: float, error: SearchError) -> None:
        """Postpones a step whose processes keep dying; who waits for it does not wait for that."""
        status = self.status(key)
        status.retry_s = until_s
        self.set_state(key, "cold", error)
        status.settled.set()
        status.settled.clear()
        self._on_settled(*key)

    def next_retry_s(self) -> float | None:
        """The loop time in seconds at which the next postponed step is tried again."""
        waiting = [s.retry_s for s in self._statuses.values() if s.state == "cold"]
        return min((retry_s for retry_s in waiting if retry_s > -math.inf), default=None)

    def _steps_in_order(self) -> Iterator[tuple[Key, bool]]:
        """All steps to compile, in order, each with whether it is compiled at idle priority."""
        requested = sorted(self._requested, key=lambda key: self._urgency(key, is_idle=False))
        yield from ((key, False) for key in requested if self._can_start(key))
        games = tuple(dict.fromkeys((*(game_id for game_id, _ in requested), *self._idle_games)))
        yield from (((game_id, "search"), True) for game_id in games)
        yield from (
            ((game_id, "solver"), True) for game_id in games if self.state(game_id) == "warm"
        )

    def _urgency(self, key: Key, *, is_idle: bool) -> tuple[bool, bool, bool]:
        """The place of a step in the order: the lower, the sooner.

        A step whose processes die or hang takes a core for minutes, so the others do not wait.
        """
        return is_idle, self.status(key).tries > 0, key[1] != "search"

    def _can_start(self, key: Key) -> bool:
        """Whether a requested step is a search, or an addition whose search is ready."""
        return key[1] == "search" or self.state(key[0]) == "warm"

    # --- the states

    def status(self, key: Key) -> StepStatus:
        """The status of a step."""
        return self._statuses.setdefault(key, StepStatus())

    def state(self, game_id: str) -> WarmState:
        """The state of a game's search."""
        return self.status((game_id, "search")).state

    def set_state(self, key: Key, state: WarmState, error: SearchError | None = None) -> None:
        """Changes the state of a step."""
        status = self.status(key)
        status.state, status.error = state, error
        if key[1] == "search":
            self._on_change(key[0], state)

    def settle(self, key: Key, error: SearchError | None) -> None:
        """Marks the step as ready, or as failed with the error."""
        self.set_state(key, "warm" if error is None else "failed", error)
        self.status(key).settled.set()
        self._requested = [step for step in self._requested if step != key]
        self._on_settled(*key)

    def _settle_from_cache(self, key: Key) -> bool:
        """Settles a step that needs no compiling; returns whether it did.

        The cache holds such a step, or the game has no solver to compile or cannot be loaded.
        """
        game_id, step = key
        try:
            game = load_game(game_id)
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            self.settle(key, SearchFailed(f"{type(error).__name__}: {error}"))
            return True
        has_no_solver = step == "solver" and not game.rules.SOLVER
        if not has_no_solver and not code_cache.is_ready(game_id, game.digest, step):
            return False
        self.settle(key, None)
        return True
