"""Engine workers that send invalid answers, over a real broker: server/seats/answers.py and
server/seats/remote.py.

The server checks everything that a worker sends, and a bad worker ends no match while another
engine can search.
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
from engine.search.job import (
    MAX_DEPTHS,
    MAX_EXACT_DEPTHS,
    MAX_LINE_MOVES,
    Counts,
    DepthBest,
    GameQuarantined,
    Info,
    Job,
    Result,
    RootMove,
    SearchFailed,
)
from server.bus import work
from server.bus.link import open_link
from server.bus.work import ReadyGame
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EngineUnavailable, OnInfo
from server.process.metrics import Metrics
from server.seats import ai, broker_transport
from server.seats.answers import LIVE_PV_MOVES, STORED_PV_MOVES, Checker, ImpossibleAnswer
from server.seats.broker_transport import QUARANTINED_S
from server.seats.workers import RemoteWorkers
from tests.server.test_engine_workers import AI1, Duel, WorkerHandle, node, start_worker
from tests.server.test_remote_engines import (
    GAME,
    LocalPool,
    Network,
    ScriptedWorker,
    accepted,
    advert_of,
    answers,
    info,
    job,
    open_broker_network,
    refuses,
)
from tests.support.clock import until
from tests.support.fake_server import FakeServer
from tests.support.virtual_time import run_virtual

#: A text with control characters and markup that must reach no client.
HOSTILE_TEXT = "ev\u202eil\x1b[2J<b>words</b>"

Script = Callable[[work.Search], list[work.WorkerMessage]]
replace = msgspec.structs.replace
MOVES = (RootMove("d", 7), RootMove("c", -2, "upper"))
GOOD = Info(5, 7, 1000, 2000, 50, ("d", "c"), MOVES)


def answers_with(move: str = "d", analysis: Info = GOOD) -> Script:
    """Returns the script of a worker that answers with this move and analysis."""
    return lambda command: [
        *accepted(command),
        work.Answered(command.id, command.attempt, Result(move, analysis)),
    ]


def progress(analysis: Info) -> Script:
    """Returns the script of a worker that sends progress and no answer."""
    return lambda command: [
        *accepted(command),
        work.Progress(command.id, command.attempt, analysis),
    ]


#: Analyses that the server must refuse.
INVALID_INFOS: dict[str, Info] = {
    "a score above a win": replace(GOOD, score=30_001),
    "a number beyond 64 bits": replace(GOOD, score=-(2**70)),
    "a number beyond 53 bits": replace(GOOD, nodes=2**53),
    "a negative node count": replace(GOOD, nodes=-1),
    "a negative speed": replace(GOOD, nps=-1),
    "a negative depth": replace(GOOD, depth=-1),
    "an absurd depth": replace(GOOD, depth=10**6),
    "a negative time": replace(GOOD, time_ms=-1),
    "an absurd time": replace(GOOD, time_ms=10**12),
    "a variation that begins with an unknown move": replace(GOOD, pv=(HOSTILE_TEXT, "d")),
    "a score of an unknown move": replace(GOOD, moves=(RootMove(HOSTILE_TEXT, 1),)),
    "two scores of one move": replace(GOOD, moves=(RootMove("d", 1), RootMove("d", 2))),
    "an absurd score": replace(GOOD, moves=(RootMove("d", 10**9),)),
}
#: Workers whose answers the server must refuse.
BAD_SCRIPTS: dict[str, Script] = {
    "an unknown move": answers_with(HOSTILE_TEXT),
    "an empty move": answers_with(""),
    "an illegal move": answers_with("h"),
    "a move with a space": answers_with(" d"),
    "a quarantine": lambda command: [
        work.Refused(command.id, command.attempt, "quarantined", HOSTILE_TEXT)
    ],
    **{
        f"answer with {fault}": answers_with("d", analysis)
        for fault, analysis in INVALID_INFOS.items()
    },
    **{f"progress with {fault}": progress(analysis) for fault, analysis in INVALID_INFOS.items()},
}


async def add_two_workers(network: Network) -> tuple[ScriptedWorker, ScriptedWorker]:
    """Adds two workers; the first one gets all searches while the server trusts it."""
    first, second = await network.add_worker(), await network.add_worker(cores=2)
    second.advertise(running=1)
    await network.until(lambda: advert_of(network, second).running > 0)
    second.script = answers("e")
    return first, second


@pytest.mark.parametrize("fault", BAD_SCRIPTS)
async def test_a_bad_worker_gets_no_more_searches(fault: str, tmp_path: Path) -> None:
    """After a bad answer the search moves to the good worker.

    The bad worker gets no more searches of that game. The log reports it once, without its text.
    """
    async with open_broker_network(tmp_path) as network:
        bad, _ = await add_two_workers(network)
        bad.script = BAD_SCRIPTS[fault]
        infos: list[Info] = []
        with capture_logs() as logged:
            for number in range(3):
                assert (await network.engines.search(job(f"r{number}"), infos.append)).move == "e"
        assert len(bad.commands) == 1
        assert infos == [info("e")] * 3
        assert network.engines._metrics.bad_answers == 1
        assert [
            line["worker"] for line in logged if line["event"].startswith("worker not asked")
        ] == [bad.name]
        assert not [line for line in logged if "\u202e" in str(line) or "\x1b" in str(line)]


def test_a_worker_with_a_quarantine_is_asked_again_after_a_while() -> None:
    """A worker's quarantine may end, unlike the distrust in one that has answered wrongly."""

    async def scenario() -> None:
        workers = RemoteWorkers(lambda: True, load_game, Metrics())
        advert = work.Advert("w", 1, {GAME.id: ReadyGame(GAME.digest)}, 0, 0)

        def is_offered() -> bool:
            workers.on_advert(advert)
            return workers.offers(job(), lambda name, uses: 0) != []

        assert is_offered()
        for _ in range(2):
            workers.distrust("w", GAME, "quarantine", QUARANTINED_S)
            assert not is_offered()
            await asyncio.sleep(QUARANTINED_S - 1)
            assert not is_offered()
            await asyncio.sleep(2)
            assert is_offered()
        workers.distrust("w", GAME, "a wrong answer")
        await asyncio.sleep(30 * QUARANTINED_S)
        assert not is_offered()

    run_virtual(scenario())


