"""The quiz and the exercise of a lesson as data for web pages."""

from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Struct

from engine.teach.lessons.catalogue import lesson_traces, load_lesson
from engine.teach.lessons.exercises import FigureExercise, OrderExercise, make_exercise, make_figure
from engine.teach.lessons.hints import (
    cut_hint,
    cut_reason,
    node_name,
    path_of,
    unseen_hint,
    unseen_reason,
    value_hint,
    value_reason,
)
from engine.teach.lessons.lesson import Figure, Lesson, Run, root_of
from engine.teach.lessons.question import FigureNode, QuizQuestion
from engine.teach.lessons.quiz import MAX_WHOLE_TREE, Question, make_questions
from engine.teach.states.tree import Tree, walk
from engine.teach.trace import Trace

#: Maximum number of questions of a lesson.
MAX_QUESTIONS = 12
#: Maximum number of nodes of a search about which questions are asked.
MAX_NODES = 2_000
#: The names of algorithms in a sentence that differ from their ids.
ALGORITHM_NAMES = {"alphabeta": "alpha-beta"}


class Quiz(Struct, frozen=True):
    """The questions of a lesson in the order of its runs, and its exercise.

    `figure` is the tree of the first run, if it is small.
    """

    questions: tuple[QuizQuestion, ...]
    exercise: FigureExercise | OrderExercise | None
    figure: FigureNode | None


@cache
def lesson_quiz(name: str) -> Quiz:
    """Returns the quiz of a lesson; raises UnknownName.

    A figure to complete takes the place of questions, which would solve it.
    """
    lesson, traces = load_lesson(name), lesson_traces(name)
    is_figure = isinstance(lesson.exercise, Figure)
    questions = () if is_figure else tuple(make_quiz_questions(lesson, traces))
    exercise = make_exercise(lesson, traces)
    return Quiz(questions[:MAX_QUESTIONS], exercise, make_run_figure(lesson.runs[0]))


def make_run_figure(run: Run) -> FigureNode | None:
    """Returns the whole tree of a run to draw; None for a large one and for a game."""
    tree = run.subject
    if not isinstance(tree, Tree) or sum(1 for _ in walk(tree.root)) > MAX_WHOLE_TREE:
        return None
    return make_figure(tree.root)


def make_quiz_questions(lesson: Lesson, traces: tuple[Trace, ...]) -> Iterator[QuizQuestion]:
    """Yields the questions about the runs of a lesson, each once."""
    asked = set()
    for number, (run, trace) in enumerate(zip(lesson.runs, traces, strict=True)):
        if len(trace.nodes.parent) > MAX_NODES:
            continue
        for each in make_questions(trace, root_of(run.subject, run.plan.utilities)):
            if each.choices and "cut" not in trace.nodes.reason:
                continue
            question = make_quiz_question(number, trace, each)
            if (question.text, question.answer) not in asked:
                asked.add((question.text, question.answer))
                yield question


def make_quiz_question(run: int, trace: Trace, question: Question) -> QuizQuestion:
    """Returns a question of the terminal's quiz as data."""
    row, answer = question.row, question.answer
    name = node_name(trace, row)
    place = (run, question.step_count, row)
    if isinstance(answer, bool):
        reason = cut_reason(trace, row, question.step_count, answer)
        text = f"Is the rest of {name} cut off?"
        return QuizQuestion(*place, text, "yes_no", (), cut_hint(trace, row), answer, reason)
    if isinstance(answer, tuple):
        algorithm = ALGORITHM_NAMES.get(trace.algorithm, trace.algorithm)
        text = f"Which leaves does {algorithm} never see?"
        reason = unseen_reason(trace, answer)
        hint = unseen_hint(trace)
        plain = question.plain
        figure = None if plain is None else make_tree_figure(plain, question.names)
        return QuizQuestion(*place, text, "names", question.choices, hint, answer, reason, figure)
    text = f"Which value does {name} return?"
    reason = value_reason(trace, row)
    return QuizQuestion(*place, text, "number", (), value_hint(trace, row), answer, reason)


def make_tree_figure(trace: Trace, names: Mapping[tuple[str, ...], str]) -> FigureNode:
    """Returns the tree of a search to draw, with the names of its nodes by their paths."""
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(trace.nodes.parent):
        children.setdefault(parent, []).append(row)

    def node(row: int) -> FigureNode:
        kind, value = trace.nodes.kind[row], trace.nodes.value[row]
        is_number = kind == "leaf" and not isinstance(value, tuple)
        return FigureNode(
            names.get(tuple(path_of(trace, row)), ""),
            trace.nodes.move[row],
            kind,
            value if is_number and not isinstance(value, tuple) else None,
            tuple(map(node, children.get(row, ()))),
        )

    return node(0)
