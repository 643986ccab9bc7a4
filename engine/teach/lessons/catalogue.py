"""The list of lessons, in the recommended order."""

from importlib import import_module

from engine.teach.errors import UnknownName
from engine.teach.lessons.lesson import Lesson

#: The names of the lessons, in the recommended order.
LESSONS = (
    "greedy-friends",
    "generous-friends",
    "alpha-cut",
    "beta-cut",
    "four-level-tree",
    "sticks",
    "rock-paper-scissors",
    "tic-tac-toe",
    "evaluation",
    "move-order",
)


def load_lesson(name: str) -> Lesson:
    """Returns the lesson with that name; raises UnknownName, which lists them."""
    if name not in LESSONS:
        raise UnknownName(f"there is no lesson {name[:40]!r}; there are {', '.join(LESSONS)}")
    lesson: Lesson = import_module(f"engine.teach.lessons.{name.replace('-', '_')}").LESSON
    return lesson
