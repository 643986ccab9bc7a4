"""What crosses the pipe between the pool and a worker: msgpack of tagged structs, never pickles."""

from typing import Literal

from msgspec import Struct, msgpack

from engine.search.job import Info, Job, Result

#: A job must fit into an idle worker's pipe, so that sending it never waits.
MAX_BYTES = 65_536

#: What of a game is compiled at a time: the kernel, without which there is no search, then what
#: makes it better.
Step = Literal["search", "solver", "persona"]

#: A job that names nothing has failed; a fault is the game's own.
Reason = Literal["failed", "fault", "rules_changed", "cancelled"]


class SearchCommand(Struct, frozen=True, tag=True):
    """Search this; `time_ms` caps the job's own time on a second try. Uncompiled, with the kernel
    as plain Python, when the machine code is not there yet; it may be compiled here when the cache
    has failed the pool (`may_compile`).
    """

    number: int
    job: Job
    time_ms: int | None
    uncompiled: bool = False
    may_compile: bool = False


class CompileCommand(Struct, frozen=True, tag=True):
    """Compile a step of this game, with exactly these rules, into the cache; idle: give way to
    everything else from now on.
    """

    game: str
    rules: str
    idle: bool
    step: Step = "search"


WorkerCommand = SearchCommand | CompileCommand


class Ready(Struct, frozen=True, tag=True):
    """The worker takes orders."""

    pid: int


class Accepted(Struct, frozen=True, tag=True):
    """The worker is alive and has the order; said at once, and again now and then while it loads
    the game.
    """

    number: int


class SearchStarted(Struct, frozen=True, tag=True):
    """The game is loaded and the search begins."""

    number: int


class Progress(Struct, frozen=True, tag=True):
    number: int
    info: Info


class Answered(Struct, frozen=True, tag=True):
    number: int
    result: Result


class Failed(Struct, frozen=True, tag=True):
    """The job gave no answer; the worker goes on."""

    number: int
    reason: Reason
    message: str


class NotCompiled(Struct, frozen=True, tag=True):
    """The cache does not hold what the job needs: nothing was searched, and nothing is compiled
    here.
    """

    number: int


class Compiling(Struct, frozen=True, tag=True):
    """Compiling goes on, and has taken so much processor time."""

    game: str
    cpu_ms: int


class Compiled(Struct, frozen=True, tag=True):
    """What was to be compiled is in the cache, or why it cannot be; `is_changed`: the game's files
    are others now.
    """

    game: str
    error: str | None
    is_changed: bool = False


WorkerMessage = (
    Ready
    | Accepted
    | SearchStarted
    | Progress
    | Answered
    | Failed
    | NotCompiled
    | Compiling
    | Compiled
)

encode = msgpack.Encoder().encode
decode_command = msgpack.Decoder(WorkerCommand).decode
decode_message = msgpack.Decoder(WorkerMessage).decode
