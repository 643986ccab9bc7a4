"""python -m engine.match.ablation: measures what each feature of the search is worth in a game.

For each feature that a game can use, the game's usual search plays a match against the same search
without it. For a feature that the game's DISABLED names, the search with it plays against the usual
one. Both sides search the same number of nodes. A match ends when its sequential test is decided,
when it has the requested number of games, or when the game has no further opening. (Both players
are deterministic, so they would repeat the games of a repeated opening.) A killed command resumes
from its logs. docs/reference/ablations.md is generated from them.
"""

import argparse
import sys
from functools import cache
from pathlib import Path

from engine.command_line import between, count
from engine.game import Game, GameError
from engine.match.archive import Archive, results_folder
from engine.match.description import DescriptionError
from engine.match.features import check_usable
from engine.match.features import usable_features as usable_features
from engine.match.ladder import MAX_PLIES, SEED, options_of
from engine.match.log import Header, LogError
from engine.match.openings import default_plies, longest_plies
from engine.match.run import MAX_PROCESSES, WorkerLost, openings_of, run_match
from engine.match.statistics import Sprt, Summary, elo_text, summarise
from engine.rules.registry import load_game
from engine.search import features
from engine.search.driver import default_features

#: The kind of these logs in a game's archive.
KIND = "ablations"
#: Default number of games of a match.
GAMES = 400
#: Default number of nodes per move.
NODES = 5_000
#: The test that ends a match early: is the feature worth 20 Elo rather than none?
TEST = Sprt(0, 20)
#: The features that a player uses only if its description names them: see SearchPlayer.
OPT_IN = ("probe",)
#: Number of positions after an opening that suffice for any match: ten times its pairs.
ENOUGH_OPENINGS = 2_000
#: The features that matter only when the table is full. They are measured with a table of fewer
#: entries than nodes.
FULL_TABLE = ("buckets",)


def is_in_use(game: Game, feature: str) -> bool:
    """Whether the feature is one of the game's usual ones."""
    return bool(default_features(game) & features.FEATURE[feature])


def header_of(game: Game, feature: str, nodes: int) -> Header:
    """The match that measures a feature; the first player always has it."""
    usual = f"nodes={nodes}"
    if feature in FULL_TABLE:
        usual += f",table_bits={max(4, nodes.bit_length() - 2)}"
    if is_in_use(game, feature) and feature not in OPT_IN:
        players = (usual, f"{usual},without={feature}")
    else:
        players = (f"{usual},with={feature}", usual)
    return Header(
        game.id, game.digest, players, SEED, default_plies(game), MAX_PLIES, options_of(game),
        results_only=True,
    )  # fmt: skip


def log_name(feature: str) -> str:
    """The name of a feature's log in the game's archive."""
    return f"{KIND}/{feature}.jsonl"


def ended_by(header: Header, summary: Summary, games: int = GAMES) -> str:
    """What ended a match of at most `games` games: "test", "games" or "openings".

    The result is empty for a match that was interrupted and has games left to play.
    """
    if summary.accepted:
        return "test"
    if summary.games >= games:
        return "games"
    if _has_many_openings(header.game, tuple(header.options.items())):
        return ""
    return "openings" if openings_of(header).repeats(summary.games // 2) else ""


@cache
def _has_many_openings(game_id: str, options: tuple[tuple[str, str], ...]) -> bool:
    """Whether the game has at least ENOUGH_OPENINGS positions within the plies of an opening.

    Counting positions is cheaper than making and scoring the openings.
    """
    game = load_game(game_id)
    positions = {"": game.start(dict(options))}
    for _ in range(longest_plies(game)):
        previous, positions = positions.values(), {}
        for position in previous:
            positions |= {after.digest(): after for after in map(position.play, position.moves())}
            if len(positions) >= ENOUGH_OPENINGS:
                return True
    return False


def play_ablation(
    game: Game,
    feature: str,
    folder: Path,
    nodes: int | None,
    games: int,
    fresh: bool,
    concurrency: int,
) -> str:
    """Plays the games that the log lacks, and returns the result as a line.

    A finished match remains valid after a change of rules and, without `nodes`, with any number of
    nodes. Raises LogError for an unfinished match with other rules, and for one with
    other nodes than requested.
    """
    header = header_of(game, feature, nodes or NODES)
    archive, name = Archive(folder, game.id), log_name(feature)
    if not fresh:
        old_header, records = archive.read(name)
        summary = summarise([record.half_points for record in records], TEST)
        as_requested = old_header and (nodes is None or old_header.players == header.players)
        if (
            old_header
            and summary
            and old_header != header
            and as_requested
            and ended_by(old_header, summary, games)
        ):
            return (
                f"{summary_line(summary)}  (played with other rules or nodes; --fresh replays it)"
            )
    with archive.log(name, header, fresh) as log:
        summary = run_match(log, games, TEST, concurrency)
    assert summary is not None, "a match has one pair at least"
    return summary_line(summary)


def verdict(summary: Summary) -> str:
    """The verdict of a match on its feature.

    The feature "pays" or "harms" if the 95 % interval excludes the other sign; it also "pays" if
    the test accepts 20 Elo. It "does not pay" if the test accepts 0 rather than 20 Elo; it "makes
    no difference" if in addition every pair was tied. Otherwise the match is "inconclusive".
    """
    if summary.elo_high is not None and summary.elo_high < 0:
        return "harms"
    if summary.accepted == "H1" or (summary.elo_low is not None and summary.elo_low > 0):
        return "pays"
    if summary.accepted != "H0":
        return "inconclusive"
    return "makes no difference" if 2 * summary.pairs[2] == summary.games else "does not pay"


def summary_line(summary: Summary) -> str:
    """The result of a match in a line."""
    games = f"{summary.score:6.1%} of {summary.games} games"
    return f"{games}, Elo {elo_text(summary)}: {verdict(summary)}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 after all matches, 1 if one broke off, 130 if interrupted.

    A wrong command exits with 2.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        folder = results_folder(args.folder)
        for game in [load_game(game_id) for game_id in args.game]:
            for feature in args.technique or usable_features(game):
                check_usable(game, [feature])
                line = play_ablation(
                    game, feature, folder, args.nodes, args.games + args.games % 2,
                    args.fresh, args.concurrency,
                )  # fmt: skip
                print(f"{game.id} {feature:>13}: {line}", flush=True)
    except (GameError, LogError, DescriptionError, OSError) as error:
        parser.error(str(error))
    except WorkerLost as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; the same command resumes", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.match.ablation", description=__doc__)
    parser.add_argument("game", nargs="+")
    parser.add_argument(
        "--technique",
        nargs="+",
        metavar="NAME",
        help="only these features (default: all that the game can use)",
    )
    parser.add_argument(
        "--nodes",
        type=count,
        metavar="N",
        help=f"nodes per move (default: as measured before, or {NODES})",
    )
    parser.add_argument(
        "--games",
        type=count,
        default=GAMES,
        metavar="N",
        help=f"maximum number of games of a match (default {GAMES})",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="folder of the logs (by default engine/match/results of a checkout)",
    )
    parser.add_argument("--fresh", action="store_true", help="overwrite the logs")
    parser.add_argument(
        "--concurrency",
        type=between(1, MAX_PROCESSES),
        default=1,
        metavar="N",
        help="processes (default 1)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
