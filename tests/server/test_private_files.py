"""Files that the server creates are private to their owner; existing files keep their modes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import structlog.testing
from click.testing import CliRunner

from client import own_server
from server.app import open_server
from server.ops.admin import main
from server.protocol import messages as wire
from server.settings import Settings
from server.store.folder import make_folder
from tests.support.fake_server import ScriptedEngines
from tests.support.node import Socket
from tests.support.pseudo_terminal import on_a_terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
ROOT = Path(__file__).parents[2]
#: The warning about a readable folder.
WARNING = "others may read the data folder"


@pytest.fixture(autouse=True)
def usual_umask() -> object:
    """Sets a umask under which new files are readable by everyone by default."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Returns the modes of a folder and of all files and folders in it."""
    return {
        path.relative_to(folder.parent).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (folder, *folder.rglob("*"))
    }


async def start_and_write(data: Path) -> list[str]:
    """Starts a server and creates a guest, so that all files exist; returns the log's warnings."""
    from websockets.asyncio.client import connect

    with structlog.testing.capture_logs() as logs:
        settings = Settings(host="127.0.0.1", port=0, data=data)
        async with (
            open_server(settings, ScriptedEngines()) as running,
            connect(f"ws://127.0.0.1:{running.port}/ws", proxy=None) as connection,
        ):
            socket = Socket(connection)
            await socket.hello()
            await socket.send(wire.Ping(id="p"))
            await socket.expect("pong")
            file_modes = modes(data)
            assert {"plyroom.sqlite3", "plyroom.sqlite3-wal", "plyroom.lock"} <= {
                Path(name).name for name in file_modes
            }
            for name, mode in file_modes.items():
                if name != data.name and Path(name).name not in ("kept", "plyroom.old"):
                    assert mode == 0o600, (name, oct(mode))
    return [line["event"] for line in logs if line["log_level"] == "warning"]


async def test_a_new_data_folder_is_private(tmp_path: Path) -> None:
    """A new data folder and its missing parents get 700; database, WAL and lock get 600."""
    data = tmp_path / "srv" / "plyroom" / "data"
    assert WARNING not in await start_and_write(data)
    for folder in (data, data.parent, data.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert WARNING not in await start_and_write(data)


@pytest.mark.parametrize(
    ("mode", "is_reported"), [(0o755, True), (0o750, True), (0o711, True), (0o700, False)]
)
async def test_an_existing_folder_keeps_its_modes(
    tmp_path: Path, mode: int, is_reported: bool
) -> None:
    """An existing folder and its files keep their modes; a warning says if others may read it."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "kept").write_text("x")
    data.chmod(mode)
    assert (await start_and_write(data)).count(WARNING) == is_reported
    assert stat.S_IMODE(data.stat().st_mode) == mode
    assert stat.S_IMODE((data / "kept").stat().st_mode) == 0o644


#: Locks the folder of its argument with the server's log.
LOCKING = """
import sys
from pathlib import Path
from server.process.logs import log_to_stderr
from server.store.lock import lock_folder
log_to_stderr("warning")
with lock_folder(Path(sys.argv[1])):
    pass
"""


def test_the_warning_is_a_sentence_on_a_terminal_and_json_elsewhere(tmp_path: Path) -> None:
    """A person reads what others can do and how to prevent it; operators get the fields alone."""
    data = tmp_path / "our data"
    data.mkdir(mode=0o755)
    command = [sys.executable, "-c", LOCKING, str(data)]
    with on_a_terminal(command, dict(os.environ), columns=400, folder=ROOT) as screen:
        line = screen.expect(f"chmod 700 '{data}'")
    sentence = "Other users of this machine can read the data folder. To prevent it:"
    assert line.splitlines() == [sentence, f"  chmod 700 '{data}'"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    entry = json.loads(piped.stderr)
    assert set(entry) == {"event", "folder", "cure", "level", "timestamp"}
    assert entry["event"] == WARNING


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """A file where the data folder or its parent should be raises OSError."""
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            make_folder(folder)


def test_the_commands_make_private_files(tmp_path: Path) -> None:
    """`migrate` and `restore` create private databases, and `backup` a private file."""
    data, restored = tmp_path / "data", tmp_path / "copied"

    def run(*arguments: str) -> None:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output

    run("migrate", "--data", str(data))
    run("backup", str(tmp_path / "backup"), "--data", str(data))
    run("restore", str(tmp_path / "backup"), "--data", str(restored))
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    for folder in (data, restored):
        file_modes = modes(folder)
        assert file_modes.pop(folder.name) == 0o700
        assert "plyroom.sqlite3" in {Path(name).name for name in file_modes}
        assert set(file_modes.values()) == {0o600}, file_modes


async def test_a_clients_own_server_keeps_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plyroom play` without a server makes a private folder with a private log."""
    server = [sys.executable, "-c", "print('It is at http://127.0.0.1:1/', flush=True); input()"]
    monkeypatch.setattr(own_server, "server_command", lambda *arguments: server)
    data = tmp_path / "mine"
    async with own_server.own_server(data):
        assert modes(data) == {"mine": 0o700, "mine/server.log": 0o600}


def test_the_clusters_secrets_are_in_a_private_folder(tmp_path: Path) -> None:
    """The folder of the cluster's secret files is private.

    The files themselves are readable by the containers' users, who are not root.
    """
    folder = tmp_path / "secrets"
    subprocess.run(
        ["sh", ROOT / "server/deploy/secrets.sh", folder], check=True, stdout=subprocess.DEVNULL
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
