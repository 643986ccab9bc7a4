"""The document of a job, or the refusal of a job that has none."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import structs

from engine.formats.registry import FORMATS, GameText
from engine.game import (
    GameError,
    IllegalMove,
    MalformedMove,
    OptionError,
    Position,
    UnknownGame,
)
from engine.rules.registry import load_game
from engine.study_pool.messages import (
    MAX_ERROR,
    BoardsJob,
    ChoicesJob,
    FormatJob,
    LessonJob,
    LessonListJob,
    Limits,
    ListingsJob,
    MachineJob,
    QuizJob,
    RefusalKind,
    Refused,
    StudyJob,
)
from engine.teach.errors import NotPossible, TooLarge, TreeError, UnknownName
from engine.teach.lessons.document import lesson_json, list_lessons, quiz_json
from engine.teach.lessons.listings import listings_document
from engine.teach.output.machine import Machine, machine_of
from engine.teach.requests.choices import list_choices
from engine.teach.requests.request import BoardsRequest, TraceRequest
from engine.teach.requests.task import task_of

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
        ListingsJob: lambda listings: listings_document(listings.tree),
        MachineJob: lambda machine: machine_document(machine.request, limits.max_nodes),
        BoardsJob: lambda boards: boards_of(boards.request),
        FormatJob: text_of,
    }
    return makers[type(job)](job)


def text_of(job: FormatJob) -> GameText:
    """Returns a game in a format."""
    thoughts = {ply: msgspec.Raw(body) for ply, body in job.thoughts.items()}
    record = structs.replace(job.record, thoughts=thoughts)
    return FORMATS[job.format].write(record, load_game)


def machine_document(request: TraceRequest, max_nodes: int) -> Machine:
    """Returns the laid out states of a search's subject.

    Raises TeachError and GameError.
    """
    task = task_of(request, max_nodes)
    return machine_of(task.root, task.graph, task.plan.depth)


def boards_of(request: BoardsRequest) -> dict[str, Any]:
    """Returns the views of the positions after each line, with the legal moves if asked for.

    Raises GameError for what is no position, option or legal move.
    """
    game = load_game(request.game)
    start = (
        game.start(request.options)
        if request.position is None
        else game.position(request.position, request.options)
    )
    known: dict[tuple[str, ...], Position] = {(): start}
    positions = [position_after(line, known) for line in request.lines]
    found: dict[str, Any] = {"positions": [position.view() for position in positions]}
    if request.legal:
        found["moves"] = [position.move_views() for position in positions]
        found["board"] = game.board(start.options)
        found["texts"] = [position.text() for position in positions]
    return found


def position_after(line: tuple[str, ...], known: dict[tuple[str, ...], Position]) -> Position:
    """Returns the position after a line; adds each position on the way to the known ones."""
    for count in range(1, len(line) + 1):
        if line[:count] not in known:
            before = known[line[: count - 1]]
            known[line[:count]] = before.play(before.parse_move(line[count - 1]))
    return known[line]


def make_refusal(number: int, error: BaseException) -> Refused:
    """Returns the refusal that reports an error of a job."""
    fault: RefusalKind = "fault"
    kind = next((kind for type_, kind in KINDS if isinstance(error, type_)), fault)
    message = str(error) if kind != "fault" else f"{type(error).__name__}: {error}"
    line, column = getattr(error, "line", None), getattr(error, "column", None)
    return Refused(number, kind, message[:MAX_ERROR], line, column)
