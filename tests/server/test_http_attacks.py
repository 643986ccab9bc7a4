"""Hostile HTTP requests are refused at little cost, at any point of a connection."""

import asyncio
import contextlib
import gzip
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp.http_parser
import aiohttp.streams
import pytest
from aiohttp import web

from server.address import Proxies
from server.net.listener import ConnectionSlots, ProtocolDetector
from server.protocol.codes import Code
from server.web.connection import LINGER_BYTES, PIECE_BYTES, HttpConnections
from tests.server.test_listener import SECURITY, UPGRADE
from tests.support.fake_server import FakeServer, run_ready_tasks
from tests.support.node import WAIT_S, Http, Node, serve

#: One megabyte of zeros in one kilobyte.
BOMB = gzip.compress(bytes(2**20))
ENCODED = {"Content-Encoding": "gzip", "Content-Length": str(len(BOMB))}
CHUNKED = {"Transfer-Encoding": "chunked"}


def head(target: str, method: str = "POST", **headers: str) -> bytes:
    """Returns the head of a request."""
    lines = [
        f"{method} {target} HTTP/1.1",
        "Host: localhost",
        *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def decompressed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records the encodings for which a decompressor was made."""
    encodings: list[str] = []
    real = getattr(aiohttp.http_parser, "ZLibDecompressor")  # noqa: B009 (mypy refuses the attribute: it is not exported)

    def spy(encoding: str | None = None, **options: Any) -> Any:
        encodings.append(encoding or "")
        return real(encoding=encoding, **options)

    monkeypatch.setattr(aiohttp.http_parser, "ZLibDecompressor", spy)
    return encodings


# --- bodies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("POST", "/api/guest", {}), ("POST", "/livez", {}), ("GET", "/", {}),
        ("PUT", "/nothing", {}),
        ("HEAD", "/api/games", {}),
        ("GET", "/ws", {"Upgrade": "websocket", "Connection": "Upgrade"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["first", "kept alive", "pipelined"])
async def test_compressed_bodies_are_refused(
    method: str, target: str, headers: dict[str, str], place: str, decompressed: list[str]
) -> None:
    """Compressed bodies get 415 for any method and path, on every request of a connection.

    No decompressor is made.
    """
    if place == "first" and "Upgrade" in headers:
        place = "kept alive"  # a first request would become a WebSocket
    async with serve() as node, node.http() as http:
        before = b"" if place == "first" else head("/livez", "GET")
        http.writer.write(before)
        if place == "kept alive":
            assert (await http.response()).status == 200
        http.writer.write(head(target, method, **ENCODED, **headers) + BOMB)
        if place == "pipelined":
            assert (await http.response()).status == 200, "the earlier request is answered"
        answer = await http.response()
        assert (answer.status, answer.json["code"]) == (415, "http.415")
        assert await http.read_to_end() == b""
        assert decompressed == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity", "nonsense"])
async def test_every_encoding_is_refused(encoding: str, decompressed: list[str]) -> None:
    """Every content encoding gets 415, in chunks too."""
    async with serve() as node, node.http() as http:
        http.writer.write(
            head("/api/guest", **CHUNKED, Content_Encoding=encoding) + b"5\r\nabcde\r\n0\r\n\r\n"
        )
        assert (await http.response()).status == 415
        assert await http.read_to_end() == b""
        assert decompressed == []


async def test_the_metrics_port_accepts_no_bodies(decompressed: list[str]) -> None:
    """A request to the metrics port with a body gets 415, 411 or 413, as on the players' port."""
    async with serve(metrics_port=0) as node:
        for headers, status in ((ENCODED, 415), (CHUNKED, 411), ({"Content-Length": "1"}, 413)):
            reader, writer = await asyncio.open_connection("127.0.0.1", node.running.metrics_port)
            writer.write(head("/metrics", "GET", **headers))
            http = Http(reader, writer, "localhost")
            assert (await http.response()).status == status
            writer.close()
        assert decompressed == []


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/api/guest", CHUNKED, 411), ("/api/guest", {"Transfer-Encoding": "gzip, chunked"}, 411),
        ("/api/guest", {"Content-Length": "4097"}, 413),
        ("/api/guest", {"Content-Length": str(2**60)}, 413),
        ("/api/games", {"Content-Length": "1"}, 413), ("/nothing", {"Content-Length": "1"}, 413),
        ("/livez", {f"X{n}": "x" * 1000 for n in range(40)}, 431),
        ("/api/guest", {"Content-Length": "2", "Expect": "the unexpected"}, 417),
        ("/api/guest", {"Content-Length": "4097", "Expect": "100-continue"}, 413),
    ],
)  # fmt: skip
async def test_a_body_is_refused_before_it_is_read(
    target: str, headers: dict[str, str], status: int
) -> None:
    """The refusal arrives before the client sends the body, without 100 Continue.

    It closes the connection.
    """
    async with serve() as node, node.http() as http:
        assert (await http.request("/livez")).status == 200
        http.writer.write(head(target, **headers))
        answer = await http.response()
        assert (answer.status, answer.json["code"]) == (status, f"http.{status}")
        assert answer.headers["connection"] == "close"


