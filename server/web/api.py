"""HTTP for what is not live: guests, the games, finished matches, health. JSON in, JSON out."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
import structlog
from aiohttp import web
from msgspec import Meta, Struct

from engine.game import GameFault, Position
from engine.games.registry import game_ids
from server import protocol as wire
from server.accounts.guests import COOKIE, known_guest, new_guest
from server.address import Origin, Proxies, parse_proxies
from server.codec import parse_event_body
from server.codes import Code
from server.listener import WS_PATH, origin_allowed
from server.ports import Ports
from server.room.model import CommandRejected
from server.store.base import StoredMatch, StoreUnavailable

log = structlog.get_logger()

PAGE = 100
"""Most matches or views in one answer."""
COOKIE_AGE_S = 400 * 24 * 3600
BODY_LIMIT_BYTES = 4096
CLOCK_MS = 250
"""A node whose clock differs from the store's by more is not ready: clocks of games would suffer."""
IMMUTABLE = "public, max-age=31536000, immutable"

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ApiError(Exception):
    """A request that cannot be served: the status, the code and what was expected."""

    def __init__(self, status: HTTPStatus, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


ORIGIN = web.RequestKey("origin", Origin)
"""Where a request comes from, for every handler."""


class GuestRequest(Struct, forbid_unknown_fields=True):
    """What a browser may say of itself."""

    name: Annotated[str, Meta(max_length=200)] | None = None


def make_app(api: "Api", routes: list[web.RouteDef]) -> web.Application:
    """The HTTP application with its middleware."""
    middlewares = [_origins(parse_proxies(api.ports.settings.proxies)), _errors(api.ports)]
    app = web.Application(client_max_size=BODY_LIMIT_BYTES, middlewares=middlewares)
    app.router.add_routes(
        [
            web.get("/livez", api.livez),
            web.get("/readyz", api.readyz),
            web.post("/api/guest", api.guest),
            web.get("/api/games", api.games),
            web.get("/api/matches", api.matches),
            web.get("/api/matches/{match}", api.match),
            web.get("/api/matches/{match}/views", api.views),
            *routes,
        ]
    )
    app.on_response_prepare.append(_secure)
    return app


class Api:
    """The handlers, each documented in docs/protocol.md."""

    def __init__(
        self, ports: Ports, is_draining: Callable[[], bool], clock_ahead_ms: Callable[[], int] = lambda: 0
    ) -> None:
        self.ports = ports
        self._is_draining = is_draining
        self._clock_ahead_ms = clock_ahead_ms
        self._games: bytes | None = None

    async def livez(self, request: web.Request) -> web.Response:
        """The process answers."""
        return _json({"status": "ok"})

    async def readyz(self, request: web.Request) -> web.Response:
        """New clients may come: the store answers, its clock agrees with ours, and the server is not about to stop."""
        if self._is_draining():
            return _json({"status": "draining"}, HTTPStatus.SERVICE_UNAVAILABLE)
        try:
            await self.ports.store.check()
        except StoreUnavailable as error:
            return _json({"status": "store unavailable", "error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)
        ahead_ms = self._clock_ahead_ms()
        if abs(ahead_ms) > CLOCK_MS:
            return _json({"status": "clock differs", "ahead_ms": ahead_ms}, HTTPStatus.SERVICE_UNAVAILABLE)
        if not self.ports.bus.flows:  # degraded: other nodes hear of this one's rooms late, by the store
            return _json({"status": "ok", "bus": "away"})
        return _json({"status": "ok"})

    async def guest(self, request: web.Request) -> web.Response:
        """Gives the browser its identity in a cookie that scripts cannot read; a known cookie keeps its identity."""
        wanted = await self._read_guest(request)
        token = request.cookies.get(COOKIE)
        fresh: str | None = None
        try:
            identity = await known_guest(self.ports, token, wanted.name) if token else None
            if identity is None:
                identity, fresh = await new_guest(self.ports, wanted.name)
        except CommandRejected as rejection:
            raise ApiError(HTTPStatus.BAD_REQUEST, rejection.code, rejection.message) from rejection
        response = _json({"identity": identity.id, "name": identity.name})
        if fresh is not None:
            response.set_cookie(
                COOKIE, fresh, max_age=COOKIE_AGE_S, httponly=True, samesite="Strict", secure=request.secure, path="/"
            )
        return response

    async def _read_guest(self, request: web.Request) -> GuestRequest:
        try:
            async with asyncio.timeout(self.ports.settings.silence_s):
                body = await request.read()
            return _decode(body or b"{}", type=GuestRequest)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, web.RequestPayloadError) as error:
            raise ApiError(
                HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, f'{{"name": text}} is expected: {error}'
            ) from error

    async def games(self, request: web.Request) -> web.Response:
        """What can be played here, with options, levels, rules and the board."""
        if self._games is None:
            games = []
            for game_id in game_ids():
                try:
                    games.append(self._game(game_id))
                except Exception:  # a plug-in may raise anything; the other games can be played all the same
                    log.exception("game left out", game=game_id)
            self._games = _encode({"games": games})
        return _raw(self._games)

    def _game(self, game_id: str) -> dict[str, Any]:
        game = self.ports.find_game(game_id)
        return {
            "id": game.id,
            "title": game.title,
            "levels": game.levels,
            "options": game.options,
            "rules": game.rules.RULES,
            "view": game.board(game.check_options({})),
            "start": game.start().view(),
        }

    async def matches(self, request: web.Request) -> web.Response:
        """Finished public matches, the newest first: `?limit=` of them, `?before=` the `next` of the page before."""
        limit = _number(request, "limit", 30, 1, PAGE)
        before = request.query.get("before")
        found = await self.ports.store.matches(limit, _parse_cursor(before) if before else None)
        following = _format_cursor(found[-1]) if len(found) == limit else None
        return _json({"matches": [self._entry(one) for one in found], "next": following})

    async def match(self, request: web.Request) -> web.Response:
        """One match with its moves and what the AI saw."""
        found = await self._find(request)
        moves = await self._moves(found)
        thoughts = await self.ports.store.thoughts(found.match)
        entry = self._entry(found)
        entry["plies"] = len(moves)
        try:
            view = self.ports.find_game(found.game).board(_decode(found.options))
        except Exception as error:  # a game that is gone or broken: the moves can be read all the same
            log.warning("match without its game", match=found.match, game=found.game, error=str(error))
            view = None
        body = {
            **entry, "start": found.start, "rules": found.rules, "moves": moves, "view": view,
            "thoughts": {str(one.ply): msgspec.Raw(one.body) for one in thoughts},
        }  # fmt: skip
        return _json(body)

    async def views(self, request: web.Request) -> web.Response:
        """What to draw from ply `?from=` to ply `?to=`; never changes once those are played."""
        found = await self._find(request)
        moves = await self._moves(found)
        first = _number(request, "from", 0, 0, len(moves))
        last = min(_number(request, "to", len(moves), first, 2**31), len(moves), first + PAGE - 1)
        try:
            position = self.ports.find_game(found.game).position(found.start, _decode(found.options))
            views = _replay(position, moves[:last], first)
        except Exception as error:
            raise ApiError(
                HTTPStatus.CONFLICT, Code.GAME_CHANGED, "the rules of this match are not here any more"
            ) from error
        complete = request.query.get("to") is not None and last == int(request.query["to"])
        return _raw(_encode({"views": views}), IMMUTABLE if complete else "no-cache")

    async def _find(self, request: web.Request) -> StoredMatch:
        found = await self.ports.store.match(request.match_info["match"][:64])
        if found is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        return found

    async def _moves(self, found: StoredMatch) -> list[wire.Played]:
        """The moves of a match, from its room's log."""
        moves: list[wire.Played] = []
        v = found.first_v
        while page := await self.ports.store.events(found.room, v):
            for entry in page:
                event = parse_event_body(entry.body)
                if isinstance(event, wire.Moved) and event.match == found.match:
                    moves.append(wire.Played(event.move, event.text, event.forced))
                v = entry.v
            if found.last_v is not None and v >= found.last_v:
                break
        return moves

    def _entry(self, found: StoredMatch) -> dict[str, Any]:
        try:
            title = self.ports.find_game(found.game).title
        except Exception:  # a game that is gone still has its matches
            title = found.game
        return {
            "match": found.match, "room": found.room, "game": found.game, "title": title, "number": found.number,
            "options": msgspec.Raw(found.options), "seats": msgspec.Raw(found.seats),
            "over": msgspec.Raw(found.over) if found.over else None, "plies": found.plies,
            "started_ms": found.started_ms, "finished_ms": found.finished_ms,
        }  # fmt: skip


def _replay(position: Position, moves: list[wire.Played], first: int) -> list[dict[str, Any]]:
    """The views from ply `first` to the end of the moves."""
    views = [{"ply": 0, "view": position.view()}] if first == 0 else []
    for ply, played in enumerate(moves, 1):
        position = position.replay(played.move)
        if ply >= first:
            views.append({"ply": ply, "view": position.view()})
    return views


def _format_cursor(match: StoredMatch) -> str:
    return f"{match.finished_ms}-{match.match}"


def _parse_cursor(text: str) -> tuple[int, str]:
    at_ms, _, match = text.partition("-")
    if not (at_ms.isascii() and at_ms.isdigit() and len(at_ms) < 16 and match):
        raise ApiError(HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, "before is the next of the page before")
    return int(at_ms), match


def _number(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise ApiError(HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, f"{name} is a number from {least} to {most}")
    return int(text)


def _json(body: Any, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(
        body=_encode(body), status=status, content_type="application/json", headers={"Cache-Control": "no-cache"}
    )


def _raw(body: bytes, cache: str = "no-cache") -> web.Response:
    return web.Response(body=body, content_type="application/json", headers={"Cache-Control": cache})


def _origins(proxies: Proxies) -> Any:
    """Notes of each request where it comes from."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        peer = request.transport.get_extra_info("peername") if request.transport else None
        headers = request.headers
        request[ORIGIN] = proxies.origin(
            peer[0] if peer else None,
            headers.getall("X-Forwarded-For", ()),
            headers.getall("X-Forwarded-Proto", ()),
        )
        return await handler(request)

    return middleware


def _errors(ports: Ports) -> Any:
    """Every refusal is JSON with a code; what we did wrong is logged and told without its details."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.headers.get("Upgrade", "").lower() == "websocket":
                # The connection was handed to HTTP by its first request and cannot be handed on any more.
                response = _json(
                    {"code": Code.UPGRADE_LATE, "message": f"open a new connection for {WS_PATH}"},
                    HTTPStatus.BAD_REQUEST,
                )
                response.force_close()
                response.headers["Connection"] = "close"
                return response
            if request.method not in ("GET", "HEAD") and not origin_allowed(
                request.headers.get("Origin"), request.headers.get("Host"), ports.settings.names
            ):
                raise ApiError(HTTPStatus.FORBIDDEN, Code.ORIGIN_FOREIGN, "this page may not do that here")
            return await handler(request)
        except ApiError as error:
            return _json({"code": error.code, "message": str(error)}, error.status)
        except StoreUnavailable as error:
            log.warning("store unavailable", path=request.path, error=str(error))
            return _json(
                {"code": Code.STORE_RETRY, "message": "the store does not answer; try again"},
                HTTPStatus.SERVICE_UNAVAILABLE,
            )
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return _json({"code": f"http.{error.status}", "message": error.reason}, HTTPStatus(error.status))
        except TimeoutError:
            return _json({"code": "http.408", "message": "the request took too long"}, HTTPStatus.REQUEST_TIMEOUT)
        except ConnectionError:
            return _json({"code": "http.400", "message": "the connection ended in the request"}, HTTPStatus.BAD_REQUEST)
        except (GameFault, Exception):
            log.exception("request failed", path=request.path)
            return _json(
                {"code": Code.SERVER_FAULT, "message": "the server made a mistake; it is in its log"},
                HTTPStatus.INTERNAL_SERVER_ERROR,
            )

    return middleware


async def _secure(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(SECURITY_HEADERS)
    response.headers.pop("Server", None)  # nobody needs to know which versions run here
