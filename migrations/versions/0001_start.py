"""The first schema: rooms and their logs, command keys, matches, thoughts, identities, nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("key", sa.String, nullable=False),
        sa.Column("value", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_meta"),
    )
    op.create_table(
        "identities",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("token_hash", sa.LargeBinary, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_identities"),
        sa.UniqueConstraint("token_hash", name="uq_identities_token_hash"),
    )
    op.create_table(
        "rooms",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("game", sa.String, nullable=False),
        sa.Column("public", sa.Boolean, nullable=False),
        sa.Column("host", sa.String, nullable=False),
        sa.Column("create_id", sa.String, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("head", sa.BigInteger, nullable=False),
        sa.Column("node", sa.String, nullable=False),
        sa.Column("due_ms", sa.BigInteger),
        sa.Column("listed", sa.Boolean, nullable=False),
        sa.Column("summary", sa.LargeBinary, nullable=False),
        sa.Column("changed_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rooms"),
        sa.UniqueConstraint("host", "create_id", name="uq_rooms_host_create_id"),
    )
    due = sa.text("due_ms IS NOT NULL")
    op.create_index("ix_rooms_due_ms", "rooms", ["due_ms"], sqlite_where=due, postgresql_where=due)
    op.create_index("ix_rooms_listed_changed_ms", "rooms", ["listed", "changed_ms"])
    op.create_table(
        "events",
        sa.Column("room", sa.String, nullable=False),
        sa.Column("v", sa.BigInteger, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("audience", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("room", "v", name="pk_events"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "commands",
        sa.Column("room", sa.String, nullable=False),
        sa.Column("identity", sa.String, nullable=False),
        sa.Column("id", sa.String, nullable=False),
        sa.Column("first_v", sa.BigInteger, nullable=False),
        sa.Column("last_v", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("room", "identity", "id", name="pk_commands"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "matches",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("room", sa.String, nullable=False),
        sa.Column("game", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("options", sa.LargeBinary, nullable=False),
        sa.Column("seats", sa.LargeBinary, nullable=False),
        sa.Column("start", sa.Text, nullable=False),
        sa.Column("rules", sa.String, nullable=False),
        sa.Column("public", sa.Boolean, nullable=False),
        sa.Column("first_v", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger, nullable=False),
        sa.Column("last_v", sa.BigInteger),
        sa.Column("finished_ms", sa.BigInteger),
        sa.Column("plies", sa.Integer),
        sa.Column("over", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_matches"),
    )
    op.create_index("ix_matches_public_finished_ms", "matches", ["public", "finished_ms"])
    op.create_table(
        "thoughts",
        sa.Column("match", sa.String, nullable=False),
        sa.Column("v", sa.BigInteger, nullable=False),
        sa.Column("ply", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("match", "v", name="pk_thoughts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "nodes",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("alive_until_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_nodes"),
    )


def downgrade() -> None:
    for table in (
        "nodes", "thoughts", "matches", "commands", "events", "rooms", "identities", "meta",
    ):  # fmt: skip
        op.drop_table(table)
