"""The time control of a match and its class, so that lists show and filter them; and the time of a
node's last heartbeat, from which an outage counts, with the node from which a room was taken over.

`clock` is the text of the control, null without one. `speed` is its class: `bullet`, `blitz`,
`rapid`, `classical` or `untimed`. `taken_from` is the node that was responsible for a room before,
until the node that has taken it over has decided whether a clock stood; null otherwise.

A program of schema 0001 to 0006 may run beside one of 0007: the matches that it starts have null in
both columns and count as untimed, until a step of the expiry of a program of 0007 has filled them
in from the log. A node of such a program writes no `beat_ms` and no `taken_from`. The migration
fills in nothing, because all other transactions wait for it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matches", sa.Column("clock", sa.String))
    op.add_column("matches", sa.Column("speed", sa.String))
    op.add_column("nodes", sa.Column("beat_ms", sa.BigInteger))
    op.add_column("rooms", sa.Column("taken_from", sa.String))
    unfilled = sa.text("speed IS NULL")
    op.create_index(
        "ix_matches_speed",
        "matches",
        ["speed"],
        sqlite_where=unfilled,
        postgresql_where=unfilled,
    )


def downgrade() -> None:
    op.drop_column("rooms", "taken_from")
    op.drop_column("nodes", "beat_ms")
    op.drop_index("ix_matches_speed", "matches")
    op.drop_column("matches", "speed")
    op.drop_column("matches", "clock")
