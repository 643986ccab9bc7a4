"""The contract of server/store/base.py: the queue of analyses, their leases, and their results."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from server.ids import IdentityId, MatchId
from server.store.base import AnalysedPly, Analysis, AnalysisUsage, Store

ADA, BEN = IdentityId("ada"), IdentityId("ben")
HOUR_MS = 3_600_000
M1, M2, M3 = MatchId("m1"), MatchId("m2"), MatchId("m3")


async def begun(store: Store, node: str = "n1", lease_ms: int = HOUR_MS) -> Analysis:
    """Claims the next analysis and begins it with an engine of 3 positions."""
    analysis = await store.analyses.claim(node, lease_ms, 1)
    assert analysis is not None
    assert await store.analyses.begin(analysis, "engine", 3)
    found = await store.analyses.find(analysis.match)
    assert found is not None
    return found


async def test_an_analysis_from_request_to_end(store: Store) -> None:
    """An analysis is queued once, run by one node, and read by everyone."""
    analyses = store.analyses
    assert await analyses.find(M1) is None
    assert await analyses.claim("n1", 1000, 1) is None
    assert await analyses.request(M1, ADA, 3)
    assert not await analyses.request(M1, BEN, 3)
    queued = await analyses.find(M1)
    assert queued is not None
    assert (queued.state, queued.asked_by, queued.plies, queued.done_plies) == ("queued", ADA, 3, 0)
    analysis = await begun(store)
    assert (analysis.state, analysis.node, analysis.engine) == ("running", "n1", "engine")
    for ply in (2, 0, 1):
        assert await analyses.add_ply(analysis, AnalysedPly(ply, b'{"ply":%d}' % ply), HOUR_MS)
    assert await analyses.end(analysis, "done")
    done = await analyses.find(M1)
    assert done is not None
    assert (done.state, done.done_plies, done.node) == ("done", 3, "")
    assert not await analyses.request(M1, BEN, 3)
    assert await analyses.plies(M1, "engine") == [
        AnalysedPly(ply, b'{"ply":%d}' % ply) for ply in range(3)
    ]
    assert await analyses.plies(M1, "another engine") == []
    assert [each.ply for each in await analyses.plies(M1, "engine", before=2)] == [0, 1]


async def test_a_result_is_stored_once(store: Store) -> None:
    """A second result for a ply changes nothing; results of another engine are kept apart."""
    await store.analyses.request(M1, ADA, 3)
    analysis = await begun(store)
    for body in (b"1", b"2"):
        assert await store.analyses.add_ply(analysis, AnalysedPly(0, body), HOUR_MS)
    assert await store.analyses.plies(M1, "engine") == [AnalysedPly(0, b"1")]
    assert await store.analyses.begin(analysis, "newer engine", 3)
    newer = replace(analysis, engine="newer engine")
    assert not await store.analyses.add_ply(analysis, AnalysedPly(1, b"3"), HOUR_MS)
    assert await store.analyses.add_ply(newer, AnalysedPly(0, b"4"), HOUR_MS)
    assert await store.analyses.plies(M1, "engine") == [AnalysedPly(0, b"1")]
    assert await store.analyses.plies(M1, "newer engine") == [AnalysedPly(0, b"4")]


async def test_an_expired_lease_is_taken_over(store: Store) -> None:
    """A node takes over an analysis when the lease of another has ended; the other then stores
    nothing. The results so far are kept.
    """
    analyses = store.analyses
    await analyses.request(M1, ADA, 3)
    first = await begun(store, "n1")
    assert await analyses.add_ply(first, AnalysedPly(2, b"1"), HOUR_MS)
    assert await analyses.claim("n2", HOUR_MS, 1) is None
    assert await analyses.renew(first, -1)
    second = await begun(store, "n2")
    assert (second.node, second.done_plies) == ("n2", 1)
    assert not await analyses.add_ply(first, AnalysedPly(1, b"2"), HOUR_MS)
    assert not await analyses.renew(first, HOUR_MS)
    assert not await analyses.begin(first, "engine", 3)
    assert not await analyses.end(first, "failed")
    assert await analyses.add_ply(second, AnalysedPly(1, b"3"), HOUR_MS)
    assert await analyses.plies(M1, "engine") == [AnalysedPly(1, b"3"), AnalysedPly(2, b"1")]
    assert await analyses.end(second, "queued")
    assert (await begun(store, "n3")).node == "n3"


async def test_a_sole_node_ends_all_leases(store: Store) -> None:
    """After `end_leases` no node has an analysis, and one that was running is queued."""
    for match in (M1, M2):
        await store.analyses.request(match, ADA, 3)
    first = await begun(store, "dead")
    await store.analyses.end_leases()
    assert not await store.analyses.renew(first, HOUR_MS)
    states = [await store.analyses.find(match) for match in (M1, M2)]
    assert [each.state for each in states if each is not None] == ["queued", "queued"]
    assert (await begun(store, "n2")).node == "n2"


async def test_identities_take_turns(store: Store) -> None:
    """An identity with many analyses does not delay the first one of another, and has at most
    `per_identity` running.
    """
    analyses = store.analyses
    for match in ("a1", "a2", "a3"):
        await analyses.request(MatchId(match), ADA, 3)
    await asyncio.sleep(0.002)
    await analyses.request(MatchId("b1"), BEN, 3)
    order = []
    for _ in range(4):
        analysis = await begun(store)
        order.append(str(analysis.match))
        assert await analyses.end(analysis, "done")
        await asyncio.sleep(0.002)  # until the clock shows another ms
    assert (order[1], sorted(order)) == ("b1", ["a1", "a2", "a3", "b1"])
    for match in ("a4", "a5"):
        await analyses.request(MatchId(match), ADA, 3)
    assert await analyses.claim("n1", HOUR_MS, 1) is not None
    assert await analyses.claim("n1", HOUR_MS, 1) is None
    assert await analyses.claim("n1", HOUR_MS, 2) is not None


async def test_the_use_of_an_identity_is_counted(store: Store) -> None:
    """`usage` counts unfinished and recent analyses of one identity."""
    analyses = store.analyses
    assert await analyses.usage(ADA, HOUR_MS) == AnalysisUsage(0, 0)
    for match in (M1, M2, M3):
        await analyses.request(match, BEN if match is M3 else ADA, 3)
        await asyncio.sleep(0.002)
    assert await analyses.usage(ADA, HOUR_MS) == AnalysisUsage(2, 2)
    await analyses.end(await begun(store), "done")
    assert await analyses.usage(ADA, HOUR_MS) == AnalysisUsage(1, 2)
    assert await analyses.usage(ADA, -HOUR_MS) == AnalysisUsage(1, 0)


async def places(store: Store, matches: Sequence[str]) -> list[int]:
    """Returns the number of analyses before each of these."""
    found = [await store.analyses.find(MatchId(match)) for match in matches]
    return [await store.analyses.count_ahead(each) for each in found if each is not None]


async def test_a_place_in_the_queue_is_that_of_ones_turn(store: Store) -> None:
    """`count_ahead` is the number of analyses that start before one, while each ends before the
    next: not that of earlier requests of somebody else, who has many.
    """
    analyses = store.analyses
    for match in ("a1", "a2", "a3", "a4", "b1", "a5", "c1", "b2"):
        await analyses.request(MatchId(match), IdentityId(match[0]), 3)
        await asyncio.sleep(0.002)  # until the clock shows another ms
    order = ["a1", "b1", "c1", "a2", "b2", "a3", "a4", "a5"]
    assert await places(store, order) == list(range(8))
    for number, match in enumerate(order):
        rest = order[number:]
        if number in (1, 4):
            assert await places(store, rest) == list(range(len(rest)))
        analysis = await begun(store)
        assert analysis.match == match
        assert await places(store, [match]) == [0]
        assert await analyses.end(analysis, "done")
        await asyncio.sleep(0.002)


async def test_the_first_request_of_a_guest_comes_before_many_of_another(store: Store) -> None:
    """Behind 54 analyses of another guest, of which one is running, the place is 0 or the turn."""
    analyses = store.analyses
    for number in range(54):
        await analyses.request(MatchId(f"a{number:02}"), ADA, 3)
    await analyses.request(M1, BEN, 3)
    await analyses.request(M2, BEN, 3)
    assert await analyses.claim("n1", HOUR_MS, 2) is not None
    assert await places(store, [M1, M2]) == [0, 2]


async def test_a_failed_analysis_can_be_requested_again(store: Store) -> None:
    """Only a failed analysis is queued a second time; it keeps the results that it has."""
    await store.analyses.request(M1, ADA, 3)
    analysis = await begun(store)
    await store.analyses.add_ply(analysis, AnalysedPly(2, b"1"), HOUR_MS)
    assert await store.analyses.end(analysis, "failed", "no engine")
    failed = await store.analyses.find(M1)
    assert failed is not None
    assert (failed.state, failed.reason) == ("failed", "no engine")
    assert await store.analyses.request(M1, BEN, 3)
    again = await begun(store)
    assert (again.asked_by, again.reason, again.done_plies) == (BEN, "", 1)


async def test_concurrent_claims_get_different_analyses(store: Store) -> None:
    """Nodes that claim at the same time never get the same analysis."""
    for number in range(4):
        await store.analyses.request(MatchId(f"m{number}"), IdentityId(f"i{number}"), 3)
    claimed = await asyncio.gather(
        *(store.analyses.claim(f"n{node}", HOUR_MS, 1) for node in range(8))
    )
    matches = [analysis.match for analysis in claimed if analysis is not None]
    assert len(matches) == len(set(matches))
    while (analysis := await store.analyses.claim("late", HOUR_MS, 1)) is not None:
        matches.append(analysis.match)
    assert sorted(matches) == ["m0", "m1", "m2", "m3"]


async def test_the_first_lease_holds(store: Store) -> None:
    """From the claim on no other node gets the analysis, also before the first renewal, and until
    the lease ends.
    """
    await store.analyses.request(M1, ADA, 3)
    claimed = await store.analyses.claim("n1", HOUR_MS, 2)
    assert claimed is not None
    await asyncio.sleep(0.002)  # until the clock shows another ms
    assert await store.analyses.claim("n2", HOUR_MS, 2) is None
    assert await store.analyses.begin(claimed, "engine", 3)
    assert await store.analyses.claim("n2", HOUR_MS, 2) is None
    await store.analyses.request(M2, BEN, 3)
    short = await store.analyses.claim("n1", -1, 2)
    assert short is not None
    taken_over = await store.analyses.claim("n2", HOUR_MS, 2)
    assert taken_over is not None
    assert (taken_over.match, taken_over.node) == (M2, "n2")
