"""Replays a match on a terminal, step by step or from beginning to end."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from client.analyses import AnalysisReport
from client.api import MatchRecord
from client.terminal import words
from client.terminal.analysis import position_lines, report_lines
from client.terminal.board import DrawnBoard, draw_board
from client.terminal.colours import NO_COLOURS
from client.terminal.output import Output
from engine.view import PositionView
from server.time_controls import show_time

#: The help for the keys.
HELP = """\
  →, n, Enter, Space   the next move
  ←, p, b              the move before
  Home, ↑              the start
  End, ↓               the end
  NUMBER, Enter        the position after a move, for example 12 or 12...
  q, Escape            quit"""

#: The views of all positions, from ply 0 on; empty when the server no longer has the game.
Views = Sequence[PositionView]


class Title(NamedTuple):
    """The parts of a title: the game with its options and clock, the players, and the match with
    its length.
    """

    game: str
    players: str
    match: str


def title_of(record: MatchRecord) -> Title:
    """The title of a match."""
    players = " against ".join(
        f"{words.quoted(occupant.name)} ({words.side_name(record.view, seat)})"
        for seat, occupant in enumerate(record.seats)
    )
    options = words.options_text(record.options, record.options_text)
    game = f"{record.title}{options}{words.clock_suffix(record.clock)}"
    return Title(game, players, f"match {record.match}, {length_text(record)}")


def title_lines(record: MatchRecord) -> list[str]:
    """The game, the players, and whether the match still runs."""
    title = title_of(record)
    lines = [f"{title.game}, {title.match}", title.players]
    if record.over is None:
        lines.append("The match is still running." if record.room else "The text has no result.")
    if record.withheld:
        lines.append(record.withheld)
    return lines


def left_text(record: MatchRecord, ply: int) -> str:
    """The time that a move left its player, " [4:58]"; "" in a match without a clock."""
    left_ms = record.left_ms[ply] if ply < len(record.left_ms) else None
    return "" if left_ms is None else f" [{show_time(left_ms)}]"


def length_text(record: MatchRecord) -> str:
    """The length in moves as the game counts, or in plies if the server does not send it."""
    return record.length or f"{len(record.moves)} plies"


def move_numbers(record: MatchRecord) -> list[str]:
    """The number of the move before each position: "0" at the start, "1.", "1...", "2.", …"""
    return ["0", *(words.move_number(ply, played) for ply, played in enumerate(record.moves))]


def ply_lines(
    record: MatchRecord,
    views: Views,
    ply: int,
    colours: int = NO_COLOURS,
    report: AnalysisReport | None = None,
    has_figures: bool = False,
) -> list[str | DrawnBoard]:
    """The position after `ply` plies: last move, AI's search, analysis, board, and final result."""
    after = views[ply] if ply < len(views) else None
    lines: list[str | DrawnBoard] = ["Start"]
    if ply > 0:
        played = record.moves[ply - 1]
        line = words.move_line(record.view, ply - 1, words.seat_of(played, ply - 1), played, after)
        lines = [line + left_text(record, ply - 1)]
    search, assessment = record.thoughts.get(str(ply - 1)), record.assessments.get(str(ply - 1))
    if search is not None:
        lines += search.log.splitlines()
    if assessment is not None:
        lines.append(f"  AI: {words.assessment_text(assessment)}")
        if assessment.work:
            lines.append(f"  {assessment.work}")
    elif search is not None:
        text = words.search_text(search.depth, search.score, search.nodes, search.pv, search.value)
        lines.append(f"  AI: {text}")
    if report is not None:
        lines += position_lines(record, {each.ply: each for each in report.moves}, ply)
    result = None
    if ply == len(record.moves) and record.over is not None:
        result = words.result_text(record.view, record.over)
    if record.view is not None and ply < len(views):
        lines.append(
            draw_board(record.view, views[ply], colours, state=result, has_figures=has_figures)
        )
    elif result is not None:
        lines.append(result)
    return lines


def _lines(
    output: Output, record: MatchRecord, views: Views, ply: int, report: AnalysisReport | None
) -> list[str | DrawnBoard]:
    return ply_lines(record, views, ply, output.colours, report, output.has_figures)


def print_match(
    record: MatchRecord,
    views: Views,
    output: Output,
    only: int | None = None,
    report: AnalysisReport | None = None,
) -> None:
    """Prints the whole match, or only the position after `only` plies."""
    _print_head(record, output, report)
    for ply in range(len(record.moves) + 1) if only is None else [only]:
        output.print("")
        for line in _lines(output, record, views, ply, report):
            output.print(line)


def _print_head(record: MatchRecord, output: Output, report: AnalysisReport | None) -> None:
    """Prints the title, and the analysis if there is one."""
    for line in title_lines(record):
        output.print(line)
    if report is not None:
        output.print("")
        for line in report_lines(record, report, output.width, output.has_blocks):
            output.print(line)


def print_json(
    record: MatchRecord,
    views: Views,
    output: Output,
    only: int | None = None,
    report: AnalysisReport | None = None,
) -> None:
    """Prints the match as a line of JSON, then its analysis if there is one, then each position (or
    only one) as a line.
    """
    output.print(msgspec.json.encode(record).decode())
    if report is not None:
        output.print(msgspec.json.encode(report).decode())
    for ply in range(len(record.moves) + 1) if only is None else [only]:
        played = record.moves[ply - 1] if ply else None
        body = {
            "ply": ply,
            "move": played.move if played else None,
            "view": views[ply] if ply < len(views) else None,
        }
        output.print(msgspec.json.encode(body).decode())


def step_through(
    record: MatchRecord,
    views: Views,
    output: Output,
    read: Callable[[], str | None],
    ply: int = 0,
    report: AnalysisReport | None = None,
) -> None:
    """Shows a position and prompts for the next one until the user quits."""
    _print_head(record, output, report)
    numbers = move_numbers(record)
    while True:
        output.print("")
        for line in _lines(output, record, views, ply, report):
            output.print(line)
        chosen = _prompt_for_ply(output, read, ply, numbers, length_text(record))
        if chosen is None:
            return
        ply = chosen


def _prompt_for_ply(
    output: Output, read: Callable[[], str | None], ply: int, numbers: Sequence[str], length: str
) -> int | None:
    """Prompts until the user chooses a ply, and returns it; None when the user quits."""
    while True:
        output.prompt(
            f"{numbers[ply]} of {length}: n next, p back, a move's number, ? help, q quit"
        )
        line = read()
        output.clear_prompt()
        if line is None or line.strip() in ("q", "quit", "exit"):
            return None
        if line.strip() in ("?", "h", "help"):
            output.print(HELP)
            continue
        chosen = _parse_ply(line.strip(), ply, numbers)
        if chosen is not None:
            return chosen
        output.report(
            "error: n, p, a move's number "
            f"(0 for the start, up to {numbers[-1]}), ? or q is expected"
        )


def _parse_ply(text: str, ply: int, numbers: Sequence[str]) -> int | None:
    """The ply for a line: the next, the previous, or by a move's number; None for other lines.

    The full stop after a number may be missing.
    """
    match text:
        case "" | "n" | "next":
            return min(ply + 1, len(numbers) - 1)
        case "p" | "b" | "back":
            return max(ply - 1, 0)
        case "first":
            return 0
        case "last":
            return len(numbers) - 1
        case _:
            return next(
                (i for i, number in enumerate(numbers) if text in (number, number.rstrip("."))),
                None,
            )
