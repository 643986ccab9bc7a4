"""Stepping through a search and the quiz, by what a user types and reads."""

import random
import re
from dataclasses import dataclass, field

import pytest

from engine.teach.lessons.quiz import Question, ask_questions, make_questions
from engine.teach.output.snapshot import snapshot
from engine.teach.output.stepping import Screen, fitting_tree, step_through
from engine.teach.output.style import PLAIN
from engine.teach.states.state import TreeState
from engine.teach.states.tree import Tree, uniform
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace
from tests.engine.teach.checks import on_tree, random_tree

#: A tree with a cut-off at B.
TREE = parse_tree("max(A: min(A1: 3, A2: 12), B: min(B1: 2, B2: max(4, 5), B3: 6))")


@dataclass
class Terminal:
    """A terminal with given input lines, which records its output."""

    lines: list[str]
    shown: list[str] = field(default_factory=list)

    def screen(self, height: int = 24) -> Screen:
        """Returns the screen of the terminal."""
        return Screen(self.shown.append, self.ask, PLAIN, height)

    def ask(self, prompt: str) -> str | None:
        self.shown.append(prompt + "\n")
        return self.lines.pop(0) + "\n" if self.lines else None

    @property
    def text(self) -> str:
        """Everything that it has shown."""
        return "".join(self.shown)


def step(trace: Trace, *lines: str, height: int = 24) -> tuple[bool, list[str]]:
    """Steps through a trace; returns the result and the numbers of the steps that were shown."""
    terminal = Terminal(list(lines))
    finished = step_through(trace, terminal.screen(height))
    titles = [line for line in terminal.text.splitlines() if ": step " in line]
    return finished, [title.partition(": step ")[2] for title in titles]


def test_the_keys() -> None:
    """Enter and n show the next step, b the previous one, c the next cut, e the end; q quits.

    A number shows the step of that number, or the first or last step if there is no such step.
    """
    trace = on_tree(TREE, "alphabeta")
    finished, shown = step(trace, "", "n", "b", "c", "3", "99", "0", "e", "b", "q")
    numbers = [int(text.split()[0]) for text in shown]
    total = int(shown[0].split()[-1])
    cut = numbers[4]
    assert numbers == [1, 2, 3, 2, cut, 3, total, 1, total, total - 1]
    assert not finished
    terminal = Terminal(["c"])
    assert not step_through(trace, terminal.screen())
    assert "cut-off, 3 >= 2; skipped: B2, B3" in terminal.text
    assert "    cut, 3 >= 2: skips B2 (and 2 below), B3" in terminal.text


def test_the_ends() -> None:
    """Enter at the end finishes, b at the start stays, other words show the keys again."""
    trace = on_tree(TREE, "alphabeta")
    assert step(trace, "e", "")[0]
    assert step(trace, "b")[1][0] == step(trace, "b")[1][1]
    terminal = Terminal(["what?"])
    step_through(trace, terminal.screen())
    assert "Enter next, b back, c next cut, e end, q quit, or the number of a step" in terminal.text


@pytest.mark.parametrize("height", [10, 24])
def test_a_page_fits_the_screen(height: int) -> None:
    """At every step of a large search the page fits the screen and shows the current node."""
    trace = on_tree(Tree(uniform(("max", "min", "max"), 5, tuple(range(125)))), "minimax")
    for count in range(1, len(trace.steps.what), 7):
        shown = snapshot(trace, count)
        lines = fitting_tree(shown, PLAIN, height - 5)
        assert len(lines) <= height - 5
        is_leaf = trace.nodes.kind[shown.current] == "leaf"
        move = trace.nodes.move[shown.current]
        start = f"{move} {'' if is_leaf else 'M'}".strip()
        assert any(line.strip().startswith(start) for line in lines)


def solve(question: Question, trace: Trace) -> str:
    """Returns the right answer, read from the solution."""
    if question.expected == "y or n":
        return "n" if "not cut off" in question.solution else "yes"
    if question.expected == "a number":
        return question.solution.split()[-1]
    return question.solution.removeprefix("never seen are ")


@pytest.mark.parametrize("seed", range(20))
def test_right_answers_are_right_and_wrong_ones_wrong(seed: int) -> None:
    """The solution of each question is accepted, and a wrong answer is not."""
    tree = random_tree(random.Random(seed), ("max", "min", "mean") if seed % 2 else ("max", "min"))
    trace = on_tree(tree, "alphabeta")
    questions = make_questions(trace, TreeState.at_root(tree))
    answers = [solve(question, trace) for question in questions]
    terminal = Terminal(list(answers))
    assert ask_questions(trace, TreeState.at_root(tree), terminal.screen())
    assert f"{len(answers)} of {len(answers)} answers are right" in terminal.text
    for question in questions:
        wrong = {"y or n": "y" if "not cut" in question.solution else "n", "a number": "77"}
        assert not question.is_right(wrong.get(question.expected, "root"))


@pytest.mark.parametrize("seed", range(20))
def test_a_question_about_a_cut_comes_before_the_next_child(seed: int) -> None:
    """After a question about a cut-off the search either cuts off or enters the next child."""
    tree = random_tree(random.Random(seed))
    trace = on_tree(tree, "alphabeta")
    for question in make_questions(trace, TreeState.at_root(tree)):
        if question.expected == "y or n":
            is_cut = trace.steps.what[question.step_count] == "cut"
            assert is_cut or trace.steps.what[question.step_count] == "enter"
            alpha, sign, beta = re.findall(r"-?\d+|-?inf|>=|<", question.solution)
            assert (float(alpha) >= float(beta)) == is_cut == (sign == ">=")


def test_the_questions_of_a_tree() -> None:
    """The quiz asks for each cut, for values, and for the leaves that are never seen."""
    questions = make_questions(on_tree(TREE, "alphabeta"), TreeState.at_root(TREE))
    texts = [question.text for question in questions]
    assert texts == [
        "Is the rest of A cut off (y/n)?",
        "What is the value of A?",
        "Is the rest of B cut off (y/n)?",
        "What is the value of B?",
        "What is the value of the root?",
        "Which leaves does alphabeta never see?",
    ]
    last = questions[-1]
    assert last.solution == "never seen are B2.1, B2.2, B3"
    assert last.is_right("B3 B2")
    assert last.is_right("B2.2, B3; B2.1")
    assert not last.is_right("B3")
    assert not last.is_right("B2 B3 B1")
    assert not last.is_right("B2 B3 nonsense")


def test_a_question_does_not_show_its_answer() -> None:
    """Above a question neither the value of its node nor those of the nodes above it are shown."""
    trace = on_tree(TREE, "alphabeta")
    for question in make_questions(trace, TreeState.at_root(TREE))[:-1]:
        lines = [line.text for line in question.lines()]
        assert lines[0].startswith("MAX = ?")
        name = question.text.removeprefix("What is the value of ").removesuffix("?")
        assert not any(line.startswith(f"{name} MIN <") for line in lines)


def test_answers_of_the_wrong_form_are_asked_again() -> None:
    """An answer of another form is neither right nor wrong; q ends the quiz with its result."""
    terminal = Terminal(["maybe", "", "n", "much", "<= 3", "q"])
    assert not ask_questions(on_tree(TREE, "alphabeta"), TreeState.at_root(TREE), terminal.screen())
    assert terminal.text.count("Type y or n, or q to quit.") == 2
    assert terminal.text.count("Type a number, or q to quit.") == 1
    assert "2 of 2 answers are right." in terminal.text
