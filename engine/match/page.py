"""python -m engine.match.page > docs/reference/levels.md: what the levels of each game are worth,
from the ladders' logs.
"""

from collections.abc import Iterator
from pathlib import Path

from engine.game import Game
from engine.match.ladder import (
    ADJUDICATING,
    EXACT,
    FOLDER,
    MAX_PLIES,
    REPLAYED,
    WANTED,
    YARDSTICK_OF,
    Step,
    options_of,
    reach,
    steps,
    top_nodes_of,
    yardstick_of,
)
from engine.match.log import read_log
from engine.match.statistics import Summary, elo_of, expected_score, summarise
from engine.rules.registry import game_ids, load_game
from engine.search.levels import LADDER, TIME_MS, level_of

TWO_PLY_GAMES = ", ".join(load_game(game_id).title.lower() for game_id in YARDSTICK_OF)
HEAD = f"""# Levels of play

Made by `python -m engine.match.page > docs/reference/levels.md` from the logs in `{FOLDER}/`; do not edit.

A game has up to eight levels of AI, fewer where it cannot tell so many apart. Level 1 is for those who have just read
the rules: it looks one move ahead, and now and then it plays anything. The top level thinks for {TIME_MS / 1000:g} s
a move (or knows the right move, where the game has a solver; that of connect four may take 3 s where it has to keep a
win that is far away). Each level below it is three numbers:

- **nodes**: so many positions it looks at, whatever the machine. It plays by the deepest look that it completed.
- **margin**: it may choose a move that looks worse than the best by less than that (in the units of the game's
  evaluation). So it does not play the same match twice.
- **careless**: that share of its moves is played after a look of one move only, as the greedy player below looks, who
  takes what he can and forgets the answer; at a level of 1 node, which never looks further, by lot.

Beyond that no level gives away what it sees, and none is slow to be weak. Which moves are careless, and which of the
near-equal ones it takes, comes from the match: a move that is asked for again is the same.

Each level is measured by colour-swapped pairs of games from different balanced openings against the one below, and
level 1 against a yardstick, which the table names:

- **greedy** looks one move ahead and makes no mistakes in that.
- **two-ply** looks at the answers too, so it gives nothing away that one answer takes, takes no stalemate where it is
  ahead, and can mate. It is the yardstick of {TWO_PLY_GAMES}: there a greedy
  player does not win what is won.

A step should score {WANTED[0]:.0%} to {WANTED[1]:.0%}. Level 1 should lose half of its games at least; where it lost
fewer, since many were drawn, and scored no more than 50%, the table says "by score", and a line below it what came of
the games. The bounds hold the truth in 95 of 100 such matches.

The top level plays by time, so a *stand-in* is measured in its place: the search with the number of nodes that is
given, without a solver. The top row's figures are the stand-in's. In its second the top level looks at far more (about
a million positions in chess, several in draughts) or plays perfectly, so the last step is wider than measured. How much
wider, `python -m engine.match.ladder GAME --reach` measures, with ten times the nodes, or with the top level itself
where it plays perfectly (and loses only where the opening is lost); below the table is what came out.

Below each table stands how far the ladder reaches: the Elo differences of its steps (from level 1 on), added up. That
is an estimate, since a lead over the next is not just added to that one's lead over a third, and since two
players of one search meet each other's weaknesses more often than other people's. Beside it stands what as many steps
of {WANTED[1]:.0%} would add up to, which is the most that a ladder with as many levels can span.

Chess games of two players that look at {ADJUDICATING:,} nodes or more end when both have seen the same side ten pawns
ahead for some moves; the others are played to the end, or to a draw after {MAX_PLIES} plies, as in all games.

Beside the levels there are *personas*, for every game; they too play the same move when they are asked again:

- **average** takes its opponent for somebody who may err: it plays the move with the best mean over all that may
  follow, its own best moves and any of the opponent's. It makes little of a threat that only one answer carries out.
- **swindler** sees what the search sees. Of the moves that give little away (level 1's margin) it plays the one after
  which the opponent can go most wrong; where all is lost, of all moves.
- **random** plays by lot.

The logs hold seed, opening, result and a digest of the moves of each game; a test plays some of them again, move for
move. When rules, evaluation or search change, it says so, and the ladder is measured anew. A log also names the
rules that it was played with: a digest of all files that could matter. Most changes of those files change no move.
Where the digest is another one by now, the command plays {REPLAYED} games of the step again, and the step stands if
they come out the same, move for move.

    python -m engine.match.ladder GAME --calibrate    # prints a LEVEL_TABLE for the rules file
    python -m engine.match.ladder GAME --fresh        # plays the ladder; killed, it goes on without --fresh
    python -m engine.match.ladder GAME                # plays what is missing, and checks what is there
    python -m engine.match.ladder GAME --reach        # the top, with more nodes or perfect, against the level below
    python -m engine.match.page > docs/reference/levels.md
"""

#: Why the top level is exact, of the games that are in EXACT.
HOW_EXACT = {
    "connect-four": "its solver and its book give the right move",
    "sticks": "it looks to the end of the game",
    "tic-tac-toe": "it looks to the end of the game",
}


