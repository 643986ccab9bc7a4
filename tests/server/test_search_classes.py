"""The classes of searches over a broker: old and new workers, their adverts and their capacity."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from engine.search.job import BACKGROUND, LIVE, USES, ClassLoad, Job, Load, Use
from server.bus import work
from server.bus.local import LocalBus
from server.bus.work import Advert, ReadyGame
from server.ports import EngineUnavailable
from server.process.metrics import Metrics
from server.seats import broker_transport
from server.seats.workers import RemoteWorker
from server.web.metrics import Gauges, NodeCollector
from server.worker import describe_load
from tests.server.test_engine_workers import server_and_worker
from tests.server.test_remote_engines import (
    GAME,
    LocalPool,
    Network,
    ScriptedWorker,
    accepted,
    advert_of,
    answers,
    job,
    open_memory_network,
)
from tests.server.test_work_versions import OlderSearch
from tests.support.fake_server import virtual
from tests.support.memory_links import MemoryBroker

replace = msgspec.structs.replace


def job_for(use: Use, room: str = "r1") -> Job:
    """Returns a job of this class."""
    return replace(job(room), use=use)


async def advertise(network: Network, worker: ScriptedWorker, **fields: Any) -> None:
    """Publishes the worker's advert with other fields, and waits until the node has it."""
    worker.advert = replace(worker.advert, **fields)
    worker.link.set_status(work.encode(worker.advert))
    await network.until(lambda: advert_of(network, worker) == worker.advert)


# --- old and new programs


def test_a_live_search_is_encoded_as_before() -> None:
    """The encoding of a live search has no class, so that a worker without classes reads it."""
    live, study = (work.Search("i", 1, "n1", job_for(use), 5000) for use in ("live", "study"))
    assert b'"use"' not in work.encode(live)
    assert work.encode(msgspec.json.decode(work.encode(live), type=OlderSearch)) == work.encode(
        live
    )
    with pytest.raises(msgspec.ValidationError, match="use"):
        msgspec.json.decode(work.encode(study), type=OlderSearch)
    assert work.parse_command(work.encode(study)) == study


@virtual
async def test_a_worker_without_classes_gets_live_searches_only() -> None:
    """A worker whose advert has no `study` serves live searches, and gets no others.

    Without another engine, such a search raises EngineUnavailable at once.
    """
    async with open_memory_network(MemoryBroker()) as network:
        older = await network.add_worker(cores=4)
        older.script = answers("d")
        assert (await network.search(job_for("live"))).move == "d"
        for use in BACKGROUND:
            with pytest.raises(EngineUnavailable):
                await network.search(job_for(use))
        assert (await network.search(replace(job_for("live"), priority=2))).move == "d"
        assert [command.job.use for command in older.commands] == ["live"] * 2
        assert not older.commands[-1].job.priority, "older workers do not know the priority"
        newer = await network.add_worker(cores=2)
        newer.script = answers("c")
        await advertise(network, newer, study=1)
        for use in BACKGROUND:
            assert (await network.search(job_for(use))).move == "c"
        assert [command.job.use for command in newer.commands] == list(BACKGROUND)
        assert newer.commands[0].deadline_ms == 1000 * work.BACKGROUND_DEADLINE_S


@virtual
async def test_the_own_pool_takes_all_classes() -> None:
    """Beside workers without classes, the node's own pool gets the other searches."""
    async with open_memory_network(MemoryBroker(), pool := LocalPool()) as network:
        await network.add_worker()
        for use in BACKGROUND:
            assert (await network.search(job_for(use))).move == "g"
        assert [each.use for each in pool.jobs] == list(BACKGROUND)


# --- which worker gets what


def remote(cores: int, study: int, **fields: int) -> RemoteWorker:
    games = {GAME.id: ReadyGame(GAME.digest)}
    return RemoteWorker(Advert("w", cores, games, study=study, **fields), 0.0)  # type: ignore[arg-type]


@given(
    cores=st.integers(1, 4), running=st.integers(0, 5), studying=st.integers(0, 4),
    own=st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
)  # fmt: skip
def test_which_searches_a_worker_gets(
    cores: int, running: int, studying: int, own: tuple[int, int, int]
) -> None:
    """A study goes only to an idle core, and leaves one free; an ask needs one without a live
    search. No number of other searches keeps a live search from a worker.
    """
    worker = remote(cores, max(1, cores - 1), running=running, studying=studying)
    own_count = dict(zip(USES, own, strict=True))

    def running_at(name: str, uses: Any) -> int:
        return sum(own_count[use] for use in uses)

    live = max(running, own_count["live"])
    background = max(studying, own_count["ask"] + own_count["study"])
    assert worker.load(running_at("w", LIVE)) == live / cores
    assert worker.is_full_for("live", running_at) == (live / cores >= 1 + work.QUEUED_PER_CORE)
    assert worker.is_full_for("live", running_at, 1) == (live >= cores), "between AIs none queues"
    if not worker.is_full_for("study", running_at):
        assert live + background < cores
        assert background < max(1, cores - 1)
    if not worker.is_full_for("ask", running_at):
        assert live < cores
        assert own_count["ask"] < max(1, cores - 1)
    if live + background == 0:
        assert not any(worker.is_full_for(use, running_at) for use in USES)


