"""The HTTP API that exports matches as files: one match, or the matches of the list."""

import gzip
import re
import unicodedata
from collections import Counter
from functools import partial
from http import HTTPStatus
from urllib.parse import quote

import msgspec
import structlog
from aiohttp import web

from engine.dispatch.dispatcher import QueueFull
from engine.formats.pgn import moment
from engine.formats.record import GameRecord
from engine.formats.registry import FORMATS, Format, GameText, formats_of
from engine.study_pool.errors import StudyFailed, StudyUnavailable
from engine.study_pool.messages import FormatJob, Refused
from server.codes import Code
from server.exports import (
    Exported,
    Pace,
    Slice,
    SliceText,
    read_match,
    with_thoughts,
    write_slice,
)
from server.ids import MatchId
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import ExporterDied, ExporterHung, ExporterUnavailable, ExportFault, Ports
from server.store.base import StoredMatch, StoreUnavailable
from server.web.answers import (
    ORIGIN,
    ApiError,
    public_origin,
    query_number,
    too_many_requests,
)
from server.web.match_list import parse_filter
from server.web.thoughts import Thoughts

log = structlog.get_logger()

#: Maximum number of matches of one answer, far beyond any server's.
MAX_MATCHES = 10**9
#: Answers of lists that run at once: of one address and in all.
ADDRESS_LISTS, ALL_LISTS = 2, 8
#: The share of the event loop that all exports together have at most, also of an idle one: nobody
#: can tell whether a command is about to come.
LOOP_SHARE = 0.5
#: Bytes that are written to a connection at once.
WRITE_BYTES = 64 * 1024
#: Seconds before an address may try again.
RETRY_S = 10
#: Any page may read an export: it needs no cookie, and has what anybody may see.
CORS = {"Access-Control-Allow-Origin": "*", "Cache-Control": "no-cache"}

_decode_text = msgspec.json.Decoder(GameText).decode


