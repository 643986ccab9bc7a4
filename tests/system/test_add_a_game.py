"""The game of docs/tutorial/add-a-game.md passes the conformance kit and can be played."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from client.connection import connect
from server.commands import AiSeat, MySeat
from tests.oracle.journal import Journal
from tests.support.documented import PAGE, install
from tests.support.players import QUICK_TIMING, Player, make_room
from tests.support.server_process import NO_RATE_LIMITS, ROOT, assert_no_traceback, serving

GAME = "pong-hau-ki"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs the page's files in a folder on the path of every process of the test."""
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{folder}")
    return folder


def run(*arguments: str) -> str:
    """Runs a command, which must succeed; returns its output."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.usefixtures("installed")
def test_the_game_of_the_page_is_found_and_passes_the_kit() -> None:
    """The game's entry point is found and all checks pass.

    perft prints the page's counts, and `plyroom games` lists the game.
    """
    lines = run("engine.conformance", GAME).splitlines()
    assert len(lines) >= 16
    assert all(line.startswith(f"{GAME}: ") and line.endswith(": passed") for line in lines)
    counts = [line.split()[1] for line in run("engine.perft", GAME, "6").splitlines()]
    printed = re.search(r"For this game it prints ([\d, ]+)\.", PAGE.read_text("utf-8"))
    assert printed
    assert printed[1].split(", ") == counts
    assert f"{GAME}: Pong hau k'i, levels 1 to 2\n" in run("client", "games")


@pytest.mark.usefixtures("installed")
async def test_the_game_of_the_page_is_played_against_the_ai(tmp_path: Path) -> None:
    """A client and an AI seat play a whole match of the game on a server process."""
    journal, stop = Journal(), asyncio.Event()
    stop.set()
    async with (
        serving(tmp_path / "data", workers=1, ai_pace_ms=0, **NO_RATE_LIMITS) as server,
        connect(server.url, timing=QUICK_TIMING) as ada,
        asyncio.timeout(90),
    ):
        room = await make_room(ada, GAME, None, (MySeat(), AiSeat(level=2)))
        host = Player(ada, room, journal, 1, stop, host=True)
        await host.run()
        match = host.model.match
        assert match is not None
        assert match.over is not None
        assert host.model.ply > 2
        assert await server.stop() == 0
        assert_no_traceback(server)
