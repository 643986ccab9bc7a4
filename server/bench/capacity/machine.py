"""A discrete-event simulation of machines: single-threaded processes that share cores, and a disk.

Pure: no clock but its own, and randomness only from the generator that it is given.
"""

import heapq
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, pairwise

#: A callback for the end of some work.
Done = Callable[[], None]

#: The time slice in seconds, after which a busy process yields its core; a process that wakes up
#: does not preempt it sooner. (Linux protects a slice since 6.8, and checks at each tick: 4 ms at
#: 250 Hz.)
SLICE_S = 0.004


class Simulation:
    """The clock and the event queue."""

    def __init__(self, seed: int) -> None:
        self.now_s = 0.0
        self.rng = random.Random(seed)
        self._events: list[tuple[float, int, Done]] = []
        self._number = count()

    def after(self, delay_s: float, call: Done) -> None:
        """Schedules a call; calls that are due at the same time happen in the order of
        scheduling.
        """
        assert delay_s >= 0, "a call cannot be scheduled in the past"
        heapq.heappush(self._events, (self.now_s + delay_s, next(self._number), call))

    def run(self, until_s: float) -> None:
        """Runs all events up to that time."""
        while self._events and self._events[0][0] <= until_s:
            self.now_s, _, call = heapq.heappop(self._events)
            call()
        self.now_s = until_s


class Machine:
    """Cores that processes share fairly: processes with work run in turns, each for a slice at
    most. With tiny slices this is processor sharing.
    """

    def __init__(self, simulation: Simulation, cores: int, slice_s: float = SLICE_S) -> None:
        assert cores > 0
        self.simulation = simulation
        self.cores = cores
        #: Core-seconds that were used.
        self.busy_s = 0.0
        self._slice_s = slice_s
        self._running = 0
        self._ready: deque[Process] = deque()

    def wake(self, process: "Process") -> None:
        """Adds a process with work to the run queue."""
        self._ready.append(process)
        self._dispatch()

    def _dispatch(self) -> None:
        while self._ready and self._running < self.cores:
            self._begin(self._ready.popleft(), self._slice_s)

    def _begin(self, process: "Process", left_s: float) -> None:
        """Runs the process until its item or its slice ends."""
        self._running += 1
        work_s = min(process.item_left_s, left_s)
        self.simulation.after(work_s, partial(self._stop, process, work_s, left_s - work_s))

    def _stop(self, process: "Process", work_s: float, left_s: float) -> None:
        """Ends an item or a slice."""
        self.busy_s += work_s
        process.used_s += work_s
        self._running -= 1
        process.account(work_s)  # may wake others, which may take this core
        if not process.has_work:
            process.awake = False
        elif left_s > TINY_S and self._running < self.cores:
            self._begin(process, left_s)
        else:
            self._ready.append(process)
        self._dispatch()


#: Work below this is a rounding error, in seconds.
TINY_S = 1e-12


class Process:
    """A single thread that works on its items in order; each wake-up costs extra."""

    def __init__(self, machine: Machine, wake_s: float = 0.0, in_turns: bool = False) -> None:
        """With `in_turns`, the process works like an event loop: it first finishes all items that
        have arrived, then calls back for each.
        """
        self.awake = False
        #: Core-seconds that it used.
        self.used_s = 0.0
        self.wakes = 0
        self._machine = machine
        self._wake_s = wake_s
        self._in_turns = in_turns
        self._items: deque[tuple[float, Done | None]] = deque()
        self.item_left_s = 0.0
        self._turn: list[Done] = []
        self._turn_left = 0

    @property
    def has_work(self) -> bool:
        return bool(self._items)

    @property
    def waiting(self) -> int:
        """The number of unfinished items."""
        return len(self._items)

    def give(self, work_s: float, done: Done | None = None) -> None:
        """Adds an item; `done` is called when it is finished."""
        assert work_s >= 0
        self._items.append((work_s, done))
        if len(self._items) == 1:
            self.item_left_s = work_s
            if not self.awake:
                self.awake = True
                self.wakes += 1
                self.item_left_s += self._wake_s
                self._machine.wake(self)

    def account(self, work_s: float) -> None:
        """Accounts for work on the current item."""
        self.item_left_s -= work_s
        if self.item_left_s > TINY_S:
            return
        _, done = self._items.popleft()
        if self._items:
            self.item_left_s = self._items[0][0]
        if done is not None:
            self._turn.append(done)
        self._turn_left -= 1
        if self._turn_left <= 0 or not self._in_turns:
            turn, self._turn = self._turn, []
            self._turn_left = len(self._items)
            for call in turn:
                call()


class Disk:
    """Makes written data durable: one flush at a time, which covers all requests made before it
    began.
    """

    def __init__(self, simulation: Simulation, draw_s: Callable[[], float]) -> None:
        self.flushes = 0
        self._simulation = simulation
        self._draw_s = draw_s
        self._waiting_for_flush: list[Done] = []
        self._busy = False

    def flush(self, done: Done) -> None:
        """Calls `done` when everything that was written until now is durable."""
        self._waiting_for_flush.append(done)
        if not self._busy:
            self._begin()

    def _begin(self) -> None:
        self._busy = True
        self.flushes += 1
        covered, self._waiting_for_flush = self._waiting_for_flush, []

        def end() -> None:
            self._busy = False
            if self._waiting_for_flush:
                self._begin()
            for done in covered:
                done()

        self._simulation.after(self._draw_s(), end)


def draws(quantiles: Sequence[tuple[float, float]], rng: random.Random) -> Callable[[], float]:
    """Returns a function that draws random values with these (share, value) quantiles, linear
    between them. The first share is 0 and the last is 1.
    """
    shares = [share for share, _ in quantiles]
    values = [value for _, value in quantiles]
    assert shares[0] == 0
    assert shares[-1] == 1
    assert all(earlier < later for earlier, later in pairwise(shares))

    def draw() -> float:
        place = rng.random()
        n = min(bisect_right(shares, place), len(shares) - 1)
        part = (place - shares[n - 1]) / (shares[n] - shares[n - 1])
        return values[n - 1] + part * (values[n] - values[n - 1])

    return draw


def quantiles_of(values: Sequence[float]) -> list[tuple[float, float]]:
    """The quantiles for `draws`, denser at the upper end."""
    shares = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 1.0]
    ordered = sorted(values)
    return [(share, ordered[min(len(ordered) - 1, int(share * len(ordered)))]) for share in shares]


def mean_of(quantiles: Sequence[tuple[float, float]]) -> float:
    """The mean of the values that `draws` gives."""
    pairs = pairwise(quantiles)
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairs)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
