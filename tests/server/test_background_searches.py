"""server/seats/background.py: the searches that people ask for, and their limits."""

import asyncio
import itertools
from dataclasses import replace as with_settings
from typing import Any

import pytest
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.search.job import Job, Limit, SearchFailed
from server.codes import Code
from server.ids import IdentityId
from server.limits.by_address import NO_LIMITS
from server.ports import EngineUnavailable, SearchRefused
from server.seats.background import KEEP_S, MAX_KEPT, MAX_NODES, BackgroundSearches
from server.settings import Settings
from tests.server.test_remote_engines import job
from tests.support.fake_server import ScriptedEngines, virtual

ADA, BEN = IdentityId("ada"), IdentityId("ben")
#: A job that a person may ask for.
JOB = replace(job(), limit=Limit(nodes=1000))
#: The seeds of jobs that are asked for once.
SEEDS = itertools.count(1)


def another_job() -> Job:
    """A job that nobody has asked for before, so that no result of it is kept."""
    return replace(JOB, seed=next(SEEDS))


class Desk:
    """Background searches on scripted engines that answer only when `may_answer` is set."""

    def __init__(self, **settings: Any) -> None:
        self.engines = ScriptedEngines(self._answer)
        self.may_answer = asyncio.Event()
        self.now_s = 0.0
        self.error: Exception | None = None
        self.searches = BackgroundSearches(
            self.engines, with_settings(Settings(), **settings), lambda: self.now_s
        )

    async def _answer(self, job: Job) -> str:
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return "d"

    def ask(self, identity: IdentityId) -> "asyncio.Task[object]":
        """Asks a question whose result is not kept."""
        return asyncio.create_task(self.searches.search(identity, another_job()))

    async def refusal(self, identity: IdentityId) -> SearchRefused:
        """Returns the refusal of a search, which must come at once."""
        with pytest.raises(SearchRefused) as refused:
            await self.searches.search(identity, another_job())
        return refused.value


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@virtual
async def test_an_identity_has_one_search_running_and_five_waiting() -> None:
    """One request of an identity runs, five wait in order, and the next is refused in words.

    Other identities are not affected, and each search is counted once.
    """
    desk = Desk()
    tasks = [desk.ask(ADA) for _ in range(6)]
    await settle()
    assert len(desk.engines.jobs) == 1
    refusal = await desk.refusal(ADA)
    assert refusal.code == Code.RATE_EXCEEDED
    assert refusal.message == (
        "6 of your questions to the engine are running or waiting; wait until one of them has ended"
    )
    other = desk.ask(BEN)
    await settle()
    assert [(each.use, each.affinity) for each in desk.engines.jobs] == [
        ("ask", "ask:ada"), ("ask", "ask:ben"),
    ]  # fmt: skip
    desk.may_answer.set()
    await asyncio.gather(*tasks, other)
    assert len(desk.engines.jobs) == 7
    assert desk.searches._people == {}


@virtual
async def test_a_request_of_several_searches_keeps_its_turn() -> None:
    """A request of several searches counts as one, and the next request waits for its end."""
    desk = Desk()
    desk.may_answer.set()
    async with desk.searches.request(ADA) as search:
        waiting = desk.ask(ADA)
        for _ in range(100):
            assert (await search(JOB)).move == "d"
        assert not waiting.done()
    await waiting
    assert len(desk.engines.jobs) == 101


@virtual
async def test_questions_in_an_hour() -> None:
    """Beyond the limit of an hour a request is refused, with the time until the next."""
    desk = Desk(limit_asks_per_hour=3)
    desk.may_answer.set()
    for _ in range(3):
        await desk.ask(ADA)
    refusal = await desk.refusal(ADA)
    assert refusal.code == Code.RATE_EXCEEDED
    assert "try again in 20 min" in refusal.message
    await desk.ask(BEN)
    desk.now_s += 20 * 60 + 1
    await desk.ask(ADA)
    assert (await desk.refusal(ADA)).message.startswith("you have reached the limit of 3 questions")


@virtual
async def test_the_limit_is_enough_for_a_coached_evening() -> None:
    """By default a person may play matches of 60 moves with the coach on, a move in 15 s, and take
    five hints in each, without a pause between the matches.
    """
    desk = Desk()
    desk.may_answer.set()
    for _ in range(6):
        for number in range(60):
            desk.now_s += 15
            async with desk.searches.request(ADA) as search:
                await search(another_job())
            if number % 12 == 0:
                await desk.ask(ADA)


