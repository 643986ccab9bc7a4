"""Makes the page about the chance to win from the scales of the games.

    python -m engine.reference.win_chance > docs/reference/win-chance.md

A test compares the page with the measured files.
"""

import sys
import textwrap
from collections.abc import Iterator

from engine.calibration import BINS
from engine.rules.measured import WinScale, measured_of
from engine.rules.registry import BUILT_IN, load_game
from engine.tune.win_scale import MAX_NODES, MAX_PLIES
from engine.win_chance import FALLBACK_SCALE, logistic

#: The score whose chance the page shows as an example.
EXAMPLE_SCORE = 100
#: The width of the page's paragraphs, in characters.
WIDTH = 100
#: The formula, and the origin of the scales.
INTRODUCTION = f"""\
# The chance to win

<!-- Written by `python -m engine.reference.win_chance` from engine/games/*.measured.json. -->

People see a score of the search as a chance to win: `1 / (1 + exp(-score / scale))`, where a draw
counts as half a win. A forced win is 100 %, a forced loss 0 %, and any other score from 1 to 99 %.
The scale is in the units of the game's evaluation: a side that is ahead by one scale has 73 %.

Each game's scale comes from its own matches:

    python -m engine.tune --win-scale chess --games 100

The upper half of the levels below the top, those with at most {MAX_NODES:,} nodes a move, play
against themselves, from random openings and to the end (a draw after {MAX_PLIES} plies). Lower
levels are careless too often: their results say little about their scores. A sample is the score
that a level reports for its move, with the result of the match for that side. The scale has the
maximum likelihood, with chances from 1 to 99 % as people see them. The same command gives the same
scale. The scale changes no move, so no rules digest covers the file.

Only strategies play a game without levels; their values are shown in their own units. A game of
another distribution has the scale {FALLBACK_SCALE:g} until its author runs the same command, which
writes the game's measured file, `NAME.measured.json` beside the rules file.
"""
#: The text before the table of scales.
SCALES = f"""\
## Scales

The loss is the mean cross entropy of the prediction in nats; a constant prediction of one half has
0.6931. It cannot reach 0: these levels lose won games, and a drawn game has at least 0.6931.
Positions with a forced win or loss are not in the fit; the last columns have their number and the
share of them that ended so. A level that is careless on purpose may still give away a forced win.
If every score is 0 or forced, any scale predicts one half, and the game has {FALLBACK_SCALE:g}.
"""
#: The text before the table of calibration.
CALIBRATION = """\
## Calibration

For each range of predicted chances, the table has the mean result in percent and the number of
positions. The mean of a perfect prediction is within its range. These are the matches of the fit.
[Run the benchmarks](../how-to/benchmarks.md#the-chance-to-win-against-results) says how to compare
predictions with the results of a server's matches.
"""


def page() -> str:
    """The whole page, in Markdown."""
    scales = dict(sorted(_built_in().items()))
    head = ("game", "scale", f"+{EXAMPLE_SCORE}", "levels", "matches", "drawn", "positions",
            "loss", "forced", "ended so")  # fmt: skip
    ranges = [f"{100 * i // BINS}-{100 * (i + 1) // BINS} %" for i in range(BINS)]
    return "\n".join(
        [
            _wrap(INTRODUCTION),
            _wrap(SCALES),
            _table(head, (_scale_row(game, fitted) for game, fitted in scales.items())),
            _wrap(CALIBRATION),
            _table(("game", *ranges), (_bin_row(game, fitted) for game, fitted in scales.items())),
        ]
    )


def _wrap(text: str) -> str:
    """Wraps the paragraphs anew: a number is shorter than its name in the source."""
    parts = text.rstrip("\n").split("\n\n")
    is_code = [part.startswith((" ", "<")) for part in parts]
    return "\n\n".join(
        part if code else textwrap.fill(part, WIDTH, break_on_hyphens=False, break_long_words=False)
        for part, code in zip(parts, is_code, strict=True)
    ) + "\n"  # fmt: skip


def _built_in() -> dict[str, WinScale]:
    """The scales of the games that come with Plyroom, by id."""
    scales = {game_id: measured_of(load_game(game_id)).win_scale for game_id in BUILT_IN}
    return {game_id: scale for game_id, scale in scales.items() if scale is not None}


def _scale_row(game: str, fitted: WinScale) -> tuple[str, ...]:
    return (
        game, f"{fitted.scale:g}", f"{100 * logistic(EXAMPLE_SCORE / fitted.scale):.0f} %",
        fitted.levels, f"{fitted.matches:,}", f"{fitted.draws:,}", f"{fitted.positions:,}",
        f"{fitted.loss:.4f}", f"{fitted.forced:,}", f"{100 * fitted.forced_right:.1f} %",
    )  # fmt: skip


def _bin_row(game: str, fitted: WinScale) -> tuple[str, ...]:
    return (
        game,
        *(f"{100 * b.scored:.0f} ({b.positions:,})" if b.positions else "-" for b in fitted.bins),
    )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("-" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(page())
