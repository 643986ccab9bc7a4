"""Engine workers that lie, over a real broker.

The tests cover the guarantees of `answers` and `remote` in server/seats. No output of a worker
reaches a room unchecked, and a bad worker ends no match as long as another one can search.
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
from server.bus.work import Offer
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EnginesAway, OnInfo
from server.seats import remote
from server.seats.answers import LINE_KEPT, LINE_LIVE, Checker, Untrue
from tests.server.test_engine_workers import AI1, Duel, HiredWorker, hire, node
from tests.server.test_remote_engines import (
    GAME,
    Fleet,
    Pool,
    ScriptedWorker,
    answers,
    info,
    job,
    open_fleet,
    refuses,
    taken,
)
from tests.support.clock import until
from tests.support.fake_server import World

#: A text of a malicious worker, which must never be shown.
POISON = "ev\u202eil\x1b[2J<b>words</b>"

Script = Callable[[work.Search], list[work.News]]
replace = msgspec.structs.replace
MOVES = (RootMove("d", 7), RootMove("c", -2, "upper"))
GOOD = Info(5, 7, 1000, 2000, 50, ("d", "c"), MOVES)


def says(move: str = "d", info: Info = GOOD) -> Script:
    return lambda order: [*taken(order), work.Answered(order.id, order.attempt, Result(move, info))]


def progress(info: Info) -> Script:
    return lambda order: [*taken(order), work.Progress(order.id, order.attempt, info)]


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
    **{f"answers {what}": says("d", info) for what, info in FALSE.items()},
    **{f"thinks {what}": progress(info) for what, info in FALSE.items()},
}


async def first_and_second(fleet: Fleet) -> tuple[ScriptedWorker, ScriptedWorker]:
    """Hires two workers; the engines prefer the first one as long as they trust it."""
    first, second = await fleet.hire(), await fleet.hire(cores=2)
    second.advertise(running=1)
    await fleet.until(lambda: fleet.engines._workers[second.name].load > 0)
    second.news = answers("e")
    return first, second


@pytest.mark.parametrize("lie", LIES)
async def test_a_worker_that_lies_is_not_asked_again(lie: str, tmp_path: Path) -> None:
    """A lying worker loses the search to the good one and gets no more of that game.

    The log reports it once, without the worker's own words.
    """
    async with open_fleet(tmp_path) as fleet:
        bad, _ = await first_and_second(fleet)
        bad.news = LIES[lie]
        seen: list[Info] = []
        with capture_logs() as logged:
            for number in range(3):
                assert (await fleet.engines.search(job(f"r{number}"), seen.append)).move == "e"
        assert len(bad.orders) == 1
        assert seen == [info("e")] * 3
        assert fleet.engines._metrics.bad_answers == 1
        assert [
            line["worker"] for line in logged if line["event"] == "worker not asked any more"
        ] == [bad.name]
        assert not [line for line in logged if "\u202e" in str(line) or "\x1b" in str(line)]


@pytest.mark.parametrize("broken", ["a wrong field", "too long"])
async def test_an_invalid_answer_goes_to_another_worker(broken: str, tmp_path: Path) -> None:
    """After an invalid answer the search goes to another worker at once, without a timeout."""
    async with open_fleet(tmp_path) as fleet:
        bad, good = await first_and_second(fleet)

        def speak(order: work.Search) -> list[work.News]:
            payload = work.encode(work.Answered(order.id, order.attempt, Result("d", GOOD)))
            payload = (
                payload.replace(b'"depth":5', b'"depth":[]')
                if broken == "a wrong field"
                else payload
            )
            payload += b" " * work.MAX_BYTES if broken == "too long" else b""
            bad.link.publish(work.news_topic(order.server), payload, kept=True)
            return []

        bad.news = speak
        assert (await fleet.search()).move == "e"
        assert (await fleet.search()).move == "e"
        assert (len(bad.orders), len(good.orders), fleet.engines.counts.lost) == (1, 2, 0)


async def test_nonsense_about_another_attempt_changes_nothing(tmp_path: Path) -> None:
    """Only a message with the search's id and current attempt can discredit a worker."""
    async with open_fleet(tmp_path) as fleet:
        worker = await fleet.hire()

        def speak(order: work.Search) -> list[work.News]:
            for search, attempt in (("another", 1), (order.id, 2)):
                news = work.encode(work.Answered(search, attempt, Result("d", GOOD)))
                topic = work.news_topic(order.server)
                worker.link.publish(topic, news.replace(b'"depth":5', b'"depth":[]'), kept=True)
            return answers("d")(order)

        worker.news = speak
        assert (await fleet.search()).move == "d"
        assert (await fleet.search()).move == "d"
        assert fleet.engines._metrics.bad_answers == 0


