"""The HTTP API for analyses of finished matches: request, read and follow one."""

import asyncio
from http import HTTPStatus

import msgspec
from aiohttp import web

from server.analysis.feed import AnalysisFeed
from server.analysis.positions import CannotAnalyse
from server.analysis.report import AnalysisReport, Reports
from server.analysis.requests import AnalysisLimit, request_analysis
from server.codes import Code
from server.ids import IdentityId, MatchId
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.store.base import StoredMatch
from server.web.answers import ORIGIN, ApiError, json_answer, too_many_requests
from server.web.senders import guest_of

#: The content type of a followed analysis: one report per line.
NDJSON = "application/x-ndjson"
#: Time limit for following an analysis in one request, in seconds.
FOLLOW_S = 60.0
#: Time between two checks for changes whose message was lost, in seconds.
POLL_S = 2.0
#: The line that keeps a connection alive through proxies while nothing changes.
KEEP_ALIVE = b"\n"
#: The states of an unfinished analysis.
UNFINISHED = ("queued", "running")

_encode = msgspec.json.Encoder().encode


class Analyses:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports, feed: AnalysisFeed) -> None:
        self._ports = ports
        self._feed = feed
        self._reports = Reports(ports)
        settings = ports.settings
        self._rate = RateLimit(
            "pages of analyses", settings.limit_replays_burst, settings.limit_replays_per_minute
        )

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/matches/{match}/analysis", self.analysis),
            web.post("/api/matches/{match}/analysis", self.request),
        ]

    async def analysis(self, request: web.Request) -> web.StreamResponse:
        """Answers with the [analysis](#analyses) of a match, as far as it is done.

        With `?follow` the answer is a stream of JSON lines: the analysis, at each change its new
        entries, and at the end the whole analysis again. An empty line means that nothing has
        changed. The stream ends after a minute, and the client sends the request again.
        """
        match = await self._find(request)
        self._take(request)
        if "follow" not in request.query:
            return json_answer(await self._reports.of(match))
        return await self._follow(request, match)

    async def request(self, request: web.Request) -> web.Response:
        """Requests the analysis of a finished match, and answers with it.

        All readers share one analysis; only a failed one can be requested again. A request without
        a guest gets a 401, one beyond a limit of the guest a 429, and one for a match that cannot
        be analysed a 409; `message` says why.
        """
        match = await self._find(request)
        identity = await self._identity(request)
        self._take(request)
        try:
            is_new = await request_analysis(self._ports, match, identity)
        except CannotAnalyse as error:
            raise ApiError(HTTPStatus.CONFLICT, Code.ANALYSIS_REFUSED, str(error)) from error
        except AnalysisLimit as limit:
            raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, limit.code, limit.message) from limit
        if is_new:
            self._feed.publish(match.match)
        report = await self._reports.of(match)
        return json_answer(report, HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK)

    async def _follow(self, request: web.Request, match: StoredMatch) -> web.StreamResponse:
        """Sends the analysis as it grows, until it ends, FOLLOW_S is over or the client leaves."""
        response = web.StreamResponse(
            headers={
                "Content-Type": NDJSON, "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
            }
        )  # fmt: skip
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        end_s = loop.time() + FOLLOW_S
        with self._feed.watch(match.match) as changed:
            report = last = await self._reports.of(match)
            await response.write(_line(report))
            sent = {entry.ply for entry in report.moves}
            while report.state in UNFINISHED and loop.time() < end_s:
                await _wait(changed)
                if request.transport is None:
                    break
                changed.clear()
                report = await self._reports.of(match, tuple(sent))
                is_same = report == last or (not report.moves and _same_state(report, last))
                await response.write(KEEP_ALIVE if is_same else _line(report))
                sent |= {entry.ply for entry in report.moves}
                last = report
        await response.write_eof()
        return response

    async def _find(self, request: web.Request) -> StoredMatch:
        match_id = MatchId(request.match_info["match"][:64])
        match = await self._ports.store.projections.match(match_id)
        if match is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        return match

    async def _identity(self, request: web.Request) -> IdentityId:
        """The guest who sent a request. Raises ApiError and StoreError."""
        guest = await guest_of(request, self._ports)
        if guest is None:
            raise ApiError(
                HTTPStatus.UNAUTHORIZED, Code.TOKEN_UNKNOWN, "only a guest may request an analysis"
            )
        return guest.id

    def _take(self, request: web.Request) -> None:
        """Counts a request of an address. Raises ApiError beyond its limit."""
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit


def _same_state(report: AnalysisReport, last: AnalysisReport) -> bool:
    return (report.state, report.done_plies, report.ahead, report.engine) == (
        last.state, last.done_plies, last.ahead, last.engine,
    )  # fmt: skip


def _line(report: AnalysisReport) -> bytes:
    return _encode(report) + b"\n"


async def _wait(changed: asyncio.Event) -> None:
    """Waits for a change, at most POLL_S."""
    try:
        async with asyncio.timeout(POLL_S):
            await changed.wait()
    except TimeoutError:
        pass
