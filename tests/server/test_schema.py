"""Interrupted and unneeded migrations of a SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from server.store.schema import HEAD, sqlite_revision, upgrade_sqlite
from server.store.tables import metadata


class Interrupted(BaseException):
    """Raised instead of executing a statement, as if the process ended there."""


@contextmanager
def interrupt_at(statement: int) -> Iterator[list[str]]:
    """Makes the statement with this number, and all later ones, raise Interrupted."""
    statements: list[str] = []

    def before(_connection: Any, _cursor: Any, text: str, *_rest: Any) -> None:
        statements.append(text)
        if len(statements) >= statement:
            raise Interrupted

    event.listen(Engine, "before_cursor_execute", before)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", before)


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }


def test_an_interrupted_migration_leaves_no_table(tmp_path: Path) -> None:
    """Migrations that are interrupted at any statement leave no table; the next start runs them."""
    statement, is_complete = 0, False
    while not is_complete:
        statement += 1
        path = tmp_path / f"{statement}.sqlite3"
        with interrupt_at(statement) as statements:
            try:
                upgrade_sqlite(path)
                is_complete = True
            except Interrupted:
                assert tables(path) == set(), f"after {statements[:-1]}"
        upgrade_sqlite(path)
        assert sqlite_revision(path) == HEAD
        assert tables(path) >= set(metadata.tables)
    assert statement > len(metadata.tables)


def test_an_up_to_date_schema_needs_no_statement(tmp_path: Path) -> None:
    """Opening an up-to-date schema executes no statement through SQLAlchemy and Alembic."""
    path = tmp_path / "data.sqlite3"
    upgrade_sqlite(path)
    with interrupt_at(1) as statements:
        upgrade_sqlite(path)
    assert statements == []
