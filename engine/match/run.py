"""A match: pairs of games from an opening, with the sides swapped, until there are enough or a test is decided.

Each game is decided by the header and its number, so games may be played in any order and by several processes; they
are logged in order, and a test is asked after each pair in order. So what is logged never depends on who was faster.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from msgspec import structs

from engine.games.registry import load_game
from engine.match.description import parse_description
from engine.match.log import Header, Log, Record, moves_digest
from engine.match.making import make_player, searcher_for
from engine.match.openings import Opening, Openings
from engine.match.play import Adjudication, Player, play_game
from engine.match.players import game_seed
from engine.match.statistics import Sprt, Summary, summarise

WORKER_END_S = 5


class WorkerLost(Exception):
    """A process of the match died; the log goes on where it ended."""


class Bench:
    """The two players of a match and its referee, in this process."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._game = load_game(header.game)
        descriptions = [parse_description(text) for text in header.players]
        first, second = (make_player(description, self._game, header.options) for description in descriptions)
        self._players: tuple[Player, Player] = (first, second)

    def play(self, number: int, opening: Opening) -> Record:
        """Plays one game: the first player has seat 0 in games of even number."""
        header, seat = self._header, number % 2
        players = self._players if seat == 0 else self._players[::-1]
        rule = Adjudication(max_plies=header.max_plies, score=header.adjudicate)
        seed = game_seed(header.seed, number)
        played = play_game(self._game, header.options, opening.moves, (players[0], players[1]), seed, rule)
        half_points = 1 if played.winner is None else 2 * (played.winner == seat)
        record = Record(
            n=number, opening=" ".join(opening.moves), half_points=half_points, plies=len(played.moves),
            digest=moves_digest(played.moves), forfeit=played.forfeit, reason=played.reason if played.forfeit else "",
        )  # fmt: skip
        if header.results_only:
            return structs.replace(record, opening="", digest="")
        if header.compact:
            return record
        nodes, time_ms = played.nodes, played.time_ms
        return structs.replace(
            record, reason=played.reason, moves=" ".join(played.moves), nodes=(nodes[seat], nodes[1 - seat]),
            time_ms=(time_ms[seat], time_ms[1 - seat]),
        )  # fmt: skip

    def close(self) -> None:
        for player in self._players:
            player.close()


def openings_of(header: Header) -> Openings:
    """The openings of a match; the same for all matches of this game, seed and length."""
    return Openings(searcher_for(load_game(header.game)), header.options, header.seed, header.opening_plies)


def run_match(
    log: Log,
    games: int,
    test: Sprt | None = None,
    concurrency: int = 1,
    on_game: Callable[[Record], None] = lambda record: None,
) -> Summary | None:
    """Plays what the log lacks of so many games (an even number), or until the test is decided."""
    halves = [record.half_points for record in log.records]
    openings = openings_of(log.header)

    def decided() -> bool:
        summary = summarise(halves, test) if test and len(halves) % 2 == 0 else None
        return summary is not None and summary.accepted is not None

    if len(halves) < games and not decided():
        with _played(log.header, openings, len(halves), games, concurrency) as records:
            for record in records:
                log.append(record)
                halves.append(record.half_points)
                on_game(record)
                if decided():
                    break
    return summarise(halves, test)


@contextmanager
def _played(header: Header, openings: Openings, begin: int, end: int, concurrency: int) -> Iterator[Iterator[Record]]:
    """The games from a number to another, in order."""
    if concurrency == 1:
        bench = Bench(header)
        try:
            yield (bench.play(number, openings[number // 2]) for number in range(begin, end))
        finally:
            bench.close()
    else:
        workers = [_Worker(header) for _ in range(min(concurrency, end - begin))]
        try:
            yield _in_order(workers, openings, begin, end)
        finally:
            for worker in workers:
                worker.end()


def _in_order(workers: list["_Worker"], openings: Openings, begin: int, end: int) -> Iterator[Record]:
    waiting: dict[int, Record] = {}
    given = due = begin
    for worker in workers:
        worker.give(given, openings[given // 2])
        given += 1
    while due < end:
        ready = wait([worker.pipe for worker in workers])
        for worker in workers:
            if worker.pipe in ready:
                record = worker.take()
                waiting[record.n] = record
                if given < end:
                    worker.give(given, openings[given // 2])
                    given += 1
        while due in waiting:
            yield waiting.pop(due)
            due += 1


class _Worker:
    """A process that plays games; it ends when its pipe does, however its parent went."""

    def __init__(self, header: Header) -> None:
        context = multiprocessing.get_context("spawn")
        near, far = context.Pipe()
        self.pipe: Any = near
        self._process = context.Process(target=_serve, args=(far, header), name="match", daemon=True)
        self._process.start()
        far.close()

    def give(self, number: int, opening: Opening) -> None:
        try:
            self.pipe.send((number, opening))
        except OSError as error:
            raise WorkerLost("a process of the match died") from error

    def take(self) -> Record:
        try:
            record: Record = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost(f"a process of the match died (code {self._process.exitcode})") from error
        return record

    def end(self) -> None:
        self.pipe.close()
        self._process.join(WORKER_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, header: Header) -> None:
    bench = Bench(header)
    try:
        while True:
            number, opening = pipe.recv()
            pipe.send(bench.play(number, opening))
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    finally:
        bench.close()
