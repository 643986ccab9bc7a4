"""python -m engine.match.ablation: what each technique of the search is worth in a game.

For each technique that a game can use, the game's usual search plays a match against the same
search without it, or, for a technique that the game's WITHOUT leaves out, with it against without.
Both look at the same number of nodes. A match ends when its sequential test is decided, when it has
as many games as were asked for, or when the game has no further opening: both players always play
alike, so an opening that came again would count a game twice. The logs go on where they were when
it is killed, and docs/reference/ablations.md is made from them.
"""

import argparse
import sys
from functools import cache
from pathlib import Path

from engine.command_line import between, count
from engine.game import Game, GameError
from engine.match.description import DescriptionError
from engine.match.features import check_usable
from engine.match.features import usable as usable
from engine.match.ladder import MAX_PLIES, SEED, options_of
from engine.match.log import Header, Log, LogError, read_log
from engine.match.openings import default_plies, longest
from engine.match.run import MOST_PROCESSES, WorkerLost, openings_of, run_match
from engine.match.statistics import Sprt, Summary, elo_text, summarise
from engine.rules.registry import load_game
from engine.search import layout
from engine.search.driver import default_features

FOLDER = Path("tests/data/ablations")
GAMES = 400
NODES = 5_000
#: Ends a match early: is the technique worth 20 Elo rather than none?
TEST = Sprt(0, 20)
#: What a player of a match uses only where its text says so: see SearchPlayer.
ASKED_FOR = ("probe",)

#: A game with so many positions after the plies of an opening has enough for any match: ten times
#: as many as pairs.
MANY_OPENINGS = 2_000


#: What makes a difference only when the table is full: measured with a table of fewer entries than
#: nodes.
FULL_TABLE = ("buckets",)


def in_use(game: Game, technique: str) -> bool:
    """Is the technique among the game's usual ones?"""
    return bool(default_features(game) & layout.FEATURE[technique])


def header_of(game: Game, technique: str, nodes: int) -> Header:
    """The match over a technique; the first player always has it."""
    usual = f"nodes={nodes}"
    if technique in FULL_TABLE:
        usual += f",table_bits={max(4, nodes.bit_length() - 2)}"
    if in_use(game, technique) and technique not in ASKED_FOR:
        players = (usual, f"{usual},without={technique}")
    else:
        players = (f"{usual},with={technique}", usual)
    return Header(
        game.id, game.digest, players, SEED, default_plies(game), MAX_PLIES, options_of(game), results_only=True
    )  # fmt: skip


def log_path(folder: Path, game: Game, technique: str) -> Path:
    return folder / game.id / f"{technique}.jsonl"


def ended_by(header: Header, summary: Summary, games: int = GAMES) -> str:
    """What ended a match of so many games at most: its "test", the number of "games", or that there
    are no more "openings". Nothing ("") when there is something left to play: it was stopped.
    """
    if summary.accepted:
        return "test"
    if summary.games >= games:
        return "games"
    if _has_many(header.game, tuple(header.options.items())):
        return ""
    return "openings" if openings_of(header).repeats(summary.games // 2) else ""


@cache
def _has_many(game_id: str, options: tuple[tuple[str, str], ...]) -> bool:
    """Are there surely enough openings for any match? A look at the rules saves making them to
    count them.
    """
    game = load_game(game_id)
    met = {"": game.start(dict(options))}
    for _ in range(longest(game)):
        before, met = met.values(), {}
        for position in before:
            met |= {after.digest(): after for after in map(position.play, position.moves())}
            if len(met) >= MANY_OPENINGS:
                return True
    return False


def play_ablation(
    game: Game,
    technique: str,
    folder: Path,
    nodes: int | None,
    games: int,
    fresh: bool,
    threads: int,
) -> str:
    """Plays what the log lacks, and tells the result in a line.

    A match that is over stands, though rules are others by now; so does one at another number of
    nodes, where the caller asks for none. LogError for one that broke off, and for one at other
    nodes than were asked for.
    """
    header = header_of(game, technique, nodes or NODES)
    path = log_path(folder, game, technique)
    if path.exists() and not fresh:
        measured, records, _ = read_log(path)
        summary = summarise([record.half_points for record in records], TEST)
        as_asked = measured and (nodes is None or measured.players == header.players)
        if (
            measured
            and summary
            and measured != header
            and as_asked
            and ended_by(measured, summary, games)
        ):
            return f"{tell(summary)}  (of other rules or nodes; --fresh plays it anew)"
    log = Log(header, path, fresh)
    try:
        summary = run_match(log, games, TEST, threads)
    finally:
        log.close()
    assert summary is not None, "a match has one pair at least"
    return tell(summary)


def verdict(summary: Summary) -> str:
    """What a match says about its technique.

    It "pays" or "harms" where the error bars leave no other sign. It "does not pay" where the test
    says that it is worth nothing rather than 20 Elo; where, moreover, no opening ended otherwise
    for the two, it "makes no difference". Else it "cannot be told".
    """
    if summary.elo_high is not None and summary.elo_high < 0:
        return "harms"
    if summary.accepted == "H1" or (summary.elo_low is not None and summary.elo_low > 0):
        return "pays"
    if summary.accepted != "H0":
        return "cannot be told"
    return "makes no difference" if 2 * summary.pairs[2] == summary.games else "does not pay"


def tell(summary: Summary) -> str:
    """A match in a line."""
    return f"{summary.score:6.1%} of {summary.games} games, Elo {elo_text(summary)}: {verdict(summary)}"


def main(arguments: list[str] | None = None) -> int:
    """0 when all was played, 1 when it broke off, 2 when it was asked for wrongly."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        for game in [load_game(game_id) for game_id in asked.game]:
            for technique in asked.technique or usable(game):
                check_usable(game, [technique])
                told = play_ablation(
                    game, technique, asked.folder, asked.nodes, asked.games + asked.games % 2, asked.fresh,
                    asked.concurrency,
                )  # fmt: skip
                print(f"{game.id} {technique:>13}: {told}", flush=True)
    except (GameError, LogError, DescriptionError, OSError) as error:
        parser.error(str(error))
    except WorkerLost as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.match.ablation", description=__doc__)
    parser.add_argument("game", nargs="+")
    parser.add_argument(
        "--technique",
        nargs="+",
        metavar="NAME",
        help="only these (default: all that the game can use)",
    )
    parser.add_argument(
        "--nodes", type=count, metavar="N", help=f"a move (default: as measured before, or {NODES})"
    )
    parser.add_argument(
        "--games", type=count, default=GAMES, metavar="N", help=f"at most so many (default {GAMES})"
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, metavar="DIR", help=f"where the logs are ({FOLDER})"
    )
    parser.add_argument("--fresh", action="store_true", help="play anew what is on the logs")
    parser.add_argument(
        "--concurrency",
        type=between(1, MOST_PROCESSES),
        default=1,
        metavar="N",
        help="processes (default 1)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
