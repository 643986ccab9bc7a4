"""Engine workers that lie, over a real broker: server/seats/answers.py and server/seats/remote.py.

Nothing from a worker reaches a room unchecked, and a bad worker ends no match while another engine
can search.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace as settings_with
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from engine.rules.registry import load_game
from engine.search.job import GameQuarantined, Info, Job, Result, RootMove, SearchFailed
from server.bus import work
from server.bus.link import open_link
from server.bus.work import ReadyGame
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EngineUnavailable, OnInfo
from server.seats import remote
from server.seats.answers import LIVE_PV_MOVES, STORED_PV_MOVES, Checker, ImpossibleAnswer
from tests.server.test_engine_workers import AI1, Duel, WorkerHandle, node, start_worker
from tests.server.test_remote_engines import (
    GAME,
    Network,
    Pool,
    ScriptedWorker,
    answers,
    broker_network,
    info,
    job,
    refuses,
    taken,
)
from tests.support.clock import until
from tests.support.fake_server import FakeServer

#: A text that a bad worker wants people to read.
POISON = "ev\u202eil\x1b[2J<b>words</b>"

Script = Callable[[work.Search], list[work.WorkerMessage]]
replace = msgspec.structs.replace
MOVES = (RootMove("d", 7), RootMove("c", -2, "upper"))
GOOD = Info(5, 7, 1000, 2000, 50, ("d", "c"), MOVES)


def says(move: str = "d", told: Info = GOOD) -> Script:
    return lambda order: [*taken(order), work.Answered(order.id, order.attempt, Result(move, told))]


def progress(told: Info) -> Script:
    return lambda order: [*taken(order), work.Progress(order.id, order.attempt, told)]


FALSE: dict[str, Info] = {
    "a score above a win": replace(GOOD, score=30_001),
    "a number that no JSON carries": replace(GOOD, score=-(2**70)),
    "a number that no browser carries": replace(GOOD, nodes=2**53),
    "fewer nodes than none": replace(GOOD, nodes=-1),
    "a negative speed": replace(GOOD, nps=-1),
    "a depth of nothing": replace(GOOD, depth=-1),
    "a depth beyond all": replace(GOOD, depth=10**6),
    "a time to come": replace(GOOD, time_ms=-1),
    "a time beyond all": replace(GOOD, time_ms=10**12),
    "a line that begins with no move": replace(GOOD, pv=(POISON, "d")),
    "scores of no moves": replace(GOOD, moves=(RootMove(POISON, 1),)),
    "two scores of one move": replace(GOOD, moves=(RootMove("d", 1), RootMove("d", 2))),
    "a score beyond all": replace(GOOD, moves=(RootMove("d", 10**9),)),
}
LIES: dict[str, Script] = {
    "no move": says(POISON),
    "an empty move": says(""),
    "a move that is not allowed": says("h"),
    "a move of another spelling": says(" d"),
    "a quarantine": lambda order: [work.Refused(order.id, order.attempt, "quarantined", POISON)],
    **{f"answers {what}": says("d", told) for what, told in FALSE.items()},
    **{f"thinks {what}": progress(told) for what, told in FALSE.items()},
}


async def first_and_second(here: Network) -> tuple[ScriptedWorker, ScriptedWorker]:
    """Two workers, of which the first one gets the searches as long as it is trusted."""
    first, second = await here.add_worker(), await here.add_worker(cores=2)
    second.advertise(running=1)
    await here.until(lambda: here.engines._workers[second.name].load > 0)
    second.news = answers("e")
    return first, second


@pytest.mark.parametrize("lie", LIES)
async def test_a_bad_worker_gets_no_more_searches(lie: str, tmp_path: Path) -> None:
    """The search moves to the good worker.

    The liar gets no more of that game, which the log says once, without its words.
    """
    async with broker_network(tmp_path) as here:
        bad, _ = await first_and_second(here)
        bad.news = LIES[lie]
        seen: list[Info] = []
        with capture_logs() as logged:
            for number in range(3):
                assert (await here.engines.search(job(f"r{number}"), seen.append)).move == "e"
        assert len(bad.orders) == 1
        assert seen == [info("e")] * 3
        assert here.engines._metrics.bad_answers == 1
        assert [
            line["worker"] for line in logged if line["event"] == "worker not asked any more"
        ] == [bad.name]
        assert not [line for line in logged if "\u202e" in str(line) or "\x1b" in str(line)]


@pytest.mark.parametrize("broken", ["a wrong field", "too long"])
async def test_a_malformed_answer_moves_the_search(broken: str, tmp_path: Path) -> None:
    """A malformed answer moves the search to another worker at once."""
    async with broker_network(tmp_path) as here:
        bad, good = await first_and_second(here)

        def speak(order: work.Search) -> list[work.WorkerMessage]:
            payload = work.encode(work.Answered(order.id, order.attempt, Result("d", GOOD)))
            payload = (
                payload.replace(b'"depth":5', b'"depth":[]')
                if broken == "a wrong field"
                else payload
            )
            payload += b" " * work.MAX_BYTES if broken == "too long" else b""
            bad.link.publish(work.answers_topic(order.server), payload, reliable=True)
            return []

        bad.news = speak
        assert (await here.search()).move == "e"
        assert (await here.search()).move == "e"
        assert (len(bad.orders), len(good.orders), here.engines.counts.lost) == (1, 2, 0)


async def test_malformed_messages_about_another_attempt_change_nothing(tmp_path: Path) -> None:
    """Only a message with the search's id and current attempt can discredit a worker."""
    async with broker_network(tmp_path) as here:
        worker = await here.add_worker()

        def speak(order: work.Search) -> list[work.WorkerMessage]:
            for search, attempt in (("another", 1), (order.id, 2)):
                news = work.encode(work.Answered(search, attempt, Result("d", GOOD)))
                topic = work.answers_topic(order.server)
                worker.link.publish(topic, news.replace(b'"depth":5', b'"depth":[]'), reliable=True)
            return answers("d")(order)

        worker.news = speak
        assert (await here.search()).move == "d"
        assert (await here.search()).move == "d"
        assert here.engines._metrics.bad_answers == 0


