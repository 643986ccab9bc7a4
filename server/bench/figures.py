"""What benchmarks print: medians, percentiles, and a figure beside its target."""

import statistics
from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """The median; raises StatisticsError if there are no values."""
    return float(statistics.median(values))


def percentile(values: Iterable[float], share: float) -> float:
    """The value that this share of the values does not exceed; there is at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(name: str, value: float, unit: str, target: float) -> None:
    """Prints a figure, its target (a maximum) and whether it is reached."""
    verdict = "reached" if value <= target else "NOT reached"
    print(f"{name:48} {value:9.2f} {unit:3} target {target:g} {unit}: {verdict}", flush=True)
