"""An analysis survives `kill -9` of the server and of its search workers, with equal results."""

import asyncio
import contextlib
import json
import random
import signal
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from server.store.location import DATABASE_FILE
from server.store.sqlite import open_sqlite
from tests.oracle.analyses import Reading, check_analyses
from tests.support.analyses import play_match
from tests.support.fake_server import FakeServer
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess

#: A match of connect-four, in which nobody has four in a row.
MOVES = ("d", "d", "d", "d", "c", "e", "c", "e", "e", "c", "b", "f")


async def make_data(folder: Path) -> str:
    """Makes a data folder with the match; returns the match's id."""
    folder.mkdir()
    async with open_sqlite(folder / DATABASE_FILE) as store:
        fake = FakeServer(store=store)
        return str(await play_match(fake, *MOVES, resigns=True, game="connect-four"))


def call(server: ServerProcess, path: str, method: str = "GET", token: str = "") -> Any:
    """The answer of the HTTP API to a request, and its cookie if it sets one."""
    request = urllib.request.Request(f"{server.url}/api/{path}", method=method)
    if method == "POST":
        request.data = b"{}" if path == "guest" else b""
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=30) as response:
        cookie = response.headers.get("Set-Cookie", "").partition(";")[0].partition("=")[2]
        return json.loads(response.read()), cookie


async def analysed(folder: Path, name: str, kills: int, rng: random.Random) -> Reading:
    """Analyses the match on a server of its own with `kills` kills; returns the reader's lines."""
    match = await make_data(folder)
    server = ServerProcess(folder, workers=1, **NO_RATE_LIMITS)  # it polls as long as it takes
    await server.start()
    lines: list[dict[str, Any]] = []
    try:
        _, token = await asyncio.to_thread(call, server, "guest", "POST")
        path = f"matches/{match}/analysis"
        await asyncio.to_thread(call, server, path, "POST", token)
        # The kills come at random numbers of results. On a busy machine several may be reached, or
        # the last ones missed, between two readings.
        targets = sorted(rng.choices(range(len(MOVES) - 4), k=kills))
        killed = 0
        while not lines or lines[-1]["state"] != "done":
            answer, _ = await asyncio.to_thread(call, server, path)
            lines.append(answer)
            assert answer["state"] != "failed", answer
            if targets and answer["done_plies"] >= targets[0] and answer["state"] != "done":
                targets.pop(0)
                await kill_process(server, is_node=rng.random() < 0.5)
                killed += 1
            await asyncio.sleep(0.02)
    finally:
        await server.kill()
    assert killed or not kills, "the analysis was over before the first kill"
    return Reading(name, match, MOVES, tuple(lines))


async def kill_process(server: ServerProcess, is_node: bool) -> None:
    """Kills the server and starts it again, or kills all its search processes."""
    if is_node:
        await server.kill()
        await server.start()
        return
    for process in server.descendants():
        with contextlib.suppress(psutil.Error):
            if process.ppid() != server.pid:  # not a helper that starts search processes
                process.send_signal(signal.SIGKILL)


@pytest.mark.usefixtures("warm_engine")
@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.long)])
async def test_an_analysis_survives_kills(tmp_path: Path, kills: int) -> None:
    """I32: however often node and workers are killed, an analysis ends, with each position once,
    and equals an undisturbed one.
    """
    rng = random.Random(kills)
    readings = [await analysed(tmp_path / "undisturbed", "undisturbed", 0, rng)]
    runs = max(1, kills // 10)
    for run in range(runs):
        name = f"run {run}"
        readings.append(await analysed(tmp_path / name, name, kills // runs, rng))
    assert check_analyses(readings) == []
    assert {json.dumps(reading.lines[-1]["moves"]) for reading in readings} == {
        json.dumps(readings[0].lines[-1]["moves"])
    }
