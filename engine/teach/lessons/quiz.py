"""Quiz questions about a search: is it cut off, what is its value, which leaves are never seen?"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import TeachError
from engine.teach.lessons.lesson import BugHunt, Statements, numbered_lines
from engine.teach.output.drawing import tree_lines
from engine.teach.output.notation import relation, value_text
from engine.teach.output.snapshot import snapshot
from engine.teach.output.stepping import Screen
from engine.teach.output.style import Line, outline
from engine.teach.output.written import in_notation
from engine.teach.states.state import State
from engine.teach.trace import Number, Trace

#: Maximum number of questions of a kind in one search.
MAX_QUESTIONS = 3
#: Maximum number of nodes of a tree that is shown as a whole.
MAX_WHOLE_TREE = 64
#: The forms of an answer: yes or no, a number (perhaps with <= or >=), names.
YES_NO = re.compile(r"y|yes|n|no", re.IGNORECASE)
NUMBER = re.compile(r"[<>=≤≥ ]*([+-]?(\d+(\.\d+)?|inf))\D*")
NAMES = re.compile(r"\S.*")


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its text, the check of an answer, the right answer, and the tree above it.

    `expected` describes a valid answer in words, `pattern` is its form.
    """

    #: The number of steps after which it is asked.
    step_count: int
    lines: Callable[[], Sequence[Line]]
    text: str
    pattern: re.Pattern[str]
    expected: str
    is_right: Callable[[str], bool]
    solution: str
    #: Questions with a greater weight come first if there are too many.
    weight: int = 0
    #: The node that it is about, and the right answer: yes or no, a value, or the names of leaves.
    row: int = 0
    answer: bool | Number | tuple[str, ...] = False
    #: The names of all leaves, if the answer is some of them.
    choices: tuple[str, ...] = ()
    #: The search of the whole tree if the question is about all leaves, and their names by path.
    plain: Trace | None = None
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict)


def ask_questions(trace: Trace, root: State, screen: Screen) -> bool:
    """Asks questions about a search; returns whether the user answered all of them."""
    right_count = answer_count = 0
    questions = make_questions(trace, root)
    for number, question in enumerate(questions, 1):
        title = screen.style.paint("title", f"{trace.title or trace.position}: ")
        lines = list(outline(question.lines(), screen.style))[-(screen.height - 6) :]
        screen.show([f"{title}question {number} of {len(questions)}", "", *lines, ""])
        answer = _answer(question, screen)
        if answer is None:
            break
        answer_count += 1
        is_right = question.is_right(answer)
        right_count += is_right
        screen.write(f"{'Right' if is_right else 'Wrong'}: {question.solution}.\n")
        if screen.is_terminal and screen.ask("Enter goes on > ") is None:
            break
    screen.write(f"{right_count} of {answer_count} answers are right.\n")
    return answer_count == len(questions)


def ask_statements(exercise: Statements, screen: Screen) -> bool:
    """Asks which statements of an exercise are true; returns whether the user answered all."""
    right_count = 0
    for number, statement in enumerate(exercise.statements, 1):
        screen.write(f"{exercise.text if number == 1 else ''}\n{statement.text}\n")
        while (line := screen.ask("Is that true (y/n)? > ")) is not None:
            if YES_NO.fullmatch(line.strip()) or line.strip() in ("q", "quit"):
                break
            screen.write("Type y or n, or q to quit.\n")
        if line is None or line.strip() in ("q", "quit"):
            return False
        is_right = _is_yes_or_no(statement.is_true, line.strip().lower())
        right_count += is_right
        screen.write(f"{'Right' if is_right else 'Wrong'}: {statement.reason}\n")
    screen.write(f"{right_count} of {len(exercise.statements)} answers are right.\n")
    return True


