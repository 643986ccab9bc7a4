"""The sentences of the browser name the facts of engine.teach's log, and code marks a line."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page

from engine.teach.explain import ALGORITHMS, FORMS
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from engine.teach.notation import number_text, value_for_parent, value_text
from engine.teach.text import step_events
from engine.teach.trace import Trace
from tests.client.test_glass_states import random_traces
from tests.support.browser import FILES, open_chromium, open_files
from tests.support.trace_stream import stream_lines

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
#: The number of steps of a trace whose sentences are compared.
MAX_STEPS = 600
#: A number as both texts write it, once the signs are the same.
NUMBER = re.compile(r"-?(?:inf|\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)")
#: A sentence names at most this number of skipped moves.
MAX_NAMED_MOVES = 6
SENTENCES = """async ([lines, count]) => {
    const { sentencesOf } = await import("/tests/client/web/glass_states.js");
    return sentencesOf(lines, count);
}"""
CODE = """async ([lines, heads]) => {
    const { codeLines, codesOf } = await import("/tests/client/web/glass_states.js");
    return lines === null ? codesOf(heads) : codeLines(lines);
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page() -> AsyncIterator[Page]:
    async with open_chromium() as browser:
        page = await open_files(browser)
        await page.goto(f"{FILES}/blank")
        yield page


def plain(text: str) -> str:
    """A sentence with the signs of the log."""
    return (
        text.replace("\N{MINUS SIGN}", "-").replace("∞", "inf").replace("⟨", "<").replace("⟩", ">")
    )


def missing_facts(trace: Trace, sentences: list[tuple[str, str]]) -> list[str]:
    """The facts of the log that the sentences of the same steps do not name.

    `sentences` has those in both views, after 1, 2, 3, … steps.
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
            facts.append(value_text(value_for_parent(trace, row)))
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
        sentences = await page.evaluate(SENTENCES, [stream_lines(trace), MAX_STEPS])
        assert missing_facts(trace, sentences) == []


async def test_sentences_of_random_searches(page: Page) -> None:
    """On random trees, too, no sentence misses a fact, and none is empty."""
    for trace in random_traces():
        sentences = await page.evaluate(SENTENCES, [stream_lines(trace), MAX_STEPS])
        assert missing_facts(trace, sentences) == []
        for pair in sentences:
            for text in pair:
                assert re.fullmatch(r"[A-Z…a-z0-9].*[.]", text), text
                assert "undefined" not in text
                assert "NaN" not in text


async def test_code_marks_a_line_at_every_step(page: Page) -> None:
    """Every algorithm and form has its code, and each step of a search marks one of its lines."""
    heads = [{"algorithm": name, "form": form} for name in ALGORITHMS for form in FORMS]
    assert all(lines for lines in await page.evaluate(CODE, [None, heads]))
    for trace in [*random_traces(), *(run for name in LESSONS[:12] for run in lesson_traces(name))]:
        marked = await page.evaluate(CODE, [stream_lines(trace), None])
        unmarked = {what for what, line in marked if line < 0}
        assert unmarked <= set(), (trace.algorithm, trace.form)
