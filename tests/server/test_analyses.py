"""server/analysis: matches are analysed on one node or several, and one is analysed once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as changed

from engine.search.job import RulesChanged, SearchFailed
from server.analysis import runner, subjects
from server.analysis.feed import AnalysisFeed
from server.analysis.positions import NODES, SCORED_MOVES, CannotAnalyse, decode_result
from server.analysis.report import AnalysisReport, Reports
from server.analysis.requests import AnalysisLimit, request_analysis
from server.analysis.runner import open_analyses
from server.ids import IdentityId, MatchId
from server.ports import EngineUnavailable, Ports
from server.store.base import DAY_MS, AnalysedPly, Analysis
from tests.support.analyses import (
    WON,
    SearchingEngines,
    analysing_server,
    play_match,
    play_match_with_takeback,
    stored_match,
)
from tests.support.fake_server import FakeServer, Fault, virtual

ADA, BEN = IdentityId("ada"), IdentityId("ben")


async def request(ports: Ports, match: MatchId, identity: IdentityId = ADA) -> bool:
    """Requests the analysis of a match."""
    found = await ports.store.projections.match(match)
    assert found is not None
    return await request_analysis(ports, found, identity)


async def ended(fake: FakeServer, match: MatchId) -> Analysis:
    """Waits until the analysis of a match is done or has failed; returns it."""
    async with asyncio.timeout(3600):
        while True:
            analysis = await fake.store.memory.analyses.find(match)
            if analysis is not None and analysis.state in ("done", "failed"):
                return analysis
            await asyncio.sleep(0.01)


async def results(fake: FakeServer, match: MatchId) -> list[AnalysedPly]:
    """The stored results of a match's analysis."""
    analysis = await fake.store.memory.analyses.find(match)
    assert analysis is not None
    return await fake.store.memory.analyses.plies(match, analysis.engine)


@asynccontextmanager
async def node(fake: FakeServer, name: str, **changes: Any) -> AsyncIterator[AnalysisFeed]:
    """Runs the analyses of a node."""
    async with open_analyses(fake.ports(name, **changes)) as feed:
        yield feed


async def report(fake: FakeServer, match: MatchId) -> AnalysisReport:
    return await Reports(fake.ports("reader")).of(await stored_match(fake, match))


@virtual
async def test_every_position_is_searched_once() -> None:
    """A node searches each position with fixed nodes as a study, the last one first.

    A position in which the match is over on the board needs no search.
    """
    fake = analysing_server()
    match = await play_match(fake, *WON)
    async with node(fake, "n1") as feed:
        assert await request(fake.ports("n1"), match)
        assert not await request(fake.ports("n1"), match, BEN)
        feed.publish(match)
        analysis = await ended(fake, match)
    assert (analysis.state, analysis.plies, analysis.done_plies) == ("done", 8, 8)
    jobs = fake.engines.jobs
    assert [job.moves for job in jobs] == [WON[:ply] for ply in reversed(range(7))]
    assert {(job.use, job.limit.nodes, job.lines, job.affinity) for job in jobs} == {
        ("study", NODES, SCORED_MOVES, "study:ada")
    }
    stored = await results(fake, match)
    assert [each.ply for each in stored] == list(range(8))
    assert decode_result(stored[-1].body).pv == ()


@virtual
async def test_the_moves_that_count_are_analysed() -> None:
    """Moves that were taken back are not analysed; a match that ended by resignation is."""
    fake = analysing_server()
    match = await play_match_with_takeback(fake)
    fake.engines.jobs.clear()
    async with node(fake, "n1"):
        await request(fake.ports("n1"), match)
        analysis = await ended(fake, match)
    assert (analysis.state, analysis.plies) == ("done", 3)
    longest = fake.engines.jobs[0].moves
    assert (len(fake.engines.jobs), len(longest), longest[0]) == (3, 2, "b2")


