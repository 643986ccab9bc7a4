"""The file of tokens."""

import stat
import sys
from pathlib import Path

import pytest

from client.tokens import TokenFile, state_folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plyroom" / "tokens.json"


def test_a_token_is_kept_for_its_server_and_name(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.keep("http://a", None, "1")
    tokens.keep("http://a", "Ada", "2")
    tokens.keep("http://b", None, "3")
    tokens.keep("http://b", None, "4")
    again = TokenFile(path)
    assert [
        again.find("http://a", None),
        again.find("http://a", "Ada"),
        again.find("http://b", None),
    ] == [
        "1",
        "2",
        "4",
    ]
    assert again.find("http://c", None) is again.find("http://a", "Bob") is None


def test_a_token_that_the_server_no_longer_knows_is_removed(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.keep("http://a", "Ada", "1")
    tokens.forget("http://a", "Ada")
    tokens.forget("http://a", "Bob")
    assert tokens.find("http://a", "Ada") is None


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are not Windows'")
def test_only_the_owner_can_read_the_file(path: Path) -> None:
    TokenFile(path).keep("http://a", None, "1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"http://a": 3}', "\x00"])
def test_a_broken_file_counts_as_empty(path: Path, content: str) -> None:
    path.parent.mkdir()
    path.write_text(content)
    tokens = TokenFile(path)
    assert tokens.find("http://a", None) is None
    tokens.keep("http://a", None, "1")
    assert TokenFile(path).find("http://a", None) == "1"


def test_the_folder_follows_the_environment() -> None:
    assert state_folder({"XDG_STATE_HOME": "/x"}) == Path("/x/plyroom")
    assert state_folder({"HOME": "/home/ada"}) == Path("/home/ada/.local/state/plyroom")
