"""A lesson: a page to read, its searches, and what to look for in them; and its text.

The texts are templates. `{pruned.nodes}` is the number of nodes of the run that is called `pruned`,
and `{pruned[D]}` the value of its node D, so that every number is computed by the search itself.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.output.notation import value_text
from engine.teach.output.style import PLAIN, WIDTH, Style, outline
from engine.teach.output.text import LOGS, counts_text, format_trace, result_text
from engine.teach.output.written import writer_of
from engine.teach.states.graph import Graph, GraphState
from engine.teach.states.state import GameState, Scale, State, TreeState
from engine.teach.states.tree import Tree
from engine.teach.trace import Trace


@dataclass(frozen=True, slots=True)
class AtPosition:
    """A position of a registered game."""

    game: str
    position: str
    options: tuple[tuple[str, str], ...] = ()


#: What a search starts from.
Subject = Tree | Graph | AtPosition


@dataclass(frozen=True, slots=True)
class Run:
    """One search of a lesson: its caption, the tree or position, the plan, and its name in texts.

    `log` is the log with which the page shows it; with "none" it is one line.
    """

    caption: str
    subject: Subject
    plan: Plan
    name: str = ""
    log: Literal["tree", "steps", "leaves", "none"] = "tree"


@dataclass(frozen=True, slots=True)
class Figure:
    """An exercise: to fill in the gaps of a tree that the run of that name searches.

    `gaps` names the node whose window, value and skipped children the reader fills in.
    """

    text: str
    run: str
    gaps: str


@dataclass(frozen=True, slots=True)
class Ordering:
    """An exercise: to put the moves of a tree into the order in which most is cut off."""

    text: str
    tree: Tree


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of an exercise: whether it is true, and why, which the reader sees afterwards."""

    text: str
    is_true: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Statements:
    """An exercise: to say which of some statements are true."""

    text: str
    statements: tuple[Statement, ...]


class ListingLine(Struct, frozen=True):
    """A line of a listing: its parts, each with whether it was added; whether it is at fault."""

    parts: tuple[tuple[str, bool], ...]
    is_fault: bool

    @property
    def text(self) -> str:
        """The line as plain text."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class BugHunt:
    """An exercise: to find the line of a listing that is at fault, and why."""

    text: str
    lines: tuple[ListingLine, ...]
    reason: str


Exercise = Figure | Ordering | Statements | BugHunt


def no_facts() -> Mapping[str, object]:
    """Returns no facts."""
    return {}


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson: `page` is its text, `look_for` says what to look for in its runs.

    `summary` says in a sentence what it shows; it is no template, since lists show it without a
    search. `facts` computes the numbers in the texts that come from no run.
    """

    title: str
    summary: str
    page: str
    look_for: tuple[str, ...]
    runs: tuple[Run, ...]
    facts: Callable[[], Mapping[str, object]] = no_facts
    #: The solution of an exercise, which the page does not show.
    solution: tuple[str, ...] = ()
    #: What to try next with the command `plyroom teach`; other pages do not show it.
    commands: tuple[str, ...] = ()
    #: The two runs that the page shows side by side; they search the same position.
    compares: tuple[int, int] | None = None
    #: The exercise that a reader solves by hand.
    exercise: Exercise | None = None
    #: Whether its documents are stored (`document`), because its texts take more than 50 ms.
    is_stored: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a lesson with their numbers filled in."""

    page: str
    look_for: tuple[str, ...]
    solution: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of a run's trace, as the texts of a lesson name them."""

    run: Run
    trace: Trace

    def __getitem__(self, move: str) -> str:
        """Returns the value of the node that a move of the root leads to, or another move."""
        nodes = self.trace.nodes
        named = [row for row, name in enumerate(nodes.move) if name == move]
        row = next((row for row in named if nodes.parent[row] == 0), named[0])
        return value_text(nodes.value[row])

    def __getattr__(self, name: str) -> object:
        """Returns a count of nodes by the name of its field in `Counts`."""
        return getattr(self.trace.counts, name)

    @property
    def value(self) -> str:
        """The root's value."""
        return value_text(self.trace.value)

    @property
    def plays(self) -> str:
        """The chosen move."""
        return self.trace.line[0]

    @property
    def written(self) -> str:
        """The chosen move and, where players of a game write it otherwise, how: "a1a6 (Rxa6+)"."""
        subject = self.run.subject
        if not isinstance(subject, AtPosition):
            return self.plays
        position = load_game(subject.game).position(subject.position, dict(subject.options))
        written = position.notation(position.parse_move(self.plays))
        return self.plays if written == self.plays else f"{self.plays} ({written})"

    @property
    def line(self) -> str:
        """The principal variation, as players of a game write it."""
        writer = writer_of(root_of(self.run.subject, self.run.plan.utilities), ())
        return " ".join(writer.write_line(self.trace.line) if writer else self.trace.line)

    @property
    def recalled(self) -> int:
        """The number of nodes that a table answered."""
        return self.trace.nodes.reason.count("table")


