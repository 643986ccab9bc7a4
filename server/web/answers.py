"""The answers of the HTTP API's handlers: JSON bodies and refusals."""

from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from server.address import Origin
from server.limits.by_address import LimitExceeded
from server.protocol.codes import Code

#: The origin of a request (address, HTTPS), for every handler.
ORIGIN = web.RequestKey("origin", Origin)

_encode = msgspec.json.Encoder().encode


class ApiError(Exception):
    """A request is refused with a status, a code and a message; `retry_after_s` if a retry
    helps.
    """

    def __init__(
        self, status: HTTPStatus, code: str, message: str, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


def too_many_requests(limit: LimitExceeded) -> ApiError:
    """The 429 refusal for an address that exceeds a limit."""
    return ApiError(HTTPStatus.TOO_MANY_REQUESTS, limit.code, limit.message, limit.retry_s)


def json_answer(body: Any, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """A value as JSON, which browsers revalidate each time."""
    return raw_answer(_encode(body), status=status)


def raw_answer(
    body: bytes, cache: str = "no-cache", status: HTTPStatus = HTTPStatus.OK
) -> web.Response:
    """An answer whose body is JSON already."""
    return web.Response(
        body=body, status=status, content_type="application/json", headers={"Cache-Control": cache}
    )


def refusal_answer(error: ApiError) -> web.Response:
    """A refusal as JSON, with Retry-After where a retry helps."""
    response = json_answer({"code": error.code, "message": str(error)}, error.status)
    if error.retry_after_s is not None:
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


def query_number(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    """A number of the query string; ApiError unless it is from `least` to `most`."""
    text = request.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        raise ApiError(
            HTTPStatus.BAD_REQUEST,
            Code.MESSAGE_MALFORMED,
            f"{name} is a number from {least} to {most}",
        )
    return int(text)
