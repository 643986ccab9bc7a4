"""Search workers that die or stop in the middle of a search."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Literal

import psutil
import pytest

from client.connection import Connection, connect
from client.messages import LoggedEvent, RoomMessage
from client.model import Model, apply
from engine.rules.registry import load_game
from server.commands import AiSeat, Chat, Move, MySeat
from server.events import Moved
from server.protocol.messages import CommandFrame, Thinking
from tests.oracle.journal import Journal, read_logs
from tests.support.players import make_room
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving

#: A game whose top level searches from the first move on, because it has no precomputed moves.
GAME = "breakthrough"
#: The number of moves of the AI during which a worker dies or stops.
ROUNDS = 2


def workers(server: ServerProcess) -> dict[psutil.Process, float]:
    """Returns the search processes, each with the CPU time that it has used, in seconds."""
    cpu_s = {}
    for process in server.descendants():
        try:
            if process.ppid() != server.pid:
                cpu_s[process] = process.cpu_times().user
        except psutil.NoSuchProcess:
            continue
    return cpu_s


def busiest_worker(server: ServerProcess, before: dict[psutil.Process, float]) -> psutil.Process:
    """Returns the worker that has used the most CPU time since `before`."""
    cpu_s = workers(server)
    return max(cpu_s, key=lambda process: cpu_s[process] - before.get(process, 0))


class Opponent:
    """A client that plays against the AI and reads all messages of the room."""

    def __init__(
        self, connection: Connection, room: str, messages: AsyncGenerator[RoomMessage, None]
    ) -> None:
        self.model = Model(room=room, me=connection.identity)
        self._connection = connection
        self._messages = messages

    async def until(self, holds: Callable[[RoomMessage], bool]) -> None:
        """Reads messages up to one for which `holds` is true."""
        async for message in self._messages:
            self.model = apply(self.model, message)
            if holds(message):
                return
        raise AssertionError("the room's messages ended")

    async def move(self) -> None:
        """Plays the first legal move as soon as it is this side's turn."""
        while not self.model.moves:
            await self.until(lambda message: True)
        move = self.model.moves[0].id
        await self._connection.command(
            CommandFrame(
                self.model.room, Move(id=self._connection.new_id(), ply=self.model.ply, move=move)
            )
        )
        await self.until(is_move)


def is_move(message: RoomMessage) -> bool:
    return isinstance(message, LoggedEvent) and isinstance(message.event, Moved)


@pytest.mark.usefixtures("warm_engine")
@pytest.mark.parametrize(
    ("number", "whom"), [(signal.SIGKILL, "one"), (signal.SIGKILL, "all"), (signal.SIGSTOP, "one")]
)
async def test_an_ai_whose_worker_dies_or_stops_moves(
    tmp_path: Path, number: signal.Signals, whom: Literal["one", "all"]
) -> None:
    """The AI moves although its searching worker is killed or stopped, several times.

    One variant kills all workers and their helpers. The server still serves other rooms.
    tests/engine/test_pool_workers.py checks how soon the AI moves.
    """
    served = 0
    async with serving(tmp_path / "data", workers=2, ai_pace_ms=0, **NO_RATE_LIMITS) as server:
        async with connect(server.url) as ada, connect(server.url) as bob:
            chat_room = await make_room(bob, "tic-tac-toe")
            room = await make_room(ada, GAME, {}, (MySeat(), AiSeat(level=load_game(GAME).levels)))
            async with aclosing(ada.follow(room)) as messages:
                person = Opponent(ada, room, messages)
                await person.move()  # the workers may still be starting
                await person.until(is_move)
                for _ in range(ROUNDS):
                    before = workers(server)
                    await person.move()
                    await person.until(
                        lambda message: (
                            isinstance(message, Thinking) and message.state == "searching"
                        )
                    )
                    for victim in (
                        [busiest_worker(server, before)] if whom == "one" else server.descendants()
                    ):
                        with suppress(psutil.NoSuchProcess):
                            victim.send_signal(number)
                    chat_ack = asyncio.create_task(
                        bob.command(
                            CommandFrame(chat_room, Chat(id=bob.new_id(), text="still there?"))
                        )
                    )
                    await person.until(is_move)
                    served += chat_ack.done()
                    await chat_ack
        assert served > 0, "an AI without a worker held up another room"
        assert await server.stop() == 0
    assert Journal().violations(read_logs(server.data)) == []
    assert_no_traceback(server)
