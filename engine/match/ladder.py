"""python -m engine.match.ladder: how much stronger each level of a game is than the one below, and
where levels belong.

A ladder is a match for each step: level 1 against its yardstick, a player that looks one ply ahead
or two, and each further level against the one below. The top level, which plays by time, is
represented by a number of nodes; a further match tells what more nodes would change. The logs go on
where they were when it is killed, and docs/reference/levels.md is made from them.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from engine.command_line import between, count
from engine.game import Game, GameError
from engine.match.calibration import calibrate
from engine.match.log import Header, Log, LogError, Record, read_log
from engine.match.openings import Opening, default_plies
from engine.match.run import MOST_PROCESSES, Bench, WorkerLost, run_match
from engine.match.statistics import Summary, summarise
from engine.rules.registry import load_game
from engine.search.levels import level_of

FOLDER = Path("tests/data/ladders")
MANY_GAMES, GAMES = 400, 100
#: The games whose steps are measured with MANY_GAMES.
IN_DEPTH = ("sticks", "connect-four", "othello", "draughts", "chess")
MAX_PLIES = 200
SEED = 1
#: The form of a game that is measured, where it is not the usual one: of six sticks too few are
#: left by an opening.
OPTIONS = {"sticks": {"rows": "1-3-5-7"}}
TOP_NODES = 50_000
#: The nodes that stand for the top level: as many as can be measured in minutes. It looks at more
#: in its time, so it is stronger than measured; the check with REACH_FACTOR times as many says how
#: much.
TOP_NODES_OF = {
    "sticks": 2_000,
    "tic-tac-toe": 5_000,
    "connect-four": 100_000,
    "draughts": 60_000,
    "international-draughts": 60_000,
    "othello": 100_000,
    "breakthrough": 24_000,
    "nine-mens-morris": 60_000,
    "gomoku": 40_000,
    "hex": 25_000,
    "chess": 25_000,
}
#: The games whose top level plays perfectly, by a solver or by looking to the end: there the check
#: is of that level itself, which never uses up its time.
EXACT = ("connect-four", "sticks", "tic-tac-toe")
#: A game ends when both players have seen the same side so far ahead for some moves, where both
#: look at ADJUDICATING nodes: they would win it, and it would take long. Who looks at fewer must
#: win it on the board.
ADJUDICATED = {"chess": 1_000}
ADJUDICATING = 1_000
GREEDY, TWO_PLY = "greedy", "two-ply"
#: The player that level 1 is measured against, where it is not the greedy one: there that one
#: cannot win a won game (it stalemates a bare king, or moves to and fro), and most of its games are
#: drawn.
YARDSTICK_OF = dict.fromkeys(("chess", "draughts", "nine-mens-morris"), TWO_PLY)
YARDSTICKS = (GREEDY, TWO_PLY)
WANTED = 0.65, 0.85
#: So many games of a step are played again when files of its game have changed since it was
#: measured.
REPLAYED = 4
#: How far the top is from the level below when it looks at so many times the nodes is measured with
#: so many games.
REACH_FACTOR, REACH_GAMES = 10, 40
#: What other matches than a step should score.
BOUNDS = {**{f"1-{player}": (0.0, 0.5) for player in YARDSTICKS}, "reach": (0.5, 1.0)}


@dataclass(frozen=True, slots=True)
class Step:
    """One match of a ladder: who plays, and the name of its log."""

    name: str
    players: tuple[str, str]


def steps(game: Game, top_nodes: int) -> Iterator[Step]:
    """The matches of a ladder, from the lowest on."""
    if game.levels > 1:
        player = yardstick_of(game)
        yield Step(f"1-{player}", ("level=1", player))
    for level in range(2, game.levels):
        yield Step(f"{level}-{level - 1}", (f"level={level}", f"level={level - 1}"))
    if game.levels > 1:
        yield Step(
            f"{game.levels}-{game.levels - 1}", (f"nodes={top_nodes}", f"level={game.levels - 1}")
        )


def reach(game: Game, top_nodes: int) -> Step:
    """The match that tells how much stronger than its stand-in the top level is."""
    top = f"level={game.levels}" if game.id in EXACT else f"nodes={REACH_FACTOR * top_nodes}"
    return Step("reach", (top, f"level={game.levels - 1}"))


def yardstick_of(game: Game) -> str:
    """The player that level 1 of a game is measured against."""
    return YARDSTICK_OF.get(game.id, GREEDY)


def options_of(game: Game) -> dict[str, str]:
    """The form in which a game is measured."""
    return game.check_options(OPTIONS.get(game.id, {}))


def top_nodes_of(game: Game) -> int:
    """What stands for a game's top level."""
    return TOP_NODES_OF.get(game.id, TOP_NODES)


def header_of(game: Game, step: Step) -> Header:
    """What decides every move of a step."""
    looks = [_nodes(game, player) for player in step.players]
    return Header(
        game.id, game.digest, step.players, SEED, default_plies(game), MAX_PLIES, options_of(game),
        ADJUDICATED.get(game.id) if min(looks) >= ADJUDICATING else None, compact=True,
    )  # fmt: skip


