"""python -m engine.match.ladder: measures the levels of a game against each other.

A ladder has a match for each step: level 1 plays against its yardstick, a player that searches one
ply or two, and each further level against the level below. The top level plays by time, so a
stand-in with a fixed number of nodes takes its place; the match "reach" measures the effect of more
nodes. A killed command resumes from its logs. docs/reference/levels.md is generated from them.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from engine.command_line import between, count
from engine.game import Game, GameError
from engine.match.archive import Archive, results_folder
from engine.match.calibration import calibrate
from engine.match.log import Header, LogError, Record
from engine.match.openings import Opening, default_plies
from engine.match.run import MAX_PROCESSES, GameRunner, WorkerLost, run_match
from engine.match.statistics import Summary, summarise
from engine.rules.registry import load_game
from engine.search.levels import level_of

#: The kind of these logs in a game's archive.
KIND = "ladders"
#: Number of games in a step.
GAMES = 100
#: Number of games in a step of a game in DEEPLY_MEASURED.
MANY_GAMES = 400
#: The games whose steps are measured with MANY_GAMES.
DEEPLY_MEASURED = ("sticks", "connect-four", "othello", "draughts", "chess")
#: Plies after which a game is a draw.
MAX_PLIES = 200
#: The seed of all ladders and ablations.
SEED = 1
#: The options of the games that are not measured with their defaults. By default sticks has six
#: sticks, and an opening would leave too few.
OPTIONS = {"sticks": {"rows": "1-3-5-7"}}
#: The nodes of the stand-in for the top level of a game that TOP_NODES_OF does not name.
TOP_NODES = 50_000
#: The nodes of the stand-in for the top level, few enough for a match of minutes. The level itself
#: searches more in its time, so it is stronger than measured; the match "reach", with REACH_FACTOR
#: times the nodes, shows by how much.
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
#: The games whose top level plays perfectly, by a solver or by searching to the end. Their match
#: "reach" measures the level itself, which never uses up its time.
PERFECT_TOP = ("connect-four", "sticks", "tic-tac-toe")
#: The score, by game, at which a game is adjudicated when both players have reported it for some
#: moves. The leading player would win the game, but it would take long.
ADJUDICATION_LEADS = {"chess": 1_000}
#: Nodes that both players must search for a game to be adjudicated; weaker players must win it on
#: the board.
ADJUDICATION_NODES = 1_000
#: The yardstick that searches one ply.
GREEDY = "greedy"
#: The yardstick that searches two plies.
TWO_PLY = "two-ply"
#: All yardsticks.
YARDSTICKS = (GREEDY, TWO_PLY)
#: The yardstick of level 1 in the games in which the greedy player cannot win a won game (it
#: stalemates a bare king, or moves to and fro), so that most of its games are drawn.
YARDSTICK_OF = dict.fromkeys(("chess", "draughts", "nine-mens-morris"), TWO_PLY)
#: The range of scores that a step should have.
TARGET_SCORES = 0.65, 0.85
#: Games of a step that are replayed when files of its game have changed since it was measured.
REPLAYED = 4
#: Factor by which the top player of "reach" searches more nodes than the stand-in.
REACH_FACTOR = 10
#: Games of the match "reach".
REACH_GAMES = 40
#: The range of scores of the matches with another target: level 1 against its yardstick, and reach.
OTHER_TARGETS = {**{f"1-{player}": (0.0, 0.5) for player in YARDSTICKS}, "reach": (0.5, 1.0)}


@dataclass(frozen=True, slots=True)
class Step:
    """One match of a ladder: its name, and the players."""

    name: str
    players: tuple[str, str]

    @property
    def log_name(self) -> str:
        """The name of its log in the game's archive."""
        return f"{KIND}/{self.name}.jsonl"


def steps(game: Game, top_nodes: int) -> Iterator[Step]:
    """The matches of a ladder, from the lowest step up."""
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
    """The match that measures how much stronger the top level is than its stand-in."""
    top = f"level={game.levels}" if game.id in PERFECT_TOP else f"nodes={REACH_FACTOR * top_nodes}"
    return Step("reach", (top, f"level={game.levels - 1}"))


def yardstick_of(game: Game) -> str:
    """The yardstick against which level 1 of a game is measured."""
    return YARDSTICK_OF.get(game.id, GREEDY)


def options_of(game: Game) -> dict[str, str]:
    """The options with which a game is measured."""
    return game.check_options(OPTIONS.get(game.id, {}))


def top_nodes_of(game: Game) -> int:
    """The nodes of the stand-in for a game's top level."""
    return TOP_NODES_OF.get(game.id, TOP_NODES)


def header_of(game: Game, step: Step) -> Header:
    """The header of the match of a step."""
    nodes = [_nodes(game, player) for player in step.players]
    return Header(
        game.id, game.digest, step.players, SEED, default_plies(game), MAX_PLIES, options_of(game),
        ADJUDICATION_LEADS.get(game.id) if min(nodes) >= ADJUDICATION_NODES else None, compact=True,
    )  # fmt: skip


