"""The cookie that holds a guest's token in a browser."""

from aiohttp import web

from server.identity.credentials import COOKIE

#: Lifetime of the guest's cookie, in seconds.
COOKIE_AGE_S = 400 * 24 * 3600


def set_guest_cookie(response: web.Response, token: str, is_https: bool) -> None:
    """Makes the browser keep the token where no script can read it, for this site only."""
    response.set_cookie(
        COOKIE, token, max_age=COOKIE_AGE_S, httponly=True, samesite="Strict", secure=is_https,
        path="/",
    )  # fmt: skip
