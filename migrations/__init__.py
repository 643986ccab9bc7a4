"""The schema of the store, by Alembic."""
