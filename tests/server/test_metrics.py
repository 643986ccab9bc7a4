"""A node's metrics, the command ids in its log, and its gradual shutdown."""

import asyncio
import json
import re
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import pairwise

import pytest
import structlog
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st

from engine.search.job import Job
from server.bus.base import BusMessage
from server.commands import AiSeat, MySeat
from server.net.listener import CannotListen
from server.process.metrics import Histogram
from server.protocol.codes import Close
from server.settings import SettingError, settings_from_env
from tests.support.clock import stopped_clock
from tests.support.fake_server import Client, FakeServer, FaultyBus, first_legal
from tests.support.node import Node, Socket, serve

ME, OPEN = {"who": "me"}, {"who": "open"}
#: The delay of a message on the delayed bus, in seconds.
BUS_DELAY_S = 0.1


@given(st.lists(st.floats(0, 10)))
def test_a_histogram_counts_each_value_up_to_its_bounds(values: list[float]) -> None:
    """A cumulative count is the number of values up to the bound; the total is their sum."""
    histogram = Histogram()
    for value in values:
        histogram.observe(value)
    for bound, count in histogram.cumulative():
        assert count == sum(value <= float(bound) for value in values)
    assert histogram.total == pytest.approx(sum(values))


async def scrape(node: Node) -> dict[str, float]:
    """Returns the samples of the metrics port by name."""
    async with ClientSession() as http:
        answer = await http.get(f"http://127.0.0.1:{node.running.metrics_port}/metrics")
        assert answer.status == 200
        assert answer.content_type == "text/plain"
        text = await answer.text()
    return {name: float(value) for name, value in re.findall(r"^(\S+) (\S+)$", text, re.MULTILINE)}


async def sit_down(ada: Socket, ben: Socket) -> str:
    """Creates a room with a match of sticks between two people; returns its id."""
    room = str((await ada.ack("create", game="sticks", seats=[ME, OPEN]))["room"])
    for player in (ada, ben):
        await player.ack("join", room=room)
    await ben.ack("sit", room=room, seat=1)
    return room


async def test_metrics_count_rooms_sockets_moves_and_commands() -> None:
    """The metrics count rooms, sockets, moves, commands, refusals, repeats and append times."""
    async with serve(metrics_port=0) as node, node.guest() as ada, node.guest() as ben:
        before = await scrape(node)
        assert before["plyroom_connections"] == 2
        room = await sit_down(ada, ben)
        await ada.ack("move", room=room, ply=0, move="3x3", id="m")
        await ada.ack("move", room=room, ply=0, move="3x3", id="m")
        assert await ben.expect_refusal("move", room=room, ply=1, move="9x9")
        after = await scrape(node)
    increases = {name: after[name] - before.get(name, 0) for name in after}
    assert increases["plyroom_rooms"] == 1
    assert increases["plyroom_moves_total"] == 1
    assert increases["plyroom_commands_total"] == 2, "sit and move"
    assert increases["plyroom_rejected_total"] == 1
    assert increases["plyroom_repeated_total"] == 1
    assert increases["plyroom_append_seconds_count"] == 2
    assert increases['plyroom_append_seconds_bucket{le="+Inf"}'] == 2


async def test_conflicts_between_nodes_are_counted() -> None:
    """A command that loses to another node counts as a conflict, and later as one command."""
    fake = FakeServer().unlimited()
    async with (
        serve(fake, "n1", metrics_port=0) as first,
        serve(fake, "n2", metrics_port=0) as second,
        first.guest() as ada,
        second.guest(ada.token) as other,
    ):
        room = (await ada.ack("create", game="sticks", seats=[ME, OPEN]))["room"]
        for socket in (ada, other):
            await socket.ack("join", room=room)
        for n in range(20):
            await asyncio.gather(
                ada.ack("chat", room=room, text=f"one {n}", id=f"a{n}"),
                other.ack("chat", room=room, text=f"two {n}", id=f"b{n}"),
            )
        counted = [await scrape(node) for node in (first, second)]
    assert sum(sample["plyroom_conflicts_total"] for sample in counted) > 0
    assert sum(sample["plyroom_commands_total"] for sample in counted) == 40


class DelayedBus(FaultyBus):
    """A bus that delivers each message after BUS_DELAY_S."""

    def publish(self, message: BusMessage) -> None:
        asyncio.get_running_loop().call_later(BUS_DELAY_S, super().publish, message)


