"""The origin of a connection, and which headers about it are trusted."""

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
def test_the_address_is_the_sockets_or_a_trusted_proxys_header(
    peer: str | None, forwarded: list[str], address: str
) -> None:
    """The address is the last hop that is no trusted proxy; other senders' headers are ignored."""
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
def test_only_a_trusted_proxy_says_that_it_is_https(
    peer: str, protos: list[str], is_https: bool
) -> None:
    assert PROXIES.origin(peer, [], protos).is_https is is_https


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**64 - 1))
def test_an_ipv6_network_has_one_key(number: int, other: int) -> None:
    """IPv6 addresses that differ in their last 64 bits only have one key."""
    one = parse_address(
        f"{number >> 112:x}:{number >> 96 & 0xFFFF:x}:{number >> 80 & 0xFFFF:x}:1::"
    )
    assert one is not None
    neighbour = type(one)(int(one) | other)
    proxies = Proxies()
    assert proxies.origin(str(one), [], []) == proxies.origin(str(neighbour), [], []) != Origin("")


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=4))
def test_any_header_gives_an_answer(peer: str, headers: list[str]) -> None:
    """Any header gives an answer, never an exception."""
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
