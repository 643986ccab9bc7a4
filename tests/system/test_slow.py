"""Clients that do not read, clients that send nothing, and too many clients."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from client.connection import Connection, State, connect
from client.timing import Timing
from server.commands import Chat, Create
from server.protocol.codes import Close
from server.protocol.messages import CommandFrame, Join, Ping
from tests.oracle.journal import Journal, read_logs
from tests.support.players import Player, make_room
from tests.support.raw_websocket import NO_CLOSE_FRAME, RawSocket, raw_socket
from tests.support.server_process import (
    NO_RATE_LIMITS,
    ServerProcess,
    assert_no_traceback,
    eventually,
    serving,
)

#: The number of sockets that do not read.
PAUSED = 12
#: The longest line of chat, 1,600 bytes.
LINE = "🎲" * 400
#: The number of unsent bytes at which the server cuts a socket off.
MAX_UNSENT_BYTES = 256 * 1024
#: The growth of resident memory that is allowed beyond the unsent bytes, in bytes.
SLACK_BYTES = 8 * 2**20
#: The number of chat lines after which the slow sockets must be cut off; the kernel first buffers
#: up to 4 MiB for each socket.
MAX_LINES = 8000
#: The time of silence after which the server closes a connection, in seconds.
SILENCE_S = 1.0


async def open_paused_follower(
    server: ServerProcess, sockets: AsyncExitStack, room: str
) -> RawSocket:
    """Opens a socket that joins a room and then stops reading."""
    socket = await sockets.enter_async_context(raw_socket(server.port, receive_buffer=4096))
    await socket.hello()
    socket.send_message(Join(id="j", room=room))
    while (await socket.message())["t"] != "snapshot":
        pass
    return socket


async def chat_until_cut(
    server: ServerProcess,
    who: Connection,
    room: str,
    spectator: Player,
    paused: Sequence[RawSocket],
    max_connections: int,
) -> tuple[int, int, int]:
    """Chats until the server has at most `max_connections`; the spectator receives all lines.

    The paused sockets send pings, so that the server does not close them for their silence.

    Returns the number of lines, the number that the spectator received before the first connection
    was cut off, and the peak memory in bytes.
    """
    all_connections, lines_before_cut, peak_rss = server.connections(), 0, server.rss
    for lines in range(1, MAX_LINES):
        await who.command(CommandFrame(room, Chat(id=who.new_id(), text=LINE)))
        if lines % 50 == 0:
            for socket in paused:
                socket.send_message(Ping())
            await spectator.until(lambda model, lines=lines: model.v == 2 + lines)  # type: ignore[misc]
            peak_rss = max(peak_rss, server.rss)
            connections = server.connections()
            if connections == all_connections:
                lines_before_cut = lines
            if connections <= max_connections:
                return lines, lines_before_cut, peak_rss
    raise AssertionError(f"still {server.connections()} connections after {MAX_LINES} lines")


async def test_slow_readers_are_cut_off(tmp_path: Path) -> None:
    """A dozen sockets that never read in a busy room are cut off.

    Until then the server holds at most 256 KiB for each. Before the first of them is cut off, all
    other clients have received every event.
    """
    journal = Journal()
    async with serving(tmp_path / "data", **NO_RATE_LIMITS) as server, AsyncExitStack() as sockets:
        async with connect(server.url) as ada, connect(server.url) as bob:
            room = await make_room(ada, "tic-tac-toe")
            spectator = Player(bob, room, journal, 0, asyncio.Event(), host=False)
            watching = asyncio.create_task(spectator.run())
            paused = [await open_paused_follower(server, sockets, room) for _ in range(PAUSED)]
            before = server.rss
            lines, lines_before_cut, peak_rss = await chat_until_cut(
                server, ada, room, spectator, paused, max_connections=2
            )
            await spectator.until(lambda model: model.v == 2 + lines)
            assert lines_before_cut > 0, (
                "the spectator receives lines while all sockets are connected"
            )
            watching.cancel()
            codes = {await socket.wait_closed() for socket in paused}
        assert codes <= {Close.TOO_SLOW, NO_CLOSE_FRAME}
        assert peak_rss - before < PAUSED * MAX_UNSENT_BYTES + SLACK_BYTES
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert_no_traceback(server)


async def test_a_client_that_requests_much_and_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    """A client that requests long answers without reading them cannot fill the server's memory."""
    async with serving(tmp_path / "data", **NO_RATE_LIMITS) as server, AsyncExitStack() as sockets:
        async with connect(server.url) as ada:
            room = await make_room(ada, "tic-tac-toe")
            for _ in range(50):
                await ada.command(CommandFrame(room, Chat(id=ada.new_id(), text=LINE)))
            greedy = [await open_paused_follower(server, sockets, room) for _ in range(4)]
            before = server.rss
            for number, socket in enumerate(greedy, 1):
                for n in range(200):  # 80 KB each; the room's mailbox has capacity for all of them
                    socket.send_message(Join(id=str(n), room=room))
                count = 1 + len(greedy) - number
                await eventually(lambda count=count: server.connections() == count, "it is cut off")  # type: ignore[misc]
            assert server.rss - before < SLACK_BYTES
            assert {await socket.wait_closed() for socket in greedy} <= {
                Close.TOO_SLOW,
                NO_CLOSE_FRAME,
            }
        assert await server.stop() == 0
    assert_no_traceback(server)


