"""Makes the page about the protocol.

    python -m server.reference.protocol > docs/reference/protocol.md

A test compares the page with the message types.
"""

import inspect
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import msgspec
from aiohttp import web
from msgspec import NODEFAULT, Struct
from msgspec import inspect as types

from engine.teach.lessons.listings import MAX_TREE_NODES as LISTING_NODES
from engine.teach.output.machine import MAX_SHOWN
from engine.teach.requests.request import MAX_LINE, MAX_LINES
from server.analysis.feed import AnalysisFeed
from server.analysis.report import AnalysisReport
from server.analysis.words import AnalysisSummary, MarkCounts, PositionEntry, TurningPoint
from server.bus.local import LocalBus
from server.codes import Code
from server.commands import ClientCommand
from server.events import AnyEvent
from server.limits.by_address import NAMES_BURST, NAMES_PER_MINUTE, Limits
from server.net.session import HELLO_TIMEOUT_S, MAX_UNSENT_BYTES
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol.codes import Close
from server.rooms.model import MAX_EVENTS, MAX_EVENTS_WITHOUT_MOVE
from server.runtime.node.duties import SWEEP_S
from server.runtime.room.expiry import GUEST_DAYS, ROOM_DAYS
from server.settings import Settings
from server.web import api
from server.web.analyses import FOLLOW_S
from server.web.traces import REQUEST_BYTES

