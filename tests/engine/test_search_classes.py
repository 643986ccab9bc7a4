"""The classes of searches in the pool, with fake processes on virtual time.

Live searches come before those for a person who waits (ask), and these before studies.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.pool.messages import Answered, CompileCommand, Failed, Progress, SearchCommand
from engine.pool.pool import Pool
from engine.search.job import BACKGROUND, USES, ClassLoad, Limit, Load, Priority, Result, Use
from tests.support import search_places
from tests.support.search_places import (
    FakeProcess,
    PoolPlaces,
    info_at,
    job_of,
    loop_s,
    pool_places,
    run_callbacks,
)
from tests.support.virtual_time import run_virtual


class ClassPool:
    """A pool whose fake processes stop a search only when the test says so.

    `searches` are the tasks of the callers, in order, each with its class.
    """

    def __init__(self, places: PoolPlaces, size: int) -> None:
        self.places = places
        self.pool: Pool = places.engines
        self.size = size
        self.searches: list[tuple[asyncio.Task[Result], Use, str]] = []

    async def search(
        self,
        use: Use,
        room: str = "room",
        time_ms: int | None = None,
        priority: Priority = 0,
    ) -> int:
        """Starts a search; returns its number, which is the seed of its job."""
        number = len(self.searches)
        limit = Limit(nodes=1000, time_ms=time_ms)
        job = replace(job_of(room, seed=number), use=use, limit=limit, priority=priority)
        self.searches.append((asyncio.create_task(self.pool.search(job)), use, room))
        await run_callbacks()
        return number

    @property
    def attempts(self) -> dict[int, Any]:
        """The running attempts as the processes received them, by the number of their search."""
        return {
            slot.pending.job.seed: next(
                sent
                for sent in reversed(self.places.sent)
                if sent.process is slot.process and sent.number == slot.command_number
            )
            for slot in self.pool._workers.slots
            if slot.pending is not None
        }

    def running(self) -> list[int]:
        """The numbers of the searches that run, the oldest attempt first."""
        attempts = self.attempts
        return sorted(attempts, key=lambda number: self.places.sent.index(attempts[number]))

    async def answer(self, number: int) -> None:
        await self.attempts[number].answer(5)

    async def stop_all(self) -> None:
        """Lets the processes stop the searches that the pool has cancelled."""
        for slot in self.pool._workers.slots:
            if slot.is_stopping:
                process: Any = slot.process
                process.on_message(process, Failed(slot.command_number, "cancelled", ""))
        await run_callbacks()

    def waiting(self, use: Use) -> int:
        return self.pool.load().of(use).waiting

    def check(self) -> None:
        """Checks what holds after every event.

        While a live search waits, no worker runs another class and none is free; while an ask
        waits, no worker runs a study. Searches that are not live leave a worker free.
        """
        running = Counter(self.searches[number][1] for number in self.attempts)
        stopping = self.pool._workers.stopping_count
        free = sum(slot.is_idle for slot in self.pool._workers.slots)
        if self.waiting("live") > stopping:
            assert not running["ask"] + running["study"], "a live search waits for another class"
        if self.waiting("live"):
            assert not free, "a live search waits beside a free worker"
        if self.waiting("live") + self.waiting("ask") > stopping:
            assert not running["study"], "a question waits for a study"
        assert running["ask"] + running["study"] <= max(1, self.size - 1), "none is left free"
        for use in USES:
            load = self.pool.load().of(use)
            assert load.running == running[use]
            unsettled = sum(not task.done() for task, its_use, _ in self.searches if its_use == use)
            assert load.running + load.waiting == unsettled, "a search is lost or doubled"
        assert self.pool.load().of("live").preempted == 0


async def with_pool(
    size: int, script: Callable[[ClassPool], Coroutine[Any, Any, None]], queue_size: int = 256
) -> None:
    """Runs a script with a pool of fake processes."""
    with pytest.MonkeyPatch.context() as patch:
        async with pool_places(size, patch, queue_size) as places:
            assert isinstance(places, PoolPlaces)
            pool = ClassPool(places, size)
            try:
                await script(pool)
            finally:
                tasks = [task for task, _, _ in pool.searches]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


def play(
    size: int, script: Callable[[ClassPool], Coroutine[Any, Any, None]], queue_size: int = 256
) -> None:
    run_virtual(with_pool(size, script, queue_size))


# --- any history

#: The kinds of events in a history.
KINDS = ("live", "live", "ask", "study", "study", "answer", "answer", "stop", "die", "cancel",
         "wait")  # fmt: skip
EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 20)), max_size=50)


async def play_events(pool: ClassPool, events: list[tuple[str, int]]) -> None:
    """Plays the events, then answers all searches: each gets exactly one answer."""
    lost: Counter[int] = Counter()
    cancelled: set[int] = set()
    for index, (kind, number) in enumerate(events, 1):
        running = pool.running()
        match kind:
            case "live" | "ask" | "study":
                await pool.search(kind, "xyz"[number % 3])
            case "answer" if running:
                await pool.answer(running[number % len(running)])
            case "stop":
                await pool.stop_all()
            case "die" if running:
                search = running[number % len(running)]
                if lost[search] < 2:
                    lost[search] += 1
                    await pool.attempts[search].die()
            case "cancel" if pool.searches:
                cancelled.add(number % len(pool.searches))
                pool.searches[number % len(pool.searches)][0].cancel()
                await run_callbacks()
            case "wait":  # so long that a worker that does not stop is killed
                for search in running:
                    await pool.attempts[search].report(len(pool.places.sent) + index)
                await asyncio.sleep(1.5)
                await run_callbacks()
        pool.check()
    while not all(task.done() for task, _, _ in pool.searches):
        await pool.stop_all()
        for search in pool.running():
            await pool.answer(search)
        pool.check()
        await asyncio.sleep(0.1)
    for index, (task, _, _) in enumerate(pool.searches):
        assert task.cancelled() if index in cancelled and task.cancelled() else task.result()
    assert pool.pool.load().running == pool.pool.load().waiting == 0
    assert pool.pool.counts.failed == 0, "giving way is no failure"


@given(events=EVENTS, size=st.integers(1, 3))
@settings(max_examples=120, deadline=None)
def test_any_history(events: list[tuple[str, int]], size: int) -> None:
    """After any history no live search waits for another class, and each search is answered once.

    A search waits for one that is stopped already, and for nothing else. Being preempted any number
    of times is no failure.
    """
    play(size, lambda pool: play_events(pool, events))


# --- single promises


def test_a_live_search_preempts_the_youngest_study_then_a_question() -> None:
    """A live search without a free worker stops the youngest study, then the youngest ask.

    A live search with a free worker stops none.
    """

    async def script(pool: ClassPool) -> None:
        study, ask, old_study = [await pool.search(use) for use in ("study", "ask", "study")]
        assert pool.running() == [study, ask, old_study]
        first = await pool.search("live")
        assert len(pool.running()) == 4
        expected = [old_study, study, ask]
        for victim in expected:
            attempt = pool.attempts[victim]
            await pool.search("live")
            assert attempt.was_stopped
            assert victim not in pool.running()
            await pool.stop_all()
        assert all(pool.searches[number][1] == "live" for number in pool.running())
        await pool.search("live")
        assert pool.waiting("live") == 1
        await pool.answer(first)
        assert pool.waiting("live") == 0
        assert pool.pool.load().background == {
            "ask": ClassLoad(0, 1, 1), "study": ClassLoad(0, 2, 2),
        }  # fmt: skip
        assert pool.pool._quarantine._records == {}

    play(4, script)


def test_a_question_preempts_a_study() -> None:
    """An ask takes the place of a study, and waits for a live search."""

    async def script(pool: ClassPool) -> None:
        study, ask = await pool.search("study"), await pool.search("ask")
        await pool.stop_all()
        assert pool.running() == [ask]
        live = [await pool.search("live"), await pool.search("live")]
        await pool.stop_all()
        assert pool.running() == live
        await pool.answer(live[0])
        assert pool.running() == [live[1], ask]
        await pool.answer(ask)
        assert pool.running() == [live[1], study]

    play(2, script)


def test_background_searches_leave_a_worker_free() -> None:
    """Asks and studies together leave one of several workers free, and use the only one."""

    async def script(pool: ClassPool) -> None:
        for use in ("study", "ask", "study", "study"):
            await pool.search(use)
            await pool.stop_all()
        assert len(pool.running()) == max(1, pool.size - 1)

    for size in (1, 2, 3):
        play(size, script)


def test_a_room_keeps_its_worker_beside_studies() -> None:
    """Studies keep to their workers, so that a room's live searches stay where its table is."""

    async def script(pool: ClassPool) -> None:
        homes = []
        for number in range(12):
            await pool.search("study", f"match {number}")
        for _ in range(3):
            for _ in range(3):
                await pool.answer(pool.running()[0])
                await asyncio.sleep(0.01)
            live = await pool.search("live", "room")
            homes.append(pool.attempts[live].process)
            await pool.answer(live)
            await asyncio.sleep(0.01)
        assert len(set(homes)) == 1, "the room moved to another worker"

    for size in (2, 3):
        play(size, script)


