"""What a room on a node promises: decide, commit, evolve, tell; one answer for each command; resume from any v."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.games.registry import load_game
from engine.search.job import Job, RulesChanged, SearchFailed
from server import protocol as wire
from server import runner as runner_module
from server.bus.base import Grown, Here, Whisper
from server.codes import Code
from server.hub import Hub
from server.room.model import AI_IDENTITY
from server.runner import KEYS, MAILBOX, RESUME, TAIL
from server.seats import ai
from server.store.base import Append, CommandKey, Conflict, StoredEvent
from tests.server.rooms import altered, raises
from tests.server.world import Client, Fault, FaultyStore, World, first_legal, settle, virtual

ME, OPEN, AI1 = wire.MySeat(), wire.OpenSeat(), wire.AiSeat(level=1)


@asynccontextmanager
async def playing(
    game: str = "tic-tac-toe", world: World | None = None
) -> AsyncIterator[tuple[World, Hub, str, Client, Client]]:
    """Ada against Ben, both following, at the first move."""
    world = world or World()
    async with world.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(game)
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        yield world, hub, room, ada, ben


# --- commit, then tell ------------------------------------------------------------------------------------------------


@virtual
async def test_nothing_is_sent_before_the_commit() -> None:
    """I5: while the append waits, neither the mover nor anybody else, nor another node, hears anything of the move."""
    async with playing() as (world, _, room, ada, ben), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        before = [len(one.messages) for one in (ada, ben, cyd)]
        gate = world.store.hold("append")
        ada.say(ada.move(room, 0, "b2", key="m"))
        await world.store.waiting["append"].wait()
        await asyncio.sleep(5)
        heard = [m for one, n in zip((ada, ben, cyd), before, strict=True) for m in one.messages[n:]]
        assert [m for m in heard if m["t"] != "presence"] == []
        gate.set()
        assert await ada.answer("m") == {"t": "ack", "id": "m", "v": 5}
        for one in (ada, ben, cyd):
            assert (await one.event("moved"))["v"] == 5


@virtual
async def test_a_move_is_told_with_picture_and_moves() -> None:
    """The mover gets ack, event and view; the other player event, view and the legal moves; all in order."""
    async with playing() as (_, _, room, ada, ben):
        start = len(ada.messages), len(ben.messages)
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.event("moved")
        assert [m["t"] for m in ada.messages[start[0] :] if m["t"] != "presence"] == ["ack", "event", "view"]
        assert [m["t"] for m in ben.messages[start[1] :] if m["t"] != "presence"] == ["event", "view", "turn"]
        turn = ben.of("turn")[-1]
        assert (turn["v"], turn["ply"], len(turn["moves"])) == (5, 1, 8)
        assert ben.of("view")[-1]["view"]["pieces"] == {"b2": "X"}
        assert len(ada.of("turn")) == 1, "the start's, and none for Ben's move"


@virtual
async def test_a_refused_command_is_told_to_its_author_only() -> None:
    """I2: nothing is logged and nobody else hears of it."""
    async with playing() as (world, _, room, ada, ben):
        heard = len(ada.messages)
        assert await ben.refused(ben.move(room, 0, "b2")) == Code.MOVE_NOT_YOUR_TURN
        await settle()
        assert [m for m in ada.messages[heard:] if m["t"] != "presence"] == []
        assert await world.store.heads([room]) == {room: 4}


@virtual
async def test_one_need_not_follow_a_room_to_play_in_it() -> None:
    """Whoever has not joined gets the answer and nothing else."""
    async with playing() as (_, hub, room, ada, _):
        again = Client(hub, "ada")
        assert await again.ack(again.move(room, 0, "b2")) == 5
        assert [m["t"] for m in again.messages] == ["ack"]
        await ada.event("moved")


@virtual
async def test_all_sockets_of_an_identity_follow() -> None:
    """The same player on two devices: both see the move and both get the legal moves."""
    async with playing() as (_, hub, room, ada, ben):
        phone = Client(hub, "ben")
        await phone.ack(phone.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        for one in (ben, phone):
            await one.until(lambda m: m["t"] == "turn" and m["ply"] == 1)


# --- ids --------------------------------------------------------------------------------------------------------------


@virtual
async def test_a_command_sent_again_gets_the_same_ack() -> None:
    """I1: as often as it comes, at once or later, it makes its events once."""
    async with playing() as (world, _, room, ada, ben):
        move = ada.move(room, 0, "b2", key="m")
        for _ in range(3):
            ada.say(move)
        await ben.ack(ben.move(room, 1, "a1"))
        ada.say(move)
        await ada.until(lambda _: len(ada.answers("m")) == 4)
        assert ada.answers("m") == [{"t": "ack", "id": "m", "v": 5}] * 4
        assert await world.store.heads([room]) == {room: 6}
        assert [m["v"] for m in ada.events()] == [4, 5, 6] or [m["v"] for m in ada.events()] == [3, 4, 5, 6]


@virtual
async def test_a_command_sent_again_after_a_restart_gets_the_same_ack() -> None:
    """I1: the store knows the key when no memory does, also of a command that would be refused now."""
    world = World()
    async with playing(world=world) as (_, _, room, ada, ben):
        await ada.ack(ada.move(room, 0, "b2", key="m"))
        await ben.ack(ben.move(room, 1, "a1"))
        await ada.ack(ada.chat(room, "hello", key="c"))
    async with world.hub("n2") as hub:
        again = Client(hub, "ada")
        assert await again.ack(again.move(room, 0, "b2", key="m")) == 5
        assert await again.ack(again.chat(room, "hello", key="c")) == 7
        assert await world.store.heads([room]) == {room: 7}


@virtual
async def test_a_command_sent_again_to_another_node_gets_the_same_ack() -> None:
    """I1: whether that node has heard of it or not, over a bus that carries nothing."""
    async with playing() as (world, _, room, ada, ben):
        world.bus.cut = True  # type: ignore[attr-defined]
        async with world.hub("n2") as other:
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
    """An id is its identity's own: neither gets the other's answer."""
    async with playing() as (world, _, room, ada, ben):
        assert await ada.ack(ada.move(room, 0, "b2", key="1")) == 5
        assert await ben.ack(ben.move(room, 1, "a1", key="1")) == 6
        assert await ben.ack(ben.move(room, 1, "a1", key="1")) == 6
        assert await ada.ack(ada.move(room, 0, "b2", key="1")) == 5
        assert await world.store.heads([room]) == {room: 6}


@virtual
async def test_the_id_of_create_may_be_used_in_the_room() -> None:
    """Creating is not a command of the room: `1` may make the room and then sit in it."""
    world = World()
    async with world.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(key="1", seats=(OPEN, OPEN))
        assert await ada.ack(wire.Sit(id="1", room=room, seat=0)) == 2


@virtual
async def test_a_refused_command_is_judged_afresh() -> None:
    """Its id is not used up: what was too early is accepted later."""
    async with playing() as (_, _, room, ada, ben):
        assert await ben.refused(ben.move(room, 1, "a1", key="m")) == Code.MOVE_EARLY
        await ada.ack(ada.move(room, 0, "b2"))
        ben.messages.clear()
        assert await ben.ack(ben.move(room, 1, "a1", key="m")) == 6


@virtual
async def test_old_ids_are_asked_of_the_store() -> None:
    """A room remembers some keys; older ones the store knows, even of a command that would be accepted again."""
    async with playing() as (world, _, room, ada, _):
        assert await ada.ack(ada.chat(room, "first", key="old")) == 5
        for number in range(KEYS + 5):
            await ada.ack(ada.chat(room, f"line {number}"))
        ada.messages.clear()
        assert await ada.ack(ada.chat(room, "first", key="old")) == 5
        assert await world.store.heads([room]) == {room: 5 + KEYS + 5}


# --- other nodes ------------------------------------------------------------------------------------------------------


@virtual
async def test_a_lagging_node_does_not_refuse_wrongly() -> None:
    """decisions.md 3: before a rejection the store's head is looked at, and the command judged again."""
    async with playing() as (world, _, room, ada, _ben), world.hub("n2") as other:
        late = Client(other, "ben")
        await late.ack(late.join(room))
        world.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        assert await late.ack(late.move(room, 1, "a1")) == 6, "this node did not know of Ada's move"
        assert await ada.ack(ada.move(room, 2, "c3")) == 7, "nor that one of Ben's"
        assert [m["v"] for m in late.events()] == [5, 6]
        assert await late.refused(late.move(room, 1, "a2")) == Code.MOVE_STALE


