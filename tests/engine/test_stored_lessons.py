"""The stored texts of lessons are those that their searches say."""

import msgspec
import pytest

from engine.reference.lessons import compute_lesson
from engine.study_pool.documents import make_document
from engine.study_pool.messages import LessonJob, Limits, QuizJob
from engine.teach.lessons.catalogue import LESSONS, load_lesson
from engine.teach.lessons.document import stored_lessons

#: The lessons whose documents are stored.
STORED = [name for name in LESSONS if load_lesson(name).is_stored]
LIMITS = Limits(seconds=60.0, max_nodes=1_000_000)
#: Lessons whose searches take seconds.
VERY_SLOW = ("tic-tac-toe", "shared-states")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in VERY_SLOW else []) for name in STORED],
)
def test_a_stored_lesson_is_what_its_searches_say(name: str) -> None:
    """`python -m engine.reference.lessons` writes the same again."""
    computed = compute_lesson(name)
    for job, right in ((LessonJob(name), computed.lesson), (QuizJob(name), computed.quiz)):
        sent = msgspec.json.encode(make_document(job, LIMITS))
        assert msgspec.json.decode(sent) == msgspec.json.decode(right)


def test_the_slow_lessons_are_stored() -> None:
    """The file has each slow lesson and no other, and a fast one is computed."""
    assert set(stored_lessons()) == set(STORED)
    fast = msgspec.json.decode(msgspec.json.encode(make_document(QuizJob("alpha-cut"), LIMITS)))
    assert len(fast["questions"]) == 5
