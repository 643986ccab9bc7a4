"""What the server's core needs of the world, so that tests can be the world."""

import secrets
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.game import Game
from engine.search.job import Info, Job, Load, Result, SearchError
from server.bus.base import Bus
from server.process.failpoint import Reached, nowhere
from server.process.metrics import Metrics
from server.settings import Settings
from server.store.base import Store

OnInfo = Callable[[Info], None]
Spawn = Callable[[Coroutine[Any, Any, None], str], Any]

#: Letters for ids: none that people mistake for another.
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class EnginesAway(SearchError):
    """At this moment there is nobody who could search that game; somebody may come."""


class Engines(Protocol):
    """Whoever can search: the pool here, workers elsewhere."""

    def is_warm(self, game_id: str) -> bool:
        """Whether that game's search is compiled; until then most levels are weaker, and other
        searches wait.
        """

    def warm_percent(self, game_id: str) -> int:
        """How far that game's search is compiled; 100 when there is nothing to wait for: it is, or
        cannot be.
        """

    def expect(self, game_id: str) -> None:
        """Somebody will soon want searches of that game: it is compiled before those that nobody
        asked for.
        """

    def load(self) -> Load:
        """How busy they are now."""

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        """The answer; `on_info` is called in the event loop while it runs; `time_ms` is what is
        left of the job's time when somebody else has searched it before. SearchError when there is
        no answer, EnginesAway when nobody is there; cancelling it stops it.
        """


class NoEngines:
    """Of a server that has no pool and knows no workers."""

    def is_warm(self, game_id: str) -> bool:
        return False

    def warm_percent(self, game_id: str) -> int:
        return 0

    def expect(self, game_id: str) -> None:
        pass

    def load(self) -> Load:
        return Load(0, 0, 0)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        raise EnginesAway("this server has no engine")


class Follower(Protocol):
    """A connection as a room sees it."""

    @property
    def identity(self) -> str:
        """Who it is."""

    @property
    def closed(self) -> bool:
        """Whether nothing reaches it any more."""

    def send(self, frames: bytes) -> None:
        """Sends complete WebSocket frames; a reader that is too slow is cut off."""

    def send_ephemeral(self, frames: bytes) -> None:
        """Sends frames that a slow reader may miss."""


@dataclass(frozen=True, slots=True)
class Ports:
    """One node's view of the world."""

    node: str
    settings: Settings
    store: Store
    bus: Bus
    engines: Engines
    find_game: Callable[[str], Game]
    now_ms: Callable[[], int]
    new_id: Callable[[], str]
    metrics: Metrics = field(default_factory=Metrics)
    reached: Reached = nowhere


def random_id() -> str:
    """12 characters that cannot be guessed (60 bits)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(12))