class LateStore(FaultyStore):
    """A second node's way to the store of the world: its appends are late."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.__dict__.update({**world.store.__dict__, "faults": {}, "gates": {}, "waiting": {}, "calls": {}})


@virtual
async def test_a_lagging_node_is_overtaken_with_the_very_same_command() -> None:
    """I1: a command that is sent to two nodes is acknowledged by both, also by the one that had to catch up first and
    was overtaken then: what it would refuse by now is already done.
    """
    async with playing() as (world, _, room, ada, ben):
        late = LateStore(world)
        async with world.hub("n2", store=late) as other:
            again = Client(other, "ben")
            await again.ack(again.join(room))
            world.bus.cut = True  # type: ignore[attr-defined]
            await ada.ack(ada.move(room, 0, "b2"))
            gate = late.hold("append")
            again.say(again.move(room, 1, "a1", key="m"))
            await late.waiting["append"].wait()
            v = await ben.ack(ben.move(room, 1, "a1", key="m"))
            gate.set()
            assert await again.answer("m") == {"t": "ack", "id": "m", "v": v}


@virtual
async def test_of_two_nodes_at_once_one_wins() -> None:
    """R5: both decide at the same v; the loser reads what the winner wrote and decides again; v has no gap."""
    async with playing() as (world, _, room, ada, _):
        world.bus.cut = True  # type: ignore[attr-defined]
        async with world.hub("n2") as other:
            cyd = Client(other, "cyd")
            await cyd.ack(cyd.join(room))
            for number in range(10):
                one, two = ada.chat(room, f"a{number}"), cyd.chat(room, f"c{number}")
                answers = await asyncio.gather(ada.ask(one), cyd.ask(two))
                assert [m["t"] for m in answers] == ["ack", "ack"]
                assert {m["v"] for m in answers} == {5 + 2 * number, 6 + 2 * number}
            log = await world.store.events(room, 4)
            assert [event.v for event in log] == list(range(5, 25))
            await cyd.at_v(24)
            assert [m["v"] for m in cyd.events()] == list(range(5, 25))


@virtual
async def test_a_node_that_always_loses_says_so() -> None:
    """After five tries the command is refused as room.busy, and nothing was logged."""
    async with playing() as (world, _, room, ada, _):
        world.store.fail("append", *[Fault(error=Conflict("somebody was faster"))] * 5)
        assert await ada.refused(ada.move(room, 0, "b2")) == Code.ROOM_BUSY
        assert await ada.ack(ada.move(room, 0, "b2")) == 5


@virtual
async def test_a_lost_message_of_the_bus_is_made_up_for() -> None:
    """R10: a gap reads the log; without any further message the poll of heads does."""
    async with playing() as (world, _, room, ada, ben), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        world.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.ack(ben.move(room, 1, "a1"))
        world.bus.cut = False  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 2, "c3"))
        await cyd.at_v(7)
        assert [m["v"] for m in cyd.events()] == [5, 6, 7]
        world.bus.cut = True  # type: ignore[attr-defined]
        await ben.ack(ben.move(room, 3, "a2"))
        await cyd.at_v(8)
        assert [m["v"] for m in cyd.events()] == [5, 6, 7, 8]


@virtual
async def test_double_late_and_forged_messages_of_the_bus() -> None:
    """R11: what was seen is dropped; a message that begins in the future makes the node read the log, which decides."""
    async with playing() as (world, hub, room, ada, _):
        runner = hub.runner(room)
        assert runner is not None
        await ada.ack(ada.move(room, 0, "b2"))
        log = tuple(await world.store.events(room, 0))
        forged = StoredEvent(9, 0, 0, b'{"kind":"seat_left","seat":0}')
        for message in (
            Grown(room, "n9", log),
            Grown(room, "n9", log[2:4]),
            Grown(room, "n9", (forged,)),
            Grown(room, "n9", log[4:]),
        ):
            runner.receive(message)
        await ada.ack(ada.chat(room, "still here"))
        assert [m["v"] for m in ada.events()][-2:] == [5, 6]
        assert runner.room is not None
        assert runner.room.seats[0] is not None


@virtual
async def test_a_full_mailbox_does_not_lose_news() -> None:
    """A message of the bus that finds no place makes the room read the log."""
    async with playing() as (world, _hub, room, ada, _), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        gate = world.store.hold("append")
        cyd.say(cyd.chat(room, "slow"))
        await world.store.waiting["append"].wait()
        for _ in range(MAILBOX):
            cyd.say(cyd.chat(room, "x"))
        runner = other.runner(room)
        assert runner is not None
        runner.receive(Grown(room, "n1", (StoredEvent(5, 0, 0, b"{}"),)))
        gate.set()
        await cyd.at_v(5 + MAILBOX)
        assert [m["v"] for m in cyd.events()] == list(range(5, 6 + MAILBOX))
        await ada.at_v(5 + MAILBOX)


# --- a store in trouble -----------------------------------------------------------------------------------------------


@virtual
async def test_a_failed_write_is_store_retry() -> None:
    """R7, before the write: store.retry, nothing logged; the same id works later."""
    async with playing() as (world, _, room, ada, ben):
        world.store.fail("append")
        assert await ada.refused(ada.move(room, 0, "b2", key="m")) == Code.STORE_RETRY
        assert ada.events()[-1]["v"] == 4
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        await ben.event("moved")


@virtual
async def test_a_write_whose_outcome_is_unknown() -> None:
    """R6, after the write: store.retry; everybody sees the move all the same, and the same id gets its ack."""
    async with playing() as (world, _, room, ada, ben):
        world.store.fail("append", Fault(after=True))
        assert await ada.refused(ada.move(room, 0, "b2", key="m")) == Code.STORE_RETRY
        await ben.event("moved")
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        assert await world.store.heads([room]) == {room: 5}


@virtual
async def test_an_unknown_outcome_of_a_chat_line() -> None:
    """R6 for a command that would be accepted twice: the key decides."""
    async with playing() as (world, _, room, ada, _):
        world.store.fail("append", Fault(after=True))
        assert await ada.refused(ada.chat(room, "hello", key="c")) == Code.STORE_RETRY
        ada.messages.clear()
        assert await ada.ack(ada.chat(room, "hello", key="c")) == 5
        assert await world.store.heads([room]) == {room: 5}


@virtual
async def test_a_store_that_is_away_and_comes_back() -> None:
    """Every command gets store.retry while it is away; a moment after it is back the room has caught up by itself."""
    async with playing() as (world, _, room, ada, ben):
        world.store.down = True
        for number in range(20):
            assert await ada.refused(ada.chat(room, f"line {number}")) == Code.STORE_RETRY
        assert await ben.refused(ben.join(room)) == Code.STORE_RETRY
        await asyncio.sleep(30)
        world.store.down = False
        await asyncio.sleep(2)
        reads = world.store.calls["events"]
        await asyncio.sleep(20)
        assert world.store.calls["events"] == reads, "once it has looked, it does not go on looking"
        assert await ada.ack(ada.move(room, 0, "b2")) == 5


@virtual
async def test_a_room_that_cannot_be_read_is_told_and_tried_again() -> None:
    """A store that fails while a room is opened: store.retry to all who wait, and the next one opens it."""
    async with playing() as (world, _, room, ada, _):
        await ada.ack(ada.move(room, 0, "b2"))
        async with world.hub("n2") as other:
            cyd = Client(other, "cyd")
            world.store.fail("head")
            assert await cyd.refused(cyd.join(room)) == Code.STORE_RETRY
            world.store.fail("events")
            assert await cyd.refused(cyd.join(room)) == Code.STORE_RETRY
            await cyd.ack(cyd.join(room))


@virtual
async def test_a_defect_costs_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of ours: server.fault to whoever asked, a log line, and the room lives on."""
    async with playing() as (_, _, room, ada, ben):
        with monkeypatch.context() as patch:
            patch.setattr(runner_module, "projections", raises)
            assert await ada.refused(ada.move(room, 0, "b2", key="m")) == Code.SERVER_FAULT
        ada.messages.clear()
        assert await ada.ack(ada.move(room, 0, "b2", key="m")) == 5
        await ben.event("moved")


