"""The browser reads a search as engine.teach tells it: states, sentences, code, at every step."""

import json
import random
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from engine.teach.algorithms.explain import ALGORITHMS, FORMS, Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.output.notation import number_text, value_text
from engine.teach.output.snapshot import Snapshot, advance, snapshot
from engine.teach.output.text import bounds_lines, step_events
from engine.teach.states.state import TreeState
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, encode_json
from tests.engine.teach.checks import on_tree, random_tree
from tests.support.browser import open_files
from tests.support.trace_stream import stream_lines

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
#: All nodes of a trace with at most this number of steps are compared, of a longer trace those near
#: the path: no step changes any other node.
MAX_WHOLE_STEPS = 90
#: A trace with more steps than this is compared at a sample of its steps.
MAX_COMPARED_STEPS = 200
#: The number of steps in the sample.
SAMPLE = 10
#: The number of random trees of each kind.
TREES_OF_A_KIND = 6
#: The random trees: the kinds of their nodes, and the algorithms that search them.
TREES = (
    (("max", "min"), ("alphabeta", "negamax", "strict", "one-bound", "fail-hard", "optimistic")),
    (("max", "min", "mean"), ("alphabeta", "minimax", "average", "accumulators")),
    (("p1", "p2", "p3"), ("max-n", "paranoid", "random")),
)
#: The number of steps of a trace whose sentences are compared.
MAX_STEPS = 300
#: A number as both texts write it, once the signs are the same.
NUMBER = re.compile(r"-?(?:inf|\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)")
#: A sentence names at most this number of skipped moves.
MAX_NAMED_MOVES = 6
#: Bounds in a line of the terminal's log.
BOUNDS = re.compile(r"\(.*, .*\)")
# States and sentences cross between Python and the page as JSON: Playwright would walk each value.
SENTENCES = """async ([lines, count]) => {
    const { sentencesOf } = await import("/tests/client/web/glass_states.js");
    return JSON.stringify(await sentencesOf(lines, count));
}"""
CODE = """async ([lines, heads]) => {
    const { codeLines, codesOf } = await import("/tests/client/web/glass_states.js");
    return JSON.stringify(lines === null ? codesOf(heads) : await codeLines(lines));
}"""
COMPARE = """async ([lines, expected, steps, isSmall]) => {
    const { differences, loadTrace } = await import("/tests/client/web/glass_states.js");
    const trace = await loadTrace(lines, isSmall ? 97 : 65536);
    return differences(trace, JSON.parse(expected), steps, isSmall);
}"""
WALK = """async (lines) => {
    const { loadTrace, walks } = await import("/tests/client/web/glass_states.js");
    return JSON.stringify(walks(await loadTrace(lines, 4096)));
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(chromium: Browser) -> AsyncIterator[Page]:
    async with open_files(chromium) as page:
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
    states = encode_json({str(step): state for step, state in expected.items()}).decode()
    assert await page.evaluate(COMPARE, [lines, states, order, total <= MAX_WHOLE_STEPS]) == []


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
        walks = json.loads(await page.evaluate(WALK, stream_lines(trace)))
        for (forward, back), event in zip(walks, (None, "enter", "cut", "end"), strict=True):
            stops = [n for n in range(1, total + 1) if event in (None, what[n - 1])]
            assert forward == [*stops, *([total] if stops[-1:] != [total] else [])]
            assert back == [*(n for n in reversed(stops) if n != total), 0]


async def sentences_of(page: Page, trace: Trace) -> list[list[str]]:
    """The sentences in each view after 1, 2, 3, … steps, at most MAX_STEPS of them."""
    told = await page.evaluate(SENTENCES, [stream_lines(trace), MAX_STEPS])
    return list(json.loads(told))


def plain(text: str) -> str:
    """A sentence with the signs of the log."""
    return (
        text.replace("\N{MINUS SIGN}", "-").replace("∞", "inf").replace("⟨", "<").replace("⟩", ">")
    )


def missing_facts(trace: Trace, sentences: list[list[str]]) -> list[str]:
    """The facts of the log that the sentences of the same steps do not name.

    `sentences` has those in each view, after 1, 2, 3, … steps.
    """
    steps, nodes = trace.steps, trace.nodes
    missing = []
    for count, line in step_events(trace):
        if count > len(sentences):
            break
        what = steps.what[count - 1]
        first = count - 1 if what == "narrowed" else count
        shown, intervals = (
            plain(" ".join(pair[view] for pair in sentences[first - 1 : count])) for view in (0, 1)
        )
        row = steps.node[count - 1] if what != "narrowed" else steps.node[count - 2]
        facts = [] if nodes.move[row] in ("", None) else [nodes.move[row]]
        if what == "cut":
            moves = [
                move
                for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True)
                if parent == row
            ]
            facts = [
                number_text(steps.low[count - 1] or 0),
                number_text(steps.high[count - 1] or 0),
            ]
            facts += moves[:MAX_NAMED_MOVES] if len(moves) <= MAX_NAMED_MOVES else [str(len(moves))]
        elif what in ("returned", "narrowed"):
            facts.append(value_text(trace.value_for_parent(row)))
        elif what == "leave":
            facts = [] if trace.value is None else [value_text(trace.value)]
            facts += [f"{trace.counts.nodes:,}"] if trace.value is not None else []
            facts += trace.line[:1]
        numbers = NUMBER.findall(line.text) if what == "enter" else []
        missing += [f"{count}: {fact!r} in {shown!r}" for fact in facts if fact not in shown]
        missing += [f"{count}: {number} in {shown!r}" for number in numbers if number not in shown]
        if what in ("returned", "narrowed") and " in " in line.text:
            interval = line.text.split(" in ")[1].partition("], ")[0].partition("), ")[0]
            if not all(number in intervals for number in NUMBER.findall(interval)):
                missing.append(f"{count}: {interval} in {intervals!r}")
    return missing


@pytest.mark.parametrize("name", LESSONS)
async def test_sentences_name_the_facts_of_the_log(page: Page, name: str) -> None:
    """Each sentence of a lesson has the windows, values, bounds and moves of the log's line."""
    for trace in lesson_traces(name):
        sentences = await sentences_of(page, trace)
        assert missing_facts(trace, sentences) == []


