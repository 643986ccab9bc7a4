"""An AI seat in a room: the responsible node makes one move per turn, even after failures."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.dispatch.dispatcher import TRIES, QueueFull, WorkersLost
from engine.pool.quarantine import MAX_PAUSE_S
from engine.rules.registry import load_game
from engine.search.job import GameQuarantined, Job, RulesChanged, SearchFailed
from server.commands import AddAi, OfferDraw, OpenSeat, Rematch, Resign
from server.ids import RoomId
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.rooms.model import AI_IDENTITY
from server.runtime.node.hub import Hub
from server.seats import ai
from server.store.base import CommandKey
from tests.support.fake_server import (
    Client,
    FakeServer,
    Fault,
    first_legal,
    run_ready_tasks,
    virtual,
)
from tests.support.search_places import pool_places
from tests.support.two_players import AI1, ME

# --- the AI's seat --------------------------------------------------------------------------------


@asynccontextmanager
async def against_ai(
    fake: FakeServer, seats: Any = (ME, AI1)
) -> AsyncIterator[tuple[Hub, RoomId, Client]]:
    """Opens a hub with a match of Ada, who follows the room, against an AI."""
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=seats)
        await ada.ack(ada.join(room))
        yield hub, room, ada


@virtual
async def test_the_ai_moves() -> None:
    """The AI searches the position after a person's move; its analysis is stored with its move."""
    fake = FakeServer()
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        (job,) = fake.engines.jobs
        assert (job.moves, job.level, job.affinity, job.rules, job.priority) == (
            ("b2",),
            1,
            room,
            load_game("tic-tac-toe").digest,
            0,
        )
        match = ada.of("view")[-1]["match"]
        (thought,) = await fake.store.projections.thoughts(match)
        assert (thought.v, thought.ply, json.loads(thought.body)["move"]) == (6, 1, "a1")
        assert [m["state"] for m in ada.of("thinking")] == ["queued", "searching", "done"]


