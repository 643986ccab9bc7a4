"""What a database can still do: whether it takes writes, and whether its pages can be read.

Nothing is asked for that. A store records how its calls end, and a node writes a heartbeat every
second.
"""

import sqlite3
import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from server.store.base import WORKING, Condition, StoreDamaged, StoreReadOnly, StoreUnavailable

#: Time for which a refused write counts if nothing is written the same way after it, in seconds.
REFUSED_S = 60.0
#: Time for which a damaged page counts after it was last read, in seconds. Other pages can be read
#: all that time.
DAMAGED_S = 3600.0

#: The calls of a store that are told apart: appends to logs, other writes, queries.
Call = Literal["append", "write", "read"]


#: The result codes of SQLite for a file that takes no writes, and a full disk.
SQLITE_REFUSES = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL}
#: Those for a page that is malformed, and for a file that is no database.
SQLITE_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: The SQLSTATEs of PostgreSQL for a read-only transaction and a full disk.
POSTGRES_REFUSES = {"25006", "53100"}
#: Those for damaged data and a damaged index.
POSTGRES_DAMAGED = {"XX001", "XX002"}


def store_fault(message: str, error: BaseException | None) -> StoreUnavailable:
    """The exception of a store for an error of its driver, with this message: StoreReadOnly,
    StoreDamaged, or StoreUnavailable for all else.
    """
    sqlite_code = getattr(error, "sqlite_errorcode", None)
    code = None if sqlite_code is None else sqlite_code & 0xFF  # without its extension
    state = getattr(error, "sqlstate", None)
    # A quota is full.
    is_quota = sqlite_code == sqlite3.SQLITE_IOERR_WRITE
    if is_quota or code in SQLITE_REFUSES or state in POSTGRES_REFUSES:
        return StoreReadOnly(message)
    if code in SQLITE_DAMAGED or state in POSTGRES_DAMAGED:
        return StoreDamaged(message)
    return StoreUnavailable(message)


class _Fault(Struct, frozen=True):
    """The last fault of a kind: its message, and its time in seconds."""

    message: str
    at_s: float


class ConditionRecord:
    """Records how the calls of a store end. `clock_s` is a clock that never goes back."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._refused: dict[Call, _Fault] = {}
        self._damaged: _Fault | None = None

    def record(self, call: Call, fault: Exception | None) -> None:
        """Records the end of a call: None for success. Other faults say nothing."""
        if fault is None:
            if self._refused:
                self._refused.pop(call, None)
        elif isinstance(fault, StoreReadOnly):
            self._refused[call] = _Fault(str(fault), self._clock_s())
        elif isinstance(fault, StoreDamaged):
            self._damaged = _Fault(str(fault), self._clock_s())

    def current(self) -> Condition:
        """The condition of the store now."""
        now_s = self._clock_s()
        if self._damaged is not None and now_s - self._damaged.at_s < DAMAGED_S:
            return Condition("damaged", self._damaged.message)
        for fault in self._refused.values():
            if now_s - fault.at_s < REFUSED_S:
                return Condition("read-only", fault.message)
        return WORKING
