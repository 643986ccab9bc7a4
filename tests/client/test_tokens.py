"""The token file: its content, its mode and its place."""

import stat
import sys
from pathlib import Path

import pytest

from client.address import parse_address
from client.tokens import GuestTokens, TokenFile, installation_key, state_folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plyroom" / "tokens.json"


def test_a_token_is_stored_for_its_server_and_name(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.store("http://a", None, "1")
    tokens.store("http://a", "Ada", "2")
    tokens.store("http://b", None, "3")
    tokens.store("http://b", None, "4")
    reopened = TokenFile(path)
    assert reopened.find("http://a", None) == "1"
    assert reopened.find("http://a", "Ada") == "2"
    assert reopened.find("http://b", None) == "4"
    assert reopened.find("http://c", None) is reopened.find("http://a", "Bob") is None


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        ({}, ()), ({"new": "1"}, ("1",)), ({"old": "2"}, ("2",)),
        ({"new": "1", "old": "2"}, ("1", "2")), ({"new": "1", "old": "1"}, ("1",)),
        ({"other": "3"}, ()),
    ],
)  # fmt: skip
def test_a_guest_has_the_tokens_of_both_keys(
    path: Path, stored: dict[str, str], known: tuple[str, ...]
) -> None:
    """That of the installation comes first. A new one is stored for the installation only."""
    file = TokenFile(path)
    for key, token in stored.items():
        file.store(key, "Ada", token)
    guest = GuestTokens(file, "new", "old", "Ada")
    assert guest.known == known
    assert GuestTokens(file, "new", "old", "Bob").known == ()
    guest.keep("9")
    assert {key: file.find(key, "Ada") for key in ("new", "old", "other")} == {
        "new": "9", "old": stored.get("old"), "other": stored.get("other"),
    }  # fmt: skip


def test_a_server_that_keeps_no_guest_has_no_token(path: Path) -> None:
    guest = GuestTokens(TokenFile(path), None, None, "Ada")
    guest.keep("1")
    assert guest.known == ()
    assert not path.exists()


def test_a_key_is_an_installation_on_a_host() -> None:
    """Each way to write a host is one key, and so is each port; a host that claims to be the same
    installation has another one, and so has another scheme.
    """
    hosts = [
        ["http://127.0.0.1:8000", "localhost", "http://LOCALHOST:1/", "[::1]:8001", "127.0.0.2"],
        ["play.example.org", "http://Play.Example.org:8000", "ws://play.example.org/ws"],
        ["https://play.example.org", "wss://play.example.org:8443/ws"],
        ["evil.example"],
        ["192.168.1.7", "http://192.168.1.7:8000/room/abc"],
    ]
    keys = [{installation_key("0" * 16, parse_address(each)) for each in same} for same in hosts]
    assert [len(same) for same in keys] == [1] * len(hosts)
    assert len(set().union(*keys)) == len(hosts)
    assert installation_key("1" * 16, parse_address("localhost")) not in set().union(*keys)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
def test_only_the_owner_can_read_the_file(path: Path) -> None:
    TokenFile(path).store("http://a", None, "1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"http://a": 3}', "\x00"])
def test_a_broken_file_counts_as_empty(path: Path, content: str) -> None:
    path.parent.mkdir()
    path.write_text(content)
    tokens = TokenFile(path)
    assert tokens.find("http://a", None) is None
    tokens.store("http://a", None, "1")
    assert TokenFile(path).find("http://a", None) == "1"


def test_the_folder_follows_the_environment() -> None:
    assert state_folder({"XDG_STATE_HOME": "/x"}) == Path("/x/plyroom")
    assert state_folder({"HOME": "/home/ada"}) == Path("/home/ada/.local/state/plyroom")
