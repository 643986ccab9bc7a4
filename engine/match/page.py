"""python -m engine.match.page > docs/levels.md: what the levels of each game are worth, from the ladders' logs."""

from collections.abc import Iterator
from pathlib import Path

from engine.game import Game
from engine.games.registry import game_ids, load_game
from engine.match.ladder import ADJUDICATING, FOLDER, MAX_PLIES, WANTED, options_of, reach, steps, top_nodes_of
from engine.match.log import read_log
from engine.match.statistics import Summary, expected_score, summarise
from engine.search.levels import LADDER, TIME_MS, level_of

HEAD = f"""# Levels of play

Made by `python -m engine.match.page > docs/levels.md` from the logs in `{FOLDER}/`; do not edit.

A game has up to eight levels of AI, fewer where it cannot tell so many apart. Level 1 is for those who have just read
the rules: it looks one move ahead, and now and then it plays anything. The top level thinks for {TIME_MS / 1000:g} s
a move (or knows the right move, where the game has a solver). Each level below it is three numbers:

- **nodes**: so many positions it looks at, whatever the machine. It plays by the deepest look that it completed.
- **margin**: it may choose a move that looks worse than the best by less than that (in the units of the game's
  evaluation). So it does not play the same match twice.
- **careless**: that share of its moves is played after a look of one move only, as the greedy player below looks, who
  takes what he can and forgets the answer; at a level of 1 node, which never looks further, by lot.

Beyond that no level gives away what it sees, and none is slow to be weak. Which moves are careless, and which of the
near-equal ones it takes, comes from the match: a move that is asked for again is the same.

Each level is measured by colour-swapped pairs of games from different balanced openings against the one below, level 1
against a *greedy* player: it looks one move ahead and makes no mistakes in that. A step should score
{WANTED[0]:.0%} to {WANTED[1]:.0%}, level 1 no more than 50%. The bounds hold the truth in 95 of 100 such matches. For
the top level, which plays by time, stands the search with the number of nodes that is given, without a solver. In its
time it looks at far more (about a million positions in chess, several in draughts), so the last step is wider than
measured; `python -m engine.match.ladder GAME --reach` measures it with ten times the nodes, and where that was done, a
line below the table says what came out.

Chess games of two players that look at {ADJUDICATING:,} nodes or more end when both have seen the same side ten pawns
ahead for some moves; the others are played to the end, or to a draw after {MAX_PLIES} plies, as in all games.

Beside the levels there are *personas*, for every game; they too play the same move when they are asked again:

- **average** takes its opponent for somebody who may err: it plays the move with the best mean over all that may
  follow, its own best moves and any of the opponent's. It makes little of a threat that only one answer carries out.
- **swindler** sees what the search sees. Of the moves that give little away (level 1's margin) it plays the one after
  which the opponent can go most wrong; where all is lost, of all moves.
- **random** plays by lot.

The logs hold seed, opening, result and a digest of the moves of each game; a test plays some of them again, move for
move. When rules, evaluation or search change, it says so, and the ladder is measured anew:

    python -m engine.match.ladder GAME --calibrate    # prints a LEVEL_TABLE for the rules file
    python -m engine.match.ladder GAME --fresh        # plays the ladder; killed, it goes on without --fresh
    python -m engine.match.ladder GAME --reach        # the top with ten times the nodes against the level below
    python -m engine.match.page > docs/levels.md
"""


def page(folder: Path = FOLDER) -> str:
    """The page for the logs of a folder."""
    measured, others = games_with_logs(folder)
    parts = [HEAD, *("\n".join(_game(game, folder)) for game in measured)]
    if others:
        rows = "\n".join(f"| {nodes:,} | {margin} | {slip / 10:g} % |" for nodes, margin, slip in LADDER)
        parts.append(
            f"## Not measured yet\n\n{others}.\n\n"
            "A game without a table of its own has these levels below the top, or as many as it can tell apart:\n\n"
            f"| nodes | margin | careless |\n|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def games_with_logs(folder: Path) -> tuple[list[Game], str]:
    """The games that have logs in a folder, and the names of those that have none."""
    games = [load_game(game_id) for game_id in game_ids()]
    measured = [game for game in games if (folder / game.id).is_dir()]
    others = ", ".join(game.title.lower() for game in games if game not in measured)
    return measured, others[:1].upper() + others[1:]


def _game(game: Game, folder: Path) -> Iterator[str]:
    """The table of one game."""
    options = "".join(f", {name} {value}" for name, value in options_of(game).items())
    yield f"## {game.title}\n"
    yield f"{game.levels} levels, measured as `{game.id}`{options}.\n"
    yield "| level | nodes | margin | careless | against | games | score | bounds | as wanted |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for number, step in enumerate(steps(game, top_nodes_of(game)), 1):
        level = level_of(game, number)
        nodes = f"{level.limit.nodes:,}" if level.limit.nodes else f"{TIME_MS} ms; {step.players[0]}"
        limits = f"{nodes} | {level.margin} | {level.slip / 10:g} %"
        below = "greedy" if number == 1 else f"level {number - 1}"
        yield f"| {number} | {limits} | {below} | {_measured(folder / game.id / f'{step.name}.jsonl', number)} |"
    yield ""
    yield from _reach(game, folder)


def _reach(game: Game, folder: Path) -> Iterator[str]:
    """What the top level gains by more nodes, if that was measured."""
    step = reach(game, top_nodes_of(game))
    summary = summary_of(folder / game.id / f"{step.name}.jsonl")
    if summary is not None:
        nodes = int(step.players[0].removeprefix("nodes="))
        yield f"With {nodes:,} nodes the top scores {summary.score:.1%} of {summary.games} games against level"
        yield f"{game.levels - 1} ({_score(summary, -1):.1%} to {_score(summary, 1):.1%}).\n"


def _measured(path: Path, number: int) -> str:
    """Games, score, bounds and verdict of a step."""
    summary = summary_of(path)
    if summary is None:
        return "0 | | | no"
    low, high = (0.0, 0.5) if number == 1 else WANTED
    bounds = f"{_score(summary, -1):.1%} to {_score(summary, 1):.1%}"
    return f"{summary.games} | {summary.score:.1%} | {bounds} | {'yes' if low <= summary.score <= high else 'no'}"


def summary_of(path: Path) -> Summary | None:
    """The result of a log; None where there is none."""
    return summarise([record.half_points for record in read_log(path)[1]]) if path.exists() else None


def _score(summary: Summary, side: int) -> float:
    """An end of the interval that holds the true score in 95 of 100 matches."""
    elo = summary.elo_low if side < 0 else summary.elo_high
    return expected_score(elo) if elo is not None else float(side > 0)


if __name__ == "__main__":
    print(page(), end="")
