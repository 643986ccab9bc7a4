"""Writes the files that are made from the lessons.

    python -m engine.teach.lessons.generated client/web/pages/learn/pictures

writes the small picture of each lesson into that folder, and beside this file the documents of the
lessons that are stored. Tests compare both with the searches.
"""

import sys
from pathlib import Path

import msgspec

from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.document import (
    STORED_FILE,
    StoredLesson,
    lesson_document,
    quiz_document,
)
from engine.teach.output.thumbnail import draw_thumbnail


def lesson_picture(name: str) -> str:
    """Returns the picture of a lesson: its first search in which something is skipped.

    A lesson without such a search, and an exercise, show their first one.
    """
    traces = lesson_traces(name)
    is_exercise = bool(load_lesson(name).solution)
    cut = (trace for trace in traces if trace.skipped.parent and not is_exercise)
    return draw_thumbnail(next(cut, traces[0]))


def compute_lesson(name: str) -> StoredLesson:
    """Runs the searches of a lesson and returns its documents; raises UnknownName."""
    return StoredLesson(
        msgspec.Raw(msgspec.json.encode(lesson_document(name))),
        msgspec.Raw(msgspec.json.encode(quiz_document(name))),
    )


def stored_file() -> str:
    """Returns the text of the file of stored documents, with one lesson per line."""
    lines = [
        f'"{name}":{msgspec.json.encode(compute_lesson(name)).decode()}'
        for name in sorted(LESSONS)
        if load_lesson(name).is_stored
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(folder: Path) -> None:
    """Writes NAME.svg for each lesson into a folder, and the file of stored documents."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LESSONS:
        (folder / f"{name}.svg").write_text(lesson_picture(name), "utf-8")
    Path(__file__).with_name(STORED_FILE).write_text(stored_file(), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
