"""The guest's token in a browser's Cookie header."""

import re

from server.identity.guests import COOKIE

#: A guest's token in a Cookie header.
TOKEN = re.compile(rf"(?:^|;)\s*{re.escape(COOKIE)}=([^;]*)")


def cookie_token(header: str | None) -> str | None:
    """The guest's token in a Cookie header; None if there is none.

    It searches for this name only: a general cookie parser takes 30 ms for 8 KB of cookies, which
    any client may send. Other programs on the same host may have set other cookies.
    """
    tokens = TOKEN.findall(header or "")
    return tokens[-1].strip().strip('"') or None if tokens else None