@virtual
async def test_a_study_waits_for_an_idle_core() -> None:
    """Studies wait at the node while a worker has no idle core; live searches go there at once."""
    async with open_memory_network(MemoryBroker()) as network:
        worker = await network.add_worker(cores=2)
        worker.script = accepted
        await advertise(network, worker, study=1)
        searches = [asyncio.create_task(network.search(job_for("study", "a")))]
        await worker.until(lambda: len(worker.commands) == 1)
        searches.append(asyncio.create_task(network.search(job_for("study", "b"))))
        await asyncio.sleep(0)
        for number in range(3):
            searches.append(asyncio.create_task(network.search(job_for("live", f"{number}"))))
            await worker.until(lambda count=2 + number: len(worker.commands) == count)  # type: ignore[misc]
        assert [command.job.use for command in worker.commands] == ["study", *["live"] * 3]
        load = network.engines.load()
        assert load.of("live") == ClassLoad(3, 0)
        assert load.of("study") == ClassLoad(1, 1)
        worker.script = answers("d")
        for command in worker.commands:
            for message in answers("d")(command):
                worker.send(command, message)
        assert {result.move for result in await asyncio.gather(*searches)} == {"d"}
        assert worker.commands[-1].job.use == "study"


@virtual
async def test_a_match_between_ais_waits_at_the_node() -> None:
    """Searches of matches between AIs do not queue at a worker, before those that people wait for.

    They wait for a free core, and go on when no person waits.
    """
    async with open_memory_network(MemoryBroker()) as network:
        worker = await network.add_worker(cores=1)
        worker.script = accepted
        jobs = [replace(job_for("live", f"{number}"), priority=2) for number in range(3)]
        searches = [asyncio.create_task(network.search(job)) for job in (*jobs, job_for("live"))]
        await worker.until(lambda: len(worker.commands) == 2)
        assert network.engines.load().of("live") == ClassLoad(2, 2)
        worker.script = answers("d")
        for command in worker.commands:
            for message in answers("d")(command):
                worker.send(command, message)
        assert {result.move for result in await asyncio.gather(*searches)} == {"d"}
        assert len(worker.commands) == 4


@virtual
async def test_a_late_study_is_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that a worker has not answered by its deadline goes on elsewhere, any number of
    times, because live searches kept the worker busy.
    """
    monkeypatch.setattr(work, "BACKGROUND_DEADLINE_S", 10.0)
    monkeypatch.setattr(broker_transport, "SILENCE_S", 60.0)
    async with open_memory_network(MemoryBroker()) as network:
        worker = await network.add_worker(cores=1)
        worker.script = accepted
        await advertise(network, worker, study=1)
        study = replace(job_for("study"), limit=replace(job().limit, time_ms=None, nodes=1000))
        search = asyncio.create_task(network.engines.search(study, lambda info: None))
        await asyncio.sleep(65)
        assert len(worker.commands) > 5
        assert network.engines.counts.lost == 0
        worker.script = answers("d")
        assert (await search).move == "d"


# --- the worker


async def test_a_workers_capacity_by_class(tmp_path: Path) -> None:
    """A worker's advert counts live searches apart, and a full class refuses no other class."""
    async with server_and_worker(tmp_path, cores=2) as (server, handle):
        handle.pool.hang = True
        keys = [(use, f"{use} {number}") for use in ("study", "ask") for number in range(2)]
        keys += [("live", f"live {number}") for number in range(7)]
        for use, key in keys:
            server.send_search("w1", key, replace(job(), use=use))
        await server.until(lambda: bool(server.of(work.Refused, "live 6")))
        refused = [key for _, key in keys if server.of(work.Refused, key)]
        assert refused == ["study 1", "ask 1", "live 6"]
        assert {server.of(work.Refused, key)[0].reason for key in refused} == {"busy"}
        assert handle.worker.advert().study == 1


async def test_the_advert_of_a_worker_that_studies(tmp_path: Path) -> None:
    """The load of an advert is that of live searches; `studying` counts the others."""
    async with server_and_worker(tmp_path) as (_, handle):
        background: dict[Use, ClassLoad] = {"ask": ClassLoad(0, 1), "study": ClassLoad(1, 2, 9)}
        load = Load(3, 4, 2, background=background)
        handle.pool.load = lambda: load  # type: ignore[method-assign]
        advert = handle.worker.advert()
        assert (advert.running, advert.waiting, advert.studying) == (2, 1, 4)
        status = describe_load(load, handle.worker._answered)
        assert (status["live_running"], status["live_waiting"]) == (2, 1)
        assert (status["study_waiting"], status["study_preempted"]) == (2, 9)
        assert list(status) == [
            f"{use}_{what}"
            for use in USES
            for what in ("running", "waiting", "preempted", "answered")
        ]


# --- the metrics page


def test_the_metrics_page_shows_searches_by_class() -> None:
    """The metrics page has the running, waiting and preempted searches of each class."""
    background: dict[Use, ClassLoad] = {"study": ClassLoad(1, 2, 9)}
    load = Load(3, 4, 2, background=background)
    gauges = Gauges(lambda: 0, lambda: 0, lambda: load, LocalBus())
    registry = CollectorRegistry(auto_describe=False)
    registry.register(NodeCollector(Metrics(), gauges))
    text = generate_latest(registry).decode()
    for line in (
        'plyroom_class_searches_running{class="live"} 2.0',
        'plyroom_class_searches_waiting{class="live"} 2.0',
        'plyroom_class_searches_running{class="study"} 1.0',
        'plyroom_class_searches_waiting{class="study"} 2.0',
        'plyroom_class_searches_preempted_total{class="study"} 9.0',
        'plyroom_class_searches_preempted_total{class="ask"} 0.0',
        "plyroom_searches_running 3.0",
    ):
        assert line in text.splitlines()
