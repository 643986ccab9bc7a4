"""The environment script of Alembic: runs migrations on the connection in the config's attributes,
or on `-x url=...`.
"""

from alembic import context
from sqlalchemy import create_engine, pool

from server.store.tables import metadata


def run() -> None:
    """Runs the migrations in one transaction."""
    connection = context.config.attributes.get("connection")
    if connection is not None:
        _migrate(connection)
        return
    url = context.get_x_argument(as_dictionary=True).get("url")
    if url is None:
        raise SystemExit(
            "name the database: alembic -x url=sqlite:///data/plyroom.sqlite3 upgrade head"
        )
    with create_engine(url, poolclass=pool.NullPool).begin() as own:
        _migrate(own)


def _migrate(connection: object) -> None:
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)  # type: ignore[arg-type]
    with context.begin_transaction():
        context.run_migrations()


run()