async def test_the_lag_of_another_nodes_events_is_measured() -> None:
    """The bus lag is the time from a commit on one node until the other node has its events."""
    fake = FakeServer()
    fake.bus = DelayedBus()
    async with (
        serve(fake, "n1", metrics_port=0) as first,
        serve(fake, "n2", metrics_port=0) as second,
        first.guest() as ada,
        second.guest() as ben,
    ):
        room = (await ada.ack("create", game="sticks", seats=[ME, OPEN]))["room"]
        await ben.ack("join", room=room)
        await ada.ack("chat", room=room, text="hello")
        await ben.expect("event", kind="said")
        sender, receiver = await scrape(first), await scrape(second)
    assert sender["plyroom_bus_lag_seconds_count"] == 0, "its own events do not count"
    assert receiver["plyroom_bus_lag_seconds_count"] == 1
    assert receiver["plyroom_bus_lag_seconds_sum"] >= BUS_DELAY_S - 0.002, "two clocks round down"


async def test_health_is_on_the_metrics_port_if_it_is_open() -> None:
    """The metrics port also answers /livez and /readyz, and the players' port has no /metrics."""
    async with serve(metrics_port=0) as node:
        async with ClientSession() as http:
            for path in ("/livez", "/readyz"):
                answer = await http.get(f"http://127.0.0.1:{node.running.metrics_port}{path}")
                assert (answer.status, await answer.json()) == (200, {"status": "ok"})
                assert "server" not in answer.headers
        assert (await node.get("/metrics")).status == 404
        with pytest.raises(CannotListen, match="metrics"):
            async with serve(metrics_port=node.running.metrics_port):
                pass
    async with serve() as node:
        assert node.running.metrics_port is None


async def test_metrics_name_no_room_or_person() -> None:
    """I14: a scrape contains no room, name, identity or token."""
    async with (
        serve(metrics_port=0) as node,
        node.guest(name="Adalbert") as ada,
        node.guest() as ben,
    ):
        room = await sit_down(ada, ben)
        text = json.dumps(await scrape(node))
        for secret in (room, "Adalbert", ada.identity, str(ada.token), ben.identity):
            assert secret not in text


async def test_the_log_has_the_id_of_a_command() -> None:
    """A commit (at level debug) and a store failure are logged with room and command id."""
    fake = FakeServer()
    with structlog.testing.capture_logs() as logs:
        async with serve(fake) as node, node.guest() as ada, node.guest() as ben:
            room = await sit_down(ada, ben)
            await ada.ack("move", room=room, ply=0, move="3x3", id="the-move")
            fake.store.fail("append")
            assert (
                await ben.expect_refusal("move", room=room, ply=1, move="2x1", id="lost")
                == "store.retry"
            )
    lines = [(line["event"], line["room"], line["command"]) for line in logs if "command" in line]
    assert ("committed", room, "the-move") in lines
    assert ("store unavailable", room, "lost") in lines


async def test_connections_are_closed_over_the_drain_time() -> None:
    """A stopping node refuses new connections and closes the others with 1012 over drain_s."""
    async with asyncio.TaskGroup() as tasks:
        fake = FakeServer()
        loop = asyncio.get_running_loop()
        closed_s: list[float] = []

        async def stay(node: Node, ready: asyncio.Event) -> None:
            async with node.guest() as socket:
                ready.set()
                assert (await socket.wait_closed())[0] == Close.RESTARTING
                closed_s.append(loop.time())
                with pytest.raises(OSError):
                    async with node.socket():
                        pass

        async with AsyncExitStack() as nodes:
            node = await nodes.enter_async_context(serve(fake, drain_s=1.0))
            for _ in range(5):
                ready = asyncio.Event()
                tasks.create_task(stay(node, ready))
                await ready.wait()
            async with stopped_clock() as clock:
                ending = asyncio.create_task(nodes.aclose())
                await clock.until(lambda: len(closed_s) == 5, within_s=1.0)
            await ending
    gaps_s = [later - earlier for earlier, later in pairwise(closed_s)]
    assert gaps_s == pytest.approx([0.2] * 4), "the five are closed a fifth of a second apart"


async def test_another_node_takes_over_at_once() -> None:
    """A stopping node ends its heartbeat in the store, so another node can take over at once."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, heartbeat_s=60.0)
    may_answer = asyncio.Event()

    async def never(job: Job) -> str:
        await may_answer.wait()
        return await first_legal(job)

    fake.engines.answer = never
    async with fake.hub("n1") as hub:
        await Client(hub, "ada").create("sticks", seats=(AiSeat(1), MySeat()))
        await fake.engines.requested.wait()
    assert await fake.store.nodes.take_over_due_rooms(fake.now_ms(), "n2", False) != []


def test_settings_of_the_log_and_the_metrics() -> None:
    """An invalid log level or port is refused, and the error names the setting."""
    settings = settings_from_env({"PLYROOM_LOG": "debug", "PLYROOM_METRICS_PORT": "9100"})
    assert (settings.log, settings.metrics_port) == ("debug", 9100)
    for variable, value in (
        ("PLYROOM_LOG", "loud"),
        ("PLYROOM_METRICS_PORT", "70000"),
        ("PLYROOM_METRICS_PORT", "x"),
    ):
        with pytest.raises(SettingError, match=variable):
            settings_from_env({variable: value})
