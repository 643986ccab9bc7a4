"""Replays a finished match on a terminal, step by step or from beginning to end."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from client.api import MatchRecord
from client.terminal import words
from client.terminal.board import board_text
from client.terminal.output import Output
from engine.view import PositionView

#: The drawings from ply 0 on; empty when the server no longer has the game.
Views = Sequence[PositionView]


def title_lines(record: MatchRecord) -> list[str]:
    """The game, the players, and whether the match still runs."""
    players = " against ".join(
        f"{who.name} ({words.side_name(record.view, seat)})"
        for seat, who in enumerate(record.seats)
    )
    lines = [
        f"{record.title}{words.options_text(record.options)}, "
        f"match {record.match}, {length(record)}",
        players,
    ]
    if record.over is None:
        lines.append("The match is still running.")
    return lines


def length(record: MatchRecord) -> str:
    """The length in moves as the game counts, or in plies if the server does not say."""
    return record.length or f"{len(record.moves)} plies"


def numbers(record: MatchRecord) -> list[str]:
    """The number of the move that led to each ply: "0" at the start, then "1.", "1...", "2.", …"""
    return ["0", *(words.move_number(ply, played) for ply, played in enumerate(record.moves))]


def ply_lines(record: MatchRecord, views: Views, ply: int, colour: bool = False) -> list[str]:
    """One position: the last move, the AI's search, the board, and at the end the result."""
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
    """The seat that made the move before a ply, according to the position before it."""
    turn = views[ply - 1].turn if 0 < ply <= len(views) else None
    return turn if turn is not None else (ply - 1) % 2


def print_match(record: MatchRecord, views: Views, output: Output, only: int | None = None) -> None:
    """Prints the whole match, or only the position after `only` plies."""
    for line in title_lines(record):
        output.say(line)
    for ply in range(len(record.moves) + 1) if only is None else [only]:
        output.say("")
        for line in ply_lines(record, views, ply, output.colour):
            output.say(line)


def print_json(record: MatchRecord, views: Views, output: Output, only: int | None = None) -> None:
    """Prints the match as a line of JSON, then each position (or only one) as a line."""
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
    """Shows a position and asks for the next one until the user quits."""
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
    """Yields the ply that the user chooses; nothing when the user quits."""
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
            output.report(
                "error: Enter, b, the number of a move "
                f"(0 for the start, up to {known[-1]}), or q is expected"
            )


def _wanted(text: str, ply: int, known: Sequence[str]) -> int | None:
    """The ply that a line names by the number of its move, with or without the full stop."""
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