async def test_without_a_trusted_worker_the_search_fails(tmp_path: Path) -> None:
    """Without a trusted worker this search and later ones fail at once, in our words, until another
    one comes. Other games still work.
    """
    sticks = load_game("sticks")
    games = {GAME.id: ReadyGame(GAME.digest), sticks.id: ReadyGame(sticks.digest)}
    async with broker_network(tmp_path) as here:
        bad = await here.add_worker(games=games)
        bad.news = LIES["a quarantine"]
        for number in range(2):
            with pytest.raises(
                SearchFailed,
                match=f"^no worker that offers {GAME.id} gave a usable answer$",
            ):
                await here.search(job(f"r{number}"))
        assert len(bad.orders) == 1
        assert not here.engines.is_warm(GAME.id)
        assert here.engines.is_warm(sticks.id)
        (token, *_) = sticks.start().tokens()
        bad.news = answers(token)
        assert (await here.search(job(game=sticks.id, level=3))).move == token
        bad.advertise(running=0)
        good = await here.add_worker()
        good.news = answers("c")
        assert (await here.search()).move == "c"
        assert len(bad.orders) == 2


async def test_an_untrusted_worker_stays_untrusted_under_its_name(tmp_path: Path) -> None:
    """A worker whose advert goes and returns is the same process and stays untrusted.

    A restarted worker has another name.
    """
    async with broker_network(tmp_path) as here:
        bad = await here.add_worker()
        bad.news = says("h")
        with pytest.raises(SearchFailed):
            await here.search()
        here.workers.remove(bad)
        bad.link._status = b""
        bad.link.publish(work.worker_topic(bad.name), b"", reliable=True)
        await here.until(lambda: bad.name not in here.engines._workers)
        with pytest.raises(EngineUnavailable):
            await here.search()
        bad.link.set_status(work.encode(bad.advert))
        await here.until(lambda: bad.name in here.engines._workers)
        with pytest.raises(SearchFailed):
            await here.search()
        assert len(bad.orders) == 1


