"""The quiz and the exercises of lessons as data: every answer is the search's own."""

from collections.abc import Iterator
from itertools import permutations, product

import msgspec
import pytest

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.lesson import Ordering, Statements
from engine.teach.lessons.questions import (
    MAX_QUESTIONS,
    FigureExercise,
    OrderExercise,
    StatementsExercise,
    cut_reason,
    lesson_quiz,
)
from engine.teach.lessons.quiz import make_questions
from engine.teach.output.snapshot import snapshot
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Node, Tree
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, encode_json

#: Lessons whose searches take seconds.
SLOW = ("tic-tac-toe", "shared-states")
LESSON_NAMES = [
    pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in LESSONS
]


@pytest.mark.parametrize("name", LESSON_NAMES)
def test_every_answer_is_what_the_search_does_next(name: str) -> None:
    """A cut is the next step, a value is that of the node which is left next."""
    quiz, traces = lesson_quiz(name), lesson_traces(name)
    assert len(quiz.questions) <= MAX_QUESTIONS
    assert quiz.questions or quiz.exercise
    for question in quiz.questions:
        trace = traces[question.run]
        steps, row = trace.steps, question.row
        following = [*zip(steps.what, steps.node, strict=True)][question.step : question.step + 1]
        match question.kind:
            case "yes_no":
                assert (following == [("cut", row)]) == question.answer
            case "number":
                assert following == [("leave", row)]
                assert question.answer == trace.nodes.value[row]
            case _:
                assert not following
                assert isinstance(question.answer, tuple)
                assert set(question.choices) > set(question.answer)
                assert len(question.choices) == trace.counts.plain_leaves
                assert len(question.answer) == trace.counts.plain_leaves - trace.counts.leaves
        assert question.text.endswith("?")
        assert question.hint.endswith((".", "?"))
        assert question.reason.endswith(".")


@pytest.mark.parametrize("name", LESSON_NAMES)
def test_a_question_does_not_show_its_answer(name: str) -> None:
    """When a question is asked, its node and those above it have not returned their values."""
    for question in lesson_quiz(name).questions:
        if question.kind == "names":
            continue
        shown = snapshot(lesson_traces(name)[question.run], question.step)
        row = question.row
        while row >= 0:
            assert not shown.seen[row].is_done
            row = shown.trace.nodes.parent[row]


def test_the_quiz_is_json() -> None:
    """Each quiz is sent as JSON and decodes to the same questions."""
    for name in ("four-level-tree", "beta-cut", "move-order"):
        sent = msgspec.json.decode(encode_json(lesson_quiz(name)))
        assert [each["answer"] for each in sent["questions"]] == [
            list(each.answer) if isinstance(each.answer, tuple) else each.answer
            for each in lesson_quiz(name).questions
        ]


def test_the_beta_figure_asks_for_the_worked_example() -> None:
    """The gaps are alpha 25, beta 20, E and F never seen, C2 at least 25, and the root 20."""
    exercise = lesson_quiz("beta-cut").exercise
    assert isinstance(exercise, FigureExercise)
    assert [question.answer for question in exercise.questions] == [
        *(25, 20, ("E", "F"), ">=", 25, 20)
    ]
    assert [child.move for child in exercise.root.children] == ["C1", "C2"]


def orders(node: Node) -> Iterator[Node]:
    """Yields a tree in every order of its children."""
    if not node.kind:
        yield node
        return
    for children in permutations(node.branches()):
        for below in product(*(list(orders(child)) for child in children)):
            yield Node(node.kind, below, node.move)


def searched(root: Node) -> Trace:
    return explain(TreeState.at_root(Tree(root)), Plan("alphabeta", plain_limit=0))


def test_no_order_of_the_exercise_needs_fewer_leaves() -> None:
    """Of all 1,296 orders the best one sees the number of leaves that the exercise tells."""
    exercise, ordering = lesson_quiz("move-order").exercise, load_lesson("move-order").exercise
    assert isinstance(exercise, OrderExercise)
    assert isinstance(ordering, Ordering)
    counts = [searched(root).counts.leaves for root in orders(ordering.tree.root)]
    assert len(counts) == 1296
    assert (min(counts), max(counts)) == (exercise.least_leaves, exercise.leaves) == (5, 9)
    assert searched(ordering.tree.root).counts.leaves == exercise.leaves == exercise.all_leaves


@pytest.mark.parametrize(
    ("algorithm", "second", "test"),
    [
        ("strict", 10, "beyond the bound, not equal to it"),
        ("one-bound-early", 10, "beyond the bound, not equal to it"),
        ("one-bound", 5, "beyond the bound, and not that of the first child"),
    ],
)
def test_why_a_crossed_window_is_not_enough(algorithm: str, second: int, test: str) -> None:
    """A node that goes on, although its window is empty, says which value its form asks for."""
    root = TreeState.at_root(parse_tree(f"max(a: 10, b: min(c: {second}, d: 3, e: 20))"))
    trace = explain(root, Plan(algorithm))
    goes_on, stops = make_questions(trace, root)[:2]
    assert (goes_on.row, goes_on.answer, stops.row, stops.answer) == (2, False, 2, True)
    assert goes_on.solution == f"it is not cut off, alpha 10 >= beta {second}"
    reason = cut_reason(trace, goes_on.row, goes_on.step_count, False)
    assert reason.endswith(f"beta is {second}, but this form asks for a value {test}.")


@pytest.mark.parametrize("name", ["opaque-moves", "polymorphism"])
def test_statements_as_data(name: str) -> None:
    """The statements of an exercise come with whether they are true, and why; some are false."""
    exercise = load_lesson(name).exercise
    body = lesson_quiz(name).exercise
    assert isinstance(exercise, Statements)
    assert isinstance(body, StatementsExercise)
    assert [(each.text, each.is_true, each.reason) for each in body.statements] == [
        (each.text, each.is_true, each.reason) for each in exercise.statements
    ]
    assert {each.is_true for each in body.statements} == {True, False}
