"""Match statistics: score, Elo difference with its error, likelihood of superiority, SPRT.

Games come in pairs from one opening with the sides swapped, and the pair is the unit of all
statistics. The two games of a pair are not independent of each other, but pairs are (the
"pentanomial" model: a pair scores 0, 1/2, 1, 3/2 or 2).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

#: The half width of a 95 % confidence interval, in standard deviations.
Z_95 = 1.959964
#: Minimum number of pairs that decide a sequential test; the variance of fewer is too uncertain.
MIN_PAIRS = 16


@dataclass(frozen=True, slots=True)
class Sprt:
    """A sequential test: is the first player elo1 stronger (H1) or only elo0 (H0)?

    `alpha` is the risk of accepting H1 wrongly, `beta` that of accepting H0 wrongly.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    @property
    def bounds(self) -> tuple[float, float]:
        """The log likelihood ratios at which H0 and H1 are accepted (Wald 1945)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)


@dataclass(frozen=True, slots=True)
class Summary:
    """The first player's results.

    Elo figures are None if they are infinite (all games won or all lost). `elo_low` and `elo_high`
    bound the 95 % confidence interval.
    """

    games: int
    wins: int
    draws: int
    losses: int
    #: The counts of pairs that scored 0, 1/2, 1, 3/2 and 2.
    pairs: tuple[int, int, int, int, int]
    score: float
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    #: The likelihood of superiority.
    los: float
    #: The log likelihood ratio of the test.
    llr: float | None = None
    #: "H0" or "H1"; None while the test is not decided.
    accepted: str | None = None


def expected_score(elo: float) -> float:
    """The expected score of a player with that Elo lead (logistic model)."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float | None:
    """The inverse of `expected_score`; None for a score of 0 or 1."""
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def pair_counts(half_points: Sequence[int]) -> tuple[int, int, int, int, int]:
    """The counts of pairs by score, from the first player's half points (0, 1, 2) in each game."""
    counts = [0] * 5
    for first, second in zip(half_points[::2], half_points[1::2], strict=False):
        counts[first + second] += 1
    a, b, c, d, e = counts
    return a, b, c, d, e


def moments(counts: Sequence[float]) -> tuple[float, float]:
    """The mean and variance of a pair's score per game, in [0, 1]."""
    total = sum(counts)
    mean = sum(count * i / 4 for i, count in enumerate(counts)) / total
    return mean, sum(count * (i / 4 - mean) ** 2 for i, count in enumerate(counts)) / total


def smoothed_variance(counts: Sequence[int]) -> float:
    """The variance with one more pair spread evenly over the five scores.

    Without it a few equal pairs would have no variance and seem certain.
    """
    return moments([count + 0.2 for count in counts])[1]


def log_likelihood_ratio(counts: Sequence[int], test: Sprt) -> float:
    """The log likelihood ratio of elo1 against elo0, given the pairs.

    It uses the normal approximation of the generalised SPRT (Van den Bergh, "A practical
    introduction to the GSPRT").
    """
    total = sum(counts)
    if not total:
        return 0.0
    mean, _ = moments(counts)
    low, high = expected_score(test.elo0), expected_score(test.elo1)
    return total * (high - low) * (2 * mean - low - high) / (2 * smoothed_variance(counts))


def summarise(half_points: Sequence[int], test: Sprt | None = None) -> Summary | None:
    """The summary of all whole pairs; None without a whole pair."""
    half_points = half_points[: len(half_points) // 2 * 2]
    if not half_points:
        return None
    counts = pair_counts(half_points)
    pairs = sum(counts)
    mean, _ = moments(counts)
    error = math.sqrt(smoothed_variance(counts) / pairs)
    ratio = log_likelihood_ratio(counts, test) if test else None
    return Summary(
        games=len(half_points), wins=half_points.count(2), draws=half_points.count(1),
        losses=half_points.count(0),
        pairs=counts, score=mean, elo=elo_of(mean), elo_low=elo_of(mean - Z_95 * error),
        elo_high=elo_of(mean + Z_95 * error), los=_superiority(mean, error), llr=ratio,
        accepted=_accepted(ratio, pairs, test),
    )  # fmt: skip


def _superiority(mean: float, error: float) -> float:
    """The likelihood that the first player is the stronger one."""
    return 0.5 * (1 + math.erf((mean - 0.5) / error / math.sqrt(2)))


def _accepted(ratio: float | None, pairs: int, test: Sprt | None) -> str | None:
    if ratio is None or test is None or pairs < MIN_PAIRS:
        return None
    low, high = test.bounds
    return "H0" if ratio <= low else "H1" if ratio >= high else None


def elo_text(summary: Summary) -> str:
    """The Elo difference and its bounds in words: "+12.3 (-4.0 to +28.9)"."""
    middle = (
        "all lost"
        if summary.score == 0
        else "all won"
        if summary.elo is None
        else f"{summary.elo:+.1f}"
    )
    low = "-∞" if summary.elo_low is None else f"{summary.elo_low:+.1f}"
    high = "∞" if summary.elo_high is None else f"{summary.elo_high:+.1f}"
    return f"{middle} ({low} to {high})"
