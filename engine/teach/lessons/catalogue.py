"""The list of lessons, in the recommended order."""

from functools import cache
from importlib import import_module

from engine.teach.errors import UnknownName
from engine.teach.lessons.lesson import Lesson, perform
from engine.teach.trace import Trace

#: The names of the lessons by topic, in the recommended order.
TOPICS = {
    "The first cut-offs": (
        *("every-leaf", "greedy-friends", "generous-friends", "alpha-cut", "beta-cut"),
        "four-level-tree",
    ),
    "How the algorithm is written": (
        *("fail-hard", "one-bound", "negamax", "template-method", "two-functions", "map"),
    ),
    "Whole games": ("sticks", "meaning", "tic-tac-toe", "branching"),
    "What makes it fast": ("move-order", "shared-states", "deepening"),
    "Where the search stops": ("evaluation", "horizon", "quiescence"),
    "Other utilities, other opponents": (
        *("rock-paper-scissors", "average", "max-n", "scholars-mate"),
    ),
}
#: The names of all lessons.
LESSONS = tuple(name for names in TOPICS.values() for name in names)


def load_lesson(name: str) -> Lesson:
    """Returns the lesson with that name; raises UnknownName, which lists them."""
    if name not in LESSONS:
        raise UnknownName(f"there is no lesson {name[:40]!r}; there are {', '.join(LESSONS)}")
    lesson: Lesson = import_module(f"engine.teach.lessons.{name.replace('-', '_')}").LESSON
    return lesson


@cache
def lesson_traces(name: str) -> tuple[Trace, ...]:
    """Returns the traces of a lesson's runs, searched once in a process."""
    return tuple(perform(run) for run in load_lesson(name).runs)
