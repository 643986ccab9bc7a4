"""I32: two runs of an analysis agree, however often nodes die; planted faults are found."""

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from engine.game import Position
from engine.search.job import Job, Result
from server.analysis import accuracy, positions, report, runner, subjects, words
from server.analysis.accuracy import SideSummary
from server.analysis.report import Reports
from server.analysis.runner import open_analyses
from server.ids import MatchId
from server.rooms.record import moves_of
from server.store.base import AnalysedPly, Analysis
from tests.oracle.analyses import Reading, check_analyses
from tests.server.test_analyses import ADA, request
from tests.support import analyses
from tests.support.analyses import (
    WON,
    analysing_server,
    play_match,
    play_match_with_takeback,
    stored_match,
)
from tests.support.fake_server import FakeServer, virtual
from tests.support.memory_analyses import MemoryAnalyses

Patch = pytest.MonkeyPatch

#: The runs of a test: the first is undisturbed, in the others nodes die.
RUNS = 4


async def run_once(name: str, with_takeback: bool, rng: random.Random | None) -> Reading:
    """Analyses a match on a server of its own; with `rng` its nodes die at random times.

    Two nodes run at a time, and a reader follows the analysis.
    """
    fake = analysing_server(search_s=1.0)
    moves: tuple[str, ...]
    if with_takeback:
        match, moves = await play_match_with_takeback(fake), ("b2", "a1")
    else:
        match, moves = await play_match(fake, *WON), WON
    await request(fake.ports("n0"), match, ADA)
    numbers = itertools.count(1)
    nodes = [asyncio.create_task(_run_node(fake, f"n{next(numbers)}")) for _ in range(2)]
    lines: list[dict[str, Any]] = []
    reports = Reports(fake.ports("reader"))
    row = await stored_match(fake, match)
    async with asyncio.timeout(3600):
        while not lines or lines[-1]["state"] != "done":
            lines.append(msgspec.to_builtins(await reports.of(row)))
            await asyncio.sleep(0.7)
            if rng is not None and rng.random() < 0.4:
                number = rng.randrange(2)
                nodes[number].cancel()
                await asyncio.wait([nodes[number]])
                nodes[number] = asyncio.create_task(_run_node(fake, f"n{next(numbers)}"))
    for node in nodes:
        node.cancel()
    await asyncio.wait(nodes)
    again = Reports(fake.ports("reader"))
    lines.append(msgspec.to_builtins(await again.of(row)))
    return Reading(name, str(match), moves, tuple(lines))


async def _run_node(fake: FakeServer, name: str) -> None:
    """Runs a node until it is cancelled: then its store fails at once, as after SIGKILL."""
    killed = FakeServer()
    killed.store.memory = fake.store.memory
    for part in ("logs", "projections", "nodes", "analyses"):
        setattr(killed.store, part, killed.store._with_faults(getattr(fake.store.memory, part)))
    try:
        async with open_analyses(ports_of(fake, name, killed)):
            await asyncio.Event().wait()
    finally:
        killed.store.down = True


def ports_of(fake: FakeServer, name: str, killed: FakeServer) -> Any:
    """The ports of a node whose store can fail without those of the other nodes."""
    return fake.ports(name, store=killed.store)


def violations() -> list[str]:
    """The violations of I32 in RUNS runs of one analysis."""
    found: list[str] = []

    @virtual
    async def run() -> None:
        readings = [
            await run_once(f"run {n}", with_takeback, random.Random(n) if n else None)
            for with_takeback in (True, False)
            for n in range(RUNS)
        ]
        found.extend(check_analyses(readings))

    run()
    return found


def test_two_runs_are_equal() -> None:
    """I32: runs in which nodes die have the results of an undisturbed one."""
    assert violations() == []


# --- planted faults


def shared_tables(patch: Patch) -> None:
    """A search depends on the searches before it, as with a table that they share."""
    counter = itertools.count()
    real = analyses.made_up_result

    def result(job: Job) -> Result:
        answer = real(job)
        score = answer.info.score - next(counter) % 7
        first = replace(answer.info.moves[0], score=score)
        info = replace(answer.info, score=score, moves=(first, *answer.info.moves[1:]))
        return replace(answer, info=info)

    patch.setattr(analyses, "made_up_result", result)


