"""`plyroom verify` finds planted problems in a store, and none in a correct one."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from engine.game import Game
from engine.rules.registry import load_game
from server.commands import Decline, MySeat, OpenSeat, Rematch, Resign
from server.ops.verify import Report, verify
from server.protocol import messages as wire
from server.rooms.names import shown_name
from tests.support.databases import KINDS, Database, SqliteDatabase, empty_database, play_matches
from tests.support.fake_server import Client, FakeServer


async def check(database: Database) -> Report:
    return await database.run(
        lambda connection: verify(connection, load_game, lambda done, total: None), snapshot=True
    )


@pytest.mark.parametrize("kind", KINDS)
async def test_a_sound_store_has_no_problem(kind: str, request: pytest.FixtureRequest) -> None:
    """A correct store has no problem. Its rooms have finished, running, AI and unlisted matches,
    matches with takebacks, or none.
    """
    async with empty_database(kind, request) as database:
        async with database.open() as store:
            rooms = await play_matches(store)
        report = await check(database)
        assert report.problems == []
        assert (report.rooms, report.moves, report.unjudged) == (len(rooms), 18, 0)
        assert report.events == 69


#: Statements that damage a store, each with the invariant and the text of the problem.
FAULTS = {
    # A gap, a wrong head, a time before its predecessor's.
    "DELETE FROM events WHERE room = '{full}' AND v = 4": ("I3", "no entry 4"),
    "DELETE FROM events WHERE room = '{full}' AND v = 1": ("I3", "no entry 1"),
    "UPDATE rooms SET head = head + 1 WHERE id = '{full}'": ("I3", "the head is"),
    "DELETE FROM events WHERE room = '{full}' AND v > 8": ("I3", "the head is"),
    "UPDATE events SET at_ms = at_ms - 100000 WHERE room = '{full}' AND v = 7": (
        "I3",
        "time is before",
    ),
    # Moves that are illegal, of the wrong seat, or with another position; a wrong result.
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"move":"a2"', '"move":"b1"')
       WHERE room = '{full}'""": ("I9", "is illegal"),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"move":"b2"', '"move":"c2"')
       WHERE room = '{full}'""": ("I9", "another position"),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"ply":2,"seat":0', '"ply":2,"seat":1')
       WHERE room = '{full}'""": ("I9", "turn of seat 0"),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"winner":0', '"winner":1')
       WHERE room = '{full}'""": ("I11", "does not say so"),
    # Takebacks to another ply or position.
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"to_ply":0', '"to_ply":1')
       WHERE room = '{taken_back}'""": ("I18", "another position"),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"to_ply":0', '"to_ply":2')
       WHERE room = '{taken_back}'""": ("I18", "nothing can be taken back"),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"match":"', '"match":"other')
       WHERE room = '{one_screen}' AND instr(CAST(body AS TEXT), 'took_back') > 0""": (
        "I18",
        "nothing can be taken back",
    ),
    # Entries that cannot be parsed.
    """UPDATE events SET body = CAST('{{"kind":7}}' AS BLOB)
       WHERE room = '{full}' AND v = 5""": ("I8", "cannot be read"),
    "UPDATE events SET audience = 1 WHERE room = '{full}' AND v = 5": (
        "I8",
        "differs from what this version writes",
    ),
    # Command keys that are out of range, cover another's events, or are missing.
    "UPDATE commands SET last_v = 99 WHERE room = '{full}' AND first_v > 3": (
        "I1",
        "not in the log",
    ),
    "UPDATE commands SET first_v = first_v - 1 WHERE room = '{full}' AND first_v > 3": (
        "I1",
        "another command made",
    ),
    "DELETE FROM commands WHERE room = '{full}' AND first_v = 5": (
        "I1",
        "no command made v 5 to 5",
    ),
    # Rows outside the log.
    "UPDATE rooms SET listed = NOT listed WHERE id = '{waiting}'": (
        "I8",
        "listed of the room's row",
    ),
    """UPDATE rooms SET summary = replace(CAST(summary AS TEXT), 'open', 'finished')
       WHERE id = '{waiting}'""": ("I8", "entry in the lobby"),
    **{
        f"""UPDATE rooms SET summary = replace(CAST(summary AS TEXT), '"open"', '"open",{field}')
            WHERE id = '{{waiting}}'""": ("I8", "entry in the lobby")
        for field in ('"speed":"blitz"', '"offers":[{{"seat":0,"what":"rematch"}}]')
    },
    "UPDATE rooms SET host = 'mallory' WHERE id = '{waiting}'": ("I8", "host of the room's row"),
    "UPDATE rooms SET due_ms = 5 WHERE id = '{waiting}'": ("I8", "due_ms of the room's row"),
    "UPDATE matches SET plies = plies + 1 WHERE room = '{full}' AND plies > 0": (
        "I8",
        "plies of match",
    ),
    "UPDATE matches SET winner = 1 WHERE room = '{full}' AND plies > 0": ("I8", "winner of match"),
    "UPDATE matches SET first = NULL WHERE room = '{full}'": ("I8", "second of match"),
    "UPDATE matches SET over = NULL WHERE room = '{full}' AND plies > 0": ("I8", "over of match"),
    "DELETE FROM matches WHERE room = '{half}'": ("I8", "not in the list of matches"),
    "UPDATE matches SET room = '{waiting}' WHERE room = '{half}'": (
        "I8",
        "is listed but not in the log",
    ),
    "UPDATE thoughts SET ply = ply + 1": ("I8", "there is no such move"),
    # Analyses.
    "DELETE FROM analysis_plies WHERE ply = 3": ("I32", "has 5 of 6 positions"),
    "UPDATE analysis_plies SET engine = 'other'": ("I32", "has 0 of 6 positions"),
    "UPDATE matches SET last_v = NULL WHERE room = '{full}' AND plies > 0": (
        "I32",
        "has an analysis",
    ),
    "UPDATE analyses SET \"match\" = 'none'": ("I3", "an analysis of a match that does not"),
    "DELETE FROM analyses": ("I3", "results of an analysis that does not exist"),
    # Clocks: times that do not follow from those before, and columns that do not from the log.
    **{
        f"""UPDATE events SET body = replace(CAST(body AS TEXT), '{old}', '{new}')
            WHERE room = '{{timed}}' AND instr(CAST(body AS TEXT), '"kind":"{kind}"') > 0""": (
            "I23",
            text,
        )
        for kind, old, new, text in (
            ("started", '"clocks_ms":[6', '"clocks_ms":[7', "both sides start with"),
            ("started", '"clock":"60+5+2x10"', '"clock":"60+6+2x10"', "follows from what it took"),
            ("started", '"clock":"60+5+2x10"', '"clock":"060+5+2x10"', "written otherwise"),
            ("moved", '"spent_ms":', '"spent_ms":9', "had passed"),
            ("moved", '"clock_ms":', '"clock_ms":1', "follows from what it took"),
            ("moved", '"stage":0', '"stage":1', "follows from what it took"),
            ("moved", '"ply":2', '"goes_on":true,"ply":2', "follows from what it took"),
            ("took_back", '"clocks_ms":[', '"clocks_ms":[9', "the takeback left seat 0"),
            ("time_added", '"ms":15000', '"ms":60000', "were added"),
        )
    },
    "UPDATE matches SET clock = '60' WHERE room = '{timed}'": ("I8", "clock of match"),
    "UPDATE matches SET speed = 'bullet' WHERE room = '{timed}'": ("I8", "speed of match"),
    "UPDATE rooms SET due_ms = due_ms + 99000 WHERE id = '{timed}'": ("I8", "due_ms of the room"),
    "UPDATE rooms SET due_ms = NULL WHERE id = '{timed}'": ("I8", "due_ms of the room"),
    # Rows of rooms that do not exist.
    # A room keeps the game of its first match in its row, and each match its own.
    "UPDATE rooms SET game = 'sticks' WHERE id = '{evening}'": ("I8", "game of the room's row"),
    "UPDATE matches SET game = 'tic-tac-toe' WHERE room = '{evening}' AND number = 2": (
        "I8",
        "game of match",
    ),
    """UPDATE events SET body = replace(CAST(body AS TEXT), '"game":"sticks"', '"game":"kalah"')
       WHERE room = '{evening}'""": ("I8", "game of match"),
    "DELETE FROM rooms WHERE id = '{half}'": ("I3", "events of a room that does not exist"),
    "DELETE FROM matches WHERE room = '{against_ai}'": (
        "I3",
        "thoughts about a match that does not exist",
    ),
}


