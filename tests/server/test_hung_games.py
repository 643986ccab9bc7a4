"""A game of which a rule does not return is refused until the restart; all else goes on.

The rules here are interrupted as the watchdog does it, at once instead of after five seconds.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from engine.game import Game
from engine.rules.call import refused_games
from engine.rules.registry import load_game
from engine.search.job import Job
from server.codes import Code
from server.commands import AiSeat
from server.process.watchdog import RuleInterrupter
from server.rooms.model import CommandRejected
from tests.server.test_api import matches, refusal
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.node import Node
from tests.support.room_log import altered_game
from tests.support.two_players import AI1, ME, playing


def hang() -> None:
    """Ends as a rule that the watchdog has found."""
    RuleInterrupter(hung_pokes=1).poke(0, sys._getframe())
    raise AssertionError("a rule is interrupted")


def hanging(hook: str, from_ply: int = 0) -> Callable[[str], Game]:
    """Finds games; a hook of tic-tac-toe's state hangs after `from_ply` plies."""
    original = getattr(load_game("tic-tac-toe").rules, hook)

    def hanging_hook(state: Any, *arguments: object) -> object:
        if int(state[0] | state[1]).bit_count() >= from_ply:
            hang()
        return original(state, *arguments)

    changed = altered_game("tic-tac-toe", {hook: hanging_hook})
    return lambda game_id: changed if game_id == "tic-tac-toe" else load_game(game_id)


async def never(_job: Job) -> str:
    """The engine is still searching."""
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")


def frozen_codes(client: Client) -> list[str | None]:
    """The reason in each `joined` message: why the room cannot be played."""
    return [message.get("frozen") for message in client.of("joined")]


async def listed_games(node: Node) -> list[str]:
    """The ids in the list of games."""
    return [game["id"] for game in (await node.get("/api/games")).json["games"]]


async def kinds_of(fake: FakeServer, room: str) -> list[str]:
    """The kinds of the events in a room's log."""
    return [json.loads(event.body)["kind"] for event in await fake.store.logs.events(room, 0)]


@pytest.mark.parametrize("hook", ["moves", "play", "status", "turn"])
@virtual
async def test_a_hung_rule_freezes_the_rooms_of_its_game(hook: str) -> None:
    """The command gets game.hung and the log stays; this room and the others of the game can be
    read, and say why they cannot be played. Other games are played on, and no room is made.
    """
    fake = FakeServer(find_game=hanging(hook, from_ply=2))
    async with playing(fake=fake) as (_, hub, room, ada, ben):
        other, sticks = await ada.create(), await ada.create("sticks")
        for each in (other, sticks):
            await ada.ack(ada.join(each))
            await ben.ack(ben.sit(each, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        log = await kinds_of(fake, room)
        refused = await ben.ask(ben.move(room, 1, "a1"))
        if refused["t"] == "ack":  # the rule is needed for the next move only
            assert hook == "play"
            log = await kinds_of(fake, room)
            refused = await ada.ask(ada.move(room, 2, "c3"))
        assert (refused["code"], "restart" in refused["message"]) == (Code.GAME_HUNG, True)
        assert f"did not return from {hook}" in refused_games["tic-tac-toe"]
        hub.on_game_refused("tic-tac-toe")
        await run_ready_tasks()
        assert [m.get("frozen") for m in ada.of("joined") if m["room"] == other] == [
            None,
            Code.GAME_HUNG,
        ]
        assert await kinds_of(fake, room) == log
        answer = await ada.ask(ada.move(other, 0, "b2"))
        assert (answer["code"], "restart" in answer["message"]) == (Code.GAME_HUNG, True)
        assert frozen_codes(ben)[-1] == Code.GAME_HUNG
        await ben.ack(ben.chat(room, "what a pity"))
        await ada.ack(ada.move(sticks, 0, load_game("sticks").start().tokens()[0]))
        with pytest.raises(CommandRejected) as rejected:
            await ada.create()
        assert rejected.value.code is Code.GAME_HUNG


@virtual
async def test_a_room_that_loads_later_is_frozen() -> None:
    """A room of a refused game is frozen as it loads, with or without a match, and after the
    restart it is played on.
    """
    async with playing() as (fake, _, room, ada, _):
        empty = await ada.create()
        await ada.ack(ada.move(room, 0, "b2"))
        refused_games["tic-tac-toe"] = "tic-tac-toe is refused"
        async with fake.hub("n2") as hub:
            cyd = Client(hub, "cyd")
            for each in (room, empty):
                await cyd.ack(cyd.join(each))
            assert frozen_codes(cyd) == [Code.GAME_HUNG] * 2
        refused_games.clear()
        async with fake.hub("n3") as hub:
            ben = Client(hub, "ben")
            await ben.ack(ben.join(room))
            await ben.ack(ben.move(room, 1, "a1"))


@virtual
async def test_the_match_of_a_hung_ai_move_stays() -> None:
    """A move of the AI on which a rule hangs ends no match, is not searched again, and the room is
    not handed to the next node.
    """
    fake = FakeServer(find_game=hanging("play", from_ply=1))
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, AI1))
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "joined" and m.get("frozen") == Code.GAME_HUNG)
        await asyncio.sleep(60)
        assert (await kinds_of(fake, room))[-2:] == ["started", "moved"]
        assert len(fake.engines.jobs) == 1
        runner = hub.runner(room)
        assert runner is not None
        assert runner.wake() is None
        assert (await fake.store.logs.head(room)).node == "n1"  # type: ignore[union-attr]