class Exports:
    """The handlers, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._thoughts = Thoughts(ports)
        settings = ports.settings
        self._rate = RateLimit(
            "exports", settings.limit_replays_burst, settings.limit_replays_per_minute
        )
        self._pace = Pace(LOOP_SHARE)
        #: The lists that are being sent, by address.
        self._lists: Counter[str] = Counter()

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/matches/{match}/export", self.export_match),
            web.get("/api/export", self.export_list),
        ]

    async def export_match(self, request: web.Request) -> web.Response:
        """Answers with a match as a file in the format `?format=`: `jsonl`, `pgn`, for some games
        `pdn`, `sgf`, `ggf` or `txt`; without it in the usual one of its game.

        A running match has the moves so far. JSON lines have the AI's searches, and PGN of chess
        their values, where the sender may see them. Pages of other origins may read the answer.
        """
        match_id = MatchId(request.match_info["match"][:64])
        match = await self._ports.store.projections.match(match_id)
        if match is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        chosen = _format_of(request, match.game)
        self._charge(request)
        withheld = await self._thoughts.reason_to_withhold(request, match)
        site = f"{public_origin(request, self._ports.settings.url)}/match/{match.match}"
        exported = await read_match(
            self._ports.store, match, has_thoughts=withheld is None, site=site,
            pace=self._pace,
        )  # fmt: skip
        text = await self._write(request, chosen, exported)
        if text.refused:
            raise ApiError(HTTPStatus.CONFLICT, Code.EXPORT_REFUSED, text.refused)
        name = file_name(match, exported.record, chosen)
        return web.Response(text=text.text, headers=_headers(chosen, name))

    async def export_list(self, request: web.Request) -> web.StreamResponse:
        """Answers with finished public matches as one file in the format `?format=`, newest first:
        those of the [list](#http) with the same filters, at most `?max=` of them.

        Without a format it is `jsonl`. A format of some games needs the filter `?game=`. A match
        that the format cannot write, such as one whose rules have changed since, is left out; in
        PGN and PDN a line after a percent sign says why. The answer grows as it is read. Pages of
        other origins may read it.
        """
        wanted = parse_filter(request)
        maximum = query_number(request, "max", MAX_MATCHES, 1, MAX_MATCHES)
        chosen = _format_of(request, wanted.game)
        address = request[ORIGIN].address
        self._charge(request)
        if self._lists[address] >= ADDRESS_LISTS or self._lists.total() >= ALL_LISTS:
            raise ApiError(
                HTTPStatus.TOO_MANY_REQUESTS, Code.RATE_EXCEEDED,
                "too many exports are running; wait for the end of one", RETRY_S,
            )  # fmt: skip
        name = f"plyroom-{wanted.game or 'matches'}.{chosen.suffix}"
        response = web.StreamResponse(headers=_headers(chosen, name))
        if request.method == "HEAD":  # the matches would be read for nobody
            await response.prepare(request)
            return response
        self._lists[address] += 1
        try:
            site = f"{public_origin(request, self._ports.settings.url)}/match/"
            rest: Slice | None = Slice(chosen.name, wanted, maximum, site)
            while rest is not None:
                if request.transport is None:
                    raise ConnectionError("the client has left")
                part = await self._write_slice(rest, address)
                for match_id, reason in part.refused:
                    log.info("match not exported", match=match_id, reason=reason)
                if not response.prepared:
                    await response.prepare(request)
                for start in range(0, len(part.text), WRITE_BYTES):
                    await response.write(part.text[start : start + WRITE_BYTES])
                rest = part.rest
            await response.write_eof()
        except Exception as error:
            if not response.prepared:
                raise
            # Without the last chunk, the client sees that the file is not whole.
            if request.transport is not None:
                is_known = isinstance(error, ApiError | StoreUnavailable)
                log.warning("export broke off", error=str(error), exc_info=not is_known)
                request.transport.abort()
            raise ConnectionError("the export broke off") from error
        finally:
            self._lists[address] -= 1
            self._lists = +self._lists  # drops addresses without a list
        return response

    async def _write_slice(self, part: Slice, address: str) -> SliceText:
        """The first matches of a slice, from the process for exports; made here if there is none.

        That process reads the store too: rows that threads of this one read would take the
        interpreter's lock from the loop, up to a switch interval each time that it wakes.
        """
        ports = self._ports
        try:
            try:
                return await ports.exporter.write_slice(part, address)
            except ExporterDied:  # somebody has killed the process
                return await ports.exporter.write_slice(part, address)
        except ExporterUnavailable:
            return await write_slice(ports.store, part, ports.find_game, pace=self._pace)
        except (QueueFull, ExporterDied, ExporterHung) as error:
            log.warning("export failed", error=str(error) or type(error).__name__)
            raise _busy() from error
        except ExportFault as fault:
            log.error("export failed", exception=str(fault))
            raise ApiError(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                Code.SERVER_FAULT,
                "the server failed on this request; its log says why",
            ) from fault

    async def _write(self, request: web.Request, chosen: Format, exported: Exported) -> GameText:
        """The text of a match, made in a study process; here if the server has none."""
        job = FormatJob(chosen.name, exported.record, exported.thoughts)
        parts: list[bytes] = []
        run = partial(
            self._ports.studies.run,
            job, request[ORIGIN].address, lambda part: parts.append(part.body),
        )  # fmt: skip
        try:
            try:
                reply = await run()
            except StudyFailed:  # somebody has killed the process
                parts.clear()
                reply = await run()
        except StudyUnavailable:
            return chosen.write(with_thoughts(exported), self._ports.find_game)
        except (QueueFull, StudyFailed) as error:
            raise _busy() from error
        if isinstance(reply, Refused):
            raise ApiError(HTTPStatus.CONFLICT, Code.EXPORT_REFUSED, reply.message)
        return _decode_text(gzip.decompress(b"".join(parts)))

    def _charge(self, request: web.Request) -> None:
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit


def _format_of(request: web.Request, game: str | None) -> Format:
    """The format that a request names. Raises ApiError unless it is one of the game."""
    name = request.query.get("format") or ("jsonl" if game is None else formats_of(game)[0].name)
    chosen = FORMATS.get(name)
    if chosen is None:
        raise _refused(f"format is one of {', '.join(FORMATS)}")
    if chosen.games is not None and (game is None or not chosen.is_for(game)):
        names = " or ".join(f"game={each}" for each in chosen.games)
        raise _refused(f"the format {name} is for some games only: {names}")
    return chosen


def _busy() -> ApiError:
    return ApiError(
        HTTPStatus.SERVICE_UNAVAILABLE, Code.STUDY_BUSY, "the server is busy: try again", RETRY_S
    )


def _refused(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, message)


def file_name(match: StoredMatch, record: GameRecord, chosen: Format) -> str:
    """The name of a match's file: game, players and day, as in chess-Ada-Ben-2026-11-28.pgn."""
    day = moment(match.started_ms).date().isoformat()
    names = [re.sub(r"[\W_]+", "-", seat.name).strip("-")[:24] for seat in record.seats]
    parts = [match.game, *names, day]
    return f"{'-'.join(filter(None, parts))}.{chosen.suffix}"


def _headers(chosen: Format, name: str) -> dict[str, str]:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return {
        **CORS,
        "Content-Type": f"{chosen.media_type}; charset=utf-8",
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}",
    }
