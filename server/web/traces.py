"""The HTTP API of the glass box: traces of searches, the boards of their nodes, and the choices."""

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from aiohttp import web
from msgspec import Meta

from engine.study_pool.messages import BoardsJob, ChoicesJob, MachineJob, TraceJob
from engine.teach.requests.request import TEXT_BYTES, BoardsRequest, TraceRequest
from server.codes import Code
from server.ports import Ports
from server.rooms.thinking import search_seed
from server.web.answers import ApiError
from server.web.bodies import read_body
from server.web.matches import Matches
from server.web.studies import NDJSON, StudyAnswers

#: Longest body of a request for a trace without the text of a tree or a graph, in bytes.
REQUEST_BYTES = 8192
#: Longest body of a request for a trace: a text may double its length as JSON.
TRACE_BODY_BYTES = 2 * TEXT_BYTES + REQUEST_BYTES
#: Longest body of a request for boards, in bytes.
BOARDS_BODY_BYTES = 65_536

_decode = msgspec.json.decode


class TraceBody(TraceRequest, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The body of POST /api/trace: a search, whose subject may be a match after `ply` moves."""

    match: Annotated[str, Meta(max_length=64)] | None = None
    ply: Annotated[int, Meta(ge=0, le=100_000)] | None = None


class Traces:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports, studies: StudyAnswers, matches: Matches) -> None:
        self._ports = ports
        self._studies = studies
        self._matches = matches

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/trace/choices", self.choices, allow_head=False),
            web.post("/api/trace", self.trace),
            web.post("/api/trace/boards", self.boards),
            web.post("/api/trace/machine", self.machine),
        ]

    async def choices(self, request: web.Request) -> web.StreamResponse:
        """Answers with the choices for a search, and which of them conflict."""
        return await self._studies.answer(request, ChoicesJob())

    async def trace(self, request: web.Request) -> web.StreamResponse:
        """Answers with the trace of a search, line by line while it runs."""
        body = await read_body(
            request, TraceBody, self._ports.settings.silence_s, "a search as a JSON object"
        )
        if (
            body.tree is None
            and body.graph is None
            and (request.content_length or 0) > REQUEST_BYTES
        ):
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "http.413",
                f"a search of a game has at most {REQUEST_BYTES} bytes",
            )
        if body.match is None:
            job = TraceJob(TraceRequest(**_fields(body)))
        else:
            job = await self._job_of_match(request, body, body.match)
        return await self._studies.answer(request, job, NDJSON)

    async def _job_of_match(self, request: web.Request, body: TraceBody, match_id: str) -> TraceJob:
        """The search of a match's position, by default with the seed of an AI's search there.

        Raises ApiError if the sender may not see it.
        """
        given = (body.game, body.position, body.tree, body.graph)
        if given.count(None) < len(given) or body.moves or body.options:
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                Code.TRACE_IMPOSSIBLE,
                "a match goes without a game, a position, moves, options, a tree and a graph",
            )
        match, moves = await self._matches.find_searchable(request, match_id)
        ply = len(moves) if body.ply is None else body.ply
        if ply > len(moves):
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                Code.MESSAGE_MALFORMED,
                f"ply is a number from 0 to {len(moves)}",
            )
        subject = {
            "game": match.game,
            "options": _decode(match.options),
            "position": match.start,
            "moves": tuple(moves[:ply]),
        }
        fields = {"seed": search_seed(match_id, ply), **_fields(body), **subject}
        return TraceJob(TraceRequest(**fields), is_recorded=True)

    async def machine(self, request: web.Request) -> web.StreamResponse:
        """Answers with the states of a search's subject, laid out as a state machine."""
        body = await read_body(
            request, TraceRequest, self._ports.settings.silence_s, "a search as a JSON object"
        )
        return await self._studies.answer(request, MachineJob(body))

    async def boards(self, request: web.Request) -> web.StreamResponse:
        """Answers with the boards after some lines of moves from a position."""
        body = await read_body(
            request, BoardsRequest, self._ports.settings.silence_s, "lines of moves as JSON"
        )
        return await self._studies.answer(request, BoardsJob(body))


def _fields(body: TraceBody) -> dict[str, Any]:
    """The fields of a request that are given, except those of a match."""
    fields = {name: getattr(body, name) for name in TraceRequest.__struct_fields__}
    return {name: value for name, value in fields.items() if value is not None or name == "depth"}