async def test_an_accepted_body_gets_100_continue() -> None:
    """A body that is accepted gets 100 Continue and its answer, and the connection stays open."""
    async with serve() as node, node.http() as http:
        http.writer.write(head("/api/guest", Content_Length="2", Expect="100-continue"))
        assert (await http.response()).status == 100
        http.writer.write(b"{}")
        assert (await http.response()).status == 200
        assert (await http.request("/livez")).status == 200


@pytest.mark.parametrize("before", [b"", head("/livez", "GET") * 3])
async def test_a_refused_body_is_not_parsed(before: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a refused body of 30,000 chunks, only the few that arrive with the head are parsed."""
    chunks = 0
    real = aiohttp.streams.StreamReader.begin_http_chunk_receiving

    def count(reader: aiohttp.streams.StreamReader) -> None:
        nonlocal chunks
        chunks += 1
        real(reader)

    monkeypatch.setattr(aiohttp.streams.StreamReader, "begin_http_chunk_receiving", count)
    async with serve() as node, node.http() as http:
        http.writer.write(
            before + head("/api/guest", **CHUNKED) + b"1\r\nx\r\n" * 30_000 + b"0\r\n\r\n"
        )
        for _ in range(before.count(b"GET")):
            assert (await http.response()).status == 200
        assert (await http.response()).status == 411
        assert await http.read_to_end() == b"", "the end of its body ends the connection"
        assert chunks <= PIECE_BYTES // len(b"1\r\nx\r\n") + 1


async def test_bytes_after_a_refused_request_are_not_served() -> None:
    """Bytes after a refused request are never parsed as another request."""
    async with serve() as node, node.http() as http:
        http.writer.write(head("/api/guest", **ENCODED) + BOMB + head("/api/guest") * 5)
        assert (await http.response()).status == 415
        assert await http.read_to_end() == b""
        assert node.fake.store.memory.tables.identities == {}


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (head("/livez", "GET", Upgrade="tcp", Connection="Upgrade"), 400),
        (head("/livez", "GET", Upgrade="websocket"), 400), (head("/livez", "GET", **UPGRADE), 400),
        (head("localhost:80", "CONNECT"), 405),
    ],
)  # fmt: skip
async def test_requests_after_an_upgrade_are_not_served(first: bytes, status: int) -> None:
    """Bytes after a request to change the protocol are never served as requests."""
    async with serve() as node, node.http() as http:
        assert (await http.request("/livez")).status == 200
        http.writer.write(
            first + head("/api/guest", **CHUNKED) + b"2\r\n{}\r\n0\r\n\r\n" + head("/api/guest")
        )
        assert (await http.response()).status == status
        assert await http.read_to_end() == b""
        assert node.fake.store.memory.tables.identities == {}


async def test_a_refused_body_without_end_is_cut_off() -> None:
    """A refused body without end is cut off after a megabyte."""
    async with serve() as node, node.http() as http:
        http.writer.write(head("/api/guest", **CHUNKED))
        assert (await http.response()).status == 411
        sent = 0
        async with asyncio.timeout(WAIT_S):
            with contextlib.suppress(ConnectionError):
                while True:
                    http.writer.write(b"ffff\r\n" + bytes(2**16))
                    await http.writer.drain()
                    sent += 2**16
        assert sent < LINGER_BYTES + 2**24, "the network's buffers hold up to 16 MiB"


async def test_pipelined_requests_are_answered_a_few_at_a_time() -> None:
    """Other connections are served between the answers to pipelined requests."""
    async with serve() as node, node.http() as greedy, node.http() as other:
        greedy.writer.write(head("/livez", "GET") * 3000)
        await greedy.response()
        assert (await other.request("/livez")).status == 200
        answer_count = 1 + (await greedy.reader.read(2**20)).count(b"HTTP/1.1 200")
        assert answer_count < 3000


# --- refusals below the handlers ------------------------------------------------------------------

BAD_HANDSHAKE = {**UPGRADE, "Sec-WebSocket-Key": "no key"}


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400), (b"GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400),
        (head("/" + "x" * 9000, "GET"), 400),
        (head("/", "GET", **{f"X{n}": "y" for n in range(200)}), 400),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000, 431), (head("/api/guest", **CHUNKED), 411),
        (head("/ws", "GET", **BAD_HANDSHAKE), 400), (head("/other", "GET", **UPGRADE), 404),
        (head("/ws", "GET", **UPGRADE, X="x" * 9000), 431),
        (head("/ws", "GET", **UPGRADE, Content_Encoding="br"), 415),
        (head("/ws", "GET", **UPGRADE, **{f"X{n}": "y" for n in range(200)}), 431),
        (head("/ws", "GET", **{**UPGRADE, "Sec-WebSocket-Version": "12"}), 400),
    ],
)  # fmt: skip
async def test_early_refusals_have_the_security_headers(request_bytes: bytes, status: int) -> None:
    """Refusals of the listener, of aiohttp's parser and of `websockets` carry the security headers
    and reveal no versions.
    """
    async with serve() as node, node.http() as http:
        http.writer.write(request_bytes)
        answer = await http.response()
        assert answer.status == status
        for name, value in SECURITY.items():
            assert answer.headers.get(name, "").startswith(value), name
        text = f"{answer.headers} {answer.body!r}".lower()
        for program in ("python", "aiohttp", "websockets/"):
            assert program not in text


# --- many connections -----------------------------------------------------------------------------


async def test_a_growing_head_is_searched_once() -> None:
    """In a head that arrives in pieces, each search starts near the end of the previous one."""

    searches: list[tuple[int, int]] = []

    class Spy(bytearray):
        def find(self, sub: Any, start: Any = 0, *rest: Any) -> int:
            searches.append((start, len(self)))
            return super().find(sub, start, *rest)

    async with serve() as node, node.http() as http:
        real = ProtocolDetector.connection_made

        def spied(detector: ProtocolDetector, transport: asyncio.BaseTransport) -> None:
            detector._head = Spy()
            real(detector, transport)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ProtocolDetector, "connection_made", spied)
            async with node.http() as slow:
                for piece in (
                    b"GET /livez HTTP/1.1\r\n",
                    b"Host: x\r\n",
                    b"X: " + b"x" * 500,
                    b"\r",
                    b"\n\r",
                    b"\n",
                ):
                    slow.writer.write(piece)
                    await http.request("/livez")  # the piece has arrived by now
                assert (await slow.response()).status == 200
    assert len(searches) > 1
    for (_, before), (start, _) in itertools.pairwise(searches):
        assert start >= before - 3


@asynccontextmanager
async def connected(node: Node, address: str) -> AsyncIterator[Http]:
    """Opens a connection from one of this machine's loopback addresses."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", node.running.port, local_addr=(address, 0)
    )
    try:
        yield Http(reader, writer, node.host)
    finally:
        writer.close()


