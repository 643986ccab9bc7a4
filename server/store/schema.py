"""Brings a database to the schema that this code needs."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from server.store.base import StoreUnavailable

HEAD = "0001"
"""The newest migration; a test compares it with the folder, so that a start need not import Alembic to know it."""


def sqlite_revision(path: Path) -> str | None:
    """The migration that a SQLite file is at; None for a file that is missing or has no schema."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        named = "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
        if not connection.execute(named).fetchone()[0]:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


def upgrade_sqlite(path: Path) -> None:
    """Runs the migrations that a SQLite file lacks; a file that is up to date costs one query.
    StoreUnavailable for a file that a newer Plyroom has written.
    """
    revision = sqlite_revision(path)
    if revision == HEAD:
        return
    # Imported here because Alembic would take a third of a warm start.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from sqlalchemy import URL, Connection, create_engine, event, pool

    from migrations.env_config import FOLDER

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreUnavailable(
            f"the database {path} was written by a newer Plyroom (its schema is {revision},"
            f" this one knows up to {HEAD}): start that one, or restore a backup from before"
        )
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=pool.NullPool)

    # All or nothing: left to itself, the driver commits each CREATE TABLE at once, and a start that is cut short would
    # leave a file that no later start can read.
    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, HEAD)
