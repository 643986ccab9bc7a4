"""Planted faults in traces and their documents: the test listed with each one fails."""

import asyncio
import inspect
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from engine.study_pool.messages import Ended, Limits
from engine.study_pool.pool import StudyPool
from engine.teach.algorithms.study import Record
from engine.teach.output import stream
from engine.teach.output.stream import GrowingRecord
from server.web import documents, traces
from server.web.documents import Document, Documents
from server.web.matches import Matches
from server.web.studies import StudyAnswers
from tests.engine.teach import test_stream
from tests.server import test_documents, test_traces

Patch = pytest.MonkeyPatch


def a_chunk_ends_in_a_leaf(patch: Patch) -> None:
    def step(self: GrowingRecord, what: Any, row: int, low: float, high: float) -> None:
        Record.step(self, what, row, low, high)
        if row >= 0:
            self.complete = len(self.nodes), len(self.skipped), len(self.steps)
            self.on_leave()

    patch.setattr(GrowingRecord, "step", step)


def infinite_numbers_are_null(patch: Patch) -> None:
    patch.setattr(stream, "finite", lambda value: value)


def skipped_children_are_lost(patch: Patch) -> None:
    real = stream.TraceStream.chunk

    def chunk(self: stream.TraceStream) -> bytes | None:
        self.record.skipped.clear()
        return real(self)

    patch.setattr(stream.TraceStream, "chunk", chunk)


def a_job_goes_on_without_readers(patch: Patch) -> None:
    patch.setattr(Documents, "close", lambda self, key, document: None)


def a_job_ends_with_its_first_reader(patch: Patch) -> None:
    real = Documents.close

    def close(self: Documents, key: str, document: Document) -> None:
        document.reader_count = 1
        real(self, key, document)

    patch.setattr(Documents, "close", close)


def parts_wait_for_the_end(patch: Patch) -> None:
    patch.setattr(zlib, "Z_SYNC_FLUSH", zlib.Z_NO_FLUSH)


def an_error_breaks_the_file_off(patch: Patch) -> None:
    patch.setattr(documents, "make_ending", lambda line, crc, length: b"")


def what_time_ended_is_cached(patch: Patch) -> None:
    patch.setattr(test_documents, "Ended", lambda number, is_complete: Ended(number, True))


def the_cache_has_no_bound(patch: Patch) -> None:
    patch.setattr(Documents, "_shrink", lambda self: None)


def all_documents_are_one(patch: Patch) -> None:
    patch.setattr(StudyAnswers, "_key", lambda self, job: type(job).__name__)


def each_request_has_a_job(patch: Patch) -> None:
    keys = iter(range(1_000_000))
    patch.setattr(StudyAnswers, "_key", lambda self, job: str(next(keys)))


def the_right_is_not_checked(patch: Patch) -> None:
    async def find_searchable(self: Matches, request: Any, match_id: str) -> Any:
        match = await self._find(match_id)
        return match, [played.move for played in (await self.record(match)).moves]

    patch.setattr(Matches, "find_searchable", find_searchable)


def the_ply_is_lost(patch: Patch) -> None:
    real = traces._fields

    def fields(body: Any) -> dict[str, Any]:
        object.__setattr__(body, "ply", None)
        return real(body)

    patch.setattr(traces, "_fields", fields)


def the_seed_is_lost(patch: Patch) -> None:
    patch.setattr(traces, "search_seed", lambda match_id, ply: 0)


def strangers_have_no_limit(patch: Patch) -> None:
    patch.setattr(StudyAnswers, "_charge", lambda self, job, address: None)


@asynccontextmanager
async def opened() -> AsyncIterator[test_traces.Site]:
    """Runs a node with a study process."""
    async with (
        StudyPool(1, limits=Limits(60, 300_000)) as pool,
        test_traces.open_site(pool) as site,
    ):
        yield site


def on_a_site(test: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """Returns a test of a node as one that starts its own."""

    async def run() -> None:
        async with opened() as site:
            await test(site, *arguments)

    run.__name__ = test.__name__
    return run


def lines_of_a_lesson() -> None:
    test_stream.test_the_lines_of_a_lesson_say_its_traces("meaning")


def lines_of_a_cut() -> None:
    test_stream.test_the_lines_of_a_lesson_say_its_traces("alpha-cut")


async def strangers() -> None:
    async with StudyPool(1, limits=Limits(60, 300_000)) as pool:
        await test_traces.send_bad_requests(pool, 60)


withheld = partial(on_a_site, test_traces.test_searches_of_a_running_match)

FAULTS: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (a_chunk_ends_in_a_leaf, lines_of_a_lesson),
    (infinite_numbers_are_null, test_stream.test_infinite_values_are_texts),
    (skipped_children_are_lost, lines_of_a_cut),
    (a_job_goes_on_without_readers, test_documents.test_a_document_ends_with_its_last_reader),
    (a_job_ends_with_its_first_reader, test_documents.test_a_document_ends_with_its_last_reader),
    (parts_wait_for_the_end, test_documents.test_a_reader_gets_each_part_at_once),
    (an_error_breaks_the_file_off, test_documents.test_errors_before_and_after_the_first_part),
    (what_time_ended_is_cached, test_documents.test_a_document_that_time_ended_is_not_cached),
    (the_cache_has_no_bound, test_documents.test_the_cache_is_bounded_in_bytes),
    (all_documents_are_one, on_a_site(test_traces.test_a_class_behind_one_address)),
    (each_request_has_a_job, on_a_site(test_traces.test_a_document_is_made_once_for_all)),
    (the_right_is_not_checked, withheld("after")),
    (the_ply_is_lost, withheld("all")),
    (the_seed_is_lost, on_a_site(test_traces.test_the_seed_of_a_match_is_that_of_its_ai)),
    (strangers_have_no_limit, strangers),
]


def run(test: Callable[[], Any]) -> None:
    """Runs a test, asynchronous or not."""
    if inspect.iscoroutinefunction(test):
        asyncio.run(test())
    else:
        test()


@pytest.mark.long
@pytest.mark.parametrize(("fault", "test"), FAULTS, ids=lambda function: function.__name__)
def test_the_fault_is_found(
    fault: Callable[[Patch], None], test: Callable[[], Any], monkeypatch: Patch
) -> None:
    """The listed test, which passes in its own module, fails with the planted fault."""
    fault(monkeypatch)
    with pytest.raises((AssertionError, EOFError, ValueError, BaseExceptionGroup)):
        run(test)
