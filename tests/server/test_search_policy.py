"""The search policy over both transports: the pool's processes and workers on a broker.

The places are fake, and time is virtual. tests/engine/test_dispatch.py tests the dispatcher without
a transport.
"""

import asyncio
import random
from contextlib import suppress

import pytest

from engine.dispatch.dispatcher import TRIES, QueueFull, WorkersLost
from engine.dispatch.search import MIN_RETRY_S
from engine.search.job import Info
from server.ports import EngineUnavailable
from tests.support.fake_server import virtual
from tests.support.search_places import (
    TIME_MS,
    Places,
    SentAttempt,
    Transport,
    broker_places,
    loop_s,
    move_at,
    pool_places,
    run_callbacks,
)

TRANSPORTS = pytest.mark.parametrize(
    "transport", [pool_places, broker_places], ids=["pool", "broker"]
)


@TRANSPORTS
@virtual
async def test_a_search_is_answered(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search has the job's full time, reports its progress and returns its place's answer."""
    async with transport(2, monkeypatch) as places:
        infos: list[Info] = []
        searching = places.search(on_info=infos.append)
        sent = await places.next_attempt()
        assert sent.time_ms is None
        await sent.report(3)
        assert (places.load.running, places.load.waiting) == (1, 0)
        await sent.answer(5)
        assert (await searching).move == move_at(5)
        assert [info.depth for info in infos] == [3]
        assert (places.load.running, places.load.waiting) == (0, 0)


@TRANSPORTS
@virtual
async def test_a_lost_search_moves(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another place gets a lost search at once, with the rest of the time."""
    async with transport(2, monkeypatch) as places:
        searching = places.search()
        first = await places.next_attempt()
        await first.report(3)
        await asyncio.sleep(0.4)
        died_s = loop_s()
        await first.die()
        second = await places.next_attempt()
        assert second.place != first.place
        assert second.time_ms == TIME_MS - 400
        assert loop_s() == died_s
        await second.answer(6)
        assert (await searching).move == move_at(6)


@TRANSPORTS
@virtual
async def test_a_silent_place_costs_time(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that reports nothing loses the search, and its silence uses up the job's time.

    Another place then gets the shortest time, as there is no move to answer with.
    """
    async with transport(2, monkeypatch) as places:
        searching = places.search()
        first = await places.next_attempt()
        second = await places.next_attempt()
        assert loop_s() < TIME_MS / 1000 + 1.0
        assert first.was_stopped
        assert second.time_ms == MIN_RETRY_S * 1000
        await second.answer(2)
        assert (await searching).move == move_at(2)


@TRANSPORTS
@virtual
async def test_a_place_that_does_not_confirm_costs_time(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that does not confirm a search loses it within 1 s, and that time counts too."""
    async with transport(2, monkeypatch) as places:
        places.are_unresponsive = True
        searching = places.search()
        first, sent_s = await places.next_attempt(), loop_s()
        places.are_unresponsive = False
        second = await places.next_attempt()
        lost_ms = 1000 * (loop_s() - sent_s)
        assert second.place != first.place
        assert 0 < lost_ms <= 1000
        assert second.time_ms == pytest.approx(max(TIME_MS - lost_ms, 1000 * MIN_RETRY_S))
        await second.answer(2)
        assert (await searching).move == move_at(2)


@TRANSPORTS
@virtual
async def test_a_late_search_is_answered_with_its_best_move(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a place still searches after the time is over, the best move so far is the answer."""
    async with transport(1, monkeypatch) as places:
        searching = places.search()
        sent = await places.next_attempt()
        depth = 0
        while not searching.done():
            depth += 1
            await sent.report(depth)
            await asyncio.sleep(0.1)
        assert loop_s() <= TIME_MS / 1000 + 1.0
        assert (await searching).info.depth >= depth - 1
        assert sent.was_stopped


@TRANSPORTS
@virtual
async def test_three_places_are_tried(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that TRIES places have lost without a report fails, even if others are free."""
    async with transport(TRIES + 2, monkeypatch) as places:
        searching = places.search()
        tried = set()
        for _ in range(TRIES):
            sent = await places.next_attempt()
            tried.add(sent.place)
            await sent.die()
        with pytest.raises(WorkersLost, match=f"{TRIES} workers"):
            await searching
        assert len(places.sent) == len(tried) == TRIES


@TRANSPORTS
@virtual
async def test_the_deepest_report_is_the_answer(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After TRIES losses the deepest report is the answer, not the last one."""
    async with transport(TRIES, monkeypatch) as places:
        searching = places.search()
        for depth in (4, 8, 6):
            sent = await places.next_attempt()
            await sent.report(depth)
            await sent.die()
        result = await searching
        assert (result.move, result.info.depth) == (move_at(8), 8)


@TRANSPORTS
@virtual
async def test_a_shallower_later_answer(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second place's shallower answer does not replace the first place's deeper report."""
    async with transport(2, monkeypatch) as places:
        searching = places.search()
        first = await places.next_attempt()
        await first.report(9)
        await asyncio.sleep(0.8)
        await first.die()
        second = await places.next_attempt()
        await second.answer(5)
        assert (await searching).info.depth == 9


@TRANSPORTS
@virtual
async def test_without_another_place_the_best_move_counts(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no other place is ready before the time is over, the best move so far is the answer."""
    async with transport(1, monkeypatch) as places:
        searching = places.search()
        sent = await places.next_attempt()
        await sent.report(7)
        places.stop_replacements()
        await sent.die()
        assert not searching.done()
        assert (await searching).move == move_at(7)
        assert TIME_MS / 1000 <= loop_s() <= TIME_MS / 1000 + 1.0
        assert len(places.sent) == 1


@TRANSPORTS
@virtual
async def test_stale_messages_are_dropped(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports and answers of a lost place are ignored."""
    async with transport(2, monkeypatch) as places:
        infos: list[Info] = []
        searching = places.search(on_info=infos.append)
        first = await places.next_attempt()
        await first.die()
        second = await places.next_attempt()
        await first.report(9)
        await first.answer(9)
        assert not searching.done()
        await second.report(2)
        await second.answer(3)
        await second.answer(4)
        assert (await searching).info.depth == 3
        assert [info.depth for info in infos] == [2]


@TRANSPORTS
@virtual
async def test_a_repeated_answer_is_dropped(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that repeats the answer to one search does not answer the next one with it."""
    async with transport(1, monkeypatch) as places:
        first_search = places.search()
        first = await places.next_attempt()
        await first.answer(3)
        await first_search
        searching = places.search()
        second = await places.next_attempt()
        await first.report(9)
        await first.answer(9)
        assert not searching.done()
        await second.answer(4)
        assert (await searching).info.depth == 4


@TRANSPORTS
@virtual
async def test_an_analysis_may_take_long(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a time limit, a place that keeps reporting may search for any time."""
    async with transport(2, monkeypatch) as places:
        searching = places.search(time_ms=None)
        sent = await places.next_attempt()
        for depth in range(1, 60):
            await asyncio.sleep(1.0)
            await sent.report(depth)
        await sent.answer(60)
        assert (await searching).info.depth == 60
        assert len(places.sent) == 1


@TRANSPORTS
@virtual
async def test_a_room_returns_to_its_place(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A room's searches go to the place that has its table, if that place is free."""
    async with transport(3, monkeypatch) as places:
        homes: dict[str, str] = {}
        for room in ("a", "b", "c", "b", "a", "c", "c", "a"):
            searching = places.search(room)
            sent = await places.next_attempt()
            assert sent.place == homes.setdefault(room, sent.place)
            # The first searches run together, so each room gets a place of its own.
            if len(homes) < 3:
                continue
            for other in places.sent:
                await other.answer(3)
            await searching
        assert len(set(homes.values())) == 3


@TRANSPORTS
@virtual
async def test_a_search_does_not_wait_for_a_busy_home(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a room's place is busy, the room's next search goes to a free place."""
    async with transport(2, monkeypatch) as places:
        both = [places.search("room"), places.search("room")]
        first, second = await places.next_attempt(), await places.next_attempt()
        assert first.place != second.place
        for sent in (first, second):
            await sent.answer(3)
        await asyncio.gather(*both)


@TRANSPORTS
@virtual
async def test_a_cancelled_search_is_stopped(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelling the caller stops the place and leaves no search running or waiting."""
    async with transport(1, monkeypatch) as places:
        searching = places.search()
        sent = await places.next_attempt()
        searching.cancel()
        await asyncio.gather(searching, return_exceptions=True)
        await run_callbacks()
        assert sent.was_stopped
        assert (places.load.running, places.load.waiting) == (0, 0)


@TRANSPORTS
@virtual
async def test_a_failing_listener_ends_its_search(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in `on_info` is raised from its search, and the place is stopped."""

    def fail(info: Info) -> None:
        raise LookupError("the listener failed")

    async with transport(1, monkeypatch) as places:
        searching = places.search(on_info=fail)
        sent = await places.next_attempt()
        await sent.report(3)
        with pytest.raises(LookupError, match="listener"):
            await searching
        await run_callbacks()
        assert sent.was_stopped


@TRANSPORTS
@virtual
async def test_a_full_queue_refuses(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue refuses another search at once."""
    async with transport(1, monkeypatch, queue_size=2) as places:
        tasks = [places.search(room) for room in "abc"]
        sent = await places.next_attempt()
        await run_callbacks()
        assert (places.load.running, places.load.waiting) == (1, 2)
        with pytest.raises(QueueFull, match="2 searches"):
            await places.search("d")
        for _ in tasks[1:]:
            await sent.answer(3)
            sent = await places.next_attempt()
        await sent.answer(3)
        assert all(result.move for result in await asyncio.gather(*tasks))


@TRANSPORTS
@virtual
async def test_rooms_take_turns(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    """A room with many searches does not delay a room that comes later.

    Within a room the order is that of arrival.
    """
    async with transport(1, monkeypatch) as places:
        rooms = "xaaab"
        tasks = [places.search(room, seed=number) for number, room in enumerate(rooms)]
        order = []
        for _ in rooms:
            sent = await places.next_attempt()
            order.append(sent.job.seed)
            await sent.answer(3)
        await asyncio.gather(*tasks)
        assert [rooms[number] for number in order] == list("xabaa")
        assert order == [0, 1, 4, 2, 3]


async def serve_attempt(places: Places, sent: SentAttempt, rng: random.Random) -> None:
    """Usually answers an attempt in its time, but may let the place die or hang before."""
    time_ms = sent.time_ms or TIME_MS
    for depth in range(1, max(2, time_ms // 100)):
        await asyncio.sleep(0.1)
        if sent.was_stopped:
            return
        if rng.random() < 0.05:
            await sent.die()
            await asyncio.sleep(rng.random())
            places.replace_dead()
            return
        if rng.random() < 0.05:
            return  # the place hangs
        await sent.report(depth)
    await sent.answer(time_ms // 100)


@pytest.mark.parametrize("seed", range(10))
@TRANSPORTS
@virtual
async def test_searches_end_in_time(
    transport: Transport, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although places keep dying and hanging, every search ends in time.

    A search may take its own time plus, for each attempt, 1 s in the pool and 3 s elsewhere.
    """
    rng = random.Random(seed)
    late_s = 1.0 if transport is pool_places else 3.0
    async with transport(3, monkeypatch) as places, asyncio.TaskGroup() as tasks:

        async def serve() -> None:
            while True:
                sent = await places.next_attempt()
                tasks.create_task(serve_attempt(places, sent, rng))

        async def play(room: str) -> None:
            for number in range(20):
                begun_s, before = loop_s(), len(places.sent)
                # Three places may die before their first report, or all places at once.
                with suppress(WorkersLost, EngineUnavailable):
                    assert (await places.search(room, seed=number)).move
                tries = sum(sent.job.seed == number for sent in places.sent[before:])
                assert loop_s() - begun_s <= TIME_MS / 1000 + late_s * max(1, tries)

        serving = tasks.create_task(serve())
        await asyncio.gather(play("a"), play("b"))
        serving.cancel()
