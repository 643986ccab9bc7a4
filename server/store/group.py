"""The rows of a group commit, by table, and the commit on SQLite.

One statement writes all rows. It receives them as one JSON text for each table and inserts them
into a view, whose trigger holds a statement for each table. sqlite3 releases the interpreter lock
for each statement, and while the event loop is busy, it gets the lock back only after a switch
interval: with a statement for each row and 50 matches running, a move waited 18 ms.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, assert_never

import msgspec
from msgspec import Struct
from sqlalchemy import Column, LargeBinary, Table

from server.store import tables as t
from server.store.base import (
    EARLY_BOUND,
    ENTRY_CHANGED_MS,
    Append,
    CommandKey,
    Listing,
    MatchFinished,
    MatchStarted,
    NewRoom,
    StoredEvent,
    Thought,
)
from server.store.writer import Op, Outcome

Row = tuple[Any, ...]

_encode = msgspec.json.Encoder().encode
_values = msgspec.structs.astuple


def _texts(row: Struct) -> Row:
    """The values of a row, with bytes decoded to text."""
    return tuple([value.decode() if type(value) is bytes else value for value in _values(row)])


class Contended(Exception):
    """An operation of the group conflicts with the stored rows; nothing of the group is written."""


class GroupRows:
    """The rows of a group, by the table that they change.

    Bytes are decoded to text, since the rows are passed as JSON.
    """

    def __init__(self) -> None:
        self.heads: list[Row] = []
        self.events: list[Row] = []
        self.commands: list[Row] = []
        self.listings: list[Row] = []
        self.matches: list[Row] = []
        self.finished: list[Row] = []
        self.thoughts: list[Row] = []

    def move_head(self, append: Append) -> None:
        """Adds the compare-and-set of the room's head."""
        last = append.events[-1]
        head = (append.room, append.expected_v, last.v, append.due_ms, append.node, last.at_ms)
        self.heads.append(head)

    def add(self, append: Append) -> None:
        """Adds the events, the command key and the projections."""
        room = append.room
        for event in append.events:
            self.events.append((room, *_texts(event)))
        if append.command is not None:
            versions = (append.expected_v + 1, append.events[-1].v)
            self.commands.append((room, *_values(append.command), *versions))
        for projection in append.projections:
            match projection:
                case Listing():
                    self.listings.append((room, *_texts(projection), append.events[-1].at_ms))
                case MatchStarted():
                    self.matches.append((room, *_texts(projection)))
                case MatchFinished():
                    self.finished.append(_texts(projection))
                case Thought():
                    self.thoughts.append(_texts(projection))
                case _:
                    assert_never(projection)


# --- SQLite ---------------------------------------------------------------------------------------


def _field(number: int, column: Column[Any]) -> str:
    value = f"json_extract(value, '$[{number}]')"
    # The JSON rows hold the bytes of a column as text.
    return f"CAST({value} AS BLOB)" if isinstance(column.type, LargeBinary) else value


def _insert(table: Table, rows: str, columns: Iterable[Column[Any]]) -> str:
    """An INSERT statement for the trigger; `rows` is the view's column that holds the rows."""
    columns = list(columns)
    names = ", ".join(column.name for column in columns)
    fields = ", ".join(_field(number, column) for number, column in enumerate(columns))
    return f"INSERT INTO {table} ({names}) SELECT {fields} FROM json_each(NEW.{rows});"


def _update(
    table: Table,
    rows: str,
    columns: Iterable[Column[Any]],
    expecting: bool = False,
    computed: Mapping[str, str] = MappingProxyType({}),
    operands: Iterable[Column[Any]] = (),
) -> str:
    """An UPDATE statement for the trigger.

    The rows hold an id, the expected head if `expecting`, the columns, and `operands`, which only
    the expressions in `computed` use: the values of some columns, in place of the row's if it has
    one.
    """
    fields = {"id": table.c.id} | ({"expected": table.c.head} if expecting else {})
    changed = {column.name: column for column in columns}
    read = {column.name: column for column in operands}
    values = ", ".join(
        f"{_field(number, column)} AS {name}"
        for number, (name, column) in enumerate((fields | changed | read).items())
    )
    values_of = {name: f"u.{name}" for name in changed} | dict(computed)
    sets = ", ".join(f"{name} = {value}" for name, value in values_of.items())
    condition = f" AND {table}.head = u.expected" if expecting else ""
    return (
        f"UPDATE {table} SET {sets} FROM (SELECT {values} FROM json_each(NEW.{rows})) AS u"
        f" WHERE {table}.id = u.id{condition};"
    )


