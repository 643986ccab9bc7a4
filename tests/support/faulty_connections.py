"""Proxies between a cluster's nodes and its broker and database, for tests of faults."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from server.deploy.cluster.running import Connections
from server.deploy.free_ports import free_port
from server.deploy.postgres import Postgres
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.mqtt_proxy import mqtt_proxy

#: The seed of the broker's faults.
SEED = 1
#: The share of the broker's messages that the proxy duplicates; it puts the same share before
#: earlier messages.
SHARE = 0.2


@dataclass(frozen=True, slots=True)
class FaultyConnections(Connections):
    """Connections through proxies; `database` cuts those to PostgreSQL."""

    database: FaultProxy


@asynccontextmanager
async def faulty_connections(postgres: Postgres) -> AsyncIterator[FaultyConnections]:
    """Opens proxies that can cut off the database and that disturb the broker's messages."""
    port = free_port()
    async with (
        fault_proxy(postgres.port) as database,
        mqtt_proxy(port, SEED, SHARE, SHARE) as broker,
    ):
        yield FaultyConnections(port, broker.port, database.port, database)
