"""Expiry in a SQL database: deletes guests who are not permanent, and rooms without a match.

A pass covers one page of a table. Each deletion is one transaction that checks the rows again, so
that it keeps a guest or a room that was seen again since the page was read. It waits for no
lock (PostgreSQL skips rows that another transaction has locked), so it delays no other transaction
and cannot deadlock.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, exists, select, text, update

from server.ids import IdentityId
from server.store import tables as t
from server.store.base import DaySpan, ExpiryPage
from server.store.database import SqlDatabase

#: Deletes rooms on PostgreSQL, where one statement is one transaction. The comparison of heads
#: ensures that no event, and so no match, was added since the page was read, not even one that the
#: statement's snapshot does not include.
DELETE_ROOMS = text("""
    WITH requested AS (
        SELECT * FROM unnest(CAST(:rooms AS text[]), CAST(:heads AS bigint[])) AS a(id, head)
    ),
    free AS (
        SELECT r.id FROM rooms AS r JOIN requested AS a ON r.id = a.id
        WHERE r.head = a.head AND r.seen_day < :before
            AND NOT EXISTS (SELECT FROM matches AS m WHERE m.room = r.id)
        ORDER BY r.id FOR UPDATE OF r SKIP LOCKED
    ),
    gone AS (DELETE FROM rooms WHERE id IN (SELECT id FROM free) RETURNING id),
    events_gone AS (DELETE FROM events WHERE room IN (SELECT id FROM gone)),
    commands_gone AS (DELETE FROM commands WHERE room IN (SELECT id FROM gone))
    SELECT id FROM gone""")


class SqlExpiry:
    """Implements `server.store.base.ExpiryStore` on SQLite and PostgreSQL."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    async def mark_identities_seen(self, identities: Sequence[str], day: int) -> frozenset[str]:
        return frozenset(
            await self._database.write(
                lambda connection: mark_seen(connection, t.identities, identities, day)
            )
        )

    async def mark_permanent(self, identity: IdentityId) -> None:
        c = t.identities.c
        await self._database.execute(
            update(t.identities)
            .where(c.id == identity, c.sat.is_(False))
            .values(sat=True)
            .returning(c.id)
        )

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        rows = await self._database.select(identity_page_query(after, limit))
        expired, never_seen = split_rows(rows, span)
        if never_seen:
            await self._database.execute(
                fill_seen_day_statement(t.identities, never_seen, span.today)
            )
        ids = [row.id for row in expired]
        deleted = (
            await self._database.write(
                lambda connection: delete_identities(connection, ids, span.before_day)
            )
            if ids
            else []
        )
        return pass_result(rows, limit, deleted)

    async def mark_rooms_seen(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        return frozenset(
            await self._database.write(
                lambda connection: mark_seen(connection, t.rooms, rooms, day)
            )
        )

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        rows = await self._database.select(room_page_query(after, limit))
        expired, never_seen = split_rows(rows, span)
        if never_seen:
            await self._database.execute(fill_seen_day_statement(t.rooms, never_seen, span.today))
        heads = {row.id: row.head for row in expired}
        deleted = (
            await self._database.write(
                lambda connection: delete_rooms(connection, heads, span.before_day)
            )
            if heads
            else []
        )
        return pass_result(rows, limit, deleted)


def mark_seen(connection: Connection, table: Any, ids: Sequence[str], day: int) -> list[str]:
    """Sets the last seen day of rows, never to an earlier one; returns the ids that exist."""
    c = table.c
    # Transactions that lock several rows, such as a group commit, lock them in code point order to
    # avoid deadlocks.
    order = c.id.collate("C") if connection.dialect.name == "postgresql" else c.id
    rows = select(c.id).where(c.id.in_(ids)).order_by(order).with_for_update().cte("rows")
    latest = case((c.seen_day > day, c.seen_day), else_=day)
    statement = (
        update(table).where(c.id.in_(select(rows.c.id))).values(seen_day=latest).returning(c.id)
    )
    return [row[0] for row in connection.execute(statement)]


def fill_seen_day_statement(table: Any, ids: Sequence[str], day: int) -> Any:
    """The statement that sets the last seen day of rows that have none."""
    c = table.c
    rows = (
        select(c.id)
        .where(c.id.in_(ids), c.seen_day.is_(None))
        .with_for_update(skip_locked=True)
        .cte("rows")
    )
    return update(table).where(c.id.in_(select(rows.c.id))).values(seen_day=day).returning(c.id)


def identity_page_query(after: str, limit: int) -> Any:
    """The query for a page of identities: id, last seen day, whether the guest is permanent."""
    c = t.identities.c
    return select(c.id, c.seen_day, c.sat).where(c.id > after).order_by(c.id).limit(limit)


def room_page_query(after: str, limit: int) -> Any:
    """The query for a page of rooms: id, last seen day, whether it ever had a match, head."""
    c = t.rooms.c
    had_match = exists().where(t.matches.c.room == c.id)
    return (
        select(c.id, c.seen_day, had_match, c.head).where(c.id > after).order_by(c.id).limit(limit)
    )


def delete_identities(connection: Connection, ids: Sequence[str], before_day: int) -> list[str]:
    """Deletes those of the guests that are still expired; returns their ids."""
    c = t.identities.c
    expired = (c.id.in_(ids), c.sat.is_(False), c.seen_day < before_day)
    rows = select(c.id).where(*expired).order_by(c.id).with_for_update(skip_locked=True).cte("rows")
    return [
        row[0]
        for row in connection.execute(
            delete(t.identities).where(c.id.in_(select(rows.c.id))).returning(c.id)
        )
    ]


def delete_rooms(connection: Connection, heads: dict[str, int], before_day: int) -> list[str]:
    """Deletes those of the rooms that are still expired and unchanged, with their logs.

    `heads` are the rooms and their heads. Returns the deleted ids.
    """
    if connection.dialect.name == "postgresql":
        values = {"rooms": list(heads), "heads": list(heads.values()), "before": before_day}
        return [row[0] for row in connection.execute(DELETE_ROOMS, values)]
    c = t.rooms.c
    had_match = exists().where(t.matches.c.room == c.id)
    rows = connection.execute(
        select(c.id, c.head).where(c.id.in_(list(heads)), c.seen_day < before_day, ~had_match)
    )
    deleted = [room for room, head in rows if heads[room] == head]
    for column in (c.id, t.events.c.room, t.commands.c.room):
        condition = column.in_(bindparam("gone", expanding=True))
        connection.execute(delete(column.table).where(condition), {"gone": deleted})
    return deleted


def split_rows(rows: Sequence[Any], span: DaySpan) -> tuple[list[Any], list[str]]:
    """The expired rows of a page, and the ids of its rows without a last seen day.

    Permanent rows are in neither. A row has an id, a last seen day, whether it is permanent, and
    further columns.
    """
    deletable = [row for row in rows if not row[2]]
    expired = [row for row in deletable if row[1] is not None and row[1] < span.before_day]
    return expired, [row[0] for row in deletable if row[1] is None]


def pass_result(rows: Sequence[Any], limit: int, deleted: Sequence[str]) -> ExpiryPage:
    """The result of an expiry pass over a page of rows."""
    return ExpiryPage(tuple(sorted(deleted)), rows[-1][0] if len(rows) == limit else None)