@pytest.mark.parametrize("broken", ["a wrong field", "too long"])
async def test_a_malformed_answer_moves_the_search(broken: str, tmp_path: Path) -> None:
    """A malformed answer moves the search to another worker at once."""
    async with open_broker_network(tmp_path) as network:
        bad, good = await add_two_workers(network)

        def malformed(command: work.Search) -> list[work.WorkerMessage]:
            payload = work.encode(work.Answered(command.id, command.attempt, Result("d", GOOD)))
            payload = (
                payload.replace(b'"depth":5', b'"depth":[]')
                if broken == "a wrong field"
                else payload
            )
            payload += b" " * work.MAX_BYTES if broken == "too long" else b""
            bad.link.publish(work.answers_topic(command.server), payload, reliable=True)
            return []

        bad.script = malformed
        assert (await network.search()).move == "e"
        assert (await network.search()).move == "e"
        assert (len(bad.commands), len(good.commands), network.engines.counts.lost) == (1, 2, 0)


async def test_malformed_messages_about_another_attempt_change_nothing(tmp_path: Path) -> None:
    """Only a message with the search's id and current attempt can discredit a worker."""
    async with open_broker_network(tmp_path) as network:
        worker = await network.add_worker()

        def malformed(command: work.Search) -> list[work.WorkerMessage]:
            for search, attempt in (("another", 1), (command.id, 2)):
                message = work.encode(work.Answered(search, attempt, Result("d", GOOD)))
                topic = work.answers_topic(command.server)
                worker.link.publish(
                    topic, message.replace(b'"depth":5', b'"depth":[]'), reliable=True
                )
            return answers("d")(command)

        worker.script = malformed
        assert (await network.search()).move == "d"
        assert (await network.search()).move == "d"
        assert network.engines._metrics.bad_answers == 0


async def test_without_a_trusted_worker_the_search_fails(tmp_path: Path) -> None:
    """Without a trusted worker, searches of the game fail at once with the server's own text.

    They work again when another worker comes. Searches of other games are not affected.
    """
    sticks = load_game("sticks")
    games = {GAME.id: ReadyGame(GAME.digest), sticks.id: ReadyGame(sticks.digest)}
    async with open_broker_network(tmp_path) as network:
        bad = await network.add_worker(games=games)
        bad.script = BAD_SCRIPTS["a quarantine"]
        for number in range(2):
            with pytest.raises(
                SearchFailed,
                match=f"^no worker that offers {GAME.id} gave a usable answer$",
            ) as caught:
                await network.search(job(f"r{number}"))
            # The worker named no end of its quarantine; it is asked again after a while.
            left_s = caught.value.left_s if isinstance(caught.value, GameQuarantined) else 0
            assert (0 < left_s <= QUARANTINED_S) == (number == 1)
        assert len(bad.commands) == 1
        assert not network.engines.is_warm(GAME.id)
        assert network.engines.is_warm(sticks.id)
        (token, *_) = sticks.start().tokens()
        bad.script = answers(token)
        assert (await network.search(job(game=sticks.id, level=3))).move == token
        bad.advertise(running=0)
        good = await network.add_worker()
        good.script = answers("c")
        assert (await network.search()).move == "c"
        assert len(bad.commands) == 2


