"""The HTTP API for lessons: the list, and the texts, the quiz and the traces of a lesson.

And the printed listings, which run on the trees of their page and on a reader's own.
"""

from typing import Annotated

from aiohttp import web
from msgspec import Meta, Struct

from engine.study_pool.messages import (
    LessonJob,
    LessonListJob,
    LessonTraceJob,
    ListingsJob,
    QuizJob,
)
from server.ports import Ports
from server.web.bodies import read_body
from server.web.studies import NDJSON, StudyAnswers

#: Longest body of a request for the listings, in bytes: a tree of 200 nodes needs much less.
LISTINGS_BODY_BYTES = 16_384
#: Maximum length of a lesson's name, in characters.
MAX_NAME = 64


class ListingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A reader's tree as text, on which the listings run."""

    tree: Annotated[str, Meta(max_length=LISTINGS_BODY_BYTES)]


class Lessons:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports, studies: StudyAnswers) -> None:
        self._ports = ports
        self._studies = studies

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/lessons", self.lessons, allow_head=False),
            web.get("/api/listings", self.listings, allow_head=False),
            web.post("/api/listings", self.own_listings),
            web.get("/api/lessons/{name}", self.lesson, allow_head=False),
            web.get("/api/lessons/{name}/quiz", self.quiz, allow_head=False),
            web.get(r"/api/lessons/{name}/{run:\d{1,3}}", self.trace, allow_head=False),
        ]

    async def lessons(self, request: web.Request) -> web.StreamResponse:
        """Lists the lessons by topic, in the recommended order."""
        return await self._studies.answer(request, LessonListJob())

    async def listings(self, request: web.Request) -> web.StreamResponse:
        """Answers with the printed listings, their faults and their results."""
        return await self._studies.answer(request, ListingsJob())

    async def own_listings(self, request: web.Request) -> web.StreamResponse:
        """Answers with the results of the listings on a reader's tree."""
        body = await read_body(
            request, ListingsBody, self._ports.settings.silence_s, "a tree as text in JSON"
        )
        return await self._studies.answer(request, ListingsJob(body.tree))

    async def lesson(self, request: web.Request) -> web.StreamResponse:
        """Answers with a lesson: its texts, and the requests for its searches."""
        return await self._studies.answer(request, LessonJob(_name(request)))

    async def quiz(self, request: web.Request) -> web.StreamResponse:
        """Answers with a lesson's quiz: questions, hints, answers, reasons, and the exercise."""
        return await self._studies.answer(request, QuizJob(_name(request)))

    async def trace(self, request: web.Request) -> web.StreamResponse:
        """Answers with the trace of a lesson's search, as `POST /api/trace` does."""
        run = int(request.match_info["run"])
        return await self._studies.answer(request, LessonTraceJob(_name(request), run), NDJSON)


def _name(request: web.Request) -> str:
    return request.match_info["name"][:MAX_NAME]
