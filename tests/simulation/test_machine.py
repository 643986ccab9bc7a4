"""The simulator obeys queueing theory."""

import itertools
import math
import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.bench.capacity.machine import (
    Disk,
    Machine,
    Process,
    Simulation,
    draws,
    mean_of,
    quantiles_of,
)

#: (arrival in s, work in s, index of its process) of each job.
Jobs = list[tuple[float, float, int]]

jobs = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0.001, 2), st.integers(0, 3)), min_size=1, max_size=40
)  # fmt: skip
slices = st.sampled_from([0.01, 0.3, 100.0])


class Run:
    """Runs jobs on a machine; records when each arrived and was done."""

    def __init__(
        self,
        given_jobs: Jobs,
        cores: int,
        slice_s: float,
        wake_s: float = 0.0,
        in_turns: bool = False,
    ) -> None:
        self.simulation = Simulation(1)
        self.machine = Machine(self.simulation, cores, slice_s)
        self.processes = [Process(self.machine, wake_s, in_turns) for _ in range(4)]
        #: (arrival, completion, work) of each job, in seconds.
        self.done_s: list[tuple[float, float, float]] = []
        for at_s, work_s, process in given_jobs:
            self.simulation.after(at_s, partial(self._give, work_s, process))

    def _give(self, work_s: float, process: int) -> None:
        arrived_s = self.simulation.now_s
        self.processes[process].give(
            work_s, lambda: self.done_s.append((arrived_s, self.simulation.now_s, work_s))
        )

    def finish(self) -> "Run":
        self.simulation.run(1e6)
        return self


@given(jobs, st.integers(1, 3), slices, st.booleans())
def test_no_work_is_lost_or_made(
    given_jobs: Jobs, cores: int, slice_s: float, in_turns: bool
) -> None:
    """Every job is done, none faster than its work takes, and the cores are busy for exactly the
    given work.
    """
    run = Run(given_jobs, cores, slice_s, in_turns=in_turns).finish()
    assert len(run.done_s) == len(given_jobs)
    assert all(done_s - arrived_s >= work_s - 1e-9 for arrived_s, done_s, work_s in run.done_s)
    work_s = sum(work_s for _, work_s, _ in given_jobs)
    assert run.machine.busy_s == pytest.approx(work_s)
    assert sum(process.used_s for process in run.processes) == pytest.approx(work_s)


@given(jobs, slices)
def test_one_core_never_idles_while_there_is_work(given_jobs: Jobs, slice_s: float) -> None:
    """The last job ends when Lindley's recursion says, in any order of service."""
    end_s = 0.0
    for at_s, work_s, _ in sorted(given_jobs):
        end_s = max(end_s, at_s) + work_s
    run = Run(given_jobs, 1, slice_s).finish()
    assert max(done_s for _, done_s, _ in run.done_s) == pytest.approx(end_s)


@given(jobs, st.integers(1, 3), slices)
def test_a_process_is_one_thread_with_a_fifo_queue(
    given_jobs: Jobs, cores: int, slice_s: float
) -> None:
    """With one process, more cores change nothing, and jobs end in the order of their arrival."""
    alone = [(at_s, work_s, 0) for at_s, work_s, _ in given_jobs]
    run = Run(alone, cores, slice_s).finish()
    assert [arrived_s for arrived_s, _, _ in run.done_s] == sorted(
        arrived_s for arrived_s, _, _ in run.done_s
    )
    again = Run(alone, 1, 100.0).finish()
    assert [done_s for _, done_s, _ in run.done_s] == pytest.approx(
        [done_s for _, done_s, _ in again.done_s]
    )


@given(jobs, st.floats(0.01, 1))
def test_each_wake_up_costs_once(given_jobs: Jobs, wake_s: float) -> None:
    """Core-seconds are the work and the wake-ups; jobs that arrive together need one wake-up."""
    run = Run(given_jobs, 2, 0.3, wake_s).finish()
    wakes = sum(process.wakes for process in run.processes)
    assert run.machine.busy_s == pytest.approx(
        sum(work_s for _, work_s, _ in given_jobs) + wakes * wake_s
    )
    together = Run([(1.0, work_s, 0) for _, work_s, _ in given_jobs], 2, 0.3, wake_s).finish()
    assert together.processes[0].wakes == 1


