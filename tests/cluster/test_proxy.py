"""The configuration of HAProxy, in front of fake nodes: the headers that it sets or refuses, and
the node that it chooses.
"""

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from server.deploy.cluster.plan import DEPLOY, Service, proxy_config
from server.deploy.cluster.running import Member, is_answering
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
        """Returns the origin headers of each request."""
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
        r"^ +(default-server|option httpchk|http-check|server node2) .*$| track nodes/node1",
        "",
        text,
        flags=re.MULTILINE,
    )
    (folder / "haproxy.cfg").write_text(text.replace("node1:8000", f"127.0.0.1:{node_port}"))
    proxy = proxy_member(folder, port)
    try:
        await proxy.start()
        assert await is_answering(port, "/started")
        yield port, node
    finally:
        await proxy.kill()
        server.close()


def proxy_member(folder: Path, port: int) -> Member:
    """Returns a proxy with the configuration in that folder."""
    program = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin") or "haproxy"
    service = Service("proxy", [program, "-db", "-f", str(folder / "haproxy.cfg")], {})
    return Member(service, folder, port, "/started")


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


# --- the choice of a node

#: The ids of the rooms whose sockets a test opens.
ROOMS = [f"room{number}" for number in range(150)]


class NamedNode:
    """A node that answers each request with its name, and leaves requests for /held unanswered."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self.held = 0
        self.is_full = False
        #: The version whose files it has.
        self.version = "new"
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def stop(self) -> None:
        """Refuses connections from now on."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split()[1]
            if path == "/held":
                self.held += 1
                await reader.read()
            elif path.startswith("/static/") and not path.startswith(f"/static/{self.version}/"):
                writer.write(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            elif self.is_full and path.startswith("/ws"):
                writer.write(b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            else:
                answer = f"HTTP/1.1 200 OK\r\nX-Node: {self.name}\r\nContent-Length: 0\r\n"
                writer.write(f"{answer}Connection: close\r\n\r\n".encode())
        writer.close()


@asynccontextmanager
async def balanced(folder: Path, nodes: list[NamedNode]) -> AsyncIterator[int]:
    """Starts a proxy in front of these nodes, as the cluster starter does; yields its port."""
    (port,) = free_ports(1)
    text = proxy_config(port, [(node.port, node.port) for node in nodes])
    (folder / "haproxy.cfg").write_text(text)
    proxy = proxy_member(folder, port)
    try:
        await proxy.start()
        yield port
    finally:
        await proxy.kill()


@asynccontextmanager
async def named_nodes(count: int) -> AsyncIterator[list[NamedNode]]:
    """Starts this many nodes."""
    ports = free_ports(count)
    nodes = [NamedNode(f"node{number}", port) for number, port in enumerate(ports, 1)]
    for node in nodes:
        await node.start()
    try:
        yield nodes
    finally:
        for node in nodes:
            await node.stop()


async def node_of(port: int, room: str) -> str:
    """Returns the name of the node to which the proxy sends a socket of that room."""
    async with connected(port) as http:
        answer = await http.request(f"/ws?room={room}")
    assert answer.status == 200
    return answer.headers["x-node"]


async def nodes_of_rooms(port: int) -> dict[str, str]:
    return {room: await node_of(port, room) for room in ROOMS}


async def test_sockets_of_a_room_go_to_the_same_node(tmp_path: Path) -> None:
    """Each room has one node, and each node has a fair share of the rooms."""
    async with named_nodes(3) as nodes, balanced(tmp_path, nodes) as port:
        chosen = await nodes_of_rooms(port)
        assert await nodes_of_rooms(port) == chosen
        shares = Counter(chosen.values())
        assert all(shares[node.name] >= len(ROOMS) / 6 for node in nodes), shares


async def test_a_node_that_leaves_moves_only_its_own_rooms(tmp_path: Path) -> None:
    """While a node is down its rooms are on the others, which keep theirs; once it is back, it has
    its rooms again.
    """
    async with named_nodes(3) as nodes, balanced(tmp_path, nodes) as port:
        before = await nodes_of_rooms(port)
        gone = nodes[1]
        await gone.stop()
        without = await nodes_of_rooms(port)
        moved = {room for room in ROOMS if without[room] != before[room]}
        assert moved == {room for room in ROOMS if before[room] == gone.name}
        assert len({without[room] for room in moved}) == 2, "both others take a part"
        await gone.start()
        async with asyncio.timeout(60):
            while await nodes_of_rooms(port) != before:
                pass  # until the proxy has checked the node


async def test_a_node_that_is_added_takes_only_its_share(tmp_path: Path) -> None:
    """A configuration with one more node moves rooms to that node only."""
    async with named_nodes(3) as nodes:
        async with balanced(tmp_path, nodes[:2]) as port:
            before = await nodes_of_rooms(port)
        async with balanced(tmp_path, nodes) as port:
            after = await nodes_of_rooms(port)
    moved = {room for room in ROOMS if after[room] != before[room]}
    assert {after[room] for room in moved} == {"node3"}
    assert 0 < len(moved) < len(ROOMS) / 2


async def test_a_full_node_passes_a_room_on(tmp_path: Path) -> None:
    """When the room's node refuses a socket because it is full, another node serves it."""
    async with named_nodes(3) as nodes, balanced(tmp_path, nodes) as port:
        first = await node_of(port, "popular")
        (full,) = [node for node in nodes if node.name == first]
        full.is_full = True
        assert await node_of(port, "popular") != first


async def test_other_connections_go_to_the_node_with_the_fewest(tmp_path: Path) -> None:
    """Requests that name no room are spread evenly."""
    async with named_nodes(3) as nodes, balanced(tmp_path, nodes) as port:
        writers = []
        for number in range(1, 7):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n")
            writers.append(writer)
            async with asyncio.timeout(60):
                while sum(node.held for node in nodes) < number:
                    await asyncio.sleep(0.01)
        assert [node.held for node in nodes] == [2, 2, 2]
        for writer in writers:
            writer.close()


@pytest.mark.parametrize("count", [2, 3])
async def test_files_of_two_versions(tmp_path: Path, count: int) -> None:
    """While nodes of two versions run, the files of a page come from a node that has them, also
    when a browser requests them together; a file that no node has is missing.
    """

    async def status(port: int, path: str) -> int:
        async with connected(port) as http:
            return (await http.request(path)).status

    async with named_nodes(count) as nodes, balanced(tmp_path, nodes) as port:
        nodes[0].version = "old"
        for version in ("old", "new"):
            paths = [f"/static/{version}/{number}.js" for number in range(20)]
            assert [await status(port, path) for path in paths] == [200] * 20
            together = await asyncio.gather(*(status(port, path) for path in paths))
            assert together == [200] * 20
        assert await status(port, "/static/older/main.js") == 404
        assert await status(port, "/ws?room=popular") == 200