@virtual
async def test_another_node_goes_on_when_one_dies() -> None:
    """When a node dies, another takes over its analysis after the lease and searches only what is
    missing. The results equal those of an undisturbed analysis.
    """
    fake, whole = analysing_server(search_s=2.0), analysing_server()
    match = await play_match(fake, *WON)
    assert await play_match(whole, *WON) == match
    await request(fake.ports("n1"), match)
    first = asyncio.create_task(_run_until_killed(fake, "n1"))
    await asyncio.sleep(5.0)  # two results are stored, the third search runs
    done = len(await results(fake, match))
    assert 0 < done < 8
    first.cancel()
    await asyncio.wait([first])
    fake.engines.jobs.clear()
    async with node(fake, "n2"):
        analysis = await ended(fake, match)
    assert (analysis.state, len(fake.engines.jobs)) == ("done", 8 - done)
    async with node(whole, "n1"):
        await request(whole.ports("n1"), match)
        await ended(whole, match)
    assert await results(fake, match) == await results(whole, match)


async def _run_until_killed(fake: FakeServer, name: str) -> None:
    """Runs a node whose store no longer hears from it once it is cancelled, as after SIGKILL."""
    ports = fake.ports(name)
    store = FakeServer().store
    store.memory = fake.store.memory
    for part in ("logs", "projections", "nodes", "analyses"):
        setattr(store, part, store._with_faults(getattr(fake.store.memory, part)))
    try:
        async with open_analyses(replace(ports, store=store)):
            await asyncio.Event().wait()
    finally:
        store.down = True


@virtual
async def test_a_node_that_stops_returns_its_leases() -> None:
    """A node that stops leaves its analyses to others at once, without waiting for the lease."""
    fake = analysing_server(search_s=3600.0)
    match = await play_match(fake, *WON)
    await request(fake.ports("n1"), match)
    async with node(fake, "n1"):
        await fake.engines.requested.wait()
    analysis = await fake.store.memory.analyses.find(match)
    assert analysis is not None
    assert (analysis.state, analysis.node) == ("queued", "")


@virtual
async def test_the_lease_lasts_as_long_as_a_search() -> None:
    """A node renews its lease during a long search, so no other node starts the same analysis."""
    fake = analysing_server(search_s=300.0)
    match = await play_match(fake, "b2", resigns=True)
    await request(fake.ports("n1"), match)
    async with node(fake, "n1"), node(fake, "n2"):
        await ended(fake, match)
    assert [job.moves for job in fake.engines.jobs] == [("b2",), ()]


@virtual
async def test_the_lease_lasts_while_all_engines_are_busy() -> None:
    """A node that waits for its busy engines keeps its analyses: another node, whose engines have
    room, does not start them too.
    """
    fake, busy = analysing_server(), SearchingEngines()
    busy.failures = [EngineUnavailable("none has room")] * 1_000
    match = await play_match(fake, "b2", resigns=True)
    await request(fake.ports("n1"), match)
    async with node(fake, "n1", engines=busy):
        await busy.requested.wait()
        async with node(fake, "n2"):
            await asyncio.sleep(6 * runner.LEASE_MS / 1000)
            assert fake.engines.jobs == []
            busy.failures.clear()
            assert (await ended(fake, match)).state == "done"
    assert fake.engines.jobs == []


@virtual
async def test_a_sole_node_goes_on_at_once_after_a_crash() -> None:
    """A node that is the only one of its store does not wait for the leases of its last run."""
    fake = analysing_server()
    fake.settings = replace(fake.settings, sole_node=True)
    match = await play_match(fake, *WON)
    await request(fake.ports("n1"), match)
    assert await fake.store.memory.analyses.claim("the last run", 3_600_000, 1) is not None
    async with node(fake, "n1"):
        await asyncio.sleep(60)
        analysis = await fake.store.memory.analyses.find(match)
    assert analysis is not None
    assert analysis.state == "done"