@pytest.fixture(scope="module")
def sound_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, str]]:
    """The bytes of a store's file with matches, and its rooms by name."""
    import asyncio

    async def make() -> list[str]:
        async with SqliteDatabase(path).open() as store:
            return await play_matches(store)

    path = tmp_path_factory.mktemp("sound") / "store.sqlite3"
    rooms = asyncio.run(make())
    return path.read_bytes(), dict(
        zip(
            (
                "full",
                "unlisted",
                "half",
                "waiting",
                "against_ai",
                "taken_back",
                "one_screen",
                "evening",
                "timed",
            ),
            rooms,
            strict=True,
        )
    )


@pytest.fixture
def store_file(sound_store: tuple[bytes, dict[str, str]], tmp_path: Path) -> SqliteDatabase:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(sound_store[0])
    return SqliteDatabase(path)


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_planted_fault_is_found(
    store_file: SqliteDatabase, sound_store: tuple[bytes, dict[str, str]], fault: str
) -> None:
    """Each planted fault is reported under its invariant with its text."""
    invariant, text = FAULTS[fault]
    statement = fault.format(**sound_store[1])
    assert (
        await store_file.run(lambda connection: connection.exec_driver_sql(statement).rowcount) > 0
    )
    problems = (await check(store_file)).problems
    assert any(problem.check == invariant and text in problem.problem for problem in problems), (
        problems
    )