async def test_one_address_gets_half_of_the_slots() -> None:
    """An address that holds half of the slots gets 503; other addresses are served.

    Freed slots are used again.
    """
    async with serve(max_http=4) as node, AsyncExitStack() as stack:
        held = [await stack.enter_async_context(connected(node, "127.0.0.1")) for _ in range(2)]
        for http in held:
            assert (await http.request("/livez")).status == 200
        async with connected(node, "127.0.0.1") as third:
            answer = await third.response()
            assert answer.status == 503
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert await third.read_to_end() == b""
        async with connected(node, "127.0.0.2") as other:
            assert (await other.request("/livez")).status == 200
        held[0].writer.write(head("/livez", "GET", Connection="close"))
        await held[0].read_to_end()
        async with connected(node, "127.0.0.1") as again:
            assert (await again.request("/livez")).status == 200


async def test_the_longest_silent_connection_is_closed_for_a_new_one() -> None:
    """When all slots are taken, a new connection gets the slot of the longest silent one.

    HTTP connections in use stay.
    """
    async with serve(max_http=3, proxies=("127.0.0.1",)) as node, AsyncExitStack() as stack:
        used = await stack.enter_async_context(node.http())
        assert (await used.request("/livez")).status == 200
        silent = [await stack.enter_async_context(node.http()) for _ in range(2)]
        newcomer = await stack.enter_async_context(node.http())
        assert (await newcomer.request("/livez")).status == 200
        assert await silent[0].read_to_end() == b""
        for http in (used, silent[1], newcomer):
            assert (await http.request("/livez")).status == 200
        async with node.http() as late:
            assert (await late.response()).status == 503, "no connection is silent"