def _nodes(game: Game, player: str) -> int:
    """How many nodes a player of a ladder looks at."""
    kind, _, number = player.partition("=")
    if kind in YARDSTICKS:
        return 1
    return int(number) if kind == "nodes" else level_of(game, int(number)).limit.nodes or 0


def play_ladder(
    game: Game,
    folder: Path,
    matches: Iterable[Step],
    games: int,
    fresh: bool,
    concurrency: int,
    out: Callable[[str], None],
) -> None:
    """Plays what the logs of a ladder lack, and tells each step in a line.

    A step that has its games stands when files of the game have changed since, if REPLAYED of its
    games come out the same. LogError for one whose games do not, for one that broke off under other
    rules, and for another match.
    """
    for step in matches:
        header, path = header_of(game, step), folder / game.id / f"{step.name}.jsonl"
        summary = None if fresh else _standing(header, path, games)
        note = (
            ""
            if summary is None
            else f"  (of other rules; {min(REPLAYED, summary.games)} games came out the same)"
        )
        if summary is None:
            log = Log(header, path, fresh)
            try:
                summary = run_match(log, games, concurrency=concurrency)
            finally:
                log.close()
        assert summary is not None, "a step has one pair at least"
        out(f"{game.id} {step.name:>9}: {tell(summary, step)}{note}")


def _standing(header: Header, path: Path, games: int) -> Summary | None:
    """The result of a step that was played to its end with other files of the game, and comes out
    the same with these.

    None where there is no such log; LogError where it would come out differently.
    """
    measured, records, _ = read_log(path) if path.exists() else (None, [], 0)
    if (
        measured is None
        or measured == header
        or structs.replace(measured, rules=header.rules) != header
    ):
        return None
    if len(records) < games:
        return None
    changed = changed_games(measured, records[:: max(1, len(records) // REPLAYED)][:REPLAYED])
    if changed:
        raise LogError(
            f"{path} was played with other rules, and its game {changed[0]} comes out differently: --fresh"
        )
    return summarise([record.half_points for record in records])


def changed_games(header: Header, records: Iterable[Record]) -> list[int]:
    """The numbers of those games of a step that do not come out move for move as they were logged."""
    bench = Bench(header)
    try:
        return [
            record.n
            for record in records
            if bench.play(record.n, Opening(tuple(record.opening.split()), 0)) != record
        ]
    finally:
        bench.close()


def tell(summary: Summary, step: Step) -> str:
    """A step in a line, and whether it is as wide as it should be."""
    low, high = BOUNDS.get(step.name, WANTED)
    verdict = "" if low <= summary.score <= high else f"  (wanted {low:.0%} to {high:.0%})"
    return f"{summary.score:6.1%} of {summary.games} games, +{summary.wins} ={summary.draws} -{summary.losses}{verdict}"


def main(arguments: list[str] | None = None) -> int:
    """0 when all was played, 1 when it broke off, 2 when it was asked for wrongly."""
    parser = argparse.ArgumentParser(prog="python -m engine.match.ladder", description=__doc__)
    parser.add_argument("game", nargs="+")
    parser.add_argument(
        "--games", type=count, metavar="N", help=f"games a step ({MANY_GAMES} or {GAMES} by game)"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, metavar="DIR", help=f"where the logs are ({FOLDER})"
    )
    parser.add_argument(
        "--top-nodes", type=count, metavar="N", help="what stands for the top level"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="play all anew: rules, search or levels have changed"
    )
    parser.add_argument(
        "--concurrency",
        type=between(1, MOST_PROCESSES),
        default=1,
        metavar="N",
        help="processes (default 1)",
    )
    parser.add_argument(
        "--reach",
        action="store_true",
        help=f"only the top, with {REACH_FACTOR} times the nodes, or itself where it is exact ({REACH_GAMES} games)",
    )
    parser.add_argument(
        "--calibrate", action="store_true", help="find a LEVEL_TABLE by matches and print it"
    )
    parser.add_argument(
        "--probe",
        type=count,
        default=60,
        metavar="N",
        help="games a trial when calibrating (default 60)",
    )
    asked = parser.parse_args(arguments)
    try:
        games = [load_game(game_id) for game_id in asked.game]
        for game in games:
            top_nodes = asked.top_nodes or top_nodes_of(game)
            many = asked.games or (MANY_GAMES if game.id in IN_DEPTH else GAMES)
            if asked.calibrate:
                print("\n".join(calibrate(game, options_of(game), top_nodes, asked.probe, _say)))
            elif asked.reach:
                few = asked.games or REACH_GAMES
                step = reach(game, top_nodes)
                play_ladder(
                    game, asked.folder, [step], few + few % 2, asked.fresh, asked.concurrency, print
                )
            else:
                matches = steps(game, top_nodes)
                play_ladder(
                    game,
                    asked.folder,
                    matches,
                    many + many % 2,
                    asked.fresh,
                    asked.concurrency,
                    print,
                )
    except (GameError, LogError, OSError) as error:
        parser.error(str(error))
    except WorkerLost as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
