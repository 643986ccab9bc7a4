"""The parts of a lesson: a page to read, the searches, and what to look for in their logs."""

from dataclasses import dataclass

from engine.rules.registry import load_game
from engine.teach.explain import Plan, explain
from engine.teach.state import GameState, Scale, State, TreeState
from engine.teach.trace import Trace
from engine.teach.tree import Tree


@dataclass(frozen=True, slots=True)
class AtPosition:
    """A position of a registered game."""

    game: str
    position: str
    options: tuple[tuple[str, str], ...] = ()


#: What a search starts from.
Subject = Tree | AtPosition


@dataclass(frozen=True, slots=True)
class Run:
    """One search of a lesson: its caption, the tree or position, and the plan."""

    caption: str
    subject: Subject
    plan: Plan


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson: `page` is its text, `look_for` says what to look for in the logs of its runs."""

    title: str
    page: str
    look_for: tuple[str, ...]
    runs: tuple[Run, ...]


def root_of(subject: Subject, scale: Scale) -> State:
    """Returns the root state of a search of the subject."""
    if isinstance(subject, Tree):
        return TreeState.at_root(subject)
    return GameState.at_root(
        load_game(subject.game).position(subject.position, dict(subject.options)), scale
    )


def perform(run: Run) -> Trace:
    """Searches as the run says, and returns the trace."""
    return explain(root_of(run.subject, run.plan.utilities), run.plan, run.caption)
