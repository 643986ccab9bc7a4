"""The messages between the pool and a study process: tagged structs in msgpack, with their length.

A job makes a document: lines of JSON. The process sends them compressed, in parts.
"""

from typing import Literal

from msgspec import Struct, msgpack

from engine.child_process import framing
from engine.formats.record import GameRecord
from engine.teach.requests.request import BoardsRequest, TraceRequest

#: Maximum length of a message, in bytes.
MAX_BYTES = 4 << 20
#: Maximum length of an error message, in characters.
MAX_ERROR = 1000


class TraceJob(Struct, frozen=True, tag=True):
    """The trace of a search. `is_recorded` means that its moves are those of a stored match."""

    request: TraceRequest
    is_recorded: bool = False


class LessonListJob(Struct, frozen=True, tag=True):
    """The list of lessons."""


class LessonJob(Struct, frozen=True, tag=True):
    """A lesson with its texts and searches."""

    name: str


class QuizJob(Struct, frozen=True, tag=True):
    """The questions and the exercise of a lesson."""

    name: str


class LessonTraceJob(Struct, frozen=True, tag=True):
    """The trace of the lesson's search with the number `run`."""

    name: str
    run: int


class ChoicesJob(Struct, frozen=True, tag=True):
    """The algorithms, games and other choices for a search."""


class BoardsJob(Struct, frozen=True, tag=True):
    """The boards after lines of moves."""

    request: BoardsRequest


class FormatJob(Struct, frozen=True, tag=True):
    """A game in a format of files: its document is a GameText.

    `thoughts` are the reports of the AI's searches as JSON by ply.
    """

    format: str
    record: GameRecord
    thoughts: dict[str, bytes]


class MachineJob(Struct, frozen=True, tag=True):
    """The state machine of a search's subject, laid out."""

    request: TraceRequest


class ListingsJob(Struct, frozen=True, tag=True):
    """The printed listings with their results; with a tree's text only the results on that tree."""

    tree: str | None = None


StudyJob = (
    TraceJob
    | LessonListJob
    | LessonJob
    | QuizJob
    | LessonTraceJob
    | ChoicesJob
    | BoardsJob
    | ListingsJob
    | MachineJob
    | FormatJob
)
#: The jobs of lessons, whose searches the program defines.
LESSON_JOBS = (LessonJob, QuizJob, LessonTraceJob)
#: The jobs whose content users define, or the rules of any game: they may take as long as the limit
#: allows.
SEARCHES = (TraceJob, FormatJob)


#: How many times its processor time a job may take in all, with its waits for the processor.
ELAPSED_FACTOR = 4


class Limits(Struct, frozen=True):
    """The limits of a job: its processor time in seconds and the nodes of its search.

    `elapsed_factor` limits the job's time in all, as a multiple of its processor time.
    """

    seconds: float
    max_nodes: int
    elapsed_factor: float = ELAPSED_FACTOR

    @property
    def elapsed_s(self) -> float:
        """The longest time between the begin and the end of the job, in seconds."""
        return self.seconds * self.elapsed_factor


class Command(Struct, frozen=True):
    """Runs a job."""

    number: int
    job: StudyJob
    limits: Limits


class Started(Struct, frozen=True, tag=True):
    """The process begins the job, and the job's time begins."""

    number: int


class Part(Struct, frozen=True, tag=True):
    """The next bytes of the compressed document (gzip), which a client can decompress at once.

    `crc` and `length` are the checksum and the length of the whole document so far.
    """

    number: int
    body: bytes
    crc: int
    length: int


class Ended(Struct, frozen=True, tag=True):
    """The document has ended; `is_complete` is False if the search reached its time limit."""

    number: int
    is_complete: bool


#: Why there is no document: a name, a text, a move or a combination is wrong, the search is too
#: large, the game's rules failed, or there was not enough memory.
RefusalKind = Literal[
    "game", "option", "position", "move", "text", "name", "impossible", "too_large", "fault",
    "memory",
]  # fmt: skip


class Refused(Struct, frozen=True, tag=True):
    """There is no document, or the rest of it is missing.

    An error in a text has a line and a column, from 1.
    """

    number: int
    kind: RefusalKind
    message: str
    line: int | None = None
    column: int | None = None


Reply = Started | Part | Ended | Refused

decode_command = msgpack.Decoder(Command).decode
decode_reply = msgpack.Decoder(Reply).decode
encode = msgpack.Encoder().encode


def frame(message: Command | Reply) -> bytes:
    """Returns a message with its length before it; raises ValueError if it is too long."""
    return framing.frame(encode(message), MAX_BYTES)
