"""Databases for the tests, and the server's log in plain text: by default every exception is drawn
with all its variables, which takes seconds.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from server.deploy.postgres import WITH_FSYNC, Postgres, private_postgres
from server.deploy.postgres import postgres as postgres

structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ]
)


@pytest.fixture
async def database(postgres: Postgres) -> AsyncIterator[str]:
    async with postgres.database() as name:
        yield name


@pytest.fixture(scope="module")
def durable() -> Iterator[Postgres]:
    """A PostgreSQL that syncs, to be killed and restarted."""
    with private_postgres(**WITH_FSYNC) as server:
        yield server
