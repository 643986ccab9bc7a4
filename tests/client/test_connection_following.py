"""How client.connection follows rooms and the lobby across reconnects and gaps."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from client.errors import Refused, Replaced
from client.readers import MAX_QUEUED_MESSAGES
from server.protocol.codes import Close as CloseCode
from server.protocol.messages import Joined, Snapshot, Thinking
from tests.client.conftest import Test
from tests.support.scripted_server import (
    Backend,
    Close,
    Link,
    chat,
    joined,
    memory,
    said,
    snapshot_at,
    summarize,
    take,
)
from tests.support.virtual_time import run_virtual


def test_following_begins_with_joined_and_snapshot_then_events(run: Callable[[Test], None]) -> None:
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
                assert summarize(await take(messages, 5)) == ["Joined", "Snapshot", 5, 6, 7]
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
            assert len(c._rooms) == 0

    run(test)


def test_after_a_reconnect_a_room_resumes_after_its_last_event(
    run: Callable[[Test], None],
) -> None:
    """The join has `since` and `epoch`, and the client drops repeated events."""

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
            assert summarize(await take(messages, 3)) == ["Joined", "Snapshot", 5]
            assert (await c.command(chat(c))).v == 8
            assert summarize(await take(messages, 4)) == ["Joined", 6, 7, 8]

    run(test)


def test_after_a_gap_the_client_joins_again_and_gets_a_snapshot(
    run: Callable[[Test], None],
) -> None:
    """The client drops the remaining messages of the old join."""

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
            assert summarize(await take(messages, 6)) == [
                "Joined",
                "Snapshot",
                2,
                "Joined",
                "Snapshot",
                7,
            ]

    run(test)


def test_a_welcome_with_another_epoch_makes_the_client_join_from_0(
    run: Callable[[Test], None],
) -> None:
    """A restored backup may have fewer events than the client has seen."""

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
            assert summarize(seen) == ["Joined", "Snapshot", "Joined", "Snapshot", 4]
            assert isinstance(seen[3], Snapshot)
            assert seen[3].v == 3

    run(test)


def test_after_a_join_with_another_epoch_events_are_dropped_until_the_snapshot(
    run: Callable[[Test], None],
) -> None:
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
            assert summarize(await take(messages, 5)) == [
                "Joined",
                "Snapshot",
                "Joined",
                "Snapshot",
                2,
            ]

    run(test)


def test_a_join_is_repeated_while_the_server_is_busy(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def script(link: Link) -> None:
            await link.hello()
            for code in ("store.retry", "rate.exceeded"):
                await link.refuse(await link.expect("join"), code)
            await link.joined(v=1)
            await link.idle()

        async with backend(script) as c, aclosing(c.follow("r")) as messages:
            assert summarize(await take(messages, 2)) == ["Joined", "Snapshot"]

    run(test)


def test_a_refused_join_is_not_repeated_after_the_join_of_a_new_socket() -> None:
    async def main() -> None:
        async def busy(link: Link) -> None:
            await link.hello()
            await link.refuse(await link.expect("join"), "room.busy")

        async def ready(link: Link) -> None:
            await link.hello()
            await link.joined(v=1)
            await link.idle(30)
            await link.send(said("r", 2))
            joins.extend(message for message in link.seen if message["t"] == "join")
            await link.idle()

        joins: list[object] = []
        async with memory(busy, ready) as c, aclosing(c.follow("r")) as messages:
            assert summarize(await take(messages, 3)) == ["Joined", "Snapshot", 2]
        assert len(joins) == 1

    run_virtual(main())


def test_a_slow_reader_gets_a_snapshot_when_its_queue_is_full() -> None:
    """The full queue does not delay the answers to commands."""

    async def main() -> None:
        thinking = {
            "t": "thinking",
            "room": "r",
            "match": "m",
            "ply": 0,
            "seat": 0,
            "state": "searching",
        }

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
            assert summarize(first) == summarize(rest) == ["Joined", "Snapshot"]
            assert isinstance(rest[1], Snapshot)
            assert rest[1].v == 1999

    run_virtual(main())


def test_thinking_is_dropped_when_the_queue_is_half_full() -> None:
    async def main() -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.joined()
            for v in range(1, 601):
                await link.send(said("r", v))
            for _ in range(100):
                await link.send(
                    {
                        "t": "thinking",
                        "room": "r",
                        "match": "m",
                        "ply": 0,
                        "seat": 0,
                        "state": "done",
                    }
                )
            await link.ack(await link.expect("chat"))
            await link.idle()

        async with memory(script) as c, aclosing(c.follow("r")) as messages:
            await take(messages, 2)
            await c.command(chat(c))
            seen = await take(messages, 600)
            assert not any(isinstance(m, Thinking) for m in seen)

    run_virtual(main())


def test_several_rooms_can_be_followed_but_each_only_once(run: Callable[[Test], None]) -> None:
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
            assert summarize(await take(a, 1)) == ["Joined"]
            assert summarize(await take(b, 3)) == ["Joined", "Snapshot", 1]
            with pytest.raises(ValueError, match="already"):
                await anext(c.follow("a"))

    run(test)


def test_leaving_and_following_again_starts_from_a_snapshot(run: Callable[[Test], None]) -> None:
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


def test_after_a_reconnect_the_whole_lobby_is_sent_again(run: Callable[[Test], None]) -> None:
    async def test(backend: Backend) -> None:
        async def first(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("watch_lobby"))
            await link.send({"t": "lobby", "full": True})
            await link.send({"t": "lobby", "full": False, "gone": ["x"]})

        async def second(link: Link) -> None:
            await first(link)
            await link.idle()

        async with backend(first, second) as c, aclosing(c.lobby()) as lobby:
            assert [(await anext(lobby)).full for _ in range(4)] == [True, False, True, False]

    run(test)


def test_a_full_lobby_queue_does_not_hide_the_end_of_the_connection() -> None:
    """A reader whose queue is full gets the error at once, instead of the queued messages."""

    async def main() -> None:
        async def script(link: Link) -> None:
            await link.hello()
            await link.ack(await link.expect("watch_lobby"))
            for _ in range(MAX_QUEUED_MESSAGES + 2):
                await link.send({"t": "lobby", "full": True})
            raise Close(CloseCode.REPLACED)

        async with memory(script) as c, aclosing(c.lobby()) as lobby:
            await anext(lobby)
            await asyncio.sleep(1)
            with pytest.raises(Replaced):
                await anext(lobby)

    run_virtual(main())