#: The default settings, whose limits the page names.
DEFAULTS = Settings()
#: The parts of an analysis.
ANALYSIS_STRUCTS = (AnalysisReport, PositionEntry, AnalysisSummary, MarkCounts, TurningPoint)
#: The first part of the page.
INTRODUCTION = f"""\
# The protocol, version {wire.PROTOCOL}

<!-- Written by `python -m server.reference.protocol` from server/protocol/messages.py. -->

A client talks to the server over a WebSocket at `/ws`. Each text frame holds one JSON object whose
field `t` names its type. A client's frame has at most {wire.MAX_FRAME_BYTES} bytes and nests at
most {wire.MAX_DEPTH} levels deep. Clients ignore fields and types that they do not know.

## Connecting

- The client sends [`hello`](#hello) first, within {HELLO_TIMEOUT_S:g} s. The server answers with
  [`welcome`](#welcome).
- The server closes a connection that has been silent for {DEFAULTS.silence_s:g} s. A client that
  has nothing else to send sends [`ping`](#ping).
- When a client reads too slowly, the server may drop messages that are marked "May be dropped".
  It closes the connection when {MAX_UNSENT_BYTES // 1024} KiB are unread.

- With more than one node (`nodes` of `welcome`), a client that enters a room opens a second
  socket at `/ws?room=ID`, sends `hello`, and joins the room there with `since`. After the ack it
  sends its unanswered commands again there and closes the first socket. If a client knows the
  room when it connects, its first socket already names it. The proxy sends all sockets of a room
  to the same node. This only saves work: every node serves every room, whatever the address says.

## Commands

- A command carries an `id` of 1 to 36 characters, chosen by the client. The server answers within
  10 s with exactly one [`ack`](#ack) or [`error`](#error) that has the same `id`, or the
  connection closes.
- An ack of a command that changes a room means that its events are committed.
- Commands can be repeated safely. The same `id` from the same identity for the same room gets the
  same ack and changes nothing, over any connection and even after a restart of the server.
- A refused command has changed nothing. If the client sends it again, the server decides again.
- After `store.retry` the outcome is unknown. The client sends the same `id` again to learn it.

## Events

- A room is its log: [events](#event-kinds) with the versions v = 1, 2, 3, … without a gap. All
  followers receive the same events, except that some receive [`hidden`](#hidden) in place of one.
- A client that sees a gap, or an `epoch` other than its own, joins the room again with `since` 0.

## An example

A client (`>`) creates a room against the AI, joins it and plays a move. Dots mark text left out.
After the move, `thinking` messages and the AI's own move follow.

```
> {{"t":"hello","protocol":{wire.PROTOCOL},"name":"Ada"}}
< {{"t":"welcome","protocol":{wire.PROTOCOL},"identity":"…","name":"Ada","token":"…",…}}
> {{"t":"create","id":"1","game":"tic-tac-toe","seats":[{{"who":"me"}},{{"who":"ai","level":1}}]}}
< {{"t":"ack","id":"1","v":4,"room":"…"}}
> {{"t":"join","id":"2","room":"…"}}
< {{"t":"ack","id":"2","v":null}}
< {{"t":"joined","room":"…","v":4,…}}
< {{"t":"snapshot","room":"…","v":4,…}}
< {{"t":"view","room":"…","v":4,…}}
< {{"t":"turn","room":"…","v":4,…}}
< {{"t":"presence","room":"…",…}}
> {{"t":"move","id":"3","room":"…","ply":0,"move":"b2"}}
< {{"t":"ack","id":"3","v":5}}
< {{"t":"event","room":"…","v":5,"at":…,"kind":"moved","move":"b2",…}}
< {{"t":"view","room":"…","v":5,…}}
```

## Limits

These are the defaults. Operators may set other limits.

- A connection may send {DEFAULTS.messages_per_s:g} messages a second, in bursts of up to
  {DEFAULTS.messages_burst}.
- An identity may create {DEFAULTS.rooms_per_minute:g} rooms a minute, and send
  {DEFAULTS.limit_chat} lines of chat in 10 s to a room. The spectators of a room together may send
  {DEFAULTS.limit_chat_room} lines in 10 s to it. A line must differ from the
  {DEFAULTS.limit_chat_repeats} last lines of its author in the room.
- An address (for IPv6, its /64 network) may create {DEFAULTS.limit_guests} guests in a burst and
  then {DEFAULTS.limit_guests_per_minute} a minute, have {DEFAULTS.limit_sockets} connections open,
  and create {DEFAULTS.limit_rooms_per_minute} rooms a minute.
- A guest may take {NAMES_BURST} new names in a burst and then {NAMES_PER_MINUTE} a minute. No
  setting changes that.
- An address may hold {DEFAULTS.limit_rooms_percent} % of the rooms that the server keeps in memory.
- An identity may send {DEFAULTS.limit_commands_per_minute} commands a minute to rooms, and an
  address {DEFAULTS.limit_commands_address_per_minute:,}, in bursts of up to
  {DEFAULTS.limit_commands_burst} and {DEFAULTS.limit_commands_address_burst:,}. Refused commands
  count; legal moves do not count for the address. A room accepts
  {DEFAULTS.limit_commands_room_per_minute} commands a minute that change it. `join` and `leave` do
  not count, nor do AI seats and the server itself.
- An identity may send {DEFAULTS.limit_joins_per_minute} joins a minute, and an address
  {DEFAULTS.limit_joins_address_per_minute:,}, in bursts of up to {DEFAULTS.limit_joins_burst} and
  {DEFAULTS.limit_joins_address_burst}. A client whose join is refused joins again after the time.
- In each room an identity may `sit` {DEFAULTS.limit_sits_burst} times and then
  {DEFAULTS.limit_sits_per_minute} a minute, the people of an address together
  {DEFAULTS.limit_sits_address_burst} and then {DEFAULTS.limit_sits_address_per_minute}.
- A room takes {MAX_EVENTS_WITHOUT_MOVE:,} events without a move, and {MAX_EVENTS:,} events in all.
  No setting changes that.

A refusal has the code `rate.exceeded`, or `room.limit` for the rooms in memory. Its message says
after how many seconds to try again. Over HTTP, and at the handshake of a WebSocket, such a refusal
is a 429 with `Retry-After`. A repeated line of chat has the code `chat.repeated`.

A full room refuses commands with `room.full`, also those of its players. While its match is
running, it still accepts moves, and what ends the match: `resign`, `abort`, `claim`, `offer_draw`,
`accept`, `decline`, `claim_win`, `call_draw` and `reclaim_seat`. A move makes
room for {MAX_EVENTS_WITHOUT_MOVE:,} events again, up to {MAX_EVENTS:,} in all. AI seats play such a
match on. Without a running match a player may only `stand`, and `joined` has `frozen`
`room.full`. The room can be read, watched and replayed like any other.

## Players who go

A player has gone when the player's last connection to the room has ended. If the match runs and the
opponent is another person, the opponent may claim it after {DEFAULTS.gone_ms // 1000} s, or after
{DEFAULTS.page_closed_ms // 1000} s if the connection closed with the code {Close.PAGE_CLOSED:d}.
Until then, `gone_ms` of `presence` has the time that is left. Then `may` has `claim_win`,
`call_draw` and `let_ai_play`, if both sides have moved and it is not the claimant's own move. A
side that cannot win any more by the game's rules, like a bare king in chess, has no `claim_win`.
Before both sides have moved, either player may `abort` the match.

A player who has gone from the room may still be connected to the server, on another page of it:
then `elsewhere` of `presence` has the seat, for the players who are in the room, not for
spectators. The opponent may claim all the same. Another node may report a connection for
{2 * SWEEP_S:g} s after its end.

The time counts only while the claimant is in the room, and while the node hears its players: not
while the process is stopped or the machine sleeps, nor for up to 10 s after that, in which clients
connect again. The time of day is not asked.

The node that receives the claim decides by what it and the other nodes know of connections. If it
may have missed a message of another node, it refuses the claim with `claim.unsure`, and the time
begins anew: a player whose node is cut off does not lose by that.

After `let_ai_play` the AI holds the seat, and `kept_for` of its occupant is the player. The player
takes the seat back with `reclaim_seat` until the match ends, and has it again at the end.

## Names

Several people may have the same name. Clients tell them apart by their identities. Ours show a
number after all equal names but the first: "Ada (2)". The first is the holder of the lowest seat,
then the author of the earliest line of chat that the client has. Case makes no difference.

When a player changes the name, the seats show it as soon as the player joins the room again:
`renamed`. Earlier events keep the old name.

## Expiry

- The server forgets a guest who has never taken a seat or created a room and has been away for
  {GUEST_DAYS} days. Their token then gets `token.unknown`. Their cookie makes a new guest, whose
  token is in `welcome`, with a `notice` that says so. A cookie of the old name, `plyroom`, has no
  notice: it may be another server's.
- The server deletes a room that has never had a match and that nobody has visited for
  {ROOM_DAYS} days. Commands for it get `room.unknown`.

In the tables below, a field without a default is required. A field with a default may be left out.
"""

