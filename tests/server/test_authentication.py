"""The identity behind a request: cookies and tokens over HTTP and WebSockets, and their limits."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from server.identity.authentication import Authenticated, TokenUnknown, authenticate
from server.identity.credentials import Credentials, parse_credentials
from server.identity.guests import MAX_TOKEN, new_guest
from server.ids import IdentityId
from server.limits.by_address import Limits
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.rooms.model import Actor, ActorKind
from server.store.base import DaySpan, day_of
from tests.support.fake_server import FakeServer
from tests.support.node import Node, Response, serve

#: The tests' own address counts as a trusted proxy, so that they can claim any address.
PROXIES = ("127.0.0.0/8",)
#: The store's calls for identities.
IDENTITY_CALLS = ("by_token", "add_guest", "rename", "mark_identities_seen")


# --- secrets of no guest of this server -----------------------------------------------------------


async def token_of_expired_guest(fake: FakeServer) -> str:
    """Returns the token of a guest that the server has deleted."""
    ports = fake.ports("n1")
    identity, token = await new_guest(ports, Limits(fake.settings), "", "Ada")
    day = day_of(ports.now_ms()) + 31
    page = await fake.store.expiry.expire_identities("", DaySpan(day, day), 500)
    assert page.deleted == (identity.id,)
    return token


async def token_of_another_installation(_fake: FakeServer) -> str:
    """Returns the token of a guest of another server, as if both had the same host name."""
    other = FakeServer()
    return (await new_guest(other.ports("n1"), Limits(other.settings), "", "Ada"))[1]


def malformed(text: str) -> Callable[[FakeServer], Awaitable[str]]:
    """Returns a secret that is a text which cannot be a token."""

    async def secret(_fake: FakeServer) -> str:
        return text

    return secret


Secret = Callable[[FakeServer], Awaitable[str]]
#: One test for each way in which a cookie or a token can be wrong.
WRONG_SECRETS = pytest.mark.parametrize(
    "secret",
    [
        pytest.param(token_of_expired_guest, id="expired"),
        pytest.param(token_of_another_installation, id="another installation"),
        pytest.param(malformed("not a token"), id="malformed"),
        pytest.param(malformed("x" * (MAX_TOKEN + 1)), id="too long"),
    ],
)
CHANNELS = pytest.mark.parametrize("channel", ["http", "socket"])


async def post_guest(node: Node, headers: dict[str, str], body: bytes = b"") -> Response:
    async with node.http() as http:
        return await http.request("/api/guest", "POST", headers, body)


async def identify(node: Node, channel: str, headers: dict[str, str]) -> tuple[dict[str, Any], str]:
    """Sends a request with these headers; returns the answer, and the new guest's token or ""."""
    if channel == "http":
        answer = await post_guest(node, headers)
        assert answer.status == 200
        cookies = answer.cookies
        return answer.json, cookies[node.cookie].value if node.cookie in cookies else ""
    async with node.socket(headers) as socket:
        welcome = await socket.hello()
        return welcome, welcome.get("token", "")


async def expect_refusal(node: Node, channel: str, headers: dict[str, str]) -> dict[str, Any]:
    """Sends a request with these headers, which must be refused; returns the error."""
    if channel == "http":
        answer = await post_guest(node, headers)
        assert answer.status in (401, 429)
        assert (answer.headers.get("www-authenticate") == "Bearer") == (answer.status == 401)
        assert node.cookie not in answer.cookies
        return dict(answer.json)
    async with node.socket(headers) as socket:
        await socket.send(wire.Hello(protocol=wire.PROTOCOL))
        error = await socket.receive()
        assert await socket.wait_closed() == (Close.POLICY, error["code"])
        return error


# --- cookies --------------------------------------------------------------------------------------


@WRONG_SECRETS
@CHANNELS
async def test_a_wrong_cookie_makes_a_new_guest_with_a_notice(channel: str, secret: Secret) -> None:
    """A malformed or unknown cookie makes a new guest, and a notice says so.

    A request with the new cookie has no notice.
    """
    async with serve() as node:
        cookie = await secret(node.fake)
        answer, token = await identify(node, channel, {"Cookie": f"{node.cookie}={cookie}"})
        assert answer["notice"] == (
            "Your earlier guest was not found on this server."
            f" You are a new guest now: {answer['name']}."
        )
        assert answer["identity"] in node.fake.store.memory.tables.identities
        for again in ("http", "socket"):
            later_answer, new_token = await identify(
                node, again, {"Cookie": f"{node.cookie}={token}"}
            )
            assert (later_answer["identity"], new_token) == (answer["identity"], "")
            assert "notice" not in later_answer


