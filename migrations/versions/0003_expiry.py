"""Nothing stays for ever: when guests and rooms were last seen, and which guests have sat at a
table.

Only adds: a program of 0001 or 0002 may run beside one of 0003. What such a program adds has not
been seen yet (`seen_day` is null), so its days count from when a program of 0003 first looks at it.

Guests who gave a command in a room before, or made one, count as having sat: the log of commands
does not say more.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ACTED = "SELECT DISTINCT identity FROM commands UNION SELECT host FROM rooms"


def upgrade() -> None:
    # First, for it may take long and locks nothing; from the first ALTER on, others wait.
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
