"""What a request shows to say who sends it: a token, or a browser's cookie."""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

#: The name of the cookie that holds a guest's token.
COOKIE = "plyroom"
#: The guest's cookie in a Cookie header. It searches for this name only: a general cookie parser
#: takes 30 ms for 8 KB of cookies, which any client may send. Other programs on the same host may
#: have set other cookies.
_IN_COOKIES = re.compile(rf"(?:^|;)\s*{re.escape(COOKIE)}=([^;]*)")
#: An Authorization header with a token (RFC 6750, section 2.1). Other schemes belong to a proxy.
_BEARER = re.compile(r"bearer(?:\s+(.*))?", re.IGNORECASE)


class Credentials(Struct, frozen=True):
    """The credentials of a request, as they arrived.

    `token` is what a program names as its own, and `cookie` what a browser sends of itself. None
    means that the request has none. The secrets stay out of its repr.
    """

    token: str | None = None
    cookie: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"

    def with_token(self, token: str | None) -> "Credentials":
        """These credentials, with a later token in place of theirs unless it is None."""
        return self if token is None else replace(self, token=token)


def parse_credentials(cookies: Iterable[str], authorizations: Iterable[str]) -> Credentials:
    """Returns the credentials in a request's Cookie and Authorization headers.

    It only finds them: an empty token, or two of them, are for `authenticate` to refuse.
    """
    bearer = _BEARER.fullmatch(", ".join(authorizations).strip())
    token = None if bearer is None else bearer[1] or ""
    found = _IN_COOKIES.findall("; ".join(cookies))
    cookie = found[-1].strip().strip('"') if found else ""
    return Credentials(token, cookie or None)
