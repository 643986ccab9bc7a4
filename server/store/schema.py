"""Migrates a database to this program's schema, or checks that the program can run on its schema.

Old and new nodes can run together (expand, then contract): a database records which programs may
run on its schema. The row `needs` of `meta` holds the oldest revision whose program may. A
migration that excludes older programs changes that row.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, pool, select, text

from server.store import tables as t
from server.store.base import StoreUnavailable
from server.store.folder import make_file

#: The newest migration.
HEAD = t.REVISION
#: The oldest schema that this program can run on. It writes every column of the tables.
MIN_REVISION = HEAD
#: The key in `meta` of the oldest revision whose program may run on the schema.
NEEDS = "needs"
#: The PostgreSQL advisory lock of a running migration: "plyroom" in ASCII.
MIGRATION_LOCK = 0x706C79726F6F6D
#: Longest time that a migration waits for another one, in seconds.
MIGRATION_LOCK_S = 60


def check_revision(revision: str | None, needs: str | None, where: str) -> None:
    """Raises StoreUnavailable, with advice, unless this program can run on the schema.

    `revision` and `needs` are those of the schema; `where` names the database in messages.
    """
    if revision is None:
        raise StoreUnavailable(
            f"the database {where} has no tables of Plyroom yet: `plyroom migrate` makes them"
        )
    if (needs or revision) > HEAD:
        raise StoreUnavailable(
            f"the database {where} was written by a newer Plyroom (its schema is {revision}"
            f" and needs a program of {needs or revision} or later, this one is of {HEAD}):"
            " start the newer one, or restore an older backup"
        )
    if revision < MIN_REVISION:
        raise StoreUnavailable(
            f"the database {where} is at schema {revision},"
            f" this Plyroom needs {MIN_REVISION} or later: `plyroom migrate`"
        )


def revision_of(connection: Connection) -> str | None:
    """The schema's revision of a database; None if it has no tables of Plyroom."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    value = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return str(value) if value is not None else None


def needed_program(connection: Connection) -> str | None:
    """The oldest revision whose program may run on the database's schema; None if not recorded."""
    value = connection.execute(select(t.meta.c.value).where(t.meta.c.key == NEEDS)).scalar()
    return str(value) if value is not None else None


def check_schema(connection: Connection, where: str) -> None:
    """Raises StoreUnavailable, with advice, unless this program can run on a database's schema."""
    revision = revision_of(connection)
    needs = None if revision is None else needed_program(connection)
    check_revision(revision, needs, where)


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Runs the missing migrations up to `revision`, in the transaction of the connection."""
    # Imported only here: the import would take a third of the time of a start without migrations.
    from alembic import command

    command.upgrade(_config(connection), revision)


def downgrade(connection: Connection) -> None:
    """Drops all tables, in the transaction of the connection."""
    from alembic import command

    command.downgrade(_config(connection), "base")


def _config(connection: Connection) -> Any:
    from alembic.config import Config

    from migrations.env_config import FOLDER

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def migrate(connection: Connection, where: str) -> tuple[str | None, str]:
    """Migrates a database to HEAD under a lock; returns the revisions before and after.

    Does not change a newer schema on which this program can run.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = '{MIGRATION_LOCK_S}s'"))
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"))
    before = revision_of(connection)
    if before is not None:
        check_revision(max(before, MIN_REVISION), needed_program(connection), where)
    if before is None or before < HEAD:
        upgrade(connection)
        return before, HEAD
    return before, before


# --- SQLite ---------------------------------------------------------------------------------------


def sqlite_revision(path: Path) -> str | None:
    """The schema's revision of a SQLite file; None if it is missing or has no tables of Plyroom."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        query = "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
        if not connection.execute(query).fetchone()[0]:
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    return str(row[0]) if row else None


def upgrade_sqlite(path: Path) -> None:
    """Runs the missing migrations of a SQLite file. Costs two queries if there are none.

    Raises StoreUnavailable for a file of a newer Plyroom on which this program cannot run.
    """
    if sqlite_revision(path) == HEAD:
        return
    with sqlite_engine(path).begin() as connection:
        migrate(connection, str(path))


def sqlite_engine(path: Path, begin: str = "BEGIN IMMEDIATE") -> Engine:
    """An SQLAlchemy engine for a SQLite file, with atomic transactions.

    By default, the driver commits each CREATE TABLE at once, and an interrupted migration would
    leave a file that no later start can read. A new file is readable by its owner only.
    """
    make_file(path)
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        poolclass=pool.NullPool,
        connect_args={"check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
