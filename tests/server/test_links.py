"""Links that work on other machines, and their QR codes."""

import re

import pytest

from server.address import is_local_host, public_urls
from server.process.network import network_addresses
from server.web.links import MAX_URL, draw_qr_code
from tests.support.node import serve

#: This machine's addresses in its networks, as a server finds them.
NETWORK = ("192.168.1.7", "10.0.0.5")


@pytest.mark.parametrize(
    ("url", "host", "is_https", "urls"),
    [
        ("https://play.example.org", "localhost:8000", False, ["https://play.example.org"]),
        ("", "play.example.org", True, ["https://play.example.org"]),
        ("", "192.168.1.9:8000", False, ["http://192.168.1.9:8000"]),
        ("", "host.local:8000", False, ["http://host.local:8000"]),
        ("", "localhost:8000", False, ["http://192.168.1.7:8000", "http://10.0.0.5:8000"]),
        ("", "127.0.0.1", False, ["http://192.168.1.7", "http://10.0.0.5"]),
        ("", "[::1]:8000", False, ["http://192.168.1.7:8000", "http://10.0.0.5:8000"]),
        ("", "[2001:db8::2]:8000", False, ["http://[2001:db8::2]:8000"]),
        ("", "raspberrypi:8000", False, ["http://raspberrypi:8000"]),
        ("", 'a"b', False, []),
        ("", "a b", False, []),
        ("", "", False, []),
    ],
)
def test_a_link_works_on_another_machine(
    url: str, host: str, is_https: bool, urls: list[str]
) -> None:
    """A link has the operator's address, else the request's unless it is this machine's own, else
    the machine's address in its network, the most likely one first.
    """
    assert list(public_urls(url, host, is_https, NETWORK)) == urls


def test_an_ipv6_network_address_stands_in_brackets() -> None:
    """A host that is an IPv6 address has brackets in a URL."""
    assert public_urls("", "[::1]:8000", False, ["fd00::7"]) == ("http://[fd00::7]:8000",)


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost", True), ("LOCALHOST:8000", True), ("a.localhost:8000", True),
        ("127.0.0.2:8000", True), ("[::1]", True), ("[::1]:8000", True), ("0.0.0.0:8000", True),
        ("localhost.example.org", False), ("192.168.1.7", False), ("[fe80::1]:8000", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_local_host(host: str, is_local: bool) -> None:
    """Names and addresses of the loopback network work on this machine only."""
    assert is_local_host(host) == is_local


def test_network_addresses_are_not_loopback() -> None:
    """Each address of this machine's networks is there once, and none is a loopback address."""
    addresses = network_addresses()
    assert len(set(addresses)) == len(addresses)
    assert not [address for address in addresses if is_local_host(address)]


async def test_the_links_of_a_room() -> None:
    """With PLYROOM_URL, the link and the QR code have that address, for rooms and matches."""
    async with serve(url="https://play.example.org") as node:
        answer = await node.get("/api/links/room/abc-_9")
        assert answer.json == {"links": ["https://play.example.org/room/abc-_9"]}
        answer = await node.get("/api/links/match/abc")
        assert answer.json == {"links": ["https://play.example.org/match/abc"]}
        code = await node.get("/api/links/room/abc/qr.svg")
        assert code.headers["content-type"] == "image/svg+xml"
        assert code.body == draw_qr_code("https://play.example.org/room/abc")
        for target in (
            "/api/links/other/abc",
            "/api/links/room/" + "a" * 25,
            "/api/links/room/a.b",
        ):
            assert (await node.get(target)).status == 404


async def test_qr_codes_are_limited() -> None:
    """An address may have as many codes as rooms; links without a code are not counted."""
    async with serve(url="https://play.example.org", limit_rooms_per_minute=2) as node:
        codes = [await node.get(f"/api/links/room/{room}/qr.svg") for room in "abc"]
        assert [answer.status for answer in codes] == [200, 200, 429]
        assert int(codes[2].headers["retry-after"]) >= 1
        assert "QR codes" in codes[2].json["message"]
        assert (await node.get("/api/links/room/c")).status == 200


async def test_the_links_of_a_request() -> None:
    """Without PLYROOM_URL, a link has the address of the request. A server that only this machine
    can reach has no link and no QR code.
    """
    async with serve() as node:
        answer = await node.get("/api/links/room/abc", Host="192.168.1.9:8000")
        assert answer.json == {"links": ["http://192.168.1.9:8000/room/abc"]}
        assert (await node.get("/api/links/room/abc")).json == {"links": []}
        assert (await node.get("/api/links/room/abc/qr.svg")).status == 404
        too_long = {"Host": "a" * MAX_URL}
        assert (await node.get("/api/links/room/abc/qr.svg", **too_long)).status == 404


async def test_a_container_offers_no_address_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others cannot open it: the answer says what to set, also where the container has no route to
    other networks. An address that the request used works, and so does PLYROOM_URL. Outside a
    container the machine's address is offered.
    """
    monkeypatch.setattr("server.web.links.shared_addresses", lambda host: NETWORK)
    monkeypatch.setattr("server.web.links.is_for_networks", lambda host: True)
    for is_container in (True, False):
        monkeypatch.setattr("server.web.links.is_container", lambda: is_container)  # noqa: B023
        async with serve() as node:
            answer = (await node.get("/api/links/room/abc", Host="localhost:9000")).json
            assert ("PLYROOM_URL" in answer.pop("advice", "")) is is_container
            addresses = [] if is_container else [f"http://{each}:9000" for each in NETWORK]
            assert answer == {"links": [f"{each}/room/abc" for each in addresses]}
            code = await node.get("/api/links/room/abc/qr.svg", Host="localhost:9000")
            assert code.status == (404 if is_container else 200)
            answer = (await node.get("/api/links/room/abc", Host="raspberrypi:9000")).json
            assert answer == {"links": ["http://raspberrypi:9000/room/abc"]}
            with monkeypatch.context() as without_routes:
                without_routes.setattr("server.web.links.shared_addresses", lambda host: ())
                answer = (await node.get("/api/links/room/abc", Host="localhost:9000")).json
            assert ("advice" in answer) is is_container
        async with serve(url="http://192.168.1.7:9000") as node:
            answer = (await node.get("/api/links/room/abc", Host="localhost:9000")).json
            assert answer == {"links": ["http://192.168.1.7:9000/room/abc"]}


def test_a_qr_code_is_readable() -> None:
    """A code is black on white with a quiet zone, scales to any size and has no script."""
    svg = draw_qr_code("http://192.168.1.7:8000/room/abcdefghijkl").decode()
    width = int(re.search(r'viewBox="0 0 (\d+) \1"', svg)[1])  # type: ignore[index]
    assert width >= 25 + 2 * 4
    assert 'fill="#fff"' in svg
    assert not re.search(r"<script| on\w+=|<style| width=", svg)
    assert draw_qr_code("http://192.168.1.7:8000/room/abcdefghijkl").decode() == svg
