"""Streams the documents of the study processes as answers to HTTP requests."""

import asyncio
import hashlib
import time
import zlib
from collections.abc import Callable
from functools import cache
from http import HTTPStatus
from pathlib import Path

import structlog
from aiohttp import web

from engine.dispatch.dispatcher import QueueFull
from engine.rules.registry import game_ids
from engine.study_pool import messages as study_messages
from engine.study_pool.errors import StudyFailed, StudyUnavailable
from engine.study_pool.messages import (
    LESSON_JOBS,
    BoardsJob,
    Ended,
    ListingsJob,
    MachineJob,
    Part,
    RefusalKind,
    Refused,
    StudyJob,
    TraceJob,
    encode,
)
from engine.teach.requests import request as teach_request
from server.codes import Code
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.web.answers import ORIGIN, ApiError, too_many_requests
from server.web.documents import Document, Documents, RefusedDocument, error_line
from server.web.encodings import accepts_gzip

log = structlog.get_logger()

#: The content type of a trace: one JSON value per line.
NDJSON = "application/x-ndjson"
#: The content type of any other document.
JSON = "application/json"
#: Time after which a client should repeat a request that found the queue full, in seconds.
RETRY_S = 5
#: The code of each kind of refusal.
CODES: dict[RefusalKind, Code] = {
    "game": Code.GAME_UNKNOWN,
    "option": Code.OPTION_UNKNOWN,
    "position": Code.POSITION_REFUSED,
    "move": Code.MOVE_ILLEGAL,
    "text": Code.TRACE_TEXT,
    "name": Code.TRACE_UNKNOWN,
    "impossible": Code.TRACE_IMPOSSIBLE,
    "too_large": Code.TRACE_TOO_LARGE,
    "fault": Code.GAME_FAULT,
    "memory": Code.TRACE_TOO_LARGE,
}


