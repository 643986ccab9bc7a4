"""The lessons: each fits on one screen and shows the numbers of its worked example."""

import re

import msgspec
import pytest

from engine.teach.lessons.catalogue import LESSONS, NODES, lesson_traces, load_lesson
from engine.teach.lessons.lesson import fill_texts, root_of
from engine.teach.lessons.page import format_lesson
from engine.teach.output.style import Style
from engine.teach.trace import Trace

#: Parts of each lesson's page: the numbers of the worked example.
EXPECTED_TEXTS = {
    "every-leaf": ("R is worth at most 3", "6 of 7 nodes", "the value of the root is 10"),
    "greedy-friends": ("7 of 9 nodes", "10 >= 5; skipped: two-2, two-25", "In truth it is 2."),
    "generous-friends": ("Friend one gives 25", "alpha to 50", "cut-off, 50 >= 25"),
    "alpha-cut": ("C1 is worth 20", "C2 is worth at most 15", "cut-off, 20 >= 15; skipped: E, F"),
    "beta-cut": ("C2 MAX = ?: D = 25, E = 10, F = 5", "--quiz"),
    "four-level-tree": (
        "19 of 31 nodes, 8 of 16 leaves",
        "cut, 14 >= 10: skips J (and 2 below)",
        "K MIN <= 5: K1 = 5; cut, 10 >= 5: skips K2",
        "cut, 10 >= 5: skips F (and 6 below)",
        "E returns 5, a bound; in truth it is 2.",
        "Plain minimax: MAX = 10, plays A",
    ),
    "fail-hard": (
        "I = 14, D = 14, E = 5, B = 5",
        "I = 10, D = 10, E = 10, B = 10",
        "Fail-hard: 19 of 31 nodes",
        "Fail-soft: MAX = 10, plays A; 19 of 31 nodes",
    ),
    "one-bound": ("A window takes 7 nodes, one bound 9, plain minimax 9. All find 10.",),
    "negamax": ("the opponent has -101, not -1", "worth 1 to MIN, not 101", "so -10 to MIN"),
    "template-method": (
        "worst score -inf, MinNode with inf",
        "is -1 at a MaxNode and 101 at a MinNode",
        "MaxNode makes a MinNode, that of MinNode a MaxNode",
    ),
    "two-functions": ("19 and 19 nodes", "differ in min_value"),
    "map": ("finished, ongoing, finished, finished", "here 30 and c", "alpha 10, beta 3"),
    "sticks": ("7 nodes, not 6", "2x1 <= -1: root in [-1, inf)", "MAX = 101, plays 2x2"),
    "meaning": ("U(X) = 1, U(O) = -1", "U(White) = 1 and U(Black) = -1", "In the third -1"),
    "tic-tac-toe": ("19,683", "5,478", "18,297 nodes, 7,330", "549,946"),
    "branching": ("3^4 = 81", "10^40", "19,683", "5,478", "17 = B^(L/2)"),
    "move-order": ("81 leaves", "9 + 9 - 1 = 17", "17, 43 or 77"),
    "shared-states": ("5,478 states", "549,946", "8 states and 10 transitions", "12 nodes"),
    "deepening": ("5, 15, 60, 94 and 228 nodes: 402", "takes 583"),
    "evaluation": ("3 - 2 = 1", "16 - 19 = -3", "a real chess board: -3"),
    "horizon": ("Depth 1 promises 4, and depth 2 promises 3", "plays a1b1"),
    "quiescence": ("visits 17 nodes instead of 81", "the rook is lost: -1"),
    "rock-paper-scissors": ("13 states", "-1, -1 and -1, then -1, -1 and -20", "<-1, 15>"),
    "average": ("13/15 = 0.866667", "minimax -1"),
    "max-n": ("plays b and is sure of 1", "plays a and expects <3, 1, 0>"),
    "scholars-mate": ("e2e4 e7e5 f1c4 b8c6 d1h5 g8f6 h5f7", "utility 1", "g7g6"),
}


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
        assert [part for part in EXPECTED_TEXTS[name] if part not in words] == []


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_complete(name: str) -> None:
    """A lesson has a page, hints and traces that JSON can store; its texts are filled in."""
    lesson = load_lesson(name)
    texts = fill_texts(lesson, lesson_traces(name))
    assert len(texts.page) > 150
    assert NODES[name] == max(trace.counts.nodes for trace in lesson_traces(name))
    assert texts.look_for
    assert not any("{" in text for text in (texts.page, *texts.look_for, *texts.solution))
    for run, trace in zip(lesson.runs, lesson_traces(name), strict=True):
        assert msgspec.json.decode(msgspec.json.encode(trace), type=Trace) == trace
        assert trace.position == root_of(run.subject, run.plan.utilities).text()


def test_the_solution_of_the_exercise_is_hidden() -> None:
    """The page of the exercise shows no value of an inner node; with a log the solution follows."""
    lesson, traces = load_lesson("beta-cut"), lesson_traces("beta-cut")
    page = " ".join(format_lesson(lesson, traces).split())
    assert "MIN = ?" in page
    assert not any(part in page for part in ("25 or more", "cut-off", "skip", " nodes"))
    solved = " ".join(format_lesson(lesson, traces, "steps").split())
    assert "C2 is worth 25 or more" in solved
    assert "cut-off, 25 >= 20; skipped: E, F" in solved
