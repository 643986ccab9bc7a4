"""What a user sees when the server starts, and who can connect."""

import socket
from pathlib import Path

import psutil
import pytest

from server.protocol.messages import PROTOCOL, Hello
from tests.support.raw_websocket import raw_socket
from tests.support.server_process import ServerProcess, assert_no_traceback, serving


def own_address() -> str:
    """An IPv4 address of this machine that other machines may know."""
    for addresses in psutil.net_if_addrs().values():
        for one in addresses:
            if one.family is socket.AF_INET and not one.address.startswith("127."):
                return str(one.address)
    pytest.skip("this machine has no IPv4 address but its loopback's")


async def get(
    port: int, path: str, host: str = "127.0.0.1", *headers: str, method: str = "GET"
) -> str:
    """Sends a raw HTTP request; returns the whole response."""
    async with raw_socket(port, host) as one:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {host}:{port}",
            "Connection: close",
            *headers,
            "",
            "",
        ]
        one.writer.write("\r\n".join(lines).encode())
        return (await one.reader.read()).decode()


async def test_a_start_prints_the_address_and_serves_the_page_there(tmp_path: Path) -> None:
    """The first line is the local address; the page is there, and the server is ready."""
    async with serving(tmp_path / "data", workers=1) as server:
        assert server.announced[0] == f"Plyroom is at http://127.0.0.1:{server.port}/"
        assert str(tmp_path / "data") in server.announced[-1]
        assert "<!doctype html>" in (await get(server.port, "/")).lower()
        for path in ("/livez", "/readyz"):
            assert (await get(server.port, path)).startswith("HTTP/1.1 200 ")
        assert await server.stop() == 0
    assert_no_traceback(server)


async def test_the_server_process_never_loads_the_compiler(tmp_path: Path) -> None:
    """Only search workers load Numba and LLVM, which take a second and 100 MB."""
    async with serving(tmp_path / "data", workers=1) as server:
        assert (await get(server.port, "/api/games")).startswith("HTTP/1.1 200 ")
        loaded = {Path(one.path).name.lower() for one in psutil.Process(server.pid).memory_maps()}
        assert any("numpy" in path.lower() or "multiarray" in path for path in loaded), (
            "the method finds libraries"
        )
        assert [name for name in loaded if "llvm" in name or "numba" in name] == []
        assert await server.stop() == 0


async def test_others_on_the_network_can_connect_and_foreign_pages_cannot(tmp_path: Path) -> None:
    """A server on all networks prints its network address.

    Browsers that opened its page there may connect and become guests. Pages of other origins may
    not, nor those of a name that merely resolves to the server.
    """
    address = own_address()
    async with serving(tmp_path / "data", host="0.0.0.0") as server:
        assert server.announced[0] == f"Plyroom is at http://127.0.0.1:{server.port}/"
        assert "Others on your network open http://" in server.announced[1]
        here = f"http://{address}:{server.port}"
        assert "<!doctype html>" in (await get(server.port, "/", address)).lower()
        guest = await get(
            server.port,
            "/api/guest",
            address,
            f"Origin: {here}",
            "Content-Length: 0",
            method="POST",
        )
        assert guest.startswith("HTTP/1.1 200 ")
        assert "HttpOnly" in guest
        async with raw_socket(server.port, address) as browser:
            assert " 101 " in await browser.upgrade(f"Origin: {here}")
            browser.say(Hello(protocol=PROTOCOL))
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
@pytest.mark.parametrize("host", ["::1", "::"])
async def test_an_ipv6_address_is_printed_as_a_link(tmp_path: Path, host: str) -> None:
    """The address is in brackets, and answers."""
    async with serving(tmp_path / "data", host=host) as server:
        assert server.announced[0] == f"Plyroom is at http://[::1]:{server.port}/"
        async with raw_socket(server.port, "::1") as one:
            one.writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await one.reader.readline() == b"HTTP/1.1 200 OK\r\n"
        assert await server.stop() == 0


async def test_a_foreign_host_is_reported(tmp_path: Path) -> None:
    """The error is one line, without advice about ports that would not help."""
    server = ServerProcess(tmp_path / "data", host="203.0.113.5")
    assert await server.end() == 1
    assert "cannot listen on 203.0.113.5" in server.errors
    assert "--port" not in server.errors
    assert_no_traceback(server)
