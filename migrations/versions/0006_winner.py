"""The winner of a finished match in a column, so that a list is filtered without reading JSON.

`winner` is the seat that won, 0 or 1; 2 if nobody did, because the match was drawn; 3 if it has no
result, because it was aborted or the AI failed.

A program of schema 0001 to 0005 may run beside one of 0006: the matches that it finishes have no
winner in this column. A program of 0006 takes it from the JSON in `over`, until a step of its
expiry has filled it in. The migration fills in nothing, because all other transactions wait for it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("matches", sa.Column("winner", sa.Integer))
    unfilled = sa.text("winner IS NULL AND finished_ms IS NOT NULL")
    op.create_index(
        "ix_matches_winner",
        "matches",
        ["winner"],
        sqlite_where=unfilled,
        postgresql_where=unfilled,
    )


def downgrade() -> None:
    op.drop_index("ix_matches_winner", "matches")
    op.drop_column("matches", "winner")
