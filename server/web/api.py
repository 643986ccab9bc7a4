"""The HTTP API in JSON for everything that is not live: guests, games, matches, health."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any

import structlog
from aiohttp import web
from aiohttp.typedefs import Middleware
from msgspec import Meta, Struct

from engine.null_move import has_null_moves
from engine.search.job import MAX_STRATEGY_DEPTH
from engine.strategies.contract import DEFAULT_DEPTH
from engine.strategies.names import FIXED_DEPTHS, title_of
from engine.strategies.registry import strategy_names
from server.address import Proxies, parse_proxies
from server.analysis.feed import AnalysisFeed
from server.bot.api import Need
from server.bot.registry import all_commands
from server.codes import Code
from server.identity.authentication import Authenticated, TokenUnknown, authenticate
from server.identity.credentials import cookie_name
from server.ids import IdentityId
from server.limits.by_address import LimitExceeded, Limits, RateLimit
from server.net.listener import WS_PATH, is_origin_allowed
from server.ports import Ports
from server.process.network import browser_names
from server.rooms.model import CommandRejected
from server.store.base import StoreDamaged, StoreReadOnly, StoreUnavailable
from server.web.analyses import Analyses
from server.web.answers import (
    ORIGIN,
    ApiError,
    json_answer,
    refusal_answer,
    too_many_requests,
)
from server.web.bodies import read_body
from server.web.export import Exports
from server.web.games import Games
from server.web.headers import SECURITY_HEADERS, transport_security
from server.web.lessons import LISTINGS_BODY_BYTES, Lessons
from server.web.links import Links
from server.web.match_events import MatchEvents
from server.web.matches import Matches
from server.web.my_matches import MyMatches
from server.web.oembed import Oembed
from server.web.positions import Positions
from server.web.senders import credentials_of
from server.web.studies import StudyAnswers
from server.web.traces import BOARDS_BODY_BYTES, TRACE_BODY_BYTES, Traces
from server.web.variations import Variations

log = structlog.get_logger()

#: Longest request body of each route that accepts one, in bytes.
BODY_LIMITS_BYTES = {
    ("POST", "/api/guest"): 4096,
    ("POST", "/api/trace"): TRACE_BODY_BYTES,
    ("POST", "/api/trace/boards"): BOARDS_BODY_BYTES,
    ("POST", "/api/trace/machine"): TRACE_BODY_BYTES,
    ("POST", "/api/listings"): LISTINGS_BODY_BYTES,
}
#: Greatest difference between a ready node's clock and the store's, in ms: wake-ups, AI pauses
#: and the chat's limits compare times of several nodes.
MAX_CLOCK_DIFFERENCE_MS = 250
#: Lifetime of the guest's cookie, in seconds.
COOKIE_AGE_S = 400 * 24 * 3600
#: Path prefixes of cheap requests, which the rate limit does not count.
UNLIMITED_PATHS = ("/livez", "/static/")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def body_limit(method: str, path: str) -> int:
    """The longest body that a route of this API accepts, in bytes; 0 for no body."""
    return BODY_LIMITS_BYTES.get((method, path), 0)


class GuestRequest(Struct, forbid_unknown_fields=True):
    """The body of POST /api/guest."""

    name: Annotated[str, Meta(max_length=200)] | None = None


class Guest(Struct, frozen=True, omit_defaults=True):
    """The answer of POST /api/guest; `notice` is a sentence for the person, if any."""

    identity: str
    name: str
    notice: str | None = None


def make_app(
    api: "Api", routes: list[web.RouteDef], middlewares: Sequence[Middleware] = ()
) -> web.Application:
    """The HTTP application with its middlewares; `middlewares` are called last."""
    settings = api.ports.settings
    rate = RateLimit("requests", settings.limit_requests_burst, settings.limit_requests_per_minute)
    matches = Matches(api.ports)
    studies = StudyAnswers(api.ports)
    app = web.Application(
        client_max_size=max(BODY_LIMITS_BYTES.values()),
        middlewares=[
            _origin_middleware(parse_proxies(settings.proxies)),
            _error_middleware(api.ports),
            _limit_middleware(rate, api.ports),
            *middlewares,
        ],
    )
    app.router.add_routes(
        [
            web.get("/livez", api.livez),
            web.get("/readyz", api.readyz),
            web.get(WS_PATH, api.socket),
            web.get("/api/installation", api.installation),
            web.post("/api/guest", api.guest),
            *Games(api.ports).routes(),
            *matches.routes(),
            *MatchEvents(api.ports).routes(),
            *Exports(api.ports).routes(),
            *Oembed(api.ports).routes(),
            *Variations(api.ports, matches).routes(),
            *Analyses(api.ports, api.feed).routes(),
            *MyMatches(api.ports, matches).routes(),
            *Links(api.ports).routes(),
            web.get("/api/strategies", api.strategies),
            web.get("/api/chat-commands", api.chat_commands),
            *Positions(api.ports).routes(),
            *Lessons(api.ports, studies).routes(),
            *Traces(api.ports, studies, matches).routes(),
            *routes,
        ]
    )
    app.on_shutdown.append(studies.stop)
    app.on_response_prepare.append(_header_adder(settings.hsts_s))
    return app


class Api:
    """The handlers, each documented in docs/reference/protocol.md.

    `on_rename` is called with the identity and the address of a guest who has changed the name.
    `feed` reports the changes of analyses.
    """

    def __init__(
        self,
        ports: Ports,
        limits: Limits,
        is_draining: Callable[[], bool],
        clock_ahead_ms: Callable[[], int] = lambda: 0,
        on_rename: Callable[[IdentityId, str], Awaitable[None]] | None = None,
        feed: AnalysisFeed | None = None,
    ) -> None:
        self.ports = ports
        self.feed = feed or AnalysisFeed(ports.bus, ports.node)
        self._limits = limits
        self._is_draining = is_draining
        self._clock_ahead_ms = clock_ahead_ms
        self._on_rename = on_rename

    async def livez(self, request: web.Request) -> web.Response:
        """Answers that the process is alive."""
        return json_answer({"status": "ok"})

    async def readyz(self, request: web.Request) -> web.Response:
        """Answers whether new clients may connect.

        They may if the store answers, its clock agrees with this node's, and the server is not
        draining. A store that is read-only or damaged answers every node alike, and people can
        still read: then the status is 200, and `store` says so.
        """
        status, details = await self._readiness()
        body = {"status": "ok" if status == HTTPStatus.OK else "not ready"}
        if "store" in details:
            body["store"] = details["store"]
        return json_answer(body, status)

    async def ready_details(self, request: web.Request) -> web.Response:
        """Like `readyz`, with the reason, for operators."""
        status, details = await self._readiness()
        return json_answer(details, status)

    async def _readiness(self) -> tuple[HTTPStatus, dict[str, Any]]:
        """The status of `readyz`, and the reason as a JSON object."""
        if self._is_draining():
            return HTTPStatus.SERVICE_UNAVAILABLE, {"status": "draining"}
        try:
            await self.ports.store.check()
        except (StoreReadOnly, StoreDamaged):
            pass  # no other node could do better; the condition below says so
        except StoreUnavailable as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, {
                "status": "store unavailable",
                "error": str(error),
            }
        ahead_ms = self._clock_ahead_ms()
        if abs(ahead_ms) > MAX_CLOCK_DIFFERENCE_MS:
            return HTTPStatus.SERVICE_UNAVAILABLE, {"status": "clock differs", "ahead_ms": ahead_ms}
        details = {"status": "ok"}
        # Degraded: nodes read each other's events from the store, with a delay.
        if not self.ports.bus.is_up:
            details["bus"] = "away"
        condition = self.ports.store.condition()
        if condition.name != "ok":
            details |= {"store": condition.name, "error": condition.reason}
        return HTTPStatus.OK, details

    async def installation(self, request: web.Request) -> web.Response:
        """Answers with the id of this `installation`, which no restart and no restore changes.

        A program keeps its tokens under it: another server may take over the address.
        """
        return json_answer({"installation": self.ports.store.installation})

    async def guest(self, request: web.Request) -> web.Response:
        """Answers with the guest of the token or the cookie, or creates one and sets a cookie.

        The token is in `Authorization: Bearer …`; an unknown one gets a 401. An unknown cookie
        creates a guest, and the answer's `notice` says so to the person. The cookie is
        `plyroom_` and the first 8 digits of the installation. `plyroom`, its name in earlier
        versions, is read too, and its token set as the cookie; an unknown one has no notice, since
        it may be another server's.
        """
        guest_request = await read_body(
            request, GuestRequest, self.ports.settings.silence_s, '{"name": text}'
        )
        sender = await self._authenticate(request, guest_request.name)
        if sender.is_renamed and self._on_rename is not None:
            await self._on_rename(sender.actor.identity, request[ORIGIN].address)
        response = json_answer(Guest(sender.actor.identity, sender.actor.name, sender.notice))
        token = sender.new_token or sender.old_cookie
        if token is not None:
            name = cookie_name(self.ports.store.installation)
            set_guest_cookie(response, name, token, is_https(request))
        return response

    async def _authenticate(self, request: web.Request, name: str | None) -> Authenticated:
        """The sender of a request, as `authenticate` finds it. Raises ApiError and StoreError."""
        credentials = credentials_of(request, self.ports)
        address = request[ORIGIN].address
        try:
            return await authenticate(self.ports, self._limits, credentials, address, name)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        except TokenUnknown as unknown:
            raise ApiError(HTTPStatus.UNAUTHORIZED, unknown.code, unknown.message) from unknown
        except CommandRejected as rejection:
            raise ApiError(HTTPStatus.BAD_REQUEST, rejection.code, rejection.message) from rejection

    async def strategies(self, request: web.Request) -> web.Response:
        """Lists the strategies of this server, their depths in plies, and the evaluators.

        A strategy with a `fixed_depth` takes no other; `material` takes weights, as in
        `material:queen=9,rook=5`.
        """
        # Importing the teaching search takes 20 ms, which most servers need not spend.
        from engine.teach.states.evaluators import EVALUATORS

        entries = [
            {"name": name, "title": title_of(name), "fixed_depth": FIXED_DEPTHS.get(name)}
            for name in strategy_names()
        ]
        depth = {"default": DEFAULT_DEPTH, "max": MAX_STRATEGY_DEPTH}
        return json_answer({"strategies": entries, "depth": depth, "evaluators": EVALUATORS})

    async def chat_commands(self, request: web.Request) -> web.Response:
        """Lists the commands of the room's bot, each with a few words about it, and in `needs` what
        must be there that it works: a `match`, now or before; `help` with its position; a `seat`;
        an `ai` that plays; its `thoughts`; a game whose turn can be passed (`pass`). With `?game=`
        the answer says in `lacks` which of them the game never has.
        """
        lacks = await self._lacks(request.query.get("game"))
        entries = [
            {"name": name, "about": each.about, **({"needs": each.needs} if each.needs else {})}
            for name, each in all_commands().items()
        ]
        return json_answer({"commands": entries, **({"lacks": lacks} if lacks else {})})

    async def _lacks(self, game_id: str | None) -> list[Need]:
        """What a game never has, in its usual form. Of a game that is missing or broken nobody
        knows: the bot says what does not work there.
        """
        if game_id is None:
            return []
        try:
            game = self.ports.find_game(game_id)
            options = game.check_options({})
        except Exception:  # a plug-in's file may raise anything while it is imported
            return []
        has_passes = await asyncio.to_thread(has_null_moves, game, options)
        return [] if has_passes else [Need.PASS]

    async def socket(self, request: web.Request) -> web.Response:
        """Answers why a WebSocket is refused: browsers hide the reason from their pages.

        If nothing refuses it, that is no error, which a browser would log: the server was away.
        """
        try:
            self._limits.sockets.check(request[ORIGIN].address)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        return json_answer({"message": "this is the address of the WebSocket"})


def is_https(request: web.Request) -> bool:
    """Whether the browser uses HTTPS: to this server, or to a trusted proxy."""
    origin = request.get(ORIGIN)  # None for a request that is refused before the middleware
    return request.secure or (origin is not None and origin.is_https)


def set_guest_cookie(response: web.Response, name: str, token: str, is_https: bool) -> None:
    """Makes the browser keep the token where no script can read it, for this site only."""
    response.set_cookie(
        name, token, max_age=COOKIE_AGE_S, httponly=True, samesite="Strict", secure=is_https,
        path="/",
    )  # fmt: skip


def _origin_middleware(proxies: Proxies) -> Any:
    """The middleware that stores each request's origin under ORIGIN."""

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


