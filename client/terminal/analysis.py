"""Shows the analysis of a match on a terminal: a graph of the chances, the marked moves, a summary.

This module does no I/O.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from client.analyses import AnalysedPosition, AnalysisReport
from client.api import MatchRecord
from client.terminal import words

#: The characters of a cell of the graph, from empty to full.
BLOCKS = " ▁▂▃▄▅▆▇█"
#: The characters of a cell on an output without block characters.
ASCII_BLOCKS = " ..::++##"
#: The height of the graph, in lines.
GRAPH_LINES = 4
#: The width of the labels beside the graph, in characters.
LABEL_WIDTH = 7
#: The sign of each mark below the graph.
SIGNS = {"inaccuracy": "~", "mistake": "?", "blunder": "X"}
#: The width of the progress bar, in characters.
BAR_WIDTH = 30
#: The plural of each mark.
PLURALS = {"inaccuracy": "inaccuracies", "mistake": "mistakes", "blunder": "blunders"}


def progress_text(report: AnalysisReport) -> str:
    """A progress bar: "[#####.........] 20 of 61 positions"; or the reason for a wait."""
    if report.state == "queued" and report.ahead:
        noun = "analysis is" if report.ahead == 1 else "analyses are"
        return f"Waiting: {report.ahead} {noun} before this one"
    full = BAR_WIDTH * report.done_plies // max(1, report.plies)
    bar = f"[{'#' * full}{'.' * (BAR_WIDTH - full)}]"
    return f"{bar} {report.done_plies} of {report.plies} positions"


def report_lines(
    record: MatchRecord, report: AnalysisReport, width: int, has_blocks: bool
) -> list[str]:
    """The whole analysis: the graph, the marked moves with the better lines, and the summary."""
    return [
        *draw_graph(record, report.moves, width, has_blocks).lines,
        "",
        *_marked_lines(record, report.moves),
        *_summary_lines(record, report),
    ]


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph: its heading and its rows, the signs of the marks below them, and what these signs
    mean. Both are "" where no move is marked.
    """

    rows: tuple[str, ...]
    signs: str = ""
    legend: str = ""

    @property
    def lines(self) -> list[str]:
        """The whole graph."""
        marks = (self.signs, f"{'':{LABEL_WIDTH}}{self.legend}") if self.signs else ()
        return [*self.rows, *marks]


def draw_graph(
    record: MatchRecord, positions: Sequence[AnalysedPosition], width: int, has_blocks: bool
) -> Graph:
    """The graph of the first side's chance to win, with the marks below.

    If there are more positions than columns, a column shows the chance of its last position and its
    worst mark.
    """
    name = words.side_name(record.view, 0)
    columns = _columns(positions, max(8, width - LABEL_WIDTH))
    blocks = BLOCKS if has_blocks else ASCII_BLOCKS
    rows = [f"{words.possessive(name)} chance to win"]
    for row in reversed(range(GRAPH_LINES)):
        label = {GRAPH_LINES - 1: "100 %", 0: "0 %"}.get(row, "")
        cells = "".join(_cell(column[-1].chance, row, blocks) for column in columns)
        rows.append(f"{label:>{LABEL_WIDTH - 2}} |{cells}".rstrip())
    marks = "".join(_sign(column) for column in columns)
    if not marks.strip():
        return Graph(tuple(rows))
    used = [f"{sign} {mark}" for mark, sign in SIGNS.items() if sign in marks]
    return Graph(tuple(rows), f"{'':{LABEL_WIDTH}}{marks}".rstrip(), ", ".join(used))


def position_lines(
    record: MatchRecord, positions: dict[int, AnalysedPosition], ply: int
) -> list[str]:
    """The analysis of the position after `ply` plies, and of the move that led to it."""
    lines = []
    before, here = positions.get(ply - 1), positions.get(ply)
    if before is not None and before.says_mark:
        lines += [f"  {before.says_mark}", f"  Better: {before.line}"]
    elif before is not None and before.only and before.loss == 0.0:
        lines.append("  The only good move.")
    if here is not None:
        chance = f"{words.side_name(record.view, 0)} {here.chance} % to win"
        best = f"; best: {here.line}" if here.line and ply < len(record.moves) else ""
        lines.append(f"  Analysis: {chance}{best}")
    return lines


def play_on_text(record: MatchRecord, report: AnalysisReport, program: str, where: str) -> str:
    """How to play the worst mistake differently, one of a person if there is one; "" without any.

    `program` is how the user types this one, `where` names the match for its command.
    """
    marked = [each for each in report.moves if each.mark and each.ply < len(record.moves)]
    of_people = [each for each in marked if record.seats[each.seat].kind != "ai"]
    if not marked:
        return ""
    ply = max(of_people or marked, key=lambda each: each.loss or 0.0).ply
    played = record.moves[ply]
    move = f"{words.move_number(ply, played)} {words.move_text(played)}"
    level = next((f" --level {seat.level}" for seat in record.seats if seat.level), "")
    command = f"{program} play {record.game} --from {where} --ply {ply}{level}"
    return f"To play something better than {move}: {command}"


def _columns(positions: Sequence[AnalysedPosition], width: int) -> list[Sequence[AnalysedPosition]]:
    """The positions in at most `width` columns of about the same length."""
    count = min(width, len(positions))
    edges = [i * len(positions) // count for i in range(count + 1)] if count else [0]
    return [positions[first:end] for first, end in pairwise(edges)]


def _cell(chance: int, row: int, blocks: str) -> str:
    """The character of a column in one line. A chance above 0 shows in the lowest line."""
    steps = len(blocks) - 1
    filled = round(chance * GRAPH_LINES * steps / 100) - row * steps
    if row == 0 and chance > 0:
        filled = max(1, filled)
    return blocks[min(steps, max(0, filled))]


def _sign(column: Sequence[AnalysedPosition]) -> str:
    worst = max(column, key=lambda position: position.loss or 0.0)
    return SIGNS.get(worst.mark or "", " ")


def _marked_lines(record: MatchRecord, positions: Sequence[AnalysedPosition]) -> Iterator[str]:
    """The marked moves, each with what it lost and the better line."""
    for position in positions:
        if position.mark is not None and position.ply < len(record.moves):
            played = record.moves[position.ply]
            number = words.move_number(position.ply, played)
            yield f"{number} {words.move_text(played)}  {position.says_mark}"
            yield f"    Better: {position.line}"


def _summary_lines(record: MatchRecord, report: AnalysisReport) -> Iterator[str]:
    if report.summary is None:
        return
    for seat, accuracy in enumerate(report.summary.accuracy):
        if accuracy is None:
            continue
        counts = report.summary.counts[seat]
        marks = [
            words.counted(getattr(counts, mark), mark, PLURALS[mark]) for mark in PLURALS
        ]  # fmt: skip
        name = f"{words.side_name(record.view, seat)} ({words.quoted(record.seats[seat].name)})"
        yield f"{name}: accuracy {accuracy:g} %, {', '.join(marks)}"
    if report.summary.turning_points:
        yield "Turning points:"
        for turning_point in report.summary.turning_points:
            yield f"  {turning_point.sentence}"