def test_a_preempted_search_is_next_and_unchanged() -> None:
    """A preempted search is the next of its class, with its full time, and no try is used up.

    It may be preempted any number of times.
    """

    async def script(pool: ClassPool) -> None:
        study = await pool.search("study", "x", time_ms=1000)
        await pool.search("study", "y")
        for _ in range(250):
            await asyncio.sleep(0.2)
            live = await pool.search("live")
            await pool.stop_all()
            assert pool.running() == [live]
            await pool.answer(live)
            assert pool.running() == [study], "it is next"
            assert pool.attempts[study].time_ms is None
        await pool.answer(study)
        assert pool.searches[study][0].result().info.depth == 5
        assert pool.pool.counts.retried == pool.pool.counts.failed == 0

    play(1, script)


def test_a_report_of_an_ended_attempt_is_not_the_answer() -> None:
    """A preempted or lost search that is not live is answered by its last attempt alone."""

    async def script(pool: ClassPool) -> None:
        study = await pool.search("study")
        await pool.attempts[study].report(9)
        live = await pool.search("live")
        await pool.stop_all()
        await pool.answer(live)
        await pool.attempts[study].report(8)
        await pool.attempts[study].die()
        await pool.answer(study)
        assert pool.searches[study][0].result().info.depth == 5

    play(1, script)


