"""The group commit on PostgreSQL: one statement per group, which is its own transaction.

The statement moves the heads of all rooms that are at the expected version (compare-and-set), adds
the rows of those rooms only, and returns the operations that lost. So a conflict or a repeated
command key does not affect the other operations of the group, and a group costs one round trip. The
statement receives the rows as one array per column. docs/notes/server-experiments.md compares it
with one statement per table in a transaction, and with rows as JSON.

A winner's command key cannot exist already: its writer read the expected head before it decided. So
the statement's snapshot includes all that was committed up to that head, including command keys.
"""

from functools import cache
from typing import Any, assert_never

import asyncpg
from msgspec.structs import astuple
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, String, Text

from server.store import tables as t
from server.store.base import (
    EARLY_BOUND,
    ENTRY_CHANGED_MS,
    Append,
    Conflict,
    Duplicate,
    Listing,
    MatchFinished,
    MatchStarted,
    NewRoom,
    Projection,
    StoredEvent,
    StoreUnavailable,
    Thought,
)
from server.store.writer import Outcome

Row = tuple[Any, ...]
Columns = dict[str, str]

#: The PostgreSQL type of the values of each type of column.
TYPES: dict[type[Any], str] = {
    BigInteger: "bigint", Boolean: "boolean", Integer: "integer", LargeBinary: "bytea",
    String: "text", Text: "text",
}  # fmt: skip


def _typed(*columns: Column[Any]) -> Columns:
    return {column.name: TYPES[type(column.type)] for column in columns}


# The columns of each part of the statement, with their PostgreSQL types, by table.
_ROOM = {"room": TYPES[String]}
HEADS: Columns = (
    _ROOM
    | {"expected": TYPES[BigInteger]}
    | _typed(t.rooms.c.head, t.rooms.c.due_ms, t.rooms.c.node)
    | {"identity": TYPES[String], "command": TYPES[String]}
    | _typed(t.events.c.at_ms)
)
LISTINGS = _typed(*t.columns_of(Listing, t.rooms), t.rooms.c.changed_ms)
CREATED = _typed(*t.columns_of(NewRoom, t.rooms, without="append"))
EVENTS = _ROOM | _typed(*t.columns_of(StoredEvent, t.events))
#: The columns of a finished match that a running one does not have.
ENDED = _typed(*t.columns_of(MatchFinished, t.matches, without="match"))
MATCHES = _ROOM | _typed(*t.columns_of(MatchStarted, t.matches)) | ENDED
FINISHED = _ROOM | _typed(*t.columns_of(MatchFinished, t.matches))
THOUGHTS = _ROOM | _typed(*t.columns_of(Thought, t.thoughts))

#: The initial `listed` and `summary` of a room without a lobby entry.
UNLISTED = (False, b"{}")
FIND_ROOMS = """
    SELECT r.host, r.create_id, r.id FROM unnest($1::text[], $2::text[]) AS a(host, create_id)
    JOIN rooms AS r ON r.host = a.host AND r.create_id = a.create_id"""


class _Rows:
    """The rows of a group, by table; each starts with the room whose head it depends on."""

    def __init__(self) -> None:
        self.heads: list[Row] = []
        self.events: list[Row] = []
        self.matches: list[Row] = []
        self.finished: list[Row] = []
        self.thoughts: list[Row] = []
        self.has_listing = False

    def add(self, append: Append, created: Row = ()) -> None:
        room, key, last = append.room, append.command, append.events[-1]
        listing: Row = (*UNLISTED, last.at_ms) if created else (None, None, None)
        matches: dict[str, Row] = {}
        for event in append.events:
            self.events.append((room, *astuple(event)))
        for projection in append.projections:
            match projection:
                case Listing():
                    listing = (*astuple(projection), last.at_ms)
                    self.has_listing = True
                case MatchStarted() | MatchFinished():
                    self._add_match(room, projection, matches)
                case Thought():
                    self.thoughts.append((room, *astuple(projection)))
                case _:
                    assert_never(projection)
        self.matches += matches.values()
        identity, command = (key.identity, key.id) if key is not None else (None, None)
        head = (room, append.expected_v, last.v, append.due_ms, append.node, identity, command)
        self.heads.append((*head, last.at_ms, *listing, *created))

    def _add_match(self, room: str, projection: Projection, matches: dict[str, Row]) -> None:
        """Adds a match's start or end.

        A statement does not see the rows that it inserts. So a match that starts and ends in one
        append is inserted as finished.
        """
        match projection:
            case MatchStarted():
                unfinished = (None,) * len(ENDED)
                matches[projection.match] = (room, *astuple(projection), *unfinished)
            case MatchFinished():
                match_id, *ended = astuple(projection)
                if match_id in matches:
                    matches[match_id] = (*matches[match_id][: -len(ended)], *ended)
                else:
                    self.finished.append((room, match_id, *ended))


