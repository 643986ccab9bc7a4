"""Analyses a game in a file on this machine: `python -m server.ops.analyse FILE`.

It prints lines of JSON: first the match, as `GET /api/matches/{match}` has it, then the reports
that a client receives when it follows an analysis. It needs no server and stores nothing.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click
import msgspec

from engine.game import Position
from engine.pool.pool import Pool
from engine.rules.numbering import length_text, move_number
from engine.rules.registry import load_game
from engine.search.job import SearchError
from engine.text_files import NotText, decode_text
from server.analysis.game_text import MAX_TEXT, BadGameText, ParsedGame, parse_game
from server.analysis.positions import NODES, PlyResult, Subject, ply_result
from server.analysis.report import AnalysisReport
from server.analysis.words import Analysed, make_entry, make_summary, side_name
from server.ports import Engines

_encode = msgspec.json.Encoder().encode


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    """Analyse a game in a file; print lines of JSON."""
    try:
        with file.open("rb") as opened:
            content = opened.read(4 * MAX_TEXT + 4)  # a character has at most four bytes
        parsed = parse_game(decode_text(content), load_game)
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from error
    except (BadGameText, NotText) as error:
        raise click.ClickException(f"{file}: {error}") from error
    if parsed.game.rules.SEARCH == "teach":
        raise click.ClickException(f"{parsed.game.title} has no search that could analyse a match")
    try:
        asyncio.run(_print_analysis(parsed, file.name))
    except SearchError as error:
        raise click.ClickException(f"the search failed: {error}") from error


async def _print_analysis(parsed: ParsedGame, name: str) -> None:
    _print(match_entry(parsed, name))
    async with Pool(1, warm=()) as pool:
        async for report in analyse(parsed, pool):
            _print(report)


def _print(value: Any) -> None:
    sys.stdout.buffer.write(_encode(value) + b"\n")
    sys.stdout.buffer.flush()


async def analyse(parsed: ParsedGame, engines: Engines) -> AsyncIterator[AnalysisReport]:
    """Yields the new part of a game's analysis after each search, and at the end the whole."""
    subject = Subject(parsed.game, parsed.options, parsed.start, parsed.moves, parsed.positions)
    analysed: dict[int, Analysed] = {}
    yield _report(subject, analysed, ())
    for ply in reversed(range(subject.plies)):
        position, result = subject.positions[ply], PlyResult()
        if position.outcome() is None:
            answer = await engines.search(subject.job(ply, "file"), lambda info: None)
            result = ply_result(position, answer)
        analysed[ply] = Analysed.of(ply, position, result)
        yield _report(subject, analysed, (ply,))
    yield _report(subject, analysed, tuple(range(subject.plies)))


def _report(
    subject: Subject, analysed: dict[int, Analysed], plies: tuple[int, ...]
) -> AnalysisReport:
    """A report with the entries of these plies."""
    moves = (*subject.moves, None)
    is_done = len(plies) == subject.plies
    return AnalysisReport(
        state="done" if is_done else "running", plies=subject.plies, done_plies=len(analysed),
        nodes=NODES, engine=subject.engine,
        moves=tuple(
            make_entry(analysed[ply], moves[ply], analysed.get(ply + 1)) for ply in plies
        ),
        summary=make_summary([analysed[ply] for ply in plies], subject.moves) if is_done else None,
    )  # fmt: skip


def match_entry(parsed: ParsedGame, name: str) -> dict[str, Any]:
    """The game as `GET /api/matches/{match}` has a match; `name` is that of its file."""
    game, positions = parsed.game, parsed.positions
    names = [parsed.names[seat] or side_name(positions[0], seat) for seat in (0, 1)]
    outcome = positions[-1].outcome()
    over = None
    if outcome is not None:
        over = {"winner": outcome.winner, "how": "board", "reason": outcome.reason}
    elif parsed.result:
        how = "agreement" if parsed.winner is None else "resign"
        reason = parsed.reason or "as the file says"
        over = {"winner": parsed.winner, "how": how, "reason": f"{parsed.result}, {reason}"}
    return {
        "match": name, "room": "", "game": game.id, "title": game.title, "number": 1,
        "seats": [{"identity": f"{seat}", "name": name} for seat, name in enumerate(names)],
        "over": over, "plies": len(parsed.moves),
        "length": length_text(game, len(parsed.moves), positions[0].turn),
        "options": dict(parsed.options), "start": parsed.start,
        "moves": [
            _played(before, after, ply, token)
            for ply, (before, after, token) in enumerate(
                zip(positions, positions[1:], parsed.moves, strict=False)
            )
        ],
        "view": game.board(parsed.options),
    }  # fmt: skip


def _played(before: Position, after: Position, ply: int, token: str) -> dict[str, Any]:
    """A move as a client receives it."""
    played: dict[str, Any] = {
        "move": token,
        "text": after.played() or token,
        "number": move_number(before.game, ply, before.turn),
    }
    return played if before.turn == ply % 2 else played | {"seat": before.turn}


if __name__ == "__main__":
    main()