async def test_an_untrusted_worker_stays_untrusted_under_its_name(tmp_path: Path) -> None:
    """A worker whose advert ends and returns is the same process and stays untrusted.

    A restarted worker has another name.
    """
    async with open_broker_network(tmp_path) as network:
        bad = await network.add_worker()
        bad.script = answers_with("h")
        with pytest.raises(SearchFailed):
            await network.search()
        network.workers.remove(bad)
        bad.link._status = b""
        bad.link.publish(work.worker_topic(bad.name), b"", reliable=True)
        await network.until(lambda: bad.name not in network.engines._workers.known)
        with pytest.raises(EngineUnavailable):
            await network.search()
        bad.link.set_status(work.encode(bad.advert))
        await network.until(lambda: bad.name in network.engines._workers.known)
        with pytest.raises(SearchFailed):
            await network.search()
        assert len(bad.commands) == 1


async def test_the_local_pool_answers_after_a_bad_worker(tmp_path: Path) -> None:
    """The local pool gets the search when no trusted worker is left."""
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        bad = await network.add_worker()
        bad.script = BAD_SCRIPTS["a quarantine"]
        assert [(await network.search()).move for _ in range(2)] == ["g", "g"]
        assert (len(bad.commands), len(pool.jobs)) == (1, 2)


async def test_a_quarantine_in_the_local_pool_does_not_bind_workers(tmp_path: Path) -> None:
    """After a quarantine in the local pool, workers get the searches, even busy workers.

    Without workers the search raises the pool's GameQuarantined.
    """

    class Quarantined(LocalPool):
        async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
            self.jobs.append(job)
            raise GameQuarantined("three failed in a row")

    async with open_broker_network(tmp_path, pool := Quarantined()) as network:
        with pytest.raises(GameQuarantined):
            await network.search()
        worker = await network.add_worker()
        worker.script = answers("d")
        worker.advertise(running=1)
        await network.until(lambda: advert_of(network, worker).running == 1)
        assert (await network.search()).move == "d"
        assert len(pool.jobs) == 2
        worker.script = BAD_SCRIPTS["an unknown move"]
        with pytest.raises(GameQuarantined):
            await network.search()


async def test_a_failed_search_does_not_discredit_its_worker(tmp_path: Path) -> None:
    """A search that fails at one worker moves to another; the first one gets the next search as
    before.
    """
    async with open_broker_network(tmp_path) as network:
        first, _ = await add_two_workers(network)
        first.script = refuses("failed")
        assert (await network.search(job("r1"))).move == "e"
        first.script = answers("a")
        assert (await network.search(job("r2"))).move == "a"
        assert network.engines._metrics.bad_answers == 0


