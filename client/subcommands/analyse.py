"""`plyroom analyse`: analyses a match that was played, or a game in a file."""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from client.address import Address
from client.program import program
from client.subcommands.connecting import find_server, guest_tokens
from client.subcommands.options import (
    data_option,
    json_option,
    locate,
    parse_link_argument,
    typed,
    url_option,
)
from client.subcommands.running import call_api, run_to_end

if TYPE_CHECKING:
    from client.analyses import AnalysisReport
    from client.api import MatchRecord
    from server.protocol.assessments import ListedGame

T = TypeVar("T")

#: The suffixes of files with games: a name with one of them is not the id of a match.
FILE_SUFFIXES = (".pgn", ".pdn", ".sgf", ".ggf", ".jsonl", ".txt")


@click.command()
@click.argument("match_or_file", metavar="MATCH_OR_FILE")
@click.option("--number", type=click.IntRange(1), help="Analyse this game of a file, from 1.")
@click.option("--all", "is_all", is_flag=True, help="Analyse all games of a file.")
@url_option
@data_option
@json_option
def analyse(
    match_or_file: str,
    number: int | None,
    is_all: bool,
    url: Address | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Analyse a match, by its id or link, or the games of a file ("-" reads standard input).

    The command prints a graph of the chance to win, the moves that lost much with the better lines,
    and the accuracy of both sides. A server analyses a match once for all users. A file is in PGN,
    PDN, SGF or GGF, or a transcript; the command analyses it on this machine, without a server, and
    lists the games if there are several. With --data it reads the match from that folder.
    """
    file = Path(match_or_file)
    if number is not None and is_all:
        raise click.UsageError("--number picks one game, --all analyses every one: choose")
    if match_or_file == "-" or file.is_file():
        options = ["--all"] if is_all else [] if number is None else ["--number", f"{number}"]
        _print_file(match_or_file, options, as_json)
        return
    if file.is_dir():
        raise click.UsageError(f"{file} is a folder: name a file in it, or a match")
    if file.suffix.lower() in FILE_SUFFIXES and "://" not in match_or_file:
        raise click.UsageError(f"there is no file {file}")
    if number is not None or is_all:
        raise click.UsageError("--number and --all are for the games of a file")
    linked_server, match_id = parse_link_argument(match_or_file)
    if data is None or linked_server is not None or url is not None:
        address, match_id = locate(match_or_file, url)
        _print_match(address, match_id, as_json)
        return

    import asyncio

    async def run() -> None:
        async with find_server(None, data) as server:
            await asyncio.to_thread(_print_match, server.address, match_id, as_json, data)

    run_to_end(run())


def _print_file(file: str, options: list[str], as_json: bool) -> None:
    from client.analyses import analyse_file
    from client.terminal.output import standard_output
    from server.protocol.assessments import ListedGame

    progress = Progress()
    output = standard_output()
    games = analyse_file(file, options, progress.show)
    is_listed = False
    while game := call_api(lambda: progress.during(lambda: next(games, None))):
        if not isinstance(game, ListedGame):
            _print(*game, as_json)
            if "--all" in options and not as_json:
                output.print("")
        elif as_json:
            output.print(_encoded(game))
        else:
            is_listed = True
            output.report(_listed_text(game))
    if is_listed and "--all" not in options:
        output.report("Analyse one with --number N, or --all.")


def _listed_text(game: "ListedGame") -> str:
    """A line of the list of a file's games."""
    if game.problem:
        return f"{game.listed}. not read: {game.problem}"
    first, second = game.names
    return f"{game.listed}. {game.title}: {first} against {second}, {game.length}, {game.result}"


def _encoded(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()


def _print_match(address: Address, match_id: str, as_json: bool, data: Path | None = None) -> None:
    from client.api import fetch_match

    record = call_api(lambda: fetch_match(address, match_id))
    report = wait_for_analysis(address, match_id, data)
    _print(record, report, as_json)
    if not as_json:
        print_way_on(record, report, address, data)


def print_way_on(
    record: "MatchRecord", report: "AnalysisReport", address: Address, data: Path | None
) -> None:
    """Says how to play the worst mistake differently. `data` is as in `wait_for_analysis`."""
    from client.terminal.analysis import play_on_text
    from client.terminal.output import standard_output

    where = (
        f"{address}/match/{record.match}"
        if data is None
        else f"{record.match} --data {typed(data)}"
    )
    if text := play_on_text(record, report, program(), where):
        standard_output().report(text)


def wait_for_analysis(address: Address, match_id: str, data: Path | None) -> "AnalysisReport":
    """Returns the analysis of a match; requests it if needed, and shows its progress.

    `data` is the data folder of the server, if this command has started it.
    """
    from client.analyses import analyse_match

    tokens = call_api(lambda: guest_tokens(address, None, data is not None, data))
    progress = Progress()
    report, used_token = call_api(
        lambda: progress.during(
            lambda: analyse_match(address, match_id, tokens.known, progress.show)
        )
    )
    if used_token is not None:
        with suppress(OSError):
            tokens.keep(used_token)
    return report


def _print(record: "MatchRecord", report: "AnalysisReport", as_json: bool) -> None:
    from client.terminal.analysis import report_lines
    from client.terminal.output import standard_output
    from client.terminal.replay import title_lines
    from client.terminal.words import result_text

    output = standard_output()
    if as_json:
        output.print(_encoded(report))
        return
    analysis = report_lines(record, report, output.width, output.has_blocks)
    result = [] if record.over is None else [result_text(record.view, record.over)]
    for line in (*title_lines(record), *result, "", *analysis):
        output.print(line)


class Progress:
    """The progress of an analysis in one line of a terminal, which is erased at the end.

    It prints nothing if standard error is not a terminal.
    """

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()

    def show(self, report: "AnalysisReport") -> None:
        """Shows the progress, cut at the edge of the terminal: only one line can be erased."""
        import shutil

        from client.terminal.analysis import progress_text
        from client.terminal.output import ERASE_LINE

        if self._is_shown:
            text = progress_text(report)[: shutil.get_terminal_size().columns - 1]
            click.echo(f"{ERASE_LINE}{text}", nl=False, err=True)

    def during(self, work: Callable[[], T]) -> T:
        """Does the work, then erases the line."""
        from client.terminal.output import ERASE_LINE

        try:
            return work()
        finally:
            if self._is_shown:
                click.echo(ERASE_LINE, nl=False, err=True)