@virtual
async def test_a_room_that_is_woken_before_it_is_frozen_stays_on_its_node() -> None:
    """A due room of a game that was refused a moment ago is not handed to the next node either."""
    fake = FakeServer()
    async with fake.hub() as hub:
        fake.engines.answer = never
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AI1, ME))
        await ada.ack(ada.join(room))
        await run_ready_tasks()
        refused_games["tic-tac-toe"] = "tic-tac-toe is refused"
        runner = hub.runner(room)
        assert runner is not None
        assert runner.wake() is None
        assert frozen_codes(ada)[-1] == Code.GAME_HUNG


@virtual
async def test_a_strategy_whose_evaluation_hangs_gets_no_seat() -> None:
    """The server evaluates one position for a seat with the game's own evaluation."""
    async with FakeServer(find_game=hanging("evaluate")).hub() as hub:
        ada = Client(hub, "ada")
        with pytest.raises(CommandRejected) as rejected:
            await ada.create(seats=(ME, AiSeat(strategy="minimax")))
        assert rejected.value.code is Code.GAME_HUNG


async def test_pages_of_a_refused_game_say_so() -> None:
    """They get 409 game.hung at once; the record of a match is read without its board, and the list
    of games is without the game.
    """
    async with matches() as (node, _, ids):
        assert "tic-tac-toe" in [
            game["id"] for game in (await node.get("/api/games")).json["games"]
        ]
        refused_games["tic-tac-toe"] = "tic-tac-toe is refused"
        match = f"/api/matches/{ids[0]}"
        for target in (
            "/api/position?game=tic-tac-toe",
            f"{match}/views",
            f"{match}/variation?ply=1&moves=a1",
        ):
            assert await refusal(node, target) == (409, Code.GAME_HUNG), target
            assert (await node.get(target)).json["message"] == "tic-tac-toe is refused"
        record = (await node.get(match)).json
        assert (len(record["moves"]), record["view"]) == (5, None)
        assert "tic-tac-toe" not in await listed_games(node)
        assert "sticks" in await listed_games(node)


@virtual
async def test_a_view_that_hangs_freezes_the_room_after_its_move() -> None:
    """The move is committed before anybody looks at it; then the room says why it stops."""
    faulty = FakeServer(find_game=hanging("view", from_ply=1))
    async with playing(fake=faulty) as (fake, _, room, ada, ben):
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.until(lambda m: m["t"] == "joined" and m.get("frozen") == Code.GAME_HUNG)
        assert (await kinds_of(fake, room))[-1] == "moved"