@virtual
async def test_a_log_that_cannot_be_read_costs_its_room_only() -> None:
    """An entry of a newer Plyroom, say: server.fault for that room, nothing worse for the others."""
    async with playing() as (world, hub, room, ada, _):
        broken = StoredEvent(5, 0, 0, b'{"kind":"from_the_future"}')
        await world.store.append(Append(room, 4, (broken,), "n9"))
        async with world.hub("n2") as other:
            cyd = Client(other, "cyd")
            for _ in range(3):
                assert await cyd.refused(cyd.join(room)) == Code.SERVER_FAULT
            fine = await cyd.create()
            await cyd.ack(cyd.join(fine))
        assert await ada.refused(ada.chat(room, "hello")) == Code.SERVER_FAULT
        assert hub.runner(room) is not None


@virtual
async def test_a_game_that_fails_ends_the_command_only() -> None:
    """R14: game.fault, and nothing changed; other commands of that room work."""
    broken = False

    def find(game_id: str) -> Any:
        return altered(game_id, {"play": lambda s, m: raises() if broken else load_game(game_id).rules.play(s, m)})

    async with playing(world=World(find_game=find)) as (_world, _, room, ada, _):
        broken = True
        assert await ada.refused(ada.move(room, 0, "b2")) == Code.GAME_FAULT
        assert await ada.ack(ada.chat(room, "what a pity")) == 5
        broken = False
        assert await ada.ack(ada.move(room, 0, "b2")) == 6


