"""The messages between servers and engine workers over the broker: tagged structs as JSON,
validated on receipt.

A worker publishes a retained advert while it runs. A server sends a search to one worker's topic
and owns that search: the worker answers on the server's topic with the search's id and attempt, and
the server drops messages with another id or attempt. The names of the structs are their tags in
the JSON. Pure.

Older and newer programs share a broker. A reader ignores unknown fields in adverts and in workers'
messages, so that a newer worker can add to them. It refuses unknown fields in a command: a worker
that ignored one would run another search than the server asked for. A search by a strategy goes
only to workers whose adverts list it. If a search needs a capability
that the first version did not have, `Job.needs` names it, and the search goes only to workers whose
adverts list it in `can`. A search that is not live (`Job.use`) goes only to workers whose adverts
have the field `study`; the encoding of a live search does not name its class.
"""

from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from engine.search.job import LINES, NULL_MOVE, Info, Job, Result
from server.bus.broker import ROOT
from server.commands import Count

#: Maximum length of a message about searches, in bytes. The broker module's limit is larger.
MAX_BYTES = 65_536
#: Maximum number of games in an advert.
MAX_GAMES = 1000
#: Maximum number of capabilities in an advert.
MAX_CAPABILITIES = 100
#: Maximum number of strategies in an advert.
MAX_STRATEGIES = 100
#: Searches that may wait at a worker, per core.
QUEUED_PER_CORE = 2
#: Longest time that a server waits for a search that is not live, in seconds. It is long because
#: such a search gives way to live ones.
BACKGROUND_DEADLINE_S = 600.0
#: The capabilities of this program beyond those of the first version, as named in `Job.needs`.
CAPABILITIES: tuple[str, ...] = (LINES, NULL_MOVE)

Id = Annotated[str, Meta(min_length=1, max_length=80)]
Name = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=1000)]
Attempt = Annotated[int, Meta(ge=1, le=1000)]
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]


class ReadyGame(Struct, frozen=True):
    """A game that a worker has compiled: the digest of its rules, and the speed of its searches in
    nodes per second (0 if unknown).
    """

    rules: Annotated[str, Meta(max_length=128)]
    nps: Count = 0


class CompilingGame(Struct, frozen=True):
    """A game that a worker is compiling; until then it plays levels and personas uncompiled."""

    rules: Annotated[str, Meta(max_length=128)]
    percent: Annotated[int, Meta(ge=0, le=99)] = 0


class UncompiledGame(Struct, frozen=True):
    """A game that a worker plays by strategies only: it is not compiled."""

    rules: Annotated[str, Meta(max_length=128)]


class Advert(Struct, frozen=True, omit_defaults=True):
    """A worker's games, capabilities, strategies and load. A server older than the field `warming`
    refuses an advert that has it, and accepts the worker once all its games are compiled. One older
    than `can` refuses an advert that has it.

    `running` and `waiting` are live searches, before which all others give way. `study` is the
    number of other searches that the worker takes at a time, 0 for a program that knows only live
    ones; `studying` is the number that it has.
    """

    worker: Id
    cores: Annotated[int, Meta(ge=1, le=1024)]
    games: Annotated[dict[Name, ReadyGame], Meta(max_length=MAX_GAMES)]
    running: Count = 0
    waiting: Count = 0
    warming: Annotated[dict[Name, CompilingGame], Meta(max_length=MAX_GAMES)] = {}
    can: Annotated[tuple[Name, ...], Meta(max_length=MAX_CAPABILITIES)] = ()
    strategies: Annotated[tuple[Name, ...], Meta(max_length=MAX_STRATEGIES)] = ()
    uncompiled: Annotated[dict[Name, UncompiledGame], Meta(max_length=MAX_GAMES)] = {}
    study: Count = 0
    studying: Count = 0


