"""Fits the scale of a game's chance to win (`engine.win_chance`) to matches of its levels.

The upper half of the levels below the top, as far as their searches are short, play against
themselves from random openings. Lower levels are careless too often: their results say little about
their scores. A sample is the score that a level reports for its move, as players see it, with the
result of the match.

The scale has the maximum likelihood of the results. In it a chance is from 1 to 99 %, as players
see it, so that a won position that a careless move gives away does not outweigh all others. The
same command plays the same matches and gives the same scale.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from engine.calibration import LEAST_CHANCE, make_bins
from engine.game import Game
from engine.match.description import parse_description
from engine.match.making import make_player, searcher_for
from engine.match.openings import Openings, default_plies
from engine.match.play import Adjudication, Choice, Player, Situation, play_game
from engine.rules.measured import WinScale, measured_of
from engine.search.levels import level_of
from engine.tune.errors import TuneError
from engine.tune.fit import sigmoid
from engine.win_chance import FALLBACK_SCALE, is_forced

#: Number of matches, unless the user gives another.
MATCHES = 200
#: Nodes of a level's search above which the level plays no matches, because they would take hours.
MAX_NODES = 20_000
#: Plies after which a match is a draw.
MAX_PLIES = 300
#: The scales from which the fit chooses: they differ by 1 %.
SCALES = tuple(float(f"{10 * 1.01**step:.3g}") for step in range(765))


class ScoredMatch(Struct, frozen=True):
    """A match: the first seat's result (1, 0.5 or 0), and the seat and score of each move."""

    result: float
    scores: tuple[tuple[int, int], ...]


class _Recorder:
    """A player that records the score of each of its moves."""

    def __init__(self, player: Player, scores: list[tuple[int, int]]) -> None:
        self.clock = player.clock
        self._player = player
        self._scores = scores

    def begin(self, seat: int) -> None:
        self._player.begin(seat)

    def choose(self, situation: Situation) -> Choice:
        choice = self._player.choose(situation)
        assert choice.score is not None, "a level reports a score"
        self._scores.append((situation.position.turn, choice.score))
        return choice

    def close(self) -> None:
        self._player.close()


def levels_that_play(game: Game) -> list[int]:
    """Returns the levels that play the matches: those of the upper half with a fixed, small number
    of nodes.
    """
    upper_half = range(game.levels // 2 + 1, game.levels)
    limits = {level: level_of(game, level).limit.nodes for level in upper_half}
    return [level for level, nodes in limits.items() if nodes is not None and nodes <= MAX_NODES]


def play_matches(
    game: Game, count: int, seed: int, chosen: Mapping[str, str]
) -> Iterator[ScoredMatch]:
    """Plays that many matches with the chosen options, an equal number for each level."""
    levels = levels_that_play(game)
    if not levels:
        raise TuneError(f"{game.id} has no level of at most {MAX_NODES:,} nodes to play matches")
    options = game.check_options(chosen)
    openings = Openings(searcher_for(game), options, seed, default_plies(game))
    for number in range(count):
        scores: list[tuple[int, int]] = []
        description = parse_description(f"level={levels[number % len(levels)]}")
        first, second = (
            _Recorder(make_player(description, game, options), scores) for _ in range(2)
        )
        played = play_game(
            game, options, openings[number // len(levels)].moves, (first, second),
            seed=seed * 1_000_003 + number, rule=Adjudication(MAX_PLIES),
        )  # fmt: skip
        if played.forfeit:
            raise TuneError(f"{game.id}, match {number}: {played.reason}")
        result = 0.5 if played.winner is None else float(played.winner == 0)
        yield ScoredMatch(result, tuple(scores))


def fit_scale(game: Game, matches: Sequence[ScoredMatch], seed: int) -> WinScale:
    """Returns the scale with the maximum likelihood of the matches' results."""
    samples = np.array(
        [
            (score, match.result if seat == 0 else 1 - match.result)
            for match in matches
            for seat, score in match.scores
        ],
        float,
    ).reshape(-1, 2)
    forced = np.array([is_forced(int(score)) for score, _ in samples], bool)
    scores, results = samples[~forced].T
    if not len(scores):
        raise TuneError(f"{game.id}: every position of the matches is decided")
    # Some evaluations are always 0: then any scale predicts one half.
    scale = _likeliest_scale(scores, results) if scores.any() else FALLBACK_SCALE
    predicted = _shown_chances(scores, scale)
    is_right = (samples[forced, 0] > 0) == (samples[forced, 1] == 1)
    levels = levels_that_play(game)
    return WinScale(
        scale=scale, levels=f"{levels[0]}-{levels[-1]}", seed=seed, matches=len(matches),
        draws=sum(match.result == 0.5 for match in matches), positions=len(scores),
        loss=round(_loss(predicted, results), 4),
        even_loss=round(_loss(np.full_like(results, 0.5), results), 4),
        forced=int(forced.sum()),
        forced_right=round(float(is_right.mean()), 4) if len(is_right) else 1.0,
        bins=tuple(make_bins(predicted.tolist(), results.tolist())),
    )  # fmt: skip


def _likeliest_scale(scores: Any, results: Any) -> float:
    """The scale of SCALES with the least loss."""
    losses = [_loss(_shown_chances(scores, scale), results) for scale in SCALES]
    return float(SCALES[int(np.argmin(losses))])


def _shown_chances(scores: Any, scale: float) -> Any:
    return np.clip(sigmoid(scores / scale), LEAST_CHANCE, 1 - LEAST_CHANCE)


def _loss(predicted: Any, results: Any) -> float:
    """The mean cross entropy of predicted chances, in nats."""
    losses = results * np.log(predicted) + (1 - results) * np.log(1 - predicted)
    return float(-losses.mean())


def fit_win_scale(
    game: Game,
    count: int,
    seed: int,
    options: Mapping[str, str],
    on_match: Callable[[int], None] = lambda number: None,
) -> WinScale:
    """Plays the matches and fits the scale to them.

    Without options the matches have those of the scale in the game's measured file.
    """
    before = measured_of(game).win_scale
    chosen = options or (before.options if before else {})
    matches = []
    for match in play_matches(game, count, seed, chosen):
        matches.append(match)
        on_match(len(matches))
    return msgspec.structs.replace(fit_scale(game, matches, seed), options=dict(chosen))
