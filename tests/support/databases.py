"""SQLite and PostgreSQL databases behind one interface, and matches that fill a store."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from msgspec.structs import replace
from sqlalchemy import Connection, select

from server.commands import (
    Accept,
    AddTime,
    AiSeat,
    MySeat,
    NextGame,
    OpenSeat,
    Rematch,
    Resign,
    Takeback,
)
from server.deploy.postgres import Postgres
from server.ids import IdentityId
from server.protocol import messages as wire
from server.store import schema
from server.store.base import AnalysedPly
from server.store.postgres import open_postgres, run_in_transaction
from server.store.sql import SqlStore
from server.store.sqlite import open_sqlite
from server.store.tables import metadata
from tests.support.fake_server import Client, FakeServer
from tests.support.log_entries import new_database

T = TypeVar("T")
#: The kinds of databases.
KINDS = ["sqlite", "postgres"]


class Database(Protocol):
    """A database that starts without content."""

    async def run(self, work: Callable[[Connection], T], snapshot: bool = False) -> T:
        """Runs a function in a transaction, as the operator's commands do."""

    def open(self) -> AbstractAsyncContextManager[SqlStore]:
        """Opens the store in the database."""


class SqliteDatabase:
    """A database in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def run(self, work: Callable[[Connection], T], snapshot: bool = False) -> T:
        def in_thread() -> T:
            with schema.sqlite_engine(
                self.path, "BEGIN" if snapshot else "BEGIN IMMEDIATE"
            ).begin() as connection:
                return work(connection)

        return await asyncio.to_thread(in_thread)

    def open(self) -> AbstractAsyncContextManager[SqlStore]:
        return open_sqlite(self.path)


class PostgresDatabase:
    """A database on a PostgreSQL server."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def run(self, work: Callable[[Connection], T], snapshot: bool = False) -> T:
        return await run_in_transaction(self.url, work, snapshot)

    def open(self) -> AbstractAsyncContextManager[SqlStore]:
        return open_postgres(self.url)


@asynccontextmanager
async def bare_database(
    kind: str, request: pytest.FixtureRequest, name: str = "store"
) -> AsyncIterator[Database]:
    """Opens a database of this kind without tables."""
    if kind == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        yield SqliteDatabase(folder / f"{name}.sqlite3")
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        async with postgres.bare_database() as database:
            yield PostgresDatabase(postgres.url(database))


@asynccontextmanager
async def empty_database(
    kind: str, request: pytest.FixtureRequest, name: str = "store"
) -> AsyncIterator[Database]:
    """Opens a database of this kind with our tables and no rows."""
    if kind == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        path = new_database(folder)
        yield SqliteDatabase(path.rename(folder / f"{name}.sqlite3"))
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        async with postgres.database() as database:
            yield PostgresDatabase(postgres.url(database))


def migrate(connection: Connection) -> tuple[str | None, str]:
    """Migrates the schema as `plyroom migrate` does."""
    return schema.migrate(connection, "here")


