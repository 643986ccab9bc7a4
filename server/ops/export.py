"""Matches of a database as a file: `plyroom export --data DIR` and `--database DB`.

It reads the database itself, in one snapshot, while servers may run on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import click
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, and_, or_, select

from engine.formats.registry import Format, GameText
from engine.rules.registry import load_game
from server.exports import Exported, RecordBuilder, with_thoughts
from server.store import tables as t
from server.store.base import StoredEvent, StoredMatch, Thought
from server.store.people import shown_event, shown_match

#: Matches in a batch of rows.
BATCH = 500

_COLUMNS = t.matches.c


class Wanted(Struct, frozen=True, kw_only=True):
    """Which matches to export: these ids, or else the finished ones that meet all conditions.

    `until_ms` is exclusive. With `is_unlisted` those of unlisted rooms come too.
    """

    ids: tuple[str, ...] = ()
    game: str | None = None
    player: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    is_unlisted: bool = False
    maximum: int | None = None


def export(
    connection: Connection,
    wanted: Wanted,
    chosen: Format,
    write: Callable[[bytes], object],
    report_progress: Callable[[int, int], None],
) -> tuple[int, list[str]]:
    """Writes the wanted matches in a format, newest first.

    Returns their number, and for each one that the format cannot write a sentence that says why.
    Raises click.ClickException for an id without a match.
    """
    count, refused = 0, list[str]()
    for match in _matches(connection, wanted):
        exported = _read(connection, match)
        written = (
            chosen.write(with_thoughts(exported), load_game)
            if chosen.is_for(match.game)
            else GameText(match.match, refused=f"{chosen.name} is not for {match.game}")
        )
        if written.refused:
            refused.append(f"match {match.match} is not exported: {written.refused}")
            continue
        write(written.text.encode())
        count += 1
        report_progress(count, wanted.maximum or 0)
    return count, refused


def _matches(connection: Connection, wanted: Wanted) -> Iterator[StoredMatch]:
    query = select(*t.columns_of(StoredMatch, t.matches))
    if wanted.ids:
        for match_id in wanted.ids:
            row = connection.execute(query.where(_COLUMNS.id == match_id)).first()
            if row is None:
                raise click.ClickException(f"there is no match {match_id}")
            yield shown_match(StoredMatch(*row))
        return
    query = query.where(*_conditions(wanted))
    query = query.order_by(_COLUMNS.finished_ms.desc(), _COLUMNS.id.desc())
    left, last = wanted.maximum, None
    while left is None or left > 0:
        page = query if last is None else query.where(_is_older(last))
        limit = BATCH if left is None else min(BATCH, left)
        rows = connection.execute(page.limit(limit)).all()
        for row in rows:
            yield shown_match(StoredMatch(*row))
        if len(rows) < limit:
            return
        last, left = StoredMatch(*rows[-1]), None if left is None else left - len(rows)


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    c = _COLUMNS
    yield c.finished_ms.is_not(None)
    yield c.plies >= 1
    if not wanted.is_unlisted:
        yield c.public.is_(True)
    if wanted.game is not None:
        yield c.game == wanted.game
    if wanted.player is not None:
        yield or_(c.first == wanted.player, c.second == wanted.player)
    if wanted.since_ms is not None:
        yield c.finished_ms >= wanted.since_ms
    if wanted.until_ms is not None:
        yield c.finished_ms < wanted.until_ms


def _is_older(last: StoredMatch) -> ColumnElement[bool]:
    c, at_ms = _COLUMNS, last.finished_ms
    return or_(c.finished_ms < at_ms, and_(c.finished_ms == at_ms, c.id < last.match))


def _read(connection: Connection, match: StoredMatch) -> Exported:
    c = t.events.c
    builder = RecordBuilder(match)
    query = select(*t.columns_of(StoredEvent, t.events)).where(
        c.room == match.room, c.v >= match.first_v
    )
    if match.last_v is not None:
        query = query.where(c.v <= match.last_v)
    builder.add(_events(connection.execute(query.order_by(c.v))))
    thoughts = select(*t.columns_of(Thought, t.thoughts)).where(t.thoughts.c.match == match.match)
    return builder.build([Thought(*row) for row in connection.execute(thoughts)])


def _events(rows: Iterable[Sequence[object]]) -> Iterator[StoredEvent]:
    for row in rows:
        yield shown_event(StoredEvent(*row))  # type: ignore[arg-type]
