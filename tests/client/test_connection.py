"""client.connection against a scripted server: hello, welcome and commands across reconnects."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from client.connection import State, connect
from client.errors import (
    PlyroomError,
    ProtocolMismatch,
    Refused,
    Unanswered,
    Unreachable,
    WrongToken,
)
from client.messages import LoggedEvent, parse_server_message
from server.commands import Chat, Create, Move
from server.events import Hidden
from server.protocol.messages import CommandFrame
from tests.client.conftest import Test
from tests.support.scripted_server import (
    Backend,
    Close,
    Link,
    Message,
    chat,
    greet,
    memory,
    silent,
    welcome,
)
from tests.support.virtual_time import run_virtual

# --- hello and welcome


def test_hello_has_token_and_name_and_the_connection_has_the_identity(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        hellos: list[Message] = []

        async def script(link: Link) -> None:
            hellos.append(await link.hello(token=None))
            await link.idle()

        async with backend(script, token="mine", name="Ada") as c:
            assert (c.identity, c.name, c.token, c.epoch) == ("i1", "Ada", "mine", "e1")
        assert hellos == [{"t": "hello", "protocol": 1, "token": "mine", "name": "Ada"}]

    run(test)


def test_a_new_guest_reconnects_with_the_token_from_the_welcome(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        async def first(link: Link) -> None:
            await link.hello(token="given")

        async def second(link: Link) -> None:
            assert (await link.hello(token=None))["token"] == "given"
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async with backend(first, second) as c:
            assert (await c.command(chat(c))).v == 1
            assert c.token == "given"

    run(test)


def test_what_waits_in_another_room_is_told(run: Callable[[Test], None]) -> None:
    """A notification needs no subscription, and ends no reader's queue."""

    async def test(backend: Backend) -> None:
        told: list[str] = []

        async def script(link: Link) -> None:
            await link.hello()
            await link.send(
                {"t": "notification", "room": "r", "what": "turn", "text": "Your turn."}
            )
            await link.send({"t": "notification", "room": "r"})
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async with backend(script, on_notification=lambda each: told.append(each.text)) as c:
            await c.command(chat(c))
        assert told == ["Your turn.", ""]

    run(test)


def test_a_renamed_guest_continues_on_a_socket_with_the_new_name(
    run: Callable[[Test], None],
) -> None:
    """The server learns the name before the old socket ends, and no connection counts as lost."""

    async def test(backend: Backend) -> None:
        hellos: list[Message] = []
        states: list[State] = []

        async def old(link: Link) -> None:
            hellos.append(await link.hello(token="mine"))
            await link.idle()

        async def renaming(link: Link) -> None:
            hellos.append(await link.hello(token=None, name="Ada B"))
            await link.idle()

        async def new(link: Link) -> None:
            hellos.append(await link.hello(token=None, name="Ada B"))
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async with backend(old, renaming, new, on_state=states.append) as c:
            assert c.name == "Ada"
            assert await c.rename(" Ada  B ") == "Ada B"
            assert (await c.command(chat(c))).v == 1
            assert c.name == "Ada B"
        assert [each.get("name") for each in hellos] == [None, " Ada  B ", "Ada B"]
        assert {each.get("token") for each in hellos[1:]} == {"mine"}
        assert set(states) == {State.CONNECTED}

    run(test)


@pytest.mark.parametrize("turns", range(12))
def test_a_connection_ends_while_its_socket_is_renamed(turns: int) -> None:
    """However far the change of the socket has come, leaving the block ends the connection."""

    async def test() -> None:
        async with memory(greet, greet, greet, greet) as c:
            await c.rename("Bea")
            for _ in range(turns):
                await asyncio.sleep(0)

    run_virtual(test())


def test_a_refused_name_changes_nothing(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def old(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async def refusing(link: Link) -> None:
            await link.expect("hello")
            await link.send(
                {"t": "error", "id": None, "code": "name.refused", "message": "too long"}
            )
            await link.idle()

        async with backend(old, refusing) as c:
            with pytest.raises(Refused, match="too long"):
                await c.rename("Ada" * 99)
            with pytest.raises(Unreachable):
                await c.rename("Bea")
            assert (await c.command(chat(c))).v == 1
            assert c.name == "Ada"

    run(test)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("token.unknown", WrongToken),
        ("protocol.unsupported", ProtocolMismatch),
        ("name.refused", Refused),
    ],
)
def test_a_refused_hello_raises_the_error_for_its_code(
    run: Callable[[Test], None], code: str, error: type[PlyroomError]
) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send({"t": "error", "id": None, "code": code, "message": "because"})
            raise Close(1008)

        with pytest.raises(error, match="because"):
            async with backend(script):
                pass

    run(test)