#: The introduction to the kinds of events.
EVENTS = """\
## Event kinds

An event arrives as `{"t": "event", "room": …, "v": …, "at": …, "kind": …}`, with further fields
that depend on its kind. An event may have been written by a newer version of the server. A client
counts the v of a kind that it does not know, and shows the result of a match whose `how` it does
not know by its `reason`. If a server does not know an event, the room can only be read there:
`joined` then has `frozen` `room.newer`.
"""


def _body_limits() -> str:
    """The longest body of each route that takes one."""
    limits = api.BODY_LIMITS_BYTES.items()
    return ", ".join(f"`{path}` {limit} bytes" for (_, path), limit in limits)


#: The introduction to the HTTP API.
HTTP = f"""\
## HTTP

The HTTP API is on the same port. Answers are JSON. A refusal is `{{"code": …, "message": …}}` with
an error status. When an address has made too many requests, it gets a 429 with the code
`rate.exceeded` and the header `Retry-After`.

Requests other than GET are accepted from the server's own pages and from clients that are not
browsers. Only the routes with POST take a body. The server refuses a body before it reads it and
then closes the connection: with 413 for more than the route's limit ({_body_limits()}),
with 411 if its length is missing, and with 415 if it is compressed.
"""

#: The form of the traces, after the table of the routes.
TRACES = f"""\
### Traces

A trace is the record of a search by the [teaching search](../how-to/teaching.md), for the glass
box. `POST /api/trace` takes a JSON object with the fields of `TraceRequest`
(`engine.teach.requests.request`), or with `match` and `ply` instead of a game: what it leaves out
has its default, and a `depth` of null is the end of the game. A body without a tree or a graph has
at most {REQUEST_BYTES} bytes. The answer is a line of JSON each (`application/x-ndjson`), sent
while the search runs:

1. `{{"head": …}}` says what is searched and how, with the static board and the view of the start.
2. Chunks `{{"nodes", "left", "skipped", "steps"}}` hold columns. `nodes` are in the order of their
   visits, before the first step that names them; `parent` is a row, -1 for the root. `left` has
   the value, the bound and the reason of each node that was left. `what` of a step is 0 enter,
   1 returned, 2 narrowed, 3 cut, 4 leave; [trace.py](../../engine/teach/trace.py) explains its low
   and high. An infinite number is the text "inf" or "-inf", an open end null.
3. In a game whose players write moves otherwise than as tokens, the head has the first moves as
   they write them in `notation`, by token. Lines `{{"written": {{"nodes", "skipped"}}, "rest"}}`
   after the last chunk have the others, where that differs: the `row` of a node, or the number of a
   skipped move from 0, and the `move`; of more than 12 skipped moves of a node only the first 6.
   `rest` is the number of moves that later lines are about; at 0 all are written. They may be
   incomplete if the time of the search is up.
4. `{{"end": …}}` has the counts, the value, the principal variation (in `written` also as players
   write it) and its meaning. A search that its time or its number of nodes ended is `truncated`:
   it has no value, `meaning` says why, and nodes without a row in `left` were not left.
   `{{"error": {{"code", "message"}}}}` is the last line instead if the search failed after its
   first lines. Before that it is an ordinary refusal.

A trace is cached by its content; `ETag` names it. A trace that its time ended is made again.
`POST /api/trace/boards` takes the fields of `BoardsRequest` in the same module, at most
{MAX_LINES} lines of {MAX_LINE} moves, and answers with the views after them in `positions`; with
`legal` it adds the legal `moves`, the `texts` of the positions and the static `board`.

`POST /api/trace/machine` takes a `TraceRequest` and answers with the states of its subject, at most
{MAX_SHOWN}, laid out as a state machine: the same drawing as `plyroom teach --states --svg`.

`GET /api/listings` has the printed listings with their lines, faults and results on four trees;
`POST` of the same path with `{{"tree": text}}` has the `results` on a tree of the reader's, of at
most {LISTING_NODES} nodes of MAX and MIN.
"""


