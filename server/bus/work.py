"""The messages between servers and engine workers over the broker: tagged structs as JSON,
validated on receipt.

A worker publishes a retained advert while it lives. A server sends a search to one worker's topic
and owns that search: the news come back to the server's topic with the search's id and attempt, and
the server drops news with another id or attempt. Pure.
"""

from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from engine.search.job import Info, Job, Result
from server.bus.link import ROOT
from server.protocol.messages import Count

#: Longest order or news, in bytes.
MAX_BYTES = 65_536
#: Most games in an advert.
GAMES = 1000

Id = Annotated[str, Meta(min_length=1, max_length=80)]
Name = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=1000)]
Try = Annotated[int, Meta(ge=1, le=1000)]
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]


class ReadyGame(Struct, frozen=True, forbid_unknown_fields=True):
    """A game that a worker is ready to search: the digest of its rules, and the nodes per second
    reached so far (0 if unknown).
    """

    rules: Annotated[str, Meta(max_length=128)]
    nps: Count = 0


class CompilingGame(Struct, frozen=True, forbid_unknown_fields=True):
    """A game that a worker still compiles; it answers levels and personas uncompiled meanwhile."""

    rules: Annotated[str, Meta(max_length=128)]
    percent: Annotated[int, Meta(ge=0, le=99)] = 0


class Advert(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A worker's capabilities and load. A server that predates `warming` refuses an advert with it,
    and accepts the worker once all its games are compiled.
    """

    worker: Id
    cores: Annotated[int, Meta(ge=1, le=1024)]
    games: Annotated[dict[Name, ReadyGame], Meta(max_length=GAMES)]
    running: Count = 0
    waiting: Count = 0
    warming: Annotated[dict[Name, CompilingGame], Meta(max_length=GAMES)] = {}


class Search(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """An order to run a job and to send news to `server`. `time_ms` is what is left of the job's
    time if an earlier attempt began elsewhere; after `deadline_ms` the server no longer waits.
    """

    id: Id
    attempt: Try
    server: Id
    job: Job
    deadline_ms: Milliseconds
    time_ms: Milliseconds | None = None


class Stop(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """An order to stop a search that is no longer wanted."""

    id: Id
    attempt: Try


class Expect(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """An order to compile this game before others because searches of it will follow soon. Only for
    workers whose adverts contain `warming`.
    """

    game: Name


class Taken(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Shows that the worker still runs a search; published twice a second."""

    id: Id
    attempt: Try


class Progress(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The progress of a search."""

    id: Id
    attempt: Try
    info: Info


class Answered(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The result of a search."""

    id: Id
    attempt: Try
    result: Result


class Refused(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The worker will not answer: its queue is full, its rules differ (`game.changed`), the search
    failed, or the game is quarantined after too many failures.
    """

    id: Id
    attempt: Try
    reason: Literal["busy", "game.changed", "failed", "quarantined"]
    message: Text = ""


class SearchId(Struct, frozen=True):
    """The id and attempt of the search that a payload concerns."""

    id: Id
    attempt: Try


ServerCommand = Search | Stop | Expect
WorkerMessage = Taken | Progress | Answered | Refused

encode = msgspec.json.Encoder().encode
_decode_advert = msgspec.json.Decoder(Advert).decode
_decode_command = msgspec.json.Decoder(ServerCommand).decode
_decode_message = msgspec.json.Decoder(WorkerMessage).decode
_decode_search_id = msgspec.json.Decoder(SearchId).decode

WORKERS_TOPIC = f"{ROOT}/workers"


class Malformed(Exception):
    """The payload is not a valid message of this kind; the exception says why."""


def worker_topic(worker: str) -> str:
    """The topic of a worker's advert."""
    return f"{WORKERS_TOPIC}/{quote(worker, safe='')}"


def commands_topic(worker: str) -> str:
    """The topic of a worker's orders."""
    return f"{ROOT}/jobs/{quote(worker, safe='')}"


def answers_topic(server: str) -> str:
    """The topic of the news for a server."""
    return f"{ROOT}/answers/{quote(server, safe='')}"


def parse_advert(topic: str, payload: bytes) -> Advert:
    """Parses the advert on a worker's topic; raises Malformed."""
    try:
        advert = _decode_advert(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    if topic != worker_topic(advert.worker):
        raise Malformed("an advert for somebody else")
    return advert


def parse_command(payload: bytes) -> ServerCommand:
    """Parses an order of a server; raises Malformed."""
    try:
        command: ServerCommand = _decode_command(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return command


def parse_worker_message(payload: bytes) -> WorkerMessage:
    """Parses a worker's news of a search; raises Malformed."""
    try:
        message: WorkerMessage = _decode_message(_checked_length(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return message


def parse_search_id(payload: bytes) -> SearchId | None:
    """The search that a malformed payload names; None if it names none."""
    try:
        return _decode_search_id(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _checked_length(payload: bytes) -> bytes:
    if len(payload) > MAX_BYTES:
        raise Malformed("too long")
    return payload