def open_queue(
    per_s: float,
    work_s: Callable[[random.Random], float],
    cores: int,
    slice_s: float,
    seconds: float,
    own: bool,
) -> tuple[float, float, float]:
    """Simulates random jobs for one shared process, or with `own` each for a process of its own.

    Returns the mean time in the system, the mean number of jobs in it, and the utilization.
    """
    simulation = Simulation(7)
    machine = Machine(simulation, cores, slice_s)
    shared = Process(machine)
    times: list[float] = []
    inside = 0
    samples: list[int] = []

    def arrive() -> None:
        nonlocal inside
        inside += 1
        begun_s = simulation.now_s

        def leave() -> None:
            nonlocal inside
            inside -= 1
            times.append(simulation.now_s - begun_s)

        (Process(machine) if own else shared).give(work_s(simulation.rng), leave)
        simulation.after(simulation.rng.expovariate(per_s), arrive)

    def sample() -> None:
        samples.append(inside)
        simulation.after(0.37, sample)

    simulation.after(0, arrive)
    simulation.after(0, sample)
    simulation.run(seconds)
    return sum(times) / len(times), sum(samples) / len(samples), machine.busy_s / (cores * seconds)


def test_one_queue_is_md1() -> None:
    """Pollaczek and Khinchine: with fixed work a job waits rho / (2 (1 - rho)) times its work."""
    mean_s, mean_jobs, utilization = open_queue(0.7, lambda rng: 1.0, 1, 100.0, 60_000, own=False)
    assert mean_s == pytest.approx(1 + 0.7 / (2 * 0.3), rel=0.05)
    assert utilization == pytest.approx(0.7, rel=0.03), "the utilization law"
    assert mean_jobs == pytest.approx(0.7 * mean_s, rel=0.03), "Little's law"


def test_two_cores_are_mm2() -> None:
    """Erlang's formula for two cores: 1 / (1 - rho^2) times the work, in the mean."""
    mean_s, mean_jobs, utilization = open_queue(
        1.4, lambda rng: rng.expovariate(1.0), 2, 1e6, 40_000, own=True
    )
    assert mean_s == pytest.approx(1 / (1 - 0.7**2), rel=0.05)
    assert utilization == pytest.approx(0.7, rel=0.03)
    assert mean_jobs == pytest.approx(1.4 * mean_s, rel=0.03)


@pytest.mark.parametrize("kind", ["fixed", "mixed"])
def test_tiny_slices_are_processor_sharing(kind: str) -> None:
    """A shared core gives each job a mean time of work / (1 - rho), however different the jobs
    are.
    """

    def work_s(rng: random.Random) -> float:
        if kind == "fixed":
            return 1.0
        return 0.25 if rng.random() < 0.8 else 4.0

    mean_s, mean_jobs, utilization = open_queue(0.6, work_s, 1, 0.05, 40_000, own=True)
    assert mean_s == pytest.approx(1 / (1 - 0.6), rel=0.08)
    assert utilization == pytest.approx(0.6, rel=0.05)
    assert mean_jobs == pytest.approx(0.6 * mean_s, rel=0.05)


