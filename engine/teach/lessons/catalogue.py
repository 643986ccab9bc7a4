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
#: The summary of each lesson, in a sentence.
SUMMARIES = {
    "every-leaf": "The smallest cut-off: six of seven nodes are enough.",
    "greedy-friends": "A small tree with one cut-off, its windows and its intervals.",
    "generous-friends": "The mirror image of the greedy friends: MIN moves first.",
    "alpha-cut": "MAX is sure of a better value, so the search leaves a MIN node early.",
    "beta-cut": "An exercise: the mirror image of the alpha cut.",
    "four-level-tree": "Sixteen leaves, of which alpha-beta searches eight.",
    "fail-hard": "What a node returns when its value lies outside its window.",
    "one-bound": "A child gets only its parent's best value, so there are no deep cut-offs.",
    "negamax": "One rule for both sides.",
    "template-method": "Classes for the sides, without any test of MAX or MIN.",
    "two-functions": "One function for MAX and one for MIN, which call each other.",
    "map": "The board maps functions over its moves, into an accumulator.",
    "sticks": "A real game that is small enough to follow every step.",
    "meaning": "What 1, 0 and -1 at the root promise to the side to move.",
    "tic-tac-toe": "A whole game, searched to its end.",
    "branching": "A tree of branching B and depth L has B^L leaves.",
    "move-order": "The same tree and value, but 17, 43 or 77 of its 81 leaves are searched.",
    "shared-states": "Several paths lead to one state; a table searches it once.",
    "deepening": "A shallow search orders the moves of the next, deeper one.",
    "evaluation": "Where the search stops before the end, an evaluator estimates the value.",
    "horizon": "A search that stops one ply too early believes in a free pawn.",
    "quiescence": "The search stops only where nothing can be captured.",
    "rock-paper-scissors": "Other utilities than 1 and -1, and one for each player.",
    "average": "An opponent who may err.",
    "max-n": "Several players: all against one, or each for themselves.",
    "scholars-mate": "A search that hopes for help finds a mate that nobody has to allow.",
}
#: The number of nodes of each lesson's largest search.
NODES = {
    "every-leaf": 7,
    "greedy-friends": 9,
    "generous-friends": 9,
    "alpha-cut": 4,
    "beta-cut": 6,
    "four-level-tree": 31,
    "fail-hard": 19,
    "one-bound": 9,
    "negamax": 7,
    "template-method": 6,
    "two-functions": 19,
    "map": 7,
    "sticks": 7,
    "meaning": 844,
    "tic-tac-toe": 18297,
    "branching": 121,
    "move-order": 117,
    "shared-states": 16168,
    "deepening": 583,
    "evaluation": 6,
    "horizon": 1101,
    "quiescence": 81,
    "rock-paper-scissors": 13,
    "average": 839,
    "max-n": 7,
    "scholars-mate": 147,
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
