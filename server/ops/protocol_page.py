"""`python -m server.ops.protocol_page > docs/reference/protocol.md`: the page, made from the types;
a test keeps it so.
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

from server.limits.by_address import Limits
from server.net.session import CUT_BYTES, HELLO_TIMEOUT_S
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.runtime.expiry import GUEST_DAYS, ROOM_DAYS
from server.settings import Settings
from server.web import api

DEFAULTS = Settings()

INTRODUCTION = f"""\
# The protocol, version {wire.PROTOCOL}

<!-- Made by `python -m server.ops.protocol_page`: change the types in server/protocol/messages.py instead. -->

The WebSocket is at `/ws`. Each text frame is one JSON object, told apart by `t`. A client's frame has at most
{wire.MAX_FRAME_BYTES} bytes and nests at most {wire.MAX_DEPTH} deep. Clients ignore fields and types that they do not
know.

- The first message is [`hello`](#hello), within {HELLO_TIMEOUT_S:g} s; the answer is [`welcome`](#welcome).
- A command carries an `id` of 1 to 36 characters, made by the client. Its answer is exactly one [`ack`](#ack) or
  [`error`](#error) with that `id` within 10 s, or the connection closes.
- An ack of a command that changes a room means that its events are committed. The same `id` sent again (by the same
  identity, for the same room, over any connection, even after a restart) gets the same ack and changes nothing. A
  refused command changed nothing and is judged afresh when it is sent again.
- What happened in a room is its log: [events](#events) numbered v = 1, 2, 3, … without a gap, the same for everybody
  but for [`hidden`](#hidden) ones. A client that sees a gap, or another `epoch` than its own, joins again with
  `since` 0.
- A connection from which nothing came for {DEFAULTS.silence_s:g} s is closed; [`ping`](#ping) says that one is there.
- A connection may send {DEFAULTS.messages_per_s:g} messages a second (and {DEFAULTS.messages_burst} at once), an
  identity may make {DEFAULTS.rooms_per_minute:g} rooms a minute and say {DEFAULTS.limit_chat} lines in 10 s in a room
  (all together {DEFAULTS.limit_chat_room}); what is beyond that is refused with `rate.exceeded`.
- An address (the /64 of an IPv6 one) may make {DEFAULTS.limit_guests} guests at once and then
  {DEFAULTS.limit_guests_per_minute} a minute, have {DEFAULTS.limit_sockets} connections, and make
  {DEFAULTS.limit_rooms_per_minute} rooms a minute (`rate.exceeded`); and hold {DEFAULTS.limit_rooms_percent} % of the
  places for rooms (`room.limit`). Operators may set other limits. A refusal says in its message after how many seconds
  to try again; over HTTP, and at the handshake of a WebSocket, it is 429 with `Retry-After`.
- A guest who never took a seat or made a room, and was not here for {GUEST_DAYS} days, is forgotten: its token gets
  `token.unknown`, its cookie makes a new guest, whose token is in the `welcome`. A room that never had a match, and
  in which nobody was for {ROOM_DAYS} days, is gone: `room.unknown`.
- What may be dropped says so: it is left out for a connection that reads too slowly. One that has
  {CUT_BYTES // 1024} KiB unread is cut off.

A field without a default must be there; one that has its default may be missing.
"""

EVENTS = """\
## Events

An event arrives as `{"t": "event", "room": …, "v": …, "at": …, "kind": …}` with the fields of its kind beside these:
"""

HTTP = f"""\
## HTTP

On the same port. Answers are JSON; a refusal is `{{"code": …, "message": …}}` with a fitting status. Whatever is not
GET comes from the server's own pages or from no browser. A request that takes a body (only `POST /api/guest` does) has
at most {max(api.BODY_LIMITS_BYTES.values())} bytes of it (else 413), says its length (else 411) and compresses nothing
(else 415); each of these refusals is made before the body is read and ends the connection. 429 with `rate.exceeded`
comes with `Retry-After`: your address has asked for too much.
"""


def page() -> str:
    """The whole page."""
    outgoing = [*wire.ServerMessage.__args__, wire.EventFrame]
    parts = [
        INTRODUCTION,
        "## What clients send\n",
        *(_message(struct, "t") for struct in wire.ClientMessage.__args__),
        "## What the server sends\n",
        *(_message(struct, "t") for struct in outgoing),
        EVENTS,
        *(_message(struct, "kind") for struct in wire.AnyEvent.__args__),
        "## Parts of messages\n",
        *(_message(struct, None) for struct in _parts()),
        "## Error codes\n",
        _table(("code", "meaning"), ((f"`{code}`", code.meaning) for code in Code)),
        "## Close codes\n",
        _table(("code", "meaning"), ((str(int(code)), code.meaning) for code in Close)),
        HTTP,
        _table(("request", "answer"), _routes()),
    ]
    return "\n".join(parts)


def _message(struct: type[Struct], tag_field: str | None) -> str:
    """A heading, the type's docstring, and its fields."""
    info = cast(types.StructType, types.type_info(struct))
    title = f"`{info.tag}`" if tag_field is not None else struct.__name__
    lines = [f"### {title}\n", inspect.cleandoc(struct.__doc__ or "").replace("\n", " ") + "\n"]
    if tag_field is None and info.tag is not None:
        lines.append(f"Told apart by `{info.tag_field}`: `{info.tag}`.\n")
    if info.fields:
        rows = (
            (f"`{field.encode_name}`", _type(field.type), _default(field)) for field in info.fields
        )
        lines.append(_table(("field", "type", "default"), rows))
    return "\n".join(lines)


def _parts() -> list[type[Struct]]:
    """The types that messages are made of, in the order in which they are met."""
    found: list[type[Struct]] = []
    tops = [*wire.ClientMessage.__args__, *wire.ServerMessage.__args__, *wire.AnyEvent.__args__]

    def visit(kind: types.Type) -> None:
        for inner in _inner(kind):
            if (
                isinstance(inner, types.StructType)
                and inner.cls not in found
                and inner.cls not in tops
            ):
                found.append(inner.cls)
            visit(inner)

    for top in tops:
        visit(types.type_info(top))
    return found


def _inner(kind: types.Type) -> Iterator[types.Type]:
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
            return " or ".join(_type(one) for one in kinds)
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
            raise TypeError(f"the page does not know how to describe {kind}")


def _range(least: int | None, most: int | None) -> str:
    top = "2^53 - 1" if most == 2**53 - 1 else str(most)
    if least is None and most is None:
        return ""
    return f" from {least}" if most is None else f" from {least} to {top}"


def _default(field: types.Field) -> str:
    if not field.required and field.default is NODEFAULT and field.default_factory is NODEFAULT:
        return "absent"
    if field.default is not NODEFAULT:
        return f"`{msgspec.json.encode(field.default).decode()}`"
    if field.default_factory is not NODEFAULT:
        return f"`{msgspec.json.encode(field.default_factory()).decode()}`"
    return ""


def _routes() -> Iterator[tuple[str, str]]:
    """The HTTP API's routes with their handlers' docstrings."""
    settings = Settings()
    ports = cast(Ports, SimpleNamespace(settings=settings, now_ms=int))  # nothing is asked of them
    app = api.make_app(api.Api(ports, Limits(settings), lambda: False), [])
    for route in app.router.routes():
        if route.method != "HEAD":
            resource = cast(web.Resource, route.resource)
            yield (
                f"`{route.method} {resource.canonical}`",
                inspect.cleandoc(route.handler.__doc__ or ""),
            )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("-" * len(cell) for cell in head), *rows]
    return "".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(page())
