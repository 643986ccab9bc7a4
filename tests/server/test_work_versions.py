"""Nodes and workers of older and newer programs on one broker (`server/bus/work.py`).

A reader ignores unknown fields in adverts and in workers' messages. A worker refuses a search that
it does not understand, and its answer names the reason. A job that needs a capability goes only to
workers whose adverts list it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct

from engine.search.job import NO_COUNTS, Counts, DepthBest, Info, Job, Limit, RootMove
from server.bus import work
from server.bus.work import Advert, Malformed, ReadyGame
from server.ports import EngineUnavailable
from tests.server.test_engine_workers import server_and_worker
from tests.server.test_remote_engines import (
    GAME,
    LocalPool,
    Network,
    ScriptedWorker,
    advert_of,
    answers,
    job,
    open_memory_network,
)
from tests.support.fake_server import virtual
from tests.support.memory_links import MemoryBroker

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "bus.json"
SAMPLES = {sample["is"]: sample["payload"] for sample in json.loads(GOLDEN.read_text())["work"]}
#: The messages that a node sends to a worker.
COMMANDS = ("Search", "Stop", "Expect")
#: Objects whose keys are names of games or options, not fields.
MAPS = ("games", "warming", "options")

replace = msgspec.structs.replace


def parse(kind: str, payload: bytes) -> Any:
    """Parses a message of this kind as its reader does."""
    if kind == "Advert":
        return work.parse_advert(work.worker_topic("w1"), payload)
    return work.parse_command(payload) if kind in COMMANDS else work.parse_worker_message(payload)


def with_unknown_fields(value: Any, key: str = "") -> Iterator[Any]:
    """Yields copies of a message, each with an unknown field in one of its objects."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            for changed in with_unknown_fields(item):
                yield [*value[:number], changed, *value[number + 1 :]]
    elif isinstance(value, dict):
        if key not in MAPS:
            yield {**value, "since_next_year": [1, {"a": None}]}
        for name, item in value.items():
            for changed in with_unknown_fields(item, name):
                yield {**value, name: changed}


@pytest.mark.parametrize("kind", SAMPLES)
def test_unknown_fields(kind: str) -> None:
    """Unknown fields are ignored in adverts and workers' messages, and refused in commands."""
    sample = json.loads(SAMPLES[kind])
    changed = [json.dumps(message).encode() for message in with_unknown_fields(sample)]
    assert changed
    for payload in changed:
        if kind in COMMANDS:
            with pytest.raises(Malformed, match="unknown field"):
                parse(kind, payload)
        else:
            assert parse(kind, payload) == parse(kind, SAMPLES[kind].encode())


def test_messages_without_capabilities_are_unchanged() -> None:
    """A job without needs and a worker without capabilities are encoded without those fields."""
    search = work.Search("i", 1, "n1", job(), 5000)
    advert = Advert("w1", 2, {GAME.id: ReadyGame(GAME.digest)}, can=())
    assert b"needs" not in work.encode(search)
    assert b"can" not in work.encode(advert)
    able = work.encode(replace(advert, can=("lines",)))
    assert parse("Advert", able).can == ("lines",)
    assert json.loads(able) == {**json.loads(work.encode(advert)), "can": ["lines"]}


# --- the previous program


class OlderReadyGame(Struct, frozen=True, forbid_unknown_fields=True):
    rules: Annotated[str, Meta(max_length=128)]
    nps: int = 0


