"""python -m engine.tune GAME: fits the numbers of a game's evaluation to matches of self-play.

The command stores the matches in a work file and resumes from it. Then it fits the numbers of the
game's DATA files (those that end in .txt) to the results, and writes them back with the command and
the losses at their head. The fit stops early and returns the numbers with the lowest validation
loss, measured on matches that are not used for learning. The same command gives the same numbers.

With --measure it writes the game's measured file (engine.rules.measured) instead: the nodes for
which its uncompiled search takes a second, the time to compile it, and the scale of its chance to
win (engine.win_chance), fitted to matches of the game's levels. With --win-scale it measures only
the last, which is the same on every machine.
"""

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import structs

from engine.command_line import count, option
from engine.game import Game, GameError, GameFault
from engine.rules.measured import measured_of, write_measured
from engine.rules.registry import load_game
from engine.tune.errors import TuneError
from engine.tune.fit import Settings
from engine.tune.games import Plan, WorkFile, read_plan
from engine.tune.samples import read_samples
from engine.tune.tuning import (
    Gain,
    comments_of,
    require_numbers,
    tune,
    tuned_indexes,
    write_numbers,
)

#: The exit code if the fit found no better numbers; the files are unchanged.
NO_IMPROVEMENT = 3


class Progress:
    """A line of progress that is overwritten in place, on a terminal only."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._next_s = 0.0

    def show(self, text: str) -> None:
        now_s = time.monotonic()
        if self._is_terminal and now_s >= self._next_s:
            self._next_s = now_s + 0.2
            self._out.write(f"\r\x1b[K{text}")
            self._out.flush()

    def end(self) -> None:
        if self._is_terminal:
            self._out.write("\r\x1b[K")
            self._out.flush()


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game")
    parser.add_argument(
        "--win-scale",
        action="store_true",
        help="fit the scale of the chance to win to matches of the game's levels, and write it to"
        " the game's measured file (--games, --seed, --option, --out)",
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="the same, and measure the speed of the uncompiled search and the time to compile it",
    )
    play = parser.add_argument_group("matches")
    play.add_argument(
        "--games",
        type=int,
        default=0,
        help="play until the work file has this number of matches (0: none)",
    )
    play.add_argument(
        "--work", type=Path, default=None, help="the work file; created if it does not exist"
    )
    play.add_argument("--nodes", type=int, default=2000, help="nodes per search (2000)")
    play.add_argument(
        "--random", default="4-12", metavar="A-B", help="random plies of an opening (4-12)"
    )
    play.add_argument(
        "--decided", type=int, default=0, help="the score that counts as a win (0: play to the end)"
    )
    play.add_argument("--seed", type=int, default=1, help="seed of the matches and of the fit (1)")
    play.add_argument(
        "--option",
        type=option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game",
    )
    play.add_argument("--play-only", action="store_true", help="do not fit")
    judging = parser.add_argument_group("scores of another player, for --score-weight")
    judging.add_argument(
        "--judge",
        metavar="TEXT",
        help="a player, as engine.match describes it: uci=stockfish,nodes=1500",
    )
    judging.add_argument(
        "--judged",
        type=Path,
        metavar="FILE",
        help="the work file for its scores, written from the matches of --work",
    )
    judging.add_argument(
        "--every", type=count, default=1, metavar="N", help="judge every N-th position (1)"
    )
    read = parser.add_argument_group("more training data")
    read.add_argument(
        "--also", type=Path, action="append", default=[], metavar="FILE", help="another work file"
    )
    read.add_argument(
        "--positions",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="lines: POSITION ; 1-0|0-1|1/2-1/2",
    )
    fitting = parser.add_argument_group("fit")
    fitting.add_argument(
        "--only", action="append", default=[], metavar="ROW", help="tune only this row of numbers"
    )
    fitting.add_argument(
        "--freeze", action="append", default=[], metavar="ROW", help="do not change this row"
    )
    fitting.add_argument(
        "--scale",
        type=float,
        default=None,
        help="the evaluation that scores 73 %% (default: fitted)",
    )
    for name, value, meaning in (
        ("batch", 4096, "positions per step"),
        ("rounds", 100, "maximum number of passes over all positions"),
        ("patience", 2, "rounds without progress before the learning rate falls"),
        ("falls", 4, "how many times the learning rate falls before the fit ends"),
    ):
        fitting.add_argument(f"--{name}", type=int, default=value, help=f"{meaning} ({value})")
    for name, rate, meaning in (
        ("rate", 0.02, "learning rate, as a fraction of the scale"),
        ("prior", 4.0, "pull towards the old numbers, as strong as this number of positions"),
        ("validation", 0.1, "share of the matches kept for validation"),
        ("score-weight", 0.0, "weight of the search's scores against the results, 0 to 1"),
    ):
        fitting.add_argument(f"--{name}", type=float, default=rate, help=f"{meaning} ({rate})")
    parser.add_argument(
        "--out", type=Path, default=None, help="write the numbers here, not into the game's file"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code.

    That is 0 if it wrote better numbers or was asked not to fit, 3 if it found none, 2 on error.
    """
    given = sys.argv[1:] if arguments is None else arguments
    args = make_parser().parse_args(given)
    try:
        return run(args, command_of(given))
    except (TuneError, GameError, GameFault) as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2


