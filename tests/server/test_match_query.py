"""server/store/match_query.py: the database reads as many rows as the query may look at."""

import itertools
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import msgspec
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.dialects.sqlite import pysqlite
from sqlalchemy.sql.selectable import SelectBase

from server.deploy.postgres import Postgres
from server.events import Termination
from server.rooms.model import MatchResult
from server.store.match_filter import (
    DRAWN,
    NO_RESULT,
    Key,
    MatchFilter,
    parse_winner,
    winner_of,
)
from server.store.match_query import MatchScan
from server.store.postgres import open_postgres
from server.store.sql import MATCH_COLUMNS
from tests.support.log_entries import new_database

#: The filters, each with the indexes that may serve it.
FILTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "every match": ({}, {"public"}),
    "a length": ({"min_plies": 500, "max_plies": 900}, {"public"}),
    "a result": ({"result": "drawn"}, {"public"}),
    "dates": ({"since_ms": 1, "until_ms": 9}, {"public"}),
    "a game": ({"game": "chess", "result": "first"}, {"game"}),
    "a player": ({"player": "ada", "result": "lost"}, {"first", "second"}),
    "a player and a game": ({"player": "ai:1", "game": "hex"}, {"first", "second"}),
}
#: The directions of a page: its cursors, and the time at which the scan ends.
DIRECTIONS: tuple[tuple[Key | None, Key | None, int], ...] = (
    (None, None, 900), ((950, "m"), None, 900), (None, (50, "m"), 100),
)  # fmt: skip
#: The conditions of a search of an index, as the plans have them.
SQLITE_RANGE = re.compile(r"INDEX (\w+) \(\w+=\? AND finished_ms[<>]")


def queries() -> Iterator[tuple[str, SelectBase, SelectBase, set[str]]]:
    """Yields the kinds of pages: a name, two queries, and the indexes that may serve them."""
    for (name, (filters, columns)), each in itertools.product(FILTERS.items(), DIRECTIONS):
        before, after, end_ms = each
        scan = MatchScan(MatchFilter(**filters), before, after)
        indexes = {f"ix_matches_{column}_finished_ms" for column in columns}
        kind = "newer" if after else "older" if before else "newest"
        yield f"{name}, {kind}", scan.ends(20), scan.rows(MATCH_COLUMNS, end_ms, 5), indexes


def test_sqlite_reads_a_range_of_one_index(tmp_path: Path) -> None:
    """SQLite searches the index of the filter only, between two times; the limit it finds in the
    index alone.
    """
    with closing(sqlite3.connect(new_database(tmp_path))) as connection:

        def plan_of(statement: SelectBase) -> list[str]:
            compiled = statement.compile(dialect=pysqlite.dialect())
            values = [compiled.params[each] for each in compiled.positiontup or ()]
            plan = connection.execute(f"EXPLAIN QUERY PLAN {compiled}", values).fetchall()
            return [row[3] for row in plan if "matches" in row[3]]

        for name, ends, rows, indexes in queries():
            for plan in (plan_of(ends), plan_of(rows)):
                searches = [SQLITE_RANGE.search(line) for line in plan]
                assert {each and each[1] for each in searches} == indexes, (name, plan)
            assert all("COVERING" in line for line in plan_of(ends)), name


#: Matches of some games and players, in which AIs of level 1 have most seats.
FILL = """
INSERT INTO matches (id, room, game, number, options, seats, start, rules, public, first_v,
    started_ms, last_v, finished_ms, plies, over, first, second)
SELECT 'm' || n, 'r' || n, (ARRAY['chess', 'hex', 'go'])[1 + n % 3], 1, '', '', '', '', n % 9 > 0,
    1, n, 2, n, n % 80, '{"winner":0', (ARRAY['ai:1', 'ai:1', 'ada'])[1 + n % 3],
    (ARRAY['ai:1', 'ben'])[1 + n % 2]
FROM generate_series(1, 1000) n
"""


async def test_postgres_reads_a_range_of_one_index(postgres: Postgres) -> None:
    """PostgreSQL, too, reads each page from the index of the filter, between two times."""
    async with postgres.database() as database:
        async with open_postgres(postgres.url(database)):
            pass  # makes the tables
        async with postgres.session(database) as session:
            await session.execute(FILL)
            await session.execute("ANALYZE matches")
            await session.execute("SET enable_seqscan = off")
            for name, ends, rows, indexes in queries():
                for statement in (ends, rows):
                    dialect = asyncpg.dialect()  # type: ignore[no-untyped-call]
                    compiled = statement.compile(dialect=dialect)
                    values = [compiled.params[each] for each in compiled.positiontup or ()]
                    lines = await session.fetch(f"EXPLAIN {compiled}", *values)
                    plan = "\n".join(line[0] for line in lines)
                    assert set(re.findall(r"ix_matches_\w+", plan)) == indexes, (name, plan)
                    assert "Seq Scan on matches" not in plan, (name, plan)
                    conditions = re.findall(r"Index Cond: (.*)", plan)
                    assert conditions, (name, plan)
                    assert all("finished_ms" in each for each in conditions), (name, plan)


def test_which_matches_are_drawn() -> None:
    """A match without a winner is drawn if it ended on the board, by a claim, by agreement,
    because the opponent had gone, or by the flag of a side whose opponent could not win; not if it
    was aborted, the AI failed or a side did not show up. A won match never is.

    The stored result of an older program says the same.
    """
    for winner, how in itertools.product((None, 0, 1), get_args(Termination)):
        is_drawn = how in ("board", "claim", "agreement", "gone", "flag")
        expected = (DRAWN if is_drawn else NO_RESULT) if winner is None else winner
        assert winner_of(winner, how) == expected, (winner, how)
        over = msgspec.json.encode(MatchResult(winner, how, "so"))
        assert parse_winner(over) == expected, over