@virtual
async def test_a_game_that_cannot_be_drawn_can_be_played() -> None:
    """A fault in the picture costs the picture: the move is acknowledged and told."""

    def find(game_id: str) -> Any:
        return altered(game_id, {"view": raises, "move_view": raises, "board": raises})

    async with playing(world=World(find_game=find)) as (_, _, room, ada, ben):
        assert await ada.ack(ada.move(room, 0, "b2")) == 5
        await ben.event("moved")
        assert ben.of("view") == ben.of("turn") == []
        assert ben.of("joined")[0]["description"]["view"] is None


# --- joining ----------------------------------------------------------------------------------------------------------


async def rich_room(world: World, hub: Hub) -> tuple[str, int]:
    """A room with a longer history of every kind, whispers of spectators among it; its head."""
    ada, ben, cyd = (Client(hub, name) for name in ("ada", "ben", "cyd"))
    room = await ada.create("sticks", options={"rows": "1-3-5-7"}, seats=(OPEN, OPEN))
    await ada.ack(ada.sit(room, 1))
    await ada.ack(ada.plain(wire.Stand, room))
    await ada.ack(ada.sit(room, 0))
    await ben.ack(ben.sit(room, 1))
    for round_ in range(2):
        await cyd.ack(cyd.chat(room, f"psst {round_}", "spectators"))
        first, second = (ada, ben) if round_ == 0 else (ben, ada)
        await first.ack(first.move(room, 0, "4x7"))
        await cyd.ack(cyd.chat(room, f"aloud {round_}"))
        await second.ack(second.move(room, 1, "3x5"))
        await first.ack(first.plain(wire.Resign, room))
        await ada.ack(ada.plain(wire.Rematch, room))
        await ben.ack(ben.plain(wire.Rematch, room))
    return room, (await world.store.heads([room]))[room]


@pytest.mark.parametrize("identity", ["ada", "cyd"])
@virtual
async def test_resuming_from_any_v_gives_what_was_missed(identity: str) -> None:
    """From each v: the events after it, in order, hidden ones for players, and then the same as everybody; memory and
    store give the same.
    """
    world = World()
    async with world.hub() as hub, world.hub("n2") as fresh:
        room, head = await rich_room(world, hub)
        log = await world.store.events(room, 0)
        for one in (hub, fresh):
            for since in range(1, head + 1):
                client = Client(one, identity)
                await client.ack(client.join(room, since))
                joined = client.of("joined")[0]
                assert (joined["v"], joined["epoch"]) == (head, world.store.epoch)
                assert client.of("snapshot") == []
                assert [m["v"] for m in client.events()] == list(range(since + 1, head + 1))
                for message, entry in zip(client.events(), log[since:], strict=True):
                    hidden = identity == "ada" and entry.audience == 1
                    assert message["kind"] == ("hidden" if hidden else json.loads(entry.body)["kind"])
                client.close()


