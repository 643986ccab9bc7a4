"""The HTTP API for lessons: the list, and the texts, the quiz and the traces of a lesson."""

from aiohttp import web

from engine.study_pool.messages import LessonJob, LessonListJob, LessonTraceJob, QuizJob
from server.web.studies import NDJSON, StudyAnswers

#: Maximum length of a lesson's name, in characters.
MAX_NAME = 64


class Lessons:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, studies: StudyAnswers) -> None:
        self._studies = studies

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/lessons", self.lessons, allow_head=False),
            web.get("/api/lessons/{name}", self.lesson, allow_head=False),
            web.get("/api/lessons/{name}/quiz", self.quiz, allow_head=False),
            web.get(r"/api/lessons/{name}/{run:\d{1,3}}", self.trace, allow_head=False),
        ]

    async def lessons(self, request: web.Request) -> web.StreamResponse:
        """Lists the lessons by topic, in the recommended order."""
        return await self._studies.answer(request, LessonListJob())

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
