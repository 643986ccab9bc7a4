"""python -m engine.match: plays a match and reports the Elo difference with its error."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from engine.command_line import MAX_NUMBER, between, count, count_or_zero, option
from engine.formats.pgn import format_pgn
from engine.formats.record import GameRecord, Move, Over, Seat
from engine.game import GameError
from engine.match.description import DescriptionError, parse_description
from engine.match.log import Header, Log, LogError, Record
from engine.match.making import make_player
from engine.match.openings import NoOpening, default_plies
from engine.match.run import MAX_PROCESSES, CannotPlay, WorkerLost, run_match
from engine.match.statistics import Sprt, Summary, elo_text, summarise
from engine.rules.registry import load_game

DESCRIPTION = """Plays colour-swapped pairs of games from balanced openings. Reports the first
player's score, the Elo difference with its 95 % confidence interval (pentanomial), the likelihood
of superiority and, with --sprt, the sequential test, which ends the match as soon as it is decided.

players are written as NAME=VALUE,NAME=VALUE:
  level=5                       a level of the game, as it plays on a server
  persona=average               a persona: average, swindler or random
  strategy=minimax,depth=3      a strategy of the seats: minimax, negamax, alphabeta, average,
    evaluator=material          … greedy, random, or an installed one (estimate)
  greedy, two-ply               a search of one ply or two
  nodes=20000 depth=6           our search with limits; it stops at the first one it reaches
  time_ms=100 clock=3000+50     … by time: ms per move, or ms per game + per move
    without=lmr+null-move       … with some features of the search disabled
    with=extensions             … with some that the rules file disables, or endgame tables (probe)
    only=basic                  … with only these features enabled
    margin=30 slip=100          … weakened as levels are
    table_bits=18               … a table of 2**18 entries, cleared before each game
    table=fresh                 … the table is cleared before each move
    threads=2                   … two threads that share one table (lazy SMP)
    contempt=20                 … scores a draw as -20 (a negative number: as a gain)
    ponder=yes                  … searches in the opponent's time too, for time_ms and clock
  uci=PROGRAM,elo=2000          a chess program (nodes, depth, time_ms, clock, set.NAME=VALUE)
  xboard=PROGRAM,time_ms=100    a chess program (depth, time_ms, clock)
  gtp=PROGRAM                   a program for othello or gomoku (time_ms)
  checkout=DIRECTORY,nodes=5000 another version of this project, from its directory

Searches by nodes or depth play the same games each time; by time or with threads they may not.

A game ends by its rules, by a draw that the side to move can claim, as a draw at --max-plies, or,
with --adjudicate, when both players have reported for 8 moves in a row that the same side is ahead
by that score. A player that fails (an illegal move, a program that died or hangs, a clock exceeded
by 250 ms) loses the game, and the log has the reason. A program that cannot be started ends the
match before its first game. Two deterministic players play each opening once, so that a game with
few openings has a shorter match. With --log a match may be killed at any time, and the
same command resumes it."""

#: Largest Elo difference of a sequential test.
MAX_ELO = 4000


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0 after a whole match, 1 if it broke off, 130 if interrupted.

    A wrong command exits with 2.
    """
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        header = _header(args)
        test = parse_sprt(args.sprt) if args.sprt else None
        log = Log(header, args.log, args.fresh)
    except (DescriptionError, GameError, LogError) as error:
        parser.error(str(error))
    resumed_games = len(log.records)
    try:
        summary = run_match(
            log,
            args.games + args.games % 2,
            test,
            args.concurrency,
            _progress(log, test, args.games),
        )
    except (NoOpening, CannotPlay) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print(
            f"\nstopped after {len(log.records)} games{_how_to_resume(args.log)}", file=sys.stderr
        )
        return 130
    except (WorkerLost, LogError) as error:
        print(
            f"\n{error} after {len(log.records)} games{_how_to_resume(args.log)}", file=sys.stderr
        )
        return 1
    finally:
        log.close()
    assert summary is not None, "a match has one pair at least"
    if args.pgn is not None:
        try:
            write_pgn(header, log.records, args.pgn)
        except OSError as error:
            print(f"cannot write {args.pgn}: {error.strerror}", file=sys.stderr)
            return 1
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if args.json:
        print(msgspec.json.encode({"match": header, "summary": summary, "sprt": test}).decode())
    else:
        print("\n".join(report(header, log.records, summary, test, resumed_games)))
        if summary.games < args.games and not summary.accepted:
            print(
                f"there are no more openings: {summary.games // 2} were played,"
                " and these players are deterministic"
            )
    return 0


