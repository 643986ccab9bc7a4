"""The server of a data folder is found by the file beside its lock, and only if it is that one."""

import json
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from client.address import DEFAULT_SERVER, Address, parse_address
from client.api import ONLY_HERE, Invitation, fetch_invitation
from client.errors import Unreachable
from client.own_server import (
    LOG_NAME,
    SOURCES,
    own_server,
    running_server,
    server_here,
    servers_here,
    usual_server,
)
from client.program import program
from client.subcommands.export import _requests
from client.subcommands.options import locate, typed, user_folder
from server.address_file import ADDRESS_FILE, IN_USE, ServerAddress, announced_address, read_address
from server.settings import Settings
from tests.client.test_replay import http_server

HERE = "22fbfbc44d790704"
OTHER = "0000000000000001"


def test_a_server_says_where_it_is_while_it_runs(tmp_path: Path) -> None:
    """Only its owner may read the file, which is gone when the server has stopped."""
    server = ServerAddress("http://[::1]:8000", HERE)
    with announced_address(tmp_path, server):
        assert read_address(tmp_path) == server
        assert stat.S_IMODE((tmp_path / ADDRESS_FILE).stat().st_mode) == 0o600
        assert [path.name for path in tmp_path.iterdir()] == [ADDRESS_FILE]
    assert read_address(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"", b"http://127.0.0.1:8000\n", b"ftp://127.0.0.1\n22fbfbc44d790704\n",
        b"http://127.0.0.1:8000/x\n22fbfbc44d790704\n", b"\xff\xfe",
        b"http://127.0.0.1:8000\n22fbfbc44d790704\nmore\n", b"http://" + b"a" * 600 + b"\n",
    ],
)  # fmt: skip
def test_any_other_content_counts_as_no_server(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ADDRESS_FILE).write_bytes(content)
    assert read_address(tmp_path) is None
    assert running_server(tmp_path) is None


def test_only_the_folders_own_installation_is_its_server(tmp_path: Path) -> None:
    """After a server was killed another one may have its port; and a file is no proof."""
    replies = {"/api/installation": (200, json.dumps({"installation": HERE}).encode())}
    assert running_server(tmp_path) is None
    with http_server(replies) as address:
        with announced_address(tmp_path, ServerAddress(str(address), HERE)):
            assert running_server(tmp_path) == address
        with announced_address(tmp_path, ServerAddress(str(address), OTHER)):
            assert running_server(tmp_path) is None
    with announced_address(tmp_path, ServerAddress(str(address), HERE)):
        assert running_server(tmp_path) is None


def test_the_server_that_runs_here_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A command that names no server uses that of `make run` in the same folder, on any port. A
    file of another user is no server of one's own.
    """
    monkeypatch.chdir(tmp_path)
    assert (server_here(), str(usual_server())) == (None, DEFAULT_SERVER)
    replies = {"/api/installation": (200, json.dumps({"installation": HERE}).encode())}
    Settings().data.mkdir()
    with http_server(replies) as address:
        with announced_address(Settings().data, ServerAddress(str(address), HERE)):
            assert server_here() == usual_server() == address
            assert locate("abc", None) == (address, "abc")
            monkeypatch.setattr("os.getuid", lambda: (tmp_path.stat().st_uid) + 1)
            assert server_here() is None
        assert str(usual_server()) == DEFAULT_SERVER


def test_the_servers_that_run_here_are_named_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That of this folder, that of the folder of this program, and the one at the usual address;
    one that does not answer is left out, and none is named twice.
    """
    ids = {"http://127.0.0.1:9001": HERE, "http://127.0.0.1:9002": OTHER}
    first, second = map(parse_address, ids)

    def installation(address: Address) -> str:
        if str(address) in ids:
            return ids[str(address)]
        raise Unreachable("nobody is there")

    monkeypatch.setattr("client.api.fetch_installation", installation)
    sources, here = tmp_path / "plyroom", tmp_path / "data"
    for folder in (here, sources / "data"):
        folder.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("client.own_server.SOURCES", sources)
    assert servers_here() == ()
    with announced_address(sources / "data", ServerAddress(str(first), HERE)):
        assert servers_here() == (first,)
        monkeypatch.setattr("client.own_server.DEFAULT_SERVER", str(first))
        assert servers_here() == (first,)
        with announced_address(here, ServerAddress(str(second), OTHER)):
            assert servers_here() == (second, first)
        monkeypatch.setattr("client.own_server.DEFAULT_SERVER", str(second))
        assert servers_here() == (first, second)


