"""Statements on a SQL database, each in a transaction of its own."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from server.store.base import StoreUnavailable
from server.store.condition import Call, ConditionRecord, store_fault

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

    def __init__(
        self, write: TransactionRunner, read: TransactionRunner, record: ConditionRecord
    ) -> None:
        self._write = write
        self._read = read
        self._record = record

    async def select(self, query: Any, values: dict[str, Any] | None = None) -> list[Any]:
        """Runs a query; returns its rows."""

        def work(connection: Connection) -> list[Any]:
            return list(connection.execute(query, values or {}).all())

        return await self._run("read", self._read, work)

    async def execute(self, statement: Any) -> list[Any]:
        """Runs one write statement in its own transaction; returns its rows."""
        return await self.write(lambda connection: list(connection.execute(statement).all()))

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Runs a function with write statements, each in its own transaction on PostgreSQL."""
        return await self._run("write", self._write, work)

    async def _run(self, call: Call, run: TransactionRunner, work: Callable[[Connection], T]) -> T:
        try:
            result = await run(work)
        except DBAPIError as error:
            fault = store_fault(f"the database failed: {error.orig}", error.orig)
            self._record.record(call, fault)
            raise fault from error
        except StoreUnavailable as fault:
            self._record.record(call, fault)
            raise
        self._record.record(call, None)
        return result
