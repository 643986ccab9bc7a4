"""The interfaces that the server's core uses; tests supply their own implementations."""

import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from engine.game import Game
from engine.search.job import Info, Job, Load, Result, SearchError
from engine.study_pool.errors import StudyUnavailable
from engine.study_pool.messages import Ended, Part, Refused, StudyJob
from server.bus.base import Bus
from server.codes import Code
from server.exports import Slice, SliceText
from server.ids import IdentityId, NodeId
from server.process.failpoint import Failpoint, no_failpoint
from server.process.metrics import Metrics
from server.protocol.outbound import Batch, Outbound
from server.rooms.model import CommandRejected, KindOfQuestion, private_question
from server.settings import Settings
from server.store.base import Store

#: Called with each info of a running search.
OnInfo = Callable[[Info], None]
#: Starts a coroutine as a task with a name.
Spawn = Callable[[Coroutine[Any, Any, None], str], Any]

#: The clock of the system that nobody sets and that runs on while the machine sleeps; None where
#: there is none.
UPTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
#: The 32 letters and digits of ids, without those that look alike.
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


class EngineUnavailable(SearchError):
    """No engine for that game is connected at the moment. One may connect later."""


class Engines(Protocol):
    """Searches positions: implemented by the local pool and by remote workers."""

    def is_warm(self, game_id: str) -> bool:
        """Whether the game's search is compiled.

        Until then most levels and personas play more weakly, and searches without either wait.
        """

    def warm_percent(self, game_id: str) -> int:
        """The progress of compiling the game's search; 100 when it is compiled or cannot be."""

    def expect(self, game_id: str) -> None:
        """Announces that the game will soon be searched: it is compiled before other games."""

    def load(self) -> Load:
        """How busy the engines are."""

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        """Searches and returns the result. Calls `on_info` in the event loop with each info.

        `time_ms` is the time left for the job when an earlier attempt has used some of it. Raises
        SearchError when there is no result, and EngineUnavailable when no engine is connected.
        Cancelling the call stops the search.
        """


class NoEngines:
    """The engines of a server without a pool and without workers."""

    def is_warm(self, game_id: str) -> bool:
        return False

    def warm_percent(self, game_id: str) -> int:
        return 0

    def expect(self, game_id: str) -> None:
        pass

    def load(self) -> Load:
        return Load(0, 0, 0)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        raise EngineUnavailable("this server has no engine")


#: Runs one search of a request: takes the job and, optionally, an `OnInfo`.
RunSearch = Callable[..., Awaitable[Result]]


class SearchRefused(CommandRejected):
    """The server refuses a search for this person; the message says why, in words."""


class Background(Protocol):
    """Runs searches for people's questions: implemented by `server.seats.background`."""

    async def search(self, identity: IdentityId, job: Job, on_info: OnInfo = ...) -> Result:
        """Runs a request of one search, and returns its result. Raises as `request` does."""

    def request(self, identity: IdentityId) -> AbstractAsyncContextManager[RunSearch]:
        """Waits for the identity's turn, and yields the function that runs a search.

        Raises SearchRefused beyond a limit.
        """


class NoBackground:
    """Refuses every search: for a server without engines."""

    async def search(
        self, identity: IdentityId, job: Job, on_info: OnInfo = lambda info: None
    ) -> Result:
        self._refuse()

    def request(self, identity: IdentityId) -> AbstractAsyncContextManager[RunSearch]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise SearchRefused(Code.ENGINE_BUSY, "this server has no engine")


class Studies(Protocol):
    """Makes documents about searches: implemented by `engine.study_pool`."""

    def load(self) -> Load:
        """How busy the processes are."""

    @property
    def killed_count(self) -> int:
        """The number of processes that were killed while they ran a job."""

    async def run(
        self, job: StudyJob, address: str, on_part: Callable[[Part], None]
    ) -> Ended | Refused:
        """Runs a job of an address; calls `on_part` with each part of its document.

        Raises StudyUnavailable, QueueFull or StudyFailed. Cancelling the call ends the job.
        """


