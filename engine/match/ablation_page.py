"""python -m engine.match.ablation_page > docs/reference/ablations.md: what each technique is worth,
from the logs of matches.
"""

from collections.abc import Iterator
from pathlib import Path

from engine.game import Game
from engine.match.ablation import FOLDER, GAMES, TEST, ended_by, in_use, log_path, usable, verdict
from engine.match.ladder import options_of
from engine.match.log import read_log
from engine.match.page import games_with_logs
from engine.match.statistics import elo_text, summarise

HEAD = f"""# What the techniques of the search are worth

Made by `python -m engine.match.ablation_page > docs/reference/ablations.md` from the logs in `{FOLDER}/`; do not edit.

The search has techniques that can be switched off one by one ([how a search thinks](../explanation/search.md)). In each
game each one that the game can use had to show what it is worth: the game's search played colour-swapped pairs of games
from different balanced openings, with the technique against without it. Both looked at the same number of nodes, so
the time that a technique takes is not in the figures. Score and Elo are those of the side that had the
technique; the bounds hold the truth in 95 of 100 matches with a fixed number of games. A match that its test ended
early did so on a good run, so its figure tends to be larger than the truth, either way.

A match is **ended by** the first of these:

- **test**: a sequential test (SPRT of {TEST.elo0:g} against {TEST.elo1:g} Elo) is decided.
- **games**: it has {GAMES} games.
- **openings**: the game has no further opening, in tic-tac-toe and sticks. Both players always play alike, so an
  opening that came again would only count its games twice.

The verdicts:

- **pays**, **harms**: the bounds leave no other sign, or the test says that it is worth {TEST.elo1:g} Elo.
- **does not pay**: worth nothing rather than {TEST.elo1:g} Elo, as the test says.
- **makes no difference**: the test says so, and each opening ended alike for both sides: where a game has no bad
  captures, leaving them for later costs nothing.
- **cannot be told**: none of these. The difference is too small for so many games.

What makes searches shallower or deeper shows its worth in long ones: some techniques that did not pay at a few thousand
nodes, or of which nothing could be told there, did at five to ten times as many (late move reductions in chess, hex and
morris, null-move in chess, the depth less without a table move in draughts, gomoku and morris), and extensions in
international draughts paid at few and do not at many. Theirs is the match with more nodes.

What harms in a game or does not pay is not in use there: its rules file names it in `DISABLED`. What pays is in use,
and so is what makes no difference. What cannot be told is in use as well, unless the table says no: then an earlier
match spoke against it, or it takes more time than nodes tell, and the rules file says so. With more than a hundred
matches a few of these verdicts must be wrong, as bounds of 95 % are.

Buckets, which matter when the table is full, were measured with a table of fewer entries than nodes. A match was
played with what the game used at that time; the logs say with which rules.

    python -m engine.match.ablation GAME                       # all that the game can use
    python -m engine.match.ablation GAME --technique lmr iir   # some
    python -m engine.match.ablation_page > docs/reference/ablations.md
"""


def page(folder: Path = FOLDER) -> str:
    """The page for the logs of a folder."""
    measured, others = games_with_logs(folder)
    parts = [HEAD, *("\n".join(_game(game, folder)) for game in measured)]
    if others:
        parts.append(f"## Not measured yet\n\n{others}.\n")
    return "\n".join(parts)


def _game(game: Game, folder: Path) -> Iterator[str]:
    """The table of one game."""
    options = "".join(f", {name} {value}" for name, value in options_of(game).items())
    yield f"## {game.title}\n"
    yield f"Measured as `{game.id}`{options}.\n"
    yield "| technique | limit | games | ended by | score | Elo | verdict | in use |"
    yield "|---|---|---|---|---|---|---|---|"
    for technique in usable(game):
        used = "yes" if in_use(game, technique) else "no"
        yield f"| {technique} | {_measured(log_path(folder, game, technique))} | {used} |"
    yield ""


def _measured(path: Path) -> str:
    """Limit, games, what ended them, score, Elo and verdict of a match."""
    header, records, _ = read_log(path) if path.exists() else (None, [], 0)
    summary = summarise([record.half_points for record in records], TEST)
    if header is None or summary is None:
        return "| 0 | | | | not measured"
    limit = header.players[0].partition(",")[0]
    ended = ended_by(header, summary) or "under way"
    return f"{limit} | {summary.games} | {ended} | {summary.score:.1%} | {elo_text(summary)} | {verdict(summary)}"


if __name__ == "__main__":
    print(page(), end="")