@pytest.mark.parametrize("name", ["greedy-friends", "generous-friends", "four-level-tree"])
async def test_the_bounds_are_those_of_the_fifth_text(page: Page, name: str) -> None:
    """The sentences of the view Bounds name the bounds that the terminal's log lists, in order."""
    trace = lesson_traces(name)[0]
    sentences = await sentences_of(page, trace)
    told = re.findall(r"\([-\dinf]+, [-\dinf]+\)", plain(" ".join(texts[2] for texts in sentences)))
    listed = [found[0] for line in bounds_lines(trace) if (found := BOUNDS.search(line.text))]
    assert list(dict.fromkeys(told)) == list(dict.fromkeys(listed))
    assert any("empty" in texts[2] for texts in sentences)


async def test_an_unknown_value_has_no_bound(page: Page) -> None:
    """Where nothing is known a sentence says so; it names no bound of minus infinity."""
    tree = TreeState.at_root(parse_tree("max(a: min(-inf, 3), b: min(inf, inf), c: 4)"))
    for algorithm in ("alphabeta", "one-bound", "minimax"):
        trace = explain(tree, Plan(algorithm))
        texts = plain(" ".join(text for step in await sentences_of(page, trace) for text in step))
        assert "at least -inf" not in texts
        assert "nothing is known of the value" in texts.lower()


async def test_sentences_of_random_searches(page: Page) -> None:
    """On random trees, too, no sentence misses a fact, and none is empty."""
    for trace in random_traces():
        sentences = await sentences_of(page, trace)
        assert missing_facts(trace, sentences) == []
        for pair in sentences:
            for text in pair:
                assert re.fullmatch(r"[A-Z…a-z0-9].*[.]", text), text
                assert "undefined" not in text
                assert "NaN" not in text


async def test_code_marks_a_line_at_every_step(page: Page) -> None:
    """Every algorithm and form has its code, and each step of a search marks one of its lines."""
    heads = [{"algorithm": name, "form": form} for name in ALGORITHMS for form in FORMS]
    assert all(json.loads(await page.evaluate(CODE, [None, heads])))
    for trace in [*random_traces(), *(run for name in LESSONS[:12] for run in lesson_traces(name))]:
        marked = json.loads(await page.evaluate(CODE, [stream_lines(trace), None]))
        unmarked = {what for what, line in marked if line < 0}
        assert unmarked <= set(), (trace.algorithm, trace.form)
