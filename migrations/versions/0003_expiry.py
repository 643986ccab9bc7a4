"""Expiry: the days on which guests and rooms were last seen, and permanent guests (`sat`).

A program of schema 0001 or 0002 may run beside one of 0003. Rows that an older program adds have no
day (`seen_day` is null), so their age counts from the first expiry pass of a program of 0003.

Guests who have sent a command to a room or created one become permanent: the table `commands` does
not record who took a seat.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

#: The query for the guests who become permanent.
ACTED = "SELECT DISTINCT identity FROM commands UNION SELECT host FROM rooms"


def upgrade() -> None:
    # This comes first because it may take long and locks nothing; from the first ALTER on, other
    # transactions wait.
    op.execute(f"CREATE TEMPORARY TABLE acted AS {ACTED}")
    op.create_index("ix_matches_room", "matches", ["room"])
    op.add_column("rooms", sa.Column("seen_day", sa.Integer))
    op.add_column("identities", sa.Column("seen_day", sa.Integer))
    op.add_column(
        "identities", sa.Column("sat", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.execute("UPDATE identities SET sat = true WHERE id IN (SELECT identity FROM acted)")
    op.execute("DROP TABLE acted")


def downgrade() -> None:
    op.drop_column("identities", "sat")
    op.drop_column("identities", "seen_day")
    op.drop_column("rooms", "seen_day")
    op.drop_index("ix_matches_room", "matches")
