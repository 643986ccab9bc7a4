"""Writes the browser client's files derived from `server.protocol`: types and golden frames.

    python -m tests.support.wire_files

Run it after each change to the protocol; a test fails until then.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import inspect

from engine.search.job import Info
from server.events import KnownEvent
from server.protocol import messages as wire
from server.reference.protocol import fields_in_frame
from tests.support.wire_samples import frames

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "client/web/shell/protocol.d.ts"
GOLDEN = ROOT / "tests/data/messages"

HEAD = (
    "// The wire, version 1. Written by `python -m tests.support.wire_files` "
    "from server/protocol/messages.py.\n"
)
TAIL = """
/** An event of a room: the entry of its log at v. */
export type EventMessage = { t: "event"; room: string; v: number; at: number } & RoomEvent;
/** An event that this viewer may not see. */
export type HiddenMessage = { t: "event"; room: string; v: number; at: number; kind: "hidden" };
/** Everything that the server sends. */
export type Message = ServerMessage | EventMessage | HiddenMessage;
"""


def typescript() -> str:
    """Returns the text of protocol.d.ts: an interface per struct, with `?` for optional fields."""
    structs: dict[str, str] = {}
    unions = {
        "ClientMessage": inspect.type_info(wire.ClientMessage),
        "ServerMessage": inspect.type_info(wire.ServerMessage),
        "RoomEvent": inspect.type_info(KnownEvent),
    }
    named = [f"export type {name} = {_type(union, structs)};\n" for name, union in unions.items()]
    _type(inspect.type_info(Info), structs)
    return "\n".join([HEAD, *structs.values(), *named]) + TAIL


def _type(info: inspect.Type, structs: dict[str, str]) -> str:
    """Returns a type in TypeScript; the structs in it are added to `structs`."""
    match info:
        case inspect.Metadata(type=inner_type):
            return _type(inner_type, structs)
        case inspect.StructType(cls=cls):
            if cls.__name__ not in structs:
                structs[cls.__name__] = ""
                structs[cls.__name__] = _interface(info, structs)
            return cls.__name__
        case inspect.UnionType(types=types):
            return " | ".join(_type(member, structs) for member in types)
        case inspect.VarTupleType(item_type=item):
            inner = _type(item, structs)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case inspect.TupleType(item_types=items):
            return f"[{', '.join(_type(item, structs) for item in items)}]"
        case inspect.DictType(key_type=key, value_type=value):
            return f"Record<{_type(key, structs)}, {_type(value, structs)}>"
        case inspect.LiteralType(values=values):
            return " | ".join(f'"{value}"' for value in values)
        case inspect.EnumType(cls=cls):
            members = " | ".join(f'"{member.value}"' for member in cls)
            structs.setdefault(cls.__name__, f"export type {cls.__name__} = {members};\n")
            return cls.__name__
        case inspect.StrType():
            return "string"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.BoolType():
            return "boolean"
        case inspect.NoneType():
            return "null"
        case _:
            raise TypeError(f"the wire has no {type(info).__name__}")


def _interface(info: inspect.StructType, structs: dict[str, str]) -> str:
    return "\n".join(
        [
            *_doc(info.cls),
            f"export interface {info.cls.__name__} {{",
            *_fields(info, structs),
            "}",
            "",
        ]
    )


def _doc(cls: type) -> Iterator[str]:
    if cls.__doc__:
        yield f"/** {' '.join(cls.__doc__.split())} */"


def _fields(info: inspect.StructType, structs: dict[str, str]) -> Iterator[str]:
    if info.tag_field is not None:
        yield f'    {info.tag_field}: "{info.tag}";'
    for field in fields_in_frame(info):
        optional = "" if field.required else "?"
        yield f"    {field.encode_name}{optional}: {_type(field.type, structs)};"


def write() -> None:
    """Writes all these files."""
    TYPES.write_text(typescript(), "utf-8")
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, frame in frames().items():
        (GOLDEN / f"{name}.json").write_bytes(frame + b"\n")


if __name__ == "__main__":
    write()