def stored_depth_of_time(patch: Patch) -> None:
    """A stored result has something that depends on time."""
    real = positions.ply_result

    def result(position: Position, answer: Result) -> Any:
        at = int(asyncio.get_running_loop().time() * 1000)
        return replace(real(position, answer), depth=1 + at % 97)

    patch.setattr(runner, "ply_result", result)


def moves_that_were_taken_back(patch: Patch) -> None:
    """The analysis includes moves that were taken back."""
    real = moves_of

    def first_of(events: Any, match: str) -> Any:
        return real([each for each in events if each[1].__class__.__name__ == "Moved"][:1], match)

    patch.setattr(subjects, "moves_of", first_of)


def last_position_left_out(patch: Patch) -> None:
    """The last position is never done, but the analysis ends."""
    real = MemoryAnalyses.add_ply

    async def add_ply(
        self: MemoryAnalyses, analysis: Analysis, result: AnalysedPly, lease_ms: int
    ) -> bool:
        if result.ply == 0:
            return await self.renew(analysis, lease_ms)
        return await real(self, analysis, result, lease_ms)

    patch.setattr(MemoryAnalyses, "add_ply", add_ply)


def losses_of_the_other_side(patch: Patch) -> None:
    """The accuracy of a side is that of the moves of the other."""
    real = accuracy.summarise
    patch.setattr(words, "summarise", lambda moves, seat: real(moves, 1 - seat))


def marks_are_too_mild(patch: Patch) -> None:
    """A blunder counts as a mistake."""
    patch.setattr(accuracy, "MARKS", ((0.95, "blunder"), *accuracy.MARKS[1:]))


def summary_without_marks(patch: Patch) -> None:
    """The summary counts no marks."""
    real = accuracy.summarise

    def summarise(moves: Any, seat: int) -> SideSummary:
        return replace(real(moves, seat), inaccuracy=0, mistake=0, blunder=0)

    patch.setattr(words, "summarise", summarise)


def results_of_another_ply(patch: Patch) -> None:
    """A node stores each result at the ply of another search."""
    real = positions.encode_result
    last: list[Any] = []

    def encode(result: Any) -> bytes:
        last.append(result)
        return real(last[len(last) // 2])

    patch.setattr(runner, "encode_result", encode)


def entries_of_a_running_analysis_kept(patch: Patch) -> None:
    """An entry is never completed when the position after it is done."""

    def make_entry(self: Any, ply: int) -> Any:
        if ply not in self.entries:
            self.entries[ply] = words.make_entry(self.analysed[ply], None, None)
        return self.entries[ply]

    patch.setattr(report._CachedMatch, "make_entry", make_entry)


FAULTS: list[Callable[[Patch], None]] = [
    shared_tables,
    stored_depth_of_time,
    moves_that_were_taken_back,
    last_position_left_out,
    losses_of_the_other_side,
    marks_are_too_mild,
    summary_without_marks,
    results_of_another_ply,
    entries_of_a_running_analysis_kept,
]


@pytest.mark.long
@pytest.mark.parametrize("plant", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_found(plant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    """I32: the checker reports each planted fault, and nothing under another name."""
    plant(monkeypatch)
    found = violations()
    assert found
    assert all(fault.startswith("I32: ") for fault in found)


def test_the_readings_are_of_one_match() -> None:
    """The checker compares readings of equal moves only."""
    entry = {"ply": 0, "chance": 50, "seat": 0}
    line = {"state": "running", "plies": 1, "done_plies": 1, "nodes": 1, "engine": "e"}
    first = Reading("a", MatchId("m"), (), ({**line, "moves": [entry]},))
    other = Reading("b", MatchId("m"), (), ({**line, "moves": [{**entry, "chance": 51}]},))
    assert check_analyses([first, first]) == []
    assert len(check_analyses([first, other])) == 2
