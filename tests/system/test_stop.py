"""Stops by signals during matches, and starts with a port or data that is in use."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import psutil
import pytest

from engine.rules.registry import load_game
from server.protocol.codes import Close
from tests.oracle.journal import Journal, read_logs
from tests.support.players import LONG_STICKS, ai_and_ai, person_and_ai, two_people
from tests.support.raw_websocket import raw_socket
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving


@pytest.mark.usefixtures("warm_engine")
async def test_a_signal_in_the_middle_of_games_ends_the_server_cleanly(tmp_path: Path) -> None:
    """SIGTERM or SIGINT to all its processes ends a server under load with exit code 0.

    The load is matches, searches and idle connections of every kind. There is no traceback, no
    process remains, and sockets are closed with 1012. All acknowledged commands are in the log.
    After the next start the clients continue their matches.
    """
    journal, stop = Journal(), asyncio.Event()
    async with serving(tmp_path / "data", workers=1, **NO_RATE_LIMITS) as server:
        async with asyncio.TaskGroup() as tasks:
            for n in range(10):
                tasks.create_task(two_people(server.url, "sticks", LONG_STICKS, journal, n, stop))
            top = load_game("breakthrough").levels  # the top level searches from the first move on
            searched = [
                tasks.create_task(
                    person_and_ai(server.url, "breakthrough", {}, top, journal, 1, stop)
                ),
                tasks.create_task(ai_and_ai(server.url, "breakthrough", {}, top, journal, stop)),
            ]
            await journal.wait_for_acks(60)
            for number in (signal.SIGTERM, signal.SIGINT):
                await end_by_signal(server, number)
                assert journal.violations(read_logs(server.data)) == []
                await server.start()
                await journal.wait_for_acks(30)
            stop.set()
            for match in searched:
                match.cancel()
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert journal.refused == []
    assert_no_traceback(server)


async def end_by_signal(server: ServerProcess, number: signal.Signals) -> None:
    """Opens idle connections of every kind, and sends the signal to all processes of the server."""
    async with AsyncExitStack() as sockets:
        no_request, page, watcher = [
            await sockets.enter_async_context(raw_socket(server.port)) for _ in range(3)
        ]
        page.writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await watcher.hello()
        helpers = server.descendants()
        server.send_signal_to_all(number)
        assert await server.wait() == 0
        assert await watcher.wait_closed() == Close.RESTARTING
        assert await no_request.reader.read() == b""
        assert b'"ok"' in await page.reader.read()
        assert psutil.wait_procs(helpers, timeout=60)[1] == [], (
            "the search workers end with the server"
        )


@pytest.mark.parametrize("starts", [1, pytest.param(10, marks=pytest.mark.long)])
async def test_a_signal_right_after_the_start_ends_the_server_cleanly(
    tmp_path: Path, starts: int
) -> None:
    """The exit code is 0, without a traceback, while the search workers are still starting."""
    server = ServerProcess(tmp_path / "data", workers=2, is_forked=False)
    for number in [signal.SIGTERM, signal.SIGINT] * starts:
        await server.start()
        server.send_signal_to_all(number)
        assert await server.wait() == 0
    assert_no_traceback(server)


async def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    """A second server on the same port prints one line of advice and exits with 1."""
    async with serving(tmp_path / "data") as server:
        second = ServerProcess(tmp_path / "other", port=server.port)
        assert await second.start_and_wait() == 1
        assert f"port {server.port}" in second.errors
        assert "--port" in second.errors
        assert_no_traceback(second)
        async with raw_socket(server.port) as socket:
            assert (await socket.hello())["t"] == "welcome"
        assert await server.stop() == 0


async def test_data_in_use_is_reported(tmp_path: Path) -> None:
    """A second server on the same data prints one line and exits with 1; the first continues.

    After kill -9 of the first, the data is free at once.
    """
    async with serving(tmp_path / "data") as server:
        second = ServerProcess(tmp_path / "data")
        assert await second.start_and_wait() == 1
        assert str(tmp_path / "data") in second.errors
        assert_no_traceback(second)
        async with raw_socket(server.port) as socket:
            assert (await socket.hello())["t"] == "welcome"
        await server.kill()
        await second.start()
        assert await second.stop() == 0
