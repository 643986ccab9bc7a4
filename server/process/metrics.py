"""The counters of a node.

They are plain numbers, so counting costs almost nothing; `server.web.metrics` exports them.

No counter is per room, identity or address: metrics identify nobody, and their number does not grow
with the number of players.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

#: Upper bounds of the latency histograms' buckets, in seconds.
LATENCY_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Histogram:
    """Counts of values for each upper bound. The last count is for values above all bounds."""

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
        """The counts of values up to each bound, as Prometheus expects them; the last is "+Inf"."""
        total, rows = 0, []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            rows.append((bound, total))
        return rows


@dataclass(slots=True)
class Metrics:
    """A node's counters since it started."""

    #: Moves that this node committed, including the AI's.
    moves: int = 0
    #: Commands that this node committed.
    commands: int = 0
    #: Commands that a room's rules refused.
    rejected: int = 0
    #: Appends that lost the compare-and-set on the room's head. The command is decided again.
    conflicts: int = 0
    #: Commands that were sent again after their commit, and got the same ack.
    repeated: int = 0
    #: Requests that failed because of the store.
    store_failures: int = 0
    #: Requests that failed because of a bug in the server or in a game's rules. The log has the
    #: details.
    faults: int = 0
    #: Periodic comparisons of all heads with the store: the fallback when the bus loses messages.
    polls: int = 0
    #: Invalid answers of engine workers: illegal moves, malformed messages, quarantines.
    bad_answers: int = 0
    #: Connections that were closed because the client read too slowly.
    evictions: int = 0
    #: Ephemeral messages that were not sent to slow readers.
    skipped: int = 0
    #: Documents that study processes made for the glass box: traces, lessons, boards.
    study_documents: int = 0
    #: Requests that got such a document from the cache, or together with another request.
    study_shared: int = 0
    #: Such documents that ended early: their time was over, or their last reader had left.
    study_stopped: int = 0
    #: Study processes that ended, hung or ran out of memory during a job.
    study_failures: int = 0
    #: Positions of matches that this node has analysed.
    analysed_plies: int = 0
    #: Analyses of matches that this node has completed.
    analyses: int = 0
    #: Time from a request for such a document to its first part, in seconds.
    study_start_s: Histogram = field(default_factory=Histogram)
    #: Time from handing events to the store until they are committed, in seconds.
    append_s: Histogram = field(default_factory=Histogram)
    #: Time from a commit on another node until its events arrive here, in seconds. Includes the
    #: difference of the nodes' clocks.
    bus_lag_s: Histogram = field(default_factory=Histogram)