def ask_line(exercise: BugHunt, screen: Screen) -> bool:
    """Asks for the line of a listing that is at fault; returns whether the user answered."""
    count = len(exercise.lines)
    screen.write("\n".join([*numbered_lines(exercise), "", exercise.text, ""]))
    while (line := screen.ask("The number of the line > ")) is not None:
        if line.strip() in ("q", "quit"):
            return False
        if not line.strip().isdecimal() or not 1 <= int(line) <= count:
            screen.write(f"Type a number from 1 to {count}, or q to quit.\n")
            continue
        is_right = exercise.lines[int(line) - 1].is_fault
        screen.write(f"{'Right' if is_right else 'Wrong'}: {exercise.reason}\n")
        return True
    return False


def _answer(question: Question, screen: Screen) -> str | None:
    """Asks until the answer has the right form; returns None if the user quits."""
    while True:
        line = screen.ask(f"{question.text} > ")
        if line is None or line.strip() in ("q", "quit"):
            return None
        if question.pattern.fullmatch(line.strip()):
            return line.strip()
        screen.write(f"Type {question.expected}, or q to quit.\n")


def make_questions(trace: Trace, root: State) -> list[Question]:
    """Returns the questions about a search, in the order of its steps."""
    trace = in_notation(trace, root)
    questions = _cut_questions(trace)
    cuts = [question for question in questions if question.is_right("y")]
    others = [question for question in questions if not question.is_right("y")]
    others.sort(key=lambda question: -question.weight)
    values = sorted(_value_questions(trace), key=lambda question: -question.weight)
    chosen = cuts[:MAX_QUESTIONS] + others[: min(MAX_QUESTIONS, len(cuts))] + values[:MAX_QUESTIONS]
    chosen.sort(key=lambda question: question.step_count)
    return chosen + _unseen_question(trace, root)


def _cut_questions(trace: Trace) -> list[Question]:
    """A question for each value that returns to a node with further moves: are they cut off?"""
    steps, nodes = trace.steps, trace.nodes
    remaining = _child_counts(trace)
    windows = list(zip(nodes.alpha, nodes.beta, strict=True))
    questions = []
    for index, what in enumerate(steps.what):
        if what != "returned":
            continue
        parent = nodes.parent[steps.node[index]]
        remaining[parent] -= 1
        count = index + 1
        if count < len(steps.what) and steps.what[count] == "narrowed":
            windows[parent] = steps.low[count], steps.high[count]
            count += 1
        if not remaining[parent] or nodes.kind[parent] not in ("max", "min"):
            continue
        is_cut = steps.what[count] == "cut"
        alpha, beta = _end(windows[parent][0], "-inf"), _end(windows[parent][1], "inf")
        low, high = windows[parent]
        is_crossed = is_cut or (low is not None and high is not None and low >= high)
        ends = f"alpha {alpha} {'>=' if is_crossed else '<'} beta {beta}"
        questions.append(
            Question(
                count,
                partial(_lines, trace, count, parent),
                f"Is the rest of {nodes.move[parent] or 'the root'} cut off (y/n)?",
                YES_NO,
                "y or n",
                partial(_is_yes_or_no, is_cut),
                f"it is cut off, {ends}" if is_cut else f"it is not cut off, {ends}",
                (nodes.alpha[parent] is not None) + (nodes.beta[parent] is not None),
                parent,
                is_cut,
            )
        )
    return questions


def _is_yes_or_no(is_yes: bool, answer: str) -> bool:
    return answer[:1].lower() == ("y" if is_yes else "n")


def _child_counts(trace: Trace) -> list[int]:
    """The number of children of each node, the skipped ones included."""
    counts = [0] * len(trace.nodes.parent)
    for parent in (*trace.nodes.parent[1:], *trace.skipped.parent):
        counts[parent] += 1
    return counts


