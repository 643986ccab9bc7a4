"""The document of a job, or the refusal of a job that has none."""

from collections.abc import Callable
from typing import Any

from engine.game import GameError, IllegalMove, MalformedMove, OptionError, UnknownGame
from engine.study_pool.messages import (
    MAX_ERROR,
    BoardsJob,
    ChoicesJob,
    LessonJob,
    LessonListJob,
    Limits,
    QuizJob,
    RefusalKind,
    Refused,
    StudyJob,
)
from engine.study_pool.stored_lessons import lesson_json, quiz_json
from engine.teach.errors import NotPossible, TooLarge, TreeError, UnknownName
from engine.teach.lessons.document import list_lessons
from engine.teach.requests.boards import boards_of
from engine.teach.requests.choices import list_choices

#: The kind of refusal for each error of a request; the first match counts.
KINDS: tuple[tuple[type[BaseException], RefusalKind], ...] = (
    (MemoryError, "memory"),
    (TreeError, "text"),
    (UnknownName, "name"),
    (NotPossible, "impossible"),
    (TooLarge, "too_large"),
    (UnknownGame, "game"),
    (OptionError, "option"),
    (IllegalMove, "move"),
    (MalformedMove, "move"),
    (GameError, "position"),
)


def make_document(job: StudyJob, limits: Limits) -> Any:
    """Returns the document of a job other than a trace, as JSON values.

    Raises TeachError or GameError.
    """
    makers: dict[type, Callable[[Any], Any]] = {
        LessonListJob: lambda _: list_lessons(),
        LessonJob: lambda lesson: lesson_json(lesson.name),
        QuizJob: lambda quiz: quiz_json(quiz.name),
        ChoicesJob: lambda _: list_choices(limits.max_nodes, limits.seconds),
        BoardsJob: lambda boards: boards_of(boards.request),
    }
    return makers[type(job)](job)


def make_refusal(number: int, error: BaseException) -> Refused:
    """Returns the refusal that reports an error of a job."""
    fault: RefusalKind = "fault"
    kind = next((kind for type_, kind in KINDS if isinstance(error, type_)), fault)
    message = str(error) if kind != "fault" else f"{type(error).__name__}: {error}"
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    return Refused(number, kind, message[:MAX_ERROR], line, column)