async def test_a_flood_of_progress_is_read_at_a_limited_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node checks and forwards one progress message of a search every PROGRESS_S at most."""
    async with open_broker_network(tmp_path) as network:
        worker = await network.add_worker()
        clock_s = broker_transport._now_s()
        monkeypatch.setattr(broker_transport, "_now_s", lambda: clock_s)
        worker.script = progress(GOOD)
        infos: list[Info] = []
        searching = asyncio.create_task(network.engines.search(job(), infos.append))
        await network.until(lambda: bool(infos))
        command = worker.commands[0]
        for burst in range(2, 5):
            for depth in range(20):
                worker.send(
                    command,
                    work.Progress(
                        command.id, command.attempt, replace(GOOD, depth=100 * burst + depth)
                    ),
                )
            worker.send(command, work.Taken("end of the burst", burst))
            late = network.engines.counts.late
            await network.until(lambda late=late: network.engines.counts.late == late + 1)  # type: ignore[misc]
            assert len(infos) == burst - 1
            clock_s += broker_transport.PROGRESS_S
            worker.send(
                command, work.Progress(command.id, command.attempt, replace(GOOD, depth=burst))
            )
            await network.until(lambda burst=burst: len(infos) == burst)  # type: ignore[misc]
            assert infos[-1].depth == burst
        worker.send(command, work.Answered(command.id, command.attempt, Result("d", GOOD)))
        assert (await searching).move == "d"


def test_a_variation_ends_before_its_first_illegal_move() -> None:
    """Every move of a shown variation is a token of a legal move."""
    checker = Checker(GAME.start())
    full = ("d",) * 6
    for line, expected in (
        (("d", "c", "z"), ("d", "c")),
        ((*full, "d", "a"), full),
        (("a", "b", "a", "b", "a", "b", "a", "b"), ("a", "b", "a", "b", "a", "b", "a")),
        (("a", HOSTILE_TEXT), ("a",)),
        ((), ()),
    ):
        assert checker.check_info(replace(GOOD, pv=line)).pv == expected
        assert checker.check_result(Result("d", replace(GOOD, pv=line))).info.pv == expected
    chess = Checker(load_game("chess").start())
    assert chess.check_info(replace(GOOD, pv=("e2e4", "e5"), moves=())).pv == ("e2e4",)
    with pytest.raises(ImpossibleAnswer):
        chess.check_result(Result("e4", Info(1, 0, 1, 1, 1, ())))


def test_a_variation_is_cut_to_a_maximum_length() -> None:
    """A variation has at most LIVE_PV_MOVES moves in progress and STORED_PV_MOVES in an answer.

    Each checked move costs a move generation.
    """
    long = ("a", "b") * 2 + ("b", "a") + ("c", "d") * 2 + ("d", "c") + ("e", "f") * 2 + ("f", "e")
    checker = Checker(GAME.start())
    assert checker.check_info(replace(GOOD, pv=long)).pv == long[:LIVE_PV_MOVES]
    assert (
        checker.check_result(Result("d", replace(GOOD, pv=long))).info.pv == long[:STORED_PV_MOVES]
    )
    assert LIVE_PV_MOVES < STORED_PV_MOVES < len(long)


#: Records of searches that the server must refuse; they are checked as other numbers are.
INVALID_RECORDS: dict[str, Info] = {
    "more first cut-offs than cut-offs": replace(GOOD, counts=Counts(3, 4)),
    "a negative count": replace(GOOD, counts=Counts(-1, -1)),
    "a count beyond 53 bits": replace(GOOD, counts=Counts(2**53)),
    "more values from the table than hits": replace(GOOD, counts=Counts(0, 0, 1, 2)),
    "negative nodes of a move": replace(GOOD, moves=(RootMove("d", 7, nodes=-1),)),
    "an absurd exact depth": replace(GOOD, moves=(RootMove("d", 7, exact=(10**6,)),)),
    "too many exact depths": replace(
        GOOD, moves=(RootMove("d", 7, exact=tuple(range(MAX_EXACT_DEPTHS + 1))),)
    ),
    "an absurd depth": replace(GOOD, depths=(DepthBest(10**6, 7, ("d",)),)),
    "an absurd score of a depth": replace(GOOD, depths=(DepthBest(1, 10**6, ("d",)),)),
    "a depth without a move": replace(GOOD, depths=(DepthBest(1, 7, ()),)),
    "an illegal best move": replace(GOOD, depths=(DepthBest(1, 7, (HOSTILE_TEXT,)),)),
    "too many depths": replace(
        GOOD, depths=tuple(DepthBest(depth, 7, ("d",)) for depth in range(MAX_DEPTHS + 1))
    ),
    "a line of another move": replace(GOOD, moves=(RootMove("d", 7, line=("c", "d")),)),
    "a long line of a move": replace(GOOD, moves=(RootMove("d", 7, line=("d",) * 9),)),
    "a long line": replace(GOOD, depths=(DepthBest(9, 7, ("d", "c") * MAX_LINE_MOVES),)),
}


@pytest.mark.parametrize("fault", INVALID_RECORDS)
def test_an_impossible_record_of_a_search_is_refused(fault: str) -> None:
    """Counts, depths and lines that no search has are refused, in progress and in an answer."""
    checker = Checker(GAME.start())
    for _ in range(2):  # what was refused once is not remembered as checked
        with pytest.raises(ImpossibleAnswer):
            checker.check_info(INVALID_RECORDS[fault])
        with pytest.raises(ImpossibleAnswer):
            checker.check_result(Result("d", INVALID_RECORDS[fault]))


def test_the_lines_of_moves_are_legal() -> None:
    """A move's line ends before its first illegal move."""
    moves = (RootMove("d", 7, line=("d", "c", "z")), RootMove("c", 3, line=("c", HOSTILE_TEXT)))
    checked = Checker(GAME.start()).check_info(replace(GOOD, moves=moves))
    assert [move.line for move in checked.moves] == [("d", "c"), ("c",)]