def _value_questions(trace: Trace) -> list[Question]:
    """A question for the value of each node but the leaves, once its last child has returned."""
    nodes = trace.nodes
    questions = []
    for index, what in enumerate(trace.steps.what):
        row = trace.steps.node[index]
        value = nodes.value[row]
        if what != "leave" or nodes.kind[row] == "leaf" or not isinstance(value, int | float):
            continue
        is_bound = nodes.bound[row] != "exact"
        sign = relation(trace, row)
        solution = f"{nodes.move[row] or 'the root'} {sign} {value_text(value)}"
        questions.append(
            Question(
                index,
                partial(_lines, trace, index, row),
                f"What is the value of {nodes.move[row] or 'the root'}?",
                NUMBER,
                "a number",
                partial(_is_number, value),
                solution,
                2 * is_bound + (nodes.kind[row] == "mean") - nodes.depth[row],
                row,
                value,
            )
        )
    return questions


def _is_number(value: float, answer: str) -> bool:
    match = NUMBER.fullmatch(answer)
    return match is not None and math.isclose(float(match[1]), value, abs_tol=0.005)


def _unseen_question(trace: Trace, root: State) -> list[Question]:
    """A question for the leaves that the search never sees, if the whole tree is small."""
    if trace.counts.plain_nodes is None or trace.counts.plain_nodes > MAX_WHOLE_TREE:
        return []
    try:
        plan = Plan("minimax", trace.depth, evaluator=trace.evaluator, seed=trace.seed)
        plain = in_notation(explain(root, plan), root)
    except TeachError:
        return []
    seen = {path for path, row in _paths(trace).items() if trace.nodes.kind[row] == "leaf"}
    paths = _paths(plain)
    leaves = {path for path, row in paths.items() if plain.nodes.kind[row] == "leaf"}
    unseen = leaves - seen
    if not unseen:
        return []
    names = _short_names(paths)

    def is_right(answer: str) -> bool:
        words = set(re.split(r"[,;\s]+", answer.strip()))
        named = {path for path, name in names.items() if name in words}
        below = {leaf for leaf in leaves for path in named if leaf[: len(path)] == path}
        return below == unseen and words <= set(names.values())

    inner = {row for row, kind in enumerate(plain.nodes.kind) if kind != "leaf"}
    in_order = tuple(names[path] for path in paths if path in unseen)
    return [
        Question(
            len(trace.steps.what),
            lambda: list(tree_lines(snapshot(plain), hidden=inner)),
            f"Which leaves does {trace.algorithm} never see?",
            NAMES,
            "the names of leaves, or of nodes for all leaves below them",
            is_right,
            f"never seen are {', '.join(in_order)}",
            answer=in_order,
            choices=tuple(names[path] for path in paths if path in leaves),
            plain=plain,
            names=names,
        )
    ]


def _short_names(paths: Collection[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Short unambiguous names: a move that occurs once, or the path from such a move on."""
    counts = Counter(path[-1] for path in paths if path)
    names = {}
    for path in filter(None, paths):
        clear = (i for i in reversed(range(len(path))) if _is_unique(path[i], counts))
        names[path] = ".".join(path[next(clear, 0) :])
    return names


def _is_unique(move: str, counts: Counter[str]) -> bool:
    return counts[move] == 1 and not move.isdigit()


def _paths(trace: Trace) -> dict[tuple[str, ...], int]:
    """The rows by the moves that lead to them."""
    paths: list[tuple[str, ...]] = [()]
    for parent, move in zip(trace.nodes.parent[1:], trace.nodes.move[1:], strict=True):
        paths.append((*paths[parent], move))
    return {path: row for row, path in enumerate(paths)}


def _lines(trace: Trace, count: int, row: int) -> Sequence[Line]:
    """The tree after some steps, without the values of the row and of the nodes above it."""
    shown = snapshot(trace, count)
    hidden = shown.path() | {row}
    lines = list(tree_lines(shown, hidden=hidden))
    if len(lines) > MAX_WHOLE_TREE:
        lines = list(tree_lines(shown, expanded=shown.path(), hidden=hidden))
    return [replace(line, mark="") if line.mark == "current" else line for line in lines]


def _end(limit: object, unlimited: str) -> str:
    return unlimited if limit is None else str(limit)
