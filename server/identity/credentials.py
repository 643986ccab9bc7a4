"""The credentials of a request: a token, or a browser's cookies."""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

#: The name of the guest's cookie in earlier versions, which was the same for every server on a
#: host. It is read, but never written: it may be another server's.
OLD_COOKIE = "plyroom"
#: The cookies of Plyroom servers in a Cookie header, which may also have cookies of other programs
#: on the same host. A general cookie parser takes 30 ms for 8 KB of cookies, which any client may
#: send.
_IN_COOKIES = re.compile(rf"(?:^|;)\s*({OLD_COOKIE}(?:_[0-9a-f]{{8}})?)=([^;]*)")
#: An Authorization header with a token (RFC 6750, section 2.1). Other schemes belong to a proxy.
_BEARER = re.compile(r"bearer(?:\s+(.*))?", re.IGNORECASE)


def cookie_name(installation: str) -> str:
    """The name of the cookie that holds a guest's token.

    Cookies know no port (RFC 6265, section 8.5), so each installation has a name of its own.
    """
    return f"{OLD_COOKIE}_{installation[:8]}"


class Credentials(Struct, frozen=True):
    """The credentials of a request, as they arrived.

    `token` is the token of an Authorization header or a `hello`, `cookie` that of the
    installation's cookie, and `old_cookie` that of OLD_COOKIE; each is None if the request has
    none. The repr hides them.
    """

    token: str | None = None
    cookie: str | None = None
    old_cookie: str | None = None

    def __repr__(self) -> str:
        return "Credentials(…)"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens by which to look for the sender, the first known one counts.

        A client names its token on purpose, so its cookies then do not count.
        """
        if self.token is not None:
            return (self.token,)
        cookies = (self.cookie, self.old_cookie)
        return tuple(dict.fromkeys(each for each in cookies if each is not None))

    def with_token(self, token: str | None) -> "Credentials":
        """Returns these credentials with this token in place of their own, unless it is None."""
        return self if token is None else replace(self, token=token)


def parse_credentials(
    cookies: Iterable[str], authorizations: Iterable[str], installation: str
) -> Credentials:
    """Returns the credentials for an installation in a request's Cookie and Authorization headers.

    It does not check them: `authenticate` refuses an empty token, and two tokens.
    """
    bearer = _BEARER.fullmatch(", ".join(authorizations).strip())
    token = None if bearer is None else bearer[1] or ""
    values = {
        name: value.strip().strip('"') or None
        for name, value in _IN_COOKIES.findall("; ".join(cookies))
    }
    return Credentials(token, values.get(cookie_name(installation)), values.get(OLD_COOKIE))
