"""The limits of one address: they stop floods and admit groups behind one address."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from client.connection import connect
from client.errors import Refused, Unreachable
from server.commands import Create
from server.ids import RoomId
from server.limits.by_address import (
    MAX_ADDRESSES,
    NO_LIMITS,
    LimitExceeded,
    RateLimit,
    RoomSlots,
    SocketLimit,
)
from server.protocol import messages as wire
from server.protocol.codes import Close, Code
from server.rooms.model import CommandRejected
from server.runtime.requests import Request
from server.settings import SettingError, Settings, settings_from_env
from tests.support.fake_server import Client, FakeServer, Fault, virtual
from tests.support.node import Http, Node, Response, serve
from tests.support.raw_websocket import handshake

ADDRESS, OTHER_ADDRESS = "192.0.2.1", "192.0.2.2"
#: The tests' own address counts as a trusted proxy, so that they can claim any address.
PROXIES = ("127.0.0.0/8",)
UPGRADE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}  # fmt: skip


def forwarded_for(address: str) -> dict[str, str]:
    """Returns the headers of a request from this address."""
    return {"X-Forwarded-For": address}


async def make_guest(http: Http, address: str = ADDRESS, cookie: str | None = None) -> Response:
    """Requests a guest over HTTP; `cookie` is a Cookie header."""
    headers = forwarded_for(address) | ({"Cookie": cookie} if cookie else {})
    return await http.request("/api/guest", "POST", headers)


def refusal_of(call: Any) -> LimitExceeded:
    """Returns the LimitExceeded that the call raises."""
    with pytest.raises(LimitExceeded) as caught:
        call()
    return caught.value


# --- units ----------------------------------------------------------------------------------------


def test_a_burst_and_then_a_rate_per_minute() -> None:
    """After the burst, tokens return at the rate.

    A refusal says when to retry, and other addresses are unaffected.
    """
    rates = RateLimit("guests", 3, 6)
    for _ in range(3):
        rates.take(ADDRESS, 0.0)
    refusal = refusal_of(lambda: rates.take(ADDRESS, 0.0))
    assert (refusal.code, refusal.retry_s) == (Code.RATE_EXCEEDED, 10)
    assert "try again in 10 s" in refusal.message
    assert refusal_of(lambda: rates.take(ADDRESS, 7.5)).retry_s == 3
    rates.take(OTHER_ADDRESS, 7.5)
    rates.take(ADDRESS, 10.1)
    refusal_of(lambda: rates.take(ADDRESS, 10.2))


@pytest.mark.parametrize(("burst", "per_minute"), [(0, 60), (60, 0), (0, 0)])
def test_zero_switches_a_limit_off(burst: int, per_minute: int) -> None:
    """0 switches off the limits of rates, sockets and rooms in memory."""
    rates, sockets, room_slots = (
        RateLimit("guests", burst, per_minute),
        SocketLimit(0),
        RoomSlots(300, 0),
    )
    for number in range(299):
        rates.take(ADDRESS, 0.0)
        sockets.enter(ADDRESS)
        room_slots.check(ADDRESS, 1)
        room_slots.take(RoomId(str(number)), ADDRESS)
    assert len(rates) == 0


def test_many_addresses_fill_no_memory() -> None:
    """A rate limit stores a bounded number of addresses, and never drops one in constant use."""
    rates = RateLimit("guests", 2, 1)
    rates.take(ADDRESS, 0.0)
    rates.take(ADDRESS, 0.0)
    for number in range(MAX_ADDRESSES + 1000):
        rates.take(f"198.51.{number}", 0.0)
        if number % 1000 == 0:
            refusal_of(lambda: rates.take(ADDRESS, 0.0))
    assert len(rates) == MAX_ADDRESSES
    refusal_of(lambda: rates.take(ADDRESS, 0.0))


def test_addresses_with_full_buckets_are_dropped() -> None:
    """Each use of the rate limit drops some addresses whose buckets are full."""
    rates = RateLimit("guests", 2, 60)
    for number in range(100):
        rates.take(f"198.51.{number}", 0.0)
    for second in range(60):
        rates.take(ADDRESS, 60.0 + second)
    assert len(rates) == 1


def test_closed_sockets_and_rooms_are_forgotten() -> None:
    """Closed sockets and rooms are not counted, and their addresses are not kept."""
    sockets, room_slots = SocketLimit(1), RoomSlots(10, 10)
    for number in range(50):
        sockets.enter(f"198.51.{number}")
        sockets.leave(f"198.51.{number}")
        room_slots.take(RoomId("room"), f"198.51.{number}")
        room_slots.free(RoomId("room"))
        room_slots.free(RoomId("room"))
    assert not sockets._open
    assert not room_slots._rooms
    assert not room_slots._address


def test_limits_are_settings() -> None:
    """Each limit is a setting that 0 switches off, with the documented default."""
    named = {f"PLYROOM_{name.upper()}": "0" for name in NO_LIMITS}
    settings = settings_from_env(named)
    assert all(getattr(settings, name) == 0 for name in NO_LIMITS)
    assert [getattr(Settings(), name) for name in NO_LIMITS] == [
        1200,
        3000,
        120,
        600,
        600,
        600,
        200,
        60,
        2000,
        60,
        10,
        4,
        20,
        3,
        6,
        20,
        20,
        40,
        1,
        5,
        240,
        50,
        300,
        300,
        6000,
        3000,
        600,
        180,
        60,
        1200,
        300,
        1,
        20,
        2,
        60,
    ]
    for name in ("CHAT", "CHAT_ROOM"):
        with pytest.raises(SettingError, match="64 was expected"):
            settings_from_env({f"PLYROOM_LIMIT_{name}": "65"})


# --- guests ---------------------------------------------------------------------------------------


async def test_too_many_guests_of_an_address_are_refused() -> None:
    """Beyond the limit of an address, new guests are refused with a time to retry.

    Guests over HTTP and by hello count together. Known guests and other addresses are admitted.
    """
    async with (
        serve(limit_guests=4, limit_guests_per_minute=1, proxies=PROXIES) as node,
        node.http() as http,
    ):
        first = await make_guest(http)
        known = f"{node.cookie}={first.cookies[node.cookie].value}"
        assert (await make_guest(http)).status == 200
        for _ in range(2):
            async with node.socket(forwarded_for(ADDRESS)) as socket:
                await socket.hello()
        refused = await make_guest(http)
        assert (refused.status, refused.json.get("code")) == (429, Code.RATE_EXCEEDED)
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert f"try again in {refused.headers['retry-after']} s" in refused.json["message"]
        for headers in (
            forwarded_for(ADDRESS),
            forwarded_for(ADDRESS) | {"Cookie": "plyroom=nobody-has-it"},
        ):
            async with node.socket(headers) as socket:
                await socket.send(wire.Hello(protocol=wire.PROTOCOL))
                error = await socket.expect("error", code=Code.RATE_EXCEEDED)
                assert "try again in" in error["message"]
                assert await socket.wait_closed() == (Close.POLICY, Code.RATE_EXCEEDED)
        assert (await make_guest(http, ADDRESS, known)).json["identity"] == first.json["identity"]
        async with node.socket(forwarded_for(ADDRESS) | {"Cookie": known}) as socket:
            assert (await socket.hello())["identity"] == first.json["identity"]
        assert (await make_guest(http, OTHER_ADDRESS)).status == 200


async def test_an_ipv6_network_counts_as_one_address() -> None:
    """A /64 network counts as one address."""
    async with (
        serve(limit_guests=2, limit_guests_per_minute=1, proxies=PROXIES) as node,
        node.http() as http,
    ):
        answers = [(await make_guest(http, f"2001:db8::{number}")).status for number in range(1, 4)]
        assert answers == [200, 200, 429]
        assert (await make_guest(http, "2001:db8:0:1::1")).status == 200


@pytest.mark.parametrize("people", [30, 200])
async def test_a_school_class_and_a_club_can_connect(people: int) -> None:
    """With default settings, 30 or 200 people behind one address become guests and join a room."""

    async def connect_and_join(node: Node, stack: AsyncExitStack, room: str) -> None:
        async with node.http() as http:
            cookie = (await make_guest(http)).cookies[node.cookie].value
        headers = forwarded_for(ADDRESS) | {"Cookie": f"{node.cookie}={cookie}"}
        socket = await stack.enter_async_context(node.socket(headers))
        await socket.hello()
        await socket.ack("join", room=room)

    async with serve(proxies=PROXIES) as node, AsyncExitStack() as stack:
        teacher = Client(node.hub, "teacher")
        room = await teacher.create("tic-tac-toe")
        await asyncio.gather(*(connect_and_join(node, stack, room) for _ in range(people)))
        assert len(node.running.sessions) == people


# --- sockets --------------------------------------------------------------------------------------


async def test_too_many_sockets_of_an_address_are_refused() -> None:
    """Beyond the limit of sockets the handshake gets a 429 with Retry-After.

    Other addresses connect, and so does this one when a socket closes. Failed handshakes do not
    count.
    """
    async with serve(limit_sockets=3, proxies=PROXIES) as node, AsyncExitStack() as stack:
        for _ in range(5):
            async with node.http() as http:
                broken = UPGRADE | forwarded_for(ADDRESS) | {"Sec-WebSocket-Version": "12"}
                assert (await http.request("/ws", headers=broken)).status == 400
                await http.read_to_end()
        while node.hub.limits.sockets._open:
            await node.get("/livez")
        sockets = [
            await stack.enter_async_context(node.socket(forwarded_for(ADDRESS))) for _ in range(3)
        ]
        async with node.http() as http:
            refused = await http.request("/ws", headers=UPGRADE | forwarded_for(ADDRESS))
            assert (refused.status, refused.headers["retry-after"]) == (429, "10")
            assert b"your address has reached its limit of open connections (3)" in refused.body
        async with node.socket(forwarded_for(OTHER_ADDRESS)) as other:
            await other.hello()
        await sockets[0].connection.close()
        while node.hub.limits.sockets._open[ADDRESS] == 3:
            await node.get("/livez")
        async with node.socket(forwarded_for(ADDRESS)) as socket:
            await socket.hello()


async def test_a_connection_that_ends_in_its_handshake_is_not_counted() -> None:
    """A client that sends its handshake and the end of its data at once takes no socket for good.

    Its connection may be closed by the time the handshake is answered.
    """
    async with serve(limit_sockets=3, proxies=PROXIES) as node:
        for _ in range(10):
            async with node.http() as http:
                http.writer.write(handshake(node.host, f"X-Forwarded-For: {ADDRESS}"))
                http.writer.write_eof()
                await http.reader.read()
        await node.get("/livez")
        assert not node.hub.limits.sockets._open


async def test_get_ws_gives_the_reason_for_a_refused_handshake() -> None:
    """GET /ws gives the reason for a refused handshake, which a browser hides from its page."""
    async with serve(limit_sockets=1, proxies=PROXIES) as node:
        assert (await node.get("/ws", **forwarded_for(ADDRESS))).status == 200
        async with node.socket(forwarded_for(ADDRESS)):
            answer = await node.get("/ws", **forwarded_for(ADDRESS))
            assert (answer.status, answer.json["code"]) == (429, Code.RATE_EXCEEDED)
            assert answer.headers["retry-after"] == "10"
            assert (await node.get("/ws", **forwarded_for(OTHER_ADDRESS))).status == 200


async def test_the_python_client_reports_the_limit() -> None:
    """The Python client reports the limit that refuses it, and the time to retry."""
    async with serve(limit_sockets=1, limit_guests=1, limit_guests_per_minute=1) as node:
        url = f"http://{node.host}"
        async with connect(url) as client:
            with pytest.raises(
                Unreachable, match="no more connections from your address; try again in 10 s"
            ):
                async with connect(url):
                    raise AssertionError("it was admitted")
            token = client.token
        while node.hub.limits.sockets._open:
            await node.get("/livez")
        with pytest.raises(
            Refused, match=r"1 new guests at once and then 1 a minute; try again in .* s"
        ):
            async with connect(url):
                raise AssertionError("it was admitted")
        while node.hub.limits.sockets._open:
            await node.get("/livez")
        async with connect(url, token) as again:
            assert again.identity == client.identity


# --- rooms ----------------------------------------------------------------------------------------


def server_for_any_identity(**settings: Any) -> FakeServer:
    """Returns a fake server without limits on identities: an attacker has any number of guests."""
    fake = FakeServer()
    changes: dict[str, Any] = {"rooms_burst": 10**6, **settings}
    fake.settings = replace(fake.settings, **changes)
    return fake


async def create(client: Client, address: str, **fields: Any) -> RoomId:
    """Creates a room from this address and returns its id."""
    command = Create(id=client.new_id(), game="tic-tac-toe", **fields)
    ack = await client.hub.create(client.actor, command, address)
    assert isinstance(ack.room, str)
    return RoomId(ack.room)


async def create_refusal(client: Client, address: str) -> tuple[Code, int]:
    """Creates a room, which must be refused; returns the code and the time to retry in seconds."""
    with pytest.raises(LimitExceeded) as refused:
        await create(client, address)
    return refused.value.code, refused.value.retry_s


@virtual
async def test_too_many_rooms_of_an_address_are_refused() -> None:
    """The limit of rooms per minute is for an address, with any number of guests.

    A repeated create gets its ack beyond the limit.
    """
    fake = server_for_any_identity(limit_rooms_per_minute=6)
    async with fake.hub() as hub:
        command = Create(id="c", game="tic-tac-toe")
        first = Client(hub, "first")
        ack = await hub.create(first.actor, command, ADDRESS)
        for number in range(5):
            await create(Client(hub, f"guest{number}"), ADDRESS)
        assert await create_refusal(Client(hub, "late"), ADDRESS) == (Code.RATE_EXCEEDED, 10)
        assert await hub.create(first.actor, command, ADDRESS) == ack
        await create(Client(hub, "elsewhere"), OTHER_ADDRESS)
        await asyncio.sleep(10)
        await create(Client(hub, "late"), ADDRESS)


@virtual
async def test_one_address_cannot_fill_the_server() -> None:
    """Rooms that an address created or opened take at most a tenth of the rooms in memory.

    Other addresses can still create rooms.
    """
    fake = server_for_any_identity(max_rooms=40, limit_rooms_per_minute=0)
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        old = [await create(ada, OTHER_ADDRESS) for _ in range(4)]
        hub.close_idle_rooms(0)
        for _ in range(4):
            await ada.ack(ada.join(await create(ada, ADDRESS)))
        assert await create_refusal(ada, ADDRESS) == (Code.ROOM_LIMIT, 60)
        join = ada.join(old[0])
        assert not hub.submit(old[0], Request(ada.actor, join, ada, address=ADDRESS))
        assert (await ada.answer(join.id))["code"] == Code.ROOM_LIMIT
        join = ada.join(old[0])
        assert hub.submit(old[0], Request(ada.actor, join, ada, address=OTHER_ADDRESS))
        assert (await ada.answer(join.id))["t"] == "ack"
        await ben.ack(ben.join(await create(ben, OTHER_ADDRESS)))
        ada.close()
        await create(ada, ADDRESS)


@virtual
async def test_a_created_room_can_be_joined() -> None:
    """A created room keeps its place until its creator has had time to join."""
    fake = server_for_any_identity(max_rooms=3)
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        rooms = [await create(ada, f"192.0.2.{number}") for number in range(3)]
        assert (await create_refusal(ben, "192.0.2.4"))[0] is Code.ROOM_LIMIT
        assert await ben.expect_refusal(ben.join("unknown")) == Code.ROOM_LIMIT
        for room in rooms:
            await ada.ack(ada.join(room))
        ada.close()
        await create(ben, "192.0.2.4")


@virtual
async def test_a_room_that_nobody_joined_loses_its_place() -> None:
    """A room that nobody joins loses its place after 10 s; a failed create frees it at once."""
    fake = server_for_any_identity(max_rooms=1)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        fake.store.fail("create_room", Fault(), Fault(after=True))
        for _ in range(2):
            with pytest.raises(Exception, match="a fault of the test"):
                await create(ada, ADDRESS)
        await create(ada, ADDRESS)
        assert (await create_refusal(ada, OTHER_ADDRESS))[0] is Code.ROOM_LIMIT
        await asyncio.sleep(10.1)
        await create(ada, OTHER_ADDRESS)
        assert len(hub) == 1


@virtual
async def test_concurrent_creates_cannot_exceed_max_rooms() -> None:
    """A room takes its place in memory before it is written to the store."""
    fake = server_for_any_identity(max_rooms=5)
    async with fake.hub() as hub:
        gate = fake.store.hold("create_room")
        creating = [
            asyncio.create_task(create(Client(hub, f"g{n}"), f"192.0.2.{n}")) for n in range(12)
        ]
        await fake.store.waiting["create_room"].wait()
        gate.set()
        answers = await asyncio.gather(*creating, return_exceptions=True)
        created = [answer for answer in answers if isinstance(answer, str)]
        assert len(created) == 5
        assert {answer.room for answer in await fake.store.projections.rooms(99)} == set(created), (
            "no room was created without a place"
        )
        assert all(
            isinstance(answer, CommandRejected) for answer in answers if not isinstance(answer, str)
        )
        ada = Client(hub, "ada")
        for room in created:
            await ada.ack(ada.join(room))


async def test_limits_hold_over_sockets() -> None:
    """Commands over a socket count towards the limits of the socket's address."""
    async with serve(limit_rooms_per_minute=2, proxies=PROXIES) as node:
        codes = []
        for address in (ADDRESS, ADDRESS, ADDRESS, OTHER_ADDRESS):
            async with node.socket(forwarded_for(address)) as socket:
                await socket.hello()
                answer = await socket.ask("create", game="tic-tac-toe")
                codes.append(answer.get("code", answer["t"]))
        assert codes == ["ack", "ack", Code.RATE_EXCEEDED, "ack"]
    async with serve(limit_rooms_percent=1, max_rooms=100, proxies=PROXIES) as node:
        old = await Client(node.hub, "ada").create()
        node.hub.close_idle_rooms(0)
        async with (
            node.socket(forwarded_for(ADDRESS)) as client,
            node.socket(forwarded_for(OTHER_ADDRESS)) as other,
        ):
            await client.hello()
            await other.hello()
            await client.ack("join", room=(await client.ack("create", game="tic-tac-toe"))["room"])
            assert await client.expect_refusal("join", room=old) == Code.ROOM_LIMIT
            await other.ack("join", room=old)
