"""Runs a match: colour-swapped pairs of games until there are enough or a test is decided.

A game depends only on the header and its number, so several processes may play games in any order.
The match logs the games in order and evaluates the test after each pair in order. So the log never
depends on which process is faster.
"""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from multiprocessing.connection import Connection, wait
from typing import Any

from msgspec import structs

from engine.match.description import parse_description
from engine.match.log import Header, Log, Record, moves_digest
from engine.match.making import is_deterministic, make_player, searcher_for
from engine.match.openings import Opening, Openings
from engine.match.play import Adjudication, Player, PlayerFailed, play_game
from engine.match.players import game_seed
from engine.match.statistics import Sprt, Summary, summarise
from engine.rules.registry import load_game

#: Seconds that a process may take to end before it is killed.
WORKER_END_S = 5
#: Maximum number of processes of a match.
MAX_PROCESSES = 256


class WorkerLost(Exception):
    """A process of the match died; the match can resume from its log."""


class CannotPlay(Exception):
    """A player cannot begin: its program or checkout is missing, or refuses its settings."""


class GameRunner:
    """Plays games of a match between its two players, in this process."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._game = load_game(header.game)
        descriptions = [parse_description(text) for text in header.players]
        first, second = (
            make_player(description, self._game, header.options) for description in descriptions
        )
        self._players: tuple[Player, Player] = (first, second)

    def start(self) -> None:
        """Starts the programs among the players; CannotPlay names one that fails, and why."""
        for text, player in zip(self._header.players, self._players, strict=True):
            try:
                player.begin(0)
            except PlayerFailed as error:
                raise CannotPlay(f"the player {text!r} does not begin: {error}") from error

    def play(self, number: int, opening: Opening) -> Record:
        """Plays one game and returns its record; the first player has seat 0 in even games."""
        header, seat = self._header, number % 2
        players = self._players if seat == 0 else self._players[::-1]
        rule = Adjudication(max_plies=header.max_plies, score=header.adjudicate)
        seed = game_seed(header.seed, number)
        played = play_game(
            self._game, header.options, opening.moves, (players[0], players[1]), seed, rule
        )
        half_points = 1 if played.winner is None else 2 * (played.winner == seat)
        record = Record(
            n=number, opening=" ".join(opening.moves), half_points=half_points,
            plies=len(played.moves), digest=moves_digest(played.moves), forfeit=played.forfeit,
            reason=played.reason if played.forfeit else "",
        )  # fmt: skip
        if header.results_only:
            return structs.replace(record, opening="", digest="")
        if header.compact:
            return record
        nodes, time_ms = played.nodes, played.time_ms
        return structs.replace(
            record, reason=played.reason, moves=" ".join(played.moves),
            nodes=(nodes[seat], nodes[1 - seat]), time_ms=(time_ms[seat], time_ms[1 - seat]),
        )  # fmt: skip

    def close(self) -> None:
        for player in self._players:
            player.close()


def openings_of(header: Header) -> Openings:
    """The openings of a match; all matches with the same game, seed and length share them."""
    game = load_game(header.game)
    source = game if game.rules.SEARCH == "teach" else searcher_for(game)
    return Openings(source, header.options, header.seed, header.opening_plies)


def run_match(
    log: Log,
    games: int,
    test: Sprt | None = None,
    concurrency: int = 1,
    on_game: Callable[[Record], None] = lambda record: None,
) -> Summary | None:
    """Plays the missing games of a log up to `games` (an even number), or until the test decides.

    Returns the summary of all games of the log; None if it has no whole pair. If both players are
    deterministic, the match ends when its openings repeat, because the games would repeat too.
    Raises CannotPlay before the first game if a player cannot begin; a player that fails later
    loses that game.
    """
    half_points = [record.half_points for record in log.records]
    openings = openings_of(log.header)

    def is_decided() -> bool:
        summary = summarise(half_points, test) if test and len(half_points) % 2 == 0 else None
        return summary is not None and summary.accepted is not None

    if len(half_points) < games and not is_decided():
        numbers = _numbers(log.header, openings, range(len(half_points), games))
        with _play_games(
            log.header, openings, numbers, min(concurrency, games - len(half_points))
        ) as records:
            for record in records:
                log.append(record)
                half_points.append(record.half_points)
                on_game(record)
                if is_decided():
                    break
    return summarise(half_points, test)


def _numbers(header: Header, openings: Openings, numbers: range) -> Iterator[int]:
    """The numbers of the games to play, up to the first that would repeat an earlier game."""
    game = load_game(header.game)
    are_deterministic = all(
        is_deterministic(parse_description(text), game) for text in header.players
    )
    return takewhile(
        lambda number: not (are_deterministic and openings.repeats(number // 2)), numbers
    )


@contextmanager
def _play_games(
    header: Header, openings: Openings, numbers: Iterator[int], concurrency: int
) -> Iterator[Iterator[Record]]:
    """Plays the games with these numbers and yields their records in order."""
    runner = GameRunner(header)
    workers: list[_Worker] = []
    try:
        runner.start()
        if concurrency == 1:
            yield (runner.play(number, openings[number // 2]) for number in numbers)
        else:
            runner.close()
            workers += [_Worker(header) for _ in range(concurrency)]
            yield _in_order(workers, openings, numbers)
    finally:
        runner.close()
        for worker in workers:
            worker.end()


def _in_order(
    workers: list["_Worker"], openings: Openings, numbers: Iterator[int]
) -> Iterator[Record]:
    """Yields the records of the games in order of number, though games end in any order.

    An idle worker gets the next game.
    """
    awaited: deque[int] = deque()
    ended: dict[int, Record] = {}
    idle = workers
    while True:
        for worker, number in zip(idle, numbers, strict=False):
            worker.start_game(number, openings[number // 2])
            awaited.append(number)
        if not awaited:
            return
        ready = wait([worker.pipe for worker in workers])
        idle = [worker for worker in workers if worker.pipe in ready]
        for record in [worker.receive() for worker in idle]:
            ended[record.n] = record
        while awaited and awaited[0] in ended:
            yield ended.pop(awaited.popleft())


class _Worker:
    """A process that plays games; it ends when its pipe closes, even if its parent was killed."""

    def __init__(self, header: Header) -> None:
        context = multiprocessing.get_context("spawn")
        our_end, worker_end = context.Pipe()
        self.pipe: Any = our_end
        self._process = context.Process(
            target=_serve, args=(worker_end, header), name="match", daemon=True
        )
        self._process.start()
        worker_end.close()

    def start_game(self, number: int, opening: Opening) -> None:
        try:
            self.pipe.send((number, opening))
        except OSError as error:
            raise WorkerLost("a process of the match died") from error

    def receive(self) -> Record:
        try:
            record: Record = self.pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost(
                f"a process of the match died (code {self._process.exitcode})"
            ) from error
        return record

    def end(self) -> None:
        self.pipe.close()
        self._process.join(WORKER_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, header: Header) -> None:
    runner = GameRunner(header)
    try:
        while True:
            number, opening = pipe.recv()
            pipe.send(runner.play(number, opening))
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    finally:
        runner.close()
