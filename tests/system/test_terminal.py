"""The `plyroom` command on terminals and in pipes, with real servers."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from client.terminal.board import draw_board
from engine.game import Position
from engine.rules.registry import load_game
from server.deploy.cluster.forking import FORKER
from tests.support.pseudo_terminal import Screen, environ, on_a_terminal, on_pipes, plyroom
from tests.support.server_process import ServerProcess
from tests.support.terminals import EmulatedTerminal

pytestmark = pytest.mark.usefixtures("warm_engine")

#: All cells of tic-tac-toe. Typed as moves they finish any match: an occupied cell only gives an
#: error message.
CELLS = [f"{column}{row}" for row in "213" for column in "bac"]

#: The environment of clients whose own server needs no search worker, which takes a second of CPU
#: time to start.
WITHOUT_WORKERS = {"PLYROOM_WORKERS": "0"}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environ(tmp_path)


@contextmanager
def serve(data: Path, port: int = 0, workers: int = 1) -> Iterator[tuple[str, ServerProcess]]:
    """Runs a forked server, which starts quickly; yields its address and the server."""
    with asyncio.Runner() as runner:
        server = ServerProcess(data, port=port, workers=workers)
        runner.run(server.start())
        try:
            yield server.url, server
        finally:
            if server.returncode is None:
                runner.run(server.stop())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server for the tests of this module."""
    with serve(tmp_path_factory.mktemp("terminal") / "data") as (address, _):
        yield address


