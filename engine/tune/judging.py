"""Scores the positions of a work file with another player.

The player's scores replace those of the search that played the matches. A match's result is a
coarse training target, because about seventy positions share it. A stronger player scores each
position by itself.
"""

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from engine.game import Game, GameError
from engine.match.description import DescriptionError, parse_description
from engine.match.making import make_player
from engine.match.play import Player, PlayerFailed, Situation
from engine.tune.errors import TuneError
from engine.tune.games import PlayedMatch, WorkFile, read_matches, read_plan


def judge(
    game: Game,
    work: Path,
    judged: Path,
    player: str,
    every: int,
    on_match: Callable[[int, int], None] = lambda count, total: None,
) -> None:
    """Writes the matches of a work file to another file, with the scores of a player.

    `player` is a description as `engine.match` reads it. The player scores every `every`-th of the
    kept positions. `on_match` receives the number of matches done and their total. An interrupted
    run resumes. A second run writes the same file if the player has a node limit and keeps no state
    between matches.

    Raises TuneError if there is no such player or it fails.
    """
    plan = read_plan(work)
    if plan is None:
        raise TuneError(f"{work} holds no matches to judge")
    if plan.game != game.id:
        raise TuneError(f"{work} holds matches of {plan.game}, not of {game.id}")
    try:
        judging_player = make_player(parse_description(player), game, dict(plan.options))
    except DescriptionError as error:
        raise TuneError(f"--judge: {error}") from error
    total = sum(1 for _ in read_matches(work))
    try:
        with WorkFile(judged, structs.replace(plan, judge=player, every=every)) as file:
            for played in read_matches(work):
                if played.number >= file.count:
                    file.add(_judged(game, dict(plan.options), played, judging_player, every))
                    on_match(file.count, total)
    except (PlayerFailed, GameError) as error:
        raise TuneError(f"--judge {player}: {error}") from error
    finally:
        judging_player.close()


def _judged(
    game: Game, options: dict[str, str], played: PlayedMatch, player: Player, every: int
) -> PlayedMatch:
    """A match with the player's scores; positions that it does not score are dropped."""
    wanted = set(played.kept[played.number % every :: every])
    if not wanted:
        return structs.replace(played, kept=(), scores=())
    start = position = game.start(options)
    moves = played.moves.split()
    player.begin(0)
    scores: dict[int, int] = {}
    for ply in range(max(wanted) + 1):
        if ply in wanted:
            choice = player.choose(Situation(start, moves[:ply], position, played.number))
            if choice.score is not None:
                scores[ply] = choice.score
        position = position.replay(moves[ply])
    return structs.replace(played, kept=tuple(scores), scores=tuple(scores.values()))
