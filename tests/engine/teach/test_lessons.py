"""The lessons: each fits on one screen and shows the numbers of its worked example."""

import re

import msgspec
import pytest

from engine.teach.lessons.catalogue import FORMER_NAMES, LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.document import lesson_document, list_lessons
from engine.teach.lessons.lesson import fill_texts, format_lesson, root_of
from engine.teach.output.style import Style
from engine.teach.trace import OneValue, Trace
from tests.support.lesson_figures import LESSON_FIGURES, LESSON_TEXTS


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_shows_its_numbers_on_one_screen(name: str) -> None:
    """A lesson has at most 24 lines of 80 columns, which show the numbers of its example."""
    for style in (Style(), Style(has_guides=True, has_colour=True)):
        text = format_lesson(load_lesson(name), lesson_traces(name), style=style)
        text = re.sub(r"\033\[\d+m", "", text)
        lines = text.splitlines()
        # On a terminal one line is for the prompt that follows.
        assert len(lines) <= 24 - style.has_colour
        assert max(map(len, lines)) <= 80
        words = " ".join(text.split())
        assert [part for part in LESSON_TEXTS[name] if part not in words] == []


@pytest.mark.parametrize("name", LESSONS)
def test_the_searches_of_a_lesson_visit_the_stated_nodes(name: str) -> None:
    """The nodes, leaves, skipped moves and values of each search are those of the texts.

    Of nodes with the same move, the value is that of the first.
    """
    for trace, expected in zip(lesson_traces(name), LESSON_FIGURES[name], strict=True):
        nodes, counts = trace.nodes, trace.counts
        moves = ["", *nodes.move[1:]]
        assert expected.nodes in (None, counts.nodes)
        assert expected.leaves in (None, counts.leaves)
        assert expected.visited is None or ["", *expected.visited] == moves
        assert expected.skipped is None or [*expected.skipped] == [*trace.skipped.move]
        values = dict(zip(reversed(moves), map(_shown, reversed(nodes.value)), strict=True))
        assert {move: values[move] for move in expected.values} == expected.values


def _shown(value: OneValue) -> OneValue | str:
    """A value as the figures state it: utilities in brackets, others with three decimals."""
    return f"⟨{', '.join(map(str, value))}⟩" if isinstance(value, tuple) else round(value or 0, 3)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_complete(name: str) -> None:
    """A lesson has a summary, a page, hints and traces that JSON can store.

    Its texts are filled in, and the list has the nodes of its largest search.
    """
    lesson = load_lesson(name)
    texts = fill_texts(lesson, lesson_traces(name))
    assert len(texts.page) > 150
    assert lesson.summary.endswith(".")
    listed = {
        entry["name"]: entry for topic in list_lessons()["topics"] for entry in topic["lessons"]
    }
    assert listed[name]["nodes"] == max(trace.counts.nodes for trace in lesson_traces(name))
    assert texts.look_for
    assert not any("{" in text for text in (texts.page, *texts.look_for, *texts.solution))
    for run, trace in zip(lesson.runs, lesson_traces(name), strict=True):
        assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace
        assert trace.position == root_of(run.subject, run.plan.utilities).text()


def test_former_names_lead_on() -> None:
    """A link with the former name of a lesson shows the lesson by its present name."""
    assert FORMER_NAMES["two-functions"] == "static-functions"
    for former, present in FORMER_NAMES.items():
        assert former not in LESSONS
        assert load_lesson(former) is load_lesson(present)
        assert lesson_document(former) == lesson_document(present)


def test_the_solution_of_the_exercise_is_hidden() -> None:
    """The page of the exercise shows no value of an inner node; with a log the solution follows."""
    lesson, traces = load_lesson("beta-cut"), lesson_traces("beta-cut")
    page = " ".join(format_lesson(lesson, traces).split())
    assert "MIN = ?" in page
    assert not any(part in page for part in ("25 or more", "cut-off", "skip", " nodes"))
    solved = " ".join(format_lesson(lesson, traces, "steps").split())
    assert "C2 is worth 25 or more" in solved
    assert "cut-off, 25 >= 20; skipped: E, F" in solved


def test_the_counts_in_a_summary_are_those_of_its_searches() -> None:
    """A summary is no template: the counts that three of them state are those of their traces."""
    summaries = {name: load_lesson(name).summary for name in LESSONS}
    number = re.compile(r"\d{2}|six|seven|eight|nine|ten\b|eleven|twelve")
    stating = {name for name, text in summaries.items() if number.search(text)}
    assert stating == {"every-leaf", "four-level-tree", "move-order"}
    assert "six of seven nodes" in summaries["every-leaf"]
    assert [trace.counts.nodes for trace in lesson_traces("every-leaf")] == [6, 7]
    assert summaries["four-level-tree"] == "Sixteen leaves, of which alpha-beta searches eight."
    assert [trace.counts.leaves for trace in lesson_traces("four-level-tree")] == [8, 16]
    best, given, worst = (trace.counts for trace in lesson_traces("move-order"))
    leaves = f"{best.leaves}, {given.leaves} or {worst.leaves} of its {best.plain_leaves} leaves"
    assert leaves in summaries["move-order"]
