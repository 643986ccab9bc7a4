"""The chance to win: a scale for every game, and the fit that makes it."""

import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reference import win_chance as win_chance_page
from engine.rules.measured import measured_of
from engine.rules.registry import BUILT_IN, load_game
from engine.search.job import MATE
from engine.tune.win_scale import ScoredMatch, fit_scale
from engine.win_chance import FALLBACK_SCALE, is_forced, scale_of, win_chance

ROOT = Path(__file__).parents[2]
SCORES = st.integers(-20_000, 20_000)
games = pytest.mark.parametrize("game_id", sorted(BUILT_IN))


def test_every_game_has_a_scale_of_its_own_matches() -> None:
    """All games with levels and no others have a scale, each fitted to 100 matches."""
    scales = {game: measured_of(load_game(game)).win_scale for game in BUILT_IN}
    fitted_games = [game for game, fitted in scales.items() if fitted is not None]
    assert fitted_games == [game for game in BUILT_IN if load_game(game).levels]
    for game, fitted in scales.items():
        if fitted is None:
            assert scale_of(load_game(game)) == FALLBACK_SCALE
            continue
        assert scale_of(load_game(game)) == fitted.scale > 0
        assert fitted.matches >= 100
        assert sum(each.positions for each in fitted.bins) == fitted.positions
        assert fitted.loss <= fitted.even_loss, f"{game}: the score predicts nothing"
        assert fitted.forced_right > 0.8


@games
@given(st.lists(SCORES, min_size=2, max_size=6))
def test_the_chance_rises_with_the_score_and_is_symmetric(game_id: str, scores: list[int]) -> None:
    """Both sides' chances add up to 1, that of 0 is one half, and none but a forced end is 0 or 1
    within the scores of the evaluation.
    """
    game = load_game(game_id)
    chances = [win_chance(game, score) for score in sorted(scores)]
    assert chances == sorted(chances)
    assert win_chance(game, 0) == 0.5
    for score in scores:
        assert math.isclose(win_chance(game, score) + win_chance(game, -score), 1.0)


@games
def test_a_forced_end_is_certain(game_id: str) -> None:
    """A forced win has the chance 1, a forced loss 0; the greatest evaluation is not forced."""
    game = load_game(game_id)
    for plies in (1, 2, 60):
        assert win_chance(game, MATE - plies) == 1.0
        assert win_chance(game, plies - MATE) == 0.0
    assert not is_forced(20_000)


@pytest.mark.parametrize("scale", [40, 250])
def test_the_fit_finds_the_scale_of_the_matches(scale: float) -> None:
    """Matches whose results are drawn with a known scale give that scale back, and calibration
    bins whose means agree with the predictions.
    """
    rng = random.Random(7)
    matches = []
    for _ in range(4_000):
        score = rng.randrange(-3 * int(scale), 3 * int(scale))
        wins = rng.random() < 1 / (1 + math.exp(-score / scale))
        matches.append(ScoredMatch(float(wins), ((0, score), (1, -score))))
    matches.append(ScoredMatch(1.0, ((0, MATE - 3), (1, 3 - MATE))))
    fitted = fit_scale(load_game("chess"), matches, 1)
    assert abs(fitted.scale / scale - 1) < 0.1
    assert fitted.loss < fitted.even_loss
    assert (fitted.positions, fitted.forced, fitted.forced_right) == (8_000, 2, 1.0)
    for each in fitted.bins:
        assert each.positions == 0 or abs(each.predicted - each.scored) < 0.08


def test_the_page_is_current() -> None:
    """docs/reference/win-chance.md is the page that the measured files give."""
    written = (ROOT / "docs/reference/win-chance.md").read_text("utf-8")
    assert written == win_chance_page.page(), (
        "run: python -m engine.reference.win_chance > docs/reference/win-chance.md"
    )
