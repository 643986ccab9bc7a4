"""The configuration of HAProxy, in front of a fake node: the headers that it sets or refuses."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from server.deploy.cluster.plan import DEPLOY, Service
from server.deploy.cluster.running import Member, answers
from server.deploy.free_ports import free_ports
from tests.support.node import Http

#: The origin headers, which only the proxy may set.
HEADERS = ("x-forwarded-for", "x-forwarded-proto")


class FakeNode:
    """Records the header section of each request and answers with an empty body."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if not head.startswith("GET /started"):
                    self.heads.append(head)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    def origins(self) -> list[list[str]]:
        """The origin headers of each request."""
        return [
            [line for line in head.lower().split("\r\n") if line.partition(":")[0] in HEADERS]
            for head in self.heads
        ]


@asynccontextmanager
async def proxied(folder: Path) -> AsyncIterator[tuple[int, FakeNode]]:
    """Starts a proxy in front of a fake node; yields the proxy's port and the node."""
    node = FakeNode()
    server = await asyncio.start_server(node.serve, "127.0.0.1", 0)
    node_port = server.sockets[0].getsockname()[1]
    (port,) = free_ports(1)
    text = (DEPLOY / "haproxy.cfg").read_text().replace("bind :8000", f"bind 127.0.0.1:{port}")
    text = re.sub(
        r"^ +(default-server|option httpchk|http-check|server node2) .*$",
        "",
        text,
        flags=re.MULTILINE,
    )
    (folder / "haproxy.cfg").write_text(text.replace("node1:8000", f"127.0.0.1:{node_port}"))
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin") or "haproxy"
    proxy = Member(
        Service("proxy", [program, "-db", "-f", str(folder / "haproxy.cfg")], {}),
        folder,
        port,
        "/started",
    )
    try:
        await proxy.start()
        assert await answers(port, "/started")
        yield port, node
    finally:
        await proxy.close()
        server.close()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Http]:
    """Opens a connection to the proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Http(reader, writer, "localhost")
    finally:
        writer.close()


async def test_the_proxy_sets_the_origin_headers(tmp_path: Path) -> None:
    """The proxy replaces the origin headers, so a client's own values never reach a node.

    That holds for every request of a connection.
    """
    forged = {"X-Forwarded-For": "203.0.113.7", "x-forwarded-proto": "https"}
    async with proxied(tmp_path) as (port, node), connected(port) as http:
        for headers in (forged, {}, forged):
            assert (await http.request("/api/games", headers=headers)).status == 200
        expected = {"x-forwarded-for: 127.0.0.1", "x-forwarded-proto: http"}
        assert [set(headers) for headers in node.origins()] == [expected] * 3
        assert [len(headers) for headers in node.origins()] == [2] * 3


async def test_the_proxy_refuses_compressed_bodies(tmp_path: Path) -> None:
    """A compressed body gets 415 before it reaches a node, on any request of a connection."""
    async with proxied(tmp_path) as (port, node):
        for earlier_requests in (0, 1):
            async with connected(port) as http:
                for _ in range(earlier_requests):
                    assert (await http.request("/livez")).status == 200
                answer = await http.request(
                    "/nothing", "POST", {"Content-Encoding": "gzip"}, b"compressed"
                )
                assert answer.status == 415
        assert [head.split()[1] for head in node.heads] == ["/livez"]