@CHANNELS
async def test_a_first_visit_has_no_notice(channel: str) -> None:
    """A browser without a cookie, or with an empty one, becomes a guest without a notice."""
    async with serve() as node:
        for headers in ({}, {"Cookie": f"{node.cookie}=; plyroom="}, {"Cookie": "other=1"}):
            answer, token = await identify(node, channel, headers)
            assert token
            assert "notice" not in answer


# --- tokens ---------------------------------------------------------------------------------------


@WRONG_SECRETS
@CHANNELS
async def test_a_wrong_token_is_refused(channel: str, secret: Secret) -> None:
    """An unknown token is refused with token.unknown, even with a valid cookie; no guest is made.

    The message says which token is expected.
    """
    async with serve() as node:
        token = await secret(node.fake)
        _, cookie = await identify(node, "http", {})
        people = dict(node.fake.store.memory.tables.identities)
        headers = {"Authorization": f"Bearer {token}", "Cookie": f"{node.cookie}={cookie}"}
        error = await expect_refusal(node, channel, headers)
        assert error["code"] == Code.TOKEN_UNKNOWN
        assert "is expected" in error["message"]
        assert node.fake.store.memory.tables.identities == people


@WRONG_SECRETS
async def test_a_wrong_token_in_hello_is_refused(secret: Secret) -> None:
    """An unknown token in hello is refused with token.unknown, even with a valid cookie."""
    async with serve() as node:
        token = (await secret(node.fake))[:MAX_TOKEN]
        _, cookie = await identify(node, "http", {})
        people = dict(node.fake.store.memory.tables.identities)
        async with node.socket({"Cookie": f"{node.cookie}={cookie}"}) as socket:
            await socket.send(wire.Hello(protocol=wire.PROTOCOL, token=token))
            error = await socket.receive()
            assert error["code"] == Code.TOKEN_UNKNOWN
            assert "is expected" in error["message"]
            assert await socket.wait_closed() == (Close.POLICY, Code.TOKEN_UNKNOWN)
        assert node.fake.store.memory.tables.identities == people


@CHANNELS
async def test_a_token_takes_precedence_over_the_cookie(channel: str) -> None:
    """A request with both has the token's identity, and the answer contains neither secret.

    The scheme may be in any case.
    """
    async with serve() as node, node.guest(name="Ada") as ada:
        _, cookie = await identify(node, "http", {})
        for scheme in ("Bearer ", "bearer  ", "BEARER\t"):
            headers = {"Authorization": f"{scheme}{ada.token}", "Cookie": f"{node.cookie}={cookie}"}
            answer, token = await identify(node, channel, headers)
            assert (answer["identity"], answer["name"], token) == (ada.identity, "Ada", "")
            assert "notice" not in answer


async def test_a_program_renames_itself_over_http() -> None:
    """A program with a token can rename its guest; a refused name changes nothing."""
    async with serve() as node, node.guest(name="Ada") as ada:
        headers = {"Authorization": f"Bearer {ada.token}"}
        for name, status in ((b"Countess", 200), (b"AI level 5", 400)):
            answer = await post_guest(node, headers, b'{"name": "%b"}' % name)
            assert answer.status == status
        assert (await post_guest(node, headers)).json["name"] == "Countess"


@CHANNELS
async def test_a_new_name_reaches_the_rooms_of_other_connections(channel: str) -> None:
    """A guest who gives another name over HTTP, or in a hello, has it in the rooms that their other
    connections follow. The same name again writes nothing.
    """
    async with serve() as node, node.guest(name="Ada") as ada:
        room = await ada.ack("create", game="tic-tac-toe", seats=[{"who": "me"}, {"who": "open"}])
        await ada.ack("join", room=room["room"])
        for name in ("Countess", "Countess", "Lady"):
            if channel == "http":
                headers = {"Authorization": f"Bearer {ada.token}"}
                await post_guest(node, headers, b'{"name": "%b"}' % name.encode())
            else:
                async with node.socket({}) as socket:
                    await socket.hello(token=ada.token, name=name)
        names = [(await ada.expect("event", kind="renamed"))["name"] for _ in range(2)]
        assert names == ["Countess", "Lady"]


async def test_a_token_in_hello_takes_precedence() -> None:
    """The token in hello takes precedence over the one in the handshake."""
    handshake = {"Authorization": "Bearer nobodys"}
    async with serve() as node, node.guest(name="Ada") as ada, node.socket(handshake) as socket:
        assert (await socket.hello(token=ada.token))["identity"] == ada.identity


