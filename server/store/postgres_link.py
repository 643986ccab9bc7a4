"""Connections to PostgreSQL: address, time limits, and error messages without secrets."""

import asyncio
import contextlib
import re
import ssl
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import asyncpg

from server.store.base import StoreUnavailable

#: URL schemes of PostgreSQL.
SCHEMES = ("postgresql", "postgres")
#: One host of an address, with an optional port.
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]*)(?::(\d{1,5}))?")


class BadUrl(StoreUnavailable):
    """The database's address is malformed. The message does not repeat it, since it has secrets."""


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """A URL `postgresql://user:password@host:port/database?sslmode=…`, with options of libpq.

    `secret` is its text with the password.
    """

    secret: str

    def __post_init__(self) -> None:
        if not _is_well_formed(self.secret):
            raise BadUrl(
                "the database's address cannot be read;"
                " postgresql://user:password@host:5432/database was expected,"
                " with each of : / @ ? # % in the password written as %3A %2F %40 %3F %23 %25"
            )

    def __repr__(self) -> str:
        return f"PostgresUrl({str(self)!r})"

    def __str__(self) -> str:
        """The address without its password and options, for people and logs."""
        parts = urlsplit(self.secret)
        _, at, hosts = parts.netloc.rpartition("@")
        user = f"{quote(unquote(parts.username or ''))}@" if at else ""
        return f"{parts.scheme}://{user}{hosts}{parts.path}"


def _is_well_formed(address: str) -> bool:
    """Whether the address is well-formed, which it may not be with an unescaped password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    hosts = parts.netloc.rpartition("@")[2].split(",")
    if parts.scheme not in SCHEMES or any(
        "@" in part for part in (parts.path, parts.query, parts.fragment)
    ):
        return False
    matches = [HOST.fullmatch(host) for host in hosts]
    return parts.netloc.count("@") <= 1 and all(
        match is not None and int(match[2] or 0) < 65536 for match in matches
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds, and the number of connections in the pool."""

    connect_s: float = 2.0
    statement_s: float = 2.0
    lock_s: float = 1.0
    idle_transaction_s: float = 10.0
    pool: int = 8

    @property
    def answer_s(self) -> float:
        """Time after which a silent connection counts as broken, in seconds.

        The server aborts a statement earlier.
        """
        return self.statement_s + 1.0


#: Time limit for the server's answer when a connection is closed, in seconds.
CLOSE_S = 0.25


class QuickClosingConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection whose `close` takes at most CLOSE_S.

    When a statement is cancelled, SQLAlchemy closes its connection before it reports the time-out,
    and would wait 2 s for a frozen server. After the limit the connection is closed without an
    answer, which is no error: SQLAlchemy would print its traceback.
    """

    async def close(self, *, timeout: float | None = None) -> None:
        with contextlib.suppress(TimeoutError):
            await super().close(timeout=CLOSE_S if timeout is None else min(timeout, CLOSE_S))


def _ms(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))


async def connect(url: PostgresUrl, limits: Limits, **settings: str) -> Any:
    """Opens a connection with time limits on statements.

    Raises StoreUnavailable with the reason when that fails.
    """
    server_settings = {
        "application_name": "plyroom",
        "statement_timeout": _ms(limits.statement_s),
        "lock_timeout": _ms(limits.lock_s),
        "idle_in_transaction_session_timeout": _ms(limits.idle_transaction_s),
        "default_transaction_isolation": "read committed",
        "jit": "off",
        **settings,
    }
    # An exception of asyncpg may contain the address, so the exception below is not chained to it.
    problem = ""
    try:
        async with asyncio.timeout(limits.connect_s):
            return await asyncpg.connect(
                url.secret, server_settings=server_settings, max_cached_statement_lifetime=0,
                connection_class=QuickClosingConnection,
            )  # fmt: skip
    except TimeoutError:
        problem = f"no answer within {limits.connect_s:g} s"
    except asyncpg.InvalidCatalogNameError as error:
        problem = (
            f"{error}; an operator creates it (createdb), then `plyroom migrate` makes its tables"
        )
    except asyncpg.PostgresError as error:
        problem = str(error)
    except (ssl.SSLError, ssl.CertificateError) as error:
        problem = f"TLS failed: {error}"
    except OSError as error:
        problem = error.strerror or str(error) or type(error).__name__
    except (asyncpg.InterfaceError, ValueError) as error:
        problem = (
            f"its address is wrong ({type(error).__name__}): see its host, database and options"
        )
    raise StoreUnavailable(f"cannot use the database {url}: {problem}")


#: The exceptions that a connection may raise. A statement on a closing connection raises
#: InternalClientError.
FAULTS = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    UnicodeError,
)


class Fault(Enum):
    """The effect of an error on the transaction that it ended."""

    #: Rolled back because of a concurrent transaction: a retry may succeed.
    CONFLICT = auto()
    #: Rolled back because a lock was not released in time.
    LOCKED = auto()
    #: Rolled back because one of its rows existed already.
    DUPLICATE_ROW = auto()
    #: Rolled back because the server refused it.
    REFUSED = auto()
    #: Rolled back or never sent: PostgreSQL cannot store one of its values.
    MALFORMED = auto()
    #: The connection broke: the outcome is unknown.
    CONNECTION_LOST = auto()


def fault_of(error: Exception) -> Fault:
    """The fault that an error of asyncpg or of the network means."""
    if isinstance(error, asyncpg.DataError | UnicodeError):  # raised before sending
        return Fault.MALFORMED
    state = getattr(error, "sqlstate", None) or ""
    if (
        not isinstance(error, asyncpg.PostgresError)
        or state[:2] in ("", "08")
        or state[:4] == "57P0"
    ):
        return Fault.CONNECTION_LOST
    match state:
        case "40001" | "40P01":
            return Fault.CONFLICT
        case "55P03":
            return Fault.LOCKED
        case "23505":
            return Fault.DUPLICATE_ROW
    return Fault.MALFORMED if state[:2] == "22" else Fault.REFUSED
