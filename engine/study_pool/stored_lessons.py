"""The stored texts and quizzes of lessons whose searches take long.

    python -m engine.study_pool.stored_lessons > engine/study_pool/lessons.json

writes the file; a test compares it with the results of the searches.
"""

import sys
from functools import cache
from importlib.resources import files

import msgspec

from engine.teach.lessons.document import lesson_document
from engine.teach.lessons.questions import lesson_quiz
from engine.teach.trace import finite

#: The lessons whose texts take more than 50 ms.
SLOW = (
    *("meaning", "tic-tac-toe", "branching", "shared-states", "deepening", "horizon"),
    *("quiescence", "average"),
)


class StoredLesson(msgspec.Struct, frozen=True):
    """The documents of a lesson and of its quiz, as JSON."""

    lesson: msgspec.Raw
    quiz: msgspec.Raw


def compute_lesson(name: str) -> StoredLesson:
    """Runs the searches of a lesson and returns its documents; raises UnknownName."""
    quiz = finite(msgspec.to_builtins(lesson_quiz(name)))
    return StoredLesson(
        msgspec.Raw(msgspec.json.encode(lesson_document(name))),
        msgspec.Raw(msgspec.json.encode(quiz)),
    )


@cache
def stored_lessons() -> dict[str, StoredLesson]:
    """Returns the stored lessons by name."""
    content = (files("engine.study_pool") / "lessons.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, StoredLesson])


def lesson_json(name: str) -> object:
    """Returns the document of a lesson, to be encoded as JSON; raises UnknownName."""
    stored = stored_lessons().get(name)
    return lesson_document(name) if stored is None else stored.lesson


def quiz_json(name: str) -> object:
    """Returns the document of a lesson's quiz, to be encoded as JSON; raises UnknownName."""
    stored = stored_lessons().get(name)
    return finite(msgspec.to_builtins(lesson_quiz(name))) if stored is None else stored.quiz


def main() -> None:
    """Writes the file, with one lesson per line."""
    lines = [
        f'"{name}":{msgspec.json.encode(compute_lesson(name)).decode()}' for name in sorted(SLOW)
    ]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
