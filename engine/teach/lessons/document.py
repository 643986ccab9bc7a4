"""Lessons as data for web pages: the list, and each lesson with its texts and searches."""

from collections.abc import Sequence
from typing import Any

from engine.teach.lessons.catalogue import LESSONS, NODES, SUMMARIES, TOPICS, load_lesson
from engine.teach.lessons.lesson import Lesson, Run, fill_texts, perform
from engine.teach.requests.request import TraceRequest
from engine.teach.states.graph import Graph
from engine.teach.states.graph_text import format_graph
from engine.teach.states.tree import Tree
from engine.teach.states.tree_text import format_tree
from engine.teach.trace import Trace


def list_lessons() -> dict[str, Any]:
    """Returns the lessons by topic, each with its summary and the nodes of its largest search."""
    return {
        "topics": [
            {"title": title, "lessons": [_entry(name, load_lesson(name)) for name in names]}
            for title, names in TOPICS.items()
        ]
    }


def _entry(name: str, lesson: Lesson) -> dict[str, Any]:
    return {
        "name": name,
        "title": lesson.title,
        "summary": SUMMARIES[name],
        "is_exercise": bool(lesson.solution),
        "nodes": NODES[name],
    }


def lesson_document(name: str, traces: Sequence[Trace] | None = None) -> dict[str, Any]:
    """Returns a lesson with its texts filled in; raises UnknownName.

    Without the traces of its runs it runs their searches.
    """
    lesson = load_lesson(name)
    texts = fill_texts(lesson, traces or [perform(run) for run in lesson.runs])
    place = LESSONS.index(name)
    return {
        **_entry(name, lesson),
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