class Search(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A command to run a job and to answer to `server`. `time_ms` is the rest of the job's time if
    an earlier attempt began elsewhere. After `deadline_ms` the server no longer waits.
    """

    id: Id
    attempt: Attempt
    server: Id
    job: Job
    deadline_ms: Milliseconds
    time_ms: Milliseconds | None = None


class Stop(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A command to stop a search that is no longer wanted."""

    id: Id
    attempt: Attempt


class Expect(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """A command to compile this game before others, since searches of it will follow soon. Only for
    workers whose adverts have the field `warming`.
    """

    game: Name


class Taken(Struct, frozen=True, tag=True):
    """A keepalive message of a running search; published twice a second."""

    id: Id
    attempt: Attempt


class Progress(Struct, frozen=True, tag=True):
    """The progress of a search."""

    id: Id
    attempt: Attempt
    info: Info


class Answered(Struct, frozen=True, tag=True):
    """The result of a search."""

    id: Id
    attempt: Attempt
    result: Result


class Refused(Struct, frozen=True, tag=True, omit_defaults=True):
    """The worker refuses a search: its queue is full, its rules differ (`game.changed`), the search
    failed, the game is quarantined after too many failures, or a strategy failed, with a message of
    `engine.strategies.reasons`. With `lost` the search failed because its processes died or hung: a
    server older than this field takes that for a fault of the game. `left_ms` is the rest of a
    quarantine, 0 for one without end; older workers do not send it.
    """

    id: Id
    attempt: Attempt
    reason: Literal["busy", "game.changed", "failed", "quarantined", "strategy"]
    message: Text = ""
    lost: bool = False
    left_ms: Annotated[int, Meta(ge=0, le=86_400_000)] = 0


class SearchId(Struct, frozen=True):
    """The search that a message is about."""

    id: Id
    attempt: Attempt


class SearchHeader(Struct, frozen=True, tag="Search"):
    """The fields of a search command that a refusal needs: the search, and its server."""

    id: Id
    attempt: Attempt
    server: Id


ServerCommand = Search | Stop | Expect
WorkerMessage = Taken | Progress | Answered | Refused

encode = msgspec.json.Encoder().encode
_decode_advert = msgspec.json.Decoder(Advert).decode
_decode_command = msgspec.json.Decoder(ServerCommand).decode
_decode_message = msgspec.json.Decoder(WorkerMessage).decode
_decode_search_id = msgspec.json.Decoder(SearchId).decode
_decode_search_header = msgspec.json.Decoder(SearchHeader).decode

#: The parent of the topics of the workers' adverts.
WORKERS_TOPIC = f"{ROOT}/workers"


class Malformed(Exception):
    """The payload is not a valid message of this kind; the exception says why."""


def worker_topic(worker: str) -> str:
    """The topic of a worker's advert."""
    return f"{WORKERS_TOPIC}/{quote(worker, safe='')}"


def commands_topic(worker: str) -> str:
    """The topic of the commands to a worker."""
    return f"{ROOT}/jobs/{quote(worker, safe='')}"


def answers_topic(server: str) -> str:
    """The topic of the workers' messages to a server."""
    return f"{ROOT}/answers/{quote(server, safe='')}"


def background_size(cores: int) -> int:
    """The searches that are not live which a worker with this many cores takes at a time. They
    leave a core free if there are several.
    """
    return max(1, cores - 1)


def parse_advert(topic: str, payload: bytes) -> Advert:
    """Parses the advert on a worker's topic; raises Malformed."""
    try:
        advert = _decode_advert(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    if topic != worker_topic(advert.worker):
        raise Malformed("the advert of another worker")
    return advert


def parse_command(payload: bytes) -> ServerCommand:
    """Parses a server's command; raises Malformed."""
    try:
        command: ServerCommand = _decode_command(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return command


def parse_worker_message(payload: bytes) -> WorkerMessage:
    """Parses a worker's message about a search; raises Malformed."""
    try:
        message: WorkerMessage = _decode_message(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return message


def parse_search_id(payload: bytes) -> SearchId | None:
    """The search that a malformed payload is about; None if it names none."""
    try:
        return _decode_search_id(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def parse_search_header(payload: bytes) -> SearchHeader | None:
    """The header of a search command that is malformed otherwise; None if it has none."""
    try:
        return _decode_search_header(_checked_length(payload))
    except (Malformed, msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _checked_length(payload: bytes) -> bytes:
    """Returns the payload; raises Malformed if it is too long."""
    if len(payload) > MAX_BYTES:
        raise Malformed("too long")
    return payload