#: The view's columns, each with the rows of one attribute of `GroupRows` as a JSON array.
COLUMNS = ("heads", "events", "commands", "listings", "matches", "finished", "thoughts")
#: The statements of the trigger. A head that has moved fails the whole insert.
STATEMENTS = (
    _update(
        t.rooms,
        "heads",
        [t.rooms.c.head, t.rooms.c.due_ms, t.rooms.c.node],
        expecting=True,
        computed={"due_ms": EARLY_BOUND.format(row="rooms", new="u"), "taken_from": "NULL"},
        operands=[t.events.c.at_ms],
    ),
    "SELECT RAISE(ABORT, 'a head has moved') WHERE changes() <> json_array_length(NEW.heads);",
    _insert(t.events, "events", [t.events.c.room, *t.columns_of(StoredEvent, t.events)]),
    _insert(
        t.commands,
        "commands",
        [
            t.commands.c.room,
            *t.columns_of(CommandKey, t.commands),
            t.commands.c.first_v,
            t.commands.c.last_v,
        ],
    ),
    _update(
        t.rooms,
        "listings",
        [*t.columns_of(Listing, t.rooms), t.rooms.c.changed_ms],
        computed={"changed_ms": ENTRY_CHANGED_MS.format(row="rooms", new="u")},
    ),
    _insert(t.matches, "matches", [t.matches.c.room, *t.columns_of(MatchStarted, t.matches)]),
    _update(t.matches, "finished", t.columns_of(MatchFinished, t.matches, without="match")),
    _insert(t.thoughts, "thoughts", t.columns_of(Thought, t.thoughts)),
)
CREATE_VIEW = "CREATE TEMP VIEW commits AS SELECT " + ", ".join(f"'' AS {c}" for c in COLUMNS)
CREATE_TRIGGER = (
    "CREATE TEMP TRIGGER write_commits INSTEAD OF INSERT ON commits"
    f" BEGIN {' '.join(STATEMENTS)} END"
)
INSERT_ROWS = f"INSERT INTO commits VALUES ({', '.join('?' * len(COLUMNS))})"
#: The columns of a new room that its NewRoom holds.
CREATED = [column.name for column in t.columns_of(NewRoom, t.rooms, without="append")]
INSERT_ROOM = f"""
    INSERT INTO rooms (
        id, head, node, due_ms, listed, summary, changed_ms, {", ".join(CREATED)}
    )
    VALUES (?, ?, ?, ?, 0, CAST('{{}}' AS BLOB), ?, {", ".join("?" * len(CREATED))})
    ON CONFLICT (host, create_id) DO NOTHING"""
FIND_ROOM = "SELECT id FROM rooms WHERE host = ? AND create_id = ?"


def prepare_commits(connection: sqlite3.Connection) -> None:
    """Creates the view and the trigger that `commit_on_sqlite` needs, for this connection only."""
    connection.execute(CREATE_VIEW)
    connection.execute(CREATE_TRIGGER)


def commit_on_sqlite(connection: sqlite3.Connection, ops: list[Op]) -> list[Outcome]:
    """Commits a group; returns each operation's outcome.

    When it raises sqlite3.Error, nothing of the group is written. sqlite3.IntegrityError means that
    an operation conflicts with the stored rows.
    """
    appends = [op for op in ops if isinstance(op, Append)]
    if len(appends) == len(ops):
        # One statement is a transaction of its own.
        _insert_rows(connection, appends, [])
        return [None] * len(ops)
    connection.execute("BEGIN IMMEDIATE")
    try:
        outcomes = [_insert_room(connection, op) if isinstance(op, NewRoom) else None for op in ops]
        first_appends = [
            op.append
            for op, outcome in zip(ops, outcomes, strict=True)
            if isinstance(op, NewRoom) and outcome is None
        ]
        _insert_rows(connection, appends, first_appends)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _insert_rows(
    connection: sqlite3.Connection, appends: list[Append], first_appends: list[Append]
) -> None:
    """Writes the rows of appends, and of the first events of new rooms."""
    rows = GroupRows()
    for append in appends:
        rows.move_head(append)
        rows.add(append)
    for append in first_appends:
        rows.add(append)
    connection.execute(INSERT_ROWS, [_encode(getattr(rows, name)).decode() for name in COLUMNS])


def _insert_room(connection: sqlite3.Connection, new: NewRoom) -> Outcome:
    """Inserts the room's row; returns the id of an earlier room of (host, create_id), if any."""
    append = new.append
    last = append.events[-1]
    inserted = connection.execute(
        INSERT_ROOM,
        (
            append.room, last.v, append.node, append.due_ms, last.at_ms,
            *(getattr(new, name) for name in CREATED),
        ),
    )  # fmt: skip
    if inserted.rowcount == 1:
        return None
    return str(connection.execute(FIND_ROOM, (new.host, new.create_id)).fetchone()[0])
