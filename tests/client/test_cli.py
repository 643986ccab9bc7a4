"""The parts of the plyroom command that need no server: wrong usage, help, the list of games."""

import io
import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from client.address import parse_address
from client.cli import main
from client.subcommands.full_screen import fills_terminal
from engine.rules.registry import game_ids, load_game
from server.ops import admin


def plyroom(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(
        main, arguments, prog_name="plyroom", env={"PLYROOM_URL": None, **environ}
    )


#: The commands whose `--help` the client prints itself.
CLIENT_COMMANDS = sorted(name for name, command in main.commands.items() if command.add_help_option)

#: The commands that pass `--help` on to a program of the server.
SERVER_COMMANDS = sorted(set(main.commands) - set(CLIENT_COMMANDS))


@pytest.mark.parametrize("command", ["backup", "teach", "worker"])
def test_the_client_runs_the_programs_of_the_server(command: str) -> None:
    """A command of each of the server's three programs prints the program's help."""
    completed = subprocess.run(
        [sys.executable, "-m", "client", command, "--help"], capture_output=True, text=True
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.lower().startswith("usage:")
    assert command in SERVER_COMMANDS


@pytest.mark.parametrize("command", sorted({*SERVER_COMMANDS} - {"teach", "worker"}))
def test_every_command_for_databases_has_help(command: str) -> None:
    """The client passes the name of each command on to the program, which has help for it."""
    result = CliRunner().invoke(admin.main, [command, "--help"], prog_name="plyroom")
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"Usage: plyroom {command}")


def test_the_client_has_these_commands() -> None:
    assert CLIENT_COMMANDS == [
        "analyse",
        "export",
        "games",
        "join",
        "play",
        "replay",
        "rooms",
        "serve",
        "watch",
    ]


@pytest.mark.parametrize("command", CLIENT_COMMANDS)
def test_every_command_and_each_of_its_options_has_help(command: str) -> None:
    result = plyroom(command, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: plyroom {command}")
    for parameter in main.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.name == "side", parameter.name


def test_the_command_prints_its_version_and_its_help() -> None:
    assert plyroom("--version").output.startswith("plyroom, version ")
    assert "play" in plyroom("-h").output


def test_help_loads_neither_the_protocol_nor_the_games() -> None:
    """`plyroom --help` is quick: a command imports its modules only when it runs."""
    heavy = {"asyncio", "client.connection", "engine", "msgspec", "numpy", "server", "websockets"}
    code = (
        "import sys; from client.cli import main; main(['--help'], standalone_mode=False);"
        f" print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_games_lists_all_with_levels_and_options() -> None:
    """Each game is listed once with its title, levels and option values; defaults are marked."""
    result = plyroom("games")
    assert result.exit_code == 0
    expected = []
    for game in map(load_game, game_ids()):
        levels = f"levels 1 to {game.levels}" if game.levels > 1 else "one level"
        if game.rules.SEARCH == "teach":
            levels = "strategies instead of levels"
        names = f"{game.id} ({', '.join(game.rules.ALIASES)})" if game.rules.ALIASES else game.id
        expected.append(f"{names}: {game.title}, {levels}")
        expected.append(f"    {game.goal}")
        for name, option in game.options.items():
            values = ", ".join(
                f"{value} (default)" if value == option.default else value
                for value in option.offered
            )
            more = ", or others like these" if option.free else ""
            expected.append(f"    --option {name}=...: {option.title}; {values}{more}")
    assert result.stdout.splitlines() == expected
    assert "draughts (checkers): Draughts, levels 1 to 8" in expected
    assert (
        "    --option rows=...: Sticks in each row; 1-2-3 (default), 1-3-5-7, or others like these"
        in expected
    )


def test_a_game_that_cannot_be_loaded_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on stderr gives the reason; the other games are listed."""
    monkeypatch.setattr("engine.rules.registry.game_ids", lambda: ["sticks", "broken"])
    result = plyroom("games", "--json")
    assert result.exit_code == 0
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ["sticks"]
    assert "broken is left out: UnknownGame: there is no game 'broken'" in result.stderr


def test_games_as_json_prints_a_line_for_each() -> None:
    """Each line has the game's data from the registry, with the rules for players."""
    lines = [json.loads(line) for line in plyroom("games", "--json").stdout.splitlines()]
    for line, game in zip(lines, map(load_game, game_ids()), strict=True):
        options = {
            name: {
                "title": option.title,
                "default": option.default,
                "offered": list(option.offered),
            }
            | ({"free": True} if option.free else {})
            for name, option in game.options.items()
        }
        assert {
            name: {key: value for key, value in option.items() if value is not False}
            for name, option in line.pop("options").items()
        } == options
        assert line == {
            "id": game.id,
            "title": game.title,
            "levels": game.levels,
            "rules": game.rules.RULES,
            "search": game.rules.SEARCH,
            "aliases": list(game.rules.ALIASES),
            "goal": game.goal,
        }


@pytest.mark.parametrize(
    ("arguments", "explanation"),
    [
        (["play", "tictactoe"], "Did you mean tic-tac-toe?"),
        (["play", "xyz"], "There are: "),
        (["play", "tic-tac-toe", "--level", "9"], "9 is not in the range"),
        (["play", "tic-tac-toe", "--level", "8"], "Tic-tac-toe has levels 1 to 3"),
        (["play", "sticks", "--option", "rows"], "it has: rows=1-2-3"),
        (["play", "sticks", "--option", "columns=3"], "it has: rows=1-2-3"),
        (["play", "tic-tac-toe", "--friend", "--level", "1"], "choose one of"),
        (["play", "tic-tac-toe", "--persona", "average", "--level", "1"], "choose one of"),
        (
            ["play", "tic-tac-toe", "--persona", "bold"],
            "is not one of 'average', 'swindler', 'random'",
        ),
        (["play", "tic-tac-toe", "--friend"], "start `plyroom serve`"),
        (["play", "tic-tac-toe", "--side", "third"], "'third' is not one of"),
        (["play", "tic-tac-toe", "--url", "ftp://x"], "is not the address"),
        (["join", "not an id"], "neither an id nor a link"),
        (["watch", "http://host"], "is not a link to a room"),
        (["replay", "abc", "--ply", "-1"], "-1 is not in the range"),
        (["export", "abc", "--game", "chess"], "matches, or filters for the list, not both"),
        (["export", "--since", "yesterday"], "a day is written as 2026-11-28"),
        (["export", "--unlisted"], "a server keeps them private"),
        (["nonsense"], "No such command"),
        (["play"], "Missing argument 'GAME'"),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], explanation: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The exit code is 2, and stdout is empty."""
    monkeypatch.chdir(tmp_path)  # where no server runs
    result = plyroom(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert explanation in " ".join(result.stderr.split())


@pytest.mark.parametrize("option", [(), ("--level", "1"), ("--friend",)])
def test_play_uses_the_server_that_runs_here(
    option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That of `make run` in the same folder, where no other one is named; a friend may join too."""
    monkeypatch.setattr("client.own_server.server_here", lambda: parse_address("127.0.0.1:1"))
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    result = plyroom("play", "tic-tac-toe", *option, **environ)
    assert "http://127.0.0.1:1: " in result.stderr
    named = plyroom("play", "tic-tac-toe", *option, "--url", "127.0.0.1:2", **environ)
    assert "http://127.0.0.1:2: " in named.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["games", "--url", "127.0.0.1:1"],
        ["play", "tic-tac-toe", "--url", "127.0.0.1:1"],
        ["join", "abc", "--url", "127.0.0.1:1"],
        ["watch", "http://127.0.0.1:1/room/abc"],
        ["replay", "http://127.0.0.1:1/match/abc"],
        ["export", "http://127.0.0.1:1/match/abc"],
    ],
)
def test_an_unreachable_server_is_reported_with_advice(
    arguments: list[str], tmp_path: Path
) -> None:
    """The exit code is 1, and stdout is empty."""
    result = plyroom(*arguments, XDG_STATE_HOME=str(tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "127.0.0.1:1" in result.stderr
    assert "`plyroom serve` starts one" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_environment_may_name_the_server() -> None:
    assert "127.0.0.1:1" in plyroom("games", PLYROOM_URL="http://127.0.0.1:1").stderr


def test_the_first_program_is_played_without_a_server() -> None:
    """`play --classic` hands over to the program of `engine.teach`, with its options."""
    completed = subprocess.run(
        [sys.executable, "-m", "client", "play", "sticks", "--classic", "--option", "rows=1-2"],
        capture_output=True,
        text=True,
        input="Dave\n1\n1\n",
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith(
        "!!!! Welcome to Sticks !!!!\nHuman #1... What is your name?"
    )
    assert "3." not in completed.stdout
    assert completed.stdout.endswith(" is the WINNER !!!!\n")


@pytest.mark.parametrize(
    "option", ["--level=2", "--friend", "--url=http://127.0.0.1:1", "--strategy=minimax", "--plain"]
)
def test_the_first_program_has_no_room(option: str) -> None:
    """The options of a room do not go with --classic, and the message names those that do."""
    result = plyroom("play", "sticks", "--classic", option)
    assert result.exit_code == 2
    assert f"{option.partition('=')[0]} is for a room; --classic goes with --depth" in result.output


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("plain", "environ", "piped", "has_textual", "fills"),
    [
        (False, {"TERM": "xterm"}, None, True, True),
        (True, {"TERM": "xterm"}, None, True, False),
        (False, {"TERM": "xterm", "PLYROOM_PLAIN": "1"}, None, True, False),
        (False, {"TERM": "dumb"}, None, True, False),
        (False, {}, None, True, False),
        (False, {"TERM": "xterm"}, 0, True, False),
        (False, {"TERM": "xterm"}, 1, True, False),
        (False, {"TERM": "xterm"}, None, False, False),
    ],
)
def test_when_the_terminal_is_filled(
    plain: bool,
    environ: dict[str, str],
    piped: int | None,
    has_textual: bool,
    fills: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only a terminal both ways that can, with Textual, and unless plain lines are wanted; a line
    says how to get Textual only where nothing else is in the way.
    """
    streams = tuple(io.StringIO() if piped == number else Tty() for number in range(3))
    assert fills_terminal(plain, environ, streams, lambda: has_textual) is fills
    assert ("plyroom[tui]" in capsys.readouterr().err) is not has_textual


def test_plyroom_alone_without_a_terminal_says_what_people_do_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In at most ten lines, with the servers that run here. Options of the lobby before a command
    are refused.
    """
    ports = range(9000, 9009)
    here = tuple(parse_address(f"http://127.0.0.1:{port}") for port in ports)
    monkeypatch.setattr("client.own_server.servers_here", lambda: here)
    result = plyroom()
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert len(lines) <= 10
    assert all(len(line) <= 80 for line in lines)
    for first in ("play chess ", "play chess --friend ", "join LINK ", "serve ", "--help "):
        assert any(line.startswith(f"  {first}") for line in lines)
    assert "A server runs here: http://127.0.0.1:9000" in lines
    monkeypatch.setattr("client.own_server.servers_here", tuple)
    assert "runs here" not in plyroom().stderr
    result = plyroom("--plain", "games")
    assert result.exit_code == 2
    assert "--plain stands after the command: plyroom games ... --plain" in result.output
    result = plyroom("--plain")
    assert result.exit_code == 2
    assert "plain lines need a command: plyroom play chess --plain" in result.output


def test_a_port_that_speaks_no_http_is_a_sentence() -> None:
    """Such as that of ssh, whose greeting is no status line."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(b"SSH-2.0-OpenSSH\r\n")
                accepted.recv(4096)

        with ThreadPoolExecutor(1) as threads:
            threads.submit(greet)
            result = plyroom("games", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}")
    assert result.exit_code == 1
    assert "Error: no server can be reached at http://127.0.0.1:" in result.output