@virtual
async def test_a_refused_request_counts_for_nothing() -> None:
    """A request that is refused because others wait does not count for the limit of the hour."""
    desk = Desk(limit_asks_per_hour=2, limit_background_waiting=1)
    tasks = [desk.ask(ADA), desk.ask(ADA)]
    await settle()
    for _ in range(5):
        assert "running or waiting" in (await desk.refusal(ADA)).message
    desk.may_answer.set()
    await asyncio.gather(*tasks)
    assert "limit of 2 questions to the engine an hour" in (await desk.refusal(ADA)).message


@virtual
async def test_a_cancelled_request_gives_up_its_place() -> None:
    """Cancelling a request stops its search, or takes it out of the queue."""
    desk = Desk(limit_background_waiting=1)
    running, waiting = desk.ask(ADA), desk.ask(ADA)
    await settle()
    for task in (waiting, running):
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(desk.engines.cancelled) == 1
    assert desk.searches._people == {}
    desk.may_answer.set()
    await desk.ask(ADA)


@virtual
async def test_engines_that_have_no_room() -> None:
    """Full or absent engines are a refusal in words; another error of a search is raised."""
    desk = Desk()
    desk.may_answer.set()
    for error in (QueueFull("256 searches"), EngineUnavailable("no engine for go")):
        desk.error = error
        refusal = await desk.refusal(ADA)
        assert refusal.code == Code.ENGINE_BUSY
        assert "try again" in refusal.message
    desk.error = SearchFailed("the rules raised")
    with pytest.raises(SearchFailed):
        await desk.searches.search(ADA, JOB)
    assert desk.searches._people == {}


@virtual
async def test_without_limits() -> None:
    """With limits of 0 any number of requests run at once."""
    desk = Desk(**NO_LIMITS)
    tasks = [desk.ask(ADA) for _ in range(200)]
    await settle()
    assert len(desk.engines.jobs) == 200
    desk.may_answer.set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(JOB, limit=Limit()),
        replace(JOB, limit=Limit(nodes=MAX_NODES + 1)),
        replace(JOB, limit=Limit(nodes=1000, time_ms=5)),
        replace(JOB, level=3),
        replace(JOB, persona="swindler"),
        replace(JOB, strategy="minimax"),
    ],
    ids=["no limit", "too many nodes", "time", "a level", "a persona", "a strategy"],
)
def test_a_search_for_a_person_has_fixed_nodes(wrong: Job) -> None:
    """A job with another limit than nodes is an error of the caller, and uses up nothing."""

    async def run() -> None:
        desk = Desk()
        with pytest.raises(ValueError, match="nodes"):
            await desk.searches.search(ADA, wrong)
        assert desk.engines.jobs == []

    asyncio.run(run())


@virtual
async def test_the_result_of_a_question_is_kept_for_a_while() -> None:
    """The same question of anyone has its result at once, counts for no limit, and is searched
    again after KEEP_S. One whose search was cut short is searched each time.
    """
    desk = Desk(limit_asks_per_hour=2, limit_background_running=0)
    desk.may_answer.set()
    first = await desk.searches.search(ADA, JOB)
    for identity in (ADA, BEN, ADA):
        assert await desk.searches.search(identity, JOB) == first
    assert len(desk.engines.jobs) == 1
    desk.now_s += KEEP_S
    await desk.searches.search(ADA, JOB)
    assert len(desk.engines.jobs) == 2
    desk.engines.warming = True
    shortened = another_job()
    for _ in range(2):
        await desk.searches.search(BEN, shortened)
    assert len(desk.engines.jobs) == 4


@virtual
async def test_the_kept_results_are_bounded() -> None:
    """The oldest result is dropped when there are too many."""
    desk = Desk(limit_asks_per_hour=0)
    desk.may_answer.set()
    jobs = [another_job() for _ in range(MAX_KEPT + 1)]
    for each in (*jobs, jobs[-1], jobs[0]):
        await desk.searches.search(ADA, each)
    assert len(desk.engines.jobs) == MAX_KEPT + 2
