"""The credentials of a request: a token, or a browser's cookie."""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

#: The name of the cookie that holds a guest's token.
COOKIE = "plyroom"
#: The guest's cookie in a Cookie header, which may also have cookies of other programs on the same
#: host. A general cookie parser takes 30 ms for 8 KB of cookies, which any client may send.
_IN_COOKIES = re.compile(rf"(?:^|;)\s*{re.escape(COOKIE)}=([^;]*)")
#: An Authorization header with a token (RFC 6750, section 2.1). Other schemes belong to a proxy.
_BEARER = re.compile(r"bearer(?:\s+(.*))?", re.IGNORECASE)


class Credentials(Struct, frozen=True):
    """The credentials of a request, as they arrived.

    `token` is the token of an Authorization header or a `hello`, and `cookie` that of a Cookie
    header; each is None if the request has none. The repr hides both.
    """

    token: str | None = None
    cookie: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"

    def with_token(self, token: str | None) -> "Credentials":
        """Returns these credentials with this token in place of their own, unless it is None."""
        return self if token is None else replace(self, token=token)


def parse_credentials(cookies: Iterable[str], authorizations: Iterable[str]) -> Credentials:
    """Returns the credentials in a request's Cookie and Authorization headers.

    It does not check them: `authenticate` refuses an empty token, and two tokens.
    """
    bearer = _BEARER.fullmatch(", ".join(authorizations).strip())
    token = None if bearer is None else bearer[1] or ""
    values = _IN_COOKIES.findall("; ".join(cookies))
    cookie = values[-1].strip().strip('"') if values else ""
    return Credentials(token, cookie or None)
