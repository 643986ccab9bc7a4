"""`python -m server.admin`: what an operator does with a database besides serving it.

Results go to standard output, messages to standard error; it ends with 0, 1 (failed) or 2 (wrong use).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from server.app import DATABASE, place
from server.settings import SettingError, Settings, settings_from_env
from server.store import schema
from server.store.base import StoreUnavailable

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Looks after a database."""


def database_options(command: Command) -> Command:
    """Which database a command is about."""
    data = click.option(
        "--data", type=click.Path(file_okay=False, path_type=Path), help="Folder of the database.  [default: data]"
    )
    database = click.option(
        "--database", help="A PostgreSQL database instead.  [env: PLYROOM_DATABASE, PLYROOM_DATABASE_FILE]"
    )
    return data(database(command))


def chosen(data: Path | None, database: str | None) -> Settings:
    """The settings of the environment with what the command line says."""
    given: dict[str, Any] = {"data": data, "database": database}
    try:
        settings = replace(settings_from_env(), **{name: value for name, value in given.items() if value is not None})
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    # A folder on the command line means the file in it, whatever the environment says.
    return replace(settings, database="") if data is not None and database is None else settings


def in_transaction(settings: Settings, work: Callable[[Connection], T], snapshot: bool = False) -> T:
    """Runs a function in one transaction on the database that the settings name; with `snapshot` it only reads, and
    sees the database as it is at its beginning, while servers go on with theirs.
    """
    try:
        if settings.database:
            from server.store import postgres

            return asyncio.run(postgres.in_transaction(settings.database, work, snapshot))
        path = settings.data / DATABASE
        with schema.sqlite_engine(path, "BEGIN" if snapshot else "BEGIN IMMEDIATE").begin() as connection:
            return work(connection)
    except StoreUnavailable as error:
        raise click.ClickException(str(error)) from error
    except DBAPIError as error:
        raise click.ClickException(f"the database {place(settings)} failed: {error.orig}") from error


@main.command()
@database_options
def migrate(data: Path | None, database: str | None) -> None:
    """Bring a database to the schema of this version: makes the tables of an empty one.

    Nodes of the version before may go on meanwhile. Two of these at once are one after the other.
    """
    settings = chosen(data, database)
    where = _place(settings)
    if not settings.database:
        settings.data.mkdir(parents=True, exist_ok=True)
    before, after = in_transaction(settings, lambda connection: schema.migrate(connection, where))
    if before == after:
        click.echo(f"{where} is up to date at {after}.")
    else:
        click.echo(f"{where} is at {after} now (before: {before or 'no tables'}).")


def _place(settings: Settings) -> str:
    try:
        return place(settings)
    except StoreUnavailable as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
