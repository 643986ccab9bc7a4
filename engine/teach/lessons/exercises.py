"""The exercises of lessons as data: a figure with gaps, and a tree to order."""

from msgspec import Struct

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.hints import cut_reason, unseen_hint, unseen_reason, value_hint
from engine.teach.lessons.hints import value_reason as reason_of_value
from engine.teach.lessons.lesson import Figure, Lesson, Ordering
from engine.teach.lessons.question import Answer, AnswerKind, FigureNode, QuizQuestion
from engine.teach.output.notation import RELATIONS, value_text
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Node, Tree, value_of
from engine.teach.trace import Trace


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


def make_exercise(
    lesson: Lesson, traces: tuple[Trace, ...]
) -> FigureExercise | OrderExercise | None:
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
        case None:
            return None


def make_figure(node: Node, move: str = "") -> FigureNode:
    """Returns a node of a tree with all nodes below it, as a figure shows them."""
    utility = node.utility
    value = value_text(value_of(utility)) if isinstance(utility, tuple) else utility
    below = zip(node.labels(), node.branches(), strict=True)
    children = tuple(make_figure(child, label) for label, child in below)
    return FigureNode(move, move, node.kind or "leaf", value, children)


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
    why_cut, why_value = cut_reason(trace, row, step, True), reason_of_value(trace, row)

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
            *(value_hint(trace, 0), reason_of_value(trace, 0)),
        ),
    )


#: The relations of a value to the true value that the reader may choose.
RELATIONS_TO_CHOOSE = ("=", ">=", "<=")
