"""Reads the bodies of requests as messages."""

import asyncio
from http import HTTPStatus
from typing import TypeVar

import msgspec
from aiohttp import web

from server.codes import Code
from server.web.answers import ApiError

T = TypeVar("T")


async def read_body(request: web.Request, kind: type[T], silence_s: float, expected: str) -> T:
    """Returns the decoded body of a request; `expected` describes it in the refusal.

    Raises ApiError for any other body, and TimeoutError if none arrives within `silence_s`.
    """
    try:
        async with asyncio.timeout(silence_s):
            body = await request.read()
        return msgspec.json.decode(body or b"{}", type=kind)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        web.RequestPayloadError,
    ) as error:
        raise ApiError(
            HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, f"{expected} is expected: {error}"
        ) from error
