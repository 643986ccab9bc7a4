"""Writes the small pictures of the lessons: python -m engine.teach.lessons.pictures FOLDER."""

import sys
from pathlib import Path

from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.output.thumbnail import draw_thumbnail


def lesson_picture(name: str) -> str:
    """Returns the picture of a lesson: its first search in which something is skipped.

    A lesson without such a search, and an exercise, show their first one.
    """
    traces = lesson_traces(name)
    is_exercise = bool(load_lesson(name).solution)
    cut = (trace for trace in traces if trace.skipped.parent and not is_exercise)
    return draw_thumbnail(next(cut, traces[0]))


def main(folder: Path) -> None:
    """Writes NAME.svg for each lesson."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LESSONS:
        (folder / f"{name}.svg").write_text(lesson_picture(name), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
