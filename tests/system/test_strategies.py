"""Strategies as players on a real server, and in the terminal."""

import asyncio
import os
import subprocess
import tomllib
from collections.abc import Sequence
from contextlib import aclosing, suppress
from pathlib import Path

import psutil
import pytest

from client.connection import Connection, connect
from client.model import Model, apply
from server.commands import AiSeat, Create, MySeat
from server.protocol.messages import MatchResult
from tests.engine.strategies.installed import install_strategies
from tests.support.players import QUICK_TIMING
from tests.support.pseudo_terminal import environ, plyroom
from tests.support.server_process import NO_RATE_LIMITS, ROOT, assert_no_traceback, serving

#: Row 2 of the founding texts, the game of sticks.
STICKS = tomllib.loads((ROOT / "tests/data/founding/numbers.toml").read_text("utf-8"))["2-sticks"]


async def make_room(connection: Connection, seats: Sequence[AiSeat | MySeat]) -> str:
    """Creates a room of sticks and returns its id."""
    create = Create(id=connection.new_id(), game="sticks", seats=tuple(seats))
    room = (await connection.command(create)).room
    assert isinstance(room, str)
    return room


async def result_of(connection: Connection, room: str) -> MatchResult:
    """Follows a room and returns the result of its match."""
    model = Model(room=room, me=connection.identity)
    async with aclosing(connection.follow(room)) as messages:
        async for message in messages:
            model = apply(model, message)
            if model.match is not None and model.match.over is not None:
                return model.match.over
    raise AssertionError("the connection has ended")


def strategy_processes() -> list[psutil.Process]:
    """Returns the processes for strategies that this test has started."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended
            if "engine.strategy_pool.child" in child.cmdline():
                found.append(child)
    return found


async def test_strategies_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strategy of the documentation plays a match to its end, while another one hangs.

    That one ends its own match, with a reason. No process outlives the server.
    """
    site = tmp_path / "site"
    site.mkdir()
    install_strategies(site)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{site}")
    settings = {"ai_pace_ms": 0, "ai_duel_pace_ms": 0, "strategy_move_s": 0.5, **NO_RATE_LIMITS}
    async with (
        serving(tmp_path / "data", workers=0, **settings) as server,
        connect(server.url, timing=QUICK_TIMING) as ada,
        connect(server.url, timing=QUICK_TIMING) as ben,
        asyncio.timeout(90),
    ):
        documented, minimax = AiSeat(strategy="fewest-replies"), AiSeat(strategy="minimax")
        hanging = result_of(ada, await make_room(ada, (AiSeat(strategy="hang"), MySeat())))
        playing = result_of(ben, await make_room(ben, (documented, minimax)))
        hung, played = await asyncio.gather(hanging, playing)
        assert (played.how, played.winner) in (("board", 0), ("board", 1))
        assert hung == MatchResult(
            None, "failure",
            "the AI could not move: its strategy took more time than a move may take",
        )  # fmt: skip
        last = tuple(AiSeat(strategy=name) for name in ("last-move", "random"))
        assert (await result_of(ada, await make_room(ada, last))).how == "board"
        processes = strategy_processes()
        assert processes
        assert await server.stop() == 0
        assert psutil.wait_procs(processes, timeout=30)[1] == []
        assert_no_traceback(server)


def test_a_match_of_sticks_against_minimax(tmp_path: Path) -> None:
    """In line mode a person plays sticks against the program of the first founding text.

    The log of its search is the printed one, line for line, also in the replay.
    """
    env, data = environ(tmp_path), str(tmp_path / "kept")
    played = run_plyroom(
        env, "play", "sticks", "--strategy", "minimax", "--depth", "3", "--data", data,
        typed=STICKS["first_move"],
    )  # fmt: skip
    assert STICKS["program"] in played.stderr
    assert played.stdout.count(STICKS["log"].strip("\n")) == 1
    assert f"{STICKS['boast']}\n" in played.stdout
    assert "You lost: a single stick is left." in played.stdout
    last = played.stderr.strip().splitlines()[-1]
    assert last.startswith("Replay: ")
    replayed = run_plyroom(env, "replay", *last.partition(" replay ")[2].split())
    assert replayed.stdout.count(STICKS["log"].strip("\n")) == 1
    assert f"and values the position at {STICKS['value']}." in replayed.stdout


def run_plyroom(
    env: dict[str, str], *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a pipe, to its end; it must succeed."""
    done = subprocess.run(
        plyroom(*arguments), input=typed, capture_output=True, text=True, env=env, cwd="/",
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done
