"""What a lesson is: a page to read, something to search, and what to look at."""

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


Subject = Tree | AtPosition


@dataclass(frozen=True, slots=True)
class Run:
    """One search of a lesson: what it shows, on what, and how."""

    caption: str
    subject: Subject
    plan: Plan


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson: `page` explains, `look_at` says what to see in the log."""

    title: str
    page: str
    look_at: tuple[str, ...]
    runs: tuple[Run, ...]


def root_of(subject: Subject, scale: Scale) -> State:
    """The state that a search of the subject begins with."""
    if isinstance(subject, Tree):
        return TreeState.at_root(subject)
    return GameState.at_root(
        load_game(subject.game).position(subject.position, dict(subject.options)), scale
    )


def perform(run: Run) -> Trace:
    """The trace of a lesson's run."""
    return explain(root_of(run.subject, run.plan.ends), run.plan, run.caption)