def test_another_protocol_version_in_the_welcome_is_a_mismatch(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send(welcome() | {"protocol": 2})
            await link.idle()

        with pytest.raises(ProtocolMismatch, match="protocol 2"):
            async with backend(script):
                pass

    run(test)


@pytest.mark.parametrize(
    "frame", ["", "no json", "[]", '{"t":"welcome"}', '{"t":"joined","room":7}']
)
def test_a_frame_that_is_not_a_message_is_a_mismatch(
    run: Callable[[Test], None], frame: str
) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send(frame)
            await link.idle()

        with pytest.raises(ProtocolMismatch):
            async with backend(script):
                pass

    run(test)


def test_unknown_messages_are_ignored_and_unknown_codes_are_passed_on(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.send({"t": "fireworks", "colour": "red"})
            command = await link.expect("chat")
            await link.send(
                {"t": "error", "id": command["id"], "code": "future.code", "message": "later"}
            )
            await link.idle()

        async with backend(script) as c:
            with pytest.raises(Refused, match="later") as refused:
                await c.command(chat(c))
            assert refused.value.code == "future.code"

    run(test)


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "taken_back", "ply": 3},
        {"kind": "moved", "ply": {"n": 3}},
        {"kind": "seat_taken", "seat": 1, "occupant": {"name": "Ben"}},
    ],
)
def test_an_event_that_this_client_cannot_read_keeps_its_v(event: dict[str, object]) -> None:
    """An unknown kind and unknown fields of a known kind are a hidden event."""
    frame = msgspec.json.encode({"t": "event", "room": "r", "v": 7, "at": 1, **event})
    assert parse_server_message(frame) == LoggedEvent("r", 7, 1, Hidden())


async def test_an_address_without_a_server_is_unreachable() -> None:
    """The error names the address."""
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        async with connect("http://127.0.0.1:1"):
            pass


async def test_another_kind_of_server_is_unreachable() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="not a Plyroom server"):
            async with connect(f"http://127.0.0.1:{port}"):
                pass


def test_the_first_connection_is_attempted_three_times() -> None:
    async def main() -> None:
        async def close_after_hello(link: Link) -> None:
            await link.expect("hello")

        with pytest.raises(Unreachable, match="cut"):
            async with memory(close_after_hello, close_after_hello, close_after_hello):
                pass
        async with memory(close_after_hello, close_after_hello, greet) as c:
            assert c.identity == "i1"

    run_virtual(main())


def test_a_socket_without_a_welcome_within_5_s_is_dropped() -> None:
    """After three such sockets the server is unreachable."""

    async def main() -> None:
        with pytest.raises(Unreachable):
            async with memory(silent, silent, silent):
                pass
        assert 15 <= asyncio.get_running_loop().time() < 25

    run_virtual(main())


