"""Private answers of the bot reach the asker's connections on all nodes, and nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from server.bot.api import command
from server.bot.bot import Bot
from server.bot.coach import open_coach
from server.bus.base import AnswerSent, NodeMessage
from server.bus.codec import Codec
from server.ids import RoomId
from server.protocol import messages as wire
from tests.server.test_position_commands import HelpEngines
from tests.server.test_position_help import HELPING, create_rated_room
from tests.support.bots import AGAINST_AI, ask, bot_of
from tests.support.fake_server import Client, FakeServer, Message, run_ready_tasks, virtual

#: A move that loses much.
BAD_MOVE = "f2f3"


class TwoNodes:
    """A room in which Ada has a tab on each of two nodes; Ben watches on the second one."""

    def __init__(self, room: RoomId, first: Bot, second: Bot, clients: list[Client]) -> None:
        self.room, self.first, self.second = room, first, second
        self.ada, self.tab, self.ben = clients


@asynccontextmanager
async def two_nodes(game: str = "tic-tac-toe", is_rated: bool = False) -> AsyncIterator[TwoNodes]:
    fake = FakeServer().unlimited()
    fake.engines = HelpEngines()
    async with (
        fake.hub() as one,
        fake.hub("n2") as two,
        bot_of(one) as first,
        bot_of(two) as second,
        open_coach(one, first),
        open_coach(two, second),
    ):
        clients = [Client(one, "ada"), Client(two, "ada"), Client(two, "ben")]
        if is_rated:
            room = await create_rated_room(fake)
        else:
            room = await clients[0].create(game, seats=AGAINST_AI)
        for client in clients:
            await client.ack(client.join(room))
        yield TwoNodes(room, first, second, clients)


async def answer_to(client: Client, v: int) -> Message:
    return await client.until(lambda m: m["t"] == "answer" and m["v"] == v)


@pytest.mark.parametrize("text", ["/clock", "/hint", "/coach on", "/takebak"])
@virtual
async def test_an_answer_reaches_a_tab_on_another_node(text: str) -> None:
    """Both tabs of the asker receive the same answer once; a spectator receives none."""
    async with two_nodes() as nodes:
        v = await ask(nodes.ada, nodes.room, text)
        assert await answer_to(nodes.tab, v) == await answer_to(nodes.ada, v)
        await run_ready_tasks()
        assert len(nodes.ada.of("answer")) == len(nodes.tab.of("answer")) == 1
        assert nodes.ben.of("answer") == []


@virtual
async def test_a_comment_of_the_coach_reaches_a_tab_on_another_node() -> None:
    """The coach speaks to the player's connections on all nodes, and to nobody else."""
    async with two_nodes("chess") as nodes:
        engines = nodes.first._hub.ports.engines
        assert isinstance(engines, HelpEngines)
        engines.score_after = lambda job: 300 if job.moves[-1:] == (BAD_MOVE,) else 10
        await answer_to(nodes.tab, await ask(nodes.ada, nodes.room, "/coach on"))
        await nodes.ada.ack(nodes.ada.move(nodes.room, 0, BAD_MOVE))
        for client in (nodes.ada, nodes.tab):
            comment = await client.until(lambda m: m["t"] == "answer" and m.get("about") == "coach")
            assert comment["text"].startswith("Coach: ")
        assert nodes.ben.of("answer") == []


async def check_receiver(name: str) -> None:
    """Another node's answer of a command that helps does not enter a rated match."""
    async with two_nodes(is_rated=True) as nodes:
        await nodes.ada.ack(nodes.ada.sit(nodes.room, 0))
        await nodes.ben.ack(nodes.ben.sit(nodes.room, 1))
        for command, v in ((name, 101), ("no-such-command", 102), ("help", 103), ("", 104)):
            answer = wire.Answer(room=nodes.room, v=v, text="e4")
            nodes.second.on_message(AnswerSent("n9", "ada", answer, command))
        await answer_to(nodes.tab, 104)
        assert [answer["v"] for answer in nodes.tab.of("answer")] == [103, 104]
        assert nodes.ben.of("answer") == []


@pytest.mark.parametrize("name", HELPING)
@virtual
async def test_the_receiver_checks_again_that_help_is_allowed(name: str) -> None:
    """A node drops another node's answer that the room, as it knows it, does not allow."""
    await check_receiver(name)


def test_a_receiver_that_checks_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, the test above fails: the planted fault is found."""
    monkeypatch.setattr(Bot, "_is_allowed", lambda bot, room, identity, name: True)

    @virtual
    async def run() -> None:
        with pytest.raises(AssertionError):
            await check_receiver("hint")

    run()


@virtual
async def test_arrows_of_a_past_position_are_not_sent() -> None:
    """If the board changes before the answer is ready, its words come without arrows."""
    async with two_nodes() as nodes:
        engines = nodes.first._hub.ports.engines
        assert isinstance(engines, HelpEngines)
        engines.may_answer.clear()
        v = await ask(nodes.ada, nodes.room, "/best")
        while not engines.asks:
            await asyncio.sleep(0.01)
        await nodes.ada.ack(nodes.ada.move(nodes.room, 0, "b2"))
        engines.may_answer.set()
        answer = await answer_to(nodes.ada, v)
        assert "best move" in answer["text"]
        assert "arrows" not in answer
        await nodes.ada.until(lambda m: m.get("kind") == "moved" and m["ply"] == 1)
        fresh = await answer_to(nodes.ada, await ask(nodes.ada, nodes.room, "/best"))
        assert fresh["arrows"]


@virtual
async def test_a_condition_that_raises_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The receiver drops the answer of a command whose condition fails, and goes on."""

    def fail(room: object, viewer: object) -> None:
        raise ZeroDivisionError("planted")

    async with two_nodes() as nodes:
        broken = command("broken", "fails", when=fail)(lambda ask: None)  # type: ignore[arg-type, return-value]
        monkeypatch.setattr("server.bot.bot.find_command", lambda name: broken)
        answer = wire.Answer(room=nodes.room, v=1, text="e4")
        nodes.second.on_message(AnswerSent("n9", "ada", answer, "broken"))
        await run_ready_tasks()
        assert nodes.tab.of("answer") == []


def test_the_topic_of_answers_is_apart_from_those_of_rooms() -> None:
    """An earlier version does not subscribe to the topic, so it neither reads nor refuses it."""
    message: NodeMessage = AnswerSent("n1", "ada", wire.Answer(room="r1", v=1, text="e4"), "hint")
    topic = Codec(b"k" * 32).encode(message).topic
    earlier = ("plyroom/1/rooms/", "plyroom/1/nodes/", "plyroom/1/lobby", "plyroom/1/missed")
    assert not topic.startswith((*earlier, "plyroom/1/analyses", "plyroom/1/answers/"))
