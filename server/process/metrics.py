"""What a node counts while it works: plain numbers, which cost a move next to nothing;
`server.web.metrics` shows them.

No number is per room, identity or address: metrics name nobody, and stay few however many come.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

LATENCY_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Histogram:
    """How often a value fell up to each bound; the last count is for values above them all."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = LATENCY_BOUNDS_S) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Counts a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, int]]:
        """The counts as Prometheus has them: of values up to each bound, the last one "+Inf"."""
        total, rows = 0, []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            rows.append((bound, total))
        return rows


@dataclass(slots=True)
class Metrics:
    """Since the node started."""

    #: Moves that this node committed, the AI's among them.
    moves: int = 0
    #: Commands that this node committed.
    commands: int = 0
    #: Commands that were refused by the rules of a room.
    rejected: int = 0
    #: Appends that another node was faster with; each is decided again.
    conflicts: int = 0
    #: Commands that had been committed before and were acknowledged again.
    repeated: int = 0
    #: Requests of rooms that the store did not serve.
    store_failures: int = 0
    #: Requests that failed by a mistake of the server or of a game's rules; its log has them.
    faults: int = 0
    #: Comparisons of all heads with the store that nothing had called for: the floor below the bus.
    polls: int = 0
    #: What engine workers said that cannot be so: illegal moves, answers that are no message, a
    #: quarantine.
    bad_answers: int = 0
    #: Connections that were cut off because they read too slowly.
    evictions: int = 0
    #: Frames that a slow reader missed and may miss.
    skipped: int = 0
    #: From handing events to the store until they are committed.
    append_s: Histogram = field(default_factory=Histogram)
    #: From a commit on another node until its events arrive here; the clocks of both nodes are in
    #: it.
    bus_lag_s: Histogram = field(default_factory=Histogram)