def root_of(subject: Subject, scale: Scale) -> State:
    """Returns the root state of a search of the subject."""
    if isinstance(subject, Tree):
        return TreeState.at_root(subject)
    if isinstance(subject, Graph):
        return GraphState.at_start(subject)
    return GameState.at_root(
        load_game(subject.game).position(subject.position, dict(subject.options)), scale
    )


def perform(run: Run) -> Trace:
    """Runs the search of a run, and returns its trace."""
    return explain(root_of(run.subject, run.plan.utilities), run.plan, run.caption)


def fill_texts(lesson: Lesson, traces: Sequence[Trace]) -> Texts:
    """Returns the texts of a lesson with the numbers of its runs and its facts."""
    numbers: dict[str, object] = {
        run.name: Numbers(run, trace)
        for run, trace in zip(lesson.runs, traces, strict=True)
        if run.name
    }
    numbers |= lesson.facts()

    def fill(text: str) -> str:
        return " ".join(text.format(**numbers).split())

    return Texts(
        fill(lesson.page), tuple(map(fill, lesson.look_for)), tuple(map(fill, lesson.solution))
    )


def format_lesson(
    lesson: Lesson, traces: Sequence[Trace], log: str | None = None, style: Style = PLAIN
) -> str:
    """Returns the text of a lesson; with a log of that name, all searches in full.

    The solution of an exercise follows the searches in full.
    """
    texts = fill_texts(lesson, traces)
    underline = "" if style.has_colour else f"{'=' * len(lesson.title)}\n"
    head = f"{style.paint('title', lesson.title)}\n{underline}"
    parts = [head + textwrap.fill(texts.page, WIDTH, break_on_hyphens=False)]
    if isinstance(lesson.exercise, BugHunt):
        parts.append("\n".join(numbered_lines(lesson.exercise)))
    runs = list(zip(lesson.runs, traces, strict=True))
    if log is not None:
        roots = [root_of(run.subject, run.plan.utilities) for run in lesson.runs]
        searched = zip(traces, roots, strict=True)
        parts += [format_trace(trace, log, style, root).rstrip("\n") for trace, root in searched]
    else:
        drawn = [(run, trace) for run, trace in runs if run.log != "none"]
        parts += ["\n".join(_run_lines(run, trace, style)) for run, trace in drawn]
        if len(drawn) < len(runs) and not lesson.solution:
            rest = [line for run in runs if run not in drawn for line in _run_lines(*run, style)]
            parts.append("\n".join([*([parts.pop()] if drawn else []), *rest]))
    hints = texts.look_for if log is None else (*texts.look_for, *texts.solution)
    hints = (*hints, *lesson.commands)
    parts.append("\n".join(map(_bullet, hints)))
    return "\n\n".join(parts) + "\n"


def numbered_lines(exercise: BugHunt) -> Iterator[str]:
    """Yields the lines of a listing with their numbers; what was added stands between «»."""
    for number, line in enumerate(exercise.lines, 1):
        parts = (f"«{text}»" if is_added else text for text, is_added in line.parts)
        yield f"{number:2}  {''.join(parts)}"


def _bullet(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _run_lines(run: Run, trace: Trace, style: Style) -> Iterator[str]:
    """Yields a search as the lesson shows it: its caption and counts, then its log."""
    lines = list(LOGS[run.log](trace))
    result = "" if lines else f"{result_text(trace)}; "
    counts = "" if run.log == "leaves" else counts_text(trace)
    summary = f"{run.caption}: {result}{counts}"
    yield from textwrap.wrap(summary, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield from outline(lines, style)
