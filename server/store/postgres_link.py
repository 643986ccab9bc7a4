"""Connections to PostgreSQL: the address as an operator writes it, how long anything may take, and
what went wrong in words that hold no secret.
"""

import asyncio
import re
import ssl
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import asyncpg

from server.store.base import StoreUnavailable

SCHEMES = ("postgresql", "postgres")
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:\s]*)(?::(\d{1,5}))?")


class BadUrl(StoreUnavailable):
    """A database address that cannot be; the message says what was expected, and nothing of what
    was given.
    """


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """`postgresql://user:password@host:port/database?sslmode=verify-full`, and what else libpq has
    there.
    """

    secret: str

    def __post_init__(self) -> None:
        if not _is_readable(self.secret):
            raise BadUrl(
                "the database's address cannot be read; postgresql://user:password@host:5432/database was expected,"
                " with each of : / @ ? # % in the password written as %3A %2F %40 %3F %23 %25"
            )

    def __repr__(self) -> str:
        return f"PostgresUrl({str(self)!r})"

    def __str__(self) -> str:
        """The address without its password and its options, for people and logs."""
        parts = urlsplit(self.secret)
        _, at, hosts = parts.netloc.rpartition("@")
        user = f"{quote(unquote(parts.username or ''))}@" if at else ""
        return f"{parts.scheme}://{user}{hosts}{parts.path}"


def _is_readable(address: str) -> bool:
    """Whether its parts are where they seem to be; a password with an odd character in it moves
    them.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    hosts = parts.netloc.rpartition("@")[2].split(",")
    if parts.scheme not in SCHEMES or any(
        "@" in part for part in (parts.path, parts.query, parts.fragment)
    ):
        return False
    found = [HOST.fullmatch(host) for host in hosts]
    return parts.netloc.count("@") <= 1 and all(
        one is not None and int(one[2] or 0) < 65536 for one in found
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take, and how many connections reads may hold."""

    connect_s: float = 2.0
    statement_s: float = 2.0
    lock_s: float = 1.0
    idle_transaction_s: float = 10.0
    pool: int = 8

    @property
    def answer_s(self) -> float:
        """After so long the link itself is taken for dead: the server would have given up before."""
        return self.statement_s + 1.0


def _ms(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))


async def connect(url: PostgresUrl, limits: Limits, **settings: str) -> Any:
    """A connection whose statements end in time; StoreUnavailable says why there is none."""
    served = {
        "application_name": "plyroom",
        "statement_timeout": _ms(limits.statement_s),
        "lock_timeout": _ms(limits.lock_s),
        "idle_in_transaction_session_timeout": _ms(limits.idle_transaction_s),
        "default_transaction_isolation": "read committed",
        "jit": "off",
        **settings,
    }
    # What asyncpg raises may hold the address, so nothing of it is chained to what is raised here.
    problem = ""
    try:
        async with asyncio.timeout(limits.connect_s):
            return await asyncpg.connect(
                url.secret, server_settings=served, max_cached_statement_lifetime=0
            )
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


#: What may come out of a connection; the internal error is what a statement meets on a link that is
#: just ending.
FAULTS = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    UnicodeError,
)


class Fault(Enum):
    """What an error says of the transaction that it ended."""

    #: Rolled back because others were at it, too: the same may succeed now.
    AGAIN = auto()
    #: Rolled back, for somebody held a lock for too long.
    LOCKED = auto()
    #: Rolled back, for a row of it was there already.
    TWICE = auto()
    #: Rolled back: the server said no.
    REFUSED = auto()
    #: Rolled back or never sent: no database of this kind can hold that text.
    MALFORMED = auto()
    #: The link is gone, and nobody knows what became of it.
    GONE = auto()


def fault_of(error: Exception) -> Fault:
    """Tells errors of asyncpg, and of the network below it, apart."""
    if isinstance(error, asyncpg.DataError | UnicodeError):  # found out before it was sent
        return Fault.MALFORMED
    state = getattr(error, "sqlstate", None) or ""
    if (
        not isinstance(error, asyncpg.PostgresError)
        or state[:2] in ("", "08")
        or state[:4] == "57P0"
    ):
        return Fault.GONE
    match state:
        case "40001" | "40P01":
            return Fault.AGAIN
        case "55P03":
            return Fault.LOCKED
        case "23505":
            return Fault.TWICE
    return Fault.MALFORMED if state[:2] == "22" else Fault.REFUSED
