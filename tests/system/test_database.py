"""Whole servers on PostgreSQL: an outage of the database, and no secret in the logs."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from client.connection import State, connect
from client.model import Model
from server.commands import Chat
from server.deploy.postgres import PASSWORD, WITH_FSYNC, Postgres, private_postgres
from server.protocol.codes import Code
from server.protocol.messages import CommandFrame, Join
from tests.oracle.journal import Journal, read_postgres_logs
from tests.support.players import LONG_STICKS, PATIENT_TIMING, make_room, two_people
from tests.support.raw_websocket import RawSocket, raw_socket
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving

LONG = [pytest.mark.long, pytest.mark.timeout(900)]
#: The number of nodes.
NODES = 2
#: The period of the poll, in seconds: longer than the test, so that the nodes must catch up without
#: a poll after an outage.
POLL_S = 3600.0
#: The number of matches during the outages.
MATCHES = 6
#: The time limit for matches to continue after an outage, in seconds; only a test that hangs
#: reaches it.
RECOVERY_S = 60.0


@pytest.fixture(scope="module")
def durable() -> Iterator[Postgres]:
    """A PostgreSQL server with fsync, for a test to kill and restart."""
    with private_postgres(**WITH_FSYNC) as server:
        yield server


@pytest.mark.parametrize(
    "outages", [["kill"], pytest.param(["kill", "immediate", "fast"] * 8, marks=LONG)]
)
async def test_a_database_outage_under_load_loses_no_move(
    durable: Postgres, tmp_path: Path, outages: list[str]
) -> None:
    """An outage of the database of two nodes with matches loses no acknowledged move.

    The database is killed, or stopped in immediate or fast mode. During the outage every command is
    refused with store.retry, and no connection ends. After the restart all matches continue. No
    acknowledged move is missing or repeated (I1, I3, I9), and no log contains a password.
    """
    journal, stop = Journal(), asyncio.Event()
    states: list[State] = []
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(durable.database())
        nodes = [
            await stack.enter_async_context(
                serving(
                    tmp_path / f"node{n}",
                    database=durable.url(database),
                    poll_s=POLL_S,
                    silence_s=60.0,
                    **NO_RATE_LIMITS,
                )
            )
            for n in range(NODES)
        ]
        raws = [await stack.enter_async_context(raw_socket(node.port)) for node in nodes]
        room = await _create_chat_room(nodes[0], raws, states, stack)
        async with asyncio.TaskGroup() as tasks:
            matches = [
                tasks.create_task(
                    two_people(
                        nodes[n % NODES].url,
                        "sticks",
                        LONG_STICKS,
                        journal,
                        2 * n,
                        stop,
                        PATIENT_TIMING,
                    )
                )
                for n in range(MATCHES)
            ]
            for n, outage in enumerate(outages):
                await journal.wait_for_acks(50)
                await asyncio.to_thread(
                    durable.kill if outage == "kill" else _stop_call(durable, outage)
                )
                await asyncio.gather(*(_assert_retry(raw, room, f"r{n}") for raw in raws))
                await asyncio.to_thread(durable.start)
                async with asyncio.timeout(RECOVERY_S):
                    await asyncio.gather(*(_send_until_acked(raw, room, f"r{n}") for raw in raws))
                    await journal.wait_for_acks(2 * MATCHES)
            stop.set()
        models: list[Model] = [match.result() for match in matches]
        logs = await read_postgres_logs(durable, database)
        assert states == [State.CONNECTED], "no connection ended"
        for node in nodes:
            assert await node.stop() == 0
            assert_no_traceback(node)
            assert PASSWORD not in node.errors + "".join(node.announced)
            assert f"postgresql://plyroom@127.0.0.1:{durable.port}/{database}" in "".join(
                node.announced
            )
    assert journal.violations(logs) == []
    assert journal.refused == []
    assert all(model.match is not None and model.match.over is not None for model in models)


def _stop_call(server: Postgres, mode: str) -> Callable[[], None]:
    return lambda: server.stop(mode)


async def _create_chat_room(
    node: ServerProcess, raws: list[RawSocket], states: list[State], stack: AsyncExitStack
) -> str:
    """Creates a room for chat and joins every socket; `states` records its host's states."""
    host = await stack.enter_async_context(
        connect(node.url, timing=PATIENT_TIMING, on_state=states.append)
    )
    room = await make_room(host, "tic-tac-toe")
    for raw in raws:
        await raw.hello()
        raw.send_message(Join(id="join", room=room))
        assert (await _answer(raw, "join"))["t"] == "ack"
    return room


async def _answer(raw: RawSocket, key: str) -> dict[str, object]:
    while True:
        message = await raw.message()
        if message.get("id") == key:
            return message


async def _assert_retry(raw: RawSocket, room: str, key: str) -> None:
    """Asserts that a command is refused with store.retry while the database is down."""
    raw.send_message(CommandFrame(room, Chat(id=key, text="is anybody there?")))
    answer = await _answer(raw, key)
    assert (answer["t"], answer.get("code")) == ("error", Code.STORE_RETRY)


async def _send_until_acked(raw: RawSocket, room: str, key: str) -> None:
    """Sends the same command again until it is acknowledged."""
    while True:
        raw.send_message(CommandFrame(room, Chat(id=key, text="is anybody there?")))
        answer = await _answer(raw, key)
        if answer["t"] == "ack":
            return
        assert answer.get("code") == Code.STORE_RETRY
        await asyncio.sleep(0.1)  # as clients do
