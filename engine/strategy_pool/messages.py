"""The messages between the pool and a strategy's process: tagged structs in msgpack, each after its
length.
"""

from typing import Literal

from msgspec import Struct, msgpack

from engine.child_process import framing
from engine.search.job import Job
from engine.strategies.contract import Choice

#: Maximum length of a message, in bytes. A command must fit into a socket, so that a write never
#: blocks.
MAX_BYTES = 65_536
#: Maximum length of an error message, in characters.
MAX_ERROR = 1000

#: Why a strategy gave no move: it raised an exception, it has not enough memory, it is not
#: installed, or the rules of the game are not those of the job.
FailureKind = Literal["error", "memory", "missing", "rules_changed"]


class RunCommand(Struct, frozen=True):
    """Runs the strategy of a job."""

    number: int
    job: Job


class Started(Struct, frozen=True, tag=True):
    """The strategy is loaded and begins to choose; its time begins."""

    number: int


class Chosen(Struct, frozen=True, tag=True):
    """The strategy's best choice so far."""

    number: int
    choice: Choice


class Ended(Struct, frozen=True, tag=True):
    """The strategy has ended: its last choice is its answer.

    `is_late` means that it reached its time limit.
    """

    number: int
    is_late: bool = False


class Failed(Struct, frozen=True, tag=True):
    """The strategy has failed. `message` is for the operator's log."""

    number: int
    kind: FailureKind
    message: str


Reply = Started | Chosen | Ended | Failed

decode_command = msgpack.Decoder(RunCommand).decode
decode_reply = msgpack.Decoder(Reply).decode
_encode = msgpack.Encoder().encode


def frame(message: RunCommand | Reply) -> bytes:
    """Returns a message with its length before it; raises ValueError if it is too long."""
    return framing.frame(_encode(message), MAX_BYTES)