def page(folder: Path = FOLDER) -> str:
    """The page for the logs of a folder."""
    measured, others = games_with_logs(folder)
    parts = [HEAD, *("\n".join(_game(game, folder)) for game in measured)]
    if others:
        rows = "\n".join(
            f"| {nodes:,} | {margin} | {slip / 10:g} % |" for nodes, margin, slip in LADDER
        )
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
    """The table of one game, and what is to be said about it."""
    options = "".join(f", {name} {value}" for name, value in options_of(game).items())
    yield f"## {game.title}\n"
    yield f"{game.levels} levels, measured as `{game.id}`{options}.\n"
    yield "| level | nodes | margin | careless | against | games | won, drawn, lost | score | bounds | as wanted |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    matches = list(steps(game, top_nodes_of(game)))
    summaries = [summary_of(folder / game.id / f"{step.name}.jsonl") for step in matches]
    for number, (step, summary) in enumerate(zip(matches, summaries, strict=True), 1):
        level = level_of(game, number)
        stand_in = number == game.levels
        nodes = (
            f"{TIME_MS} ms; stand-in: {_nodes_of(step):,}" if stand_in else f"{level.limit.nodes:,}"
        )
        limits = f"{nodes} | {level.margin} | {level.slip / 10:g} %"
        below = yardstick_of(game) if number == 1 else f"level {number - 1}"
        wanted = as_wanted(number, summary) + (", the stand-in" if stand_in else "")
        yield f"| {number} | {limits} | {below} | {_measured(summary)} | {wanted} |"
    yield ""
    if summaries and summaries[0] is not None:
        yield from _first(game, summaries[0])
    yield from _span(game, [summary.elo if summary else None for summary in summaries[1:]], folder)


def as_wanted(number: int, summary: Summary | None) -> str:
    """Is a step as wide as it should be? Level 1 should lose half of its games; "by score" is half
    a promise.
    """
    if summary is None:
        return "no"
    if number == 1:
        return (
            "yes"
            if 2 * summary.losses >= summary.games
            else "by score"
            if summary.score <= 0.5
            else "no"
        )
    return "yes" if WANTED[0] <= summary.score <= WANTED[1] else "no"


def _nodes_of(step: Step) -> int:
    """How many nodes stand for the top level."""
    return int(step.players[0].removeprefix("nodes="))


def _measured(summary: Summary | None) -> str:
    """Games, results, score and bounds of a step."""
    if summary is None:
        return "0 | | | "
    results = f"{summary.wins}, {summary.draws}, {summary.losses}"
    return f"{summary.games} | {results} | {summary.score:.1%} | {_bounds(summary)}"


def _first(game: Game, summary: Summary) -> Iterator[str]:
    """What became of level 1's games, where it did not lose half of them."""
    if as_wanted(1, summary) != "by score":
        return
    decided = summary.wins + summary.losses
    yield f"Level 1 lost {summary.losses} of its {summary.games} games against the {yardstick_of(game)} player, fewer"
    yield f"than half: {summary.draws} were drawn."
    yield f"Of the {decided} that were decided it lost {summary.losses / decided:.0%}.\n"


def _span(game: Game, steps_elo: list[float | None], folder: Path) -> Iterator[str]:
    """How many Elo the ladder spans, with its stand-in and with what comes nearer to the real top."""
    known = [elo for elo in steps_elo if elo is not None]
    whole = len(known) == len(steps_elo) > 0
    most = len(steps_elo) * (elo_of(WANTED[1]) or 0)
    if whole:
        yield f"From level 1 to the stand-in for level {game.levels} the steps add up to"
        yield f"{sum(known):,.0f} Elo (an estimate);"
        yield f"{len(known)} steps of {WANTED[1]:.0%} would add up to {most:,.0f}.\n"
    step = reach(game, top_nodes_of(game))
    top = summary_of(folder / game.id / f"{step.name}.jsonl")
    if top is None:
        return
    who = (
        f"With {_nodes_of(step):,} nodes the top"
        if game.id not in EXACT
        else (f"Level {game.levels} itself, which plays perfectly, since {HOW_EXACT[game.id]},")
    )
    yield f"{who} scores {top.score:.1%} of {top.games} games against level {game.levels - 1}"
    yield f"({_bounds(top)}: {top.wins} won, {top.draws} drawn, {top.losses} lost)."
    if whole and top.elo is not None:
        total = sum(known[:-1]) + top.elo
        wider = (
            f", more than {len(known)} steps of {WANTED[1]:.0%} can span" if total > most else ""
        )
        yield f"With that, {total:,.0f} Elo from level 1 on{wider}."
    yield ""


def summary_of(path: Path) -> Summary | None:
    """The result of a log; None where there is none."""
    return (
        summarise([record.half_points for record in read_log(path)[1]]) if path.exists() else None
    )


def _bounds(summary: Summary) -> str:
    """What holds the true score in 95 of 100 matches."""
    low = 0.0 if summary.elo_low is None else expected_score(summary.elo_low)
    high = 1.0 if summary.elo_high is None else expected_score(summary.elo_high)
    return f"{low:.1%} to {high:.1%}"


if __name__ == "__main__":
    print(page(), end="")
