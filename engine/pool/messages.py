"""The messages between the pool and a worker: tagged structs in msgpack, never pickles."""

from typing import Literal

from msgspec import Struct, msgpack

from engine.search.job import Info, Job, Result

#: Largest command, in bytes. It must fit into an idle worker's pipe, so that a send never blocks.
MAX_BYTES = 65_536

#: A step of a game's compilation: the search kernel, which every search needs, or an optional
#: addition to it.
Step = Literal["search", "solver", "persona"]

#: Why a job has no answer. A "fault" is an error in the game's own rules.
Reason = Literal["failed", "fault", "rules_changed", "cancelled"]


class SearchCommand(Struct, frozen=True, tag=True):
    """Search this job; `time_ms` caps the job's own time on a retry.

    With `uncompiled` the worker runs the kernel as plain Python, because the machine code does not
    exist yet. With `may_compile` the worker may compile the kernel itself, because workers have
    repeatedly missed it in the cache.
    """

    number: int
    job: Job
    time_ms: int | None
    uncompiled: bool = False
    may_compile: bool = False


class CompileCommand(Struct, frozen=True, tag=True):
    """Compile a step of this game, with exactly these rules, into the cache.

    With `idle` the worker runs at idle priority from now on.
    """

    game: str
    rules: str
    idle: bool
    step: Step = "search"


WorkerCommand = SearchCommand | CompileCommand


class Ready(Struct, frozen=True, tag=True):
    """The worker accepts commands."""

    pid: int


class Accepted(Struct, frozen=True, tag=True):
    """The worker is alive and has received the command.

    It sends this at once, and repeats it as a heartbeat while it loads the game.
    """

    number: int


class SearchStarted(Struct, frozen=True, tag=True):
    """The worker has loaded the game and begins to search."""

    number: int


class Progress(Struct, frozen=True, tag=True):
    """The progress of the running search."""

    number: int
    info: Info


class Answered(Struct, frozen=True, tag=True):
    """The search has ended with this result."""

    number: int
    result: Result


class Failed(Struct, frozen=True, tag=True):
    """The job has no answer; the worker is ready for the next command."""

    number: int
    reason: Reason
    message: str


class NotCompiled(Struct, frozen=True, tag=True):
    """The job's compiled code cannot be loaded now; the worker neither searched nor compiled.

    The cache lacks the code or, with `is_locked`, another process holds its lock.
    """

    number: int
    is_locked: bool = False


class Compiling(Struct, frozen=True, tag=True):
    """The compilation is still running; `cpu_ms` is the processor time that it has used."""

    game: str
    cpu_ms: int


class Compiled(Struct, frozen=True, tag=True):
    """The step is in the cache, or `error` says why it cannot be.

    `is_changed` is true if the game's files have been edited since the command was sent. With
    `is_locked` the step waits: another process holds the lock of its files.
    """

    game: str
    error: str | None
    is_changed: bool = False
    is_locked: bool = False


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
