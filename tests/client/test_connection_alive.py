"""How client.connection detects a lost socket and reconnects: pings, back-off, final errors."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise

import pytest

from client.connection import State, connect
from client.errors import PlyroomError, ProtocolMismatch, Replaced, Unreachable, WrongToken
from client.transport import SocketClosed
from tests.client.conftest import Test
from tests.support.scripted_server import Backend, Close, Link, chat, greet, memory, take, welcome
from tests.support.virtual_time import run_virtual


def test_a_silent_socket_is_dropped_after_9_s() -> None:
    async def main() -> None:
        states: list[tuple[float, State]] = []  # the time in seconds, and the new state

        async def fall_silent(link: Link) -> None:
            await link.hello()
            await asyncio.Event().wait()

        loop = asyncio.get_running_loop()
        reconnected = asyncio.Event()

        def record(state: State) -> None:
            states.append((loop.time(), state))
            if len(states) == 3:
                reconnected.set()

        async with memory(fall_silent, greet, on_state=record):
            await reconnected.wait()
        assert [state for _, state in states] == [State.CONNECTED, State.LOST, State.CONNECTED]
        assert 9 <= states[1][0] <= 9 + 2.5
        assert states[2][0] - states[1][0] == 1.0

    run_virtual(main())


def test_pings_keep_a_quiet_connection_for_hours() -> None:
    async def main() -> None:
        states: list[State] = []
        async with memory(greet, on_state=states.append):
            await asyncio.sleep(6 * 3600)
        assert states == [State.CONNECTED]

    run_virtual(main())


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_reconnecting_backs_off_to_4_s_with_full_jitter(jitter: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        times_s: list[float] = []

        async def close_after_hello(link: Link) -> None:
            times_s.append(loop.time())
            await link.hello()

        done = asyncio.Event()

        async def last(link: Link) -> None:
            times_s.append(loop.time())
            done.set()
            await greet(link)

        async with memory(*[close_after_hello] * 6, last, jitter=lambda: jitter):
            await done.wait()
        delays_s = [after - before for before, after in pairwise(times_s)]
        assert delays_s == pytest.approx([jitter * limit_s for limit_s in (1, 2, 4, 4, 4, 4)])

    run_virtual(main())


def test_a_restarting_server_has_a_state_of_its_own() -> None:
    async def main() -> None:
        states: list[State] = []
        reconnected = asyncio.Event()

        async def restart(link: Link) -> None:
            await link.hello()
            raise Close(1012)

        async def second(link: Link) -> None:
            await link.hello()
            reconnected.set()
            await link.idle()

        async with memory(restart, second, on_state=states.append):
            await reconnected.wait()
            await asyncio.sleep(0)
        assert states == [State.CONNECTED, State.RESTARTING, State.CONNECTED]

    run_virtual(main())


def test_every_call_raises_unreachable_after_the_reconnect_limit() -> None:
    async def main() -> None:
        async def first(link: Link) -> None:
            await link.hello()
            await link.joined()

        async with memory(first, reconnect_limit_s=30) as c:
            async with aclosing(c.follow("r")) as messages:
                await take(messages, 2)
                with pytest.raises(Unreachable):
                    await anext(messages)
            with pytest.raises(Unreachable):
                await c.command(chat(c))
        assert 30 <= asyncio.get_running_loop().time() <= 36

    run_virtual(main())


@pytest.mark.parametrize(
    ("code", "error"), [("token.unknown", WrongToken), ("protocol.unsupported", ProtocolMismatch)]
)
def test_a_refused_hello_after_a_reconnect_ends_the_connection(
    code: str, error: type[PlyroomError]
) -> None:
    async def main() -> None:
        async def first(link: Link) -> None:
            await link.hello()
            await link.expect("chat")

        async def second(link: Link) -> None:
            await link.expect("hello")
            await link.send({"t": "error", "id": None, "code": code, "message": "who?"})

        async with memory(first, second) as c:
            with pytest.raises(error):
                await c.command(chat(c))

    run_virtual(main())


def test_a_hello_that_a_busy_server_refuses_is_retried() -> None:
    async def main() -> None:
        async def busy(link: Link) -> None:
            await link.expect("hello")
            await link.send(
                {"t": "error", "id": None, "code": "rate.exceeded", "message": "slowly"}
            )

        async def last(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async def first(link: Link) -> None:
            await link.hello()

        async with memory(first, busy, busy, busy, last) as c:
            assert (await c.command(chat(c))).v == 1

    run_virtual(main())


def test_a_replaced_connection_does_not_reconnect(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.expect("chat")
            raise Close(4001)

        async with backend(script) as c:
            with pytest.raises(Replaced):
                await c.command(chat(c))

    run(test)


class SocketClosingOnCancellation:
    """A socket with a welcome to receive; it closes when a task that sends on it is cancelled."""

    def __init__(self) -> None:
        self.sending = asyncio.Event()
        self._frames = [json.dumps(welcome()).encode()]

    async def send(self, frame: str) -> None:
        if json.loads(frame)["t"] == "hello":
            return
        self.sending.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise SocketClosed(1006) from None

    async def receive(self) -> bytes:
        if self._frames:
            return self._frames.pop()
        await asyncio.Event().wait()
        raise AssertionError("nothing sets this event")


def test_a_socket_that_closes_during_the_cancellation_does_not_cause_a_reconnect() -> None:
    """The connection ends although its task group raises SocketClosed instead of CancelledError."""

    async def main() -> None:
        dial_count = 0

        @asynccontextmanager
        async def dial(url: str) -> AsyncIterator[SocketClosingOnCancellation]:
            nonlocal dial_count
            dial_count += 1
            yield socket

        socket = SocketClosingOnCancellation()
        async with asyncio.timeout(60):
            async with connect("http://plyroom.test", dial=dial) as c:
                command = asyncio.create_task(c.command(chat(c)))
                await socket.sending.wait()
            with pytest.raises(PlyroomError):
                await command
        assert dial_count == 1

    run_virtual(main())
