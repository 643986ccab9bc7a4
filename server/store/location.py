"""Where a server's data is: a SQLite file in its folder, or a PostgreSQL database."""

import os
from contextlib import AbstractAsyncContextManager

from server.settings import Settings
from server.store.base import Store, StoreUnavailable
from server.store.sqlite import open_sqlite, read_sqlite

#: The name of the SQLite file in the data folder.
DATABASE_FILE = "plyroom.sqlite3"


def open_store(settings: Settings) -> AbstractAsyncContextManager[Store]:
    """Opens the store that the settings name.

    Raises StoreUnavailable for an invalid address or a missing driver.
    """
    return _open_store(settings, is_read_only=False)


def read_store(settings: Settings) -> AbstractAsyncContextManager[Store]:
    """Opens the store of a running server to read it: it creates, migrates and writes nothing.

    A write raises StoreReadOnly. Raises StoreUnavailable as `open_store` does.
    """
    return _open_store(settings, is_read_only=True)


def _open_store(settings: Settings, *, is_read_only: bool) -> AbstractAsyncContextManager[Store]:
    if not settings.database:
        return (read_sqlite if is_read_only else open_sqlite)(settings.data / DATABASE_FILE)
    try:
        from server.store.postgres import open_postgres, read_postgres
    except ImportError as error:
        raise StoreUnavailable(
            f"PostgreSQL needs the extra `postgres`: pip install 'plyroom[postgres]' ({error})"
        ) from error
    from server.store.postgres_link import Limits

    limits = Limits(
        connect_s=settings.database_connect_s, statement_s=settings.database_statement_s,
        lock_s=settings.database_lock_s, idle_transaction_s=settings.database_idle_transaction_s,
        pool=settings.database_pool,
    )  # fmt: skip
    return (read_postgres if is_read_only else open_postgres)(settings.database, limits)


def data_location(settings: Settings) -> str:
    """The data folder, or the database's address without its secrets."""
    if not settings.database:
        return os.path.abspath(settings.data)
    from server.store.postgres_link import PostgresUrl

    return str(PostgresUrl(settings.database))