def test_the_lines_of_the_depths_are_legal() -> None:
    """A line that was the best at some depth ends before its first illegal move."""
    checker = Checker(GAME.start())
    record = (DepthBest(1, 3, ("c", HOSTILE_TEXT)), DepthBest(2, 7, ("d", "c", "z")))
    first = replace(GOOD, pv=("d", "c"), depths=record)
    assert [best.line for best in checker.check_info(first).depths] == [("c",), ("d", "c")]
    later = replace(first, depths=(*record, DepthBest(3, 8, ("e", "e"))))
    for _ in range(2):
        checked = checker.check_info(later)
        assert [best.line for best in checked.depths] == [("c",), ("d", "c"), ("e", "e")]
        assert [best.score for best in checked.depths] == [3, 7, 8]


# --- matches --------------------------------------------------------------------------------------


async def add_bad_worker(
    stack: AsyncExitStack, broker: Mosquitto, name: str, script: Script
) -> ScriptedWorker:
    """Adds a bad worker that is chosen first: its advert claims many cores and a high speed."""
    link = await stack.enter_async_context(open_link(broker.address, name, work.worker_topic(name)))
    worker = ScriptedWorker(link, 64, {GAME.id: ReadyGame(GAME.digest, 10**9)})
    worker.script = script
    return worker


async def test_a_match_continues_beside_bad_workers(tmp_path: Path) -> None:
    """Two AI seats finish their match with the one good worker.

    No text of the bad workers is shown or stored.
    """
    fake = FakeServer()
    fake.settings = settings_with(fake.settings, ai_duel_pace_ms=0)
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        hub, engines = await stack.enter_async_context(node(fake, broker, "n1"))
        faults = (
            "an unknown move",
            "a quarantine",
            "answer with a score of an unknown move",
            "progress with a variation that begins with an unknown move",
        )
        bad_workers = [
            await add_bad_worker(stack, broker, f"bad{number}", BAD_SCRIPTS[fault])
            for number, fault in enumerate(faults)
        ]
        good: WorkerHandle = start_worker(broker, "good")
        stack.push_async_callback(good.kill)
        await until(lambda: len(engines._workers.known) == 1 + len(faults))
        duel = Duel(hub, "host")
        await duel.start()
        over = await duel.host.until(lambda message: message.get("kind") == "finished")
        assert over["how"] == "board"
        assert duel.check() >= 7
        assert [len(worker.commands) for worker in bad_workers] == [1] * len(faults)
        assert engines._metrics.bad_answers == len(faults)
        stored = [event.body for event in await fake.store.logs.events(duel.room, 0)]
        stored += [thought.body for thought in await fake.store.projections.thoughts(over["match"])]
        assert HOSTILE_TEXT not in json.dumps(duel.host.messages, ensure_ascii=False)
        assert not [body for body in stored if b"evil" in body or HOSTILE_TEXT.encode() in body]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("a quarantine", "too many searches of this game failed"),
        ("an illegal move", "no engine found a move"),
    ],
)
async def test_a_match_with_only_a_bad_worker_fails(
    fault: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The match ends as a failure, and the reason is the server's own text.

    It would wait five minutes for the end of a quarantine.
    """
    monkeypatch.setattr(ai, "MAX_LOST_WAIT_S", 0)
    fake = FakeServer()
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        hub, engines = await stack.enter_async_context(node(fake, broker, "n1"))
        await add_bad_worker(stack, broker, "bad", BAD_SCRIPTS[fault])
        await until(lambda: bool(engines._workers.known))
        duel = Duel(hub, "host")
        duel.room = await duel.host.create(GAME.id, seats=(AI1, AI1))
        await duel.host.ack(duel.host.join(duel.room))
        await duel.host.until(
            lambda m: (
                m.get("kind") == "finished"
                or (m["t"] == "snapshot" and bool(m["match"].get("over")))
            )
        )
        stored = [json.loads(event.body) for event in await fake.store.logs.events(duel.room, 0)]
        assert (stored[-1]["how"], stored[-1]["reason"]) == (
            "failure",
            f"the AI could not move: {reason}",
        )
        assert HOSTILE_TEXT not in json.dumps(duel.host.messages, ensure_ascii=False)
