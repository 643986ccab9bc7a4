"""A room on several nodes, with a bus that loses messages and a store that fails."""

import asyncio
from typing import Any

import pytest

from engine.rules.registry import load_game
from server.bus.base import EventsAppended
from server.protocol.codes import Code
from server.runtime.node import room_machine as machine_module
from server.runtime.room.room_runner import MAILBOX_CAPACITY
from server.store.base import Append, Conflict, StoredEvent
from tests.support.fake_server import Client, FakeServer, Fault, FaultyStore, virtual
from tests.support.room_log import altered_game, failing_rule
from tests.support.two_players import playing

# --- other nodes ----------------------------------------------------------------------------------


@virtual
async def test_a_lagging_node_reads_the_log_before_a_refusal() -> None:
    """A node that lags behind reads the log and decides again before it refuses a command."""
    async with playing() as (fake, _, room, ada, _ben), fake.hub("n2") as other:
        late = Client(other, "ben")
        await late.ack(late.join(room))
        fake.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        assert await late.ack(late.move(room, 1, "a1")) == 6, "n2 had not received Ada's move"
        assert await ada.ack(ada.move(room, 2, "c3")) == 7, "nor had n1 received Ben's"
        assert [m["v"] for m in late.events()] == [5, 6]
        assert await late.expect_refusal(late.move(room, 1, "a2")) == Code.MOVE_STALE


@virtual
async def test_two_nodes_acknowledge_the_same_command() -> None:
    """I1: two nodes that receive the same command give the same ack and log it once."""
    async with playing() as (fake, _, room, ada, ben):
        second_store = FaultyStore(fake.store.memory)
        async with fake.hub("n2", store=second_store) as other:
            again = Client(other, "ben")
            await again.ack(again.join(room))
            fake.bus.cut = True  # type: ignore[attr-defined]
            await ada.ack(ada.move(room, 0, "b2"))
            gate = second_store.hold("append")
            again.send_command(again.move(room, 1, "a1", key="m"))
            await second_store.waiting["append"].wait()
            v = await ben.ack(ben.move(room, 1, "a1", key="m"))
            gate.set()
            assert await again.answer("m") == {"t": "ack", "id": "m", "v": v}


@virtual
async def test_one_of_two_concurrent_nodes_wins() -> None:
    """Of two nodes that decide at one v, the loser reads the winner's events and decides again.

    No v is missing.
    """
    async with playing(fake=FakeServer().unlimited()) as (fake, _, room, ada, _):
        fake.bus.cut = True  # type: ignore[attr-defined]
        async with fake.hub("n2") as other:
            cyd = Client(other, "cyd")
            await cyd.ack(cyd.join(room))
            for number in range(10):
                line, other_line = ada.chat(room, f"a{number}"), cyd.chat(room, f"c{number}")
                answers = await asyncio.gather(ada.ask(line), cyd.ask(other_line))
                assert [m["t"] for m in answers] == ["ack", "ack"]
                assert {m["v"] for m in answers} == {5 + 2 * number, 6 + 2 * number}
            log = await fake.store.logs.events(room, 4)
            assert [event.v for event in log] == list(range(5, 25))
            await cyd.wait_for_v(24)
            assert [m["v"] for m in cyd.events()] == list(range(5, 25))


@virtual
async def test_a_command_with_five_conflicts_is_refused() -> None:
    """After five conflicts a command is refused with room.busy, and nothing is logged."""
    async with playing() as (fake, _, room, ada, _):
        fake.store.fail("append", *[Fault(error=Conflict("another node was faster"))] * 5)
        assert await ada.expect_refusal(ada.move(room, 0, "b2")) == Code.ROOM_BUSY
        assert await ada.ack(ada.move(room, 0, "b2")) == 5