@virtual
async def test_a_node_with_a_lost_lease_stores_nothing() -> None:
    """A node whose lease another node has taken stops, and its late result is not stored."""
    fake = analysing_server(search_s=1.0)
    match = await play_match(fake, *WON)
    await request(fake.ports("n1"), match)
    async with node(fake, "n1"):
        await asyncio.sleep(2.5)
        analysis = await fake.store.memory.analyses.find(match)
        assert analysis is not None
        fake.store.memory.tables.analyses.analyses[match] = _taken_over(analysis)
        before, jobs = len(await results(fake, match)), len(fake.engines.jobs)
        await asyncio.sleep(4.0)
        assert len(await results(fake, match)) == before
        assert len(fake.engines.jobs) == jobs, "it has stopped"


def _taken_over(analysis: Analysis) -> Analysis:
    return changed(analysis, node="n2", lease_ms=analysis.lease_ms + 3_600_000)


@virtual
async def test_failed_searches_are_tried_again() -> None:
    """An analysis fails after three failed searches of a position, says so in words, and can be
    requested again. It waits while no engine has room.
    """
    fake = analysing_server()
    engines = fake.engines
    assert isinstance(engines, SearchingEngines)
    match = await play_match(fake, *WON)
    engines.failures = [EngineUnavailable("none"), SearchFailed("a"), SearchFailed("b")]
    async with node(fake, "n1") as feed:
        await request(fake.ports("n1"), match)
        assert (await ended(fake, match)).state == "done"
        other = await play_match(fake, *WON)
        for failures in ([SearchFailed("x")] * 3, [RulesChanged("other rules")]):
            engines.failures = list(failures)
            assert await request(fake.ports("n1"), other)
            feed.publish(other)
            failed = await ended(fake, other)
            assert failed.state == "failed"
            assert failed.reason.endswith("try again later.")
            assert (await report(fake, other)).reason == failed.reason
        assert await request(fake.ports("n1"), other)
        feed.publish(other)
        await asyncio.sleep(1)
        assert (await ended(fake, other)).state == "done"


@virtual
async def test_a_node_without_engines_claims_nothing() -> None:
    """Only nodes with engines run analyses; one that loses its engines leaves them to others."""
    fake = analysing_server()
    bare = SearchingEngines()
    bare.workers = 0
    match = await play_match(fake, *WON)
    async with node(fake, "bare", engines=bare):
        await request(fake.ports("n1"), match)
        await asyncio.sleep(30)
        found = await fake.store.memory.analyses.find(match)
        assert found is not None
        assert found.state == "queued"
        async with node(fake, "n1"):
            assert (await ended(fake, match)).state == "done"
    assert bare.jobs == []


@virtual
async def test_failures_of_the_store_delay_an_analysis_only() -> None:
    """While the store fails, nothing is lost: the analysis goes on afterwards."""
    fake = analysing_server(search_s=1.0)
    match = await play_match(fake, *WON)
    async with node(fake, "n1"):
        await request(fake.ports("n1"), match)
        fake.store.fail("add_ply", Fault(), Fault(after=True))
        fake.store.fail("claim", Fault(after=True))
        fake.store.fail("renew")
        assert (await ended(fake, match)).state == "done"
    assert len(await results(fake, match)) == 8


@virtual
async def test_the_limits_of_an_identity() -> None:
    """An identity may have one running and five waiting analyses, and a number of them in a day.

    The refusals name the limit.
    """
    fake = analysing_server()
    fake.settings = replace(fake.settings, limit_studies_per_day=8)
    ports = fake.ports("n1")
    matches = [await play_match(fake, *WON) for _ in range(9)]
    for match in matches[:6]:
        assert await request(ports, match)
    with pytest.raises(AnalysisLimit, match="6 of your analyses are running or waiting"):
        await request(ports, matches[6])
    assert await request(ports, matches[6], BEN)
    async with node(fake, "n1"):
        for match in matches[:7]:
            await ended(fake, match)
        for match in matches[7:9]:
            assert await request(ports, match)
            await asyncio.sleep(10)
        extra = await play_match(fake, *WON)
        with pytest.raises(AnalysisLimit, match="8 analyses a day"):
            await request(ports, extra)
        assert await request(ports, extra, BEN)
        tables = fake.store.memory.tables.analyses
        for each in list(tables.analyses.values()):
            tables.analyses[each.match] = changed(each, asked_ms=each.asked_ms - DAY_MS)
        assert await request(ports, await play_match(fake, *WON))


