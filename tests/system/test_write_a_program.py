"""The program of docs/how-to/write-a-program.md plays a match on a real server."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path

from client.connection import connect
from client.model import Model, apply
from server.commands import OpenSeat
from tests.support.players import make_room
from tests.support.server_process import NO_RATE_LIMITS, ROOT, assert_no_traceback, serving

PAGE = ROOT / "docs/how-to/write-a-program.md"


def program_of(page: Path) -> str:
    """Returns the program that the page quotes."""
    quoted = re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert quoted is not None
    return quoted[1]


async def run(program: Path, link: str) -> str:
    """Runs the program until it ends with 0; returns what it printed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(program), link,
        stdin=DEVNULL, stdout=PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, printed
    return printed.decode()


def test_the_program_is_short() -> None:
    """It has at most 40 lines that are not empty."""
    assert len([line for line in program_of(PAGE).splitlines() if line.strip()]) <= 40


async def test_two_programs_play_a_match(tmp_path: Path) -> None:
    """Two processes of the page's program take the seats of a room and play a whole match.

    Both print how it ended, as a spectator sees it.
    """
    program = tmp_path / "program.py"
    program.write_text(program_of(PAGE), "utf-8")
    async with (
        serving(tmp_path / "data", **NO_RATE_LIMITS) as server,
        connect(server.url) as watcher,
        asyncio.timeout(60),
        asyncio.TaskGroup() as tasks,
    ):
        room = await make_room(watcher, "tic-tac-toe", seats=(OpenSeat(), OpenSeat()))
        link = f"{server.url}/room/{room}"
        programs = [tasks.create_task(run(program, link)) for _ in range(2)]
        model = Model(room=room, me=watcher.identity)
        async for message in watcher.follow(room):
            model = apply(model, message)
            if model.match is not None and model.match.over is not None:
                break
        assert model.match is not None
        assert model.match.over is not None
        for printed in [await each for each in programs]:
            assert printed.splitlines()[-1] == model.match.over.reason
        assert model.ply >= 5
        assert_no_traceback(server)
