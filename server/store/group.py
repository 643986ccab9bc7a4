"""The rows of a group commit, by table, and the commit on SQLite.

One statement inserts or updates all rows of a table, which it receives as one JSON text. With one
statement per row, sqlite3 releases the interpreter lock at every row, and getting it back beside a
busy event loop takes a switch interval each time: with 50 matches running, a move waited 18 ms.
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
    """The rows of a group, by the statement that writes them.

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


def _insert(table: str, *columns: str) -> str:
    fields = ", ".join(_field(number, column) for number, column in enumerate(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {fields} FROM json_each(?)"


def _update(table: str, *columns: str, expecting: bool = False) -> str:
    """An UPDATE statement for rows of an id, the expected head if `expecting`, and the columns."""
    names = ("id", *(["expected"] if expecting else []), *columns)
    fields = ", ".join(f"{_field(number, name)} AS {name}" for number, name in enumerate(names))
    sets = ", ".join(f"{column} = u.{column}" for column in columns)
    condition = f" AND {table}.head = u.expected" if expecting else ""
    return (
        f"UPDATE {table} SET {sets} FROM (SELECT {fields} FROM json_each(?)) AS u"
        f" WHERE {table}.id = u.id{condition}"
    )


#: Columns that hold bytes. Their values are text in the JSON rows.
BLOBS = {"body", "summary", "options", "seats", "over"}
MOVE_HEADS = _update("rooms", "head", "due_ms", "node", expecting=True)
INSERT_EVENTS = _insert("events", "room", "v", "at_ms", "audience", "body")
INSERT_COMMANDS = _insert("commands", "room", "identity", "id", "first_v", "last_v")
LIST_ROOMS = _update("rooms", "listed", "summary", "changed_ms")
INSERT_MATCHES = _insert(
    "matches", "id", "room", "game", "number", "options", "seats", "start", "rules", "public",
    "first_v", "started_ms",
)  # fmt: skip
FINISH_MATCHES = _update("matches", "last_v", "finished_ms", "plies", "over")
INSERT_THOUGHTS = _insert("thoughts", "match", "v", "ply", "body")
INSERT_ROOM = """
    INSERT INTO rooms (
        id, game, public, host, create_id, created_ms, head, node, due_ms,
        listed, summary, changed_ms
    )
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, CAST('{}' AS BLOB), ?)
    ON CONFLICT (host, create_id) DO NOTHING"""
FIND_ROOM = "SELECT id FROM rooms WHERE host = ? AND create_id = ?"


def commit_on_sqlite(connection: sqlite3.Connection, ops: list[Op]) -> list[Outcome]:
    """Commits a group; returns each operation's outcome.

    When it raises sqlite3.Error or Contended, nothing of the group is written.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        outcomes = _write(connection, ops)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _write(connection: sqlite3.Connection, ops: list[Op]) -> list[Outcome]:
    rows = GroupRows()
    outcomes: list[Outcome] = []
    for op in ops:
        outcome = _insert_room(connection, op) if isinstance(op, NewRoom) else None
        outcomes.append(outcome)
        if isinstance(op, Append):
            rows.move_head(op)
            rows.add(op)
        elif outcome is None:
            rows.add(op.append)
    if rows.heads and _run(connection, MOVE_HEADS, rows.heads) != len(rows.heads):
        raise Contended
    for statement, values in (
        (INSERT_EVENTS, rows.events),
        (INSERT_COMMANDS, rows.commands),
        (LIST_ROOMS, rows.listings),
        (INSERT_MATCHES, rows.matches),
        (FINISH_MATCHES, rows.finished),
        (INSERT_THOUGHTS, rows.thoughts),
    ):
        if values:
            _run(connection, statement, values)
    return outcomes


def _insert_room(connection: sqlite3.Connection, new: NewRoom) -> str | None:
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


def _run(connection: sqlite3.Connection, statement: str, rows: list[Row]) -> int:
    """Runs a statement over its rows; returns the number of table rows that it changed."""
    return connection.execute(statement, (_encode(rows).decode(),)).rowcount
