"""python -m engine.match.ladder: how much stronger each level of a game is than the one below, and where levels belong.

A ladder is a match for each step: level 1 against the greedy player, which looks one ply ahead, and each further level
against the one below. The top level, which plays by time, is represented by a number of nodes; a further match tells
what more nodes would change. The logs go on where they were when it is killed, and docs/levels.md is made from them.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.arguments import count
from engine.game import Game, GameError
from engine.games.registry import load_game
from engine.match.calibration import calibrate
from engine.match.log import Header, Log, LogError
from engine.match.openings import default_plies
from engine.match.run import WorkerLost, run_match
from engine.match.statistics import Summary
from engine.search.levels import level_of

FOLDER = Path("tests/data/ladders")
MANY_GAMES, GAMES = 400, 100
IN_DEPTH = ("sticks", "connect-four", "othello", "draughts", "chess")
"""The games whose steps are measured with MANY_GAMES."""
MAX_PLIES = 200
SEED = 1
OPTIONS = {"sticks": {"rows": "1-3-5-7"}}
"""The form of a game that is measured, where it is not the usual one: of six sticks too few are left by an opening."""
TOP_NODES = 50_000
TOP_NODES_OF = {
    "sticks": 2_000,
    "tic-tac-toe": 5_000,
    "connect-four": 100_000,
    "draughts": 60_000,
    "international-draughts": 60_000,
    "othello": 100_000,
    "breakthrough": 24_000,
    "nine-mens-morris": 60_000,
    "gomoku": 25_000,
    "hex": 25_000,
    "chess": 25_000,
}
"""The nodes that stand for the top level: as many as can be measured in minutes. It looks at more in its time, so it is
stronger than measured; the check with REACH_FACTOR times as many says how much."""
ADJUDICATED = {"chess": 1_000}
"""A game ends when both players have seen the same side so far ahead for some moves, where both look at ADJUDICATING
nodes: they would win it, and it would take long. Who looks at fewer must win it on the board."""
ADJUDICATING = 1_000
WANTED = 0.65, 0.85
REACH_FACTOR, REACH_GAMES = 10, 40
"""How far the top is from the level below when it looks at so many times the nodes is measured with so many games."""
BOUNDS = {"1-greedy": (0.0, 0.5), "reach": (0.5, 1.0)}
"""What other matches than a step should score."""


@dataclass(frozen=True, slots=True)
class Step:
    """One match of a ladder: who plays, and the name of its log."""

    name: str
    players: tuple[str, str]


def steps(game: Game, top_nodes: int) -> Iterator[Step]:
    """The matches of a ladder, from the lowest on."""
    if game.levels > 1:
        yield Step("1-greedy", ("level=1", "greedy"))
    for level in range(2, game.levels):
        yield Step(f"{level}-{level - 1}", (f"level={level}", f"level={level - 1}"))
    if game.levels > 1:
        yield Step(f"{game.levels}-{game.levels - 1}", (f"nodes={top_nodes}", f"level={game.levels - 1}"))


def reach(game: Game, top_nodes: int) -> Step:
    """The match that tells what the top level gains by more nodes than are measured."""
    return Step("reach", (f"nodes={REACH_FACTOR * top_nodes}", f"level={game.levels - 1}"))


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
    if kind == "greedy":
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
    """Plays what the logs of a ladder lack; LogError when they are of other rules."""
    for step in matches:
        log = Log(header_of(game, step), folder / game.id / f"{step.name}.jsonl", fresh)
        try:
            summary = run_match(log, games, concurrency=concurrency)
        finally:
            log.close()
        assert summary is not None, "a step has one pair at least"
        out(f"{game.id} {step.name:>9}: {tell(summary, step)}")


def tell(summary: Summary, step: Step) -> str:
    """A step in a line, and whether it is as wide as it should be."""
    low, high = BOUNDS.get(step.name, WANTED)
    verdict = "" if low <= summary.score <= high else f"  (wanted {low:.0%} to {high:.0%})"
    return f"{summary.score:6.1%} of {summary.games} games, +{summary.wins} ={summary.draws} -{summary.losses}{verdict}"


def main(arguments: list[str] | None = None) -> int:
    """0 when all was played, 1 when it broke off, 2 when it was asked for wrongly."""
    parser = argparse.ArgumentParser(prog="python -m engine.match.ladder", description=__doc__)
    parser.add_argument("game", nargs="+")
    parser.add_argument("--games", type=count, metavar="N", help=f"games a step ({MANY_GAMES} or {GAMES} by game)")
    parser.add_argument("--folder", type=Path, default=FOLDER, metavar="DIR", help=f"where the logs are ({FOLDER})")
    parser.add_argument("--top-nodes", type=count, metavar="N", help="what stands for the top level")
    parser.add_argument("--fresh", action="store_true", help="play all anew: rules, search or levels have changed")
    parser.add_argument("--concurrency", type=count, default=1, metavar="N", help="processes (default 1)")
    parser.add_argument(
        "--reach", action="store_true", help=f"only the top with {REACH_FACTOR} times the nodes ({REACH_GAMES} games)"
    )
    parser.add_argument("--calibrate", action="store_true", help="find a LEVEL_TABLE by matches and print it")
    parser.add_argument(
        "--probe", type=count, default=60, metavar="N", help="games a trial when calibrating (default 60)"
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
                play_ladder(game, asked.folder, [step], few + few % 2, asked.fresh, asked.concurrency, print)
            else:
                matches = steps(game, top_nodes)
                play_ladder(game, asked.folder, matches, many + many % 2, asked.fresh, asked.concurrency, print)
    except (GameError, LogError) as error:
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
