"""A game that is edited while the server runs: old and new versions are never mixed."""

import os
import struct
from contextlib import aclosing, suppress
from pathlib import Path

import psutil
import pytest

from client.connection import connect
from client.messages import LoggedEvent, RoomMessage
from engine.games import tic_tac_toe
from server.commands import AiSeat, Move, MySeat, Sit
from server.events import Finished
from server.protocol.messages import CommandFrame
from tests.support.players import QUICK_TIMING, make_room
from tests.support.server_process import NO_RATE_LIMITS, ROOT, assert_no_traceback, serving
from tests.system.test_workers import Opponent, is_move, workers

RULES = (
    Path(tic_tac_toe.__file__)
    .read_text("utf-8")
    .replace('"tic-tac-toe"', '"edited"')
    .replace("DATA = ()", 'DATA = ("edited.bin",)')
    .replace("data: Any) -> int:\n    return 0\n", "data: Any) -> int:\n    return data[0]\n")
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a folder with the game and its data, on the path of every server process."""
    folder = tmp_path / "site"
    info = folder / "edited-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edited\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[plyroom.games]\nedited = edited\n")
    (folder / "edited.py").write_text(RULES)
    (folder / "edited.bin").write_bytes(struct.pack("<q", 3))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{folder}")
    return folder


def is_end(message: RoomMessage) -> bool:
    return isinstance(message, LoggedEvent) and isinstance(message.event, Finished)


@pytest.mark.usefixtures("warm_engine")
async def test_data_and_rules_are_edited_while_the_server_runs(tmp_path: Path, site: Path) -> None:
    """A match continues with its original data while a worker has them.

    Workers that start after the edit refuse its jobs, so the match with the AI ends as a failure
    with a reason. People can continue their match, also after a restart with the new data. After a
    restart with rules that give the tokens another meaning their room is frozen with game.changed.
    """
    async with serving(tmp_path / "data", workers=1, ai_pace_ms=0, **NO_RATE_LIMITS) as server:
        async with (
            connect(server.url, timing=QUICK_TIMING) as ada,
            connect(server.url, timing=QUICK_TIMING) as bob,
        ):
            friends = await make_room(ada, "edited")
            await bob.command(CommandFrame(friends, Sit(id=bob.new_id(), seat=1)))
            await ada.command(CommandFrame(friends, Move(id=ada.new_id(), ply=0, move="b2")))
            # The AI begins, so that neither side can have three in a row before the AI is to move
            # without its worker.
            room = await make_room(ada, "edited", {}, (AiSeat(level=1), MySeat()))
            async with aclosing(ada.follow(room)) as messages:
                person = Opponent(ada, room, messages)
                await person.until(lambda message: person.model.ply == 1)
                (site / "edited.bin").write_bytes(struct.pack("<q", 4))
                await person.move()
                await person.until(is_move)
                for worker in workers(server):
                    with suppress(psutil.NoSuchProcess):
                        worker.kill()
                await person.move()
                await person.until(is_end)
                match = person.model.match
                assert match is not None
                assert match.over is not None
                assert match.over.how == "failure"
                assert "the rules of this game have changed" in match.over.reason
            await bob.command(CommandFrame(friends, Move(id=bob.new_id(), ply=1, move="a1")))
            token = ada.token
        assert await server.stop() == 0

        await server.start()
        async with connect(server.url, token, timing=QUICK_TIMING) as ada:
            await ada.command(CommandFrame(friends, Move(id=ada.new_id(), ply=2, move="c2")))
            room = await make_room(ada, "edited", {}, (MySeat(), AiSeat(level=1)))
            async with aclosing(ada.follow(room)) as messages:
                person = Opponent(ada, room, messages)
                await person.move()
                await person.until(is_move)
        assert await server.stop() == 0

        (site / "edited.py").write_text(RULES.replace('for row in "123"', 'for row in "321"'))
        await server.start()
        async with (
            connect(server.url, token, timing=QUICK_TIMING) as ada,
            aclosing(ada.follow(friends)) as messages,
        ):
            person = Opponent(ada, friends, messages)
            await person.until(lambda message: person.model.match is not None)
            assert person.model.frozen == "game.changed"
        assert await server.stop() == 0
        assert_no_traceback(server)