def write_pgn(header: Header, records: Iterable[Record], path: Path) -> None:
    """Writes the games of a log as PGN. The file has its name only when it is whole."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(format_pgn(game_record(header, record), load_game))
    part.replace(path)


def game_record(header: Header, record: Record) -> GameRecord:
    """A game of a log. The description of a player is its name."""
    game = load_game(header.game)
    names = header.players if record.seat == 0 else header.players[::-1]
    winner = record.seat if record.half_points == 2 else 1 - record.seat
    how = "forfeit" if record.forfeit else "board"
    return GameRecord(
        "", game.id, dict(header.options), header.rules, game.start(header.options).text(),
        tuple([Seat(name, "ai") for name in names]),
        tuple([Move(token) for token in record.moves.split()]),
        Over(None if record.half_points == 1 else winner, how, record.reason),
        tags={"Event": f"Engine match, seed {header.seed}", "Round": str(record.n + 1)},
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.match",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game")
    parser.add_argument(
        "--player", action="append", default=[], metavar="TEXT", help="a player; give two of them"
    )
    parser.add_argument(
        "--without",
        metavar="NAMES",
        help="measure features: a --player (nodes=20000) with them plays the same without them",
    )
    parser.add_argument(
        "--games",
        type=count,
        default=100,
        metavar="N",
        help="maximum number of games (default 100; rounded up to even)",
    )
    parser.add_argument(
        "--seed",
        type=between(-MAX_NUMBER, MAX_NUMBER),
        default=1,
        metavar="N",
        help="seed of the openings and of all random choices (default 1)",
    )
    parser.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game",
    )
    parser.add_argument(
        "--opening-plies",
        type=count_or_zero,
        metavar="N",
        help="random moves at the start of a game",
    )
    parser.add_argument(
        "--max-plies",
        type=count,
        default=400,
        metavar="N",
        help="plies after which a game is a draw (default 400)",
    )
    parser.add_argument(
        "--adjudicate",
        type=count,
        metavar="SCORE",
        help="end a game when both players report this lead for the same side",
    )
    parser.add_argument(
        "--sprt",
        metavar="ELO0,ELO1[,ALPHA,BETA]",
        help="stop when this sequential test is decided (risks 0.05 and 0.05)",
    )
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="the log, in JSON lines; the match resumes from an existing one",
    )
    parser.add_argument(
        "--pgn",
        type=Path,
        metavar="FILE",
        help="write the games to this file as PGN at the end; those of a resumed log too",
    )
    parser.add_argument("--fresh", action="store_true", help="overwrite the log")
    parser.add_argument("--compact", action="store_true", help="log digests instead of moves")
    parser.add_argument(
        "--concurrency",
        type=between(1, MAX_PROCESSES),
        default=1,
        metavar="N",
        help="processes (default 1)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    return parser


def _header(args: argparse.Namespace) -> Header:
    """The header of the requested match.

    Raises GameError or DescriptionError if the request is wrong.
    """
    if args.pgn is not None and args.compact:
        raise DescriptionError("--compact logs no moves, which --pgn needs")
    game = load_game(args.game)
    options = game.check_options(dict(args.option))
    players = list(args.player)
    if args.without:
        if len(players) > 1:
            raise DescriptionError("--without takes one --player at most")
        player = players[0] if players else "nodes=20000"
        players = [f"{player},{setting}={args.without}" for setting in ("with", "without")]
    if len(players) != 2:
        raise DescriptionError(
            f"a match has two players; give --player twice, not {len(players)} times"
        )
    for text in players:
        make_player(parse_description(text), game, options).close()
    plies = default_plies(game) if args.opening_plies is None else args.opening_plies
    if plies >= args.max_plies:
        raise DescriptionError(
            f"games of {args.max_plies} plies (--max-plies) are over after openings of {plies}"
        )
    return Header(
        game.id, game.digest, (players[0], players[1]), args.seed, plies, args.max_plies, options,
        args.adjudicate, args.compact,
    )  # fmt: skip


def parse_sprt(text: str) -> Sprt:
    """The test written as "0,5" or "0,5,0.05,0.1"; DescriptionError says what was expected."""
    try:
        numbers = [float(part) for part in text.split(",")]
        test = Sprt(*numbers)
    except (TypeError, ValueError) as error:
        raise DescriptionError(
            f"--sprt is ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA, not {text!r}"
        ) from error
    are_ordered = -MAX_ELO <= test.elo0 < test.elo1 <= MAX_ELO
    if len(numbers) < 2 or not (are_ordered and 0 < test.alpha < 0.5 and 0 < test.beta < 0.5):
        raise DescriptionError(
            f"--sprt needs ELO0 < ELO1, {MAX_ELO} at most either way, and risks between 0 and 0.5"
        )
    return test


def _progress(log: Log, test: Sprt | None, games: int) -> Callable[[Record], None]:
    """A callback that shows the score after each game, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda record: None

    def show(record: Record) -> None:
        summary = summarise([record.half_points for record in log.records], test)
        score = f"{summary.score:6.1%}  Elo {elo_text(summary)}" if summary else ""
        print(f"\r\033[K{record.n + 1} of {games}  {score}", end="", file=sys.stderr, flush=True)

    return show


def report(
    header: Header,
    records: list[Record],
    summary: Summary,
    test: Sprt | None,
    resumed_games: int = 0,
) -> list[str]:
    """The result as lines of text."""
    lines = [f"{header.game}: {header.players[0]} against {header.players[1]}, seed {header.seed}"]
    if resumed_games:
        lines.append(f"{resumed_games} of the games were in the log")
    lines.append(
        f"{summary.games} games: {summary.wins} won, {summary.draws} drawn, {summary.losses} lost;"
        f" score {summary.score:.1%}"
    )
    lines.append(f"pairs of 0, ½, 1, 1½ and 2 points: {' '.join(map(str, summary.pairs))}")
    lines.append(f"Elo {elo_text(summary)}; likelihood of superiority {summary.los:.1%}")
    if test is not None and summary.llr is not None:
        low, high = test.bounds
        verdict = f"{summary.accepted} accepted" if summary.accepted else "not decided"
        lines.append(
            f"SPRT of {test.elo0:g} against {test.elo1:g} Elo: {verdict}, log likelihood ratio"
            f" {summary.llr:.2f} ({low:.2f} to {high:.2f})"
        )
    forfeits = [record for record in records if record.forfeit]
    for name, lost in zip(header.players, (0, 2), strict=True):
        reasons = [record.reason for record in forfeits if record.half_points == lost]
        if reasons:
            lines.append(f"{name} forfeited {len(reasons)} games, the first one by: {reasons[0]}")
    return lines


def _how_to_resume(path: Path | None) -> str:
    return "; the same command resumes" if path else "; without --log they are lost"


if __name__ == "__main__":
    sys.exit(main())