async def test_a_finished_match_has_its_winner(store_file: SqliteDatabase) -> None:
    """The column `winner` is written with the end of a match: `play_matches` has a win of the first
    seat on the board, and one of it by resignation. Running matches have none.
    """
    query = "SELECT plies, winner FROM matches ORDER BY finished_ms IS NULL, plies DESC"
    rows = await store_file.run(lambda connection: connection.exec_driver_sql(query).fetchall())
    assert [tuple(row) for row in rows[:3]] == [(5, 0), (0, 0), (0, 0)]
    assert {tuple(row) for row in rows[3:]} == {(None, None)}


async def test_an_offer_that_an_older_node_has_left_in_an_entry_is_no_problem(
    tmp_path: Path,
) -> None:
    """A node that does not note offers leaves one that is over in the room's entry, or none that is
    open. Any other offer there is a problem, and so is one from before a match.
    """
    database = SqliteDatabase(tmp_path / "store.sqlite3")

    async def put(summary: bytes) -> None:
        query, values = "UPDATE rooms SET summary = ?", (summary,)
        await database.run(partial(Connection.exec_driver_sql, statement=query, parameters=values))

    async def summary() -> bytes:
        query = "SELECT summary FROM rooms"
        found = await database.run(lambda each: each.exec_driver_sql(query).scalar())
        assert isinstance(found, bytes)
        return found

    async with database.open() as store, FakeServer(store=store).hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create("tic-tac-toe", seats=(MySeat(), OpenSeat()))
        await ben.ack(ben.sit(room, 1))
        await ben.ack(ben.plain(Resign, room))
        without = await summary()
        await ada.ack(ada.plain(Rematch, room))
        offered = await summary()
        assert b'"offers":[{"seat":0,"what":"rematch"}]' in offered
        await put(without)
        assert (await check(database)).problems == []
        await ada.ack(wire.CommandFrame(room, Decline(ada.new_id(), "rematch")))
        assert await summary() == without
        await put(offered)
        assert (await check(database)).problems == []
        await put(offered.replace(b'"seat":0,"what"', b'"seat":1,"what"'))
        assert [problem.check for problem in (await check(database)).problems] == ["I8"]
        await ada.ack(ada.plain(Rematch, room))
        await ben.ack(ben.plain(Rematch, room))
        playing = await summary()
        assert playing.endswith(b"}")
        await put(playing[:-1] + b',"offers":[{"seat":0,"what":"rematch"}]}')
        assert [problem.check for problem in (await check(database)).problems] == ["I8"]


