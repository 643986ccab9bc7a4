"""Brings a database to the schema that this code needs."""

import sqlite3
from contextlib import closing
from pathlib import Path

HEAD = "0001"
"""The newest migration. A test compares it with the migrations folder,
so that a start need not import Alembic to know it.
"""


def sqlite_revision(path: Path) -> str | None:
    """The migration that a SQLite file is at; None for a file that is missing or has no schema."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        try:
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError:
            return None
    return str(row[0]) if row else None


def upgrade_sqlite(path: Path) -> None:
    """Runs the migrations that a SQLite file lacks; a file that is up to date costs one query."""
    if sqlite_revision(path) == HEAD:
        return
    # Imported here because Alembic would take a third of a warm start.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, pool

    from migrations.env_config import FOLDER

    engine = create_engine(f"sqlite:///{path}", poolclass=pool.NullPool)
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(FOLDER))
        config.attributes["connection"] = connection
        command.upgrade(config, HEAD)
