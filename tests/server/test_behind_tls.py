"""Cookies and HSTS for browsers on HTTPS, as a trusted proxy reports it."""

from typing import Any

import pytest

from tests.support.node import Node, Response, serve

HSTS = "strict-transport-security"
YEAR_S = 31_536_000


async def request_guest(node: Node, **headers: str) -> Response:
    """Returns the response to a request for a new guest with these headers."""
    async with node.http() as http:
        return await http.request(
            "/api/guest", "POST", {name.replace("_", "-"): text for name, text in headers.items()}
        )


@pytest.mark.parametrize(
    ("proxies", "proto", "is_https"),
    [
        (("127.0.0.1",), "https", True), (("127.0.0.1",), "http", False),
        (("127.0.0.1",), "", False),
        (("127.0.0.1",), "https, http", False), ((), "https", False),
        (("192.0.2.0/24",), "https", False),
    ],
)  # fmt: skip
async def test_the_cookie_is_secure_behind_https(
    proxies: tuple[str, ...], proto: str, is_https: bool
) -> None:
    """The cookie is Secure only if a trusted proxy reports https, as browsers drop it on HTTP."""
    async with serve(proxies=proxies) as node:
        answer = await request_guest(node, X_Forwarded_Proto=proto, X_Forwarded_For="198.51.100.1")
        assert bool(answer.cookies[node.cookie]["secure"]) is is_https


@pytest.mark.parametrize(
    ("settings", "value"), [({}, None), ({"hsts_s": YEAR_S}, f"max-age={YEAR_S}")]
)
async def test_hsts_is_sent_over_https_only(settings: dict[str, Any], value: str | None) -> None:
    """All responses over HTTPS have HSTS, if it is set; none over HTTP (RFC 6797, section 7.2)."""
    async with serve(proxies=("127.0.0.1",), **settings) as node:
        for target in ("/", "/api/games", "/nothing", "/api/matches?limit=x"):
            assert (await node.get(target, **{"X-Forwarded-Proto": "https"})).headers.get(
                HSTS
            ) == value
            assert HSTS not in (await node.get(target)).headers
