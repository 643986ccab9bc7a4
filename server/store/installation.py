"""The installation's id in the table `meta`, under which clients keep what is this server's."""

import hashlib
import re

from sqlalchemy import Connection, insert, select

from server.store import tables as t

#: The key of the id in `meta`.
INSTALLATION = "installation"
#: The form of the id.
INSTALLATION_ID = re.compile(r"[0-9a-f]{16}")


def first_installation(epoch: str) -> str:
    """The id of a store with this epoch that has none yet.

    It follows from the epoch, which is random: nodes that start together agree on it, and a store
    that takes no writes has the same id at its next start.
    """
    return hashlib.sha256(f"installation {epoch}".encode()).hexdigest()[:16]


def stored_installation(connection: Connection) -> str | None:
    """The id in a database; the one that its next start will give it if it has none yet.

    None for a database that no server has used.
    """
    c = t.meta.c
    query = select(c.key, c.value).where(c.key.in_((INSTALLATION, "epoch")))
    values = {str(key): str(value) for key, value in connection.execute(query)}
    if INSTALLATION in values:
        return values[INSTALLATION]
    return first_installation(values["epoch"]) if "epoch" in values else None


def store_installation(connection: Connection, installation: str) -> None:
    """Stores the id, once: the database refuses another one."""
    connection.execute(insert(t.meta).values(key=INSTALLATION, value=installation))
