"""Statements on a SQL database, each in a transaction of its own."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from server.store.base import StoreUnavailable

T = TypeVar("T")


class TransactionRunner(Protocol):
    """Runs a function in one transaction, outside the event loop's thread.

    An exception of the function rolls the transaction back and propagates.
    """

    async def __call__(self, work: Callable[[Connection], T]) -> T: ...


class SqlDatabase:
    """Runs queries with `read` and other statements with `write`.

    All methods raise StoreUnavailable if the database fails.
    """

    def __init__(self, write: TransactionRunner, read: TransactionRunner) -> None:
        self._write = write
        self._read = read

    async def select(self, query: Any, values: dict[str, Any] | None = None) -> list[Any]:
        """Runs a query; returns its rows."""
        try:
            return await self._read(
                lambda connection: list(connection.execute(query, values or {}).all())
            )
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error

    async def execute(self, statement: Any) -> list[Any]:
        """Runs one write statement in its own transaction; returns its rows."""
        return await self.write(lambda connection: list(connection.execute(statement).all()))

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Runs a function with write statements, each in its own transaction on PostgreSQL."""
        try:
            return await self._write(work)
        except DBAPIError as error:
            raise StoreUnavailable(f"the database failed: {error.orig}") from error