@virtual
async def test_events_of_a_lost_message_are_read_from_the_log() -> None:
    """A gap in v makes a node read the log; if no further message comes, the poll does."""
    async with playing() as (fake, _, room, ada, ben), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        fake.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.ack(ben.move(room, 1, "a1"))
        fake.bus.cut = False  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 2, "c3"))
        await cyd.wait_for_v(7)
        assert [m["v"] for m in cyd.events()] == [5, 6, 7]
        fake.bus.cut = True  # type: ignore[attr-defined]
        await ben.ack(ben.move(room, 3, "a2"))
        await cyd.wait_for_v(8)
        assert [m["v"] for m in cyd.events()] == [5, 6, 7, 8]


@virtual
async def test_repeated_late_and_forged_messages_of_the_bus() -> None:
    """Known events are dropped; a message after a gap makes the node read the log instead."""
    async with playing() as (fake, hub, room, ada, _):
        runner = hub.runner(room)
        assert runner is not None
        await ada.ack(ada.move(room, 0, "b2"))
        log = tuple(await fake.store.logs.events(room, 0))
        forged = StoredEvent(9, 0, 0, b'{"kind":"seat_left","seat":0}')
        for message in (
            EventsAppended(room, "n9", log),
            EventsAppended(room, "n9", log[2:4]),
            EventsAppended(room, "n9", (forged,)),
            EventsAppended(room, "n9", log[4:]),
        ):
            runner.receive(message)
        await ada.ack(ada.chat(room, "still here"))
        assert [m["v"] for m in ada.events()][-2:] == [5, 6]
        assert runner.room is not None
        assert runner.room.seats[0] is not None


@virtual
async def test_a_full_mailbox_loses_no_events() -> None:
    """A bus message that finds the mailbox full makes the room read the log."""
    async with (
        playing(fake=FakeServer().unlimited()) as (fake, _hub, room, ada, _),
        fake.hub("n2") as other,
    ):
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        gate = fake.store.hold("append")
        cyd.send_command(cyd.chat(room, "slow"))
        await fake.store.waiting["append"].wait()
        for _ in range(MAILBOX_CAPACITY):
            cyd.send_command(cyd.chat(room, "x"))
        runner = other.runner(room)
        assert runner is not None
        runner.receive(EventsAppended(room, "n1", (StoredEvent(5, 0, 0, b"{}"),)))
        gate.set()
        await cyd.wait_for_v(5 + MAILBOX_CAPACITY)
        assert [m["v"] for m in cyd.events()] == list(range(5, 6 + MAILBOX_CAPACITY))
        await ada.wait_for_v(5 + MAILBOX_CAPACITY)


# --- store failures -------------------------------------------------------------------------------


@virtual
async def test_a_failed_write_gets_store_retry() -> None:
    """A command whose write fails gets store.retry and logs nothing; the same id works later."""
    async with playing() as (fake, _, room, ada, ben):
        fake.store.fail("append")
        assert await ada.expect_refusal(ada.move(room, 0, "b2", key="m")) == Code.STORE_RETRY
        assert ada.events()[-1]["v"] == 4
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        await ben.event("moved")


@virtual
async def test_a_write_whose_outcome_is_unknown() -> None:
    """A command whose write succeeds without an answer gets store.retry.

    Followers still receive the move, and the same id then gets its ack.
    """
    async with playing() as (fake, _, room, ada, ben):
        fake.store.fail("append", Fault(after=True))
        assert await ada.expect_refusal(ada.move(room, 0, "b2", key="m")) == Code.STORE_RETRY
        await ben.event("moved")
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        assert await fake.store.logs.heads([room]) == {room: 5}


@virtual
async def test_a_chat_line_whose_outcome_is_unknown() -> None:
    """A line that was written but answered with store.retry is not logged again when repeated."""
    async with playing() as (fake, _, room, ada, _):
        fake.store.fail("append", Fault(after=True))
        assert await ada.expect_refusal(ada.chat(room, "hello", key="c")) == Code.STORE_RETRY
        ada.messages.clear()
        assert await ada.ack(ada.chat(room, "hello", key="c")) == 5
        assert await fake.store.logs.heads([room]) == {room: 5}


