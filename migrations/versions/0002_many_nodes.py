"""Many nodes: the schema says which programs it suits; on PostgreSQL, pages keep room for the rows
that change most.

Only adds: a program of 0001 may run beside one of 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

META = sa.table("meta", sa.column("key", sa.String), sa.column("value", sa.String))
OLDEST_PROGRAM = "0001"
#: A move rewrites its room's row, a heartbeat its node's: with room on the page, no index needs to
#: know.
ROOMY = {
    "rooms": "fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05",
    "nodes": "fillfactor = 50",
}


def upgrade() -> None:
    op.execute(META.insert().values(key="needs", value=OLDEST_PROGRAM))
    if op.get_bind().dialect.name == "postgresql":
        for table, settings in ROOMY.items():
            op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    op.execute(META.delete().where(META.c.key == "needs"))
    if op.get_bind().dialect.name == "postgresql":
        for table, settings in ROOMY.items():
            names = ", ".join(part.split(" = ")[0] for part in settings.split(", "))
            op.execute(f"ALTER TABLE {table} RESET ({names})")