def _nodes(game: Game, player: str) -> int:
    """The nodes that a player of a ladder searches; 0 for a level by time."""
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
    """Plays the games missing from a ladder's logs, and passes a line on each step to `out`.

    A complete step remains valid after files of the game have changed, provided that REPLAYED of
    its games come out the same. Raises LogError if they do not, for an incomplete step with other
    rules, and for a log of another match.
    """
    archive = Archive(folder, game.id)
    for step in matches:
        header = header_of(game, step)
        summary = None if fresh else _replayed_summary(header, archive, step, games)
        note = (
            ""
            if summary is None
            else f"  (with other rules; {min(REPLAYED, summary.games)} games came out the same)"
        )
        if summary is None:
            with archive.log(step.log_name, header, fresh) as log:
                summary = run_match(log, games, concurrency=concurrency)
        assert summary is not None, "a step has one pair at least"
        out(f"{game.id} {step.name:>9}: {step_line(summary, step)}{note}")


def _replayed_summary(header: Header, archive: Archive, step: Step, games: int) -> Summary | None:
    """The result of a complete step that was played with other rules but comes out the same.

    None if there is no such log; LogError if its games come out differently.
    """
    old_header, records = archive.read(step.log_name)
    if (
        old_header is None
        or old_header == header
        or structs.replace(old_header, rules=header.rules) != header
    ):
        return None
    if len(records) < games:
        return None
    changed = changed_games(old_header, records[:: max(1, len(records) // REPLAYED)][:REPLAYED])
    if changed:
        raise LogError(
            f"{archive.place_of(step.log_name)} was played with other rules,"
            f" and its game {changed[0]} comes out differently: --fresh"
        )
    return summarise([record.half_points for record in records])


def changed_games(header: Header, records: Iterable[Record]) -> list[int]:
    """The numbers of the games of a step that, replayed, differ from the log."""
    runner = GameRunner(header)
    try:
        return [
            record.n
            for record in records
            if runner.play(record.n, Opening(tuple(record.opening.split()), 0)) != record
        ]
    finally:
        runner.close()


def step_line(summary: Summary, step: Step) -> str:
    """The result of a step in a line, with its target if it is outside."""
    low, high = OTHER_TARGETS.get(step.name, TARGET_SCORES)
    verdict = "" if low <= summary.score <= high else f"  (wanted {low:.0%} to {high:.0%})"
    results = f"+{summary.wins} ={summary.draws} -{summary.losses}"
    return f"{summary.score:6.1%} of {summary.games} games, {results}{verdict}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 after all matches, 1 if one broke off, 130 if interrupted.

    A wrong command exits with 2.
    """
    parser = argparse.ArgumentParser(prog="python -m engine.match.ladder", description=__doc__)
    parser.add_argument("game", nargs="+")
    parser.add_argument(
        "--games", type=count, metavar="N", help=f"games per step ({MANY_GAMES} or {GAMES} by game)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="folder of the logs (by default engine/match/results of a checkout)",
    )
    parser.add_argument(
        "--top-nodes", type=count, metavar="N", help="nodes of the stand-in for the top level"
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="overwrite the logs, after a change of rules, search or levels",
    )
    parser.add_argument(
        "--concurrency",
        type=between(1, MAX_PROCESSES),
        default=1,
        metavar="N",
        help="processes (default 1)",
    )
    parser.add_argument(
        "--reach",
        action="store_true",
        help=f"measure only the top: a stand-in with {REACH_FACTOR} times the nodes, or the level"
        f" itself if it plays perfectly ({REACH_GAMES} games)",
    )
    parser.add_argument(
        "--calibrate", action="store_true", help="find a LEVEL_TABLE by matches and print it"
    )
    parser.add_argument(
        "--probe",
        type=count,
        default=60,
        metavar="N",
        help="games per trial of --calibrate (default 60)",
    )
    args = parser.parse_args(arguments)
    try:
        games = [load_game(game_id) for game_id in args.game]
        if without := [game.title for game in games if game.levels == 0]:
            raise GameError(f"{', '.join(without)} has no levels: strategies play it")
        for game in games:
            top_nodes = args.top_nodes or top_nodes_of(game)
            step_games = args.games or (MANY_GAMES if game.id in DEEPLY_MEASURED else GAMES)
            if args.calibrate:
                print(
                    "\n".join(
                        calibrate(game, options_of(game), top_nodes, args.probe, _print_to_stderr)
                    )
                )
            elif args.reach:
                reach_games = args.games or REACH_GAMES
                step = reach(game, top_nodes)
                play_ladder(
                    game,
                    results_folder(args.folder),
                    [step],
                    reach_games + reach_games % 2,
                    args.fresh,
                    args.concurrency,
                    print,
                )
            else:
                matches = steps(game, top_nodes)
                play_ladder(
                    game,
                    results_folder(args.folder),
                    matches,
                    step_games + step_games % 2,
                    args.fresh,
                    args.concurrency,
                    print,
                )
    except (GameError, LogError, OSError) as error:
        parser.error(str(error))
    except WorkerLost as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command resumes", file=sys.stderr)
        return 130
    return 0


def _print_to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