def command_of(given: list[str]) -> str:
    """The command line with file names in place of whole paths."""
    return shlex.join(["python", "-m", "engine.tune", *(word.rpartition("/")[2] for word in given)])


def run(args: argparse.Namespace, command: str) -> int:
    """Plays, judges and fits as requested; returns the exit code."""
    game = load_game(args.game)
    if args.win_scale or args.measure:
        return _measure(game, args)
    files = require_numbers(game)
    if args.out is not None and len(files) > 1:
        raise TuneError(f"--out names one file, but {game.id} has {len(files)} files of numbers")
    indexes = tuned_indexes(files, args.only, args.freeze)
    settings = _settings(args)
    progress = Progress()
    options = game.check_options(dict(args.option))
    if args.games:
        _play(game, args, options, progress)
    if args.judge is not None:
        _judge(game, args, progress)
    if args.play_only:
        return 0
    played = args.work if args.judge is None else args.judged
    work = [path for path in (played, *args.also) if path is not None]
    plans = [plan_text(plan) for path in work if (plan := read_plan(path)) is not None]
    samples = read_samples(game, work, args.positions, options)
    result = tune(
        game,
        samples,
        indexes,
        settings,
        args.scale,
        lambda number, learning, validation: progress.show(
            f"round {number}: loss {learning:.5f}, validation {validation:.5f}"
        ),
        lambda i: progress.show(f"{i + 1:,} of {len(samples):,} positions read"),
    )
    progress.end()
    is_better = (
        result.gain.changed > 0 and result.gain.validation_after < result.gain.validation_before
    )
    written = [
        str(write_numbers(file, result.numbers, comments_of(command, result.gain, plans), args.out))
        for file in (files if is_better else [])
    ]
    print_gain(result.gain, written, args.json)
    return 0 if is_better else NO_IMPROVEMENT


def _measure(game: Game, args: argparse.Namespace) -> int:
    """Measures the game as requested and writes its measured file; returns the exit code."""
    from engine.tune.speed import compile_cpu_s, full_nodes
    from engine.tune.win_scale import MATCHES, fit_win_scale

    progress = Progress()
    measured = measured_of(game)
    if args.measure:
        progress.show("the speed of the uncompiled search")
        measured = structs.replace(
            measured, full_nodes=full_nodes(game), compile_cpu_s=compile_cpu_s(game)
        )
    count = _at_least("games", args.games, 0) or MATCHES
    fitted = fit_win_scale(
        game, count, _at_least("seed", args.seed, 0), dict(args.option),
        lambda number: progress.show(f"{number:,} of {count:,} matches played"),
    )  # fmt: skip
    progress.end()
    path = write_measured(game, structs.replace(measured, win_scale=fitted), args.out)
    if args.json:
        print(msgspec.json.encode(structs.replace(measured, win_scale=fitted)).decode())
        return 0
    if args.measure:
        print(
            f"{game.id}: {measured.full_nodes:,} nodes uncompiled take a second,"
            f" compiling takes {measured.compile_cpu_s:g} s of processor time"
        )
    print(
        f"{game.id}: scale {fitted.scale:g} from {fitted.positions:,} positions of"
        f" {fitted.matches:,} matches of levels {fitted.levels}; loss {fitted.loss:.4f},"
        f" with a constant prediction {fitted.even_loss:.4f}; written: {path}"
    )
    return 0


