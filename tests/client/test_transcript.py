"""The choice of the search reports that the terminal prints."""

from typing import Any

import pytest
from msgspec.structs import replace

from client.terminal.transcript import THINKING_INTERVAL_S, SearchReports
from server.protocol.messages import Thinking


def thinking(state: Any, depth: int = 0) -> Thinking:
    return Thinking(room="r", match="m", ply=0, seat=1, state=state, depth=depth)


def printed(*reports: tuple[float, str, int]) -> list[int]:
    """Returns the numbers of the printed reports; a report is a time, a state and a depth."""
    search_reports = SearchReports()
    return [
        number
        for number, (at_s, state, depth) in enumerate(reports)
        if search_reports.is_due(thinking(state, depth), at_s)
    ]


def test_progress_is_printed_at_intervals() -> None:
    """The interval runs from the start of the search or from the last printed report."""
    start_s = 100.0
    assert printed(
        (start_s, "searching", 0),
        (start_s + THINKING_INTERVAL_S - 0.1, "searching", 5),
        (start_s + THINKING_INTERVAL_S, "searching", 6),
        (start_s + THINKING_INTERVAL_S + 0.1, "searching", 7),
        (start_s + 2 * THINKING_INTERVAL_S, "searching", 8),
    ) == [2, 4]


def test_the_result_is_printed_at_once() -> None:
    """A move without a search, from a book or by chance, has no result to print."""
    assert printed((100.0, "searching", 0), (100.1, "done", 4), (200.0, "done", 0)) == [1]


@pytest.mark.parametrize("state", ["warming", "absent"])
def test_waiting_is_printed_once(state: str) -> None:
    """The start of each wait for the compiler or for an engine is printed."""
    assert printed(
        (100.0, state, 0), (110.0, state, 0), (120.0, "searching", 0), (121.0, state, 0)
    ) == [0, 3]


def test_the_wait_for_a_free_engine_is_not_printed() -> None:
    """A wait behind the searches of other rooms is short and is not printed."""
    assert printed((100.0, "queued", 0), (101.0, "searching", 0)) == []


def test_a_long_wait_in_the_queue_is_printed_once() -> None:
    """A wait that lasts is printed once with what it is for, and again in the next turn."""
    reports, waits = SearchReports(), thinking("queued")
    waits = replace(waits, wait="waits for a free search process: 2 at work")
    messages = [thinking("queued"), waits, waits, thinking("searching"), waits, waits]
    assert [reports.is_due(each, 100.0 + at) for at, each in enumerate(messages)] == [
        False, True, False, False, False, True,
    ]  # fmt: skip