def content(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Returns all rows of all tables, in the order of their keys."""
    return {
        name: sorted(
            (dict(row._mapping) for row in connection.execute(select(table))),
            key=lambda row: [str(row[column.name]) for column in table.primary_key.columns],
        )
        for name, table in metadata.tables.items()
    }


async def play_matches(store: SqlStore) -> list[str]:
    """Plays matches in nine rooms and returns the ids of the rooms.

    They are: a finished match and its rematch, an unlisted room with chat among spectators, a match
    in progress, a room that waits for an opponent, a match against the AI, one in which moves of
    the AI were taken back, one on one screen from a start position, with a takeback, a match with
    another game after it, and one with a clock that is running.
    """
    fake = FakeServer(store=store)
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        open_seat = (MySeat(), OpenSeat())
        full = await ada.create("tic-tac-toe", seats=open_seat)
        await ben.ack(ben.sit(full, 1))
        for ply, move in enumerate(["a1", "b1", "a2", "b2", "a3"]):
            await (ada, ben)[ply % 2].ack((ada, ben)[ply % 2].move(full, ply, move))
        for client in (ada, ben):
            await client.ack(client.plain(Rematch, full))
        unlisted = await ada.create(
            "sticks", seats=open_seat, visibility="unlisted", options={"rows": "1-2-3"}
        )
        await ben.ack(ben.join(unlisted))
        await ben.ack(ben.chat(unlisted, "psst 🎲", "spectators"))
        await ben.ack(ben.sit(unlisted, 1))
        await ben.ack(ben.plain(Resign, unlisted))
        half = await ben.create("connect-four", seats=open_seat)
        await ada.ack(ada.sit(half, 1))
        await ben.ack(ben.move(half, 0, "d"))
        waiting = await ada.create("tic-tac-toe", seats=open_seat)
        against_ai = await ada.create(
            "sticks", seats=(MySeat(), AiSeat(1)), options={"rows": "1-2-3"}
        )
        await ada.ack(ada.join(against_ai))
        await ada.ack(
            ada.move(against_ai, 0, (await ada.until(lambda m: m["t"] == "turn"))["moves"][0]["id"])
        )
        await ada.until(
            lambda m: m["t"] == "event" and m["room"] == against_ai and m.get("ply") == 1
        )
        taken_back = await ada.create("tic-tac-toe", seats=(MySeat(), AiSeat(1)))
        await ada.ack(ada.join(taken_back))
        for move in ("a1", "b2"):
            since = len(ada.messages)
            await ada.ack(ada.move(taken_back, 0, move))
            await ada.until(lambda m: m["t"] == "turn" and m["room"] == taken_back, since)
            if move == "a1":
                await ada.ack(wire.CommandFrame(taken_back, Takeback(id=ada.new_id(), ply=2)))
        one_screen = await ada.create("tic-tac-toe", one_screen=True, start="X........")
        await ada.ack(ada.move(one_screen, 0, "b2"))
        await ada.ack(wire.CommandFrame(one_screen, Takeback(id=ada.new_id(), ply=1)))
        evening = await ada.create("tic-tac-toe", seats=open_seat)
        await ben.ack(ben.sit(evening, 1))
        await ben.ack(ben.plain(Resign, evening))
        proposal = NextGame(ada.new_id(), "sticks", {"rows": "1-2-3"})
        offered = await ada.ack(wire.CommandFrame(evening, proposal))
        accept = Accept(ben.new_id(), "next", v=offered)
        await ben.ack(wire.CommandFrame(evening, accept))
        await ben.ack(ben.move(evening, 0, "1x1"))
        timed = await ada.create("tic-tac-toe", seats=open_seat, clock="60+5+2x10")
        await ben.ack(ben.sit(timed, 1))
        for ply, move in enumerate(["a1", "b1", "a2"]):
            await (ada, ben)[ply % 2].ack((ada, ben)[ply % 2].move(timed, ply, move))
        await ada.ack(wire.CommandFrame(timed, Takeback(ada.new_id(), 3)))
        await ben.ack(wire.CommandFrame(timed, Accept(ben.new_id(), "takeback")))
        await ben.ack(ben.plain(AddTime, timed))
        await ada.ack(ada.move(timed, 2, "b2"))
        await _analyse_a_match(store)
        return [full, unlisted, half, waiting, against_ai, taken_back, one_screen, evening, timed]


async def _analyse_a_match(store: SqlStore) -> None:
    """Stores a complete analysis of the match that ended on the board."""
    page = await store.projections.matches(10, None)
    match = next(match for match in page.rows if (match.game, match.plies) == ("tic-tac-toe", 5))
    await store.analyses.request(match.match, IdentityId("ada"), 6)
    analysis = await store.analyses.claim("n1", 60_000, 1)
    assert analysis is not None
    await store.analyses.begin(analysis, "engine", 6)
    analysis = replace(analysis, engine="engine")
    for ply in reversed(range(6)):
        await store.analyses.add_ply(analysis, AnalysedPly(ply, b'{"depth":%d}' % ply), 60_000)
    assert await store.analyses.end(analysis, "done")