def run(
    env: dict[str, str], *arguments: str, typed: str = "", folder: Path = Path("/")
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a pipe and in a folder, to its end."""
    return subprocess.run(
        plyroom(*arguments),
        input=typed,
        capture_output=True,
        text=True,
        env=env,
        cwd=folder,
        timeout=120,
    )


def run_forked(
    env: dict[str, str], *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """The same in a forked process, which has imported the client: a quarter of the CPU time.

    The server that the command needs runs already.
    """

    async def run_to_end() -> int:
        stdin, keyboard = os.pipe()
        os.write(keyboard, typed.encode())  # less than a pipe holds
        os.close(keyboard)
        process = await FORKER.fork(
            arguments, env, stdin, output.fileno(), errors.fileno(), "client", Path("/")
        )
        os.close(stdin)
        async with asyncio.timeout(120):
            return await process.wait()

    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        code = asyncio.run(run_to_end())
        for file in (output, errors):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, code, output.read(), errors.read())


def moves_of(text: str) -> list[str]:
    return re.findall(r"^\d+\. \w+: \w+$", text, re.MULTILINE)


def room_link(screen: Screen) -> str:
    """Returns the link to the room that the command has printed."""
    return screen.expect("Room ") and re.sub(r"^\w+: ", "", screen.expect("\n")).strip()


def servers_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Returns the processes of the server that a client started."""
    return psutil.Process(process.pid).children(recursive=True)


def all_end(processes: list[psutil.Process]) -> bool:
    """Returns whether all processes end within a minute."""
    return not psutil.wait_procs(processes, timeout=60)[1]


# --- alone


def test_a_match_in_a_pipe_on_the_users_own_server(env: dict[str, str], tmp_path: Path) -> None:
    """The match ends with a result. With --data none nothing of it is kept, and no guest.

    The client starts its own server although the working directory has a package `server`.
    """
    (tmp_path / "server").mkdir()
    (tmp_path / "server" / "__init__.py").write_text("raise SystemExit('wrong server')")
    done = run(
        env, "play", "tic-tac-toe", "--persona", "average", "--data", "none",
        typed="\n".join(CELLS), folder=tmp_path,
    )  # fmt: skip
    assert_ended(done)
    assert "The match is not kept (--data none)." in done.stderr
    assert not (Path(env["XDG_STATE_HOME"]) / "plyroom").exists()
    assert not (Path(env["XDG_DATA_HOME"]) / "plyroom").exists()


def assert_ended(done: subprocess.CompletedProcess[str]) -> None:
    """Asserts that a match of tic-tac-toe was played to its result."""
    assert done.returncode == 0, done.stderr
    assert re.search(r"^(Draw|You won|You lost): ", done.stdout, re.MULTILINE)
    assert 5 <= len(moves_of(done.stdout)) <= 9
    assert "Traceback" not in done.stderr


def test_a_match_played_alone_is_kept_and_goes_on(env: dict[str, str]) -> None:
    """`plyroom play` alone keeps its match in the user's folder. A second one plays on the server
    of the first, which goes on when the first is terminated, and ends with the second. Ctrl-C says
    how to go on, and the command that it prints does. There is no traceback, and no process
    remains.
    """
    folder = Path(env["XDG_DATA_HOME"]) / "plyroom"
    play = plyroom("play", "tic-tac-toe", "--level", "1", "--name", "Ada B")
    with on_a_terminal(play, env) as first:
        first.expect(f"Your matches are kept in {folder}.")
        first.expect("Your move")
        servers = servers_of(first.process)
        with on_a_terminal(play, env) as second:
            second.expect(f"You play on the server of {folder}, http://127.0.0.1:")
            second.expect("Your move")
            assert not servers_of(second.process)
            first.process.send_signal(signal.SIGTERM)
            assert first.wait_for_end() == 1
            assert "Traceback" not in first.text
            second.type("b2")
            second.expect("2. Noughts: ")
            second.expect("Your move")
            second.press("C")
            assert second.wait_for_end() == 1
    assert all_end(servers)
    assert not (folder / "plyroom.address").exists()
    _, _, advice = second.text.partition("The match is not over. To go on:")
    command = shlex.split(advice.removesuffix("Stopped.\n"))
    with on_a_terminal(command, env | WITHOUT_WORKERS) as again:
        again.expect("You hold a seat here: Crosses.")
        again.expect("\x1b[31mX\x1b[0m")
        again.expect("Your move")
        servers = servers_of(again.process)
        assert servers
        again.press("C")
        assert again.wait_for_end() == 1
        assert again.text.endswith("Stopped.\n")
        assert "Traceback" not in again.text
    assert all_end(servers)


def test_a_match_that_was_stored_can_be_replayed(env: dict[str, str], tmp_path: Path) -> None:
    """The end of a match prints the replay command, which shows the moves and the AI's searches."""
    data = str(tmp_path / "kept")
    typed = "\n".join(CELLS)
    done = run(
        env, "play", "tic-tac-toe", "--level", "1", "--side", "second", "--data", data, typed=typed
    )
    assert_ended(done)
    _, _, command = done.stderr.strip().splitlines()[-1].partition(" -m client ")
    replayed = run(env | WITHOUT_WORKERS, *shlex.split(command))
    assert replayed.returncode == 0, replayed.stderr
    assert moves_of(replayed.stdout) == moves_of(done.stdout)
    result = replayed.stdout.rstrip().splitlines()[-1]
    assert result.partition(": ")[2] in done.stdout
    assert "\n  AI: " in replayed.stdout


def test_a_match_on_a_given_server_and_its_replay_in_all_forms(
    env: dict[str, str], url: str
) -> None:
    arguments = ("--url", url, "--option", "rows=1-3", "--brief", "--name", "Ada")
    moves = ["2x1", "2x2", "1x1", "2x3"] * 2
    done = run_forked(env, "play", "sticks", "--level", "2", *arguments, typed="\n".join(moves))
    assert done.returncode == 0, done.stderr
    _, _, link = done.stderr.strip().splitlines()[-1].partition(" replay ")
    plies = len(moves_of(done.stdout))

    whole = run_forked(env, "replay", link)
    assert "Sticks (Sticks in each row: 1-3), match" in whole.stdout
    assert "Ada (First) against AI level 2 (Second)" in whole.stdout
    assert moves_of(whole.stdout) == moves_of(done.stdout)

    lines = [
        json.loads(line) for line in run_forked(env, "replay", link, "--json").stdout.splitlines()
    ]
    assert [line["ply"] for line in lines[1:]] == list(range(plies + 1))
    assert lines[0]["options"] == {"rows": "1-3"}

    first_move = run_forked(env, "replay", f"{link}?ply=1")
    assert moves_of(first_move.stdout) == moves_of(done.stdout)[:1]
    assert run_forked(env, "replay", link, "--ply", "99").returncode == 2

    with on_a_terminal(plyroom("replay", link), env) as screen:
        screen.expect(f"0 of {plies} moves: n next")
        screen.send_keys("\x1b[C")
        screen.expect(moves_of(done.stdout)[0])
        screen.send_keys("\x1b[D")
        screen.expect(f"0 of {plies} moves: n next")
        screen.type(str(plies))
        screen.expect(f"{plies}. of {plies} moves")
        screen.send_keys("q")
        assert screen.wait_for_end() == 0


def test_moves_may_be_typed_as_players_write_them(env: dict[str, str], url: str) -> None:
    """Both clients read chess notation, Black sees a flipped board, and a draw is claimed."""
    arguments = ("--url", url, "--ascii", "--name")
    with on_a_terminal(plyroom("play", "chess", "--friend", *arguments, "Ada"), env) as ada:
        link = room_link(ada)
        with on_a_terminal(plyroom("join", link, *arguments, "Bob"), env) as bob:
            for ply, move in enumerate(("Nf3", "Nf6", "f3g1", "Ng8") * 2):
                mover, other = (ada, bob) if ply % 2 == 0 else (bob, ada)
                mover.expect("Your move (or help)")
                if ply == 0:
                    mover.type("Nf6")
                    mover.expect("error: ")
                    mover.expect("Your move (or help)")
                mover.type(move)
                side, notation = ("White", "Black")[ply % 2], "Ng1" if move == "f3g1" else move
                for screen in (mover, other):
                    screen.expect(f"{ply // 2 + 1}{'...' if ply % 2 else '.'} {side}: {notation}\n")
            assert " 8  bR  bN  bB  bQ  bK  bB  bN  bR" in shown(ada.text)
            assert " 1  wR  wN  wB  wK  wQ  wB  wN  wR" not in shown(ada.text)
            assert " 1  wR  wN  wB  wK  wQ  wB  wN  wR" in shown(bob.text)
            ada.expect("You may claim a draw (the same position 3 times): type claim.")
            ada.type("claim")
            for screen in (ada, bob):
                screen.expect("Draw: the same position 3 times.")
                screen.expect("rematch or quit")
                screen.type("quit")
                assert screen.wait_for_end() == 0


def test_the_end_of_the_input_before_the_end_of_the_match_fails(
    env: dict[str, str], url: str
) -> None:
    done = run_forked(env, "play", "tic-tac-toe", "--url", url, typed="b2\n")
    assert done.returncode == 1
    assert "the input ended before the match was over" in done.stderr
    assert "The match is not over. To go on:\n  " in done.stderr
    assert f" -m client join {url}/room/" in " ".join(done.stderr.split())


def test_the_client_ends_without_a_traceback_when_its_output_is_closed(
    env: dict[str, str], url: str
) -> None:
    process = subprocess.Popen(
        plyroom("play", "tic-tac-toe", "--url", url),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd="/",
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with process.stdin, process.stderr:
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"b2\nc3\na1\n")
        process.stdin.flush()
        assert process.wait(30) == 1
        assert b"Traceback" not in process.stderr.read()


# --- on a terminal


def test_a_match_on_a_terminal_with_a_rematch(env: dict[str, str], url: str) -> None:
    with on_a_terminal(
        plyroom("play", "connect-four", "--level", "1", "--url", url), env
    ) as screen:
        screen.expect("Your move (or help) > ")
        screen.type("d")
        screen.expect("2. Yellow: ")
        screen.expect("Your move")
        screen.type("help")
        screen.expect("play it, for example")
        screen.expect("Your move")
        screen.type("/well, well")
        screen.expect("> well, well")
        screen.type("resign")
        screen.expect("Resign the match?")
        screen.type("yes")
        screen.expect("You lost: you resigned.")
        screen.expect("rematch or quit > ")
        screen.type("rematch")
        screen.expect("Match 2: AI level 1 (Red) against Guest")
        screen.expect("1. Red: ")
        screen.expect("Your move")
        screen.type("q")
        assert screen.wait_for_end() == 0
        assert "\x1b[1m\x1b[31mR\x1b[0m" in screen.text


@pytest.mark.parametrize(
    ("game_id", "move", "ascii_option"),
    [("chess", "e2e4", ()), ("draughts", "11-15", ("--ascii",)), ("othello", "d3", ())],
)
def test_the_rows_of_a_board_in_colour(
    tmp_path: Path, url: str, game_id: str, move: str, ascii_option: tuple[str, ...]
) -> None:
    """On a terminal of 80 columns and 24 lines each row is one line of the screen, in figures or
    with --ascii in letters.
    """
    env = environ(tmp_path, TERM="xterm-256color")
    command = plyroom("play", game_id, "--level", "1", "--url", url, *ascii_option)
    with on_a_terminal(command, env) as screen:
        screen.expect("Your move (or help) > ")
        at_start = screen.text
        screen.type(move)
        screen.expect("Your move (or help) > ")
        after_reply = screen.text
    assert re.search(r"\x1b\[(1|38;5;16;48;5;\d+)m", after_reply)
    has_figures = not ascii_option
    position = load_game(game_id).start()
    assert_shown(at_start, position, has_figures)
    for line in shown(after_reply):
        if played := re.fullmatch(r"\d+\.+ \w+: (\S+)", line):
            position = position.play(position.parse_move(played[1]))
    assert_shown(after_reply, position, has_figures)


def shown(text: str, rows: int = 1000) -> list[str]:
    """Returns the lines that a terminal of 80 columns shows at the end."""
    terminal = EmulatedTerminal(rows=rows)
    terminal.write(text)
    return terminal.lines()


def assert_shown(text: str, position: Position, has_figures: bool) -> None:
    """Asserts that a terminal shows the board of a position in lines that follow each other."""
    game = position.game.board(position.options)
    board = draw_board(game, position.view(), 256, has_figures=has_figures)
    assert "\n".join(shown("\n".join(board.rows))) in "\n".join(shown(text, rows=24))


@pytest.mark.parametrize("plain", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_no_colour_where_none_is_wanted(tmp_path: Path, url: str, plain: dict[str, str]) -> None:
    with on_a_terminal(
        plyroom("play", "tic-tac-toe", "--url", url), environ(tmp_path, **plain)
    ) as screen:
        screen.expect("Your move")
        screen.type("b2")
        screen.expect("Your move")
        screen.press("D")
        assert screen.wait_for_end() == 0
        assert not re.search(r"\x1b\[[\d;]*m", screen.text)
        assert plain.get("TERM") != "dumb" or "\x1b" not in screen.text


#: A program whose lobby has a fault.
FAULTY = """
import sys
from client.cli import main
from client.tui.lobby import LobbyScreen

def fail(self, game=""):
    raise ValueError("a fault")

LobbyScreen.action_new = fail
sys.argv = ["plyroom", "--url", sys.argv[1]]
main()
"""
#: What a terminal is sent to leave the full screen.
LEAVE_SCREEN = "\x1b[?1049l"


def test_the_full_screen_gives_the_terminal_back(env: dict[str, str], url: str) -> None:
    """A lost terminal (SIGHUP) ends it, with the words on how to go on; Ctrl-Z suspends it; a fault
    of the program restores the screen and is one line.
    """
    env = {**env, "PLYROOM_PLAIN": "", "TERM": "xterm-256color"}
    command = plyroom("play", "tic-tac-toe", "--level", "1", "--url", url)
    with on_a_terminal(command, env) as screen:
        terminal = EmulatedTerminal(rows=24)
        screen.show(terminal, "Your move", "AI level 1")
        screen.type("b2\r")
        screen.show(terminal, "1. b2", "2. ", "Your move")
        screen.press("Z")
        screen.expect(LEAVE_SCREEN)
        assert os.WIFSTOPPED(os.waitpid(screen.process.pid, os.WUNTRACED)[1])
        screen.skip()  # what was drawn before says nothing about the time after
        screen.process.send_signal(signal.SIGCONT)
        again = EmulatedTerminal(rows=24)
        screen.show(again, "1. b2")
        screen.type("last\r")
        screen.show(again, "2. Noughts: ")
        screen.process.send_signal(signal.SIGHUP)
        screen.expect(LEAVE_SCREEN)
        screen.expect("The match is not over. To go on:")
        screen.wait_for_end()
    with on_a_terminal([sys.executable, "-P", "-c", FAULTY, url], env) as screen:
        screen.show(EmulatedTerminal(rows=24), "New room")
        screen.send_keys("n")
        screen.expect(LEAVE_SCREEN)
        screen.expect("Plyroom has failed: ValueError: a fault.")
        assert screen.wait_for_end() == 1
        assert "Traceback" not in screen.text


@pytest.mark.parametrize(
    "number", [signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_client_that_is_terminated_stops_its_server(
    env: dict[str, str], number: signal.Signals
) -> None:
    play = plyroom("play", "tic-tac-toe", "--one-screen")
    with on_pipes(play, env | WITHOUT_WORKERS) as screen:
        screen.expect("? Crosses to move")
        servers = servers_of(screen.process)
        assert servers
        screen.process.send_signal(number)
        assert screen.wait_for_end() == 1
        assert "Traceback" not in screen.text
    assert all_end(servers)


def test_a_client_that_is_killed_leaves_no_server_behind(env: dict[str, str]) -> None:
    with on_pipes(plyroom("play", "tic-tac-toe"), env) as screen:
        screen.expect("? Crosses to move")
        servers = servers_of(screen.process)
        assert servers
        screen.process.kill()
        assert screen.wait_for_end() == -signal.SIGKILL
    assert all_end(servers)


# --- several terminals


def test_two_terminals_play_and_a_third_watches(tmp_path: Path, url: str) -> None:
    """Each sees the same moves; a spectator in a pipe ends with the match."""
    ada = environ(tmp_path / "ada")
    bob = environ(tmp_path / "bob")
    play = plyroom(
        "play", "tic-tac-toe", "--friend", "--side", "second", "--url", url, "--name", "Ada"
    )
    with on_a_terminal(play, ada) as first:
        link = room_link(first)
        assert link.startswith(f"{url}/room/")
        first.expect("Only this computer can open the link")
        with (
            on_pipes(plyroom("watch", link), bob) as third,
            on_pipes(plyroom("join", link, "--name", "Bob"), bob) as second,
        ):
            third.expect("Crosses: ")
            second.expect("? Crosses to move")
            first.expect("Match 1: Bob (Crosses) against Ada (Noughts)")
            for crosses, noughts in (("b2", "a1"), ("c2", "b1")):
                second.type(crosses)
                first.expect(f"Crosses: {crosses}")
                first.expect("Your move")
                first.type(noughts)
                second.expect("? Crosses to move")
            second.type("a2")
            assert (second.wait_for_end(), third.wait_for_end()) == (0, 0)
            first.expect("You lost: three in a row.")
            first.expect("rematch or quit")
            expected = [
                "1. Crosses: b2",
                "2. Noughts: a1",
                "3. Crosses: c2",
                "4. Noughts: b1",
                "5. Crosses: a2",
            ]
            assert moves_of(second.text) == moves_of(third.text) == expected
            assert all(move in first.text for move in expected)
        first.type("quit")
        assert first.wait_for_end() == 0


def test_watching_as_json(env: dict[str, str], tmp_path: Path, url: str) -> None:
    with on_pipes(plyroom("play", "tic-tac-toe", "--level", "1", "--url", url), env) as player:
        link = room_link(player)
        player.expect("? Crosses to move")
        with on_pipes(plyroom("watch", link, "--json"), environ(tmp_path / "other")) as watcher:
            watcher.expect('"t":"snapshot"')
            player.type("resign")
            assert watcher.wait_for_end() == 0
            kinds = [json.loads(line).get("kind") for line in watcher.text.splitlines()]
            assert "finished" in kinds
        assert player.wait_for_end() == 0


def test_a_second_terminal_of_the_same_user_has_the_same_seat(
    env: dict[str, str], url: str
) -> None:
    """The second terminal prints which seat it has; with --name it is another guest."""
    with on_a_terminal(plyroom("play", "tic-tac-toe", "--friend", "--url", url), env) as first:
        link = room_link(first)
        with on_a_terminal(plyroom("join", link), env) as second:
            second.expect(
                "You hold a seat here: Crosses. (To play as another person, use --name NAME.)"
            )
        with on_a_terminal(plyroom("join", link, "--name", "Bob"), env) as second:
            second.expect("Match 1: ")
            first.expect("against Bob (Noughts)")


def test_a_room_that_does_not_exist(env: dict[str, str], url: str) -> None:
    for command in ("join", "watch"):
        done = run_forked(env, command, f"{url}/room/nosuchroom")
        assert (done.returncode, done.stdout) == (1, "")
        assert "there is no such room" in done.stderr
        assert f" -m client rooms --url {url}` lists the public ones" in " ".join(
            done.stderr.split()
        )
    done = run_forked(env, "replay", f"{url}/match/nosuchmatch")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no such match" in done.stderr


def test_games_levels_and_options_that_a_server_does_not_have(
    env: dict[str, str], url: str
) -> None:
    assert "there is no game 'go'" in run_forked(env, "play", "go", "--url", url).stderr
    done = run_forked(env, "play", "tic-tac-toe", "--level", "7", "--url", url)
    assert done.returncode == 2
    assert "levels 1 to 3" in done.stderr
    done = run_forked(env, "play", "sticks", "--option", "rows=99", "--url", url)
    assert done.returncode == 2
    assert "rows are 1 to 6 numbers" in done.stderr
    listed, own = (
        run_forked(env, *command).stdout for command in (("games", "--url", url), ("games",))
    )
    assert sorted(listed.splitlines()) == sorted(own.splitlines())


# --- outages of the server


def test_the_client_waits_for_a_killed_server_to_return(
    env: dict[str, str], tmp_path: Path
) -> None:
    """After kill -9 of the server the terminal reports the loss; later the match continues."""
    data = tmp_path / "data"
    with serve(data) as (address, server):
        client = on_a_terminal(
            plyroom("play", "tic-tac-toe", "--level", "1", "--url", address), env
        )
        screen = client.__enter__()
        try:
            screen.expect("Your move")
            screen.type("b2")
            screen.expect("2. Noughts")
            screen.expect("Your move")
            for process in [*server.descendants(), psutil.Process(server.pid)]:
                process.kill()
            screen.expect("The connection is lost; trying again …")
            time.sleep(0.5)
            with serve(data, server.port):
                screen.expect("Connected again.")
                screen.type("last")
                screen.expect("2. Noughts: ")
                screen.type("resign")
                screen.expect("Resign the match?")
                screen.type("yes")
                screen.expect("You lost: you resigned.")
                screen.type("q")
                assert screen.wait_for_end() == 0
        finally:
            client.__exit__(None, None, None)


def test_servers_at_one_address_keep_their_guests(env: dict[str, str], tmp_path: Path) -> None:
    """Two servers that take turns at an address each keep the user's guest, and so does a server at
    another port. The token that an earlier version kept for the address is tried, and left alone;
    the client says once that a server does not know it.
    """
    path = Path(env["XDG_STATE_HOME"]) / "plyroom" / "tokens.json"
    notice = "Your earlier guest was not found on this server. You are a new guest now: "

    def visit(data: str, port: int) -> tuple[int, bool]:
        """Lists the server's rooms; returns its port, and whether the guest was not found."""
        with serve(tmp_path / data, port, workers=0) as (address, server):
            done = run_forked(env, "rooms", "--url", address)
        assert done.returncode == 0, done.stderr
        return server.port, notice in done.stderr

    def kept() -> dict[str, str]:
        return {key: names[""] for key, names in json.loads(path.read_text()).items()}

    port, _ = visit("one", 0)
    ((first, token),) = kept().items()
    old_address = f"http://127.0.0.1:{port}"
    path.write_text(json.dumps({old_address: {"": token}}))
    assert visit("one", port) == (port, False)
    assert kept() == {old_address: token, first: token}
    assert visit("two", port) == (port, True)
    second = kept()
    assert len(second) == 3
    for data, wanted in (("one", 0), ("two", port)):
        assert visit(data, wanted)[1] is False
        assert kept() == second


def test_serve_prints_its_address_and_stops_on_ctrl_c(tmp_path: Path, env: dict[str, str]) -> None:
    command = plyroom(
        "serve", "--host", "127.0.0.1", "--port", "0", "--data", str(tmp_path / "data"),
        "--workers", "0",
    )  # fmt: skip
    with on_a_terminal(command, env) as screen:
        screen.expect("Plyroom is at http://127.0.0.1:")
        screen.press("C")
        assert screen.wait_for_end() == 0
        assert "Traceback" not in screen.text


def test_serve_on_a_taken_port_prints_advice(tmp_path: Path, env: dict[str, str], url: str) -> None:
    port = url.rpartition(":")[2]
    done = run(
        env, "serve", "--host", "127.0.0.1", "--port", port, "--data", str(tmp_path / "two"),
        "--workers", "0",
    )  # fmt: skip
    assert done.returncode == 1
    assert port in done.stderr
    assert "Choose another: --port" in done.stderr


def test_a_server_that_cannot_start_is_reported(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(env, "play", "tic-tac-toe", "--data", str(tmp_path / "file"))
    assert done.returncode == 2
    os.chmod(tmp_path, 0o700)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "plyroom.sqlite3").write_text("this is not a database")
    broken = str(tmp_path / "broken")
    done = run(env | WITHOUT_WORKERS, "play", "tic-tac-toe", "--one-screen", "--data", broken)
    assert done.returncode == 1
    assert "the server could not be started" in done.stderr