class StudyAnswers:
    """Runs the jobs of requests and answers with their documents."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._documents = Documents()
        settings = ports.settings
        self._rate = RateLimit(
            "searches", settings.limit_traces_burst, settings.limit_traces_per_minute
        )

    async def stop(self, _: web.Application) -> None:
        """Ends all jobs."""
        await self._documents.stop()

    async def answer(
        self, request: web.Request, job: StudyJob, content_type: str = JSON
    ) -> web.StreamResponse:
        """Answers with the document of a job as it grows. Raises ApiError."""
        key = self._key(job)
        tag = f'W/"{key}"'
        headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding", "ETag": tag}
        if request.method == "GET" and tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        address = request[ORIGIN].address
        if key in self._documents:
            self._ports.metrics.study_shared += 1
        else:
            self._charge(job, address)
        document = self._documents.open(
            key,
            lambda on_part: self._make(job, address, on_part),
            lambda error: error_line(*code_and_message(error)),
        )
        try:
            return await self._send(request, document, {**headers, "Content-Type": content_type})
        except RefusedDocument as error:
            raise self._refusal(job, error.refused) from error
        except (QueueFull, StudyUnavailable, StudyFailed) as error:
            raise _unavailable(error) from error
        finally:
            self._documents.close(key, document)

    async def _make(
        self, job: StudyJob, address: str, on_part: Callable[[Part], None]
    ) -> Ended | Refused:
        """Runs a job and counts its outcome."""
        metrics, begun_s = self._ports.metrics, time.monotonic()
        has_part = False

        def take(part: Part) -> None:
            nonlocal has_part
            if not has_part:
                metrics.study_start_s.observe(time.monotonic() - begun_s)
            has_part = True
            on_part(part)

        try:
            reply = await self._ports.studies.run(job, address, take)
        except StudyFailed:
            metrics.study_failures += 1
            raise
        except asyncio.CancelledError:
            metrics.study_stopped += 1
            raise
        metrics.study_documents += isinstance(reply, Ended)
        metrics.study_stopped += isinstance(reply, Ended) and not reply.is_complete
        metrics.study_failures += isinstance(reply, Refused) and reply.kind == "memory"
        return reply

    async def _send(
        self, request: web.Request, document: Document, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Sends the parts of a document; raises its error if it has none."""
        response = web.StreamResponse(headers=headers)
        is_plain = not accepts_gzip(request.headers.get("Accept-Encoding", ""))
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 16) if is_plain else None
        if inflate is None:
            response.headers["Content-Encoding"] = "gzip"
        async for part in document.read(lambda: request.transport is None):
            if not response.prepared:
                await response.prepare(request)
            await response.write(part if inflate is None else inflate.decompress(part))
        await response.write_eof()
        return response

    def _charge(self, job: StudyJob, address: str) -> None:
        """Takes a token of the address for a job that costs time. Raises ApiError."""
        is_own = isinstance(job, ListingsJob) and job.tree is not None
        if not is_own and not isinstance(job, TraceJob | BoardsJob | MachineJob):
            return
        try:
            self._rate.take(address, self._ports.uptime_ms() / 1000)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit

    def _key(self, job: StudyJob) -> str:
        """The key of a job's document: a hash of the job, the rules, the limits and the program."""
        match job:
            case TraceJob(request) | BoardsJob(request) | MachineJob(request):
                game = request.game
                rules = "" if game is None else self._digest(game)
            case _:
                rules = ",".join(map(self._digest, game_ids()))
        limits = (self._ports.settings.study_s, self._ports.settings.study_nodes)
        content = encode((job, program_digest(), rules, limits))
        return hashlib.blake2b(content, digest_size=15).hexdigest()

    def _digest(self, game_id: str) -> str:
        """The rules digest of a game; "" for one that is missing or broken."""
        try:
            return self._ports.find_game(game_id).digest
        except Exception:  # a plug-in's file may raise anything while it is imported
            return ""

    def _refusal(self, job: StudyJob, refused: Refused) -> ApiError:
        """The answer to a request that a study process refuses."""
        details = {
            name: value
            for name, value in (("line", refused.line), ("column", refused.column))
            if value is not None
        }
        if isinstance(job, LESSON_JOBS) and refused.kind == "name":
            return ApiError(HTTPStatus.NOT_FOUND, Code.LESSON_UNKNOWN, refused.message)
        if refused.kind == "fault":
            log.error("game fault", job=type(job).__name__, fault=refused.message)
            message = "the rules of this game failed on this position"
            return ApiError(HTTPStatus.CONFLICT, Code.GAME_FAULT, message)
        code, message = code_and_message(RefusedDocument(refused))
        return ApiError(HTTPStatus.BAD_REQUEST, code, message, details=details)


def code_and_message(error: Exception) -> tuple[Code, str]:
    """Returns the code and the message of an error of a document."""
    match error:
        case RefusedDocument(refused=Refused(kind="fault")):
            return Code.GAME_FAULT, "the rules of this game failed"
        case RefusedDocument(refused=Refused(kind="memory")):
            return Code.TRACE_TOO_LARGE, "the search needs too much memory: choose less depth"
        case RefusedDocument(refused=refused):
            return CODES[refused.kind], refused.message
        case QueueFull():
            return Code.STUDY_BUSY, f"too many searches are waiting; try again in {RETRY_S} s"
        case StudyUnavailable():
            return Code.STUDY_OFF, str(error)
        case _:
            return Code.STUDY_FAILED, "the search ended before its result; try again"


def _unavailable(error: Exception) -> ApiError:
    """The answer to a request whose job found no process, or lost it."""
    code, message = code_and_message(error)
    retry_s = None if isinstance(error, StudyUnavailable) else RETRY_S
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, code, message, retry_s)


@cache
def program_digest() -> str:
    """Returns a hash of the teaching search and of stored lessons: they make the documents."""
    digest = hashlib.blake2b(digest_size=8)
    for module in (teach_request, study_messages):
        for path in sorted(Path(str(module.__file__)).parent.rglob("*")):
            if path.suffix in (".json", ".py"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
