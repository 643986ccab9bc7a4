"""Records what clients received, and compares it with the server's logs."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from client.messages import LoggedEvent
from server.commands import Move
from server.deploy.postgres import Postgres
from server.events import AnyEvent, Created, Finished, Hidden, Moved, Started
from server.protocol.messages import CommandFrame
from tests.oracle.referee import IllegalMove, Referee, new_referee

#: The file name of the database in a data folder.
DATABASE = "plyroom.sqlite3"

_event_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


@dataclass(frozen=True, slots=True)
class StoredLog:
    """A room in the database: its head, whether a wake-up is set, its events by v, and the v range
    of each command key.
    """

    room: str
    head: int
    is_due: bool
    events: dict[int, AnyEvent]
    commands: dict[tuple[str, str], tuple[int, int]]


#: All rooms of a database.
HEADS_QUERY = "SELECT id, head, due_ms IS NOT NULL FROM rooms"
#: The events of all rooms.
EVENTS_QUERY = "SELECT room, v, body FROM events ORDER BY room, v"
#: The command keys of all rooms, each with the v range of its events.
COMMANDS_QUERY = "SELECT room, identity, id, first_v, last_v FROM commands"
QUERIES = (HEADS_QUERY, EVENTS_QUERY, COMMANDS_QUERY)


def read_logs(data: Path) -> dict[str, StoredLog]:
    """Reads the logs of all rooms in a data folder; a server may be running on it."""
    with closing(sqlite3.connect(data / DATABASE, timeout=10)) as database:
        database.execute("BEGIN")
        return _logs(*(database.execute(query).fetchall() for query in QUERIES))


async def read_postgres_logs(postgres: Postgres, database: str) -> dict[str, StoredLog]:
    """Reads the logs of all rooms in a PostgreSQL database."""
    async with (
        postgres.session(database) as session,
        session.transaction(isolation="repeatable_read"),
    ):
        return _logs(*[await session.fetch(query) for query in QUERIES])


def _logs(
    heads: Iterable[Any], entries: Iterable[Any], keys: Iterable[Any]
) -> dict[str, StoredLog]:
    """Returns the logs by room, from the rows of the three queries."""
    events: dict[str, dict[int, AnyEvent]] = defaultdict(dict)
    for room, v, body in entries:
        events[room][v] = _event_decoder.decode(body)
    commands: dict[str, dict[tuple[str, str], tuple[int, int]]] = defaultdict(dict)
    for room, identity, key, first, last in keys:
        commands[room][identity, key] = (first, last)
    return {
        room: StoredLog(room, head, bool(due), events[room], commands[room])
        for room, head, due in heads
    }


@dataclass(frozen=True, slots=True)
class Acked:
    """A command that the server acknowledged to an identity, with the v of the ack."""

    identity: str
    frame: CommandFrame
    v: int | None


@dataclass(slots=True)
class Journal:
    """Everything that the clients of a test received."""

    acks: list[Acked] = field(default_factory=list)
    refused: list[tuple[str, CommandFrame, str]] = field(default_factory=list)
    #: By room and client: the events in order of arrival, and the v of each snapshot among them.
    seen: dict[tuple[str, str], list[LoggedEvent | int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _waiting: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)

    def record_ack(self, identity: str, frame: CommandFrame, v: int | None) -> None:
        """Records an ack and wakes the tasks that wait for it."""
        self.acks.append(Acked(identity, frame, v))
        for count, future in self._waiting:
            if len(self.acks) >= count and not future.done():
                future.set_result(None)

    async def wait_for_acks(self, count: int) -> None:
        """Returns after `count` more commands have been acknowledged."""
        future = asyncio.get_running_loop().create_future()
        entry = (len(self.acks) + count, future)
        self._waiting.append(entry)
        try:
            await future
        finally:
            self._waiting.remove(entry)

    def violations(self, logs: dict[str, StoredLog]) -> list[str]:
        """Returns the violations in the logs and in the received messages."""
        violations = [text for log in logs.values() for text in _log_violations(log)]
        for ack in self.acks:
            violations += _ack_violations(ack, logs.get(ack.frame.room))
        for identity, frame, code in self.refused:
            log = logs.get(frame.room)
            if log is not None and (identity, frame.id) in log.commands:
                violations.append(f"{frame} was refused with {code}, and is in the log")
        for (room, client), messages in self.seen.items():
            violations += [
                f"{client} in {room}: {text}" for text in _seen_violations(messages, logs.get(room))
            ]
        return violations


def _log_violations(log: StoredLog) -> list[str]:
    """Checks that v counts 1, 2, 3, … and that each match follows the rules to one end."""
    violations: list[str] = []
    if sorted(log.events) != list(range(1, log.head + 1)):
        violations.append(
            f"{log.room}: the head is {log.head}, the events are {sorted(log.events)}"
        )
        return violations
    created = log.events[1]
    if not isinstance(created, Created):
        return [f"{log.room}: the log starts with {created}"]
    running: Referee | None = None
    match, ply = "", 0
    for v, event in sorted(log.events.items()):
        where = f"{log.room} v {v}"
        if isinstance(event, Started):
            if running is not None:
                violations.append(f"{where}: a match started before the previous one was over")
            running, match, ply = new_referee(created.game, created.options), event.match, 0
        elif isinstance(event, Moved):
            if running is None or (event.match, event.ply, event.seat) != (
                match,
                ply,
                running.turn,
            ):
                return [*violations, f"{where}: {event} where ply {ply} of {match} was expected"]
            try:
                running.play(event.move)
            except IllegalMove as error:
                return [*violations, f"{where}: {error}"]
            ply += 1
        elif isinstance(event, Finished):
            if running is None or event.match != match:
                return [*violations, f"{where}: {event}, but no such match was running"]
            on_board = event.how == "board"
            if on_board != running.over or (on_board and event.winner != running.winner):
                violations.append(f"{where}: {event}, but the referee has another result")
            running = None
    return violations


def _ack_violations(ack: Acked, log: StoredLog | None) -> list[str]:
    """Checks that an acknowledged command is in the log at the v of its ack."""
    if log is None:
        return [f"{ack}: there is no such room"]
    v_range = log.commands.get((ack.identity, ack.frame.id))
    if v_range is None or v_range[1] != ack.v:
        return [f"{ack}: the log has {v_range} for it"]
    command = ack.frame.command
    if isinstance(command, Move):
        event = log.events.get(v_range[0])
        if not isinstance(event, Moved) or (event.ply, event.move) != (command.ply, command.move):
            return [f"{ack}: the log has {event} for it"]
    return []


def _seen_violations(messages: list[LoggedEvent | int], log: StoredLog | None) -> list[str]:
    """Checks that a client saw each event once, in order, as in the log; a snapshot may jump."""
    if log is None:
        return ["there is no such room"]
    violations: list[str] = []
    v = 0
    for message in messages:
        if isinstance(message, int):
            if message < v:
                violations.append(f"a snapshot of v {message} after v {v}")
            v = message
            continue
        if message.v != v + 1:
            violations.append(f"v {message.v} came after v {v}")
        v = message.v
        if message.event != log.events.get(v) and not isinstance(message.event, Hidden):
            violations.append(f"saw {message}, the log has {log.events.get(v)}")
    return violations
