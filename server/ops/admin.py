"""The operator's commands for a database: `python -m server.ops.admin`.

Results go to standard output and messages to standard error. The exit status is 0, 1 (failed) or 2
(wrong usage).
"""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from engine.formats.registry import FORMATS
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from server.ops.calibration import calibrate, format_calibration
from server.ops.export import Wanted
from server.ops.export import export as export_matches
from server.ops.verify import verify as verify_store
from server.settings import SettingError, Settings, expand_user, settings_from_env
from server.store import backup as backups
from server.store import schema
from server.store.base import StoreError, StoreUnavailable
from server.store.folder import make_folder
from server.store.location import DATABASE_FILE, data_location
from server.store.lock import lock_folder

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Maintain a database."""


def database_options(command: Command) -> Command:
    """Adds the options that choose a database to a command."""
    data = click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder of the database.  [default: data]",
    )
    database = click.option(
        "--database",
        help="A PostgreSQL database instead.  [env: PLYROOM_DATABASE, PLYROOM_DATABASE_FILE]",
    )
    return data(database(command))


def effective_settings(data: Path | None, database: str | None) -> Settings:
    """Returns the settings of the environment, overridden by the command line."""
    try:
        given: dict[str, Any] = {"data": data and expand_user(data), "database": database}
        settings = replace(
            settings_from_env(),
            **{name: value for name, value in given.items() if value is not None},
        )
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    # A folder on the command line means the SQLite file in it, whatever the environment says.
    return replace(settings, database="") if data is not None and database is None else settings


def run_in_transaction(
    settings: Settings, work: Callable[[Connection], T], snapshot: bool = False
) -> T:
    """Runs a function in one transaction on the database that the settings name.

    With `snapshot` the function only reads, and sees one consistent state while servers write.
    """
    try:
        if settings.database:
            from server.store import postgres

            return asyncio.run(postgres.run_in_transaction(settings.database, work, snapshot))
        path = settings.data / DATABASE_FILE
        with schema.sqlite_engine(
            path, "BEGIN" if snapshot else "BEGIN IMMEDIATE"
        ).begin() as connection:
            return work(connection)
    except StoreError as error:
        raise click.ClickException(str(error)) from error
    except DBAPIError as error:
        raise click.ClickException(
            f"the database {data_location(settings)} failed: {error.orig}"
        ) from error


@contextmanager
def progress(description: str) -> Iterator[backups.ReportProgress]:
    """Shows a progress bar on a terminal, and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


@main.command()
@database_options
def migrate(data: Path | None, database: str | None) -> None:
    """Migrate a database to this version's schema, or create the tables of an empty one.

    Nodes of the previous version may keep running. Concurrent migrations run one after the other.
    """
    settings = effective_settings(data, database)
    where = _location(settings)
    if not settings.database:
        make_folder(settings.data)
    before, after = run_in_transaction(
        settings, lambda connection: schema.migrate(connection, where)
    )
    if before == after:
        click.echo(f"{where} is up to date at {after}.")
    else:
        click.echo(f"{where} is at {after} now (before: {before or 'no tables'}).")


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@database_options
def backup(file: Path, data: Path | None, database: str | None) -> None:
    """Write a backup to FILE while servers run: a consistent snapshot of SQLite or PostgreSQL.

    FILE contains private messages. Protect it like the database.
    """
    settings = effective_settings(data, database)
    where = _existing_location(settings)
    if file.exists():
        raise click.ClickException(f"the file {file} already exists")
    part = file.with_name(f"{file.name}.part")
    try:
        # No other user may read the file: it holds private data.
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            with progress("rows") as report_progress:
                row_counts = run_in_transaction(
                    settings,
                    lambda c: backups.backup(c, where, out, report_progress),
                    snapshot=True,
                )
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
    except OSError as error:
        raise click.ClickException(f"cannot write {part}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    click.echo(
        f"{file} holds {row_counts['rooms']} rooms with {row_counts['events']} events, of {where}."
    )


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@database_options
def restore(file: Path, data: Path | None, database: str | None) -> None:
    """Fill an empty database from FILE, completely or not at all. Clients recover by themselves.

    A backup of SQLite can be restored to PostgreSQL, and the reverse.
    """
    settings = effective_settings(data, database)
    where = _location(settings)
    try:
        lock = nullcontext() if settings.database else lock_folder(settings.data)
        with lock, file.open("rb") as packed, progress("rows") as report_progress:
            row_counts = run_in_transaction(
                settings, lambda c: backups.restore(c, where, packed, report_progress)
            )
    except StoreUnavailable as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror}") from error
    click.echo(f"{where} holds {row_counts['rooms']} rooms with {row_counts['events']} events now.")


