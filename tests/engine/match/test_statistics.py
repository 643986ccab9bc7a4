"""Statistics checked against simulated matches between players of known strength."""

from random import Random

import pytest

from engine.match.statistics import (
    MIN_PAIRS,
    Sprt,
    elo_of,
    expected_score,
    log_likelihood_ratio,
    pair_counts,
    smoothed_variance,
    summarise,
)


def simulate(rng: Random, pairs: int, elo: float, draws: float = 0.3) -> list[int]:
    """Returns the half points of simulated games; each opening favours a side at random."""
    halves = []
    for _ in range(pairs):
        advantage = rng.uniform(-0.2, 0.2)
        for side in (advantage, -advantage):
            win = min(1 - draws, max(0.0, expected_score(elo) + side - draws / 2))
            point = rng.random()
            halves.append(2 if point < win else 1 if point < win + draws else 0)
    return halves


@pytest.mark.parametrize("elo", [-400, -35.5, 0, 10, 700])
def test_elo_and_score(elo: float) -> None:
    """`elo_of` inverts `expected_score`; 400 Elo are odds of ten to one."""
    assert elo_of(expected_score(elo)) == pytest.approx(elo)
    assert expected_score(400) == pytest.approx(10 / 11)
    assert elo_of(0) is None
    assert elo_of(1) is None


def test_summary() -> None:
    """Games are paired in order; an odd last game does not count."""
    assert pair_counts([0, 0, 0, 1, 2, 0, 1, 1, 2, 1, 2, 2, 2]) == (1, 1, 2, 1, 1)
    summary = summarise([2, 2, 0, 0, 1, 2, 2])
    assert summary is not None
    assert (summary.games, summary.wins, summary.draws, summary.losses) == (6, 3, 1, 2)
    assert summary.score == pytest.approx(7 / 12)
    assert summarise([2]) is None


@pytest.mark.parametrize("elo", [0, 60, 180])
def test_the_bounds_contain_the_true_difference(elo: float) -> None:
    """The bounds contain the true difference in 95 of 100 simulated matches."""
    rng = Random(elo)
    count_within = 0
    for _ in range(400):
        summary = summarise(simulate(rng, 150, elo))
        assert summary is not None
        assert summary.elo_low is not None
        assert summary.elo_high is not None
        count_within += summary.elo_low <= elo <= summary.elo_high
    assert 0.92 <= count_within / 400 <= 0.98


def test_paired_games_have_narrower_bounds() -> None:
    """If openings decide, the games of a pair cancel out and the bounds are narrower."""
    fixed = [2, 0] * 100
    mixed = [2, 2, 0, 0] * 50
    narrow, wide = summarise(fixed), summarise(mixed)
    assert narrow is not None
    assert wide is not None
    assert narrow.elo_high is not None
    assert wide.elo_high is not None
    assert narrow.elo_high < wide.elo_high / 5


def test_statistics_are_antisymmetric() -> None:
    """With the players exchanged, the Elo difference and a symmetric test change sign."""
    halves = simulate(Random(3), 60, 40)
    ours, theirs = summarise(halves), summarise([2 - half for half in halves])
    assert ours is not None
    assert theirs is not None
    assert ours.elo == pytest.approx(-(theirs.elo or 0))
    assert ours.elo_low == pytest.approx(-(theirs.elo_high or 0))
    assert ours.los == pytest.approx(1 - theirs.los)
    test = Sprt(-10, 10)
    assert log_likelihood_ratio(ours.pairs, test) == pytest.approx(
        -log_likelihood_ratio(theirs.pairs, test)
    )


@pytest.mark.parametrize(("elo", "correct"), [(0, "H0"), (30, "H1")])
def test_sprt_errs_within_its_risks(elo: float, correct: str) -> None:
    """With risks of 5 %, at most 10 % of the simulated matches reach the wrong verdict."""
    rng = Random(correct)
    test = Sprt(0, 30)
    wrong_verdicts, pairs_played = 0, []
    for _ in range(200):
        halves: list[int] = []
        verdict = None
        while verdict is None:
            halves += simulate(rng, 8, elo)
            assert len(halves) < 40_000
            summary = summarise(halves, test)
            verdict = summary.accepted if summary else None
        wrong_verdicts += verdict != correct
        pairs_played.append(len(halves) // 2)
    assert wrong_verdicts <= 20
    assert min(pairs_played) >= MIN_PAIRS
    assert sum(pairs_played) / 200 < 1500, "a sequential test needs fewer games than a fixed one"


def test_few_equal_pairs_are_not_decisive() -> None:
    """A few equal pairs do not decide a test but have a lower bound."""
    summary = summarise([2, 2] * 3, Sprt(0, 10))
    assert summary is not None
    assert (summary.elo, summary.elo_high, summary.accepted) == (None, None, None)
    assert summary.elo_low is not None
    assert smoothed_variance([0, 0, 3, 0, 0]) > 0
