"""Records what clients received and compares it with the server's log (docs: reliability)."""

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
from server.deploy.postgres import Postgres
from server.protocol.messages import (
    AnyEvent,
    Created,
    Finished,
    Hidden,
    Move,
    Moved,
    RoomCommand,
    Started,
)
from tests.oracle.referee import IllegalMove, Referee, referee

#: The file name of the database in a data folder.
DATABASE = "plyroom.sqlite3"

_event: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


@dataclass(frozen=True, slots=True)
class RoomLog:
    """One room in the database: its head, its events by v, and the v range of each command key."""

    room: str
    head: int
    due: bool
    events: dict[int, AnyEvent]
    commands: dict[tuple[str, str], tuple[int, int]]


HEADS = "SELECT id, head, due_ms IS NOT NULL FROM rooms"
EVENTS = "SELECT room, v, body FROM events ORDER BY room, v"
COMMANDS = "SELECT room, identity, id, first_v, last_v FROM commands"


def read_logs(data: Path) -> dict[str, RoomLog]:
    """Reads all rooms of a data folder, whether its server runs or not."""
    with closing(sqlite3.connect(data / DATABASE, timeout=10)) as database:
        database.execute("BEGIN")
        return _logs(*(database.execute(query).fetchall() for query in (HEADS, EVENTS, COMMANDS)))


async def read_postgres_logs(postgres: Postgres, database: str) -> dict[str, RoomLog]:
    """Reads all rooms of a PostgreSQL database."""
    async with (
        postgres.session(database) as session,
        session.transaction(isolation="repeatable_read"),
    ):
        return _logs(*[await session.fetch(query) for query in (HEADS, EVENTS, COMMANDS)])


def _logs(heads: Iterable[Any], entries: Iterable[Any], keys: Iterable[Any]) -> dict[str, RoomLog]:
    events: dict[str, dict[int, AnyEvent]] = defaultdict(dict)
    for room, v, body in entries:
        events[room][v] = _event.decode(body)
    commands: dict[str, dict[tuple[str, str], tuple[int, int]]] = defaultdict(dict)
    for room, identity, key, first, last in keys:
        commands[room][identity, key] = (first, last)
    return {
        room: RoomLog(room, head, bool(due), events[room], commands[room])
        for room, head, due in heads
    }


@dataclass(frozen=True, slots=True)
class Acked:
    """A command that the server acknowledged to an identity, with the v of the ack."""

    identity: str
    command: RoomCommand
    v: int | None


@dataclass(slots=True)
class Journal:
    """Everything that the clients of a test received."""

    acks: list[Acked] = field(default_factory=list)
    refused: list[tuple[str, RoomCommand, str]] = field(default_factory=list)
    #: Events, and the v of snapshots among them, by room and client.
    seen: dict[tuple[str, str], list[LoggedEvent | int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _waiting: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)

    def acked(self, identity: str, command: RoomCommand, v: int | None) -> None:
        self.acks.append(Acked(identity, command, v))
        for wanted, future in self._waiting:
            if len(self.acks) >= wanted and not future.done():
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

    def violations(self, logs: dict[str, RoomLog]) -> list[str]:
        """The differences between the logs and what clients received; empty when all is well."""
        found = [wrong for log in logs.values() for wrong in _log_violations(log)]
        for ack in self.acks:
            found += _ack_violations(ack, logs.get(ack.command.room))
        for identity, command, code in self.refused:
            log = logs.get(command.room)
            if log is not None and (identity, command.id) in log.commands:
                found.append(f"{command} was refused with {code}, and is in the log")
        for (room, client), messages in self.seen.items():
            found += [
                f"{client} in {room}: {wrong}"
                for wrong in _seen_violations(messages, logs.get(room))
            ]
        return found


def _log_violations(log: RoomLog) -> list[str]:
    """Checks that v counts 1, 2, 3, … and that each match follows the rules to one end."""
    found: list[str] = []
    if sorted(log.events) != list(range(1, log.head + 1)):
        found.append(f"{log.room}: the head is {log.head}, the events are {sorted(log.events)}")
        return found
    created = log.events[1]
    if not isinstance(created, Created):
        return [f"{log.room}: the log starts with {created}"]
    current: Referee | None = None
    match, ply = "", 0
    for v, event in sorted(log.events.items()):
        where = f"{log.room} v {v}"
        if isinstance(event, Started):
            if current is not None:
                found.append(f"{where}: a match began before the one before it was over")
            current, match, ply = referee(created.game, created.options), event.match, 0
        elif isinstance(event, Moved):
            if current is None or (event.match, event.ply, event.seat) != (
                match,
                ply,
                current.turn,
            ):
                return [*found, f"{where}: {event} where ply {ply} of {match} was to come"]
            try:
                current.play(event.move)
            except IllegalMove as error:
                return [*found, f"{where}: {error}"]
            ply += 1
        elif isinstance(event, Finished):
            if current is None or event.match != match:
                return [*found, f"{where}: {event}, but no such match was running"]
            on_board = event.how == "board"
            if on_board != current.over or (on_board and event.winner != current.winner):
                found.append(f"{where}: {event}, but the referee says otherwise")
            current = None
    return found


def _ack_violations(ack: Acked, log: RoomLog | None) -> list[str]:
    if log is None:
        return [f"{ack}: there is no such room"]
    made = log.commands.get((ack.identity, ack.command.id))
    if made is None or made[1] != ack.v:
        return [f"{ack}: the log has {made} for it"]
    if isinstance(ack.command, Move):
        event = log.events.get(made[0])
        if not isinstance(event, Moved) or (event.ply, event.move) != (
            ack.command.ply,
            ack.command.move,
        ):
            return [f"{ack}: the log has {event} for it"]
    return []


def _seen_violations(messages: list[LoggedEvent | int], log: RoomLog | None) -> list[str]:
    """Checks that a client saw each event once, in order, as in the log; a snapshot may jump."""
    if log is None:
        return ["there is no such room"]
    found: list[str] = []
    v = 0
    for message in messages:
        if isinstance(message, int):
            if message < v:
                found.append(f"a snapshot of v {message} after v {v}")
            v = message
            continue
        if message.v != v + 1:
            found.append(f"v {message.v} came after v {v}")
        v = message.v
        if message.event != log.events.get(v) and not isinstance(message.event, Hidden):
            found.append(f"saw {message}, the log has {log.events.get(v)}")
    return found