async def commit_appends(
    connection: Any, appends: list[Append], skip_locked: bool = False
) -> list[Outcome]:
    """Commits the appends that win their compare-and-set; returns the outcome of each append.

    An error of asyncpg means that nothing was committed, or that the outcome is unknown. With
    `skip_locked`, an append to a room that another transaction has locked fails at once with
    StoreUnavailable.
    """
    rows = _Rows()
    # All nodes lock rooms in the same order, so two groups never deadlock.
    for append in sorted(appends, key=_room):
        rows.add(append)
    parts = (rows.matches, rows.finished, rows.thoughts)
    statement = _append_statement(rows.has_listing, *map(bool, parts), skip_locked)
    heads = rows.heads if rows.has_listing else [row[: len(HEADS)] for row in rows.heads]
    lost = {
        row["room"]: row for row in await _run(connection, statement, heads, rows.events, *parts)
    }
    return [_outcome(append, lost.get(append.room)) for append in appends]


def _room(append: Append) -> str:
    return append.room


def _outcome(append: Append, lost: asyncpg.Record | None) -> Outcome:
    if lost is None:
        return None
    if lost["first_v"] is not None:
        return Duplicate(lost["first_v"], lost["last_v"])
    if lost["locked"]:
        return StoreUnavailable(f"another transaction has locked room {append.room}")
    return Conflict(f"room {append.room} is not at v {append.expected_v}")


async def commit_rooms(connection: Any, new_rooms: list[NewRoom]) -> list[Outcome]:
    """Commits new rooms; returns the outcome of each.

    The outcome is None, or the id of the room that (host, create_id) created before.
    """
    rows = _Rows()
    for new in sorted(new_rooms, key=_create_key):
        rows.add(new.append, (new.game, new.public, new.host, new.create_id, new.created_ms))
    parts = (rows.matches, rows.finished, rows.thoughts)
    statement = _create_statement(*map(bool, parts))
    lost = await _run(connection, statement, rows.heads, rows.events, *parts)
    if not lost:
        return [None] * len(new_rooms)
    keys = [(row["host"], row["create_id"]) for row in lost]
    records = await connection.fetch(FIND_ROOMS, *map(list, zip(*keys, strict=True)))
    earlier = {(row["host"], row["create_id"]): row["id"] for row in records}
    created_rooms = {new.append.room for new in new_rooms} - {row["room"] for row in lost}
    return [
        None if new.append.room in created_rooms else _earlier_room(new, earlier)
        for new in new_rooms
    ]


def _create_key(new: NewRoom) -> tuple[str, str]:
    return new.host, new.create_id


def _earlier_room(new: NewRoom, earlier: dict[tuple[str, str], str]) -> Outcome:
    """The id of the earlier room; None if it is this one, whose first answer was lost."""
    room = earlier.get(_create_key(new))
    return None if room == new.append.room else room


async def _run(connection: Any, statement: str, *parts: list[Row]) -> list[asyncpg.Record]:
    arrays = [list(column) for rows in parts if rows for column in zip(*rows, strict=True)]
    records: list[asyncpg.Record] = await connection.fetch(statement, *arrays)
    return records


# --- the statements -------------------------------------------------------------------------------
# `(x IN (SELECT ...)) IS TRUE` instead of a plain `x IN` makes the planner hash the list. Otherwise
# it would plan a join, which the settings of the writer's connection would make a nested loop.

#: The condition that a row's room has won the compare-and-set; to be formatted with its alias.
WON = "({}.room IN (SELECT id FROM moved)) IS TRUE"


class _StatementBuilder:
    """Builds a statement from CTEs (WITH queries), and numbers its parameters in order."""

    def __init__(self) -> None:
        self._number = 0
        self._parts: list[str] = []

    def rows(self, alias: str, columns: Columns) -> str:
        """A FROM item for the rows of one table: an unnest of one array parameter per column."""
        arrays = []
        for kind in columns.values():
            self._number += 1
            arrays.append(f"${self._number}::{kind}[]")
        return f"unnest({', '.join(arrays)}) AS {alias}({', '.join(columns)})"

    def add(self, name: str, query: str) -> None:
        self._parts.append(f"{name} AS ({query})")

    def insert(self, table: str, columns: Columns, keep_room: bool = True) -> None:
        """Adds a CTE that inserts the winners' rows into a table."""
        names = ", ".join(name for name in columns if keep_room or name != "room")
        source = self.rows("e", columns)
        self.add(
            f"{table}_added",
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {source} WHERE {WON.format('e')}",
        )

    def statement(self, answer: str) -> str:
        """The whole statement: the CTEs and then `answer`, the query for its result."""
        return f"WITH {', '.join(self._parts)} {answer}"


