"""`plyroom export`: writes matches to a file in a format that other programs read."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import click

from client.address import Address
from client.subcommands.options import parse_link_argument, url_option
from client.subcommands.running import CommandFailed, call_api

#: The formats, by the suffix of a file too.
FORMATS = ("pgn", "pdn", "sgf", "ggf", "txt", "jsonl")


class Day(click.ParamType):  # type: ignore[type-arg]
    """A day as 2026-11-28, in seconds since 1970 (UTC); `later` days are added."""

    name = "day"

    def __init__(self, later: int = 0) -> None:
        self._later = timedelta(days=later)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        try:
            day = datetime.strptime(str(value), "%Y-%m-%d").replace(tzinfo=UTC)
            return max(0, int((day + self._later).timestamp()))
        except (ValueError, OverflowError):
            self.fail("a day is written as 2026-11-28", param, ctx)


@click.command()
@click.argument("matches", metavar="[MATCH_OR_LINK]...", nargs=-1)
@click.option(
    "--format", "-f", "name", type=click.Choice(FORMATS),
    help="The format.  [default: that of FILE's suffix, or else of the game, or jsonl]",
)  # fmt: skip
@click.option("--game", help="Only this game.")
@click.option("--player", metavar="ID", help="Only this player: an id as in the list's address.")
@click.option(
    "--since", type=Day(), metavar="DAY", help="From this day on, as in 2026-11-28 (UTC)."
)
@click.option("--until", type=Day(1), metavar="DAY", help="Up to the end of this day (UTC).")
@click.option("--max", "maximum", type=click.IntRange(1), metavar="N", help="At most N matches.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    default="-",
    help="The file; - is standard output, the default.",
)
@url_option
@click.option("--data", help="Read the database in this folder instead; its server may run.")
@click.option("--database", help="Read this PostgreSQL database instead.")
@click.option(
    "--unlisted", is_flag=True, help="With --data or --database: matches of unlisted rooms too."
)
def export(
    matches: tuple[str, ...],
    name: str | None,
    game: str | None,
    player: str | None,
    since: int | None,
    until: int | None,
    maximum: int | None,
    output: str,
    url: Address | None,
    data: str | None,
    database: str | None,
    unlisted: bool,
) -> None:
    """Write matches to a file: these ones, or else the finished public ones, newest first.

    Formats are jsonl (every game, without loss), pgn (every game), pdn (draughts), sgf (gomoku,
    Othello, Hex), ggf and txt (Othello). FILE.part is the file until it is whole.
    """
    filters = {"game": game, "player": player, "since": since, "until": until, "max": maximum}
    if matches and any(value is not None for value in filters.values()):
        raise click.UsageError("name matches, or filters for the list, not both")
    suffix = Path(output).suffix.removeprefix(".").lower()
    if name is None and suffix in FORMATS:
        name = suffix
    if data is not None or database is not None:
        if url is not None and "PLYROOM_URL" not in os.environ:
            raise click.UsageError(
                "--url names a server, --data and --database are read without one"
            )
        ids = [parse_link_argument(match)[1] for match in matches]
        options = {**filters, "format": name or "jsonl", "data": data, "database": database}
        _export_database(ids, options, unlisted, output)
        return
    if unlisted:
        raise click.UsageError("--unlisted needs --data or --database: a server keeps them private")
    with _output(output) as out:
        for address, path in _requests(matches, url, {**filters, "format": name}):
            call_api(partial(_copy, address, path, out, output))


def _requests(
    matches: tuple[str, ...], url: Address | None, query: Mapping[str, object]
) -> Iterator[tuple[Address, str]]:
    """The servers and the paths of the requests."""
    from client.own_server import usual_server

    given = urlencode({key: value for key, value in query.items() if value is not None})
    if not matches:
        yield url or usual_server(), f"export?{given}"
    for match in matches:
        linked, match_id = parse_link_argument(match)
        if linked is None and url is None:
            url = usual_server()  # not before: a link needs none
        address = linked or url
        assert address is not None, "of the link, or the usual one"
        yield address, f"matches/{match_id}/export?{given}"


def _copy(address: Address, path: str, out: BinaryIO, shown: str) -> None:
    """Writes the answer to a request as it arrives."""
    from client.api import stream_export

    with _progress(shown) as advance:
        for part in stream_export(address, path):
            out.write(part)
            advance(len(part))
    out.flush()


def _export_database(
    ids: list[str], options: Mapping[str, object], unlisted: bool, output: str
) -> None:
    """Runs the server's own command, which writes to standard output."""
    import subprocess

    from client.own_server import admin_command, server_environ

    arguments = [
        f"--{key}={value}" for key, value in options.items() if value is not None
    ] + ["--unlisted"] * unlisted  # fmt: skip
    with _output(output) as out:
        out.flush()
        done = subprocess.run(
            admin_command("export", *arguments, *ids), env=server_environ(), stdout=out, check=False
        )
        if done.returncode:
            raise SystemExit(done.returncode)


@contextmanager
def _output(name: str) -> Iterator[BinaryIO]:
    """The file to write to; it has its name only when it is whole."""
    if name == "-":
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:  # the reader has what it wanted
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        return
    part = Path(f"{name}.part")
    try:
        try:
            with part.open("wb") as out:
                yield out
        except BaseException:
            if not part.stat().st_size:
                part.unlink()
            raise
        part.replace(name)
    except OSError as error:
        raise CommandFailed(f"cannot write {part}: {error.strerror}") from error


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], None]]:
    """Shows how much was written, on a terminal only."""
    if not sys.stderr.isatty() or name == "-":
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda count: bar.advance(task, count)