def plan_text(plan: Plan) -> str:
    """The command-line options that a work file was made with."""
    options = "".join(f" --option {name}={value}" for name, value in plan.options.items())
    decided = f" --decided {plan.decided}" if plan.decided else ""
    random = f"--random {plan.least_random}-{plan.most_random}"
    judge = f" --judge {plan.judge} --every {plan.every}" if plan.judge else ""
    return f"--seed {plan.seed} --nodes {plan.nodes} {random}{decided}{options}{judge}"


def print_gain(gain: Gain, written: list[str], as_json: bool) -> None:
    """Prints the figures of a fit and the files written, as text or as JSON."""
    if as_json:
        print(msgspec.json.encode({**msgspec.to_builtins(gain), "written": written}).decode())
        return
    print(
        f"{gain.game}: {gain.positions:,} positions of {gain.matches:,} matches;"
        f" {gain.changed:,} of {gain.numbers:,} numbers changed in {gain.rounds} rounds,"
        f" scale {gain.scale}"
    )
    print(f"loss of learning    {gain.learning_before:.5f} -> {gain.learning_after:.5f}")
    print(f"loss of validation  {gain.validation_before:.5f} -> {gain.validation_after:.5f}")
    if gain.nonlinear > 0.01:
        print(
            f"{gain.nonlinear:.1%} of the coefficients hold only near the old numbers:"
            " tune again from the new ones"
        )
    print(
        f"written: {', '.join(written)}"
        if written
        else "no better numbers were found; nothing was written"
    )


def _play(
    game: Game, args: argparse.Namespace, options: dict[str, str], progress: Progress
) -> None:
    from engine.tune.selfplay import SelfPlay

    if args.work is None:
        raise TuneError("--games needs --work FILE, the file that stores the matches")
    min_random, max_random = _interval(args.random)
    nodes, decided = _at_least("nodes", args.nodes, 1), _at_least("decided", args.decided, 0)
    plan = Plan(1, game.id, game.digest, args.seed, nodes, min_random, max_random, options, decided)
    with WorkFile(args.work, plan) as file:
        start_s, resumed_matches = time.monotonic(), file.count

        def on_match(matches: int) -> None:
            seconds_per_match = (time.monotonic() - start_s) / (matches - resumed_matches)
            left_s = seconds_per_match * (args.games - matches)
            progress.show(
                f"{matches:,} of {args.games:,} matches played, {left_s / 60:.0f} minutes left"
            )

        SelfPlay(game, plan).fill(file, args.games, on_match)
    progress.end()


def _judge(game: Game, args: argparse.Namespace, progress: Progress) -> None:
    from engine.tune.judging import judge

    if args.work is None or args.judged is None:
        raise TuneError(
            "--judge needs --work FILE, the matches, and --judged FILE, the file for their scores"
        )
    judge(
        game, args.work, args.judged, args.judge, args.every,
        lambda count, total: progress.show(f"{count:,} of {total:,} matches judged"),
    )  # fmt: skip
    progress.end()


def _settings(args: argparse.Namespace) -> Settings:
    if not 0 < args.validation < 1 or not 0 <= args.score_weight <= 1:
        raise TuneError("--validation is between 0 and 1, --score-weight 0 to 1")
    if args.scale is not None and not args.scale > 0:
        raise TuneError("--scale is above 0")
    if args.rate <= 0 or args.prior < 0:
        raise TuneError("--rate is above 0, --prior 0 or more")
    return Settings(
        seed=_at_least("seed", args.seed, 0),
        batch=_at_least("batch", args.batch, 1),
        rate=args.rate,
        rounds=_at_least("rounds", args.rounds, 1),
        patience=_at_least("patience", args.patience, 1),
        falls=_at_least("falls", args.falls, 0),
        prior=args.prior,
        validation=args.validation,
        score_weight=args.score_weight,
    )


def _at_least(name: str, value: int, least: int) -> int:
    if value < least:
        raise TuneError(f"--{name} is {least} or more, not {value}")
    return value


def _interval(text: str) -> tuple[int, int]:
    least, _, most = text.partition("-")
    if not least.isdecimal() or not (most or least).isdecimal() or int(least) > int(most or least):
        raise TuneError(f"--random is a number of plies or an interval such as 4-12, not {text!r}")
    return int(least), int(most or least)


if __name__ == "__main__":
    sys.exit(main())
