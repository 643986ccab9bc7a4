"""The tables, for SQLAlchemy Core. The migrations create them; a test checks that both agree.

The statements that write and read rows take their columns from here: a struct of
server/store/base.py has a field for each column that it holds (`columns_of`).
"""

from typing import Any

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

#: The newest migration, which leads to these tables. A test compares it with the migrations'
#: folder; a constant saves the server from importing Alembic at each start.
REVISION = "0007"

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

meta = Table(
    "meta",
    metadata,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

identities = Table(
    "identities",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("seen_day", Integer),
    # Whether the guest is permanent: has taken a seat or created a room.
    Column("sat", Boolean, nullable=False, server_default=false()),
)

rooms = Table(
    "rooms",
    metadata,
    Column("id", String, primary_key=True),
    Column("game", String, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("host", String, nullable=False),
    Column("create_id", String, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("head", BigInteger, nullable=False),
    Column("node", String, nullable=False),
    Column("due_ms", BigInteger),
    Column("listed", Boolean, nullable=False),
    Column("summary", LargeBinary, nullable=False),
    Column("changed_ms", BigInteger, nullable=False),
    Column("seen_day", Integer),
    Column("taken_from", String),
    UniqueConstraint("host", "create_id"),
)
# The migration makes this a partial index, of rooms with a due_ms only. Declaring that in this
# module would load the dialects of both databases at each start.
Index("ix_rooms_due_ms", rooms.c.due_ms)
Index("ix_rooms_listed_changed_ms", rooms.c.listed, rooms.c.changed_ms)

events = Table(
    "events",
    metadata,
    Column("room", String, nullable=False),
    Column("v", BigInteger, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("audience", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("room", "v"),
    sqlite_with_rowid=False,
)

commands = Table(
    "commands",
    metadata,
    Column("room", String, nullable=False),
    Column("identity", String, nullable=False),
    Column("id", String, nullable=False),
    Column("first_v", BigInteger, nullable=False),
    Column("last_v", BigInteger, nullable=False),
    PrimaryKeyConstraint("room", "identity", "id"),
    sqlite_with_rowid=False,
)

matches = Table(
    "matches",
    metadata,
    Column("id", String, primary_key=True),
    Column("room", String, nullable=False),
    Column("game", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("options", LargeBinary, nullable=False),
    Column("seats", LargeBinary, nullable=False),
    Column("start", Text, nullable=False),
    Column("rules", String, nullable=False),
    Column("public", Boolean, nullable=False),
    Column("first_v", BigInteger, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("last_v", BigInteger),
    Column("finished_ms", BigInteger),
    Column("plies", Integer),
    Column("over", LargeBinary),
    # The players on both seats: an identity, or `ai:` and the level or persona.
    Column("first", String),
    Column("second", String),
    # Who won the finished match: a seat, or one of server.store.match_filter's DRAWN and NO_RESULT.
    Column("winner", Integer),
    # The text of the time control, null for none, and its class.
    Column("clock", String),
    Column("speed", String),
)
#: The columns of matches that are null in rows of older programs: until `fill_players`,
#: `fill_winners` and `fill_clocks` have filled them, or for ever. Those of one tuple are filled
#: together, and the first of them is null only before.
FILLED_LATER = (("first", "second"), ("winner",), ("speed", "clock"))
Index("ix_matches_room", matches.c.room)
Index("ix_matches_first_finished_ms", matches.c.first, matches.c.finished_ms)
Index("ix_matches_second_finished_ms", matches.c.second, matches.c.finished_ms)
Index("ix_matches_game_finished_ms", matches.c.game, matches.c.finished_ms)
Index("ix_matches_public_finished_ms", matches.c.public, matches.c.finished_ms)
# A partial index, too: of the finished matches whose winner is not filled in yet.
Index("ix_matches_winner", matches.c.winner)
# And one of the matches whose class of clock is not filled in yet.
Index("ix_matches_speed", matches.c.speed)

thoughts = Table(
    "thoughts",
    metadata,
    Column("match", String, nullable=False),
    Column("v", BigInteger, nullable=False),
    Column("ply", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("match", "v"),
    sqlite_with_rowid=False,
)

analyses = Table(
    "analyses",
    metadata,
    Column("match", String, primary_key=True),
    # One of server.store.base.AnalysisState.
    Column("state", String, nullable=False),
    Column("asked_by", String, nullable=False),
    Column("asked_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    # The node that runs it, until `lease_ms`.
    Column("node", String, nullable=False),
    Column("lease_ms", BigInteger, nullable=False),
    # The engine, rules and limits that the results depend on; "" before the analysis begins.
    Column("engine", String, nullable=False),
    Column("plies", Integer, nullable=False),
    Column("done_plies", Integer, nullable=False),
    Column("reason", String, nullable=False),
)
Index("ix_analyses_state_asked_ms", analyses.c.state, analyses.c.asked_ms)
Index("ix_analyses_asked_by_asked_ms", analyses.c.asked_by, analyses.c.asked_ms)

# A row is a function of its key and the match's moves, so it is never changed.
analysis_plies = Table(
    "analysis_plies",
    metadata,
    Column("match", String, nullable=False),
    Column("engine", String, nullable=False),
    Column("ply", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("match", "engine", "ply"),
    sqlite_with_rowid=False,
)

nodes = Table(
    "nodes",
    metadata,
    Column("id", String, primary_key=True),
    Column("alive_until_ms", BigInteger, nullable=False),
    # The time of the last heartbeat, by the store's clock; null for a node of an older program.
    Column("beat_ms", BigInteger),
)

#: The fields in which the structs of server/store/base.py hold the key `id` of these tables.
_KEY_FIELDS = {"matches": "match", "rooms": "room"}


def columns_of(row: type[Struct], table: Table, without: str = "") -> list[Column[Any]]:
    """The columns of a table that a struct holds, in the order of its fields.

    A field has the name of its column, but the field `match` of a match and `room` of a room hold
    the `id`. `without` names a field to leave out. Raises KeyError for a field without a column.
    """
    key = _KEY_FIELDS.get(table.name)
    return [
        table.c["id" if name == key and name not in table.c else name]
        for name in row.__struct_fields__
        if name != without
    ]
