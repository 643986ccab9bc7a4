"""Analyses the games of a file on this machine: `python -m server.ops.analyse FILE|-`.

It prints lines of JSON. For each game that it analyses they are the match, as `GET
/api/matches/{match}` has it, then the reports that a client receives when it follows an analysis.
A file of several games is listed, a line for each (`ListedGame`), unless `--number` picks one or
`--all` does all. It needs no server and stores nothing.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from engine.formats.read.files import read_games
from engine.formats.record import BadGame, GameRecord
from engine.game import Game, GameFault, Position
from engine.pool.pool import Pool
from engine.rules.numbering import length_text, move_number
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from engine.search.job import SearchError
from server.analysis.positions import NODES, PlyResult, Subject, ply_result
from server.analysis.report import AnalysisReport
from server.analysis.words import Analysed, make_entry, make_summary, side_name
from server.ports import Engines
from server.protocol.assessments import ListedGame

#: How much of a file is read at once, in bytes.
PART_BYTES = 1 << 16

_encode = msgspec.json.Encoder().encode


class FileGame(Struct, frozen=True):
    """A game of a file with the positions of its moves. `name` says which it is."""

    name: str
    game: Game
    record: GameRecord
    positions: tuple[Position, ...]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--number", type=click.IntRange(1), help="The game to analyse, counted from 1.")
@click.option("--all", "is_all", is_flag=True, help="Analyse all games.")
def main(file: str, number: int | None, is_all: bool) -> None:
    """Analyse the game of a file, or list its games; print lines of JSON."""
    if number is not None and is_all:
        raise click.UsageError("--number picks one game, --all analyses every one: choose")
    name = "standard input" if file == "-" else file
    try:
        with click.open_file(file, "rb") as opened:
            games = read_games(iter(partial(opened.read, PART_BYTES), b""), load_game)
            _work(enumerate(games, 1), name, number, is_all)
    except OSError as error:
        raise click.ClickException(f"{name} cannot be read: {error.strerror}") from error
    except GameFault as error:
        raise click.ClickException(f"{name}: {error}") from error
    except SearchError as error:
        raise click.ClickException(f"the search failed: {error}") from error


def _work(
    games: Iterator[tuple[int, GameRecord | BadGame]], name: str, number: int | None, is_all: bool
) -> None:
    """Lists the games or analyses those that are wanted."""
    if is_all:
        _analyse_all(games, name)
        return
    if number is not None:
        before = 0
        for before, game in games:
            if before == number:
                asyncio.run(_print_analyses([_analysable(game, name, number)]))
                return
        raise click.ClickException(f"{name} has no game {number}: it has {before}")
    begin = list(islice(games, 2))
    if not begin:
        raise click.ClickException(f"{name}: there is no game in it")
    if len(begin) == 1:
        asyncio.run(_print_analyses([_analysable(begin[0][1], name, None)]))
        return
    for at, game in chain(begin, games):
        _print(_listed(at, game))


def _analyse_all(games: Iterator[tuple[int, GameRecord | BadGame]], name: str) -> None:
    """Analyses all games that can be analysed; lists the problems of the others as it goes."""
    problems = [0]

    def analysable() -> Iterator[FileGame]:
        for number, game in games:
            try:
                yield _analysable(game, name, number)
            except click.ClickException as error:
                problems[0] += 1
                _print(ListedGame(number, problem=error.message))

    asyncio.run(_print_analyses(analysable()))
    if problems[0]:
        count = problems[0]
        raise click.ClickException(f"{name}: {count} game{'s' * (count > 1)} could not be analysed")


def _analysable(game: GameRecord | BadGame, name: str, number: int | None) -> FileGame:
    """A game that can be analysed. Raises ClickException with the reason for any other."""
    where = name if number is None else f"{name}, game {number}"
    if isinstance(game, BadGame):
        raise click.ClickException(f"{name}: {game}")
    rules = load_game(game.game)
    if not game.moves:
        raise click.ClickException(f"{where}: the game has no moves")
    if rules.rules.SEARCH == "teach":
        raise click.ClickException(f"{where}: {rules.title} has no search that could analyse it")
    positions = [rules.position(game.start, game.options)]
    for move in game.moves:
        positions.append(positions[-1].replay(move.token))
    shown = Path(name).name if number is None else f"{Path(name).name}, game {number}"
    return FileGame(shown, rules, game, tuple(positions))


def _listed(number: int, game: GameRecord | BadGame) -> ListedGame:
    if isinstance(game, BadGame):
        return ListedGame(number, problem=str(game).partition(", ")[2])
    rules = load_game(game.game)
    start = rules.position(game.start, game.options)
    first, second = _names(game, start)
    winner = None if game.over is None else game.over.winner
    result = (
        "no result" if game.over is None
        else "a draw" if winner is None
        else f"{(first, second)[winner]} won"
    )  # fmt: skip
    length = length_text(rules, len(game.moves), start.turn)
    return ListedGame(number, rules.title, (first, second), result, length)


def _names(record: GameRecord, start: Position) -> tuple[str, str]:
    """The names of the players; a player without one has that of the side."""
    first, second = (record.seats[seat].name or side_name(start, seat) for seat in (0, 1))
    return first, second


async def _print_analyses(games: Iterable[FileGame]) -> None:
    async with Pool(1, warm=()) as pool:
        for game in games:
            _print(match_entry(game))
            async for report in analyse(game, pool):
                _print(report)


def _print(value: Any) -> None:
    sys.stdout.buffer.write(_encode(value) + b"\n")
    sys.stdout.buffer.flush()


async def analyse(game: FileGame, engines: Engines) -> AsyncIterator[AnalysisReport]:
    """Yields the new part of a game's analysis after each search, and at the end the whole."""
    record = game.record
    tokens = tuple(move.token for move in record.moves)
    subject = Subject(game.game, record.options, record.start, tokens, game.positions)
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


def match_entry(subject: FileGame) -> dict[str, Any]:
    """The game as `GET /api/matches/{match}` has a match; its id is the name of its file."""
    game, record, positions = subject.game, subject.record, subject.positions
    over = None
    if record.over is not None:
        ending = record.over
        how = ending.how or ("agreement" if ending.winner is None else "resign")
        reason = ending.reason or "as the file says"
        over = {"winner": ending.winner, "how": how, "reason": reason, "points": ending.points}
    return {
        "match": subject.name, "room": "", "game": game.id, "title": game.title, "number": 1,
        "seats": [
            {"identity": f"{seat}", "name": name}
            for seat, name in enumerate(_names(record, positions[0]))
        ],
        "over": over, "plies": len(record.moves),
        "length": length_text(game, len(record.moves), positions[0].turn),
        "options": dict(record.options), "start": record.start,
        "moves": [
            _played(before, after, ply, move.token)
            for ply, (before, after, move) in enumerate(
                zip(positions, positions[1:], record.moves, strict=False)
            )
        ],
        "view": game.board(record.options),
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
    ignore_overflow()
    main()
