"""A room on one node: it decides a command, commits the events, and then answers and sends."""

import asyncio

from server.commands import Sit
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.runtime.log import MAX_KEYS, TAIL
from server.runtime.room.room_runner import MAILBOX_CAPACITY
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.two_players import OPEN, playing

# --- commit, then send ----------------------------------------------------------------------------


@virtual
async def test_nothing_is_sent_before_the_commit() -> None:
    """I5: while the append waits, no client on any node receives the move."""
    async with playing() as (fake, _, room, ada, ben), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        before = [len(client.messages) for client in (ada, ben, cyd)]
        gate = fake.store.hold("append")
        ada.send_command(ada.move(room, 0, "b2", key="m"))
        await fake.store.waiting["append"].wait()
        await asyncio.sleep(5)
        received = [
            m
            for client, n in zip((ada, ben, cyd), before, strict=True)
            for m in client.messages[n:]
        ]
        assert [m for m in received if m["t"] != "presence"] == []
        gate.set()
        assert await ada.answer("m") == {"t": "ack", "id": "m", "v": 5}
        for client in (ada, ben, cyd):
            assert (await client.event("moved"))["v"] == 5


@virtual
async def test_a_move_is_sent_with_view_and_legal_moves() -> None:
    """The mover receives ack, event and view; the opponent receives event, view and legal moves."""
    async with playing() as (_, _, room, ada, ben):
        start = len(ada.messages), len(ben.messages)
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.event("moved")
        assert [m["t"] for m in ada.messages[start[0] :] if m["t"] != "presence"] == [
            "ack",
            "event",
            "may",  # the move can be taken back
            "view",
        ]
        assert [m["t"] for m in ben.messages[start[1] :] if m["t"] != "presence"] == [
            "event",
            "view",
            "turn",
        ]
        turn = ben.of("turn")[-1]
        assert (turn["v"], turn["ply"], len(turn["moves"])) == (5, 1, 8)
        assert ben.of("view")[-1]["view"]["pieces"] == {"b2": "X"}
        assert len(ada.of("turn")) == 1, "the first turn, and none for Ben's move"


@virtual
async def test_only_its_sender_receives_a_refusal() -> None:
    """I2: a refused command logs nothing, and only its sender receives the refusal."""
    async with playing() as (fake, _, room, ada, ben):
        received = len(ada.messages)
        assert await ben.expect_refusal(ben.move(room, 0, "b2")) == Code.MOVE_NOT_YOUR_TURN
        await run_ready_tasks()
        assert [m for m in ada.messages[received:] if m["t"] != "presence"] == []
        assert await fake.store.logs.heads([room]) == {room: 4}


@virtual
async def test_a_client_may_play_without_following_the_room() -> None:
    """A client that has not joined receives the answer and nothing else."""
    async with playing() as (_, hub, room, ada, _):
        again = Client(hub, "ada")
        assert await again.ack(again.move(room, 0, "b2")) == 5
        assert [m["t"] for m in again.messages] == ["ack"]
        await ada.event("moved")