@cache
def _append_statement(
    has_listing: bool, has_matches: bool, has_finished: bool, has_thoughts: bool, skip_locked: bool
) -> str:
    builder = _StatementBuilder()
    builder.add(
        "requested", f"SELECT * FROM {builder.rows('a', HEADS | (LISTINGS if has_listing else {}))}"
    )
    builder.add(
        "earlier",
        "SELECT c.room, c.first_v, c.last_v FROM requested AS a"
        " JOIN commands AS c ON c.room = a.room AND c.identity = a.identity AND c.id = a.command",
    )
    condition = (
        "r.id = a.room AND r.head = a.expected"
        " AND (a.room IN (SELECT room FROM earlier)) IS NOT TRUE"
    )
    locked = "false"
    if skip_locked:
        builder.add(
            "free",
            "SELECT id FROM rooms WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE SKIP LOCKED",
        )
        condition += " AND (a.room IN (SELECT id FROM free)) IS TRUE"
        locked = (
            "(a.room IN (SELECT id FROM free)) IS NOT TRUE"
            " AND EXISTS (SELECT FROM rooms AS x WHERE x.id = a.room)"
        )
    due_ms = EARLY_BOUND.format(row="r", new="a")
    changes = f"head = a.head, due_ms = {due_ms}, node = a.node, taken_from = NULL"
    if has_listing:
        values = {name: f"a.{name}" for name in LISTINGS}
        values["changed_ms"] = ENTRY_CHANGED_MS.format(row="r", new="a")
        changes += "".join(f", {name} = coalesce({new}, r.{name})" for name, new in values.items())
    builder.add(
        "moved",
        f"UPDATE rooms AS r SET {changes} FROM requested AS a WHERE {condition} RETURNING r.id",
    )
    _add_dependents(builder, has_matches, has_finished, has_thoughts)
    return builder.statement(
        f"SELECT a.room, d.first_v, d.last_v, {locked} AS locked FROM requested AS a"
        " LEFT JOIN earlier AS d ON d.room = a.room"
        f" WHERE {WON.format('a').replace('TRUE', 'NOT TRUE')}"
    )


@cache
def _create_statement(has_matches: bool, has_finished: bool, has_thoughts: bool) -> str:
    builder = _StatementBuilder()
    builder.add("requested", f"SELECT * FROM {builder.rows('a', HEADS | LISTINGS | CREATED)}")
    columns = ["head", "due_ms", "node", *LISTINGS, *CREATED]
    builder.add(
        "moved",
        f"INSERT INTO rooms (id, {', '.join(columns)})"
        f" SELECT room, {', '.join(columns)} FROM requested"
        " ON CONFLICT (host, create_id) DO NOTHING RETURNING id",
    )
    _add_dependents(builder, has_matches, has_finished, has_thoughts)
    return builder.statement(
        "SELECT a.room, a.host, a.create_id FROM requested AS a"
        f" WHERE {WON.format('a').replace('TRUE', 'NOT TRUE')}"
    )


def _add_dependents(
    builder: _StatementBuilder, has_matches: bool, has_finished: bool, has_thoughts: bool
) -> None:
    """Adds the inserts and updates that depend on the heads that moved."""
    builder.insert("events", EVENTS)
    builder.add(
        "commands_added",
        "INSERT INTO commands (room, identity, id, first_v, last_v)"
        " SELECT a.room, a.identity, a.command, a.expected + 1, a.head FROM requested AS a"
        f" WHERE a.command IS NOT NULL AND {WON.format('a')}",
    )
    if has_matches:
        builder.insert("matches", MATCHES)
    if has_finished:
        changes = ", ".join(f"{name} = e.{name}" for name in FINISHED if name not in ("room", "id"))
        source = builder.rows("e", FINISHED)
        builder.add(
            "matches_finished",
            f"UPDATE matches AS m SET {changes} FROM {source}"
            f" WHERE m.id = e.id AND {WON.format('e')}",
        )
    if has_thoughts:
        builder.insert("thoughts", THOUGHTS, keep_room=False)