#: The introduction to the analyses of matches.
ANALYSES = f"""\
### Analyses

`GET /api/matches/{{match}}/analysis` answers with an `AnalysisReport`, without the fields that have
their default. `POST` of the same path, with the token or the cookie of a guest and without a body,
requests the analysis. The server makes it once, for all readers, and keeps it. An identity may have
{DEFAULTS.limit_background_running} analysis running and {DEFAULTS.limit_background_waiting}
waiting, and request {DEFAULTS.limit_studies_per_day} a day.

With `?follow` the answer is a stream of JSON lines (`application/x-ndjson`). The first line is the
whole report. Each further line has the state and, in `moves`, the entries that are new or have
changed; the client merges them by `ply`. When the analysis ends, the last line is the whole report
again. An empty line means that nothing has changed. The stream ends after {FOLLOW_S:g} s. If the
state is then "queued" or "running", the client sends the request again.
"""


def page() -> str:
    """The whole page, in Markdown."""
    outgoing = [*wire.ServerMessage.__args__, wire.EventFrame]
    parts = [
        INTRODUCTION,
        "## What clients send\n",
        *(_message(struct, "t") for struct in wire.ClientMessage.__args__),
        "## What the server sends\n",
        *(_message(struct, "t") for struct in outgoing),
        EVENTS,
        *(_message(struct, "kind") for struct in AnyEvent.__args__),
        "## Parts of messages\n",
        *(_message(struct, None) for struct in _parts()),
        "## Error codes\n",
        _table(("code", "meaning"), ((f"`{code}`", code.meaning) for code in Code)),
        "## Close codes\n",
        _table(("code", "meaning"), ((str(int(code)), code.meaning) for code in Close)),
        HTTP,
        _table(("request", "answer"), _routes()),
        TRACES,
        ANALYSES,
        *(_message(struct, None) for struct in ANALYSIS_STRUCTS),
    ]
    return "\n".join(parts)


def _message(struct: type[Struct], tag_field: str | None) -> str:
    """A section for one type: a heading, its docstring, and a table of its fields."""
    info = cast(types.StructType, types.type_info(struct))
    title = f"`{info.tag}`" if tag_field is not None else struct.__name__
    lines = [f"### {title}\n", _prose(struct.__doc__ or "") + "\n"]
    if tag_field is None and info.tag is not None:
        lines.append(f"Its field `{info.tag_field}` is `{info.tag}`.\n")
    if fields := fields_in_frame(info):
        rows = ((f"`{field.encode_name}`", _type(field.type), _default(field)) for field in fields)
        lines.append(_table(("field", "type", "default"), rows))
    return "\n".join(lines)


def fields_in_frame(info: types.StructType) -> tuple[types.Field, ...]:
    """The fields of a type in the order of its frame; a command has its room after its id."""
    if info.cls not in ClientCommand.__args__:
        return info.fields
    frame = cast(types.StructType, types.type_info(wire.CommandFrame))
    room = next(field for field in frame.fields if field.name == "room")
    command_id, *others = info.fields
    return command_id, room, *others