def test_an_answer_that_crosses_the_stop_is_dropped() -> None:
    """An answer of an attempt that is being stopped is dropped; the search is answered once."""

    async def script(pool: ClassPool) -> None:
        study = await pool.search("study")
        attempt = pool.attempts[study]
        live = await pool.search("live")
        await attempt.answer(9)
        assert pool.running() == [live]
        assert not pool.searches[study][0].done()
        await pool.answer(live)
        await pool.answer(study)
        assert pool.searches[study][0].result().info.depth == 5

    play(1, script)


def test_a_worker_that_does_not_stop_is_replaced() -> None:
    """A worker that does not stop a preempted search in a second is killed; the next answer of the
    game says that its rules are sound.
    """

    async def script(pool: ClassPool) -> None:
        study = await pool.search("study")
        live = await pool.search("live")
        await asyncio.sleep(1.1)
        await run_callbacks()
        assert pool.running() == [live]
        await pool.answer(live)
        await pool.answer(study)
        assert pool.pool.counts.ended == 1
        assert pool.pool._quarantine._records == {}

    play(1, script)


def test_each_class_has_its_own_queue() -> None:
    """A full queue of studies refuses further studies, and no search of another class."""

    async def script(pool: ClassPool) -> None:
        await pool.search("live")
        for _ in range(4):
            await pool.search("study")
        with pytest.raises(QueueFull):
            await pool.searches[-1][0]
        assert pool.waiting("study") == 3
        ask, live = await pool.search("ask"), await pool.search("live")
        assert not pool.searches[ask][0].done()
        assert not pool.searches[live][0].done()

    play(1, script, queue_size=3)


def test_people_come_before_matches_between_ais() -> None:
    """A person's opponent, then a question, a match between AIs, one that nobody follows, a study.

    Many matches between AIs neither fill the queue of the others nor preempt a question.
    """

    async def script(pool: ClassPool) -> None:
        ask = await pool.search("ask")
        study = await pool.search("study", "s")
        unfollowed = [await pool.search("live", f"u{n}", priority=2) for n in range(3)]
        followed = [await pool.search("live", f"f{n}", priority=1) for n in range(3)]
        assert pool.running() == [ask], "no match between AIs preempts a question"
        opponent, question = await pool.search("live"), await pool.search("ask", "other")
        await pool.stop_all()
        served: list[int] = []
        while running := pool.running():
            served += running
            await pool.answer(running[0])
        assert served == [opponent, ask, question, *followed, *unfollowed, study]

    play(1, script, queue_size=3)


def test_a_match_between_ais_preempts_a_study() -> None:
    """Searches of a match between AIs come before the analysis of another one."""

    async def script(pool: ClassPool) -> None:
        await pool.search("study")
        live = await pool.search("live", priority=2)
        await pool.stop_all()
        assert pool.running() == [live]

    play(1, script)


