"""A server whose plug-in never returns from a rule plays its other games on, and can be stopped."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from client.connection import connect
from client.errors import PlyroomError, Refused
from engine.games import tic_tac_toe
from server.codes import Code
from server.commands import Chat, Move, Sit
from server.protocol.messages import CommandFrame
from tests.support.players import QUICK_TIMING, make_room
from tests.support.server_process import ROOT, serving

#: Tic-tac-toe that loops in `moves` once a piece is on the board, and catches what it can.
RULES = (
    Path(tic_tac_toe.__file__)
    .read_text("utf-8")
    .replace('"tic-tac-toe"', '"{name}"')
    .replace(
        "    n = 0\n    empty =",
        "    while s[0] | s[1]:\n"
        "        try:\n"
        "            int(s[0])\n"
        "        except BaseException:\n"
        "            continue\n"
        "    n = 0\n"
        "    empty =",
    )
)
GAMES = ("endless", "unending")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installs the games for every server process."""
    folder = tmp_path / "site"
    info = folder / "endless-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: endless\nVersion: 1.0\n")
    entries = "".join(f"{name} = {name}\n" for name in GAMES)
    (info / "entry_points.txt").write_text(f"[plyroom.games]\n{entries}")
    for name in GAMES:
        (folder / f"{name}.py").write_text(RULES.replace("{name}", name))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{folder}")


@pytest.mark.usefixtures("site")
async def test_a_rule_without_end(tmp_path: Path) -> None:
    """The move gets game.hung, a match of another game goes on, no new room of the game is made,
    and a stop ends the server even while a rule of a second game hangs.
    """
    async with (
        serving(tmp_path / "data", rule_s=1.25, drain_s=0.01) as server,
        connect(server.url, timing=QUICK_TIMING) as ada,
        connect(server.url, timing=QUICK_TIMING) as bob,
    ):
        rooms = {}
        for name in (*GAMES, "tic-tac-toe"):
            rooms[name] = await make_room(ada, name)
            await bob.command(CommandFrame(rooms[name], Sit(id=bob.new_id(), seat=1)))

        def first_move(name: str) -> CommandFrame:
            return CommandFrame(rooms[name], Move(id=ada.new_id(), ply=0, move="b2"))

        with pytest.raises(Refused) as refused:
            await ada.command(first_move("endless"))
        assert refused.value.code == Code.GAME_HUNG
        await ada.command(first_move("tic-tac-toe"))
        await bob.command(CommandFrame(rooms["endless"], Chat(id=bob.new_id(), text="what a pity")))
        with pytest.raises(Refused) as refused:
            await make_room(ada, "endless")
        assert refused.value.code == Code.GAME_HUNG
        hanging = asyncio.create_task(ada.command(first_move("unending")))
        await asyncio.sleep(0)
        assert await server.stop() == 0
        hanging.cancel()
        with suppress(asyncio.CancelledError, PlyroomError):
            await hanging
    assert '"game refused"' in server.errors
    assert "Task exception was never retrieved" not in server.errors
