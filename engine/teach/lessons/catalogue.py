"""The lessons by topic, in the recommended order.

A topic is a module, and each Lesson in it is a lesson of that topic, in the order of the module.
The constant ALPHA_CUT is the lesson alpha-cut.
"""

from functools import cache
from types import ModuleType

from engine.teach.errors import UnknownName
from engine.teach.lessons import (
    depth_limits,
    designs,
    efficiency,
    first_cutoffs,
    minimax,
    opponents,
    printed_listings,
    whole_games,
)
from engine.teach.lessons.lesson import Lesson, perform
from engine.teach.trace import Trace

#: The topics, in the recommended order.
CHAPTERS: dict[str, ModuleType] = {
    "What minimax is": minimax,
    "The first cut-offs": first_cutoffs,
    "How the algorithm is written": designs,
    "Whole games": whole_games,
    "What makes it fast": efficiency,
    "Where the search stops": depth_limits,
    "Other utilities, other opponents": opponents,
    "The printed listings: find the bug": printed_listings,
}


def lessons_of(chapter: ModuleType) -> dict[str, Lesson]:
    """Returns the lessons of a topic's module by name, in its order."""
    return {
        constant.lower().replace("_", "-"): value
        for constant, value in vars(chapter).items()
        if isinstance(value, Lesson)
    }


_BY_TOPIC = {title: lessons_of(chapter) for title, chapter in CHAPTERS.items()}
_BY_NAME = {name: lesson for lessons in _BY_TOPIC.values() for name, lesson in lessons.items()}
#: The names of the lessons by topic.
TOPICS = {title: tuple(lessons) for title, lessons in _BY_TOPIC.items()}
#: The names of all lessons.
LESSONS = tuple(_BY_NAME)


#: The present names of lessons by those that old links have.
FORMER_NAMES = {"two-functions": "static-functions"}


def present_name(name: str) -> str:
    """Returns the name that a lesson has now."""
    return FORMER_NAMES.get(name, name)


def load_lesson(name: str) -> Lesson:
    """Returns the lesson with that name, or with that former name.

    Raises UnknownName, which lists the names.
    """
    name = present_name(name)
    if name not in _BY_NAME:
        raise UnknownName(f"there is no lesson {name[:40]!r}; there are {', '.join(LESSONS)}")
    return _BY_NAME[name]


@cache
def lesson_traces(name: str) -> tuple[Trace, ...]:
    """Returns the traces of a lesson's runs, searched once in a process."""
    return tuple(perform(run) for run in load_lesson(name).runs)