async def test_websockets_take_no_slots() -> None:
    """WebSockets do not count towards `max_http`."""
    async with serve(max_http=2) as node, node.guest(), node.guest(), node.guest():
        assert (await node.get("/livez")).status == 200


def test_slots_are_counted_by_address() -> None:
    """Slots count IPv6 addresses by /64; connections without an address count in the total only."""
    slots = ConnectionSlots(4, Proxies())

    class Quiet(ProtocolDetector):
        def __init__(self) -> None:
            pass

    for peer, enters in (
        ("2001:db8::1", True),
        ("2001:db8::2", True),
        ("2001:db8::3", False),
        (None, True),
    ):
        assert (slots.enter(Quiet(), peer) is not None) is enters, peer


async def test_a_client_that_reads_nothing_is_cut_off() -> None:
    """A connection with unsent bytes whose client reads nothing between two sweeps is aborted."""

    async def big(request: web.Request) -> web.Response:
        return web.Response(body=bytes(2**24))

    app = web.Application()
    app.router.add_get("/", big)
    runner = web.AppRunner(app)
    await runner.setup()
    http = HttpConnections(runner, lambda method, path: 0, 20.0)
    server = await asyncio.get_running_loop().create_server(http.make, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", server.sockets[0].getsockname()[1], limit=2**12
    )
    writer.write(head("/", "GET"))
    await reader.readexactly(12)
    (connection,) = http._open
    while not connection._raw_transport or not connection._raw_transport.get_write_buffer_size():
        await asyncio.sleep(0)
    http.sweep()
    await reader.readexactly(2**23)  # continues to read
    http.sweep()
    await run_ready_tasks()
    assert len(http) == 1
    while len(http):
        http.sweep()
        await asyncio.sleep(0)
    server.close()
    await runner.cleanup()
    writer.close()


class AdjustableServer(FakeServer):
    """A fake server on which a test lets time pass."""

    ahead_ms = 0

    def uptime_ms(self) -> int:
        return super().uptime_ms() + self.ahead_ms


# --- the rate limit of an address -----------------------------------------------------------------


async def test_requests_are_limited_by_address() -> None:
    """Requests beyond an address's limit get 429 with Retry-After, also behind a trusted proxy."""
    fake = AdjustableServer()
    settings: dict[str, Any] = {
        "proxies": ("127.0.0.1",),
        "limit_requests_burst": 3,
        "limit_requests_per_minute": 30,
    }
    async with serve(fake, "n1", **settings) as node:
        ada, ben = {"X-Forwarded-For": "198.51.100.1"}, {"X-Forwarded-For": "198.51.100.2"}
        async with node.http() as http:
            for _ in range(3):
                assert (await http.request("/api/matches", headers=ada)).status == 200
            refused = await http.request("/api/matches", headers=ada)
            assert (refused.status, refused.json["code"]) == (429, Code.RATE_EXCEEDED)
            assert refused.headers["retry-after"] == "2"
            assert (await http.request("/api/matches", headers=ben)).status == 200
            assert (await http.request("/livez", headers=ada)).status == 200
            fake.ahead_ms += 2000
            assert (await http.request("/api/matches", headers=ada)).status == 200
            assert (await http.request("/api/matches", headers=ada)).status == 429


async def test_zero_switches_the_limit_off() -> None:
    """A limit of 0 per minute means no limit."""
    async with (
        serve(limit_requests_burst=1, limit_requests_per_minute=0) as node,
        node.http() as http,
    ):
        for _ in range(5):
            assert (await http.request("/api/matches")).status == 200
