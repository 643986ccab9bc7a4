"""Lessons as data for web pages: the list, and each lesson with its texts, searches and quiz.

The documents of lessons whose searches take long are stored beside this file;
`engine.reference.lessons` writes them.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from engine.teach.lessons.catalogue import (
    LESSONS,
    TOPICS,
    lesson_traces,
    load_lesson,
    present_name,
)
from engine.teach.lessons.lesson import Run, fill_texts
from engine.teach.lessons.questions import lesson_quiz
from engine.teach.requests.request import TraceRequest
from engine.teach.states.graph import Graph
from engine.teach.states.graph_text import format_graph
from engine.teach.states.tree import Tree
from engine.teach.states.tree_text import format_tree
from engine.teach.trace import Trace, finite

#: The name of the file of stored documents, beside this one.
STORED_FILE = "stored.json"


class StoredLesson(msgspec.Struct, frozen=True):
    """The documents of a lesson and of its quiz, as JSON."""

    lesson: msgspec.Raw
    quiz: msgspec.Raw


@cache
def stored_lessons() -> dict[str, StoredLesson]:
    """Returns the stored lessons by name."""
    content = (files("engine.teach.lessons") / STORED_FILE).read_bytes()
    return msgspec.json.decode(content, type=dict[str, StoredLesson])


def list_lessons() -> dict[str, Any]:
    """Returns the lessons by topic, each with its summary and the nodes of its largest search."""
    return {
        "topics": [
            {"title": title, "lessons": [_entry(name, _stored_nodes(name)) for name in names]}
            for title, names in TOPICS.items()
        ]
    }


def _entry(name: str, nodes: int | None) -> dict[str, Any]:
    """The entry of a lesson in the list. Without `nodes`, its searches are run to count them."""
    lesson = load_lesson(name)
    if nodes is None:
        nodes = max(trace.counts.nodes for trace in lesson_traces(name))
    return {
        "name": name,
        "title": lesson.title,
        "summary": lesson.summary,
        "is_exercise": bool(lesson.solution),
        "nodes": nodes,
    }


class _Counted(msgspec.Struct):
    """The part of a lesson's document that has the nodes of its largest search."""

    nodes: int


@cache
def _stored_nodes(name: str) -> int | None:
    """The nodes of a stored lesson's largest search; None for a lesson that is not stored."""
    stored = stored_lessons().get(name)
    return None if stored is None else msgspec.json.decode(stored.lesson, type=_Counted).nodes


def lesson_json(name: str) -> object:
    """Returns the document of a lesson, to be encoded as JSON; raises UnknownName."""
    stored = stored_lessons().get(name)
    return lesson_document(name) if stored is None else stored.lesson


def quiz_json(name: str) -> object:
    """Returns the document of a lesson's quiz, to be encoded as JSON; raises UnknownName."""
    stored = stored_lessons().get(name)
    return quiz_document(name) if stored is None else stored.quiz


def quiz_document(name: str) -> object:
    """Returns the quiz of a lesson as JSON values; raises UnknownName."""
    return finite(msgspec.to_builtins(lesson_quiz(name)))


def lesson_document(name: str, traces: Sequence[Trace] | None = None) -> dict[str, Any]:
    """Returns a lesson with its texts filled in; raises UnknownName.

    Without the traces of its runs it runs their searches.
    """
    name, lesson = present_name(name), load_lesson(name)
    traces = traces or lesson_traces(name)
    texts = fill_texts(lesson, traces)
    place = LESSONS.index(name)
    return {
        **_entry(name, max(trace.counts.nodes for trace in traces)),
        "topic": next(title for title, names in TOPICS.items() if name in names),
        "page": texts.page,
        "look_for": texts.look_for,
        "solution": texts.solution,
        "previous": _name_at(place - 1),
        "next": _name_at(place + 1),
        "compares": lesson.compares,
        "runs": [
            {
                "caption": run.caption,
                "name": run.name,
                "log": run.log,
                "request": request_of(run),
            }
            for run in lesson.runs
        ],
    }


def _name_at(place: int) -> dict[str, str] | None:
    """The name and the title of the lesson at an index of the course; None outside the course."""
    if not 0 <= place < len(LESSONS):
        return None
    return {"name": LESSONS[place], "title": load_lesson(LESSONS[place]).title}


def request_of(run: Run) -> TraceRequest:
    """Returns the request for the search of a lesson's run."""
    plan = run.plan
    return TraceRequest(
        **_subject(run),
        algorithm=plan.algorithm,
        form=plan.form,
        depth=plan.depth,
        order=plan.order,
        evaluator=plan.evaluator,
        cut_off=plan.cut_off,
        player=plan.player,
        seed=plan.seed,
        fresh=plan.fresh,
    )


def _subject(run: Run) -> dict[str, Any]:
    """The fields of a request for a run's subject."""
    subject = run.subject
    if isinstance(subject, Tree):
        return {"tree": format_tree(subject)}
    if isinstance(subject, Graph):
        return {"graph": format_graph(subject)}
    return {
        "game": subject.game,
        "options": dict(subject.options),
        "position": subject.position,
    }