def test_a_closed_network_is_as_fast_as_mean_value_analysis_says() -> None:
    """The exact throughput of ten customers who think for 5 s and are served by two queues of 1 s
    and 0.6 s, all exponentially distributed.
    """
    customers, think_s, services = 10, 5.0, (1.0, 0.6)
    lengths = [0.0, 0.0]
    throughput = 0.0
    for n in range(1, customers + 1):
        responses = [
            service * (1 + length) for service, length in zip(services, lengths, strict=True)
        ]
        throughput = n / (think_s + sum(responses))
        lengths = [throughput * response for response in responses]

    simulation = Simulation(3)
    processes = [Process(Machine(simulation, 1, 1e6)) for _ in services]
    rounds = 0

    def think() -> None:
        simulation.after(simulation.rng.expovariate(1 / think_s), first)

    def first() -> None:
        processes[0].give(simulation.rng.expovariate(1 / services[0]), second)

    def second() -> None:
        processes[1].give(simulation.rng.expovariate(1 / services[1]), end)

    def end() -> None:
        nonlocal rounds
        rounds += 1
        think()

    for _ in range(customers):
        think()
    simulation.run(60_000)
    assert rounds / 60_000 == pytest.approx(throughput, rel=0.02)


def append_time(simulation: Simulation, ends: list[float]) -> None:
    ends.append(simulation.now_s)


def test_a_woken_process_waits_for_a_slice_at_most() -> None:
    """A process that wakes up runs before one that has used more CPU time, and waits for one
    slice at most: the running process keeps its core for its slice.
    """
    simulation = Simulation(1)
    machine = Machine(simulation, 1, 0.01)
    Process(machine).give(1.0)
    for number in range(50):
        begun_s = 0.1003 + number * 0.0137
        ends: list[float] = []
        simulation.run(begun_s)
        Process(machine).give(0.001, partial(append_time, simulation, ends))
        simulation.run(begun_s + 0.0137)
        assert begun_s + 0.001 < ends[0] <= begun_s + 0.011 + 1e-9


def test_an_event_loop_sends_at_the_end_of_its_turn() -> None:
    """Items that arrive while the first is processed share the next turn, and their results are
    sent at its end.
    """
    simulation = Simulation(1)
    process = Process(Machine(simulation, 1, 100.0), in_turns=True)
    ends: list[float] = []
    for _ in range(10):
        process.give(1.0, partial(append_time, simulation, ends))
    simulation.run(20)
    assert ends == [1.0] + [10.0] * 9


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.floats(0.1, 1))
def test_a_flush_covers_what_was_written_before_it_began(
    times: list[float], flush_s: float
) -> None:
    """A write waits for the next flush and at most the current one; writes that wait together share
    one.
    """
    simulation = Simulation(1)
    disk = Disk(simulation, lambda: flush_s)
    waits: list[float] = []
    ends: set[float] = set()

    def ask() -> None:
        begun_s = simulation.now_s

        def end() -> None:
            waits.append(simulation.now_s - begun_s)
            ends.add(simulation.now_s)

        disk.flush(end)

    for at_s in times:
        simulation.after(at_s, ask)
    simulation.run(1000)
    assert len(waits) == len(times)
    assert all(flush_s - 1e-9 <= wait_s <= 2 * flush_s + 1e-9 for wait_s in waits)
    assert disk.flushes == len(ends)
    assert all(
        later - earlier >= flush_s - 1e-9 for earlier, later in itertools.pairwise(sorted(ends))
    )


def test_draws_have_the_quantiles_that_they_were_made_from() -> None:
    """`draws` has the quantiles that it was made from, and `mean_of` is its mean."""
    rng = random.Random(5)
    values = [rng.expovariate(1.0) for _ in range(20_000)]
    quantiles = quantiles_of(values)
    draw = draws(quantiles, rng)
    drawn = sorted(draw() for _ in range(20_000))
    for share, value in quantiles[1:-1]:
        assert drawn[int(share * len(drawn))] == pytest.approx(value, rel=0.1)
    assert sum(drawn) / len(drawn) == pytest.approx(mean_of(quantiles), rel=0.05)
    assert math.isclose(quantiles[0][1], min(values))


def test_the_same_seed_gives_the_same_run() -> None:
    """The same seed gives the same run: randomness comes from the seed alone."""
    first, second = (
        open_queue(0.5, lambda rng: rng.expovariate(1.0), 1, 0.1, 500, own=True) for _ in range(2)
    )
    assert first == second