def _prose(docstring: str) -> str:
    """A docstring as Markdown: one line for each paragraph and for each item of a list."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(
        paragraph.replace("\n  ", " ")
        if paragraph.startswith("- ")
        else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )


def _parts() -> list[type[Struct]]:
    """The types of the fields of messages, in the order of their first use."""
    parts: list[type[Struct]] = []
    top_level = [
        *wire.ClientMessage.__args__,
        *wire.ServerMessage.__args__,
        *AnyEvent.__args__,
    ]

    def visit(kind: types.Type) -> None:
        for inner in _inner(kind):
            if (
                isinstance(inner, types.StructType)
                and inner.cls not in parts
                and inner.cls not in top_level
            ):
                parts.append(inner.cls)
            visit(inner)

    for top in top_level:
        visit(types.type_info(top))
    return parts


def _inner(kind: types.Type) -> Iterator[types.Type]:
    """Yields the types that a type contains directly."""
    match kind:
        case types.StructType(fields=fields):
            yield from (field.type for field in fields)
        case types.UnionType(types=kinds):
            yield from kinds
        case types.VarTupleType(item_type=item):
            yield item
        case types.TupleType(item_types=items):
            yield from items
        case types.DictType(value_type=value):
            yield value
        case types.Metadata(type=plain):
            yield plain


def _type(kind: types.Type) -> str:
    """A type in words, with its limits."""
    match kind:
        case types.Metadata(type=plain):
            return _type(plain)
        case types.BoolType():
            return "true or false"
        case types.NoneType():
            return "null"
        case types.FloatType():
            return "number"
        case types.IntType(ge=least, le=most, lt=below):
            return "integer" + _range(
                least, most if most is not None else None if below is None else below - 1
            )
        case types.StrType(min_length=least, max_length=most):
            limits = f" of {least or 0} to {most} characters" if most is not None else ""
            return f"text{limits}"
        case types.LiteralType(values=values):
            return " or ".join(f"`{value}`" for value in values)
        case types.EnumType():
            return "[code](#error-codes)"
        case types.StructType(cls=struct):
            return f"[{struct.__name__}](#{struct.__name__.lower()})"
        case types.UnionType(types=kinds):
            return " or ".join(_type(member) for member in kinds)
        case types.VarTupleType(item_type=item, min_length=least, max_length=most):
            count = f"{least} " if least is not None and least == most else ""
            return (
                f"list of {count}({_type(item)})"
                if " or " in _type(item)
                else f"list of {count}{_type(item)}"
            )
        case types.TupleType(item_types=items):
            return f"list of ({', '.join(_type(item) for item in items)})"
        case types.DictType(key_type=key, value_type=value, max_length=most):
            limits = f", at most {most}" if most is not None else ""
            return f"object of {_type(key)} to {_type(value)}{limits}"
        case _:
            raise TypeError(f"the page cannot describe the type {kind}")


def _range(least: int | None, most: int | None) -> str:
    """The limits of an integer, in words."""
    top = "2^53 - 1" if most == 2**53 - 1 else str(most)
    if least is None and most is None:
        return ""
    return f" from {least}" if most is None else f" from {least} to {top}"


def _default(field: types.Field) -> str:
    """A field's default as JSON; "absent" for an omitted field, "" for a required one."""
    if not field.required and field.default is NODEFAULT and field.default_factory is NODEFAULT:
        return "absent"
    if field.default is not NODEFAULT:
        return f"`{msgspec.json.encode(field.default).decode()}`"
    if field.default_factory is not NODEFAULT:
        return f"`{msgspec.json.encode(field.default_factory()).decode()}`"
    return ""


def _routes() -> Iterator[tuple[str, str]]:
    """Yields the HTTP API's routes, each with its handler's docstring."""
    settings = Settings()
    ports = cast(Ports, SimpleNamespace(settings=settings, now_ms=int))  # no route is called
    feed = AnalysisFeed(LocalBus(), "")
    app = api.make_app(api.Api(ports, Limits(settings), lambda: False, feed=feed), [])
    for route in app.router.routes():
        if route.method != "HEAD":
            resource = cast(web.Resource, route.resource)
            yield (
                f"`{route.method} {resource.canonical}`",
                inspect.cleandoc(route.handler.__doc__ or ""),
            )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("-" * len(cell) for cell in head), *rows]
    return "".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(page())