async def test_columns_that_are_filled_later_may_be_empty(store_file: SqliteDatabase) -> None:
    """An older program leaves the players, the winner and the clock of a match empty, which is no
    problem.
    """
    statement = (
        "UPDATE matches SET first = NULL, second = NULL, winner = NULL, clock = NULL, speed = NULL"
    )
    await store_file.run(lambda connection: connection.exec_driver_sql(statement))
    assert (await check(store_file)).problems == []


@pytest.mark.parametrize("is_shown", [False, True])
async def test_names_that_are_shown_otherwise_are_no_problem(
    store_file: SqliteDatabase, is_shown: bool
) -> None:
    """The log has the name that an earlier version allowed; the rows beside it have that one too,
    or the one that is shown now.
    """
    shown = shown_name("ada", "Level 5") if is_shown else "Level 5"
    tables = {"events.body": "Level 5", "rooms.summary": shown, "matches.seats": shown}
    for place, name in tables.items():
        table, column = place.split(".")
        statement = (
            f"UPDATE {table} SET {column} = CAST(replace(CAST({column} AS TEXT), ?, ?) AS BLOB)"
        )
        names = '"ada","name":"Ada"', f'"ada","name":"{name}"'
        await store_file.run(
            partial(Connection.exec_driver_sql, statement=statement, parameters=names)
        )
    assert (await check(store_file)).problems == []


async def test_moves_that_cannot_be_checked_are_counted(store_file: SqliteDatabase) -> None:
    """A match of a game that cannot be loaded is counted as unjudged, not reported as a problem."""

    def without(game_id: str) -> Game:
        if game_id == "connect-four":
            raise RuntimeError("its file is broken")
        return load_game(game_id)

    report = await store_file.run(
        lambda connection: verify(connection, without, lambda done, total: None), True
    )
    assert report.unjudged == 1
    assert report.problems == []


@pytest.mark.parametrize("body", ['{"kind":"danced","by":7}', '{"kind":"moved","ply":"third"}'])
async def test_a_room_with_events_of_a_newer_version_is_counted(
    store_file: SqliteDatabase, sound_store: tuple[bytes, dict[str, str]], body: str
) -> None:
    """An unknown event is no problem; the match after it is counted as unjudged."""
    room = sound_store[1]["full"]
    statement = "UPDATE events SET body = CAST(? AS BLOB) WHERE room = ? AND v = 5"
    await store_file.run(lambda connection: connection.exec_driver_sql(statement, (body, room)))
    report = await check(store_file)
    assert (report.newer, report.problems) == (1, [])
    assert report.unjudged > 0


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("started", '"ratings":[1500,1500],'),
        ("moved", '"by_rule":900,'),
    ],
)
async def test_a_room_with_new_fields_in_its_events_is_counted(
    store_file: SqliteDatabase, sound_store: tuple[bytes, dict[str, str]], kind: str, field: str
) -> None:
    """An unknown field of a newer version is no problem; moves are still judged."""
    room = sound_store[1]["full"]
    statement = """UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ?, ?) AS BLOB)
                   WHERE room = ?"""
    start = f'{{"kind":"{kind}",'
    await store_file.run(
        lambda connection: connection.exec_driver_sql(statement, (start, start + field, room))
    )
    report = await check(store_file)
    assert (report.newer, report.problems, report.unjudged) == (1, [], 0)