@virtual
async def test_a_move_that_is_being_stored_is_not_searched_again() -> None:
    """While the AI's move is committed the match is still due, and a wake-up changes nothing."""
    fake, may_answer = FakeServer(), asyncio.Event()

    async def answer(job: Job) -> str:
        await may_answer.wait()
        return await first_legal(job)

    fake.engines.answer = answer
    async with against_ai(fake) as (hub, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        gate = fake.store.hold("append")
        may_answer.set()
        await fake.store.waiting["append"].wait()
        await hub.wake_due_rooms()
        await run_ready_tasks()
        gate.set()
        await ada.until(lambda m: m["t"] == "turn" and m["ply"] == 2)
        assert len(fake.engines.jobs) == 1
        assert [m["state"] for m in ada.of("thinking")] == ["queued", "searching", "done"]


@pytest.mark.parametrize(
    ("score", "turns", "kind"), [(0, 2, "finished"), (5, 2, "declined"), (0, 4, "declined")]
)
def test_the_ai_answers_an_offered_draw(
    score: int, turns: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The AI accepts a draw if its last score was no advantage and enough turns were played."""
    monkeypatch.setattr(ai, "DRAW_TURNS", turns)

    @virtual
    async def answered() -> None:
        fake = FakeServer()
        fake.engines.score = score
        async with against_ai(fake) as (_, room, ada):
            await ada.ack(ada.move(room, 0, "b2"))
            await ada.until(lambda m: m["t"] == "turn" and m["ply"] == 2)
            await ada.ack(ada.plain(OfferDraw, room))
            event = await ada.event(kind)
            assert (event.get("how"), event.get("what")) in (("agreement", None), (None, "draw"))
            assert [m["seat"] for m in ada.events() if m["kind"] == "offered"] == [0]

    answered()


@virtual
async def test_an_ai_answers_an_offer_after_a_store_failure() -> None:
    """The AI answers an offer once the store works, or on the node that takes the room over.

    The offer is acknowledged once.
    """
    for restart in (False, True):
        fake = FakeServer()
        fake.store.fail("thoughts")
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create(seats=(ME, AI1))
            await ada.ack(ada.join(room))
            offer = ada.plain(OfferDraw, room)
            v = await ada.ack(offer)
            if not restart:
                await ada.event("declined")
            assert len(ada.answers(offer.id)) == 1
        if restart:
            async with fake.hub("n2") as hub:
                await hub.take_over_due_rooms(all_nodes=True)
                ben = Client(hub, "ben")
                await ben.ack(ben.join(room))
                assert v is not None
                await ben.wait_for_v(v + 1)
                await ben.until(
                    lambda m: (
                        m.get("kind") == "declined" or (m["t"] == "snapshot" and "offers" not in m)
                    )
                )


@virtual
async def test_two_ais_play_to_the_end() -> None:
    """Two AI seats play a match to its end, with one search a turn.

    Their searches come after those of people, and last if nobody follows the room.
    """
    fake = FakeServer()
    async with against_ai(fake, (AI1, AI1)) as (_, _room, ada):
        over = await ada.event("finished")
        moves = [m for m in ada.events() if m["kind"] == "moved"]
        assert over["how"] == "board"
        assert len(fake.engines.jobs) == len({job.moves for job in fake.engines.jobs})
        assert len(moves) <= len(fake.engines.jobs)
        assert {job.priority for job in fake.engines.jobs[1:]} == {1}
        unfollowed = await ada.create(seats=(AI1, AI1))
        await run_ready_tasks()
        assert fake.engines.jobs[-1].affinity == unfollowed
        assert fake.engines.jobs[-1].priority == 2


@virtual
async def test_an_ai_that_fails_ends_the_match() -> None:
    """A search that fails twice, or is lost for MAX_LOST_WAIT_S, ends the match as a failure.

    A mismatch of the rules and an unexpected exception are not retried.
    """
    for error, tries in (
        (SearchFailed("the rules raised"), 2),
        (WorkersLost("3 workers died"), 8),
        (QueueFull("256 searches are waiting already"), 8),
        (GameQuarantined("for a minute, again and again", 60.0), 6),
        (RulesChanged("other rules"), 1),
        (RuntimeError("a defect"), 1),
    ):
        fake = FakeServer()

        async def fail(job: Job, error: Exception = error) -> str:
            raise error

        fake.engines.answer = fail
        async with against_ai(fake, (AI1, ME)) as (_, _, ada):
            await asyncio.sleep(ai.MAX_LOST_WAIT_S)  # lost searches are tried again after pauses
            over = await ada.until(
                lambda m: (
                    (m["t"] == "snapshot" and m["match"].get("over")) or m.get("kind") == "finished"
                )
            )
            over = over["match"]["over"] if over["t"] == "snapshot" else over
            assert (over["how"], over["winner"]) == ("failure", None)
            assert len(fake.engines.jobs) == tries


@virtual
async def test_an_ai_waits_for_the_end_of_a_short_quarantine() -> None:
    """A busy machine's first quarantine is over in a minute: the match waits and says so.

    A quarantine without an end, and a long one, ends the match at once.
    """
    for left_s in (50.0, math.inf, MAX_PAUSE_S):
        fake, errors = FakeServer(), [GameQuarantined("3 failed in a row", left_s)]

        async def refuse(job: Job, errors: list[GameQuarantined] = errors) -> str:
            if errors:
                raise errors.pop()
            return await first_legal(job)

        fake.engines.answer = refuse
        async with against_ai(fake) as (_, room, ada):
            begun_s = asyncio.get_running_loop().time()
            await ada.ack(ada.move(room, 0, "b2"))
            event = await ada.until(
                lambda m: m.get("kind") == "finished" or (m.get("seat") == 1 and "move" in m)
            )
            waited_s = asyncio.get_running_loop().time() - begun_s
            waits = [m.get("wait", "") for m in ada.of("thinking")]
            if left_s == 50:
                assert event["kind"] == "moved"
                assert waited_s >= 50
                why = "waits: the last searches of this game were lost; next try in"
                counts = [wait for wait in waits if wait.startswith(why)]
                assert counts[:2] == [f"{why} 50 s", f"{why} 49 s"]
                assert counts[-1] == f"{why} 1 s"
            else:
                assert (event["kind"], event["how"]) == ("finished", "failure")
                assert waited_s < 50


@pytest.mark.parametrize(("lost", "quarantines"), [(2, 0), (3, 1), (4, 2), (5, 2)])
@virtual
async def test_a_match_outlives_lost_searches(
    lost: int, quarantines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searches whose workers die are tried again, through the pool's first two quarantines.

    The third one, which is long, ends the match.
    """
    async with pool_places(1, monkeypatch) as places:
        fake = FakeServer()
        fake.engines = places.engines
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create("connect-four", seats=(AI1, ME))
            await ada.ack(ada.join(room))
            begun_s = asyncio.get_running_loop().time()
            for _ in range(lost * TRIES):
                await (await places.next_attempt()).die()
            if lost == 5:
                over = await ada.event("finished")
                assert (over["how"], len(places.sent)) == ("failure", 5 * TRIES)
                assert over["reason"].endswith("too many searches of this game failed")
            else:
                await (await places.next_attempt()).answer(3)
                assert (await ada.event("moved"))["seat"] == 0
            waits = [m.get("wait", "") for m in ada.of("thinking")]
            assert "waits: the last search was lost; next try in 2 s" in waits
            gone = [
                wait for wait in waits if wait.startswith("waits: the last searches of this game")
            ]
            assert bool(gone) == (quarantines > 0)
            assert asyncio.get_running_loop().time() - begun_s >= (0, 60, 180)[quarantines]


@pytest.mark.parametrize("move", ["z9", "b2", "", "\u202e"])
@virtual
async def test_an_ai_move_that_cannot_be_played_ends_the_match(move: str) -> None:
    """An AI's move that cannot be played ends the match as a failure."""
    fake = FakeServer()

    async def answer_bad_move(job: Job) -> str:
        return move

    fake.engines.answer = answer_bad_move
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        assert (await ada.event("finished"))["how"] == "failure"


@virtual
async def test_an_answer_to_an_old_position_is_refused() -> None:
    """I16: when the match ends during a search, a late answer changes nothing."""
    fake = FakeServer()
    answer = asyncio.Event()

    async def ignore_cancellation(job: Job) -> str:
        while not answer.is_set():
            try:
                await answer.wait()
            except asyncio.CancelledError:
                continue
        return "a1"

    fake.engines.answer = ignore_cancellation
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await fake.engines.requested.wait()
        await ada.ack(ada.plain(Resign, room))
        await ada.ack(ada.plain(Rematch, room))
        head = (await fake.store.logs.heads([room]))[room]
        answer.set()
        await asyncio.sleep(5)
        log = await fake.store.logs.events(room, head)
        events = [json.loads(event.body) for event in log]
        assert [(event["kind"], event.get("ply")) for event in events] == [("moved", 0)], (
            "only the AI's first move of the new match"
        )
        assert len({job.start for job in fake.engines.jobs}) == 1


@virtual
async def test_a_resignation_cancels_the_search() -> None:
    """A resignation cancels the AI's search; a line of chat does not."""
    fake = FakeServer()
    never = asyncio.Event()

    async def slow(job: Job) -> str:
        await never.wait()
        return ""

    fake.engines.answer = slow
    async with against_ai(fake) as (hub, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await fake.engines.requested.wait()
        runner = hub.runner(room)
        assert runner is not None
        assert not runner.is_idle
        await ada.ack(ada.chat(room, "hm"))
        assert fake.engines.cancelled == []
        await ada.ack(ada.plain(Resign, room))
        await run_ready_tasks()
        assert len(fake.engines.cancelled) == 1
        ada.close()
        assert runner.is_idle


@virtual
async def test_a_search_is_repeated_after_a_store_failure() -> None:
    """If a write of the AI's move fails, the search is repeated unless the move is in the log."""
    for fault in (Fault(), Fault(after=True)):
        fake = FakeServer()
        async with against_ai(fake) as (_, room, ada):
            await ada.ack(ada.move(room, 0, "b2"))
            fake.store.fail("append", fault)
            await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
            await asyncio.sleep(10)
            assert [m["ply"] for m in ada.events() if m["kind"] == "moved"] == [0, 1]


@virtual
async def test_an_ai_moves_after_a_lost_answer_of_the_store() -> None:
    """The AI answers a person's move that was committed although the store reported a failure."""
    fake = FakeServer()
    async with against_ai(fake) as (_, room, ada):
        fake.store.fail("append", Fault(after=True))
        assert await ada.expect_refusal(ada.move(room, 0, "b2")) == Code.STORE_RETRY
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)


@virtual
async def test_only_the_responsible_node_searches() -> None:
    """Of two nodes with the room open, the one that wrote last runs the AI's search."""
    fake = FakeServer()
    async with against_ai(fake) as (_, room, ada), fake.hub("n2") as other:
        again = Client(other, "ada")
        await again.ack(again.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        await again.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        await asyncio.sleep(5)
        assert len(fake.engines.jobs) == 1
        await again.ack(again.move(room, 2, "c3"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == 3)
        await asyncio.sleep(5)
        assert len(fake.engines.jobs) == 2


@virtual
async def test_two_nodes_that_both_search_make_one_move() -> None:
    """I16: the answers of two nodes that search have the same id, so only one is logged."""
    fake = FakeServer()
    fake.bus.cut = True  # type: ignore[attr-defined]
    answers = asyncio.Event()

    async def later(job: Job) -> str:
        await answers.wait()
        return await first_legal(job)

    fake.engines.answer = later
    async with against_ai(fake) as (_, room, ada), fake.hub("n2") as other:
        await ada.ack(ada.move(room, 0, "b2"))
        await fake.engines.requested.wait()
        await fake.store.nodes.heartbeat("n1", -1)  # as if the first node had been silent
        while await other.take_over_due_rooms(all_nodes=False) == 0:
            await fake.store.nodes.heartbeat("n1", -1)
        await asyncio.sleep(0.5)
        assert len(fake.engines.jobs) == 2
        answers.set()
        await asyncio.sleep(40)
        kinds = [json.loads(event.body)["kind"] for event in await fake.store.logs.events(room, 0)]
        assert kinds.count("moved") == 2
        assert (await fake.store.logs.find_command(room, CommandKey(AI_IDENTITY, "x"))) is None


@virtual
async def test_the_ai_waits_before_it_moves() -> None:
    """The AI moves 350 ms after a person's move, so that people can see that move."""
    fake = FakeServer()
    fake.settings = type(fake.settings)(sole_node=False)
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        reply = await ada.until(
            lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1
        )
        first_move = next(m for m in ada.events() if m["kind"] == "moved")
        assert 350 <= reply["at"] - first_move["at"] < 500


@virtual
async def test_thinking_reaches_all_followers_and_late_joiners() -> None:
    """`thinking` reaches followers on all nodes and late joiners, but no joiner after the move."""
    fake = FakeServer()
    answers = asyncio.Event()

    async def later(job: Job) -> str:
        await answers.wait()
        return await first_legal(job)

    fake.engines.answer = later
    fake.engines.warm = False
    async with against_ai(fake) as (_, room, ada), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        for client in (ada, cyd):
            assert (await client.until(lambda m: m["t"] == "thinking"))["state"] == "warming"
        late = Client(other, "dan")
        await late.ack(late.join(room))
        assert [m["state"] for m in late.of("thinking")] == ["warming"]
        answers.set()
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        after = Client(ada.hub, "eve")
        await after.ack(after.join(room))
        assert after.of("thinking") == []


@virtual
async def test_a_room_receives_the_progress_of_the_compilation() -> None:
    """Followers receive the progress of the compilation, during the search and between moves.

    Searches of an uncompiled game are marked.
    """
    fake = FakeServer()
    fake.engines.warm, fake.engines.percent, fake.engines.warming = False, 40, True
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        thinking = ada.of("thinking")
        assert [m["ready"] for m in thinking] == [40] * len(thinking)
        assert [m.get("warming", False) for m in thinking] == [False, True, True]
        fake.engines.percent = 70
        message = await ada.until(lambda m: m["t"] == "thinking" and m.get("ready") == 70)
        assert (message["state"], message["ply"], message.get("depth", 0)) == ("done", 1, 0)
        fake.engines.warm = True
        await ada.until(lambda m: m["t"] == "thinking" and "ready" not in m)
        before = len(ada.of("thinking"))
        await asyncio.sleep(10)
        assert len(ada.of("thinking")) == before


@virtual
async def test_the_game_of_an_ai_is_announced_to_the_engines() -> None:
    """A room announces its game to the engines when it is created with an AI or gets one later."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        await ada.create(seats=(ME, AI1))
        assert fake.engines.expected[:1] == ["tic-tac-toe"]
        fake.engines.expected.clear()
        room = await ada.create(seats=(ME, OpenSeat()))
        await ada.ack(ada.join(room))
        assert fake.engines.expected == []
        await ada.ack(wire.CommandFrame(room, AddAi(id=ada.new_id(), seat=1, level=1)))
        assert fake.engines.expected[:1] == ["tic-tac-toe"]


@virtual
async def test_a_game_that_is_compiled_with_the_ais_move_is_reported() -> None:
    """Followers learn that a game is compiled even if that happens together with the AI's move."""
    fake = FakeServer()
    fake.engines.warm, fake.engines.percent, fake.engines.warming = False, 40, True
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "thinking" and m.get("ready") == 40)
        fake.engines.warm, fake.engines.percent = True, 100
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        await ada.until(lambda m: m["t"] == "thinking" and "ready" not in m)


@virtual
async def test_a_returning_player_learns_that_the_game_is_compiled() -> None:
    """A player who was away when the game was compiled learns it when joining again."""
    fake = FakeServer()
    fake.engines.warm, fake.engines.percent, fake.engines.warming = False, 40, True
    async with against_ai(fake) as (_, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        await ada.until(lambda m: m["t"] == "thinking" and m.get("ready") == 40 and m["ply"] == 1)
        ada.close()
        await asyncio.sleep(5)
        fake.engines.warm, fake.engines.percent = True, 100
        await asyncio.sleep(5)
        again = Client(ada.hub, "ada")
        await again.ack(again.join(room))
        assert ["ready" in m for m in again.of("thinking")] == [False]