def _error_middleware(ports: Ports) -> Any:
    """The middleware that turns exceptions into JSON; the log has the details of server errors."""
    names = browser_names(ports.settings.names)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.method not in ("GET", "HEAD") and not is_origin_allowed(
                request.headers.get("Origin"), request.headers.get("Host"), names
            ):
                raise ApiError(
                    HTTPStatus.FORBIDDEN,
                    Code.ORIGIN_FOREIGN,
                    "a page of another site may not do that",
                )
            return await handler(request)
        except ApiError as error:
            return refusal_answer(error)
        except StoreUnavailable as error:
            log.warning("store unavailable", path=request.path, error=str(error))
            return json_answer(
                {"code": Code.STORE_RETRY, "message": "the store does not answer; try again"},
                HTTPStatus.SERVICE_UNAVAILABLE,
            )
        except web.HTTPException as error:
            if error.status < 400:
                raise
            return json_answer(
                {"code": f"http.{error.status}", "message": error.reason}, HTTPStatus(error.status)
            )
        except TimeoutError:
            return json_answer(
                {"code": "http.408", "message": "the request took too long"},
                HTTPStatus.REQUEST_TIMEOUT,
            )
        except ConnectionError:
            return json_answer(
                {"code": "http.400", "message": "the connection ended in the request"},
                HTTPStatus.BAD_REQUEST,
            )
        except Exception:
            log.exception("request failed", path=request.path)
            return json_answer(
                {
                    "code": Code.SERVER_FAULT,
                    "message": "the server failed on this request; its log says why",
                },
                HTTPStatus.INTERNAL_SERVER_ERROR,
            )

    return middleware


def _limit_middleware(rate: RateLimit, ports: Ports) -> Any:
    """The middleware that limits the rate of requests per address."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not request.path.startswith(UNLIMITED_PATHS):
            try:
                rate.take(request[ORIGIN].address, ports.uptime_ms() / 1000)
            except LimitExceeded as limit:
                raise too_many_requests(limit) from limit
        return await handler(request)

    return middleware


def _header_adder(hsts_s: int) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Returns the signal handler that adds security headers to each response and removes Server."""

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.update(transport_security(hsts_s, is_https(request)))
        response.headers.pop("Server", None)  # do not reveal versions

    return add_headers
