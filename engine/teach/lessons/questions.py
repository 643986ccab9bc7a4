"""The quiz and the exercise of a lesson as data for web pages.

A question comes with a hint, which the reader sees before an answer, and with a reason, seen after
it. Both are made from the trace of the search that the question is about.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import lesson_traces, load_lesson
from engine.teach.lessons.lesson import (
    BugHunt,
    Figure,
    Lesson,
    ListingLine,
    Ordering,
    Run,
    Statements,
    root_of,
)
from engine.teach.lessons.quiz import MAX_WHOLE_TREE, Question, make_questions
from engine.teach.output.notation import RELATIONS, SIDES, number_text, relation, value_text
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Node, Tree, value_of, walk
from engine.teach.trace import End, Number, Trace

#: Maximum number of questions of a lesson.
MAX_QUESTIONS = 12
#: Maximum number of nodes of a search about which questions are asked.
MAX_NODES = 2_000
#: The names of algorithms in a sentence that differ from their ids.
ALGORITHM_NAMES = {"alphabeta": "alpha-beta"}
#: Maximum number of children whose values a reason lists.
MAX_LISTED = 6
#: The signs on a web page, by those on a terminal.
SIGNS = {"<=": "≤", ">=": "≥"}
#: The ends of an open window.
LOWEST, HIGHEST = "\N{MINUS SIGN}∞", "∞"
#: Which of its children's values each kind of node takes.
TAKES = {"max": "the greatest", "min": "the least"}
#: The relations of a value to the true value that the reader may choose.
RELATIONS_TO_CHOOSE = ("=", ">=", "<=")

#: The kind of an answer: yes or no, a number, some of the choices, or one of them.
AnswerKind = Literal["yes_no", "number", "names", "choice"]
Answer = bool | Number | tuple[str, ...] | str


class FigureNode(Struct, frozen=True, omit_defaults=True):
    """A node to draw: its name in answers, the move to it, who chooses there, and its children.

    A leaf has the kind `leaf` and a value; the values of several players are a text. `estimate` is
    what a search that stops at the node takes, "" without one.
    """

    name: str
    move: str
    kind: str
    value: Number | str | None
    children: "tuple[FigureNode, ...]"
    estimate: str = ""


class QuizQuestion(Struct, frozen=True):
    """A question about a run, asked after `step` steps of it, about the node in `row`.

    The reader sees the hint before an answer and the reason after it. `choices` are the answers
    that the reader may choose from.
    """

    run: int
    step: int
    row: int
    text: str
    kind: AnswerKind
    choices: tuple[str, ...]
    hint: str
    answer: Answer
    reason: str
    #: The whole tree, if the question is about all of it.
    figure: FigureNode | None = None


class FigureExercise(Struct, frozen=True, tag="figure", tag_field="kind"):
    """A tree with gaps to fill in. `run` searches it; the questions are about its node `gaps`."""

    text: str
    run: int
    root: FigureNode
    gaps: str
    questions: tuple[QuizQuestion, ...]


class OrderExercise(Struct, frozen=True, tag="order", tag_field="kind"):
    """A tree to order: the leaves that alpha-beta searches at first, in the best order, and all."""

    text: str
    root: FigureNode
    leaves: int
    least_leaves: int
    all_leaves: int


class StatementBody(Struct, frozen=True):
    """A statement, whether it is true, and why."""

    text: str
    is_true: bool
    reason: str


class StatementsExercise(Struct, frozen=True, tag="statements", tag_field="kind"):
    """Statements, some of which are true."""

    text: str
    statements: tuple[StatementBody, ...]


class ListingExercise(Struct, frozen=True, tag="listing", tag_field="kind"):
    """A listing, of which a line is at fault; any line that is marked is a right answer."""

    text: str
    lines: tuple[ListingLine, ...]
    reason: str


#: The exercise of a lesson as data.
ExerciseBody = FigureExercise | OrderExercise | StatementsExercise | ListingExercise


class Quiz(Struct, frozen=True):
    """The questions of a lesson in the order of its runs, and its exercise.

    `figure` is the tree of the first run, if it is small.
    """

    questions: tuple[QuizQuestion, ...]
    exercise: ExerciseBody | None
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


# --- exercises


def make_exercise(lesson: Lesson, traces: tuple[Trace, ...]) -> ExerciseBody | None:
    """Returns the exercise of a lesson as data, None if it has none."""
    match lesson.exercise:
        case Figure() as figure:
            number = next(i for i, run in enumerate(lesson.runs) if run.name == figure.run)
            tree = lesson.runs[number].subject
            assert isinstance(tree, Tree), "a figure shows a tree"
            questions = figure_questions(figure.gaps, number, traces[number])
            root = make_figure(tree.root)
            return FigureExercise(figure.text, number, root, figure.gaps, questions)
        case Ordering(text, tree):
            given = explain(TreeState.at_root(tree), Plan("alphabeta")).counts
            best = explain(TreeState.at_root(tree), Plan("alphabeta", order="best")).counts
            every = given.plain_leaves or given.leaves
            return OrderExercise(text, make_figure(tree.root), given.leaves, best.leaves, every)
        case Statements(text, statements):
            bodies = [StatementBody(each.text, each.is_true, each.reason) for each in statements]
            return StatementsExercise(text, tuple(bodies))
        case BugHunt(text, lines, reason):
            return ListingExercise(text, lines, reason)
        case None:
            return None


def make_figure(node: Node, move: str = "") -> FigureNode:
    """Returns a node of a tree with all nodes below it, as a figure shows them."""
    utility = node.utility
    value = value_text(value_of(utility)) if isinstance(utility, tuple) else utility
    below = zip(node.labels(), node.branches(), strict=True)
    children = tuple(make_figure(child, label) for label, child in below)
    estimate = "" if node.estimate is None else value_text(value_of(node.estimate))
    return FigureNode(move, move, node.kind or "leaf", value, children, estimate)


def figure_questions(name: str, run: int, trace: Trace) -> tuple[QuizQuestion, ...]:
    """Returns the gaps of a figure: the window, the value and the skipped moves of a cut node."""
    nodes, skipped = trace.nodes, trace.skipped
    row = nodes.move.index(name)
    step = trace.steps.what.index("cut")
    assert trace.steps.node[step] == row, "the figure's only cut-off is at its gaps"
    alpha, beta = trace.steps.low[step], trace.steps.high[step]
    value, root_value = nodes.value[row], trace.value
    seen = [at for at, kind in enumerate(nodes.kind) if kind == "leaf"]
    leaves = (*(nodes.move[at] for at in seen), *skipped.move)
    is_max = nodes.kind[row] == "max"
    own = f"It comes from {name} itself: which value has returned to {name} so far?"
    above = "It comes from above: which value is the other side already sure of?"
    why_cut, why_value = cut_reason(trace, row, step, True), value_reason(trace, row)

    assert not isinstance(value, tuple)
    assert not isinstance(root_value, tuple)

    def gap(
        text: str, kind: AnswerKind, answer: Answer | None, hint: str, reason: str, *choices: str
    ) -> QuizQuestion:
        assert answer is not None
        at = 0 if text == of_root else row
        return QuizQuestion(run, step + 1, at, text, kind, choices, hint, answer, reason)

    further = f"Could a skipped leaf make {name} greater or smaller?"
    unseen, of_root = "Leaves never seen", "Value of the root"
    return (
        gap(f"Alpha at {name}", "number", alpha, own if is_max else above, why_cut),
        gap(f"Beta at {name}", "number", beta, above if is_max else own, why_cut),
        gap(unseen, "names", skipped.move, unseen_hint(trace), unseen_reason(trace), *leaves),
        gap(
            *(f"The value of {name} is", "choice", RELATIONS[nodes.bound[row]], further, why_value),
            *RELATIONS_TO_CHOOSE,
        ),
        gap(f"Value that {name} returns", "number", value, value_hint(trace, row), why_value),
        gap(
            *(of_root, "number", root_value),
            *(value_hint(trace, 0), value_reason(trace, 0)),
        ),
    )


# --- hints and reasons


def node_name(trace: Trace, row: int) -> str:
    """Returns the name of a node in a sentence: its move, its path, or the line to its position."""
    if row == 0:
        return "the root"
    path = path_of(trace, row)
    if trace.game:
        return f"the position after {' '.join(path)}"
    is_clear = not path[-1].isdigit() and trace.nodes.move.count(path[-1]) == 1
    return path[-1] if is_clear else f"the node {'.'.join(path)}"


def path_of(trace: Trace, row: int) -> list[str]:
    """Returns the moves from the root to a node."""
    moves = []
    while row > 0:
        moves.append(trace.nodes.move[row])
        row = trace.nodes.parent[row]
    return moves[::-1]


#: The value of a child at which a node stops, by the form that hands down one bound.
ONE_BOUND_TESTS = {
    "one-bound": "beyond the bound, and not that of the first child",
    "one-bound-early": "beyond the bound, not equal to it",
    "parent-bound": "beyond the bound, or equal to it",
}


def cut_hint(trace: Trace, row: int) -> str:
    """Returns the hint for the question whether the rest of a node is cut off."""
    if trace.algorithm == "optimistic":
        return "An optimistic search stops as soon as it has found a win."
    if trace.algorithm in ONE_BOUND_TESTS:
        test = ONE_BOUND_TESTS[trace.algorithm]
        return f"A node knows only the best value of the node just above. Is this value {test}?"
    rule = "greater than beta" if trace.algorithm == "strict" else "as great as beta, or greater"
    if trace.nodes.kind[row] == "max":
        return (
            "This is a MAX node: alpha grows with the values that come back to it, and beta comes"
            f" from a MIN node above. Is alpha {rule}?"
        )
    return (
        "This is a MIN node: beta falls with the values that come back to it, and alpha comes"
        f" from a MAX node above. Is alpha {rule}?"
    )


def cut_reason(trace: Trace, row: int, step: int, is_cut: bool) -> str:
    """Returns why the rest of a node is cut off after some steps, or why it is not."""
    alpha, beta = window_at(trace, row, step)
    ends = f"alpha is {_end(alpha, LOWEST)} and beta is {_end(beta, HIGHEST)}"
    if not is_cut and alpha is not None and beta is not None and alpha >= beta:
        test = ONE_BOUND_TESTS.get(trace.algorithm, "beyond the bound, not equal to it")
        return f"It is not cut off: {ends}, but this form asks for a value {test}."
    if not is_cut:
        return f"It is not cut off: {ends}, and a value between them would still matter."
    if trace.algorithm == "optimistic":
        return "It is cut off: a win has been found, and nothing better can follow."
    other, limit = ("MIN", beta) if trace.nodes.kind[row] == "max" else ("MAX", alpha)
    sure = _end(limit, HIGHEST if other == "MIN" else LOWEST)
    return f"It is cut off: {ends}. {other} is sure of {sure} elsewhere and does not come here."


def window_at(trace: Trace, row: int, step: int) -> tuple[End, End]:
    """Returns the window of a node after some steps."""
    steps = trace.steps
    window: tuple[End, End] = trace.nodes.alpha[row], trace.nodes.beta[row]
    for index in range(step):
        if steps.node[index] == row and steps.what[index] in ("enter", "narrowed", "cut"):
            window = steps.low[index], steps.high[index]
    return window


def value_hint(trace: Trace, row: int) -> str:
    """Returns the hint for the question which value a node returns."""
    kind = trace.nodes.kind[row]
    if trace.algorithm == "fail-hard":
        return (
            "Fail-hard never returns a value outside the window: a MAX node returns its alpha,"
            " a MIN node its beta."
        )
    if trace.view == "mover":
        return "Negate the value of each child, then take the greatest."
    if kind == "mean":
        return "Chance decides here: take the mean of the children's values."
    if kind in TAKES:
        cut = " It was cut off, so only the searched children count." if _is_cut(trace, row) else ""
        return f"{SIDES[kind]} takes {TAKES[kind]} of its children's values.{cut}"
    return "The player who moves here takes the child with the most for that player."


def value_reason(trace: Trace, row: int) -> str:
    """Returns why a node returns its value, and what that says about its true value."""
    nodes = trace.nodes
    name = node_name(trace, row)
    text = f"{_sentence(name)} {_sign(trace, row)} {value_text(nodes.value[row])}"
    kind, bound = nodes.kind[row], nodes.bound[row]
    if trace.algorithm == "fail-hard":
        text += f": a {SIDES[kind]} node returns its {'alpha' if kind == 'max' else 'beta'}."
    elif kind in TAKES or kind == "mean":
        what = "the mean" if kind == "mean" else TAKES[kind]
        if trace.view == "mover":
            what = "the greatest, after negation,"
        text += f": {what} of {_children_text(trace, row)}."
    else:
        text += "."
    if bound in ("lower", "upper"):
        most = "at least" if bound == "lower" else "at most"
        why = "the rest was cut off" if _is_cut(trace, row) else "some values below are bounds"
        text += f" Since {why}, its true value is {most} that."
    return text


def _children_text(trace: Trace, row: int) -> str:
    children = [child for child, parent in enumerate(trace.nodes.parent) if parent == row]
    if len(children) > MAX_LISTED:
        return f"{len(children)} values"
    return ", ".join(
        f"{trace.nodes.move[child]} {_sign(trace, child)} {value_text(value)}"
        for child in children
        for value in (trace.nodes.value[child],)
    )


def unseen_hint(trace: Trace) -> str:
    """Returns the hint for the question which leaves a search never sees."""
    cuts = trace.nodes.reason.count("cut")
    times = "one place" if cuts == 1 else f"{cuts} places"
    return f"The search cuts off at {times}. Everything below a skipped branch is never seen."


def unseen_reason(trace: Trace, leaves: tuple[str, ...] = ()) -> str:
    """Returns which branches each node skips, and the leaves below them if they differ."""
    skipped: dict[int, list[str]] = {}
    for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True):
        skipped.setdefault(parent, []).append(move)
    parts = [f"{node_name(trace, row)} skips {', '.join(moves)}" for row, moves in skipped.items()]
    text = _sentence("; ".join(parts)) + "."
    is_same = set(leaves) <= set(trace.skipped.move)
    return text if is_same else f"{text} Never seen: {', '.join(leaves)}."


def _sign(trace: Trace, row: int) -> str:
    sign = relation(trace, row)
    return SIGNS.get(sign, sign)


def _is_cut(trace: Trace, row: int) -> bool:
    return trace.nodes.reason[row] == "cut"


def _sentence(text: str) -> str:
    """The text with a capital letter, unless it begins with the name of a move."""
    return f"T{text[1:]}" if text.startswith("the ") else text


def _end(limit: End, unlimited: str) -> str:
    return unlimited if limit is None else number_text(limit)