@virtual
async def test_a_store_that_is_down_and_comes_back() -> None:
    """Every command gets store.retry while the store is down.

    The room catches up by itself when the store is back.
    """
    async with playing() as (fake, _, room, ada, ben):
        fake.store.down = True
        for number in range(20):
            assert await ada.expect_refusal(ada.chat(room, f"line {number}")) == Code.STORE_RETRY
        assert await ben.expect_refusal(ben.join(room)) == Code.STORE_RETRY
        await asyncio.sleep(30)
        fake.store.down = False
        await asyncio.sleep(2)
        reads = fake.store.calls["events"]
        await asyncio.sleep(20)
        assert fake.store.calls["events"] == reads, "a room that has caught up stops reading"
        assert await ada.ack(ada.move(room, 0, "b2")) == 5


@virtual
async def test_a_room_that_cannot_be_read_is_opened_later() -> None:
    """If the store fails while a room is opened, requests get store.retry; a later one opens it."""
    async with playing() as (fake, _, room, ada, _):
        await ada.ack(ada.move(room, 0, "b2"))
        async with fake.hub("n2") as other:
            cyd = Client(other, "cyd")
            fake.store.fail("head")
            assert await cyd.expect_refusal(cyd.join(room)) == Code.STORE_RETRY
            fake.store.fail("events")
            assert await cyd.expect_refusal(cyd.join(room)) == Code.STORE_RETRY
            await cyd.ack(cyd.join(room))


@virtual
async def test_an_unexpected_exception_fails_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception fails one command with server.fault; the room continues."""
    async with playing() as (_, _, room, ada, ben):
        with monkeypatch.context() as patch:
            patch.setattr(machine_module, "projections", failing_rule)
            assert await ada.expect_refusal(ada.move(room, 0, "b2", key="m")) == Code.SERVER_FAULT
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        await ben.event("moved")


@virtual
async def test_an_unreadable_log_affects_its_room_only() -> None:
    """Commands of a room with an unreadable log entry get server.fault; other rooms work."""
    async with playing() as (fake, hub, room, ada, _):
        broken = StoredEvent(5, 0, 0, b'{"kind":7}')
        await fake.store.logs.append(Append(room, 4, (broken,), "n9"))
        async with fake.hub("n2") as other:
            cyd = Client(other, "cyd")
            for _ in range(3):
                assert await cyd.expect_refusal(cyd.join(room)) == Code.SERVER_FAULT
            readable_room = await cyd.create()
            await cyd.ack(cyd.join(readable_room))
        assert await ada.expect_refusal(ada.chat(room, "hello")) == Code.SERVER_FAULT
        assert hub.runner(room) is not None


@virtual
async def test_a_game_that_fails_affects_the_command_only() -> None:
    """A command that gets game.fault changes nothing; other commands of the room work."""
    broken = False

    def find(game_id: str) -> Any:
        return altered_game(
            game_id,
            {
                "play": lambda s, m: (
                    failing_rule() if broken else load_game(game_id).rules.play(s, m)
                )
            },
        )

    async with playing(fake=FakeServer(find_game=find)) as (_fake, _, room, ada, _):
        broken = True
        assert await ada.expect_refusal(ada.move(room, 0, "b2")) == Code.GAME_FAULT
        assert await ada.ack(ada.chat(room, "what a pity")) == 5
        broken = False
        assert await ada.ack(ada.move(room, 0, "b2")) == 6


@virtual
async def test_a_game_without_a_working_view_can_be_played() -> None:
    """If the view fails, moves are still acknowledged and sent, without a view."""

    def find(game_id: str) -> Any:
        return altered_game(
            game_id, {"view": failing_rule, "move_view": failing_rule, "board": failing_rule}
        )

    async with playing(fake=FakeServer(find_game=find)) as (_, _, room, ada, ben):
        assert await ada.ack(ada.move(room, 0, "b2")) == 5
        await ben.event("moved")
        assert ben.of("view") == ben.of("turn") == []
        assert ben.of("joined")[0]["description"]["view"] is None