@virtual
async def test_no_event_is_told_of_that_may_not_be_seen() -> None:
    """I14: what spectators say among themselves reaches no player, live, on resuming, in a snapshot; v counts on."""
    async with playing() as (_, hub, room, ada, ben):
        cyd, dan = Client(hub, "cyd"), Client(hub, "dan")
        for one in (cyd, dan):
            await one.ack(one.join(room))
        await cyd.ack(cyd.chat(room, "SECRET", "spectators"))
        assert (await dan.event("said"))["text"] == "SECRET"
        for player in (ada, ben):
            assert await player.event("hidden") == {**player.events()[-1], "kind": "hidden", "v": 5}
        late = [Client(hub, "ada"), Client(hub, "ada")]
        await late[0].ack(late[0].join(room, since=1))
        await late[1].ack(late[1].join(room))
        for player in (ada, ben, *late):
            assert "SECRET" not in json.dumps(player.messages)


@virtual
async def test_standing_up_opens_the_ears() -> None:
    """Whoever leaves the seat hears spectators from then on; whoever takes one does not any more."""
    async with playing() as (_, hub, room, ada, ben):
        cyd = Client(hub, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.ack(ada.plain(wire.Resign, room))
        await ada.ack(ada.plain(wire.Stand, room))
        await cyd.ack(cyd.chat(room, "SECRET", "spectators"))
        assert (await ada.event("said"))["text"] == "SECRET"
        assert "SECRET" not in json.dumps(ben.messages)
        await ada.ack(ada.sit(room, 0))
        await cyd.ack(cyd.chat(room, "SECOND", "spectators"))
        await ben.until(lambda m: m["t"] == "event" and m["v"] == 10)
        assert "SECOND" not in json.dumps(ada.messages)


@virtual
async def test_far_behind_is_a_snapshot() -> None:
    """Beyond 500 events, at since 0, and above the head (a restored backup), a snapshot comes instead of events."""
    async with playing() as (_, hub, room, ada, _):
        for number in range(RESUME):
            await ada.ack(ada.chat(room, f"line {number}"))
        head = 4 + RESUME
        for since, expected in (
            (0, "snapshot"),
            (3, "snapshot"),
            (4, "events"),
            (head + 1, "snapshot"),
            (2**53 - 1, "snapshot"),
        ):
            client = Client(hub, "cyd")
            await client.ack(client.join(room, since))
            if expected == "snapshot":
                assert [m["v"] for m in client.of("snapshot")] == [head], since
                assert client.events() == []
            else:
                assert client.of("snapshot") == []
                assert [m["v"] for m in client.events()] == list(range(since + 1, head + 1))
            client.close()


@virtual
async def test_behind_the_tail_is_read_from_the_store() -> None:
    """What memory does not have any more, the store has."""
    async with playing() as (world, hub, room, ada, _):
        for number in range(3 * TAIL):
            await ada.ack(ada.chat(room, f"line {number}"))
        client = Client(hub, "cyd")
        await client.ack(client.join(room, since=2))
        assert [m["v"] for m in client.events()] == list(range(3, 5 + 3 * TAIL))
        reads = world.store.calls["events"]
        client = Client(hub, "cyd")
        await client.ack(client.join(room, since=3 * TAIL))
        assert world.store.calls["events"] == reads, "memory had them"


@virtual
async def test_another_epoch_is_a_snapshot() -> None:
    """After a restore v may mean something else: a client of another epoch starts anew; one of ours resumes."""
    async with playing() as (world, hub, room, _, _):
        for epoch, snapshots in (("another", 1), (world.store.epoch, 0), (None, 0)):
            client = Client(hub, "cyd")
            await client.ack(client.join(room, 2, epoch))
            assert len(client.of("snapshot")) == snapshots


@virtual
async def test_a_join_above_what_a_node_knows_reads_the_store() -> None:
    """I6: whoever has seen v on one node and joins a lagging one sees no less there."""
    async with playing() as (world, _, room, ada, _), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        world.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        moved = Client(other, "ada")
        await moved.ack(moved.join(room, since=5))
        assert moved.of("joined")[0]["v"] == 5
        assert moved.of("snapshot") == []
        await cyd.at_v(5)


@virtual
async def test_a_joiner_sees_what_there_is_to_see() -> None:
    """The description, whose seat one has, the picture, the legal moves if one is to move, and who is here."""
    async with playing() as (_, hub, room, ada, ben):
        joined = ada.of("joined")[0]
        assert joined["seat"] == 0
        assert joined["description"]["game"] == "tic-tac-toe"
        for identity, turns in (("ada", 1), ("ben", 0), ("cyd", 0)):
            client = Client(hub, identity)
            await client.ack(client.join(room))
            assert [m["t"] for m in client.messages[:3]] == ["ack", "joined", "snapshot"]
            assert len(client.of("view")) == 1
            assert len(client.of("turn")) == turns
            assert len(client.of("presence")) == 1
        assert ben.of("joined")[0].get("seat") is None, "he sat down later"


@virtual
async def test_joining_twice_is_joining_once() -> None:
    """Events come once each, and the second join resumes like the first."""
    async with playing() as (_, _, room, ada, ben):
        await ada.ack(ada.join(room, since=4))
        start = len(ada.messages)
        await ben.ack(ben.chat(room, "hello"))
        await ada.event("said")
        assert [m["v"] for m in ada.messages[start:] if m["t"] == "event"] == [5]


@virtual
async def test_leaving() -> None:
    """After the ack nothing of the room comes any more, and the seat stays taken."""
    async with playing() as (_world, _hub, room, ada, ben):
        await ada.ack(ada.plain(wire.Leave, room))
        heard = len(ada.messages)
        await ben.ack(ben.chat(room, "where are you?"))
        await asyncio.sleep(1)
        assert len(ada.messages) == heard
        assert await ada.ack(ada.move(room, 0, "b2")) == 6


@virtual
async def test_an_unknown_room() -> None:
    """room.unknown for every command; a room that was never made and one that nobody tells of look the same (I15)."""
    world = World()
    async with world.hub() as hub:
        ada = Client(hub, "ada")
        for command in (
            ada.join("nowhere"),
            ada.sit("nowhere", 0),
            ada.chat("nowhere", "x"),
            ada.plain(wire.Leave, "nowhere"),
        ):
            assert await ada.refused(command) == Code.ROOM_UNKNOWN
        await settle()
        assert hub.runner("nowhere") is None


@virtual
async def test_a_connection_that_closes_while_it_joins_is_forgotten() -> None:
    """I20: it follows nothing, so that the room can leave memory."""
    async with playing() as (world, hub, room, ada, ben):
        for _ in range(2 * TAIL + 5):
            await ada.ack(ada.chat(room, "x"))
        cyd = Client(hub, "cyd")
        gate = world.store.hold("events")
        cyd.say(cyd.join(room, since=1))
        await world.store.waiting["events"].wait()
        cyd.close()
        gate.set()
        await ada.ack(ada.chat(room, "y"))
        for one in (ada, ben):
            one.close()
        await asyncio.sleep(1)
        runner = hub.runner(room)
        assert runner is not None
        assert runner.watching == 0
        assert runner.idle


# --- limits -----------------------------------------------------------------------------------------------------------


@virtual
async def test_a_mailbox_has_a_bound() -> None:
    """I20: beyond it a command is refused at once as room.busy; those in it are answered."""
    async with playing() as (world, _, room, ada, _):
        gate = world.store.hold("append")
        ada.say(ada.chat(room, "slow"))
        await world.store.waiting["append"].wait()
        commands = [ada.chat(room, f"line {number}") for number in range(MAILBOX + 20)]
        for command in commands:
            ada.say(command)
        busy = [m for m in ada.messages if m["t"] == "error"]
        assert [m["code"] for m in busy] == [Code.ROOM_BUSY] * 20
        assert {m["id"] for m in busy} == {command.id for command in commands[MAILBOX:]}
        gate.set()
        for command in commands:
            await ada.answer(command.id)
            assert len(ada.answers(command.id)) == 1


@virtual
async def test_memory_of_a_room_is_bounded() -> None:
    """I20: keys, tail and chat stay within their limits however long a room lives."""
    async with playing() as (_, hub, room, ada, _):
        for number in range(3 * KEYS):
            await ada.ack(ada.chat(room, f"line {number}"))
        runner = hub.runner(room)
        assert runner is not None
        assert len(runner._keys) <= KEYS
        assert len(runner._tail) <= 2 * TAIL


# --- presence ---------------------------------------------------------------------------------------------------------


@virtual
async def test_presence() -> None:
    """Which seats have somebody connected, AI seats always, and how many others watch."""
    world = World()
    async with world.hub() as hub:
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await cyd.ack(cyd.join(room))
        await ada.until(lambda m: m["t"] == "presence" and m["seats"] == [True, False] and m["watching"] == 1)
        cyd.close()
        await ada.until(lambda m: m["t"] == "presence" and m["watching"] == 0, len(ada.messages) - 1)
        await ada.ack(ada.plain(wire.Stand, room))
        await ada.until(lambda m: m["t"] == "presence" and m["seats"] == [False, False] and m["watching"] == 1)
        await ada.ack(wire.AddAi(id="ai", room=room, seat=1, level=1))
        await ada.until(lambda m: m["t"] == "presence" and m["seats"] == [False, True])


@virtual
async def test_presence_across_nodes() -> None:
    """Those on other nodes count, whichever node opened the room first."""
    async with playing() as (world, _, room, ada, ben), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.until(lambda m: m["t"] == "presence" and m["watching"] == 1)
        await cyd.until(lambda m: m["t"] == "presence" and m["seats"] == [True, True] and m["watching"] == 1)
        heard = len(cyd.messages)
        ben.close()
        await cyd.until(lambda m: m["t"] == "presence" and m["seats"] == [True, False], heard)


@virtual
async def test_presence_before_the_room_is_read() -> None:
    """A message of another node about a room that is being opened disturbs nothing."""
    async with playing() as (world, _, room, _, _), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        gate = world.store.hold("events")
        cyd.say(cyd.join(room))
        await world.store.waiting["events"].wait()
        runner = other.runner(room)
        assert runner is not None
        runner.receive(Here(room, "n9", frozenset({"ada"}), 3))
        runner.receive(Whisper(room, "n1", b""))
        await asyncio.sleep(1)
        gate.set()
        await cyd.until(lambda m: m["t"] == "presence" and m["watching"] == 4)


# --- the AI's seat ----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def against_ai(world: World, seats: Any = (ME, AI1)) -> AsyncIterator[tuple[Hub, str, Client]]:
    """Ada, who follows, against the AI."""
    async with world.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=seats)
        await ada.ack(ada.join(room))
        yield hub, room, ada


