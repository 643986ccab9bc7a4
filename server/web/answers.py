"""The responses of the HTTP API's handlers: JSON bodies and refusals."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from engine.rules.errors import GameHung
from server.address import Origin
from server.codes import Code
from server.limits.by_address import LimitExceeded

#: The key under which a request holds its origin (address, HTTPS) for the handlers.
ORIGIN = web.RequestKey("origin", Origin)

_encode = msgspec.json.Encoder().encode


class ApiError(Exception):
    """A request is refused with a status, a code and a message.

    `retry_after_s` is the time after which a retry may succeed, in seconds, if any. `details` are
    further fields of the answer.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        message: str,
        retry_after_s: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        self.details = details or {}


def too_many_requests(limit: LimitExceeded) -> ApiError:
    """The 429 refusal for an address that exceeds a limit."""
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, limit.code, limit.message, limit.retry_s)


def rules_failed(error: Exception, message: str, code: Code = Code.GAME_FAULT) -> ApiError:
    """The 409 refusal for an error of a game's rules; `game.hung` if a rule did not return."""
    if isinstance(error, GameHung):
        return ApiError(HTTPStatus.CONFLICT, Code.GAME_HUNG, str(error))
    return ApiError(HTTPStatus.CONFLICT, code, message)


def json_answer(body: Any, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """A response with a value as JSON, which browsers revalidate each time."""
    return raw_answer(_encode(body), status=status)


def raw_answer(
    body: bytes, cache: str = "no-cache", status: HTTPStatus = HTTPStatus.OK
) -> web.Response:
    """A response whose body is JSON already."""
    return web.Response(
        body=body, status=status, content_type="application/json", headers={"Cache-Control": cache}
    )


def refusal_answer(error: ApiError) -> web.Response:
    """A refusal as a JSON response, with Retry-After if a retry may succeed."""
    response = json_answer(
        {"code": error.code, "message": str(error), **error.details}, error.status
    )
    if error.status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"  # RFC 9110, section 15.5.2
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def public_origin(request: web.Request, url: str) -> str:
    """The address of this server for links, without a path: `url`, the operator's setting, or else
    the one that the request names.
    """
    origin = request.get(ORIGIN)  # None for a request that is refused before the middleware
    is_https = request.secure or (origin is not None and origin.is_https)
    return url or f"{'https' if is_https else 'http'}://{request.headers.get('Host', '')}"


def query_number(request: web.Request, name: str, default: int, minimum: int, maximum: int) -> int:
    """A number of the query string. Raises ApiError unless it is from `minimum` to `maximum`."""
    text = request.query.get(name)
    if text is None:
        return default
    if not (
        text.isascii() and text.isdigit() and len(text) < 12 and minimum <= int(text) <= maximum
    ):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            Code.MESSAGE_MALFORMED,
            f"{name} is a number from {minimum} to {maximum}",
        )
    return int(text)
