"""What the browser exports of a search is what engine.teach writes: JSON, classic log, tree."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.output.classic import log_lines
from engine.teach.output.text import format_trace
from engine.teach.states.state import TreeState
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, encode_json
from tests.support.browser import open_files
from tests.support.trace_stream import stream_lines

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
#: Lessons with all algorithms, forms and kinds of values, whose searches are quick.
QUICK_LESSONS = (
    *("every-leaf", "generous-friends", "four-level-tree", "fail-hard", "one-bound", "negamax"),
    *("template-method", "alphabeta-classes", "static-functions", "map", "sticks", "move-order"),
    "evaluation",
    *("rock-paper-scissors", "max-n", "scholars-mate"),
)
EXPORT = """async (lines) => {
    const { loadTrace } = await import("/tests/client/web/glass_states.js");
    const { toJson, toLog } = await import("/client/web/glass/viewer/export.js");
    const trace = await loadTrace(lines, 65536);
    return [toJson(trace), toLog(trace, "classic"), toLog(trace, "tree")];
}"""
#: Trees with infinite utilities, decimals, chance, long names, several players and a long list.
TREES = (
    "max(A: min(-inf, 3), B: min(inf, 2.5), C: mean(1, 2, 2))",
    "p1(a: p2(<0, 0.333333333>, <3, 1>), b: p2(<2, -1>, <1, 9>))",
    f"max({', '.join(f'a-rather-long-name-{n}: min({n}, {20 - n}, 7)' for n in range(16))})",
    f"min({', '.join(f'move{n}: {n}' for n in range(30))})",
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    async with open_files(chromium) as page:
        yield page


async def compare(page: Page, trace: Trace) -> None:
    """Compares the three exports of a trace with what Python writes."""
    exported, classic, tree = await page.evaluate(EXPORT, stream_lines(trace))
    assert json.loads(exported) == json.loads(encode_json(trace))
    assert classic == "\n".join(log_lines(trace)) + "\n"
    assert tree == format_trace(trace, "tree")


@pytest.mark.parametrize("name", QUICK_LESSONS)
async def test_exports_of_lessons(page: Page, name: str) -> None:
    """The exports of a lesson's searches are those of Python, to the letter."""
    for trace in lesson_traces(name):
        await compare(page, trace)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(LESSONS) - set(QUICK_LESSONS)))
async def test_exports_of_large_lessons(page: Page, name: str) -> None:
    """So are those of all other lessons, with searches of up to 18,297 nodes."""
    for trace in lesson_traces(name):
        await compare(page, trace)


@pytest.mark.parametrize("algorithm", ["alphabeta", "minimax", "max-n", "random", "strict"])
async def test_exports_of_trees(page: Page, algorithm: str) -> None:
    """Trees with all kinds of values and names are exported to the letter, truncated ones too."""
    for text in TREES:
        several = text.startswith("p1")
        if several != (algorithm == "max-n") and algorithm != "random":
            continue
        root = TreeState.at_root(parse_tree(text, "A tree"))
        plan = Plan(algorithm)
        await compare(page, explain(root, plan, "A tree"))
        await compare(page, explain(root, replace(plan, max_trace=5), "A tree"))
