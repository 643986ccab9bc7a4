"""Which reports of the AI's searches the terminal prints."""

from typing import Any

import pytest

from client.terminal.transcript import THINKING_INTERVAL_S, SearchReports
from server.protocol.messages import Thinking


def thinking(state: Any, depth: int = 0) -> Thinking:
    return Thinking(room="r", match="m", ply=0, seat=1, state=state, depth=depth)


def printed(*reports: tuple[float, str, int]) -> list[int]:
    """The numbers of the reports that are printed; a report is a time, a state and a depth."""
    pace = SearchReports()
    return [
        number
        for number, (at_s, state, depth) in enumerate(reports)
        if pace.is_due(thinking(state, depth), at_s)
    ]


def test_progress_is_printed_at_intervals() -> None:
    """The interval counts from the begin of the search and from the last report."""
    begin_s = 100.0
    assert printed(
        (begin_s, "searching", 0),
        (begin_s + THINKING_INTERVAL_S - 0.1, "searching", 5),
        (begin_s + THINKING_INTERVAL_S, "searching", 6),
        (begin_s + THINKING_INTERVAL_S + 0.1, "searching", 7),
        (begin_s + 2 * THINKING_INTERVAL_S, "searching", 8),
    ) == [2, 4]


def test_the_result_is_printed_at_once() -> None:
    """A move without a search, from a book or by chance, has no result to print."""
    assert printed((100.0, "searching", 0), (100.1, "done", 4), (200.0, "done", 0)) == [1]


@pytest.mark.parametrize("state", ["warming", "absent"])
def test_waiting_is_printed_once(state: str) -> None:
    """A wait for the compiler or for an engine is printed when it begins, also a second time."""
    assert printed(
        (100.0, state, 0), (110.0, state, 0), (120.0, "searching", 0), (121.0, state, 0)
    ) == [0, 3]


def test_the_wait_for_a_free_engine_is_not_printed() -> None:
    """It is short, and searches of other rooms cause it."""
    assert printed((100.0, "queued", 0), (101.0, "searching", 0)) == []