@virtual
async def test_all_sockets_of_an_identity_follow() -> None:
    """A player with two connections receives the move and the legal moves on both."""
    async with playing() as (_, hub, room, ada, ben):
        phone = Client(hub, "ben")
        await phone.ack(phone.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        for client in (ben, phone):
            await client.until(lambda m: m["t"] == "turn" and m["ply"] == 1)


# --- ids ------------------------------------------------------------------------------------------


@virtual
async def test_a_command_sent_again_gets_the_same_ack() -> None:
    """I1: a repeated command, at once or later, gets the same ack and is logged once."""
    async with playing() as (fake, _, room, ada, ben):
        move = ada.move(room, 0, "b2", key="m")
        for _ in range(3):
            ada.send_command(move)
        await ben.ack(ben.move(room, 1, "a1"))
        ada.send_command(move)
        await ada.until(lambda _: len(ada.answers("m")) == 4)
        assert ada.answers("m") == [{"t": "ack", "id": "m", "v": 5}] * 4
        assert await fake.store.logs.heads([room]) == {room: 6}
        assert [m["v"] for m in ada.events()] == [4, 5, 6] or [m["v"] for m in ada.events()] == [
            3,
            4,
            5,
            6,
        ]


@virtual
async def test_a_command_sent_again_after_a_restart_gets_the_same_ack() -> None:
    """I1: a repeated command gets its ack after a restart, even if it would now be refused."""
    fake = FakeServer()
    async with playing(fake=fake) as (_, _, room, ada, ben):
        await ada.ack(ada.move(room, 0, "b2", key="m"))
        await ben.ack(ben.move(room, 1, "a1"))
        await ada.ack(ada.chat(room, "hello", key="c"))
    async with fake.hub("n2") as hub:
        again = Client(hub, "ada")
        assert await again.ack(again.move(room, 0, "b2", key="m")) == 5
        await again.ack(again.join(room))
        assert await again.ack(again.chat(room, "hello", key="c")) == 7
        assert await fake.store.logs.heads([room]) == {room: 7}


@virtual
async def test_a_command_sent_again_to_another_node_gets_the_same_ack() -> None:
    """I1: another node gives the same ack, even if the bus carried no events to it."""
    async with playing() as (fake, _, room, ada, ben):
        fake.bus.cut = True  # type: ignore[attr-defined]
        async with fake.hub("n2") as other:
            again = Client(other, "ada")
            await again.ack(again.join(room))
            assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
            assert await ada.ack(ada.chat(room, "hello", key="c")) == 6
            assert await again.ack(again.chat(room, "hello", key="c")) == 6
            assert await again.ack(again.move(room, 0, "b2", key="m")) == 5
            assert [m["v"] for m in again.events()] == [5, 6]
            assert await ben.ack(ben.chat(room, "hello", key="c")) == 7


@virtual
async def test_two_clients_may_use_the_same_id() -> None:
    """An id belongs to its identity: two clients with the same id get their own answers."""
    async with playing() as (fake, _, room, ada, ben):
        assert await ada.ack(ada.move(room, 0, "b2", key="1")) == 5
        assert await ben.ack(ben.move(room, 1, "a1", key="1")) == 6
        assert await ben.ack(ben.move(room, 1, "a1", key="1")) == 6
        assert await ada.ack(ada.move(room, 0, "b2", key="1")) == 5
        assert await fake.store.logs.heads([room]) == {room: 6}


@virtual
async def test_the_id_of_create_may_be_used_in_the_room() -> None:
    """The id of a create can be used again for a command in the room."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(key="1", seats=(OPEN, OPEN))
        assert await ada.ack(wire.CommandFrame(room, Sit(id="1", seat=0))) == 2


@virtual
async def test_a_refused_command_does_not_use_up_its_id() -> None:
    """A move that was refused as too early is accepted later with the same id."""
    async with playing() as (_, _, room, ada, ben):
        assert await ben.expect_refusal(ben.move(room, 1, "a1", key="m")) == Code.MOVE_EARLY
        await ada.ack(ada.move(room, 0, "b2"))
        ben.messages.clear()
        assert await ben.ack(ben.move(room, 1, "a1", key="m")) == 6


@virtual
async def test_old_ids_are_looked_up_in_the_store() -> None:
    """A key that is no longer in memory is looked up in the store before the decision."""
    async with playing(fake=FakeServer().unlimited()) as (fake, _, room, ada, _):
        assert await ada.ack(ada.chat(room, "first", key="old")) == 5
        for number in range(MAX_KEYS + 5):
            await ada.ack(ada.chat(room, f"line {number}"))
        ada.messages.clear()
        assert await ada.ack(ada.chat(room, "first", key="old")) == 5
        assert await fake.store.logs.heads([room]) == {room: 5 + MAX_KEYS + 5}


# --- limits ---------------------------------------------------------------------------------------


@virtual
async def test_a_mailbox_has_a_capacity() -> None:
    """I20: a command beyond the mailbox's capacity is refused at once with room.busy.

    Commands in the mailbox are answered.
    """
    async with playing() as (fake, _, room, ada, _):
        gate = fake.store.hold("append")
        ada.send_command(ada.chat(room, "slow"))
        await fake.store.waiting["append"].wait()
        commands = [ada.chat(room, f"line {number}") for number in range(MAILBOX_CAPACITY + 20)]
        for command in commands:
            ada.send_command(command)
        busy = [m for m in ada.messages if m["t"] == "error"]
        assert [m["code"] for m in busy] == [Code.ROOM_BUSY] * 20
        assert {m["id"] for m in busy} == {command.id for command in commands[MAILBOX_CAPACITY:]}
        gate.set()
        for command in commands:
            await ada.answer(command.id)
            assert len(ada.answers(command.id)) == 1


@virtual
async def test_memory_of_a_room_is_bounded() -> None:
    """I20: the keys and recent events in memory stay within their limits in a long-lived room."""
    async with playing(fake=FakeServer().unlimited()) as (_, hub, room, ada, _):
        for number in range(3 * MAX_KEYS):
            await ada.ack(ada.chat(room, f"line {number}"))
        runner = hub.runner(room)
        assert runner is not None
        assert len(runner._log._keys) <= MAX_KEYS
        assert len(runner._log._tail) <= 2 * TAIL
