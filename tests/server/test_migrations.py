"""The migrations on SQLite and PostgreSQL, from every earlier revision, also while nodes run."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from click.testing import CliRunner
from sqlalchemy import Connection, MetaData, insert, text, update

from migrations.env_config import FOLDER
from server.deploy.postgres import PASSWORD, Postgres
from server.events import Occupant
from server.ops.admin import main
from server.store import schema
from server.store.base import RoomHead, Store, StoreUnavailable
from server.store.match_filter import MatchFilter, ResultFilter
from server.store.postgres import open_postgres, run_in_transaction
from server.store.tables import meta, metadata
from tests.support.databases import Database, bare_database, content, migrate
from tests.support.log_entries import entries, new_room
from tests.support.server_process import ServerProcess

T = TypeVar("T")
REVISIONS = [script.revision for script in ScriptDirectory(str(FOLDER)).walk_revisions()][::-1]
#: A row for each table of revision 0001. A later migration must fill the columns that it adds.
ROWS: dict[str, dict[str, Any]] = {
    "identities": {"id": "i", "name": "Ada", "token_hash": b"\x00\xff", "created_ms": 5},
    "rooms": {
        "id": "r1", "game": "sticks", "public": True, "host": "ada", "create_id": "c",
        "created_ms": 1, "head": 2, "node": "n", "due_ms": None,
        "listed": False, "summary": b"{}", "changed_ms": 9,
    },
    "events": {"room": "r1", "v": 1, "at_ms": 2**40, "audience": 1, "body": b'{"kind":"said"}'},
    "commands": {"room": "r1", "identity": "ada", "id": "c", "first_v": 1, "last_v": 2},
    "matches": {
        "id": "m", "room": "r1", "game": "sticks", "number": 1, "options": b"{}", "seats": b"[]",
        "start": "1-2-3", "rules": "digest", "public": True, "first_v": 1, "started_ms": 3,
        "last_v": None, "finished_ms": None, "plies": None, "over": None,
    },
    "thoughts": {"match": "m", "v": 2, "ply": 1, "body": b"{}"},
    "nodes": {"id": "n", "alive_until_ms": 7},
    "meta": {"key": "epoch", "value": "one"},
}  # fmt: skip
#: The values that later migrations put into those rows.
ADDED: dict[str, dict[str, Any]] = {
    "identities": {"seen_day": None, "sat": False},
    "rooms": {"seen_day": None, "taken_from": None},
    "matches": {"first": None, "second": None, "winner": None, "clock": None, "speed": None},
    "nodes": {"beat_ms": None},
}
#: The tables that later migrations create.
NEW_TABLES = ("analyses", "analysis_plies")
#: The revision before the one that added the players.
BEFORE_PLAYERS = "0003"
#: The statement with which versions of revision 0002 add a guest.
ADD_GUEST_0002 = (
    "INSERT INTO identities (id, name, token_hash, created_ms) VALUES (:id, 'Ada', :token_hash, 5)"
)
#: The statement with which versions of that revision start a match.
ADD_MATCH_0003 = (
    "INSERT INTO matches (id, room, game, number, options, seats, start, rules, public, first_v,"
    " started_ms) VALUES (:id, 'r1', 'sticks', 1, :options, :seats, '1-2-3', 'digest', true, 1, 3)"
)
#: The statement with which versions up to 0005 finish a match.
FINISH_MATCH_0005 = (
    "UPDATE matches SET last_v = 2, finished_ms = 9, plies = 7, over = :over WHERE id = :id"
)
OWN_RESULTS: tuple[ResultFilter, ...] = ("won", "lost", "drawn")


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    async with bare_database(request.param, request) as database:
        yield database


def fill(connection: Connection) -> None:
    """Inserts a row into each table."""
    tables = MetaData()
    tables.reflect(connection)
    for name, row in ROWS.items():
        connection.execute(insert(tables.tables[name]).values(row))


async def test_the_migrations_create_the_tables(database: Database) -> None:
    """The migrations create the schema of server/store/tables.py.

    They return the revisions before and after.
    """

    def differences(connection: Connection) -> Any:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    assert await database.run(migrate) == (None, schema.HEAD)
    assert await database.run(differences) == []
    assert await database.run(migrate) == (schema.HEAD, schema.HEAD)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_data_of_every_earlier_revision_is_migrated(
    database: Database, revision: str
) -> None:
    """Rows of every earlier revision are unchanged after the upgrade, and a store opens on them."""
    await database.run(lambda connection: schema.upgrade(connection, revision))
    await database.run(fill)
    assert await database.run(migrate) == (revision, schema.HEAD)
    after = await database.run(content)
    assert {"key": "epoch", "value": "one"} in after["meta"]
    rows: dict[str, Any] = {name: [row | ADDED.get(name, {})] for name, row in ROWS.items()}
    rows |= {name: [] for name in NEW_TABLES}
    assert after | {"meta": []} == rows | {"meta": []}
    async with database.open() as store:
        assert store.epoch == "one"
        assert [event.body for event in await store.logs.events("r1", 0)] == [b'{"kind":"said"}']


async def test_guests_of_earlier_revisions_who_sent_commands_are_kept(database: Database) -> None:
    """Revision 0003: only guests who created a room or sent a command to one count as `sat`."""
    await database.run(lambda connection: schema.upgrade(connection, "0002"))
    await database.run(fill)

    def add_guests(connection: Connection) -> None:
        for name in ("ada", "passer-by"):
            connection.execute(text(ADD_GUEST_0002), {"id": name, "token_hash": name.encode()})
        connection.execute(text("UPDATE rooms SET host = 'i'"))

    await database.run(add_guests)
    await database.run(migrate)
    sat = {row["id"]: row["sat"] for row in (await database.run(content))["identities"]}
    assert sat == {"ada": True, "i": True, "passer-by": False}


def add_match(match: str, *seats: Occupant) -> Callable[[Connection], None]:
    """Returns a change that starts a match as a program of revision 0003 does."""

    def add(connection: Connection) -> None:
        values = {"id": match, "options": b"{}", "seats": msgspec.json.encode(seats)}
        connection.execute(text(ADD_MATCH_0003), values)

    return add


#: The seats of three matches, and the players in the columns of revision 0004.
SEATED: dict[str, tuple[Occupant, Occupant]] = {
    "people": (Occupant("ada", 'A "da\\'), Occupant("ben", "Bén")),
    "level": (Occupant("ai", "AI level 4", "ai", 4), Occupant("ada", "Ada")),
    "persona": (Occupant("ada", "Ada"), Occupant("ai", "AI random", "ai", persona="random")),
}
PLAYERS = {"people": ("ada", "ben"), "level": ("ai:4", "ada"), "persona": ("ada", "ai:random")}
#: The results of these matches: ada won the first one, and the last one is drawn.
OVERS = {
    "people": b'{"winner":0,"how":"board","reason":"three in a row"}',
    "persona": b'{"winner":1,"how":"resign","reason":"Ada resigned"}',
    "level": b'{"winner":null,"how":"agreement","reason":"a draw"}',
}


def finish_match(match: str, over: bytes) -> Callable[[Connection], None]:
    """Returns a change that finishes a match as programs of revisions up to 0005 do."""

    def finish(connection: Connection) -> None:
        connection.execute(text(FINISH_MATCH_0005), {"id": match, "over": over})

    return finish


async def won_lost_drawn(store: Store, player: str) -> list[str]:
    """Returns the matches that a player won, then lost, then those that were drawn."""
    pages = [
        await store.projections.matches(9, None, MatchFilter(player=player, result=result))
        for result in OWN_RESULTS
    ]
    return [row.match for page in pages for row in page.rows]


def players(connection: Connection) -> dict[str, tuple[str, str]]:
    rows = connection.execute(text("SELECT id, first, second FROM matches"))
    return {row[0]: (row[1], row[2]) for row in rows}


async def test_the_players_of_earlier_matches_are_filled_in(database: Database) -> None:
    """Revision 0004 finds the players of every match in its seats."""
    await database.run(lambda connection: schema.upgrade(connection, BEFORE_PLAYERS))
    for match, seats in SEATED.items():
        await database.run(add_match(match, *seats))
    await database.run(migrate)
    assert await database.run(players) == PLAYERS


async def test_the_winners_of_earlier_matches_are_known(database: Database) -> None:
    """The matches that a program of revision 0005 finished are filtered by their results, from the
    first start after the migration on.
    """
    await database.run(lambda connection: schema.upgrade(connection, "0005"))
    for match, seats in SEATED.items():
        await database.run(add_match(match, *seats))
        await database.run(finish_match(match, OVERS[match]))
    assert await database.run(migrate) == ("0005", schema.HEAD)
    async with database.open() as store:
        await store.projections.fill_players(9)
        for count in (3, 0):
            assert await won_lost_drawn(store, "ada") == ["people", "persona", "level"]
            assert await store.projections.fill_winners(9) == count


async def test_migrations_can_be_reversed(database: Database) -> None:
    """Downgrading to nothing and upgrading again gives the same schema."""

    def down(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(FOLDER))
        config.attributes["connection"] = connection
        command.downgrade(config, "base")

    def describe(connection: Connection) -> Any:
        tables = MetaData()
        tables.reflect(connection)
        return {
            name: [re.sub(r" object at 0x\w+", "", repr(column)) for column in table.columns]
            for name, table in tables.tables.items()
        }

    await database.run(migrate)
    before = await database.run(describe)
    await database.run(down)
    assert set(await database.run(describe)) == {"alembic_version"}
    await database.run(migrate)
    assert await database.run(describe) == before


async def test_concurrent_migrations_run_one_after_the_other(postgres: Postgres) -> None:
    """Of several concurrent migrations one does the work; the others find the new schema."""
    async with postgres.bare_database() as name:
        url = postgres.url(name)
        done = await asyncio.gather(*(run_in_transaction(url, migrate) for _ in range(4)))
        assert sorted(done, key=str) == [(schema.HEAD, schema.HEAD)] * 3 + [(None, schema.HEAD)]


# --- versions and schemas -------------------------------------------------------------------------


def set_revision(revision: str, needs: str | None) -> Callable[[Connection], None]:
    """Returns a change that sets the revision and the oldest compatible one, as a later version
    would.
    """

    def change(connection: Connection) -> None:
        connection.execute(text("UPDATE alembic_version SET version_num = :new"), {"new": revision})
        if needs is not None:
            connection.execute(update(meta).where(meta.c.key == schema.NEEDS).values(value=needs))

    return change


async def test_a_compatible_newer_schema_is_used(database: Database) -> None:
    """This version runs on a newer schema that allows it, and leaves the schema unchanged."""
    await database.run(migrate)
    await database.run(set_revision("0999", schema.HEAD))
    async with database.open() as store:
        await store.logs.create_room(new_room("r1"))
        assert await store.logs.events("r1", 0) == list(entries(1, 2))
    assert await database.run(schema.revision_of) == "0999"
    assert await database.run(migrate) == ("0999", "0999")


async def test_an_incompatible_newer_schema_is_refused(database: Database) -> None:
    """The server and `plyroom migrate` refuse a newer schema that does not allow this version."""
    await database.run(migrate)
    await database.run(set_revision("0999", "0999"))
    refusal = rf"newer Plyroom .*0999.*this one is of {schema.HEAD}.*backup"
    with pytest.raises(StoreUnavailable, match=refusal):
        async with database.open():
            raise AssertionError("it was opened")
    with pytest.raises(StoreUnavailable, match=refusal):
        await database.run(migrate)


@pytest.mark.parametrize(("previous", "unfilled"), [("0003", 2), ("0004", 3), ("0005", 3)])
async def test_an_older_program_runs_during_the_migration(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, previous: str, unfilled: int
) -> None:
    """A store of an earlier revision keeps reading and writing during and after `migrate`.

    The newer version reads the rooms and matches that the older one writes. It fills in the players
    of these matches. It finds who won them, before and after it has filled in the winners.
    """
    async with postgres.bare_database() as name:
        url = postgres.url(name)
        await run_in_transaction(url, lambda connection: schema.upgrade(connection, previous))
        monkeypatch.setattr(schema, "MIN_REVISION", previous)
        async with open_postgres(url) as older:
            monkeypatch.undo()
            await older.logs.create_room(new_room("r1"))
            await run_in_transaction(url, add_match("people", *SEATED["people"]))
            assert await run_in_transaction(url, migrate) == (previous, schema.HEAD)
            await older.logs.create_room(new_room("r2"))
            for match in ("level", "persona"):
                await run_in_transaction(url, add_match(match, *SEATED[match]))
            async with open_postgres(url) as newer:
                assert newer.epoch == older.epoch
                assert await newer.logs.head("r2") == RoomHead(2, "n1", None, None)
                assert await newer.logs.heads(["r1", "r2"]) == {"r1": 2, "r2": 2}
                assert [await newer.projections.fill_players(limit) for limit in (1, 9, 9)] == [
                    1,
                    unfilled - 1,
                    0,
                ]
                assert await run_in_transaction(url, players) == PLAYERS
                own = await newer.projections.player_matches("ada", 9, 9)
                assert {match.match for match in own} == set(SEATED)
                for match, over in OVERS.items():
                    await run_in_transaction(url, finish_match(match, over))
                for count in (3, 0):
                    assert await won_lost_drawn(newer, "ada") == ["people", "persona", "level"]
                    assert await newer.projections.fill_winners(9) == count


def test_an_unusable_schema_is_reported() -> None:
    """The message about a schema that is too old, too new or missing says what to do."""
    schema.check_revision(schema.HEAD, None, "here")
    schema.check_revision("0999", schema.MIN_REVISION, "here")
    for revision, needs, words in (
        (None, None, "plyroom migrate"), ("0000", None, "plyroom migrate"),
        ("0999", None, "newer Plyroom"),
        ("0999", "0998", "newer Plyroom"),
    ):  # fmt: skip
        with pytest.raises(StoreUnavailable, match=f"database here .*{words}"):
            schema.check_revision(revision, needs, "here")


# --- the commands ---------------------------------------------------------------------------------


async def test_a_server_on_an_empty_database(postgres: Postgres, tmp_path: Path) -> None:
    """`plyroom serve` on an empty database exits with 1 and names the command that creates tables.

    That command works. Neither prints a secret.
    """
    async with postgres.bare_database() as name:
        url = postgres.url(name)
        server = ServerProcess(tmp_path / "data", database=url)
        assert await server.start_and_wait() == 1
        assert "plyroom migrate" in server.errors
        migrated = await asyncio.to_thread(
            CliRunner().invoke, main, ["migrate"], env={"PLYROOM_DATABASE": url}
        )
        assert (migrated.exit_code, migrated.stderr) == (0, "")
        assert migrated.stdout.endswith(f"is at {schema.HEAD} now (before: no tables).\n")
        assert PASSWORD not in server.errors + migrated.output
