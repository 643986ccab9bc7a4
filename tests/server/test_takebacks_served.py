"""Takebacks and start positions on a running server: searches, replays, stored analyses."""

import asyncio
from typing import Any
from urllib.parse import urlencode

import pytest

from engine.search.job import Job
from server.commands import AiSeat, MySeat, OfferDraw, Resign, Takeback
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.seats import ai
from tests.support.fake_server import Client, FakeServer, first_legal, run_ready_tasks, virtual
from tests.support.node import Node, serve

AGAINST_AI = (MySeat(), AiSeat(1))


def takeback(client: Client, room: str, ply: int) -> wire.CommandFrame:
    return wire.CommandFrame(room, Takeback(id=client.new_id(), ply=ply))


async def next_turn(client: Client, since: int) -> dict[str, Any]:
    """Returns the next message with legal moves."""
    return await client.until(lambda m: m["t"] == "turn", since)


async def view_at(client: Client, v: int) -> dict[str, Any]:
    """Returns the view of version `v`."""
    return await client.until(lambda m: m["t"] == "view" and m["v"] == v)


async def turn_at(client: Client, ply: int) -> dict[str, Any]:
    """Returns the legal moves at a ply."""
    return await client.until(lambda m: m["t"] == "turn" and m["ply"] == ply)


@virtual
async def test_a_takeback_stops_the_search() -> None:
    """The search of the position that was taken back is cancelled, and its answer never arrives.

    The AI searches the next position, even if the same move leads to it.
    """
    fake = FakeServer()
    release = asyncio.Event()

    async def answer(job: Job) -> str:
        await release.wait()
        return await first_legal(job)

    fake.engines.answer = answer
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=AGAINST_AI)
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await fake.engines.requested.wait()
        since = len(ada.messages)
        await ada.ack(takeback(ada, room, 1))
        await next_turn(ada, since)
        await run_ready_tasks()
        assert fake.engines.cancelled == fake.engines.jobs[:1]
        fake.engines.requested.clear()
        await ada.ack(ada.move(room, 0, "b2"))
        await fake.engines.requested.wait()
        release.set()
        await ada.until(lambda m: m.get("kind") == "moved" and m["seat"] == 1)
        kinds = [m["kind"] for m in ada.events()]
        assert kinds == ["moved", "took_back", "moved", "moved"]
        assert [job.moves for job in fake.engines.jobs] == [("b2",), ("b2",)]


@virtual
async def test_everybody_sees_the_board_after_a_takeback() -> None:
    """Followers receive the event and the view; the player also receives the legal moves."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create(seats=AGAINST_AI)
        for client in (ada, cyd):
            await client.ack(client.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await turn_at(ada, 2)
        await ada.ack(takeback(ada, room, 2))
        for client in (ada, cyd):
            event = await client.event("took_back")
            view = await view_at(client, event["v"])
            assert (event["to_ply"], view["ply"], view["view"]["pieces"]) == (0, 0, {})
        turn = ada.of("turn")[-1]
        assert (turn["ply"], len(turn["moves"])) == (0, 9)
        assert [m["ply"] for m in cyd.of("turn")] == []


@pytest.mark.parametrize(("score", "kind"), [(0, "finished"), (5, "declined")])
def test_the_answer_to_an_offer_is_that_of_the_moves_that_count(
    score: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The AI judges a draw by its last move in the match, not by one that was taken back."""
    monkeypatch.setattr(ai, "DRAW_TURNS", 2)

    @virtual
    async def answered() -> None:
        fake = FakeServer()
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create(seats=AGAINST_AI)
            await ada.ack(ada.join(room))
            for ply, move, at_move in ((0, "b2", score), (2, "c2", 5 - score)):
                fake.engines.score = at_move
                await ada.ack(ada.move(room, ply, move))
                await turn_at(ada, ply + 2)
            await ada.ack(takeback(ada, room, 4))
            await ada.ack(ada.plain(OfferDraw, room))
            await ada.event(kind)

    answered()


async def play(node: Node) -> tuple[Client, str, str]:
    """Plays a match with a takeback against the AI; returns the player, the room and the match."""
    ada = Client(node.hub, "ada")
    room = await ada.create(seats=AGAINST_AI)
    await ada.ack(ada.join(room))
    for move in ("a1", "b2"):
        since = len(ada.messages)
        await ada.ack(ada.move(room, 0, move))
        await next_turn(ada, since)
        if move == "a1":
            await node.get(f"/api/matches/{(await ada.event('moved'))['match']}/views?from=0&to=2")
            await ada.ack(takeback(ada, room, 2))
            replay = (await node.get(f"/api/matches/{(await ada.event('moved'))['match']}")).json
            assert (replay["moves"], replay["thoughts"], replay["plies"]) == ([], {}, 0)
    return ada, room, (await ada.event("moved"))["match"]


async def test_a_replay_has_the_moves_that_count() -> None:
    """A replay has no move, view or analysis of the moves that were taken back.

    The views of a running match may change, so they may be cached only when it is over.
    """
    async with serve() as node:
        ada, room, match = await play(node)
        target = f"/api/matches/{match}"
        replay = (await node.get(target)).json
        assert [move["move"] for move in replay["moves"]] == ["b2", "a1"]
        assert {ply: thought["move"] for ply, thought in replay["thoughts"].items()} == {"1": "a1"}
        answer = await node.get(f"{target}/views?from=0&to=2")
        assert answer.json["views"][2]["view"]["pieces"] == {"b2": "X", "a1": "O"}
        assert answer.headers["cache-control"] == "no-cache"
        await ada.ack(ada.plain(Resign, room))
        answer = await node.get(f"{target}/views?from=0&to=2")
        assert "immutable" in answer.headers["cache-control"]
        assert (await node.get(target)).json["moves"] == replay["moves"]


async def test_the_api_shows_a_start_position() -> None:
    """`/api/position` answers with the stored text, the board and the view, or with the reason."""
    text = "8/8/8/4k3/8/3r4/4P3/4K3 b - - 0 40"
    async with serve() as node:

        def target(**query: str) -> str:
            return f"/api/position?{urlencode(query)}"

        shown = (await node.get(target(game="chess", start=f" {text} "))).json
        assert (shown["start"], shown["view"]["turn"]) == (text, 1)
        assert shown["view"]["pieces"]["e5"] == "k"
        assert shown["board"]["board"]["kind"] == "grid"
        pasted = (await node.get(target(game="chess", start=text.rpartition(" - ")[0]))).json
        assert pasted["start"] == text.replace("0 40", "0 1"), "a FEN with fields left out"
        assert "mended" not in pasted
        mended = (await node.get(target(game="chess", start=f"{text[:-8]} - - 0 0"))).json["mended"]
        assert mended == ["move number 0 raised to 1"]
        own = (await node.get(target(game="sticks", rows="1-2"))).json
        assert own["start"] == "1-2 first"
        for query, code, words in (
            ({"game": "chess", "start": "x"}, Code.POSITION_REFUSED, "a FEN has six fields"),
            ({"game": "chess", "start": "x" * 1001}, Code.POSITION_REFUSED, "1000 characters"),
            ({"game": "nothing"}, Code.GAME_UNKNOWN, ""),
            ({"game": "sticks", "rows": "no"}, Code.OPTION_UNKNOWN, ""),
            ({}, Code.GAME_UNKNOWN, ""),
        ):
            answer = await node.get(target(**query))
            assert (answer.status, answer.json["code"]) == (400, code), query
            assert words in answer.json["message"]
