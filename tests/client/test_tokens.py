"""The token file: its content, its mode and its place."""

import stat
import sys
from pathlib import Path

import pytest

from client.tokens import TokenFile, state_folder


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


def test_a_token_can_be_removed(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.store("http://a", "Ada", "1")
    tokens.remove("http://a", "Ada")
    tokens.remove("http://a", "Bob")
    assert tokens.find("http://a", "Ada") is None


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
