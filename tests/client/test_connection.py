"""What client.connection promises, against a server that follows a script and cuts at awkward moments."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from itertools import pairwise
from typing import Any

import pytest

from client.connection import Connection, State, connect
from client.errors import (
    PlyroomError,
    ProtocolMismatch,
    Refused,
    Replaced,
    Unanswered,
    Unreachable,
    WrongToken,
)
from client.messages import Happened, RoomMessage
from server.protocol import Chat, Create, Joined, Move, Snapshot, Thinking
from tests.client.scripted import (
    Backend,
    Close,
    Link,
    Message,
    joined,
    memory,
    said,
    snapshot_at,
    websocket,
    welcome,
)
from tests.client.virtual import run_virtual

Test = Callable[[Backend], Coroutine[Any, Any, None]]


@pytest.fixture(params=["memory", "websocket"])
def run(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    """Runs a test in memory on virtual time, and again over a real WebSocket."""
    if request.param == "memory":
        return lambda test: run_virtual(test(memory))
    return lambda test: asyncio.run(test(websocket))


def chat(c: Connection, text: str = "hi") -> Chat:
    return Chat(id=c.new_id(), room="r", text=text)


def short(messages: list[RoomMessage]) -> list[object]:
    """Events by their v, the rest by the names of their types."""
    return [m.v if isinstance(m, Happened) else type(m).__name__ for m in messages]


async def take(messages: AsyncIterator[RoomMessage], count: int) -> list[RoomMessage]:
    return [await anext(messages) for _ in range(count)]


# --- greeting


def test_hello_carries_token_and_name_and_the_welcome_is_kept(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        hellos: list[Message] = []

        async def script(link: Link) -> None:
            hellos.append(await link.hello(token=None))
            await link.idle()

        async with backend(script, token="mine", name="Ada") as c:
            assert (c.identity, c.name, c.token, c.epoch) == ("i1", "Ada", "mine", "e1")
        assert hellos == [{"t": "hello", "protocol": 1, "token": "mine", "name": "Ada"}]

    run(test)


def test_a_guest_keeps_the_token_it_was_given_after_a_cut(run: Callable[[Test], None]) -> None:
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


@pytest.mark.parametrize(
    ("code", "error"),
    [("token.unknown", WrongToken), ("protocol.unsupported", ProtocolMismatch), ("name.refused", Refused)],
)
def test_a_refused_hello_is_a_typed_error(run: Callable[[Test], None], code: str, error: type[PlyroomError]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send({"t": "error", "id": None, "code": code, "message": "because"})
            raise Close(1008)

        with pytest.raises(error, match="because"):
            async with backend(script):
                pass

    run(test)


def test_another_protocol_in_the_welcome_is_a_mismatch(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send(welcome() | {"protocol": 2})
            await link.idle()

        with pytest.raises(ProtocolMismatch, match="protocol 2"):
            async with backend(script):
                pass

    run(test)


@pytest.mark.parametrize("frame", ["", "no json", "[]", '{"t":"welcome"}', '{"t":"joined","room":7}'])
def test_a_frame_that_is_no_message_is_a_mismatch(run: Callable[[Test], None], frame: str) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.expect("hello")
            await link.send(frame)
            await link.idle()

        with pytest.raises(ProtocolMismatch):
            async with backend(script):
                pass

    run(test)


def test_messages_from_the_future_are_passed_over(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.send({"t": "fireworks", "colour": "red"})
            command = await link.expect("chat")
            await link.send({"t": "error", "id": command["id"], "code": "future.code", "message": "later"})
            await link.idle()

        async with backend(script) as c:
            with pytest.raises(Refused, match="later") as refused:
                await c.command(chat(c))
            assert refused.value.code == "future.code"

    run(test)


async def test_nobody_listening_is_unreachable() -> None:
    """At once, and with the address in the message."""
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
        with pytest.raises(Unreachable, match="no Plyroom server"):
            async with connect(f"http://127.0.0.1:{port}"):
                pass


def test_a_first_connection_that_is_cut_is_tried_three_times() -> None:
    async def main() -> None:
        async def cut(link: Link) -> None:
            await link.expect("hello")

        with pytest.raises(Unreachable, match="cut"):
            async with memory(cut, cut, cut):
                pass
        async with memory(cut, cut, greet) as c:
            assert c.identity == "i1"

    run_virtual(main())


async def greet(link: Link) -> None:
    """A script that only greets."""
    await link.hello()
    await link.idle()


async def silent(link: Link) -> None:
    """A script that never says a word."""
    await asyncio.Event().wait()


def test_a_server_that_does_not_welcome_within_5_s_is_left() -> None:
    async def main() -> None:
        with pytest.raises(Unreachable):
            async with memory(silent, silent, silent):
                pass
        assert 15 <= asyncio.get_running_loop().time() < 25

    run_virtual(main())


def test_an_exception_of_the_user_comes_out_as_it_is(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        with pytest.raises(ZeroDivisionError):
            async with backend(greet):
                raise ZeroDivisionError

    run(test)


def test_nothing_runs_on_after_the_end(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        before = asyncio.all_tasks()
        async with backend(greet) as c:
            pass
        assert {t for t in asyncio.all_tasks() - before if (t.get_name() or "").startswith("plyroom")} == set()
        with pytest.raises(PlyroomError, match="closed"):
            await c.command(chat(c))

    run(test)


# --- commands


def test_a_command_is_answered_by_its_ack_or_refused(run: Callable[[Test], None]) -> None:
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
                await c.command(Move(id="2", room="r", ply=0, move="x"))
            assert refused.value.code == "move.illegal"
            assert (await created).room == "r7"

    run(test)


def test_commands_without_an_answer_go_out_again_in_order_with_the_same_ids(run: Callable[[Test], None]) -> None:
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


def test_a_command_given_while_the_connection_is_down_goes_out_once_it_is_back() -> None:
    async def main() -> None:
        down = asyncio.Event()

        async def first(link: Link) -> None:
            await link.hello()

        async def second(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 9)
            await link.idle()

        async with memory(first, second, on_state=lambda s: down.set() if s is State.LOST else None) as c:
            await down.wait()
            assert (await c.command(chat(c))).v == 9

    run_virtual(main())


def test_a_command_that_stays_without_an_answer_moves_to_a_new_socket() -> None:
    """Within 12 s, although the old socket still answers pings."""

    async def main() -> None:
        async def deaf(link: Link) -> None:
            await link.hello()
            await link.idle()

        async def second(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 3)
            await link.idle()

        async with memory(deaf, second) as c:
            assert (await c.command(chat(c))).v == 3
            assert asyncio.get_running_loop().time() < 16

    run_virtual(main())


def test_after_a_cut_a_command_has_its_time_again() -> None:
    """The new socket is not blamed for what the old one left without an answer."""

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


def test_a_busy_server_is_asked_again_with_the_same_id(run: Callable[[Test], None]) -> None:
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


def test_a_server_that_stays_busy_is_asked_for_a_minute_and_a_first_too_fast_ends_at_once() -> None:
    async def main() -> None:
        sent: list[str] = []

        async def script(link: Link) -> None:
            await link.hello()
            while True:
                command = await link.expect("chat")
                sent.append(command["id"])
                await link.refuse(command, command["text"])

        async with memory(script) as c:
            for code, times, seconds in (("store.retry", 15, 60), ("rate.exceeded", 1, 0), ("chat.empty", 1, 0)):
                sent.clear()
                begun_s = asyncio.get_running_loop().time()
                with pytest.raises(Refused) as refused:
                    await c.command(chat(c, code))
                assert refused.value.code == code
                assert len(set(sent)) == 1
                assert times <= len(sent) <= 5 * times
                assert seconds <= asyncio.get_running_loop().time() - begun_s <= seconds + 4

    run_virtual(main())


def test_an_outage_of_the_store_for_most_of_a_minute_costs_no_command() -> None:
    async def main() -> None:
        async def script(link: Link) -> None:
            await link.hello()
            while True:
                command = await link.expect("chat")
                if loop.time() - begun_s < 50:
                    await link.refuse(command, "store.retry")
                else:
                    await link.ack(command, 7)

        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        async with memory(script) as c:
            assert (await c.command(chat(c))).v == 7
            assert loop.time() - begun_s < 55, "it goes on soon after the store is back"

    run_virtual(main())


def test_a_command_with_a_time_out_ends_unanswered() -> None:
    async def main() -> None:
        async with memory(greet) as c:
            with pytest.raises(Unanswered, match="not known"):
                await c.command(chat(c), timeout_s=3)
            assert c._pending == {}

    run_virtual(main())


def test_at_most_64_commands_are_under_way() -> None:
    async def main() -> None:
        held = asyncio.Event()

        async def script(link: Link) -> None:
            await link.hello()
            commands = [await link.receive() for _ in range(64)]
            held.set()
            for command in commands:
                await link.ack(command)
            while True:
                await link.ack(await link.receive())

        async with memory(script) as c, asyncio.TaskGroup() as tasks:
            for n in range(100):
                tasks.create_task(c.command(chat(c, str(n))))
            await held.wait()
            assert len(c._pending) == 64

    run_virtual(main())


def test_a_command_too_big_for_a_frame_is_refused_here() -> None:
    async def main() -> None:
        async with memory(greet) as c:
            with pytest.raises(Refused) as refused:
                await c.command(Chat(id="1", room="r", text="x" * 9000))
            assert refused.value.code == "frame.too_big"

    run_virtual(main())


# --- staying alive


def test_a_silent_socket_is_given_up_after_9_s() -> None:
    async def main() -> None:
        states: list[tuple[float, State]] = []

        async def falls_silent(link: Link) -> None:
            await link.hello()
            await asyncio.Event().wait()

        loop = asyncio.get_running_loop()
        again = asyncio.Event()

        def note(state: State) -> None:
            states.append((loop.time(), state))
            if len(states) == 3:
                again.set()

        async with memory(falls_silent, greet, on_state=note):
            await again.wait()
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


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_reconnecting_backs_off_to_4_s_with_full_jitter(chance: float) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        times: list[float] = []

        async def cut(link: Link) -> None:
            times.append(loop.time())
            await link.hello()

        done = asyncio.Event()

        async def last(link: Link) -> None:
            times.append(loop.time())
            done.set()
            await greet(link)

        async with memory(*[cut] * 6, last, jitter=lambda: chance):
            await done.wait()
        waits = [after - before for before, after in pairwise(times)]
        assert waits == pytest.approx([chance * s for s in (1, 2, 4, 4, 4, 4)])

    run_virtual(main())


def test_a_restarting_server_is_told_apart() -> None:
    async def main() -> None:
        states: list[State] = []
        again = asyncio.Event()

        async def restarting(link: Link) -> None:
            await link.hello()
            raise Close(1012)

        async def second(link: Link) -> None:
            await link.hello()
            again.set()
            await link.idle()

        async with memory(restarting, second, on_state=states.append):
            await again.wait()
            await asyncio.sleep(0)
        assert states == [State.CONNECTED, State.RESTARTING, State.CONNECTED]

    run_virtual(main())


def test_without_a_server_for_longer_than_our_patience_everything_ends_unreachable() -> None:
    async def main() -> None:
        async def once(link: Link) -> None:
            await link.hello()
            await link.joined()

        async with memory(once, patience_s=30) as c:
            async with aclosing(c.follow("r")) as messages:
                await take(messages, 2)
                with pytest.raises(Unreachable):
                    await anext(messages)
            with pytest.raises(Unreachable):
                await c.command(chat(c))
        assert 30 <= asyncio.get_running_loop().time() <= 36

    run_virtual(main())


@pytest.mark.parametrize(("code", "error"), [("token.unknown", WrongToken), ("protocol.unsupported", ProtocolMismatch)])
def test_a_server_that_does_not_know_us_after_a_restart_ends_everything(code: str, error: type[PlyroomError]) -> None:
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


def test_a_busy_greeting_after_a_restart_is_waited_for() -> None:
    async def main() -> None:
        async def busy(link: Link) -> None:
            await link.expect("hello")
            await link.send({"t": "error", "id": None, "code": "rate.exceeded", "message": "slowly"})

        async def last(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("chat"), 1)
            await link.idle()

        async def first(link: Link) -> None:
            await link.hello()

        async with memory(first, busy, busy, busy, last) as c:
            assert (await c.command(chat(c))).v == 1

    run_virtual(main())


def test_a_replaced_connection_does_not_fight_back(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.expect("chat")
            raise Close(4001)

        async with backend(script) as c:
            with pytest.raises(Replaced):
                await c.command(chat(c))

    run(test)


# --- following a room


def test_following_begins_with_joined_and_snapshot_and_goes_on(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            assert (await link.joined(v=4)) | {"id": ""} == {"t": "join", "id": "", "room": "r"}
            await link.send(said("r", 5))
            await link.send(said("other", 6))
            await link.send({"t": "event", "room": "r", "v": 6, "at": 1, "kind": "hidden"})
            await link.send({"t": "event", "room": "r", "v": 7, "at": 1, "kind": "exploded"})
            left.set_result((await link.expect("leave"))["room"])
            await link.idle()

        left: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with backend(script) as c:
            async with aclosing(c.follow("r")) as messages:
                assert short(await take(messages, 5)) == ["Joined", "Snapshot", 5, 6, 7]
            assert await left == "r"

    run(test)


def test_an_unknown_room_is_refused(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.refuse(await link.expect("join"), "room.unknown")
            await link.idle()

        async with backend(script) as c:
            with pytest.raises(Refused, match=r"room\.unknown"):
                await anext(c.follow("r"))
            assert c._rooms == {}

    run(test)


def test_after_a_cut_a_room_goes_on_where_it_was(run: Callable[[Test], None]) -> None:
    """since and epoch say how far it got; what comes twice is dropped."""

    async def test(backend: Backend) -> None:
        async def first(link: Link) -> None:
            await link.hello()
            await link.joined(v=4)
            await link.send(said("r", 5))
            await link.expect("chat")

        async def second(link: Link) -> None:
            await link.hello()
            join = await link.joined(v=7, snapshot=False)
            assert (join["since"], join["epoch"]) == (5, "e1")
            for v in (4, 5, 6, 7, 7, 8):
                await link.send(said("r", v))
            await link.ack(await link.expect("chat"), 8)
            await link.idle()

        async with backend(first, second) as c, aclosing(c.follow("r")) as messages:
            assert short(await take(messages, 3)) == ["Joined", "Snapshot", 5]
            assert (await c.command(chat(c))).v == 8
            assert short(await take(messages, 4)) == ["Joined", 6, 7, 8]

    run(test)


def test_a_gap_brings_a_fresh_snapshot(run: Callable[[Test], None]) -> None:
    """Whatever still comes from the old join is dropped."""

    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.joined(v=1)
            for v in (2, 4, 5):
                await link.send(said("r", v))
            join = await link.expect("join")
            assert "since" not in join
            await link.send(said("r", 6))
            await link.send(joined("r", 6))
            await link.send(snapshot_at("r", 6))
            await link.ack(join)
            await link.send(said("r", 7))
            await link.idle()

        async with backend(script) as c, aclosing(c.follow("r")) as messages:
            assert short(await take(messages, 6)) == ["Joined", "Snapshot", 2, "Joined", "Snapshot", 7]

    run(test)


def test_another_epoch_brings_a_fresh_snapshot_although_v_went_back(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def first(link: Link) -> None:
            await link.hello(epoch="e1")
            await link.joined(v=9)

        async def second(link: Link) -> None:
            await link.hello(epoch="e2")
            assert "since" not in await link.joined(v=3, epoch="e2")
            await link.send(said("r", 4))
            await link.idle()

        async with backend(first, second) as c, aclosing(c.follow("r")) as messages:
            seen = await take(messages, 5)
            assert short(seen) == ["Joined", "Snapshot", "Joined", "Snapshot", 4]
            assert isinstance(seen[3], Snapshot)
            assert seen[3].v == 3

    run(test)


def test_a_room_with_another_epoch_waits_for_its_snapshot(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def first(link: Link) -> None:
            await link.hello()
            await link.joined(v=2)

        async def second(link: Link) -> None:
            await link.hello()
            await link.joined(v=3, epoch="e2", snapshot=False)
            await link.send(said("r", 3))
            await link.send(snapshot_at("r", 1))
            await link.send(said("r", 2))
            await link.idle()

        async with backend(first, second) as c, aclosing(c.follow("r")) as messages:
            assert short(await take(messages, 5)) == ["Joined", "Snapshot", "Joined", "Snapshot", 2]

    run(test)


def test_a_busy_server_is_asked_again(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.refuse(await link.expect("join"), "store.retry")
            await link.joined(v=1)
            await link.idle()

        async with backend(script) as c, aclosing(c.follow("r")) as messages:
            assert short(await take(messages, 2)) == ["Joined", "Snapshot"]

    run(test)


def test_a_reader_that_lags_gets_a_snapshot_instead_of_a_backlog_without_end() -> None:
    """Commands are answered all the while, and thinking is dropped first."""

    async def main() -> None:
        thinking = {"t": "thinking", "room": "r", "match": "m", "ply": 0, "seat": 0, "state": "searching"}

        async def script(link: Link) -> None:
            await link.hello()
            await link.joined()
            await link.ack(await link.expect("chat"))
            for v in range(1, 2000):
                await link.send(said("r", v))
                await link.send(thinking)
            while True:
                command = await link.receive()
                await link.ack(command, 1999)
                if command["t"] == "join":
                    await link.send(joined("r", 1999))
                    await link.send(snapshot_at("r", 1999))

        async with memory(script) as c, aclosing(c.follow("r")) as messages:
            first = await take(messages, 2)
            await c.command(chat(c))
            assert (await c.command(chat(c))).v == 1999
            rest = await take(messages, 2)
            assert short(first) == short(rest) == ["Joined", "Snapshot"]
            assert isinstance(rest[1], Snapshot)
            assert rest[1].v == 1999

    run_virtual(main())


def test_thinking_is_dropped_while_events_queue_up() -> None:
    async def main() -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.joined()
            for v in range(1, 601):
                await link.send(said("r", v))
            for _ in range(100):
                await link.send({"t": "thinking", "room": "r", "match": "m", "ply": 0, "seat": 0, "state": "done"})
            await link.ack(await link.expect("chat"))
            await link.idle()

        async with memory(script) as c, aclosing(c.follow("r")) as messages:
            await take(messages, 2)
            await c.command(chat(c))
            seen = await take(messages, 600)
            assert not any(isinstance(m, Thinking) for m in seen)

    run_virtual(main())


def test_several_rooms_are_followed_apart_and_one_only_once(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            for room in ("a", "b"):
                join = await link.expect("join")
                assert join["room"] == room
                await link.send(joined(room, 0))
                await link.send(snapshot_at(room, 0))
            await link.send(said("b", 1))
            await link.idle()

        async with backend(script) as c, aclosing(c.follow("a")) as a, aclosing(c.follow("b")) as b:
            assert short(await take(a, 1)) == ["Joined"]
            assert short(await take(b, 3)) == ["Joined", "Snapshot", 1]
            with pytest.raises(ValueError, match="already"):
                await anext(c.follow("a"))

    run(test)


def test_leaving_and_following_again_starts_afresh(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.joined(v=1)
            await link.expect("leave")
            await link.send(said("r", 2))
            await link.joined(v=2)
            await link.idle()

        async with backend(script) as c:
            async with aclosing(c.follow("r")) as messages:
                await take(messages, 2)
            async with aclosing(c.follow("r")) as messages:
                first, second = await take(messages, 2)
                assert isinstance(first, Joined)
                assert isinstance(second, Snapshot)
                assert second.v == 2

    run(test)


def test_the_lobby_begins_again_after_a_cut(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("watch_lobby"))
            await link.send({"t": "lobby", "full": True})
            await link.send({"t": "lobby", "full": False, "gone": ["x"]})

        async def again(link: Link) -> None:
            await script(link)
            await link.idle()

        async with backend(script, again) as c, aclosing(c.lobby()) as lobby:
            assert [(await anext(lobby)).full for _ in range(4)] == [True, False, True, False]

    run(test)
