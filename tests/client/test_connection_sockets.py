"""In a cluster, client.connection changes to a socket of the room that it follows."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.messages import LoggedEvent
from client.transport import Dial, Socket
from server.commands import Chat
from server.protocol.messages import CommandFrame, Snapshot
from tests.client.conftest import Test
from tests.support.scripted_server import (
    Backend,
    Link,
    Script,
    chat,
    joined,
    memory,
    memory_dial,
    said,
    summarize,
    take,
)
from tests.support.virtual_time import run_virtual


def by_room(first: Script, *of_room: Script) -> tuple[Dial, list[str]]:
    """Returns a dial, and the list of the queries in the URLs that it was called with.

    A URL without a room is served by `first`, each URL with a room by the next of `of_room`.
    """
    dials = {False: memory_dial([first]), True: memory_dial(list(of_room))}
    queries: list[str] = []

    def dial(url: str) -> AbstractAsyncContextManager[Socket]:
        queries.append(urlsplit(url).query)
        return dials["room" in parse_qs(urlsplit(url).query)](url)

    return dial, queries


async def lobby_node(link: Link) -> None:
    """Serves a client that joins a room: sends a snapshot at v 4, then event 5."""
    await link.hello(nodes=2)
    await link.joined(v=4)
    await link.send(said("r", 5))
    await link.idle()


def test_a_room_gets_a_socket_of_its_own(run: Callable[[Test], None]) -> None:
    """The client joins on the new socket after its last event, closes the first one, and sends
    commands on the new one.
    """

    async def test(backend: Backend) -> None:
        closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def first(link: Link) -> None:
            try:
                await lobby_node(link)
            finally:
                closed.set_result(None)

        async def second(link: Link) -> None:
            assert (await link.hello(nodes=2))["token"] == "secret"
            join = await link.expect("join")
            assert (join["room"], join["epoch"]) == ("r", "e1")
            assert not closed.done(), "the first socket stays until the room is joined"
            await link.ack(join)
            await link.send(joined("r", 7))
            for v in range(join["since"] + 1, 8):
                await link.send(said("r", v))
            await closed
            await link.ack(await link.expect("chat"), 8)
            await link.idle()

        async with backend(first, second) as c, aclosing(c.follow("r")) as messages:
            seen = summarize(await take(messages, 6))
            assert [item for item in seen if item != "Joined"] == ["Snapshot", 5, 6, 7]
            await closed
            assert (await c.command(chat(c))).v == 8

    run(test)


def test_the_urls_name_the_room() -> None:
    """A URL names the room if it is known, as it is after a join."""

    async def test() -> None:
        async def broken(link: Link) -> None:
            await link.hello(nodes=2)
            await link.joined(v=4)

        async def whole(link: Link) -> None:
            await link.hello(nodes=2)
            await link.joined(v=4, snapshot=False)
            await link.idle()

        dial, queries = by_room(lobby_node, broken, whole)
        async with memory(dial=dial, room="r") as c, aclosing(c.follow("r")) as messages:
            assert summarize(await take(messages, 3)) == ["Joined", "Snapshot", "Joined"]
        assert queries == ["room=r", "room=r"]
        dial, queries = by_room(lobby_node)
        async with memory(dial=dial):
            assert queries == [""]

    run_virtual(test())


@pytest.mark.parametrize("fields", [{}, {"nodes": 1}])
def test_with_one_node_no_second_socket_is_opened(fields: dict[str, Any]) -> None:
    """The welcome says so in `nodes`; a server of an earlier version does not send the field."""

    async def test() -> None:
        async def lone(link: Link) -> None:
            await link.hello(**fields)
            await link.joined(v=4)
            await link.idle()

        dial, queries = by_room(lone)
        async with memory(dial=dial) as c, aclosing(c.follow("r")) as messages:
            await take(messages, 2)
            await asyncio.sleep(60)
        assert queries == [""]

    run_virtual(test())


async def refuse_join(link: Link) -> None:
    await link.hello(nodes=2)
    await link.refuse(await link.expect("join"), "room.busy")
    await link.idle()


async def welcome_another_guest(link: Link) -> None:
    await link.hello(nodes=2, identity="i9")
    await link.idle()


async def welcome_with_another_epoch(link: Link) -> None:
    await link.hello(epoch="e9", nodes=2)
    await link.idle()


async def close_after_join(link: Link) -> None:
    await link.hello(nodes=2)
    await link.expect("join")


async def stay_silent(link: Link) -> None:
    await link.hello(nodes=2)
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "script",
    [
        refuse_join,
        welcome_another_guest,
        welcome_with_another_epoch,
        close_after_join,
        stay_silent,
        None,
    ],
)
def test_a_second_socket_that_fails_changes_nothing(script: Script | None) -> None:
    """The client stays on the first socket, and tries once for each room that it enters."""

    async def test() -> None:
        async def first(link: Link) -> None:
            await link.hello(nodes=2)
            await link.joined(v=4)
            await link.idle(60)
            await link.send(said("r", 5))
            while True:
                command = await link.receive()
                await link.ack(command, 6)
                if command["t"] == "join":
                    await link.send(joined(command["room"], 0))

        dial, queries = by_room(first, *([script] if script else []))
        async with memory(dial=dial) as c:
            async with aclosing(c.follow("r")) as messages:
                assert summarize(await take(messages, 3)) == ["Joined", "Snapshot", 5]
                assert (await c.command(chat(c))).v == 6
                assert (c.identity, c.epoch) == ("i1", "e1")
            assert queries == ["", "room=r"]

    run_virtual(test())


def test_a_client_of_several_rooms_stays_on_its_socket() -> None:
    """The nodes of two rooms may differ, so no socket would be right for both."""

    async def test() -> None:
        async def both(link: Link) -> None:
            await link.hello(nodes=2)
            first, second = await link.expect("join"), await link.expect("join")
            for join in (first, second):
                await link.ack(join)
                await link.send(joined(join["room"], 1))
                await link.send(
                    {
                        "t": "snapshot",
                        "room": join["room"],
                        "v": 1,
                        "seats": [None, None],
                        "match": None,
                    }
                )
            await link.idle()

        dial, queries = by_room(both)
        async with (
            memory(dial=dial) as c,
            aclosing(c.follow("r")) as messages,
            aclosing(c.follow("q")) as others,
        ):
            reading = asyncio.create_task(take(messages, 2))
            await take(others, 2)
            await reading
            await asyncio.sleep(60)
        assert queries == [""]

    run_virtual(test())


# --- no event is lost or doubled


class SharedLog:
    """A room's log that two nodes serve, each with a delay of its own before it sends an event.

    `versions` maps the ids of the executed commands to the v of their events. The nodes answer
    after `answer_s`.
    """

    def __init__(self, answer_s: float) -> None:
        self.answer_s = answer_s
        self.versions: dict[str, int] = {}
        self.head = 4
        self.committed = asyncio.Event()

    def commit(self, command_id: str) -> int:
        """Logs a command once; returns its v."""
        if command_id not in self.versions:
            self.head += 1
            self.versions[command_id] = self.head
            self.committed.set()
            self.committed = asyncio.Event()
        return self.versions[command_id]

    async def serve(self, link: Link, lag_s: float) -> None:
        """Serves a connection to a node that sends each event `lag_s` after its commit."""
        await link.hello(nodes=2)
        feeds: list[asyncio.Task[None]] = []
        try:
            while True:
                message = await link.receive()
                await asyncio.sleep(self.answer_s)
                if message["t"] == "join":
                    await link.ack(message)
                    feeds.append(asyncio.create_task(self.feed(link, message, lag_s)))
                elif message["t"] == "chat":
                    await link.ack(message, self.commit(message["id"]))
        finally:
            for feed in feeds:
                feed.cancel()

    async def feed(self, link: Link, join: dict[str, int], lag_s: float) -> None:
        """Sends the events after a join, in order; each once."""
        v = join.get("since", 0)
        await link.send(joined("r", max(v, self.head)))
        if v == 0:
            v = self.head
            snapshot = {"t": "snapshot", "room": "r", "v": v, "seats": [None, None], "match": None}
            await link.send(snapshot)
        while True:
            while v < self.head:
                v += 1
                await link.send(said("r", v))
            await self.committed.wait()
            await asyncio.sleep(lag_s)


DELAYS = st.floats(0, 0.5)


@settings(max_examples=60, deadline=None)
@given(DELAYS, DELAYS, DELAYS, st.lists(DELAYS, min_size=1, max_size=12))
def test_no_event_is_lost_or_doubled(
    answer_s: float, lag_s: float, other_lag_s: float, pauses_s: list[float]
) -> None:
    """Commands sent before, during and after the change of sockets are each executed once and
    answered once, and the reader receives every event once and in order.
    """

    async def test() -> None:
        log = SharedLog(answer_s)
        dial, queries = by_room(
            lambda link: log.serve(link, lag_s), lambda link: log.serve(link, other_lag_s)
        )
        async with memory(dial=dial) as c, aclosing(c.follow("r")) as messages:
            seen: list[int] = []
            snapshots: list[int] = []

            async def read() -> None:
                async for message in messages:
                    if isinstance(message, LoggedEvent):
                        seen.append(message.v)
                    elif isinstance(message, Snapshot):
                        snapshots.append(message.v)

            reading = asyncio.create_task(read())
            sending = []
            for number, pause_s in enumerate(pauses_s):
                await asyncio.sleep(pause_s)
                line = CommandFrame("r", Chat(id=f"c{number}", text="hi"))
                sending.append(asyncio.create_task(c.command(line)))
            acks = [await task for task in sending]
            await asyncio.sleep(30)
            assert [ack.v for ack in acks] == [log.versions[ack.id] for ack in acks]
            assert len(log.versions) == len(pauses_s)
            assert len(snapshots) == 1
            assert seen == list(range(snapshots[0] + 1, log.head + 1))
            assert queries == ["", "room=r"]
            reading.cancel()
            await asyncio.wait({reading})

    run_virtual(test())