async def refusal(fake: FakeServer, match: MatchId) -> str:
    """Why a match cannot be analysed."""
    with pytest.raises(CannotAnalyse) as refused:
        await request(fake.ports("n1"), match)
    return str(refused.value)


@virtual
async def test_matches_that_cannot_be_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running match, one without moves, one whose rules lead elsewhere, and one of a game without
    a search are refused in words. A report says the same before anyone has asked.
    """
    fake = analysing_server()
    running = await play_match(fake, "b2")
    assert "still running" in await refusal(fake, running)
    assert (await report(fake, running)).state == "refused"
    empty = await play_match(fake, resigns=True)
    assert "No move" in await refusal(fake, empty)
    match = await play_match(fake, *WON)
    assert (await report(fake, match)).state == "none"
    real = subjects._replay

    async def replay_otherwise(game: Any, start: str, options: Any, events: Any) -> Any:
        return await real(game, start, options, [_changed(events[0]), *events[1:]])

    monkeypatch.setattr(subjects, "_replay", replay_otherwise)
    assert "rules of Tic-tac-toe have changed" in await refusal(fake, match)
    monkeypatch.undo()

    def no_game(game_id: str) -> Any:
        raise KeyError(game_id)

    fake.find_game = no_game
    assert "does not have the game" in await refusal(fake, match)


def _changed(event: Any) -> Any:
    return changed(event, digest="0" * 16)


@virtual
async def test_a_report_grows_from_the_end() -> None:
    """A report has the entries that are done, from the end of the match, and a summary when all
    are. A follower gets each entry once.
    """
    fake = analysing_server(search_s=1.0)
    match = await play_match(fake, *WON)
    reports, row = Reports(fake.ports("reader")), await stored_match(fake, match)
    assert (await reports.of(row)).plies == 8
    await request(fake.ports("n1"), match)
    assert (await reports.of(row)).ahead == 0
    seen: list[int] = []
    async with node(fake, "n1") as feed:
        with feed.watch(match) as has_changed:
            while True:
                await has_changed.wait()
                has_changed.clear()
                grown = await reports.of(row, seen)
                if grown.state == "done":
                    break
                new = [entry.ply for entry in grown.moves]
                assert not set(new) & set(seen)
                seen = sorted([*seen, *new])
                assert seen == list(range(8 - len(seen), 8))
                assert grown.summary is None
    whole = await reports.of(row, seen)
    assert [entry.ply for entry in whole.moves] == list(range(8))
    assert whole.summary is not None
    assert all(entry.loss is not None for entry in whole.moves[:-1])
    assert whole.moves[-1].loss is None
    assert whole.moves[-1].chance == 100
    assert whole == await report(fake, match)


@virtual
async def test_a_newer_engine_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node with another engine that takes over an analysis uses none of the results so far."""
    from server.analysis import positions

    fake = analysing_server(search_s=1.0)
    match = await play_match(fake, *WON)
    await request(fake.ports("n1"), match)
    async with node(fake, "n1"):
        await asyncio.sleep(3.5)
    monkeypatch.setattr(positions, "engine_key", lambda game: "newer")
    fake.engines.jobs.clear()
    async with node(fake, "n2"):
        analysis = await ended(fake, match)
    assert (analysis.engine, analysis.done_plies, len(fake.engines.jobs)) == ("newer", 8, 7)


def test_the_lease_outlives_its_renewals() -> None:
    """A lease is renewed at least three times before it ends."""
    assert 3 * runner.RENEW_S * 1000 < runner.LEASE_MS
