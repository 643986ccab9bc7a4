"""`plyroom replay`: shows a match that was played."""

import os
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from client.address import Address, linked_ply
from client.program import program
from client.subcommands.connecting import find_server
from client.subcommands.full_screen import fills_terminal, show_replay
from client.subcommands.options import (
    ascii_option,
    data_option,
    json_option,
    locate,
    parse_link_argument,
    plain_option,
    typed,
    url_option,
)
from client.subcommands.running import call_api, run_to_end

if TYPE_CHECKING:
    from client.analyses import AnalysisReport
    from client.api import MatchRecord
    from client.terminal.output import Output
    from client.terminal.replay import Views


@click.command()
@click.argument("match", metavar="MATCH_OR_LINK")
@click.option(
    "--ply", type=click.IntRange(0), help="Print only the position after this many plies."
)
@click.option(
    "--analyse", "is_analysed", is_flag=True, help="Analyse the match, and show what was better."
)
@url_option
@data_option
@json_option
@ascii_option
@plain_option
def replay(
    match: str,
    ply: int | None,
    is_analysed: bool,
    is_ascii: bool,
    url: Address | None,
    data: Path | None,
    as_json: bool,
    plain: bool,
) -> None:
    """Replay a match.

    On a terminal you step through it; in a pipe all positions are printed. With --data the match
    is read from that folder, and no server needs to run.
    """
    linked_server, match_id = parse_link_argument(match)
    ply = linked_ply(match) if ply is None else ply
    if data is None or linked_server is not None or url is not None:
        address, match_id = locate(match, url)
        if shown := _replay(address, match_id, ply, as_json, is_analysed, is_ascii, plain):
            run_to_end(shown)
        return

    import asyncio

    async def run() -> None:
        async with find_server(None, data) as server:
            shown = await asyncio.to_thread(
                _replay, server.address, match_id, ply, as_json, is_analysed, is_ascii, plain, data
            )
            if shown is not None:
                await shown

    run_to_end(run())


def _replay(
    address: Address,
    match_id: str,
    ply: int | None,
    as_json: bool,
    is_analysed: bool,
    is_ascii: bool,
    plain: bool,
    data: Path | None = None,
) -> Coroutine[Any, Any, None] | None:
    """Prints the match, or returns what shows it on the whole terminal."""
    from msgspec.structs import replace

    from client.api import fetch_assessments, fetch_match, fetch_views
    from client.terminal.output import standard_output
    from client.terminal.replay import print_json, print_match

    record = call_api(lambda: fetch_match(address, match_id))
    if ply is not None and ply > len(record.moves):
        raise click.BadParameter(f"the match has {len(record.moves)} plies", param_hint="--ply")
    views = (
        call_api(lambda: fetch_views(address, match_id, 0, len(record.moves)))
        if record.view is not None
        else []
    )
    first, last = (0, len(record.moves)) if ply is None else (max(0, ply - 1), ply)
    if sys.stdout.isatty():  # the user may step to any ply
        first, last = 0, len(record.moves)
    report = None
    if is_analysed:
        from client.subcommands.analyse import wait_for_analysis

        report = wait_for_analysis(address, match_id, data)
    record = replace(
        record, assessments=call_api(lambda: fetch_assessments(address, record, first, last))
    )
    output = standard_output(is_ascii)

    def tell_way_on() -> None:
        if ply is None:
            where = match_id if data is not None else f"{address}/match/{match_id}"
            where += "" if data is None else f" --data {typed(data)}"
            output.report(f"To keep it as a file: {program()} export {where} -o FILE.pgn")
        if report is not None:
            from client.subcommands.analyse import print_way_on

            print_way_on(record, report, address, data)

    async def show() -> None:
        await show_replay(record, views, address, ply or 0, report, is_ascii)
        tell_way_on()

    if as_json:
        print_json(record, views, output, ply, report)
        return None
    if fills_terminal(plain):
        return show()
    if output.interactive:
        _step_through(record, views, output, ply or 0, report)
    else:
        print_match(record, views, output, ply, report)
    tell_way_on()
    return None


def _step_through(
    record: "MatchRecord",
    views: "Views",
    output: "Output",
    ply: int,
    report: "AnalysisReport | None",
) -> None:
    """Steps through a match by keys, or by lines on a dumb terminal and where keys need Enter."""
    from client.terminal.keys import StepReader, pressed_keys
    from client.terminal.replay import step_through

    if os.environ.get("TERM", "dumb") == "dumb" or os.name == "nt":
        step_through(record, views, output, lambda: sys.stdin.readline() or None, ply, report)
        return
    with suppress(EOFError, KeyboardInterrupt), pressed_keys(sys.stdin.fileno()) as read:
        steps = StepReader(read, lambda text: click.echo(text, nl=False))
        step_through(record, views, output, steps.next, ply, report)
