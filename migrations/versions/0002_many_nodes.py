"""Several nodes: the schema records the oldest program that supports it.

On PostgreSQL, pages also keep free space for the rows that change most. A program of schema 0001
may run beside one of 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

META = sa.table("meta", sa.column("key", sa.String), sa.column("value", sa.String))
#: The oldest schema whose programs support this one.
OLDEST_PROGRAM = "0001"
#: The tables' storage parameters. Each move rewrites its room's row and each heartbeat its node's
#: row; with free space on the page, PostgreSQL need not update the indexes (HOT).
STORAGE_PARAMETERS = {
    "rooms": "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05",
    "nodes": "fillfactor = 50",
}


def upgrade() -> None:
    op.execute(META.insert().values(key="needs", value=OLDEST_PROGRAM))
    if op.get_bind().dialect.name == "postgresql":
        for table, settings in STORAGE_PARAMETERS.items():
            op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    op.execute(META.delete().where(META.c.key == "needs"))
    if op.get_bind().dialect.name == "postgresql":
        for table, settings in STORAGE_PARAMETERS.items():
            names = ", ".join(part.split(" = ")[0] for part in settings.split(", "))
            op.execute(f"ALTER TABLE {table} RESET ({names})")
