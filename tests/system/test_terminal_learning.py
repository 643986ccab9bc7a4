"""A match on a terminal with hints and the coach, its analysis, and its worst mistake once more."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.address import parse_address
from client.api import fetch_installation
from server.address_file import ServerAddress, announced_address
from tests.support.pseudo_terminal import Screen, environ, on_a_terminal, plyroom
from tests.system.test_terminal import CELLS, moves_of, run_forked, serve

pytestmark = pytest.mark.usefixtures("warm_engine")

#: The moves of a person who gives the queen away: the first one of each line that is legal.
MOVES = (("e2e4",), ("d1h5",), ("h5f7", "h5g6", "a2a3"))
PROMPT = "Your move (or help) > "
PROGRESS = re.compile(r"(\d+) of (\d+) positions")
#: The command that plays the worst mistake differently, with its match and its ply.
WAY_ON = re.compile(r"To play something better than .*: .*(play chess --from \S+ --ply \d+.*)")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve(tmp_path_factory.mktemp("learning") / "data") as (address, _):
        yield address


def give_the_queen_away(screen: Screen) -> None:
    for number, moves in enumerate(MOVES, 1):
        for move in moves:
            screen.type(move)
            if screen.expect_one(f"{number}. White: ", "error: ") != "error: ":
                break
            screen.expect(PROMPT)
        screen.expect(f"{number}... Black: ")
    screen.expect(PROMPT)


def play_with_help(screen: Screen) -> str:
    """Plays badly with hints and the coach, and resigns; returns the link to the match."""
    screen.expect(PROMPT)
    screen.type("/coach on")
    screen.expect("The coach watches your moves")
    screen.type("hint piece")
    screen.expect("Look at the ")
    screen.type("hint")
    screen.expect("The best moves:")
    give_the_queen_away(screen)
    if "Coach: " not in screen.text:
        screen.expect("Coach: ")
    screen.type("resign")
    screen.expect("Resign the match?")
    screen.type("yes")
    screen.expect("You lost: you resigned.")
    screen.expect("rematch or quit > ")
    screen.type("quit")
    assert screen.wait_for_end() == 0
    return str(re.findall(r"Analysis: .* analyse\s+(\S+)", screen.text)[0])


def test_a_player_learns_from_a_match_on_a_terminal(
    url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Hints and the coach speak in the match, the analysis grows, the worst mistake is opened, and
    the printed command plays on from before it with another move.
    """
    env = environ(tmp_path_factory.mktemp("ada"), COLUMNS="200")
    with on_a_terminal(plyroom("play", "chess", "--level", "3", "--url", url), env) as screen:
        link = play_with_help(screen)

    with on_a_terminal(plyroom("analyse", link), env) as screen:
        assert screen.wait_for_end() == 0
        done = [(int(plies), int(of)) for plies, of in PROGRESS.findall(screen.text)]
        assert done == sorted(done)
        assert any(0 < plies < of for plies, of in done)
        assert "White (Guest" in screen.text
        assert "Better: " in screen.text
        way_on = WAY_ON.search(screen.text)
        assert way_on, screen.text

    ply = int(re.findall(r"--ply (\d+)", way_on[1])[0])
    with on_a_terminal(plyroom("replay", link, "--analyse"), env) as screen:
        screen.expect("n next, p back")
        screen.type(f"{ply // 2 + 1}.")
        screen.expect("Better: ")
        screen.send_keys("q")
        assert screen.wait_for_end() == 0

    with on_a_terminal(plyroom(*way_on[1].split()), env) as screen:
        screen.expect("Black: AI level 3")
        screen.expect(PROMPT)
        screen.type("h2h3")
        screen.expect("White: h3\n")
        screen.expect(PROMPT)
        screen.type("q")
        assert screen.wait_for_end() == 0


def test_only_a_position_of_the_same_game_that_goes_on_can_be_played(
    url: str, tmp_path: Path
) -> None:
    """A match of another game, its last position and options beside --from are refused in words."""
    env = environ(tmp_path)
    done = run_forked(
        env, "play", "tic-tac-toe", "--level", "1", "--url", url, typed="\n".join(CELLS)
    )
    assert done.returncode == 0, done.stderr
    link = re.findall(r"Replay: .* replay (\S+)", done.stderr)[0]
    for arguments, code, reason in (
        (("chess", "--from", link), 1, "that is a match of Tic-tac-toe, not of Chess"),
        (("tic-tac-toe", "--from", f"{link}?ply={len(moves_of(done.stdout))}"), 1, "is over in"),
        (("tic-tac-toe", "--from", link, "--start", "b2"), 2, "--start and --from"),
        (("tic-tac-toe", "--ply", "3"), 2, "--ply goes with --from"),
    ):
        refused = run_forked(env, "play", *arguments, "--url", url)
        assert (refused.returncode, reason in refused.stderr) == (code, True), refused.stderr
    after = run_forked(
        env, "play", "tic-tac-toe", "--from", f"{link}?ply=2", typed="\n".join(CELLS)
    )
    assert after.returncode == 0, after.stderr
    assert len(moves_of(after.stdout)) <= 7
    assert re.search(r"^1. Crosses: ", after.stdout, re.MULTILINE)


def test_a_match_on_the_server_that_runs_here_says_who_sees_it(url: str, tmp_path: Path) -> None:
    """With the id of a match to begin from too, which names no server."""
    env = environ(tmp_path)
    done = run_forked(
        env, "play", "tic-tac-toe", "--level", "1", "--url", url, typed="\n".join(CELLS)
    )
    match = done.stderr.rstrip().rpartition("/match/")[2]
    installation = fetch_installation(parse_address(url))
    assert installation is not None
    (tmp_path / "data").mkdir()
    play = plyroom("play", "tic-tac-toe", "--from", match, "--ply", "2", "--level", "1")
    with (
        announced_address(tmp_path / "data", ServerAddress(url, installation)),
        on_a_terminal(play, env, folder=tmp_path) as screen,
    ):
        screen.expect(f"You play on the server that runs here, {url}, where all see the match.")
        screen.expect("Your move")
        screen.press("C")
        assert screen.wait_for_end() == 1