async def test_without_another_worker_the_search_fails_with_our_reason(tmp_path: Path) -> None:
    """Without another worker the search fails at once, with our own reason.

    So does every later search of that game until a trusted worker joins. For other games the worker
    remains trusted.
    """
    sticks = load_game("sticks")
    games = {GAME.id: Offer(GAME.digest), sticks.id: Offer(sticks.digest)}
    async with open_fleet(tmp_path) as fleet:
        bad = await fleet.hire(games=games)
        bad.news = LIES["a quarantine"]
        for number in range(2):
            with pytest.raises(
                SearchFailed,
                match=f"^no worker that offers {GAME.id} gives an answer that can be used$",
            ):
                await fleet.search(job(f"r{number}"))
        assert len(bad.orders) == 1
        assert not fleet.engines.is_warm(GAME.id)
        assert fleet.engines.is_warm(sticks.id)
        (token, *_) = sticks.start().tokens()
        bad.news = answers(token)
        assert (await fleet.search(job(game=sticks.id, level=3))).move == token
        bad.advertise(running=0)
        good = await fleet.hire()
        good.news = answers("c")
        assert (await fleet.search()).move == "c"
        assert len(bad.orders) == 2


async def test_a_liar_that_returns_stays_distrusted(tmp_path: Path) -> None:
    """A liar stays distrusted when its advert disappears and returns: it is the same process.

    A restarted worker has another name.
    """
    async with open_fleet(tmp_path) as fleet:
        bad = await fleet.hire()
        bad.news = says("h")
        with pytest.raises(SearchFailed):
            await fleet.search()
        fleet.workers.remove(bad)
        bad.link._status = b""
        bad.link.publish(work.worker_topic(bad.name), b"", kept=True)
        await fleet.until(lambda: bad.name not in fleet.engines._workers)
        with pytest.raises(EnginesAway):
            await fleet.search()
        bad.link.set_status(work.encode(bad.advert))
        await fleet.until(lambda: bad.name in fleet.engines._workers)
        with pytest.raises(SearchFailed):
            await fleet.search()
        assert len(bad.orders) == 1


async def test_after_a_liar_the_own_pool_searches(tmp_path: Path) -> None:
    """Without another worker the node's own pool plays the move."""
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        bad = await fleet.hire()
        bad.news = LIES["a quarantine"]
        assert [(await fleet.search()).move for _ in range(2)] == ["g", "g"]
        assert (len(bad.orders), len(pool.jobs)) == (1, 2)


async def test_a_quarantine_of_the_own_pool_spares_workers(tmp_path: Path) -> None:
    """A quarantine in the node's own pool does not affect workers.

    Busy workers still get the search; without workers the search fails because of the quarantine.
    """

    class Quarantined(Pool):
        async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
            self.jobs.append(job)
            raise GameQuarantined("three failed in a row")

    async with open_fleet(tmp_path, pool := Quarantined()) as fleet:
        with pytest.raises(GameQuarantined):
            await fleet.search()
        worker = await fleet.hire()
        worker.news = answers("d")
        worker.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[worker.name].load == 1)
        assert (await fleet.search()).move == "d"
        assert len(pool.jobs) == 2
        worker.news = LIES["no move"]
        with pytest.raises(GameQuarantined):
            await fleet.search()


