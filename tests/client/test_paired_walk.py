"""The joint walk of two searches (glass/trace/paired-walk.js), against the engine's traces."""

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import load_lesson
from engine.teach.states.state import GameState, State, TreeState
from engine.teach.states.tree import Tree
from engine.teach.trace import Trace
from tests.support.browser import open_files

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: Makes the joint walk of two traces, and answers with its moments and its marks.
JOIN = """async (traces) => {
    const { PairedWalk } = await import("/client/web/glass/trace/paired-walk.js");
    const walked = ({ parent, move, what, node }) => ({
        count: parent.length,
        stepCount: what.length,
        move: (row) => move[row],
        children: (row) => [...parent.keys()].filter((child) => parent[child] === row),
        stepWhat: (step) => what[step],
        enterStep: (row) => what.findIndex((each, step) => each === 0 && node[step] === row),
        leaveStep: (row) => what.findIndex((each, step) => each === 4 && node[step] === row),
    });
    const [left, right] = traces.map(walked);
    const walk = new PairedWalk(left, right);
    const rows = (count, holds) => [...Array(count).keys()].filter(holds);
    return {
        moments: [...Array(walk.count + 1).keys()].map((moment) => walk.at(moment)),
        onlyLeft: rows(left.count, (row) => walk.isOnlyLeft(row)),
        onlyRight: rows(right.count, (row) => walk.isOnlyRight(row)),
        nodes: steps(walk, "node"),
        cuts: steps(walk, "cut"),
    };
    function steps(walk, unit) {
        const found = [];
        let at = 0;
        while ((at = walk.next(at, unit, 1)) < walk.count) found.push(at);
        return found;
    }
}"""
WHAT = ("enter", "returned", "narrowed", "cut", "leave")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    async with open_files(chromium) as page:
        yield page


def columns(trace: Trace) -> dict[str, Any]:
    """The columns of a trace that the walk reads."""
    return {
        "parent": trace.nodes.parent,
        "move": trace.nodes.move,
        "what": [WHAT.index(what) for what in trace.steps.what],
        "node": trace.steps.node,
    }


def paths(trace: Trace) -> list[tuple[str, ...]]:
    """The moves that lead to each node."""
    lines: list[tuple[str, ...]] = []
    for parent, move in zip(trace.nodes.parent, trace.nodes.move, strict=True):
        lines.append((*lines[parent], move) if parent >= 0 else ())
    return lines


def entered(trace: Trace, before: int, after: int) -> set[tuple[str, ...]]:
    """The nodes that the steps between two moments enter."""
    lines = paths(trace)
    steps = range(min(before, after), after)
    return {lines[trace.steps.node[step]] for step in steps if trace.steps.what[step] == "enter"}


def assert_waits(one: Trace, other: Trace, before: int, after: list[int]) -> None:
    """Asserts that the other search waits where it skips a node that only one search enters.

    It is about to leave the nearest node above that it visits.
    """
    known = paths(other)
    step = after[0] - 1
    if after[0] == before or one.steps.what[step] != "enter":
        return
    line = paths(one)[one.steps.node[step]]
    if line in known:
        return
    while line not in known:
        line = line[:-1]
    assert other.steps.what[after[1]] == "leave"
    assert known[other.steps.node[after[1]]] == line


def tree() -> State:
    """The tree of the first founding text."""
    subject = load_lesson("four-level-tree").runs[0].subject
    assert isinstance(subject, Tree)
    return TreeState.at_root(subject)


def tic_tac_toe() -> State:
    position = load_game("tic-tac-toe").position("XX..O.O..", {})
    return GameState.at_root(position, Plan(evaluator="zero").utilities)


PAIRS = [
    (Plan("alphabeta", evaluator="zero"), Plan("minimax", evaluator="zero")),
    (Plan("minimax", evaluator="zero"), Plan("alphabeta", evaluator="zero")),
    (Plan("fail-hard", evaluator="zero"), Plan("fail-soft", evaluator="zero")),
    (Plan("one-bound", evaluator="zero"), Plan("average", evaluator="zero")),
    (
        Plan("alphabeta", order="best", evaluator="zero"),
        Plan("alphabeta", order="worst", evaluator="zero"),
    ),
    (
        Plan("alphabeta", order="worst", evaluator="zero"),
        Plan("alphabeta", order="reversed", evaluator="zero"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("root", [tree, tic_tac_toe])
@pytest.mark.parametrize(
    "plans", PAIRS, ids=lambda plans: f"{plans[0].algorithm}-{plans[1].algorithm}"
)
async def test_two_searches_walk_in_step(page: Page, root: Any, plans: tuple[Plan, Plan]) -> None:
    """Each step of both is a moment, and they enter their common nodes in the same moments.

    The marked nodes are exactly the difference of the sets of nodes that both visit.
    """
    left, right = (explain(root(), plan) for plan in plans)
    walk = await page.evaluate(JOIN, [columns(left), columns(right)])
    moments = walk["moments"]
    assert moments[0] == [0, 0]
    assert moments[-1] == [len(left.steps.what), len(right.steps.what)]
    for side, trace in enumerate((left, right)):
        assert {moment[side] for moment in moments} == set(range(len(trace.steps.what) + 1))
    lines = paths(left), paths(right)
    for only, own, other in ((walk["onlyLeft"], *lines), (walk["onlyRight"], *reversed(lines))):
        assert {own[row] for row in only} == set(own) - set(other)
    for before, after in pairwise(moments):
        assert_waits(left, right, before[0], after)
        assert_waits(right, left, before[1], after[::-1])
    common = set(lines[0]) & set(lines[1])
    if plans[0].order != plans[1].order:
        return
    for before, after in pairwise(moments):
        assert before[0] <= after[0] <= before[0] + 1
        assert before[1] <= after[1] <= before[1] + 1
        a, b = entered(left, before[0], after[0]), entered(right, before[1], after[1])
        assert a & common == b & common
    assert len(walk["nodes"]) == len(set(lines[0]) | set(lines[1]))
