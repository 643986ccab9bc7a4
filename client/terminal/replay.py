"""A finished match on a terminal: stepped through by hand, or printed from beginning to end."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from client.api import MatchRecord
from client.terminal import words
from client.terminal.board import board_text
from client.terminal.output import Output
from engine.view import PositionView

#: What to draw at each ply from 0 on; empty when the server does not have the game any more.
Views = Sequence[PositionView]


def title_lines(record: MatchRecord) -> list[str]:
    """What was played, by whom, how it ended."""
    players = " against ".join(
        f"{who.name} ({words.side_name(record.view, seat)})"
        for seat, who in enumerate(record.seats)
    )
    lines = [
        f"{record.title}{words.options_text(record.options)}, match {record.match}, {length(record)}",
        players,
    ]
    if record.over is None:
        lines.append("The match is still running.")
    return lines


def length(record: MatchRecord) -> str:
    """How long the match is: in moves as its game counts, or in plies if the server does not say."""
    return record.length or f"{len(record.moves)} plies"


def numbers(record: MatchRecord) -> list[str]:
    """What stands before the move that led to each ply: "0" at the start, then "1.", "1...", "2.",
    …
    """
    return ["0", *(words.move_number(ply, played) for ply, played in enumerate(record.moves))]


def ply_lines(record: MatchRecord, views: Views, ply: int, colour: bool = False) -> list[str]:
    """One position: the move that led to it, what the AI saw, the board; at the end the result."""
    after = views[ply] if ply < len(views) else None
    lines = ["Start"]
    if ply > 0:
        lines = [
            words.move_line(record.view, ply - 1, _seat(views, ply), record.moves[ply - 1], after)
        ]
    thought = record.thoughts.get(str(ply - 1))
    if thought is not None:
        lines.append(
            f"  AI: {words.search_text(thought.depth, thought.score, thought.nodes, thought.pv)}"
        )
    if record.view is not None and ply < len(views):
        lines.append(board_text(record.view, views[ply], colour))
    if ply == len(record.moves) and record.over is not None:
        lines.append(words.result_text(record.view, record.over))
    return lines


def _seat(views: Views, ply: int) -> int:
    """Who made the move before a ply, as the position before it says."""
    turn = views[ply - 1].turn if 0 < ply <= len(views) else None
    return turn if turn is not None else (ply - 1) % 2


def print_match(record: MatchRecord, views: Views, output: Output, only: int | None = None) -> None:
    """The whole match, or only the position after so many moves."""
    for line in title_lines(record):
        output.say(line)
    for ply in range(len(record.moves) + 1) if only is None else [only]:
        output.say("")
        for line in ply_lines(record, views, ply, output.colour):
            output.say(line)


def print_json(record: MatchRecord, views: Views, output: Output, only: int | None = None) -> None:
    """The match as a line of JSON, then a line for each position (or for that one)."""
    output.say(msgspec.json.encode(record).decode())
    for ply in range(len(record.moves) + 1) if only is None else [only]:
        played = record.moves[ply - 1] if ply else None
        body = {
            "ply": ply,
            "move": played.move if played else None,
            "view": views[ply] if ply < len(views) else None,
        }
        output.say(msgspec.json.encode(body).decode())


def step_through(
    record: MatchRecord, views: Views, output: Output, read: Callable[[], str | None], ply: int = 0
) -> None:
    """Shows a position and asks where to go, until the user has enough."""
    for line in title_lines(record):
        output.say(line)
    known = numbers(record)
    while True:
        output.say("")
        for line in ply_lines(record, views, ply, output.colour):
            output.say(line)
        step = next(_answers(output, read, ply, known, length(record)), None)
        if step is None:
            return
        ply = step


def _answers(
    output: Output, read: Callable[[], str | None], ply: int, known: Sequence[str], whole: str
) -> Iterator[int]:
    """The ply that is asked for; nothing when the user leaves."""
    while True:
        output.ask(f"{known[ply]} of {whole}: Enter next, b back, a move's number, q quit")
        line = read()
        output.answered()
        if line is None or line.strip() in ("q", "quit", "exit"):
            return
        wanted = _wanted(line.strip(), ply, known)
        if wanted is not None:
            yield wanted
        else:
            output.tell(
                f"error: Enter, b, the number of a move (0 for the start, up to {known[-1]}), or q is expected"
            )


def _wanted(text: str, ply: int, known: Sequence[str]) -> int | None:
    """The ply that a line asks for: by the number of the move that led to it, with or without its
    full stop.
    """
    match text:
        case "" | "n" | "next":
            return min(ply + 1, len(known) - 1)
        case "b" | "back":
            return max(ply - 1, 0)
        case _:
            return next(
                (at for at, number in enumerate(known) if text in (number, number.rstrip("."))),
                None,
            )