# --- headers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("authorizations", "token"),
    [
        ([], None), ([""], None), (["Bearer abc"], "abc"), ([" bearer  abc "], "abc"),
        (["Bearer"], ""), (["Bearer "], ""), (["Basic YTpi"], None), (["Bearerabc"], None),
        (["Digest username=\"bearer x\""], None), (["Bearer a b"], "a b"),
        (["Bearer a", "Bearer b"], "a, Bearer b"), (["Basic YTpi", "Bearer b"], None),
    ],
)  # fmt: skip
def test_the_authorization_header_is_read(authorizations: list[str], token: str | None) -> None:
    """The token is that of the Bearer scheme; other schemes are for a proxy and are ignored.

    An empty token counts as a token, so it is refused instead of ignored.
    """
    assert parse_credentials([], authorizations, "").token == token


async def test_an_empty_token_is_refused() -> None:
    """`Bearer` without a token is refused."""
    async with serve() as node:
        assert (await expect_refusal(node, "http", {"Authorization": "Bearer"}))["code"] == (
            Code.TOKEN_UNKNOWN
        )
        assert node.fake.store.memory.tables.identities == {}


def test_no_repr_shows_a_secret() -> None:
    """The repr of credentials and of an authenticated actor contains no secret."""
    ada = Actor(IdentityId("ada"), "Ada")
    for value in (Credentials("hush", "hush", "hush"), Authenticated(ada, "hush", "hush")):
        assert "hush" not in repr(value)


# --- limits and the cost of wrong secrets ---------------------------------------------------------


async def count_identity_calls(node: Node, channel: str, cookie: str) -> dict[str, int]:
    """Returns the store's calls for identities during a refused request with this cookie."""
    calls = node.fake.store.calls
    before = {call: calls.get(call, 0) for call in IDENTITY_CALLS}
    headers = {"X-Forwarded-For": "192.0.2.1", "Cookie": f"{node.cookie}={cookie}"}
    assert (await expect_refusal(node, channel, headers))["code"] == Code.RATE_EXCEEDED
    made = {call: calls.get(call, 0) - count for call, count in before.items()}
    return {call: count for call, count in made.items() if count}


@CHANNELS
async def test_guests_of_wrong_cookies_count_towards_the_limit(channel: str) -> None:
    """Each new guest counts towards the address's limit, with any cookie and over both channels.

    Beyond the limit a request costs one look-up, or none if the cookie is malformed, and no write.
    """
    async with serve(limit_guests=4, limit_guests_per_minute=1, proxies=PROXIES) as node:
        for number, via in enumerate(("http", "socket", "http", "socket")):
            headers = {"X-Forwarded-For": "192.0.2.1", "Cookie": f"plyroom=nobodys{number}"}
            assert (await identify(node, via, headers))[1]
        people = dict(node.fake.store.memory.tables.identities)
        assert await count_identity_calls(node, channel, "nobodys") == {"by_token": 1}
        assert await count_identity_calls(node, channel, "not a token") == {}
        assert await count_identity_calls(node, channel, "x" * 3000) == {}
        assert node.fake.store.memory.tables.identities == people


@CHANNELS
async def test_a_refused_name_makes_no_guest_and_counts_towards_no_limit(channel: str) -> None:
    """Without a cookie, a refused name costs no look-up and does not count towards the limit."""
    async with serve(limit_guests=1, limit_guests_per_minute=1, proxies=PROXIES) as node:
        headers = {"X-Forwarded-For": "192.0.2.1"}
        for _ in range(3):
            if channel == "http":
                answer = await post_guest(node, headers, b'{"name": "AI level 5"}')
                assert answer.json["code"] == Code.NAME_REFUSED
                continue
            async with node.socket(headers) as socket:
                await socket.send(wire.Hello(protocol=wire.PROTOCOL, name="AI level 5"))
                assert (await socket.receive())["code"] == Code.NAME_REFUSED
        assert node.fake.store.memory.tables.identities == {}
        assert not [call for call in IDENTITY_CALLS if call in node.fake.store.calls]
        assert (await identify(node, channel, headers))[1]


# --- actors ---------------------------------------------------------------------------------------


async def test_an_actor_from_credentials() -> None:
    """Credentials give a person without roles; an unknown token raises TokenUnknown."""
    fake = FakeServer()
    ports, limits = fake.ports("n1"), Limits(fake.settings)
    created = await authenticate(ports, limits, Credentials(), "192.0.2.1", "Ada")
    assert created.new_token is not None
    known = await authenticate(ports, limits, Credentials(created.new_token), "192.0.2.1", None)
    assert created.actor == known.actor
    assert (known.actor.name, known.actor.kind) == ("Ada", ActorKind.PERSON)
    assert known.actor.roles == frozenset()
    assert (known.new_token, known.notice) == (None, None)
    with pytest.raises(TokenUnknown):
        await authenticate(ports, limits, Credentials("nobodys"), "192.0.2.1", None)
