"""The switches of the room's bot: the coach of a person."""

import asyncio
import gc
import weakref
from dataclasses import replace

from server.bot.bot import Bot
from server.ids import RoomId
from server.ports import Follower
from server.runtime.room.room_runner import RoomRunner
from tests.support.bots import AGAINST_AI, ask, bot_of, private_answer
from tests.support.fake_server import Client, FakeServer, virtual


def coached(bot: Bot, room: RoomId) -> list[Follower]:
    """The connections on a node of the people for whom the coach is on."""
    people = bot.switches.people(room, "coach")
    return [each for person in people for each in bot.followers_of(room, person)]


@virtual
async def test_the_coach_is_a_switch_of_the_asker() -> None:
    """`/coach on` holds for the asker's connections, also after a reconnect, until `/coach off`."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub) as bot:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, ben):
            await client.ack(client.join(room))
        await private_answer(ada, room, "/coach on")
        assert coached(bot, room) == [ada]
        ada.close()
        assert coached(bot, room) == []
        again = Client(hub, "ada")
        await again.ack(again.join(room))
        assert coached(bot, room) == [again]
        assert "on" in (await private_answer(again, room, "/coach"))["text"]
        await private_answer(again, room, "/coach off")
        assert coached(bot, room) == []


@virtual
async def test_the_coach_stays_on_over_a_restart_and_on_another_node() -> None:
    """A node finds the switch in the chat when it opens the room, and hears of it from others."""
    fake = FakeServer()
    async with fake.hub() as hub, bot_of(hub):
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, ben):
            await client.ack(client.join(room))
        await private_answer(ada, room, "/coach on")
        await private_answer(ben, room, "/coach on")
        await private_answer(ben, room, "/coach off")
        await ask(ben, room, "is the coach on?")
        await ask(ben, room, "/nonsense on")
    async with fake.hub() as hub, bot_of(hub) as bot, fake.hub("n2") as other, bot_of(other) as far:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        again = Client(other, "ada")
        for client in (ada, ben, again):
            await client.ack(client.join(room))
        assert coached(bot, room) == [ada]
        assert coached(far, room) == [again]
        v = (await private_answer(again, room, "/coach off"))["v"]
        await ada.wait_for_v(v)
        assert coached(bot, room) == []
        assert coached(far, room) == []
        assert bot.switches.names(RoomId(room), ben.identity) == frozenset()


@virtual
async def test_the_bot_keeps_no_room_in_memory() -> None:
    """The memory of a closed room is free again, whether a switch was on in it or not."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, room_idle_s=60.0)
    async with fake.hub() as hub, bot_of(hub) as bot:
        closed: list[weakref.ref[RoomRunner]] = []
        for name in ("ada", "ben"):
            client = Client(hub, name)
            room = await client.create(seats=AGAINST_AI)
            await client.ack(client.join(room))
            if name == "ada":
                await private_answer(client, room, "/coach on")
            assert len(coached(bot, room)) == (name == "ada")
            runner = hub.runner(RoomId(room))
            assert runner is not None
            closed.append(weakref.ref(runner))
            del runner
            client.close()
        await asyncio.sleep(300)
        gc.collect()
        assert [each() for each in closed] == [None, None]
