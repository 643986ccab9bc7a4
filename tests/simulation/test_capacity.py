"""The simulation predicts the measurements, and docs/explanation/scaling.md shows its results."""

import random
from itertools import pairwise
from pathlib import Path

import pytest

from server.bench.capacity import planning
from server.bench.capacity.calibrate import fit
from server.bench.capacity.costs import Capacity, read_capacity, write_capacity
from server.bench.capacity.demand import Demand, Habits, demand
from server.bench.capacity.flow import Layout, Model, play
from server.bench.capacity.planning import (
    DOCUMENT,
    Predicted,
    number,
    plan,
    predict,
    with_tables,
)
from server.store.writer import MAX_GROUP

#: The tolerated relative error of the simulation.
TOLERANCE = 0.25


@pytest.fixture(scope="module")
def measured() -> Capacity:
    return read_capacity()


@pytest.fixture(scope="module")
def predictions(measured: Capacity) -> list[Predicted]:
    return [predict(measured, figures) for figures in measured.measured]


def test_the_simulation_predicts_the_measurements(predictions: list[Predicted]) -> None:
    """Unit costs that were fitted with at most 100 pairs on one and two nodes predict the moves per
    second, and the costs per move, of 200 pairs on one and three nodes.
    """
    assert [prediction.measured.nodes for prediction in predictions] == [1, 3]
    for prediction in predictions:
        for figure, unit, measured, predicted in prediction.comparisons():
            assert predicted == pytest.approx(measured, rel=TOLERANCE), (
                f"{figure}: {measured} {unit}"
            )


def test_the_document_shows_the_results_of_the_simulation(
    measured: Capacity, predictions: list[Predicted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every table of docs/explanation/scaling.md is what `python -m server.bench.capacity.planning
    --write` would write.
    """
    known = {prediction.measured.nodes: prediction for prediction in predictions}
    monkeypatch.setattr(planning, "predict", lambda capacity, figures: known[figures.nodes])
    text = DOCUMENT.read_text("utf-8")
    assert with_tables(text, planning.tables(measured)) == text


@pytest.mark.parametrize("nodes", [1, 3])
def test_cpu_time_is_the_sum_of_the_unit_costs(measured: Capacity, nodes: int) -> None:
    """The processes' CPU time is the sum of the unit costs, and all pairs make progress."""
    costs = measured.costs
    model = Model(costs, Layout(nodes, measured.cores), seed=5)
    counts = play(model, pairs=20, per_s=200.0, seconds=5.0)
    ops, groups = counts.ops, sum(writer.groups for writer in model.writers)
    assert counts.moves == pytest.approx(1000, rel=0.02)
    assert ops == pytest.approx(counts.moves * 11 / 9, rel=0.05)
    assert ops / MAX_GROUP < groups <= ops + nodes

    def cpu_s(kind: str, waking_s: float, rest_s: float) -> float:
        return (
            waking_s
            + rest_s
            + measured.costs.background.get(kind, 0.0) * 5.0 * (nodes if kind == "node" else 1)
        )

    wakes_s = sum(node.wakes for node in model.nodes) * costs.node_wake_s
    op_s = costs.node_here_op_s if nodes == 1 else max(costs.node_here_op_s, costs.node_away_op_s)
    expected_s = cpu_s("node", wakes_s, ops * op_s + groups * costs.node_group_s)
    assert sum(node.used_s for node in model.nodes) == pytest.approx(expected_s, rel=0.15)
    wakes_s = sum(backend.wakes for backend in model.backends) * costs.database_wake_s
    database_s = cpu_s(
        "database", wakes_s, ops * costs.database_op_s + groups * costs.database_group_s
    )
    assert sum(backend.used_s for backend in model.backends) == pytest.approx(database_s, rel=0.15)


def test_more_pairs_never_make_fewer_moves(measured: Capacity) -> None:
    """More pairs give more moves until something is saturated; then the rate is constant."""
    rates = [
        play(Model(measured.costs, Layout(1, 2), 1), pairs, None, 1.0).per_s
        for pairs in (1, 4, 16, 64, 256)
    ]
    assert all(later > 0.9 * earlier for earlier, later in pairwise(rates))
    model = Model(measured.costs, Layout(1, 2), 1)
    play(model, 256, None, 1.0)
    busiest = max(model.machines[0].busy_s / 2, model.nodes[0].used_s)
    assert busiest > 0.8, "256 pairs keep the machine or the node busy"


def test_a_fit_finds_the_factors() -> None:
    """A fit finds known factors, and approximates them if values have noise; none is below 0."""
    rng = random.Random(2)
    rows = [[rng.uniform(1, 9), rng.uniform(1, 9), rng.uniform(1, 9)] for _ in range(12)]
    factors = [2.0, 0.0, 5.0]
    values = [sum(f * x for f, x in zip(factors, row, strict=True)) for row in rows]
    assert fit(rows, values) == pytest.approx(factors, abs=1e-6)
    with_noise = fit(rows, [value * rng.uniform(0.97, 1.03) for value in values])
    assert with_noise == pytest.approx(factors, abs=0.4)
    assert min(with_noise) >= 0


@pytest.mark.parametrize("players", [1_000, 100_000, 3_000_000])
def test_demand_adds_up(players: int) -> None:
    """Demand is proportional to the players; there are 5 % more operations than moves; AIs move as
    often as the people who play against them.
    """
    habits = Habits()
    base, tenfold = demand(players, habits), demand(10 * players, habits)
    for name in Demand.__dataclass_fields__:
        is_ratio = name in ("pair_share", "spectators_per_match", "apart")
        assert getattr(tenfold, name) == pytest.approx(
            getattr(base, name) * (1 if is_ratio else 10)
        )
    assert base.ops == pytest.approx(base.moves * 1.05)
    assert base.matches * base.spectators_per_match == pytest.approx(0.2 * players)
    people = base.moves - base.ai_moves
    assert people == pytest.approx(0.7 * players * 6 / 60)
    assert base.ai_moves == pytest.approx(0.3 * people)


def test_a_plan_grows_with_the_players(measured: Capacity) -> None:
    """More players need more of everything; no node is busier than MAX_UTILIZATION, but with half
    the nodes they are.
    """
    small, large = plan(20_000, measured), plan(40_000, measured)
    for name in ("nodes", "broker_cores", "proxy_cores", "worker_cores", "broker_out_per_s"):
        assert getattr(small, name) < getattr(large, name), name
    wanted = demand(40_000, Habits())
    result = planning.simulate(measured, wanted, large.nodes)
    assert result.node_utilization <= planning.MAX_UTILIZATION * 1.05
    half = planning.simulate(measured, wanted, large.nodes // 2)
    assert half.node_utilization > planning.MAX_UTILIZATION


def test_a_measurement_survives_writing_and_reading(measured: Capacity, tmp_path: Path) -> None:
    """A measurement that is written to a file is read back unchanged."""
    write_capacity(measured, tmp_path / "capacity.json")
    assert read_capacity(tmp_path / "capacity.json") == measured


def test_numbers_are_rounded_to_two_digits() -> None:
    """Numbers have two significant digits and commas between thousands."""
    assert [number(value) for value in (0, 0.0321, 1.0, 27.4, 284, 95_550)] == [
        "0",
        "0.032",
        "1.0",
        "27",
        "280",
        "96,000",
    ]