@main.command()
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a line of JSON for each problem, and one for the totals.",
)
@database_options
def verify(as_json: bool, data: Path | None, database: str | None) -> None:
    """Check every room while servers run: a complete log, legal moves and rows that match it.

    Exits with 1 when there is a problem.
    """
    settings = effective_settings(data, database)
    _existing_location(settings)
    ignore_overflow()
    with progress("rooms") as report_progress:
        report = run_in_transaction(
            settings, lambda c: verify_store(c, load_game, report_progress), snapshot=True
        )
    for problem in report.problems:
        v = "" if problem.v is None else f" v {problem.v}"
        click.echo(
            msgspec.json.encode(problem)
            if as_json
            else f"{problem.check} room {problem.room}{v}: {problem.problem}"
        )
    counts = {
        "rooms": report.rooms,
        "events": report.events,
        "moves": report.moves,
        "unjudged": report.unjudged,
        "newer": report.newer,
    }
    if as_json:
        click.echo(msgspec.json.encode({**counts, "problems": len(report.problems)}))
    else:
        unjudged = (
            f", {report.unjudged} of them unchecked since their rules are missing"
            if report.unjudged
            else ""
        )
        newer = (
            f", {report.newer} of them checked only up to a newer version's first event"
            if report.newer
            else ""
        )
        click.echo(
            f"{report.rooms} rooms{newer}, {report.events} events, {report.moves} moves{unjudged}:"
            f" {len(report.problems) or 'no'} problem{'s' * (len(report.problems) != 1)}"
        )
    sys.exit(1 if report.problems else 0)


@main.command()
@click.option("--game", "game_id", help="Only this game.")
@click.option(
    "--min-level",
    default=1,
    show_default=True,
    help="Leave out seats below this level; low levels are careless on purpose.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each game.")
@database_options
def calibration(
    game_id: str | None, min_level: int, as_json: bool, data: Path | None, database: str | None
) -> None:
    """Compare the AI's chances to win with the results of the stored matches, game by game."""
    settings = effective_settings(data, database)
    _existing_location(settings)
    with progress("matches") as report_progress:
        found = run_in_transaction(
            settings, lambda c: calibrate(c, load_game, min_level, report_progress), snapshot=True
        )
    shown = [each for each in found if game_id in (None, each.game)]
    for each in shown:
        click.echo(msgspec.json.encode(each) if as_json else format_calibration(each))
    if not shown:
        click.echo("there are no finished matches of an AI to compare", err=True)


@main.command()
@click.argument("matches", metavar="[MATCH]...", nargs=-1)
@click.option("--format", "name", type=click.Choice(list(FORMATS)), default="jsonl")
@click.option("--game")
@click.option("--player")
@click.option("--since", type=int, metavar="SECONDS")
@click.option("--until", type=int, metavar="SECONDS")
@click.option("--max", "maximum", type=click.IntRange(1))
@click.option("--unlisted", is_flag=True, help="Matches of unlisted rooms too.")
@database_options
def export(
    matches: tuple[str, ...],
    name: str,
    game: str | None,
    player: str | None,
    since: int | None,
    until: int | None,
    maximum: int | None,
    unlisted: bool,
    data: Path | None,
    database: str | None,
) -> None:
    """Write matches to standard output in a format of files, newest first.

    `plyroom export` calls this command, and writes to a file.
    """
    settings = effective_settings(data, database)
    _existing_location(settings)
    ignore_overflow()
    since_ms, until_ms = (None if each is None else 1000 * each for each in (since, until))
    wanted = Wanted(
        ids=matches, game=game, player=player, since_ms=since_ms, until_ms=until_ms,
        is_unlisted=unlisted, maximum=maximum,
    )  # fmt: skip
    write = sys.stdout.buffer.write
    with progress("matches") as report_progress:
        count, refused = run_in_transaction(
            settings,
            lambda c: export_matches(c, wanted, FORMATS[name], write, report_progress),
            snapshot=True,
        )
    sys.stdout.buffer.flush()
    for sentence in refused:
        click.echo(sentence, err=True)
    if not count:
        click.echo("there are no such matches", err=True)
    sys.exit(1 if refused and not count else 0)


def _existing_location(settings: Settings) -> str:
    """The location of a database, for messages. Raises ClickException if there is no database."""
    if not settings.database and not (settings.data / DATABASE_FILE).exists():
        raise click.ClickException(
            f"there is no database {settings.data / DATABASE_FILE}; choose another one with --data"
        )
    return _location(settings)


def _location(settings: Settings) -> str:
    """The location of a database, for messages. Raises ClickException for an invalid address."""
    try:
        return data_location(settings)
    except StoreUnavailable as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main(prog_name="plyroom")
