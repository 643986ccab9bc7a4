"""The recipe of docs/how-to/contributing.md for a new command: in a copy of the sources a script
follows it step by step.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server_process import ROOT

PAGE = "docs/how-to/contributing.md"
#: A recipe names a file by its path: at least one folder, and an ending.
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.\w+)`")

#: The edits of a command `wave`, by file: each the line before which a text goes, and the text.
Edits = dict[str, list[tuple[str, str]]]
COMMAND: Edits = {
    "server/commands.py": [
        (
            "#: Every command that a client may give.",
            'class Wave(Command, frozen=True, tag="wave"):\n'
            '    """Waves to the room. Only a player may wave."""\n\n\n',
        ),
        ("    | Bar\n)", "    | Wave\n"),
    ],
    "server/rooms/chat.py": [
        (
            "def mute(room",
            "def wave(room: Room, command: Wave, moment: Moment) -> list[RoomEvent]:\n"
            "    actor = moment.actor\n"
            "    check(permissions.wave(room, viewer_of(room, actor.identity)))\n"
            '    return [Said(actor.identity, actor.name, "waves")]\n\n\n',
        ),
        ("    Mute: mute,\n", "    Wave: wave,\n"),
        ("from server.events import", "from server.commands import Wave\n"),
        ("from server.rooms import muting", "from server.rooms import permissions\n"),
    ],
    "server/rooms/permissions.py": [
        (
            "def hint(room",
            "def wave(room: Room, viewer: Viewer) -> Refusal | None:\n"
            "    return NO_SEAT if viewer.seat is None else None\n\n\n",
        ),
        ("    Hint: hint,\n", "    Wave: wave,\n"),
        ("    Sit: sit,\n", "    Wave: wave,\n"),
        ("from server.events import", "from server.commands import Wave\n"),
    ],
    "tests/support/wire_samples.py": [
        ("    wire.WatchLobby(id=", '    wire.CommandFrame(ROOM, Wave("c26")),\n'),
        ("from server.events import", "from server.commands import Wave\n"),
    ],
    "tests/server/test_room_rules.py": [
        (
            "# --- every command and code",
            "def test_a_player_waves() -> None:\n"
            '    """A player waves to the room; a spectator may not."""\n'
            "    played = seated()\n"
            "    [event] = played.do(ADA, plain(Wave))\n"
            '    assert event == Said("ada", "Ada", "waves")\n'
            "    assert played.refuse(CYD, plain(Wave)) is Code.SEAT_NONE\n\n\n",
        ),
        ("from server.events import", "from server.commands import Wave\n"),
        ("from server.ids import", "from server.events import Said\n"),
    ],
    "tests/oracle/history.py": [('    "mute": {"muted"},\n', '    "wave": {"said"},\n')],
    "client/web/pages/room/actions.js": [
        ("            drawEndButton(app, room),\n", "            drawWave(app, room),\n"),
        (
            "/**\n * The button to abort",
            "/**\n * The button to wave.\n * @param {App} app\n * @param {Room} room\n */\n"
            "function drawWave(app, room) {\n"
            '    if (!permits(app.model, "wave")) return null;\n'
            '    const send = () => void app.command({ t: "wave", room: room.id });\n'
            '    return h("button", { key: "wave", onclick: send }, "Wave");\n}\n\n',
        ),
    ],
    "client/terminal/commands.py": [
        ('    NAME = "name"\n', '    WAVE = "wave"\n'),
        ("    CommandName.RESIGN: Resign,\n", "    CommandName.WAVE: Wave,\n"),
        ("        Resign\n", "        Wave |\n"),
        ('    ("", CommandName.NAME,', '    ("", CommandName.WAVE, "wave to the room"),\n'),
        ('    CommandName.RESIGN: "resign"', '    CommandName.WAVE: "wave",\n'),
        ("from server.commands import", "from server.commands import Wave\n"),
    ],
    "tests/client/test_commands.py": [('        *("bar", "allow-help"', '        "wave",\n')],
    "docs/how-to/terminal.md": [("| `name` NAME |", "| `wave` | | waves to the room |\n")],
}

#: What changes in these edits if the command makes an event of its own, `waved`.
OWN_EVENT = {
    'Said(actor.identity, actor.name, "waves")': "Waved(actor.identity)",
    'Said("ada", "Ada", "waves")': 'Waved("ada")',
    "import Said\n": "import Waved\n",
    '{"said"}': '{"waved"}',
}
#: The further edits for that event.
EVENT: Edits = {
    "server/events.py": [
        (
            "class Said(",
            'class Waved(Event, frozen=True, tag="waved"):\n'
            '    """A player waved."""\n\n    identity: str\n\n\n',
        ),
        ("    | Barred\n)", "    | Waved\n"),
    ],
    "server/rooms/evolve.py": [
        ("        case Created():\n", "        case Waved():\n            return room\n"),
        ("from server.ids import", "from server.events import Waved\n"),
    ],
    "server/rooms/chat.py": [
        ("from server.rooms import permi", "from server.events import Waved\n")
    ],
    "client/model.py": [
        ("        case Created() |", "        case Waved():\n            return model\n"),
        ("from server.events import", "from server.events import Waved\n"),
    ],
    "client/terminal/transcript.py": [
        (
            "            case Muted(name=name):\n",
            "            case Waved(identity=identity):\n"
            '                name = names.players(model).get(identity, "A player")\n'
            '                self._output.report(f"{name} waves.")\n',
        ),
        ("from server.events import", "from server.events import Waved\n"),
    ],
    "client/web/pages/room/events.js": [
        (
            '        case "muted":\n        case "unmuted":\n            return `The',
            '        case "waved":\n            return "A player waves";\n',
        )
    ],
    "tests/support/wire_samples.py": [
        (")\n\nBOARD = ", '    Waved("g-ada"),\n'),
        ("from server.protocol import", "from server.events import Waved\n"),
    ],
    "tests/server/test_room_log.py": [
        ('    played.do(ADA, Mute("m"', "    played.do(BEN, plain(Wave))\n"),
        ("from server.events import", "from server.commands import Wave\n"),
    ],
    "tests/server/test_protocol.py": [
        ('    Muted("ben", "Ben")', '    Waved("ben"),\n'),
        ("from server.reference import", "from server.events import Waved\n"),
    ],
}


def with_own_event(text: str) -> str:
    """Returns the text of an edit for a command that makes an event of its own."""
    for old, new in OWN_EVENT.items():
        text = text.replace(old, new)
    return text


def recipe(title: str) -> set[str]:
    """Returns the files that a section of the page names."""
    text = (ROOT / PAGE).read_text("utf-8")
    return set(PATH.findall(text.split(f"\n## {title}\n")[1].split("\n## ")[0]))


def files() -> Iterator[str]:
    """Yields the files of the sources, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    yield from (name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


class Copy:
    """A copy of the sources with a history of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in files():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path)
        self.git("init", "--quiet")
        self.git("add", "--all")
        author = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        self.git(*author, "commit", "--quiet", "--no-verify", "--message=before")

    def edit(self, name: str, edits: list[tuple[str, str]]) -> None:
        """Puts each text before its line, or at the end of the list that its line closes."""
        path = self._folder / name
        text = path.read_text("utf-8")
        for before, new in edits:
            assert before in text, f"{name} has no {before!r}"
            at = text.index(before)
            if before.endswith("\n)"):  # the last of a union
                at = text.index("\n)", at) + 1
            text = text[:at] + new + text[at:]
        path.write_text(text, "utf-8")

    def git(self, *arguments: str) -> str:
        return self._run("git", *arguments)

    def python(self, *arguments: str) -> str:
        return self._run(sys.executable, "-m", *arguments)

    def write_generated_files(self) -> None:
        """Runs what the page says to run after a change of commands or events."""
        self.python("ruff", "check", "--quiet", "--fix", "--select", "I", ".")
        self.python("ruff", "format", "--quiet", ".")
        self.python("tests.support.wire_files")
        page = self.python("server.reference.protocol")
        (self._folder / "docs/reference/protocol.md").write_text(page, "utf-8")

    def changed(self) -> set[str]:
        """Returns the files that `git diff --stat` counts."""
        self.git("add", "--all")
        return set(self.git("diff", "--cached", "--name-only").split())

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, timeout=1500
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


#: What fails in the copy as long as a step of the recipe is missing.
CHECKS = (
    "tests/client/test_clients_agree.py", "tests/client/test_commands.py",
    "tests/client/test_model.py", "tests/client/test_terminal_docs.py",
    "tests/client/test_web_wire.py", "tests/server/test_permissions.py",
    "tests/server/test_protocol.py", "tests/server/test_room_log.py",
    "tests/server/test_room_rules.py",
    "tests/test_imports.py::test_imports_point_one_way",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("has_event", [False, True], ids=["a command", "and an event"])
def test_a_command_is_added_by_the_recipe(tmp_path: Path, has_event: bool) -> None:
    """Who does what the recipe says, in the files that it names, has a command that is whole.

    The checks, the types and the tests of every list of commands and events pass, and no other file
    has changed. The counts of files: 13 for a command, 21 with an event of its own.
    """
    title = "A new command of a room"
    copy = Copy(tmp_path)
    for name, edits in COMMAND.items():
        copy.edit(
            name, [(before, with_own_event(text) if has_event else text) for before, text in edits]
        )
    if has_event:
        for name, edits in EVENT.items():
            copy.edit(name, edits)
    copy.write_generated_files()
    copy.python("ruff", "check", "--quiet", ".")
    copy.python("mypy", "server", "client", "tests/support", "tests/server/test_protocol.py")
    copy.python("pytest", "--quiet", "-p", "no:cacheprovider", *CHECKS)
    named = recipe(title) | (recipe("A new event of a room") if has_event else set())
    samples = {"tests/data/messages/client-wave.json"}
    samples |= {"tests/data/messages/event-waved.json"} if has_event else set()
    assert copy.changed() == named | samples
    assert len(copy.changed()) == (21 if has_event else 13)