def test_an_exception_in_the_async_with_block_propagates_unchanged(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        with pytest.raises(ZeroDivisionError):
            async with backend(greet):
                raise ZeroDivisionError

    run(test)


def test_no_task_outlives_the_connection(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        before = asyncio.all_tasks()
        async with backend(greet) as c:
            pass
        assert {
            t for t in asyncio.all_tasks() - before if (t.get_name() or "").startswith("plyroom")
        } == set()
        with pytest.raises(PlyroomError, match="closed"):
            await c.command(chat(c))

    run(test)


# --- commands


def test_a_command_returns_its_ack_or_raises_its_refusal(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            first, second = await link.expect("create"), await link.expect("move")
            await link.refuse(second, "move.illegal")
            await link.send({"t": "ack", "id": first["id"], "v": 1, "room": "r7"})
            await link.idle()

        async with backend(script) as c, asyncio.TaskGroup() as tasks:
            created = tasks.create_task(c.command(Create(id="1", game="sticks")))
            await asyncio.sleep(0)
            with pytest.raises(Refused) as refused:
                await c.command(CommandFrame("r", Move(id="2", ply=0, move="x")))
            assert refused.value.code == "move.illegal"
            assert (await created).room == "r7"

    run(test)


def test_unanswered_commands_are_sent_again_in_order_with_the_same_ids(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        ids: list[list[str]] = [[], []]

        async def first(link: Link) -> None:
            await link.hello()
            for _ in range(3):
                command = await link.receive()
                ids[0].append(command["id"])
            await link.send({"t": "ack", "id": ids[0][1], "v": 2})

        async def second(link: Link) -> None:
            await link.hello()
            for _ in range(2):
                command = await link.receive()
                ids[1].append(command["id"])
                await link.ack(command, len(ids[1]))
            await link.idle()

        async with backend(first, second) as c:
            acks = await asyncio.gather(*(c.command(chat(c, str(n))) for n in range(3)))
        assert ids[1] == [ids[0][0], ids[0][2]]
        assert [ack.v for ack in acks] == [1, 2, 2]

    run(test)


def test_a_command_without_a_connection_is_sent_after_the_reconnect() -> None:
    async def main() -> None:
        lost = asyncio.Event()

        async def first(link: Link) -> None:
            await link.hello()

        async def second(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 9)
            await link.idle()

        async with memory(
            first, second, on_state=lambda state: lost.set() if state is State.LOST else None
        ) as c:
            await lost.wait()
            assert (await c.command(chat(c))).v == 9

    run_virtual(main())


def test_a_command_without_an_answer_is_sent_on_a_new_socket() -> None:
    """The client drops the old socket after 12 s, although it still answers pings."""

    async def main() -> None:
        async def unresponsive(link: Link) -> None:
            await link.hello()
            await link.idle()

        async def second(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 3)
            await link.idle()

        async with memory(unresponsive, second) as c:
            assert (await c.command(chat(c))).v == 3
            assert asyncio.get_running_loop().time() < 16

    run_virtual(main())


def test_after_a_reconnect_a_command_has_its_full_time_again() -> None:
    """The time without an answer on the old socket does not count on the new one."""

    async def main() -> None:
        states: list[State] = []

        async def slow(link: Link) -> None:
            await link.hello()
            await link.idle(9)

        async def second(link: Link) -> None:
            await link.hello()
            command = await link.expect("chat")
            await link.idle(9)
            await link.ack(command, 5)
            await link.idle()

        async with memory(slow, second, on_state=states.append) as c:
            assert (await c.command(chat(c))).v == 5
        assert states == [State.CONNECTED, State.LOST, State.CONNECTED]

    run_virtual(main())


def test_a_busy_server_receives_the_command_again_with_the_same_id(
    run: Callable[[Test], None],
) -> None:
    async def test(backend: Backend) -> None:
        ids: list[str] = []

        async def script(link: Link) -> None:
            await link.hello()
            for code in ("store.retry", "room.busy", "rate.exceeded"):
                command = await link.expect("chat")
                ids.append(command["id"])
                await link.refuse(command, code)
            await link.ack(await link.expect("chat"), 4)
            await link.idle()

        async with backend(script) as c:
            assert (await c.command(chat(c))).v == 4
        assert len(set(ids)) == 1

    run(test)


def test_a_command_is_retried_for_a_minute_while_the_server_is_busy() -> None:
    """Other refusals are final, and so is `rate.exceeded` for the first attempt."""

    async def main() -> None:
        sent: list[str] = []

        async def script(link: Link) -> None:
            await link.hello()
            while True:
                command = await link.expect("chat")
                sent.append(command["id"])
                await link.refuse(command, command["text"])

        async with memory(script) as c:
            for code, min_attempts, min_duration_s in (
                ("store.retry", 15, 60),
                ("rate.exceeded", 1, 0),
                ("chat.empty", 1, 0),
            ):
                sent.clear()
                started_s = asyncio.get_running_loop().time()
                with pytest.raises(Refused) as refused:
                    await c.command(chat(c, code))
                assert refused.value.code == code
                assert len(set(sent)) == 1
                assert min_attempts <= len(sent) <= 5 * min_attempts
                duration_s = asyncio.get_running_loop().time() - started_s
                assert min_duration_s <= duration_s <= min_duration_s + 4

    run_virtual(main())


def test_a_command_survives_a_store_outage_of_50_s() -> None:
    async def main() -> None:
        async def script(link: Link) -> None:
            await link.hello()
            while True:
                command = await link.expect("chat")
                if loop.time() - started_s < 50:
                    await link.refuse(command, "store.retry")
                else:
                    await link.ack(command, 7)

        loop = asyncio.get_running_loop()
        started_s = loop.time()
        async with memory(script) as c:
            assert (await c.command(chat(c))).v == 7
            assert loop.time() - started_s < 55, "the retry comes soon after the store is back"

    run_virtual(main())


def test_a_new_socket_starts_the_minute_again() -> None:
    """A server that restarts while it is busy has a minute from the restart."""

    async def main() -> None:
        async def busy(link: Link) -> None:
            await link.hello()
            until_s = loop.time() + 50
            while loop.time() < until_s:
                await link.refuse(await link.expect("chat"), "store.retry")

        async def ready(link: Link) -> None:
            await link.hello()
            while True:
                await link.ack(await link.expect("chat"), 7)

        loop = asyncio.get_running_loop()
        async with memory(busy, busy, ready) as c:
            assert (await c.command(chat(c))).v == 7

    run_virtual(main())


def test_a_command_raises_unanswered_after_its_timeout() -> None:
    async def main() -> None:
        async with memory(greet) as c:
            with pytest.raises(Unanswered, match="may have executed"):
                await c.command(chat(c), timeout_s=3)
            assert len(c._pending) == 0

    run_virtual(main())


def test_at_most_64_commands_are_in_flight() -> None:
    async def main() -> None:
        are_in_flight = asyncio.Event()

        async def script(link: Link) -> None:
            await link.hello()
            commands = [await link.receive() for _ in range(64)]
            are_in_flight.set()
            for command in commands:
                await link.ack(command)
            while True:
                await link.ack(await link.receive())

        async with memory(script) as c, asyncio.TaskGroup() as tasks:
            for n in range(100):
                tasks.create_task(c.command(chat(c, str(n))))
            await are_in_flight.wait()
            assert len(c._pending) == 64

    run_virtual(main())


def test_a_command_too_big_for_a_frame_is_refused_by_the_client() -> None:
    async def main() -> None:
        async with memory(greet) as c:
            with pytest.raises(Refused) as refused:
                await c.command(CommandFrame("r", Chat(id="1", text="x" * 9000)))
            assert refused.value.code == "frame.too_big"

    run_virtual(main())