class OlderAdvert(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    worker: str
    cores: int
    games: dict[str, OlderReadyGame]
    running: int = 0
    waiting: int = 0
    warming: dict[str, Any] = {}


class OlderJob(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    game: str
    rules: str
    options: dict[str, str]
    start: str
    moves: tuple[str, ...]
    affinity: str
    level: int | None = None
    persona: str | None = None
    limit: Limit = Limit()
    seed: int = 0
    digest: str = ""


class OlderSearch(Struct, frozen=True, forbid_unknown_fields=True, tag="Search"):
    id: str
    attempt: int
    server: str
    job: OlderJob
    deadline_ms: int
    time_ms: int | None = None


def test_an_older_program_reads_messages_of_this_one() -> None:
    """An older worker reads this node's searches, and an older node a worker's adverts that name
    no capability.

    Neither loses a field: encoding what they read gives the same bytes.
    """
    search = work.encode(work.Search("i", 1, "n1", job(level=3), 5000, 400))
    advert = work.encode(Advert("w1", 2, {GAME.id: ReadyGame(GAME.digest)}, 1))
    for payload, kind in ((search, OlderSearch), (advert, OlderAdvert)):
        assert work.encode(msgspec.json.decode(payload, type=kind)) == payload


def test_an_older_worker_cannot_read_a_job_that_needs_more() -> None:
    """An older worker rejects `Job.needs`, so such a job must not be sent to it."""
    search = work.encode(work.Search("i", 1, "n1", replace(job(), needs=("lines",)), 5000))
    with pytest.raises(msgspec.ValidationError, match="needs"):
        msgspec.json.decode(search, type=OlderSearch)


class OlderRootMove(Struct, frozen=True, omit_defaults=True):
    move: str
    score: int
    bound: str = "exact"


class OlderInfo(Struct, frozen=True, omit_defaults=True):
    depth: int
    score: int
    nodes: int
    nps: int
    time_ms: int
    pv: tuple[str, ...]
    moves: tuple[OlderRootMove, ...] = ()
    warming: bool = False
    value: str = ""
    log: str = ""


def test_reports_of_older_and_newer_searches_are_read() -> None:
    """An older node reads this worker's reports without the counts and depths, and this node reads
    an older worker's, which have none.
    """
    info = Info(
        3, 7, 100, 1000, 5, ("d", "c"), (RootMove("d", 7, nodes=90, exact=(1, 3)),),
        counts=Counts(5, 4, 3, 2), depths=(DepthBest(3, 7, ("d", "c")),),
    )  # fmt: skip
    older = msgspec.json.decode(work.encode(info), type=OlderInfo)
    assert (older.depth, older.score, older.pv) == (3, 7, ("d", "c"))
    assert [(move.move, move.score) for move in older.moves] == [("d", 7)]
    read = msgspec.json.decode(work.encode(older), type=Info)
    assert read == replace(info, counts=NO_COUNTS, depths=(), moves=(RootMove("d", 7),))
    assert work.encode(read) == work.encode(older), "what is not counted is not sent"


# --- jobs that need a capability


async def add_capable_worker(network: Network, *can: str) -> ScriptedWorker:
    """Adds a worker that lists these capabilities."""
    worker = await network.add_worker()
    worker.advert = replace(worker.advert, can=can)
    worker.link.set_status(work.encode(worker.advert))
    await network.until(lambda: advert_of(network, worker).can == can)
    return worker


def needing(*names: str) -> Job:
    return replace(job(), needs=names)


@virtual
async def test_a_job_goes_only_to_a_capable_worker() -> None:
    """A job goes to a worker that lists all its needs, even if others are less busy.

    Without such a worker the search fails. Jobs without needs go to any worker.
    """
    async with open_memory_network(MemoryBroker()) as network:
        older = await network.add_worker()
        older.script = answers("a")
        for needs in (("lines",), ("lines", "books")):
            with pytest.raises(EngineUnavailable):
                await network.search(needing(*needs))
        partly_capable = await add_capable_worker(network, "lines")
        partly_capable.script = answers("b")
        capable = await add_capable_worker(network, "books", "lines", "more")
        capable.script = answers("c")
        for worker in (partly_capable, capable):
            worker.advert = replace(worker.advert, running=1)
            worker.link.set_status(work.encode(worker.advert))
        await network.until(lambda: advert_of(network, capable).running == 1)
        assert (await network.search(needing("books", "lines"))).move == "c"
        assert (await network.search(needing("lines"))).move in ("b", "c")
        assert (await network.search(job("another room"))).move == "a"
        assert len(older.commands) == 1
        assert older.commands[0].job.needs == ()
        assert capable.commands[0].job.needs == ("books", "lines")


@virtual
async def test_the_nodes_own_pool_serves_every_need() -> None:
    """If no worker lists a job's needs, the job goes to the pool, which runs the node's program."""
    async with open_memory_network(MemoryBroker(), pool := LocalPool()) as network:
        older = await network.add_worker()
        assert (await network.search(needing("lines"))).move == "g"
        assert pool.jobs[0].needs == ("lines",)
        assert older.commands == []


# --- this worker with a newer node


async def test_a_search_that_this_worker_does_not_understand(tmp_path: Path) -> None:
    """A worker refuses a search with unknown fields or needs, and its answer names them.

    It only counts a malformed command that it cannot answer.
    """
    async with server_and_worker(tmp_path) as (server, handle):
        topic = work.commands_topic("w1")
        plain = json.loads(work.encode(work.Search("plain", 1, "s1", job(), 60_000)))
        unknown = {
            "job": {**plain, "id": "job", "job": {**plain["job"], "depth_first": True}},
            "limit": {
                **plain, "id": "limit",
                "job": {**plain["job"], "limit": {"energy_j": 5}},
            },
            "command": {**plain, "id": "command", "urgent": True},
            "needs": {**plain, "id": "needs", "job": {**plain["job"], "needs": ["telepathy"]}},
        }  # fmt: skip
        for command in unknown.values():
            server.link.publish(topic, json.dumps(command).encode(), reliable=True)
        for unanswerable in ({**plain, "server": "", "x": 1}, {"type": "Stop", "id": "a", "x": 1}):
            server.link.publish(topic, json.dumps(unanswerable).encode(), reliable=True)
        server.link.publish(topic, json.dumps(plain).encode(), reliable=True)
        await server.until(lambda: bool(server.of(work.Answered, "plain")))
        refusals = {
            message.id: message for message in server.messages if isinstance(message, work.Refused)
        }
        assert {key: refusal.reason for key, refusal in refusals.items()} == dict.fromkeys(
            unknown, "failed"
        )
        for key, name in (("job", "depth_first"), ("limit", "energy_j"), ("command", "urgent"),
                          ("needs", "telepathy")):  # fmt: skip
            assert name in refusals[key].message
        assert len(handle.pool.jobs) == 1
        assert handle.worker.link.counts.refused == 5


async def test_a_worker_serves_the_capabilities_that_it_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's advert lists its program's CAPABILITIES, and it serves jobs that need them."""
    monkeypatch.setattr(work, "CAPABILITIES", ("lines",))
    async with server_and_worker(tmp_path) as (server, _):
        assert server.adverts["w1"].can == ("lines",)
        server.send_search("w1", "needing", needing("lines"))
        await server.until(lambda: bool(server.of(work.Answered, "needing")))
