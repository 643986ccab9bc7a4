"""The rows of a group commit, by table, and the commit on SQLite.

One statement writes all rows. It receives them as one JSON text for each table and inserts them
into a view, whose trigger holds a statement for each table. sqlite3 releases the interpreter lock
for each statement, and while the event loop is busy, it gets the lock back only after a switch
interval: with a statement for each row and 50 matches running, a move waited 18 ms.
"""

import sqlite3
from typing import Any, assert_never

import msgspec

from server.store.base import Append, Listing, MatchFinished, MatchStarted, NewRoom, Thought
from server.store.writer import Op, Outcome

Row = tuple[Any, ...]

_encode = msgspec.json.Encoder().encode


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
        self.heads.append((append.room, append.expected_v, last.v, append.due_ms, append.node))

    def add(self, append: Append) -> None:
        """Adds the events, the command key and the projections."""
        room = append.room
        for event in append.events:
            self.events.append((room, event.v, event.at_ms, event.audience, event.body.decode()))
        if append.command is not None:
            key = append.command
            self.commands.append(
                (room, key.identity, key.id, append.expected_v + 1, append.events[-1].v)
            )
        for projection in append.projections:
            match projection:
                case Listing():
                    at_ms = append.events[-1].at_ms
                    self.listings.append(
                        (room, projection.listed, projection.summary.decode(), at_ms)
                    )
                case MatchStarted() as m:
                    self.matches.append(
                        (
                            m.match, room, m.game, m.number, m.options.decode(),
                            m.seats.decode(), m.start, m.rules, m.public, m.v, m.at_ms,
                            m.first, m.second,
                        )
                    )  # fmt: skip
                case MatchFinished() as m:
                    self.finished.append((m.match, m.v, m.at_ms, m.plies, m.over.decode()))
                case Thought() as thought:
                    self.thoughts.append(
                        (thought.match, thought.v, thought.ply, thought.body.decode())
                    )
                case _:
                    assert_never(projection)


# --- SQLite ---------------------------------------------------------------------------------------


def _field(number: int, column: str) -> str:
    value = f"json_extract(value, '$[{number}]')"
    return f"CAST({value} AS BLOB)" if column in BLOBS else value


def _insert(table: str, rows: str, *columns: str) -> str:
    """An INSERT statement for the trigger; `rows` is the view's column that holds the rows."""
    fields = ", ".join(_field(number, column) for number, column in enumerate(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {fields} FROM json_each(NEW.{rows});"


def _update(table: str, rows: str, *columns: str, expecting: bool = False) -> str:
    """An UPDATE statement for the trigger.

    The rows hold an id, the expected head if `expecting`, and the columns.
    """
    names = ("id", *(["expected"] if expecting else []), *columns)
    fields = ", ".join(f"{_field(number, name)} AS {name}" for number, name in enumerate(names))
    sets = ", ".join(f"{column} = u.{column}" for column in columns)
    condition = f" AND {table}.head = u.expected" if expecting else ""
    return (
        f"UPDATE {table} SET {sets} FROM (SELECT {fields} FROM json_each(NEW.{rows})) AS u"
        f" WHERE {table}.id = u.id{condition};"
    )


#: Columns that hold bytes. Their values are text in the JSON rows.
BLOBS = {"body", "summary", "options", "seats", "over"}
#: The view's columns, each with the rows of one attribute of `GroupRows` as a JSON array.
COLUMNS = ("heads", "events", "commands", "listings", "matches", "finished", "thoughts")
#: The statements of the trigger. A head that has moved fails the whole insert.
STATEMENTS = (
    _update("rooms", "heads", "head", "due_ms", "node", expecting=True),
    "SELECT RAISE(ABORT, 'a head has moved') WHERE changes() <> json_array_length(NEW.heads);",
    _insert("events", "events", "room", "v", "at_ms", "audience", "body"),
    _insert("commands", "commands", "room", "identity", "id", "first_v", "last_v"),
    _update("rooms", "listings", "listed", "summary", "changed_ms"),
    _insert(
        "matches", "matches", "id", "room", "game", "number", "options", "seats", "start", "rules",
        "public", "first_v", "started_ms", "first", "second",
    ),
    _update("matches", "finished", "last_v", "finished_ms", "plies", "over"),
    _insert("thoughts", "thoughts", "match", "v", "ply", "body"),
)  # fmt: skip
CREATE_VIEW = "CREATE TEMP VIEW commits AS SELECT " + ", ".join(f"'' AS {c}" for c in COLUMNS)
CREATE_TRIGGER = (
    "CREATE TEMP TRIGGER write_commits INSTEAD OF INSERT ON commits"
    f" BEGIN {' '.join(STATEMENTS)} END"
)
INSERT_ROWS = f"INSERT INTO commits VALUES ({', '.join('?' * len(COLUMNS))})"
INSERT_ROOM = """
    INSERT INTO rooms (
        id, game, public, host, create_id, created_ms, head, node, due_ms,
        listed, summary, changed_ms
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, CAST('{}' AS BLOB), ?)
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
            append.room, new.game, new.public, new.host, new.create_id, new.created_ms,
            last.v, append.node, append.due_ms, last.at_ms,
        ),
    )  # fmt: skip
    if inserted.rowcount == 1:
        return None
    return str(connection.execute(FIND_ROOM, (new.host, new.create_id)).fetchone()[0])
