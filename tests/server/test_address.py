"""The address and scheme of a connection, and the proxy headers that are trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.address import Origin, Proxies, parse_address, parse_proxies
from server.settings import SettingError, settings_from_env

PROXIES = parse_proxies(["10.0.0.0/8", "fd00::/8"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["198.51.100.1"], "192.0.2.7"),
        ("10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["203.0.113.9, 198.51.100.1"], "198.51.100.1"),
        ("10.1.2.3", ["203.0.113.9", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.1.2.3", ["10.0.0.2"], "10.0.0.2"),
        ("10.1.2.3", ["nonsense"], "10.1.2.3"),
        ("10.1.2.3", ["198.51.100.1, nonsense"], "10.1.2.3"),
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.1.2.3", ["[2001:db8:1:2:3::4]:4711"], "2001:db8:1:2::/64"),
        ("::ffff:10.1.2.3", ["198.51.100.1"], "198.51.100.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        (None, [], ""),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_the_address_of_a_connection(peer: str | None, forwarded: list[str], address: str) -> None:
    """The address is the last hop that is not a trusted proxy; other peers' headers are ignored."""
    assert PROXIES.origin(peer, forwarded, []).address == address


@pytest.mark.parametrize(
    ("peer", "protos", "is_https"),
    [
        ("10.1.2.3", ["https"], True),
        ("10.1.2.3", ["http", "HTTPS"], True),
        ("10.1.2.3", ["https, http"], False),
        ("10.1.2.3", [], False),
        ("192.0.2.7", ["https"], False),
    ],
)
def test_x_forwarded_proto_of_a_trusted_proxy(peer: str, protos: list[str], is_https: bool) -> None:
    """X-Forwarded-Proto counts only if a trusted proxy sends it."""
    assert PROXIES.origin(peer, [], protos).is_https is is_https


@pytest.mark.parametrize("network", ["127.0.0.1", "127.0.0.0/8", "::1", "0.0.0.0/0", "::/0"])
def test_a_proxy_on_this_machine_is_trusted_in_both_families(network: str) -> None:
    """The server listens on IPv4 and IPv6, and localhost may be either. No other address counts."""
    proxies = parse_proxies([network])
    for peer in ("127.0.0.1", "::1"):
        assert proxies.origin(peer, ["198.51.100.1"], ["https"]) == Origin("198.51.100.1", True)
    for peer in {"192.0.2.7", "2001:db8::7"} - {"192.0.2.7" if "." in network else "2001:db8::7"}:
        assert not proxies.origin(peer, ["198.51.100.1"], ["https"]).is_https


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**64 - 1))
def test_an_ipv6_network_has_one_origin(number: int, host_bits: int) -> None:
    """IPv6 addresses that differ only in their last 64 bits have the same origin."""
    address = parse_address(
        f"{number >> 112:x}:{number >> 96 & 0xFFFF:x}:{number >> 80 & 0xFFFF:x}:1::"
    )
    assert address is not None
    neighbour = type(address)(int(address) | host_bits)
    proxies = Proxies()
    assert (
        proxies.origin(str(address), [], []) == proxies.origin(str(neighbour), [], []) != Origin("")
    )


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_header_gives_an_origin(peer: str, headers: list[str]) -> None:
    """Any header gives an origin and raises no exception."""
    assert isinstance(PROXIES.origin(peer, headers, headers), Origin)
    assert isinstance(PROXIES.origin("10.0.0.1", headers, headers).address, str)


def test_proxies_are_a_setting() -> None:
    """PLYROOM_PROXIES is a list of networks; an error names the invalid entry."""
    assert settings_from_env({"PLYROOM_PROXIES": "10.0.0.0/8, 192.0.2.1"}).proxies == (
        "10.0.0.0/8",
        "192.0.2.1",
    )
    assert settings_from_env({}).proxies == ()
    with pytest.raises(SettingError, match=r"PLYROOM_PROXIES.*proxy\.example"):
        settings_from_env({"PLYROOM_PROXIES": "proxy.example"})