@virtual
async def test_the_ai_moves() -> None:
    """After a person's move, with the job of that position; its thoughts are stored with the move."""
    world = World()
    async with against_ai(world) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        (job,) = world.engines.jobs
        assert (job.moves, job.level, job.affinity, job.rules) == (("b2",), 1, room, load_game("tic-tac-toe").digest)
        match = ada.of("view")[-1]["match"]
        (thought,) = await world.store.thoughts(match)
        assert (thought.v, thought.ply, json.loads(thought.body)["move"]) == (6, 1, "a1")
        assert [m["state"] for m in ada.of("thinking")] == ["queued", "searching", "done"]


@pytest.mark.parametrize(("score", "plies", "kind"), [(0, 2, "finished"), (5, 2, "declined"), (0, 4, "declined")])
def test_the_ai_answers_an_offered_draw(score: int, plies: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with what it saw at its last move: yes where that is no advantage and the match is not young."""
    monkeypatch.setattr(ai, "DRAW_PLIES", plies)

    @virtual
    async def answered() -> None:
        world = World()
        world.engines.score = score
        async with against_ai(world) as (_, room, ada):
            await ada.ack(ada.move(room, 0, "b2"))
            await ada.until(lambda m: m["t"] == "turn" and m["ply"] == 2)
            await ada.ack(ada.plain(wire.OfferDraw, room))
            event = await ada.event(kind)
            assert (event.get("how"), event.get("what")) in (("agreement", None), (None, "draw"))
            assert [m["seat"] for m in ada.events() if m["kind"] == "offered"] == [0]

    answered()


@virtual
async def test_an_ai_answers_an_offer_though_the_store_failed() -> None:
    """The offer is acknowledged once; the answer comes when the store is back, or from whoever takes the room over."""
    for restart in (False, True):
        world = World()
        world.store.fail("thoughts")
        async with world.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create(seats=(ME, AI1))
            await ada.ack(ada.join(room))
            offer = ada.plain(wire.OfferDraw, room)
            v = await ada.ack(offer)
            if not restart:
                await ada.event("declined")
            assert len(ada.answers(offer.id)) == 1
        if restart:
            async with world.hub("n2") as hub:
                await hub.take_due_rooms(all_nodes=True)
                ben = Client(hub, "ben")
                await ben.ack(ben.join(room))
                assert v is not None
                await ben.at_v(v + 1)
                await ben.until(lambda m: m.get("kind") == "declined" or (m["t"] == "snapshot" and "offers" not in m))


@virtual
async def test_two_ais_play_to_the_end() -> None:
    """By themselves, each turn asked once."""
    world = World()
    async with against_ai(world, (AI1, AI1)) as (_, _room, ada):
        over = await ada.event("finished")
        moves = [m for m in ada.events() if m["kind"] == "moved"]
        assert over["how"] == "board"
        assert len(world.engines.jobs) == len({job.moves for job in world.engines.jobs})
        assert len(moves) <= len(world.engines.jobs)


@virtual
async def test_an_ai_that_fails_ends_the_match() -> None:
    """After a second try, with the reason; a rules mismatch is not tried again."""
    for error, tries in (
        (SearchFailed("the worker died"), 2),
        (RulesChanged("other rules"), 1),
        (RuntimeError("a defect"), 1),
    ):
        world = World()

        async def fail(job: Job, error: Exception = error) -> str:
            raise error

        world.engines.answer = fail
        async with against_ai(world, (AI1, ME)) as (_, _, ada):
            over = await ada.until(
                lambda m: (m["t"] == "snapshot" and m["match"].get("over")) or m.get("kind") == "finished"
            )
            over = over["match"]["over"] if over["t"] == "snapshot" else over
            assert (over["how"], over["winner"]) == ("failure", None)
            assert len(world.engines.jobs) == tries


@pytest.mark.parametrize("move", ["z9", "b2", "", "\u202e"])
@virtual
async def test_an_ai_that_answers_nonsense_ends_the_match(move: str) -> None:
    """A move that cannot be played, though it is the AI's turn, must not leave people waiting."""
    world = World()

    async def nonsense(job: Job) -> str:
        return move

    world.engines.answer = nonsense
    async with against_ai(world) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        assert (await ada.event("finished"))["how"] == "failure"


@virtual
async def test_an_answer_to_an_old_position_is_refused() -> None:
    """I16: the match ends while the AI thinks: the search is stopped, and an answer that comes all the same changes
    nothing.
    """
    world = World()
    answer = asyncio.Event()

    async def stubborn(job: Job) -> str:
        while not answer.is_set():
            try:
                await answer.wait()
            except asyncio.CancelledError:
                continue
        return "a1"

    world.engines.answer = stubborn
    async with against_ai(world) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await world.engines.asked.wait()
        await ada.ack(ada.plain(wire.Resign, room))
        await ada.ack(ada.plain(wire.Rematch, room))
        head = (await world.store.heads([room]))[room]
        answer.set()
        await asyncio.sleep(5)
        log = await world.store.events(room, head)
        moved = [json.loads(event.body) for event in log]
        assert [(one["kind"], one.get("ply")) for one in moved] == [("moved", 0)], (
            "the AI begins the new match; that is all"
        )
        assert len({job.start for job in world.engines.jobs}) == 1


@virtual
async def test_a_search_that_is_not_wanted_is_stopped() -> None:
    """Resigning cancels it."""
    world = World()
    never = asyncio.Event()

    async def slow(job: Job) -> str:
        await never.wait()
        return ""

    world.engines.answer = slow
    async with against_ai(world) as (hub, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await world.engines.asked.wait()
        runner = hub.runner(room)
        assert runner is not None
        assert not runner.idle
        await ada.ack(ada.chat(room, "hm"))
        assert world.engines.cancelled == []
        await ada.ack(ada.plain(wire.Resign, room))
        await settle()
        assert len(world.engines.cancelled) == 1
        ada.close()
        assert runner.idle


@virtual
async def test_an_ai_is_asked_again_after_a_store_failure() -> None:
    """Its move that could not be written is asked for again, by itself; one that was written all the same is found."""
    for fault in (Fault(), Fault(after=True)):
        world = World()
        async with against_ai(world) as (_, room, ada):
            await ada.ack(ada.move(room, 0, "b2"))
            world.store.fail("append", fault)
            await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
            await asyncio.sleep(10)
            assert [m["ply"] for m in ada.events() if m["kind"] == "moved"] == [0, 1]


@virtual
async def test_an_ai_moves_though_the_move_before_it_was_in_doubt() -> None:
    """R6: a person's move whose write seemed to fail but did not: the AI answers it, by itself."""
    world = World()
    async with against_ai(world) as (_, room, ada):
        world.store.fail("append", Fault(after=True))
        assert await ada.refused(ada.move(room, 0, "b2")) == Code.STORE_RETRY
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)


@virtual
async def test_only_the_node_that_is_responsible_asks() -> None:
    """Of two nodes with the room open, the one that wrote last asks for the AI's move."""
    world = World()
    async with against_ai(world) as (_, room, ada), world.hub("n2") as other:
        again = Client(other, "ada")
        await again.ack(again.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await again.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        await asyncio.sleep(5)
        assert len(world.engines.jobs) == 1
        await again.ack(again.move(room, 2, "c3"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == 3)
        await asyncio.sleep(5)
        assert len(world.engines.jobs) == 2


@virtual
async def test_two_nodes_that_both_ask_make_one_move() -> None:
    """I16: their answers have one id; the second one finds it used."""
    world = World()
    world.bus.cut = True  # type: ignore[attr-defined]
    answers = asyncio.Event()

    async def later(job: Job) -> str:
        await answers.wait()
        return await first_legal(job)

    world.engines.answer = later
    async with against_ai(world) as (_, room, ada), world.hub("n2") as other:
        await ada.ack(ada.move(room, 0, "b2"))
        await world.engines.asked.wait()
        await world.store.heartbeat("n1", -1)  # as if the first node had been silent
        while await other.take_due_rooms(all_nodes=False) == 0:
            await world.store.heartbeat("n1", -1)
        await asyncio.sleep(0.5)
        assert len(world.engines.jobs) == 2
        answers.set()
        await asyncio.sleep(40)
        kinds = [json.loads(event.body)["kind"] for event in await world.store.events(room, 0)]
        assert kinds.count("moved") == 2
        assert (await world.store.find_command(room, CommandKey(AI_IDENTITY, "x"))) is None


@virtual
async def test_the_ai_does_not_answer_at_once() -> None:
    """A person has time to see the move before: 350 ms, between AIs 700 ms."""
    world = World()
    world.settings = type(world.settings)(sole_node=False)
    async with against_ai(world) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        reply = await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        mine = next(m for m in ada.events() if m["kind"] == "moved")
        assert 350 <= reply["at"] - mine["at"] < 500


@virtual
async def test_thinking_goes_to_all_and_to_late_comers() -> None:
    """On every node; not to those who come after the move."""
    world = World()
    answers = asyncio.Event()

    async def later(job: Job) -> str:
        await answers.wait()
        return await first_legal(job)

    world.engines.answer = later
    world.engines.warm = False
    async with against_ai(world) as (_, room, ada), world.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        for one in (ada, cyd):
            assert (await one.until(lambda m: m["t"] == "thinking"))["state"] == "warming"
        late = Client(other, "dan")
        await late.ack(late.join(room))
        assert [m["state"] for m in late.of("thinking")] == ["warming"]
        answers.set()
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        after = Client(ada.hub, "eve")
        await after.ack(after.join(room))
        assert after.of("thinking") == []