async def test_silent_connections_are_closed(tmp_path: Path) -> None:
    """A socket that is silent for `silence_s` is closed with 1008, before or after hello.

    A socket with an incomplete handshake is dropped; one that pings in time stays.
    """
    async with serving(tmp_path / "data", silence_s=SILENCE_S) as server:
        async with AsyncExitStack() as sockets:
            no_request, half_request, no_hello, silent, pinging_client, page, form = [
                await sockets.enter_async_context(raw_socket(server.port)) for _ in range(7)
            ]
            half_request.writer.write(b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n")
            page.writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            form.writer.write(
                b"POST /api/guest HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
            )
            await no_hello.upgrade()
            await silent.hello()
            await pinging_client.hello()

            async def pings() -> None:
                while True:
                    pinging_client.send_message(Ping(id="p"))
                    await pinging_client.message()
                    await asyncio.sleep(SILENCE_S / 3)

            pinging = asyncio.create_task(pings())
            async with asyncio.timeout(60):
                assert await no_hello.wait_closed() == Close.POLICY
                assert await silent.wait_closed() == Close.POLICY
                assert await no_request.reader.read() == b""
                assert await half_request.reader.read() == b""
                assert b'"ok"' in await page.reader.read()
                assert b" 408 " in await form.reader.read()
            assert not pinging.done()
            pinging.cancel()
        assert await server.stop() == 0
    assert_no_traceback(server)


async def test_a_client_that_pings_is_never_silent(tmp_path: Path) -> None:
    """The project's own client keeps an idle connection alive."""
    async with serving(tmp_path / "data", silence_s=SILENCE_S) as server:
        states: list[State] = []
        async with (
            connect(server.url, timing=Timing(ping_s=SILENCE_S / 3), on_state=states.append),
            raw_socket(server.port) as other,
        ):
            await other.hello()
            assert await other.wait_closed() == Close.POLICY
        assert states == [State.CONNECTED]


@pytest.mark.skipif(not hasattr(psutil.Process, "rlimit"), reason="this system has no prlimit")
async def test_more_connections_than_descriptors_affect_only_new_clients(tmp_path: Path) -> None:
    """Without descriptors the server keeps its clients and does not spin.

    Once some connections are gone, it accepts new clients without a restart.
    """
    async with serving(tmp_path / "data") as server, AsyncExitStack() as sockets:
        process = psutil.Process(server.pid)
        process.rlimit(psutil.RLIMIT_NOFILE, (process.num_fds() + 40,) * 2)
        early = await sockets.enter_async_context(raw_socket(server.port))
        await early.hello()
        crowd = [await sockets.enter_async_context(raw_socket(server.port)) for _ in range(100)]
        await eventually(lambda: server.connections() >= 35, "it is full")
        used_s = process.cpu_times().user
        for n in range(10):
            early.send_message(Create(id=str(n), game="sticks"))
            ack = await early.message()
            assert ack["t"] == "ack", ack
            await asyncio.sleep(0.05)
        assert process.cpu_times().user - used_s < 0.3
        for crowd_socket in crowd:
            crowd_socket.abort()
        await eventually(lambda: server.connections() == 1, "they are gone")
        late = await sockets.enter_async_context(raw_socket(server.port))
        async with asyncio.timeout(60):
            await late.hello()
        assert await server.stop() == 0
    assert_no_traceback(server)
