"""Databases for the tests, and the server's log in plain text.

structlog's default formats each exception with all its variables, which takes seconds.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from server.deploy.postgres import WITH_FSYNC, Postgres, private_postgres
from server.deploy.postgres import postgres as postgres
from server.store.base import Store
from tests.support.store_backends import BACKENDS, open_backend

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ]
)


@pytest.fixture
async def database(postgres: Postgres) -> AsyncIterator[str]:
    """The name of a new database with the schema."""
    async with postgres.database() as name:
        yield name


@pytest.fixture(params=BACKENDS)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """Opens an empty store; a test runs once with each backend."""
    async with open_backend(request.param, request) as store:
        yield store


@pytest.fixture(scope="module")
def durable() -> Iterator[Postgres]:
    """A PostgreSQL server with fsync, which tests kill and restart."""
    with private_postgres(**WITH_FSYNC) as server:
        yield server
