"""The start of the server: its output, and the browsers that can connect."""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from server.process.network import is_container
from server.protocol.messages import PROTOCOL, Hello
from tests.support.raw_websocket import raw_socket
from tests.support.server_process import ServerProcess, assert_no_traceback, serving


def own_address() -> str:
    """Returns an IPv4 address of this machine that is not a loopback address."""
    for addresses in psutil.net_if_addrs().values():
        for entry in addresses:
            if entry.family is socket.AF_INET and not entry.address.startswith("127."):
                return str(entry.address)
    pytest.skip("this machine has only loopback IPv4 addresses")


async def get(
    port: int, path: str, host: str = "127.0.0.1", *headers: str, method: str = "GET"
) -> str:
    """Sends a raw HTTP request; returns the whole response."""
    async with raw_socket(port, host) as connection:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Connection: close",
            *headers,
            "",
            "",
        ]
        connection.writer.write("\r\n".join(lines).encode())
        return (await connection.reader.read()).decode()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def started(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    """A server with a search worker, started as a user starts it; it must end cleanly."""
    data = tmp_path_factory.mktemp("started") / "data"
    async with serving(data, workers=1, is_forked=False) as server:
        yield server
        assert await server.stop() == 0
    assert_no_traceback(server)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_start_prints_the_address_and_serves_the_page_there(started: ServerProcess) -> None:
    """The first line is the local address; the page is there, and the server is ready."""
    assert started.announced[0] == f"Plyroom is at http://127.0.0.1:{started.port}/"
    assert str(started.data) in started.announced[-1]
    assert "<!doctype html>" in (await get(started.port, "/")).lower()
    for path in ("/livez", "/readyz"):
        assert (await get(started.port, path)).startswith("HTTP/1.1 200 ")


@pytest.mark.asyncio(loop_scope="module")
async def test_the_server_process_never_loads_the_compiler(started: ServerProcess) -> None:
    """Only search workers load Numba and LLVM, which take a second and 100 MB."""
    assert (await get(started.port, "/api/games")).startswith("HTTP/1.1 200 ")
    maps = psutil.Process(started.pid).memory_maps()
    loaded = {Path(mapped.path).name.lower() for mapped in maps}
    assert any("numpy" in path.lower() or "multiarray" in path for path in loaded), (
        "memory_maps lists libraries"
    )
    assert [name for name in loaded if "llvm" in name or "numba" in name] == []


async def test_the_network_can_connect_and_foreign_pages_cannot(tmp_path: Path) -> None:
    """A server on all networks prints its network address, or what to set in a container.

    Browsers that open its page there may connect and become guests. Pages of other origins may not,
    nor pages under another name that resolves to the server.
    """
    address = own_address()
    async with serving(tmp_path / "data", host="0.0.0.0") as server:
        assert server.announced[0] == f"Plyroom is at http://127.0.0.1:{server.port}/"
        said = "Set PLYROOM_URL" if is_container() else "Others on your network open http://"
        assert said in server.announced[1]
        own_origin = f"http://{address}:{server.port}"
        assert "<!doctype html>" in (await get(server.port, "/", address)).lower()
        guest = await get(
            server.port,
            "/api/guest",
            address,
            f"Origin: {own_origin}",
            "Content-Length: 0",
            method="POST",
        )
        assert guest.startswith("HTTP/1.1 200 ")
        assert "HttpOnly" in guest
        async with raw_socket(server.port, address) as browser:
            assert " 101 " in await browser.upgrade(f"Origin: {own_origin}")
            browser.send_message(Hello(protocol=PROTOCOL))
            assert (await browser.message())["t"] == "welcome"
        for origin in ("http://evil.example", f"http://evil.example:{server.port}", "null"):
            async with raw_socket(server.port, address) as browser:
                assert " 403 " in await browser.upgrade(f"Origin: {origin}")
            refused = await get(
                server.port, "/api/guest", address, f"Origin: {origin}", method="POST"
            )
            assert refused.startswith("HTTP/1.1 403 ")
        async with raw_socket(server.port, address) as browser:
            rebound = await browser.upgrade(
                f"Origin: http://evil.example:{server.port}", name="evil.example"
            )
            assert " 403 " in rebound
        assert await server.stop() == 0
    assert_no_traceback(server)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("host", ["::1", "::", ""])
async def test_what_is_printed_is_heard(tmp_path: Path, host: str) -> None:
    """A printed IPv6 address is in brackets, and the server answers there. On all networks it
    answers on IPv4 too, on the same port.
    """
    async with serving(tmp_path / "data", host=host) as server:
        printed = "127.0.0.1" if host == "" else "[::1]"
        assert server.announced[0] == f"Plyroom is at http://{printed}:{server.port}/"
        for address in ("::1",) if host == "::1" else ("::1", "127.0.0.1"):
            async with raw_socket(server.port, address) as connection:
                connection.writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                assert await connection.reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert await server.stop() == 0


async def test_the_port_of_a_service_is_no_setting(tmp_path: Path) -> None:
    """Kubernetes sets PLYROOM_PORT in a pod beside a service `plyroom`: the server says that it
    ignores it, and listens on the port of its option.
    """
    server = ServerProcess(tmp_path / "data")
    await server.start(port="tcp://10.96.12.3:8000", metrics_port="tcp://10.96.12.4:9100")
    assert not [line for line in server.announced if line.startswith("Metrics")]
    assert await server.stop() == 0
    for name in ("PLYROOM_PORT", "PLYROOM_METRICS_PORT"):
        (line,) = [each for each in server.errors.splitlines() if name in each]
        assert "setting ignored" in line
        assert "Kubernetes" in line


async def test_a_host_that_is_not_an_address_of_this_machine_is_reported(tmp_path: Path) -> None:
    """The error is one line, without the advice to choose another port."""
    server = ServerProcess(tmp_path / "data", host="203.0.113.5")
    assert await server.start_and_wait() == 1
    assert "cannot listen on 203.0.113.5" in server.errors
    assert "--port" not in server.errors
    assert_no_traceback(server)
