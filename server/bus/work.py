"""What servers and engine workers say to each other over the broker: JSON of tagged structs, judged
as it comes in.

A worker shows an advert for as long as it lives. A server sends a search to one worker's topic and
owns it: news come back to the server's topic with the search's id and try, and what bears another
id or try is dropped. Pure.
"""

from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from engine.search.job import Info, Job, Result
from server.bus.link import ROOT
from server.protocol.messages import Count

#: No order and no news is longer.
MAX_BYTES = 65_536
GAMES = 1000

Id = Annotated[str, Meta(min_length=1, max_length=80)]
Name = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=1000)]
Try = Annotated[int, Meta(ge=1, le=1000)]
Milliseconds = Annotated[int, Meta(ge=1, le=86_400_000)]


class Offer(Struct, frozen=True, forbid_unknown_fields=True):
    """A game that a worker searches at once: the digest of its rules, and the nodes a second it has
    reached (or 0).
    """

    rules: Annotated[str, Meta(max_length=128)]
    nps: Count = 0


class Warming(Struct, frozen=True, forbid_unknown_fields=True):
    """A game that a worker does not have compiled yet: until then it answers levels and personas
    uncompiled.
    """

    rules: Annotated[str, Meta(max_length=128)]
    percent: Annotated[int, Meta(ge=0, le=99)] = 0


class Advert(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a worker can do and how busy it is. A server of before there was `warming` refuses an
    advert with it, and hears of the worker when all its games are compiled.
    """

    worker: Id
    cores: Annotated[int, Meta(ge=1, le=1024)]
    games: Annotated[dict[Name, Offer], Meta(max_length=GAMES)]
    running: Count = 0
    waiting: Count = 0
    warming: Annotated[dict[Name, Warming], Meta(max_length=GAMES)] = {}


class Search(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Search this and send news to that server. `time_ms` is what is left of the job's own time
    when it was begun elsewhere; after `deadline_ms` nobody waits for it any more.
    """

    id: Id
    attempt: Try
    server: Id
    job: Job
    deadline_ms: Milliseconds
    time_ms: Milliseconds | None = None


class Stop(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """That search is not wanted any more."""

    id: Id
    attempt: Try


class Expect(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """Searches of this game will be wanted soon: compile it before others. Only for a worker that
    says `warming`.
    """

    game: Name


class Taken(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The worker lives and has the search; said twice a second."""

    id: Id
    attempt: Try


class Progress(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """How far it has come."""

    id: Id
    attempt: Try
    info: Info


class Answered(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """The answer."""

    id: Id
    attempt: Try
    result: Result


class Refused(Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """There will be no answer: too many searches wait, the rules are others here (`game.changed`),
    it failed, or so many of that game have failed that no more are tried.
    """

    id: Id
    attempt: Try
    reason: Literal["busy", "game.changed", "failed", "quarantined"]
    message: Text = ""


class NewsHead(Struct, frozen=True):
    """Which search a payload is about."""

    id: Id
    attempt: Try


Order = Search | Stop | Expect
News = Taken | Progress | Answered | Refused

encode = msgspec.json.Encoder().encode
_decode_advert = msgspec.json.Decoder(Advert).decode
_decode_order = msgspec.json.Decoder(Order).decode
_decode_news = msgspec.json.Decoder(News).decode
_decode_head = msgspec.json.Decoder(NewsHead).decode

WORKERS = f"{ROOT}/workers"


class Malformed(Exception):
    """A payload that is no message of this kind; says why."""


def worker_topic(worker: str) -> str:
    """Where a worker shows its advert."""
    return f"{WORKERS}/{quote(worker, safe='')}"


def order_topic(worker: str) -> str:
    """Where a worker takes orders."""
    return f"{ROOT}/jobs/{quote(worker, safe='')}"


def news_topic(server: str) -> str:
    """Where a server hears of its searches."""
    return f"{ROOT}/answers/{quote(server, safe='')}"


def parse_advert(topic: str, payload: bytes) -> Advert:
    """The advert of the worker whose topic it is."""
    try:
        advert = _decode_advert(_short(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    if topic != worker_topic(advert.worker):
        raise Malformed("an advert for somebody else")
    return advert


def parse_order(payload: bytes) -> Order:
    """What a server wants of a worker."""
    try:
        order: Order = _decode_order(_short(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return order


def parse_news(payload: bytes) -> News:
    """What a worker says of a search."""
    try:
        news: News = _decode_news(_short(payload))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return news


def news_head(payload: bytes) -> NewsHead | None:
    """Which search a payload is about that is no news; None when it does not say."""
    try:
        return _decode_head(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _short(payload: bytes) -> bytes:
    if len(payload) > MAX_BYTES:
        raise Malformed("too long")
    return payload
