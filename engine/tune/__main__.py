"""python -m engine.tune GAME: plays matches of a game against itself and fits the numbers of its
evaluation to them.

The matches are kept in a work file and resumed there. Then the numbers of the game's DATA files
(those that end in .txt) are fitted to the results, and written back with the command and the losses
at their head. An early stop keeps the numbers that explain matches best that were not learnt from.
The same command gives the same numbers.
"""

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import TextIO

import msgspec

from engine.command_line import count, option
from engine.game import Game, GameError, GameFault
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

#: The exit code when no better numbers were found; the files are as they were.
NOTHING_BETTER = 3


class Progress:
    """One line that changes, on a terminal only."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._shows = out.isatty()
        self._next = 0.0

    def show(self, text: str) -> None:
        now = time.monotonic()
        if self._shows and now >= self._next:
            self._next = now + 0.2
            self._out.write(f"\r\x1b[K{text}")
            self._out.flush()

    def end(self) -> None:
        if self._shows:
            self._out.write("\r\x1b[K")
            self._out.flush()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m engine.tune",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("game")
    play = made.add_argument_group("matches")
    play.add_argument(
        "--games",
        type=int,
        default=0,
        help="play until the work file has so many matches (0: none)",
    )
    play.add_argument(
        "--work", type=Path, default=None, help="the work file, made when it is not there"
    )
    play.add_argument("--nodes", type=int, default=2000, help="nodes of a search (2000)")
    play.add_argument(
        "--random", default="4-12", metavar="A-B", help="so many random plies at first (4-12)"
    )
    play.add_argument(
        "--decided", type=int, default=0, help="who is ahead by so much has won (0: play on)"
    )
    play.add_argument("--seed", type=int, default=1)
    play.add_argument("--option", type=option, action="append", default=[], metavar="NAME=VALUE")
    play.add_argument("--play-only", action="store_true", help="do not fit")
    judging = made.add_argument_group("scores of another player, for --score-weight")
    judging.add_argument(
        "--judge",
        metavar="TEXT",
        help="a player, as engine.match describes it: uci=stockfish,nodes=1500",
    )
    judging.add_argument(
        "--judged",
        type=Path,
        metavar="FILE",
        help="the work file with its scores, made from --work",
    )
    judging.add_argument(
        "--every", type=count, default=1, metavar="N", help="judge one of so many positions (1)"
    )
    read = made.add_argument_group("more to learn from")
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
    fitting = made.add_argument_group("fit")
    fitting.add_argument(
        "--only", action="append", default=[], metavar="ROW", help="tune this row of numbers"
    )
    fitting.add_argument(
        "--freeze", action="append", default=[], metavar="ROW", help="leave this row as it is"
    )
    fitting.add_argument(
        "--scale",
        type=float,
        default=None,
        help="the evaluation that wins 73 in 100 (default: fitted)",
    )
    for name, value in (("batch", 4096), ("rounds", 100), ("patience", 2), ("falls", 4)):
        fitting.add_argument(f"--{name}", type=int, default=value, help=f"({value})")
    for name, rate in (("rate", 0.02), ("prior", 4.0), ("validation", 0.1), ("score-weight", 0.0)):
        fitting.add_argument(f"--{name}", type=float, default=rate, help=f"({rate})")
    made.add_argument(
        "--out", type=Path, default=None, help="write the numbers here and not into the game's file"
    )
    made.add_argument("--json", action="store_true", help="print what was found as JSON")
    return made


def main(arguments: list[str] | None = None) -> int:
    """0 when better numbers were written, 3 when none were found, 2 for a wrong command."""
    given = sys.argv[1:] if arguments is None else arguments
    asked = parser().parse_args(given)
    try:
        return run(asked, command_of(given))
    except (TuneError, GameError, GameFault) as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2


def command_of(given: list[str]) -> str:
    """The command as others would type it: without the folders of this machine."""
    return shlex.join(["python", "-m", "engine.tune", *(word.rpartition("/")[2] for word in given)])


def run(asked: argparse.Namespace, command: str) -> int:
    game = load_game(asked.game)
    files = require_numbers(game)
    if asked.out is not None and len(files) > 1:
        raise TuneError(f"--out names one file, but {game.id} has {len(files)} files of numbers")
    tuned = tuned_indexes(files, asked.only, asked.freeze)
    settings = _settings(asked)
    progress = Progress()
    options = game.check_options(dict(asked.option))
    if asked.games:
        _play(game, asked, options, progress)
    if asked.judge is not None:
        _judge(game, asked, progress)
    if asked.play_only:
        return 0
    played = asked.work if asked.judge is None else asked.judged
    work = [path for path in (played, *asked.also) if path is not None]
    made = [told_plan(plan) for path in work if (plan := read_plan(path)) is not None]
    samples = read_samples(game, work, asked.positions, options)
    found = tune(
        game,
        samples,
        tuned,
        settings,
        asked.scale,
        lambda number, learnt, judged: progress.show(
            f"round {number}: loss {learnt:.5f}, validation {judged:.5f}"
        ),
        lambda i: progress.show(f"{i + 1:,} of {len(samples):,} positions read"),
    )
    progress.end()
    is_better = (
        found.gain.changed > 0 and found.gain.validation_after < found.gain.validation_before
    )
    written = [
        str(write_numbers(file, found.numbers, comments_of(command, found.gain, made), asked.out))
        for file in (files if is_better else [])
    ]
    tell(found.gain, written, asked.json)
    return 0 if is_better else NOTHING_BETTER


def told_plan(plan: Plan) -> str:
    """The options that made a work file."""
    options = "".join(f" --option {name}={value}" for name, value in plan.options.items())
    decided = f" --decided {plan.decided}" if plan.decided else ""
    random = f"--random {plan.least_random}-{plan.most_random}"
    judge = f" --judge {plan.judge} --every {plan.every}" if plan.judge else ""
    return f"--seed {plan.seed} --nodes {plan.nodes} {random}{decided}{options}{judge}"


def tell(gain: Gain, written: list[str], as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode({**msgspec.to_builtins(gain), "written": written}).decode())
        return
    print(
        f"{gain.game}: {gain.positions:,} positions of {gain.matches:,} matches; {gain.changed:,} of {gain.numbers:,}"
        f" numbers changed in {gain.rounds} rounds, scale {gain.scale}"
    )
    print(f"loss of learning    {gain.learning_before:.5f} -> {gain.learning_after:.5f}")
    print(f"loss of validation  {gain.validation_before:.5f} -> {gain.validation_after:.5f}")
    if gain.bent > 0.01:
        print(
            f"{gain.bent:.1%} of the coefficients hold only near the old numbers: tune again from the new ones"
        )
    print(
        f"written: {', '.join(written)}"
        if written
        else "no better numbers were found; nothing was written"
    )


def _play(
    game: Game, asked: argparse.Namespace, options: dict[str, str], progress: Progress
) -> None:
    from engine.tune.selfplay import SelfPlay

    if asked.work is None:
        raise TuneError("--games needs --work FILE, where the matches are kept")
    least, most = _interval(asked.random)
    nodes, decided = _at_least("nodes", asked.nodes, 1), _at_least("decided", asked.decided, 0)
    plan = Plan(1, game.id, game.digest, asked.seed, nodes, least, most, options, decided)
    with WorkFile(asked.work, plan) as file:
        begun, had = time.monotonic(), file.count

        def on_match(count: int) -> None:
            left = (time.monotonic() - begun) / (count - had) * (asked.games - count)
            progress.show(
                f"{count:,} of {asked.games:,} matches played, {left / 60:.0f} minutes left"
            )

        SelfPlay(game, plan).fill(file, asked.games, on_match)
    progress.end()


def _judge(game: Game, asked: argparse.Namespace, progress: Progress) -> None:
    from engine.tune.judging import judge

    if asked.work is None or asked.judged is None:
        raise TuneError(
            "--judge needs --work FILE, the matches, and --judged FILE, where they are kept with its scores"
        )
    judge(
        game, asked.work, asked.judged, asked.judge, asked.every,
        lambda count, total: progress.show(f"{count:,} of {total:,} matches judged"),
    )  # fmt: skip
    progress.end()


def _settings(asked: argparse.Namespace) -> Settings:
    if not 0 < asked.validation < 1 or not 0 <= asked.score_weight <= 1:
        raise TuneError("--validation is between 0 and 1, --score-weight 0 to 1")
    if asked.scale is not None and not asked.scale > 0:
        raise TuneError("--scale is above 0")
    if asked.rate <= 0 or asked.prior < 0:
        raise TuneError("--rate is above 0, --prior 0 or more")
    return Settings(
        seed=_at_least("seed", asked.seed, 0),
        batch=_at_least("batch", asked.batch, 1),
        rate=asked.rate,
        rounds=_at_least("rounds", asked.rounds, 1),
        patience=_at_least("patience", asked.patience, 1),
        falls=_at_least("falls", asked.falls, 0),
        prior=asked.prior,
        validation=asked.validation,
        score_weight=asked.score_weight,
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