def test_the_link_of_a_room_is_one_that_others_can_open() -> None:
    """A server on this machine says how others reach it, or that they cannot; one of an earlier
    version, and one at another address, have the link that the user knows.
    """

    def invitation(status: int, **reply: object) -> Invitation:
        replies = {"/api/links/room/r": (status, json.dumps(reply).encode())}
        with http_server(replies) as address:
            found = fetch_invitation(address, "r")
        return msgspec.structs.replace(found, link=found.link.replace(str(address), "here"))

    here = "here/room/r"
    shared = [f"http://192.168.1.7/{here}", "http://other"]
    assert invitation(200, links=shared) == Invitation(shared[0])
    assert invitation(200, links=[]) == Invitation(here, ONLY_HERE)
    assert invitation(200, links=[], advice="Set it.") == Invitation(here, "Set it.")
    for bad in (
        "http://x/\x1b]52;c;eA==\x07",
        "javascript:1",
        "http://a b/",
        f"http://{'x' * 300}",
    ):
        assert invitation(200, links=[bad]) == Invitation(here, ONLY_HERE)
    assert invitation(200, links=[], advice="Set\x1b[2J it.") == Invitation(here, "Set[2J it.")
    assert invitation(404, code="http.404", message="no") == Invitation(here)
    away = parse_address("http://192.0.2.1:1")
    assert fetch_invitation(away, "r") == Invitation("http://192.0.2.1:1/room/r")


def test_an_export_of_links_looks_for_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server here that hangs would be awaited for nothing. Ids ask for it once."""
    usual, asked = parse_address("127.0.0.1:1"), list[Address]()

    def find() -> Address:
        asked.append(usual)
        return usual

    monkeypatch.setattr("client.own_server.usual_server", find)
    linked = parse_address("http://example.org")
    assert [each for each, _ in _requests((f"{linked}/match/abc",) * 2, None, {})] == [linked] * 2
    assert asked == []
    assert [each for each, _ in _requests(("abc", "def"), None, {})] == [usual, usual]
    assert asked == [usual]


async def test_a_failed_start_is_told_by_the_server_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What an earlier server wrote to the same log is not its reason: it would be waited for."""
    (tmp_path / LOG_NAME).write_text(f"Error: {IN_USE} (process 7) uses the data folder\n")
    program = [sys.executable, "-c", "import sys; sys.exit('Error: no space left')"]
    monkeypatch.setattr("client.own_server.server_command", lambda *arguments: program)
    with pytest.raises(Unreachable) as refused:
        async with own_server(tmp_path):
            raise AssertionError("a server that does not start")
    assert str(refused.value) == "the server could not be started\n  Error: no space left"
    assert IN_USE in (tmp_path / LOG_NAME).read_text()


def test_the_program_is_named_as_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `make run` it is not on the path: a command that is printed must work as it stands."""
    monkeypatch.setattr("sys.argv", [".venv/bin/plyroom", "play"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert program() == ".venv/bin/plyroom"
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/plyroom")
    assert program() == ".venv/bin/plyroom", "another one is on the path"
    monkeypatch.setattr("sys.argv", ["/usr/bin/plyroom", "play"])
    assert program() == "plyroom"
    monkeypatch.setattr("sys.argv", [str(SOURCES / "client/__main__.py"), "play", "chess"])
    monkeypatch.setattr("sys.orig_argv", ["my python", "-P", "-m", "client", "play", "chess"])
    assert program() == "'my python' -P -m client"
    monkeypatch.setattr("sys.argv", ["/usr/lib/python3/pytest/__main__.py"])
    assert program() == "plyroom"


def test_the_users_folder_and_how_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the home a tilde is shorter; a folder that a shell would split is quoted."""
    monkeypatch.setenv("HOME", "/home/ada")
    assert user_folder({"XDG_DATA_HOME": "/x"}) == Path("/x/plyroom")
    assert typed(user_folder({"HOME": "/home/ada"})) == "~/.local/share/plyroom"
    assert typed(Path("/srv/plyroom")) == "/srv/plyroom"
    assert typed(Path("/home/ada/my games")) == "'/home/ada/my games'"
    assert typed(Path("/home/ada")) == "/home/ada"
    assert typed(Path("data")) == "data"