@given(order=st.lists(st.tuples(st.sampled_from(USES), st.sampled_from("abc")), max_size=14))
@settings(max_examples=40, deadline=None)
def test_the_order_is_fair_within_a_class(order: list[tuple[Use, str]]) -> None:
    """With one worker, the classes are served in order; within a class the affinities take turns.

    The affinity of a live search is its room, that of another one the identity that asked for it.
    """

    async def script(pool: ClassPool) -> None:
        blocker = await pool.search("live")
        for use, room in order:
            await pool.search(use, room)
        await pool.answer(blocker)
        served: list[int] = []
        while running := pool.running():
            served += running
            await pool.answer(running[0])
        uses = [USES.index(pool.searches[number][1]) for number in served]
        assert uses == sorted(uses), "the most urgent class is first"
        for use in USES:
            rooms = [pool.searches[number][2] for number in served if order_of(number) == use]
            left = Counter(rooms)
            for index, room in enumerate(rooms):
                turn = rooms[index : index + sum(count > 0 for count in left.values())]
                assert len(set(turn)) == len(turn), "each affinity once in a round"
                left[room] -= 1
                if sum(count > 0 for count in left.values()) < len(set(turn)):
                    break
        assert len(served) == len(order)

    def order_of(number: int) -> Use:
        return order[number - 1][0]

    play(1, script)


def test_the_loads_of_the_classes_add_up() -> None:
    """The live share of a load is what the other classes leave."""
    load = Load(5, 7, 2, background={"ask": ClassLoad(1, 2, 3), "study": ClassLoad(2, 1, 9)})
    assert load.of("live") == ClassLoad(2, 4, 0)
    assert [load.of(use).preempted for use in BACKGROUND] == [3, 9]
    assert Load(1, 2, 3).of("study") == ClassLoad()


# --- the delay of live searches

#: The time that a process takes to stop a search, in seconds; a measured p99 is 7 ms.
STOP_S = 0.01


class BusyProcess(FakeProcess):
    """A process that answers a search after as many microseconds as its job's seed says."""

    def send(self, command: SearchCommand | CompileCommand) -> None:
        super().send(command)
        assert isinstance(command, SearchCommand)
        self.number, loop = command.number, asyncio.get_running_loop()
        self.timers = [loop.call_later(command.job.seed / 1e6, self.answer)]
        self.timers += [
            loop.call_later(second, self.report, int(second)) for second in (1.0, 2.0, 3.0)
        ]

    def report(self, depth: int) -> None:
        self.on_message(self, Progress(self.number, info_at(depth)))

    def answer(self) -> None:
        self.end()
        self.on_message(self, Answered(self.number, Result("d", info_at(1))))

    def cancel(self) -> None:
        super().cancel()
        self.end()
        stopped = Failed(self.number, "cancelled", "")
        asyncio.get_running_loop().call_later(STOP_S, self.on_message, self, stopped)

    def end(self) -> None:
        for timer in self.timers:
            timer.cancel()


async def live_ends_s(
    size: int, arrivals: list[tuple[int, int]], study_count: int
) -> tuple[list[float], int]:
    """Runs live searches beside studies; returns when each one ends, and the studies' answers.

    An arrival is the pause before it and the time that it searches, in ms. Each has its own room,
    so the order of live searches is that of their arrival.
    """
    ends_s = [0.0] * len(arrivals)
    answered = 0

    async def search(pool: Pool, use: Use, room: str, time_us: int) -> None:
        job = replace(job_of(room, seed=time_us), use=use, limit=Limit(nodes=1000))
        await pool.search(job)

    async def study(pool: Pool, number: int) -> None:
        nonlocal answered
        while True:
            await search(pool, "study", f"study {number}", 70_000)
            answered += 1

    async def live(pool: Pool, index: int) -> None:
        await search(pool, "live", f"room {index}", 1000 * arrivals[index][1])
        ends_s[index] = loop_s()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_places, "FakeProcess", BusyProcess)
        async with pool_places(size, patch) as places:
            pool = places.engines
            studies = [asyncio.create_task(study(pool, number)) for number in range(study_count)]
            searches = []
            for index, (pause_ms, _) in enumerate(arrivals):
                await asyncio.sleep(pause_ms / 1000)
                searches.append(asyncio.create_task(live(pool, index)))
            await asyncio.gather(*searches)
            await asyncio.sleep(1.0)
            for task in studies:
                task.cancel()
            await asyncio.gather(*studies, return_exceptions=True)
    return ends_s, answered


@given(
    size=st.integers(1, 3), study_count=st.integers(1, 4),
    arrivals=st.lists(
        st.tuples(st.integers(0, 300), st.sampled_from((15, 45, 885))),
        min_size=1, max_size=40,
    ),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_studies_delay_a_live_search_by_the_time_of_a_stop(
    size: int, study_count: int, arrivals: list[tuple[int, int]]
) -> None:
    """Beside any number of studies each live search ends at most STOP_S later than without them.

    The studies go on in the pauses.
    """
    alone, _ = run_virtual(live_ends_s(size, arrivals, 0))
    beside, answered = run_virtual(live_ends_s(size, arrivals, study_count))
    for without_s, with_s in zip(alone, beside, strict=True):
        assert without_s - 1e-6 <= with_s <= without_s + STOP_S + 1e-6
    assert answered > 0