async def test_a_failed_search_goes_to_another_worker(tmp_path: Path) -> None:
    """A failed search goes to another worker; the first one still gets the next search."""
    async with open_fleet(tmp_path) as fleet:
        first, _ = await first_and_second(fleet)
        first.news = refuses("failed")
        assert (await fleet.search(job("r1"))).move == "e"
        first.news = answers("a")
        assert (await fleet.search(job("r2"))).move == "a"
        assert fleet.engines._metrics.bad_answers == 0


async def test_progress_is_limited_to_ten_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node checks and forwards at most ten progress messages a second per search."""
    async with open_fleet(tmp_path) as fleet:
        worker = await fleet.hire()
        clock_s = remote._now_s()
        monkeypatch.setattr(remote, "_now_s", lambda: clock_s)
        worker.news = progress(GOOD)
        seen: list[Info] = []
        searching = asyncio.create_task(fleet.engines.search(job(), seen.append))
        await fleet.until(lambda: bool(seen))
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
            late = fleet.engines.counts.late
            await fleet.until(lambda late=late: fleet.engines.counts.late == late + 1)  # type: ignore[misc]
            assert len(seen) == burst - 1
            clock_s += remote.PROGRESS_S
            worker.say(order, work.Progress(order.id, order.attempt, replace(GOOD, depth=burst)))
            await fleet.until(lambda burst=burst: len(seen) == burst)  # type: ignore[misc]
            assert seen[-1].depth == burst
        worker.say(order, work.Answered(order.id, order.attempt, Result("d", GOOD)))
        assert (await searching).move == "d"


def test_a_line_of_play_ends_before_its_first_illegal_move() -> None:
    """A principal variation is cut before its first invalid move.

    Invalid are a move after the end of the match, an illegal move, and another spelling.
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
        assert checker.info(replace(GOOD, pv=line)).pv == kept
        assert checker.result(Result("d", replace(GOOD, pv=line))).info.pv == kept
    chess = Checker(load_game("chess").start())
    assert chess.info(replace(GOOD, pv=("e2e4", "e5"), moves=())).pv == ("e2e4",)
    with pytest.raises(Untrue):
        chess.result(Result("e4", Info(1, 0, 1, 1, 1, ())))


def test_only_the_shown_part_of_a_line_is_checked() -> None:
    """Only the part of a line that is shown is checked, since each move costs move generation.

    A line has a maximal length, which is shorter during the search.
    """
    long = ("a", "b") * 2 + ("b", "a") + ("c", "d") * 2 + ("d", "c") + ("e", "f") * 2 + ("f", "e")
    checker = Checker(GAME.start())
    assert checker.info(replace(GOOD, pv=long)).pv == long[:LINE_LIVE]
    assert checker.result(Result("d", replace(GOOD, pv=long))).info.pv == long[:LINE_KEPT]
    assert LINE_LIVE < LINE_KEPT < len(long)


# --- matches


async def liar(stack: AsyncExitStack, broker: Mosquitto, name: str, news: Script) -> ScriptedWorker:
    """Hires a worker that claims many cores and a great speed, so that engines prefer it."""
    link = await stack.enter_async_context(open_link(broker.address, name, work.worker_topic(name)))
    worker = ScriptedWorker(link, 64, {GAME.id: Offer(GAME.digest, 10**9)})
    worker.news = news
    return worker


async def test_a_match_continues_beside_liars(tmp_path: Path) -> None:
    """Two AI seats play to the end with one good worker among liars.

    Nothing that the liars say is shown or stored.
    """
    world = World()
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
        good: HiredWorker = hire(broker, "good")
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


async def test_a_match_that_only_a_liar_could_play(tmp_path: Path) -> None:
    """A match that only a liar could play ends as a failure, with our own reason."""
    world = World()
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