async def test_the_local_pool_plays_after_a_bad_worker(tmp_path: Path) -> None:
    """The local pool plays the move when no other worker is left."""
    async with broker_network(tmp_path, pool := Pool()) as here:
        bad = await here.add_worker()
        bad.news = LIES["a quarantine"]
        assert [(await here.search()).move for _ in range(2)] == ["g", "g"]
        assert (len(bad.orders), len(pool.jobs)) == (1, 2)


async def test_a_quarantine_of_the_local_pool_leaves_the_workers(tmp_path: Path) -> None:
    """After a quarantine of the local pool, even busy workers are used.

    Without workers the search fails with it.
    """

    class Quarantined(Pool):
        async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
            self.jobs.append(job)
            raise GameQuarantined("three failed in a row")

    async with broker_network(tmp_path, pool := Quarantined()) as here:
        with pytest.raises(GameQuarantined):
            await here.search()
        worker = await here.add_worker()
        worker.news = answers("d")
        worker.advertise(running=1)
        await here.until(lambda: here.engines._workers[worker.name].load == 1)
        assert (await here.search()).move == "d"
        assert len(pool.jobs) == 2
        worker.news = LIES["no move"]
        with pytest.raises(GameQuarantined):
            await here.search()


async def test_a_failed_search_does_not_discredit_its_worker(tmp_path: Path) -> None:
    """A search that fails at one worker moves to another; the first one gets the next search as
    before.
    """
    async with broker_network(tmp_path) as here:
        first, _ = await first_and_second(here)
        first.news = refuses("failed")
        assert (await here.search(job("r1"))).move == "e"
        first.news = answers("a")
        assert (await here.search(job("r2"))).move == "a"
        assert here.engines._metrics.bad_answers == 0


