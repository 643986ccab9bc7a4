"""The states of a search in the browser are those of engine.teach, at every step."""

import json
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from engine.teach.explain import Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.snapshot import Snapshot, advance, snapshot
from engine.teach.state import TreeState
from engine.teach.trace import Trace, encode_json
from tests.engine.teach.checks import on_tree, random_tree
from tests.support.browser import FILES, open_chromium, open_files
from tests.support.trace_stream import stream_lines

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
#: All nodes of a trace with at most this number of steps are compared, of a longer trace those near
#: the path: no step changes any other node.
MAX_WHOLE_STEPS = 90
#: A trace with more steps than this is compared at a sample of its steps.
MAX_COMPARED_STEPS = 900
#: The number of steps in the sample.
SAMPLE = 20
#: The number of random trees of each kind.
TREES_OF_A_KIND = 8
#: The random trees: the kinds of their nodes, and the algorithms that search them.
TREES = (
    (("max", "min"), ("alphabeta", "negamax", "strict", "one-bound", "fail-hard", "optimistic")),
    (("max", "min", "mean"), ("alphabeta", "minimax", "average", "accumulators")),
    (("p1", "p2", "p3"), ("max-n", "paranoid", "random")),
)
COMPARE = """async ([lines, expected, steps, isSmall]) => {
    const { differences, loadTrace } = await import("/tests/client/web/glass_states.js");
    return differences(await loadTrace(lines, isSmall ? 97 : 65536), expected, steps, isSmall);
}"""
WALK = """async (lines) => {
    const { loadTrace, walks } = await import("/tests/client/web/glass_states.js");
    return walks(await loadTrace(lines, 4096));
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    async with open_chromium() as browser:
        page = await open_files(browser)
        await page.goto(f"{FILES}/blank")
        yield page


def nodes_of(shown: Snapshot, rows: Iterable[int]) -> list[Any]:
    """The nodes of a state as the browser's test gives them: ends, interval, whether left, cut."""
    seen = (shown.seen[row] for row in rows)
    return [[node.alpha, node.beta, node.low, node.high, node.is_done, node.cut] for node in seen]


def state_of(shown: Snapshot, cuts: int, is_small: bool) -> list[Any]:
    """A state: current row, counts, path, and its nodes; of a large one those near the path."""
    if not shown.seen:
        return [-1, [0, 0, 0, 0], [], []]
    leaves = shown.trace.nodes.kind[: len(shown.seen)].count("leaf")
    skipped = sum(len(shown.skipped_children(row)) for row in range(len(shown.seen)))
    path = sorted(shown.path())
    rows = [*path, *(child for row in path for child in shown.entered_children(row))]
    nodes = nodes_of(shown, range(len(shown.seen)) if is_small else rows)
    return [shown.current, [len(shown.seen), leaves, cuts, skipped], path, nodes]


def states_of(trace: Trace) -> dict[int, list[Any]]:
    """The states by their numbers of steps: all of them, or a sample of a long trace."""
    total = len(trace.steps.what)
    is_small = total <= MAX_WHOLE_STEPS
    is_sampled = total > MAX_COMPARED_STEPS
    wanted = random.Random(total).sample(range(total), SAMPLE) if is_sampled else range(total + 1)
    shown, cuts = snapshot(trace, 0), 0
    states = {0: state_of(shown, 0, is_small)}
    for index, what in enumerate(trace.steps.what):
        advance(shown, index)
        cuts += what == "cut"
        if index + 1 in wanted:
            states[index + 1] = state_of(shown, cuts, is_small)
    return states


def random_traces() -> list[Trace]:
    """Searches of random trees by all kinds of algorithms."""
    rng = random.Random(17)
    traces = []
    for kinds, algorithms in TREES:
        for number in range(TREES_OF_A_KIND):
            tree = random_tree(rng, kinds, spread=rng.choice([2, 50]))
            algorithm = algorithms[number % len(algorithms)]
            depth = rng.choice([None, None, 2])
            traces.append(on_tree(tree, algorithm, depth=depth))
    small = TreeState.at_root(random_tree(rng))
    traces.append(explain(small, Plan("minimax", max_trace=4)))
    return traces


async def compare(page: Page, trace: Trace) -> None:
    """Compares the states of a trace at all steps, or at a sample, forwards and back."""
    total = len(trace.steps.what)
    rng = random.Random(total)
    expected = states_of(trace)
    order = [*expected, *reversed(expected)]
    lines = stream_lines(trace, [rng.randint(0, total // 4) for _ in range(8)])
    plain = json.loads(encode_json({str(step): state for step, state in expected.items()}))
    assert await page.evaluate(COMPARE, [lines, plain, order, total <= MAX_WHOLE_STEPS]) == []


@pytest.mark.parametrize("name", LESSONS)
async def test_every_state_of_the_lessons(page: Page, name: str) -> None:
    """The browser has the same state as Python after every step of a lesson's searches."""
    for trace in lesson_traces(name):
        await compare(page, trace)


async def test_every_state_of_random_searches(page: Page) -> None:
    """The browser has the same state as Python after every step, on trees of every kind."""
    for trace in random_traces():
        await compare(page, trace)


async def test_walks_stop_at_the_events_of_their_unit(page: Page) -> None:
    """Each unit stops after its events, forwards and back, and the walks end at the ends."""
    for trace in [*lesson_traces("four-level-tree"), *random_traces()[:12]]:
        what = trace.steps.what
        total = len(what)
        walks = await page.evaluate(WALK, stream_lines(trace))
        for (forward, back), event in zip(walks, (None, "enter", "cut", "end"), strict=True):
            stops = [n for n in range(1, total + 1) if event in (None, what[n - 1])]
            assert forward == [*stops, *([total] if stops[-1:] != [total] else [])]
            assert back == [*(n for n in reversed(stops) if n != total), 0]
