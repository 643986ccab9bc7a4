"""The players of a match in columns, so that a player's matches are found by an index.

`first` and `second` hold the identity on each seat, or `ai:` and the AI's level or persona. A
program of schema 0001 to 0003 may run beside one of 0004: the matches that it starts have no
players in these columns until a program of 0004 fills them. `plyroom verify` of such a program
reports rooms whose `changed_ms` a program of 0004 has moved: from 0004 on, that column is also
moved while the room has followers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

#: The columns, in the order of the seats.
PLAYERS = ("first", "second")


def upgrade() -> None:
    for column in PLAYERS:
        op.add_column("matches", sa.Column(column, sa.String))
    values = ", ".join(f"{column} = {_player(seat)}" for seat, column in enumerate(PLAYERS))
    op.execute(f"UPDATE matches SET {values}")
    for column in PLAYERS:
        op.create_index(f"ix_matches_{column}_finished_ms", "matches", [column, "finished_ms"])


def downgrade() -> None:
    for column in reversed(PLAYERS):
        op.drop_index(f"ix_matches_{column}_finished_ms", "matches")
        op.drop_column("matches", column)


def _player(seat: int) -> str:
    """The SQL expression for the player on a seat, from the JSON in `seats`."""
    ai = f"'ai:' || coalesce({_field(seat, 'level')}, {_field(seat, 'persona')})"
    kind, identity = _field(seat, "kind"), _field(seat, "identity")
    return f"CASE {kind} WHEN 'ai' THEN {ai} ELSE {identity} END"


def _field(seat: int, name: str) -> str:
    """The SQL expression for a field of the occupant on a seat, as text."""
    if op.get_bind().dialect.name == "postgresql":
        return f"convert_from(seats, 'UTF8')::json -> {seat} ->> '{name}'"
    return f"CAST(json_extract(CAST(seats AS TEXT), '$[{seat}].{name}') AS TEXT)"
