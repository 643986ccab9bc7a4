"""The stores that implement server/store/base.py."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.deploy.postgres import Postgres
from server.store.base import Store, StoreError
from server.store.postgres import open_postgres
from server.store.postgres_link import Limits
from server.store.sqlite import open_sqlite
from tests.support.log_entries import new_database
from tests.support.memory_store import MemoryStore

#: The names of the backends that `open_backend` opens.
BACKENDS = ["memory", "sqlite", "postgres"]
#: The contract of a store says nothing of time, and on a busy machine a statement may take longer
#: than one that ships may. test_store_postgres.py and test_store_postgres_servers.py try those.
PATIENT = Limits(connect_s=30.0, statement_s=60.0)


@asynccontextmanager
async def open_backend(name: str, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Opens an empty store of this backend."""
    if name == "memory":
        yield MemoryStore()
    elif name == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        async with open_sqlite(new_database(folder)) as store:
            yield store
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        async with (
            postgres.database() as database,
            open_postgres(postgres.url(database), PATIENT) as store,
        ):
            yield store


async def result_of(operation: Awaitable[object]) -> object:
    """Returns the operation's result, or the StoreError that it raises."""
    try:
        return await operation
    except StoreError as error:
        return error
