"""A disk that is full and then has space again; a log that cannot be written."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.connection import connect
from server.commands import AiSeat, Chat, Move, Sit
from server.protocol.codes import Close, Code
from server.protocol.messages import CommandFrame, Hello, Join
from tests.oracle.journal import Journal, read_logs
from tests.support.players import make_room
from tests.support.raw_websocket import RawSocket, raw_socket
from tests.support.server_process import NO_RATE_LIMITS, assert_no_traceback, eventually, serving

#: The size of the small disk, as `mount` writes it.
SIZE = "4m"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system that is small enough to fill; yields its folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"no small file system can be mounted here: {error}")
    if done.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Fills the disk to the last byte; returns the file to remove."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return ballast


async def answer(socket: RawSocket, key: str) -> dict[str, object]:
    """Returns the ack or error with this id."""
    while True:
        message = await socket.message()
        if message.get("id") == key:
            return message


@pytest.mark.usefixtures("warm_engine")
async def test_a_full_disk_is_reported_and_recovers_without_a_restart(
    tmp_path: Path, small_disk: Path
) -> None:
    """While the disk is full, nothing is acknowledged and commands get store.retry.

    Existing rooms can still be read. Once there is space again, waiting commands get their acks and
    the AI moves, without a restart and exactly once.
    """
    journal = Journal()
    data = tmp_path / "data"
    # A symbolic link, so that the file of the server's standard error is not on that disk.
    data.symlink_to(small_disk, target_is_directory=True)
    async with (
        serving(data, workers=1, ai_duel_pace_ms=100, **NO_RATE_LIMITS) as server,
        raw_socket(server.port) as raw,
    ):
        await raw.hello()
        async with connect(server.url) as ada, connect(server.url) as bob:
            room = await make_room(ada, "tic-tac-toe")
            # A match that goes on while a busy machine fills the disk.
            duel = await make_room(ada, "breakthrough", {}, (AiSeat(level=1), AiSeat(level=1)))
            await bob.command(CommandFrame(room, Sit(id="sit", seat=1)))
            ballast = fill(small_disk)
            chats = [CommandFrame(room, Chat(id=f"c{n}", text="x" * 400)) for n in range(60)]
            acked = []
            for chat in chats:
                raw.send_message(chat)
                reply = await answer(raw, chat.id)
                acked += [chat] if reply["t"] == "ack" else []
                if reply["t"] == "error":
                    assert reply["code"] == Code.STORE_RETRY
            assert len(acked) < len(chats), "the disk is full"
            before = read_logs(data)[room].head
            assert before == 4 + len(acked)
            await _assert_newcomers_refused(server.port)
            raw.send_message(Join(id="join", room=room))
            assert (await answer(raw, "join"))["t"] == "ack", "it can be read"
            refusals = server.errors.count(room)
            move = CommandFrame(room, Move(id="move", ply=0, move="b2"))
            moving = asyncio.create_task(ada.command(move))
            await eventually(lambda: server.errors.count(room) > refusals, "the move is tried")
            assert not moving.done()
            stopped_at = read_logs(data)[duel].head
            ballast.unlink()
            async with asyncio.timeout(60):
                journal.record_ack(ada.identity, move, (await moving).v)
            for chat in chats:
                raw.send_message(chat)
                assert (await answer(raw, chat.id))["t"] == "ack"
            await eventually(lambda: read_logs(data)[duel].head > stopped_at + 2, "the AI moves on")
        assert await server.stop() == 0
    logs = read_logs(data)
    assert journal.violations(logs) == []
    assert logs[room].head == 4 + len(chats) + 1
    assert_no_traceback(server)


async def _assert_newcomers_refused(port: int) -> None:
    """Asserts that a new client is refused, because no identity can be stored."""
    async with raw_socket(port) as newcomer:
        assert " 101 " in await newcomer.upgrade()
        newcomer.send_message(Hello(protocol=1))
        assert (await newcomer.message())["code"] == Code.STORE_RETRY
        assert await newcomer.wait_closed() == Close.RESTARTING


async def test_the_server_continues_when_its_log_cannot_be_written(
    tmp_path: Path, small_disk: Path
) -> None:
    """When standard error is on a full disk, the server loses its messages and keeps serving."""
    async with (
        serving(small_disk / "data", **NO_RATE_LIMITS) as server,
        raw_socket(server.port) as raw,
    ):
        await raw.hello()
        async with connect(server.url) as ada:
            room = await make_room(ada, "tic-tac-toe")
            ballast = fill(small_disk)
            for n in range(60):
                raw.send_message(CommandFrame(room, Chat(id=f"c{n}", text="x" * 400)))
                reply = await answer(raw, f"c{n}")
            assert reply["t"] == "error"
            ballast.unlink()
            async with asyncio.timeout(60):
                await ada.command(CommandFrame(room, Chat(id="c", text="x")))
        assert await server.stop() == 0
