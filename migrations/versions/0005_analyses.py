"""Analyses of finished matches: the queue, and the results of their plies. An index for the list
of the matches of a game.

A program of schema 0001 to 0004 may run beside one of 0005: it neither reads nor writes the new
tables. Its backups do not contain them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "analyses",
        sa.Column("match", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("asked_by", sa.String, nullable=False),
        sa.Column("asked_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("node", sa.String, nullable=False),
        sa.Column("lease_ms", sa.BigInteger, nullable=False),
        sa.Column("engine", sa.String, nullable=False),
        sa.Column("plies", sa.Integer, nullable=False),
        sa.Column("done_plies", sa.Integer, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("match", name="pk_analyses"),
    )
    op.create_index("ix_analyses_state_asked_ms", "analyses", ["state", "asked_ms"])
    op.create_index("ix_analyses_asked_by_asked_ms", "analyses", ["asked_by", "asked_ms"])
    op.create_table(
        "analysis_plies",
        sa.Column("match", sa.String, nullable=False),
        sa.Column("engine", sa.String, nullable=False),
        sa.Column("ply", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("match", "engine", "ply", name="pk_analysis_plies"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_matches_game_finished_ms", "matches", ["game", "finished_ms"])


def downgrade() -> None:
    op.drop_index("ix_matches_game_finished_ms", "matches")
    op.drop_table("analysis_plies")
    op.drop_table("analyses")