class NoStudies:
    """The documents of a server without study processes: none."""

    killed_count = 0

    def load(self) -> Load:
        return Load(0, 0, 0)

    async def run(
        self, job: StudyJob, address: str, on_part: Callable[[Part], None]
    ) -> Ended | Refused:
        raise StudyUnavailable("this server has no study processes")


class ExporterUnavailable(Exception):
    """This server has no process for exports."""


class ExporterDied(Exception):
    """The process for exports has died: it was killed, for example. Another one may do the work."""


class ExporterHung(Exception):
    """The process for exports did not answer in time, or the server is stopping."""


class ExportFault(Exception):
    """A slice cannot be written: a row is damaged, or the rules of another package have failed.

    The message is the traceback of the process, with the match.
    """


class Exporter(Protocol):
    """Reads and writes the matches of exports: implemented by `server.export_process`."""

    async def write_slice(self, part: Slice, address: str) -> SliceText:
        """The text of the first matches of a slice, for an address.

        Raises ExporterUnavailable, QueueFull, ExporterDied, ExporterHung, ExportFault, and
        StoreUnavailable.
        """


class NoExporter:
    """The exporter of a server without such a process: it writes slices itself."""

    async def write_slice(self, part: Slice, address: str) -> SliceText:
        raise ExporterUnavailable("this server has no process for exports")


class Follower(Protocol):
    """The part of a connection that a room uses."""

    @property
    def identity(self) -> IdentityId:
        """The identity of the client."""

    @property
    def closed(self) -> bool:
        """Whether the connection can no longer send."""

    def send(self, *messages: Outbound) -> None:
        """Sends messages together. Cuts off a reader that is too slow."""

    def send_batch(self, batch: Batch) -> None:
        """Sends messages that other followers receive as well; otherwise like `send`."""

    def send_ephemeral(self, message: Outbound) -> None:
        """Sends frames that a slow reader may miss."""


def uptime_ms() -> int:
    """The time in ms since some moment before the start of this process, on a clock that nobody
    sets.

    It runs on while the process is stopped. On Linux it also does while the machine sleeps, which
    `time.monotonic` does not.
    """
    now_ns = time.monotonic_ns() if UPTIME is None else time.clock_gettime_ns(UPTIME)
    return now_ns // 1_000_000


def _keep_clock(_may_step: bool) -> bool:
    """Does nothing: for a clock that follows no other."""
    return False


@dataclass(frozen=True, slots=True)
class Ports:
    """The implementations of the interfaces that a node's core uses."""

    node: NodeId
    settings: Settings
    store: Store
    bus: Bus
    engines: Engines
    find_game: Callable[[str], Game]
    #: The time of the log, in ms since 1970: see `server.process.node_clock`.
    now_ms: Callable[[], int]
    new_id: Callable[[], str]
    #: The time of durations inside this process, in ms: see `uptime_ms`.
    uptime_ms: Callable[[], int] = uptime_ms
    #: Called with each heartbeat, so that `now_ms` follows the machine's time of day; the argument
    #: says whether it may jump, because no player's clock is running. Returns whether it would.
    follow_clock: Callable[[bool], bool] = _keep_clock
    metrics: Metrics = field(default_factory=Metrics)
    studies: Studies = field(default_factory=NoStudies)
    exporter: Exporter = field(default_factory=NoExporter)
    background: Background = field(default_factory=NoBackground)
    #: The names of the chat commands, which clients learn when they join a room.
    chat_commands: tuple[str, ...] = ()
    #: The kind of a question to the room's bot: its commands know it.
    kind_of_question: KindOfQuestion = private_question
    #: Called at each failpoint with its name.
    reached: Failpoint = no_failpoint


def random_id() -> str:
    """An unguessable id of 12 characters (60 bits)."""
    bits = int.from_bytes(os.urandom(8), "big")
    return "".join([ALPHABET[bits >> shift & 31] for shift in range(0, 60, 5)])