async def test_a_flood_of_progress_is_read_ten_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a worker sends progress, the node checks and forwards no more than people can
    see.
    """
    async with broker_network(tmp_path) as here:
        worker = await here.add_worker()
        clock_s = remote._now_s()
        monkeypatch.setattr(remote, "_now_s", lambda: clock_s)
        worker.news = progress(GOOD)
        seen: list[Info] = []
        searching = asyncio.create_task(here.engines.search(job(), seen.append))
        await here.until(lambda: bool(seen))
        order = worker.orders[0]
        for burst in range(2, 5):
            for depth in range(20):
                worker.say(
                    order,
                    work.Progress(
                        order.id, order.attempt, replace(GOOD, depth=100 * burst + depth)
                    ),
                )
            worker.say(order, work.Taken("end of the burst", burst))
            late = here.engines.counts.late
            await here.until(lambda late=late: here.engines.counts.late == late + 1)  # type: ignore[misc]
            assert len(seen) == burst - 1
            clock_s += remote.PROGRESS_S
            worker.say(order, work.Progress(order.id, order.attempt, replace(GOOD, depth=burst)))
            await here.until(lambda burst=burst: len(seen) == burst)  # type: ignore[misc]
            assert seen[-1].depth == burst
        worker.say(order, work.Answered(order.id, order.attempt, Result("d", GOOD)))
        assert (await searching).move == "d"


def test_a_variation_ends_before_its_first_illegal_move() -> None:
    """A shown variation can be played: it has no move after the end, illegal move or other
    spelling.
    """
    checker = Checker(GAME.start())
    full = ("d",) * 6
    for line, kept in (
        (("d", "c", "z"), ("d", "c")),
        ((*full, "d", "a"), full),
        (("a", "b", "a", "b", "a", "b", "a", "b"), ("a", "b", "a", "b", "a", "b", "a")),
        (("a", POISON), ("a",)),
        ((), ()),
    ):
        assert checker.check_info(replace(GOOD, pv=line)).pv == kept
        assert checker.check_result(Result("d", replace(GOOD, pv=line))).info.pv == kept
    chess = Checker(load_game("chess").start())
    assert chess.check_info(replace(GOOD, pv=("e2e4", "e5"), moves=())).pv == ("e2e4",)
    with pytest.raises(ImpossibleAnswer):
        chess.check_result(Result("e4", Info(1, 0, 1, 1, 1, ())))


def test_a_variation_is_checked_only_as_far_as_it_is_shown() -> None:
    """A variation is cut at a fixed length, shorter during a search, because checking a move costs
    a move generation.
    """
    long = ("a", "b") * 2 + ("b", "a") + ("c", "d") * 2 + ("d", "c") + ("e", "f") * 2 + ("f", "e")
    checker = Checker(GAME.start())
    assert checker.check_info(replace(GOOD, pv=long)).pv == long[:LIVE_PV_MOVES]
    assert (
        checker.check_result(Result("d", replace(GOOD, pv=long))).info.pv == long[:STORED_PV_MOVES]
    )
    assert LIVE_PV_MOVES < STORED_PV_MOVES < len(long)


# --- matches --------------------------------------------------------------------------------------


async def liar(stack: AsyncExitStack, broker: Mosquitto, name: str, news: Script) -> ScriptedWorker:
    """A worker with many cores and a great speed: a server that trusts adverts picks it first."""
    link = await stack.enter_async_context(open_link(broker.address, name, work.worker_topic(name)))
    worker = ScriptedWorker(link, 64, {GAME.id: ReadyGame(GAME.digest, 10**9)})
    worker.news = news
    return worker


async def test_a_match_continues_beside_bad_workers(tmp_path: Path) -> None:
    """Two AI seats finish their match with the one good worker.

    Nothing of the liars' words is shown or stored.
    """
    world = FakeServer()
    world.settings = settings_with(world.settings, ai_duel_pace_ms=0)
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        hub, engines = await stack.enter_async_context(node(world, broker, "n1"))
        lies = (
            "no move",
            "a quarantine",
            "answers scores of no moves",
            "thinks a line that begins with no move",
        )
        liars = [
            await liar(stack, broker, f"liar{number}", LIES[lie]) for number, lie in enumerate(lies)
        ]
        good: WorkerHandle = start_worker(broker, "good")
        stack.push_async_callback(good.kill)
        await until(lambda: len(engines._workers) == 1 + len(lies))
        duel = Duel(hub, "host")
        await duel.begin()
        over = await duel.host.until(lambda message: message.get("kind") == "finished")
        assert over["how"] == "board"
        assert duel.judge() >= 7
        assert [len(one.orders) for one in liars] == [1] * len(lies)
        assert engines._metrics.bad_answers == len(lies)
        stored = [event.body for event in await world.store.events(duel.room, 0)]
        stored += [one.body for one in await world.store.thoughts(over["match"])]
        assert POISON not in json.dumps(duel.host.messages, ensure_ascii=False)
        assert not [body for body in stored if b"evil" in body or POISON.encode() in body]


async def test_a_match_with_only_a_bad_worker_fails(tmp_path: Path) -> None:
    """The match ends as a failure with a reason in our words."""
    world = FakeServer()
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        hub, engines = await stack.enter_async_context(node(world, broker, "n1"))
        await liar(stack, broker, "liar", LIES["a quarantine"])
        await until(lambda: bool(engines._workers))
        duel = Duel(hub, "host")
        duel.room = await duel.host.create(GAME.id, seats=(AI1, AI1))
        await duel.host.ack(duel.host.join(duel.room))
        await duel.host.until(
            lambda m: (
                m.get("kind") == "finished"
                or (m["t"] == "snapshot" and bool(m["match"].get("over")))
            )
        )
        stored = [json.loads(event.body) for event in await world.store.events(duel.room, 0)]
        assert (stored[-1]["how"], stored[-1]["reason"]) == (
            "failure",
            "the AI could not move: no engine found a move",
        )
        assert POISON not in json.dumps(duel.host.messages, ensure_ascii=False)
